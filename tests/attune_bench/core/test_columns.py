"""Every column that the library prints or writes has a meaning, of its type; the page of columns says all."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from benchmark_scores import scores_named
from schema_files import COLUMNS, columns_page
from synthetic.predictions import answers_of

from attune_bench import Scores, chance, score
from attune_bench.adapters.exports import flat_tables
from attune_bench.analyses import ANALYSES
from attune_bench.benchmarks import BENCHMARKS
from attune_bench.cli.column_list import FRAMES, column_frame, columns_text, listed_tables
from attune_bench.leaderboard.boards import Entry, leaderboard_content, make_boards
from attune_bench.report.tables import model_frame
from attune_bench.scores.columns import Analysis, FrameColumn, columns
from attune_bench.stats.consensus import judge_consensus
from attune_bench.stats.debias import debias, debias_pairs
from attune_bench.stats.judges import compare_judges
from attune_bench.stats.label_planning import plan_judges, plan_labels
from attune_bench.stats.labels import rated_by
from attune_bench.stats.subgroups import compare_by
from attune_bench.stats.summary import chance_of_units, distribution
from attune_data import load, load_episodes, load_records, load_runs, load_sage, load_scenarios
from attune_data.kinds import COMPARISON, ITEM, KINDS, PREDICTION, VERDICT
from attune_data.references import resolve
from attune_metrics.catalog import CATALOG

QUICK: dict[str, Any] = {"resamples": 50}
ONE: dict[str, Any] = {"metrics": ["composite_score"], **QUICK}
TYPES = {pl.String: "text", pl.Float64: "number", pl.Int64: "whole number", pl.Boolean: "true or false"}
BENCHMARKS_ANALYSES = {
    (benchmark.name, name): analysis
    for benchmark in BENCHMARKS
    if benchmark.analyses
    for name, analysis in resolve(benchmark.analyses).items()
    if name not in ANALYSES
}


def check(found: pl.DataFrame, said: Mapping[str, FrameColumn]) -> None:
    """Compare the columns of a frame with their declarations: names, order, types, ranges."""
    assert found.columns == [name for name in said if name in found.columns]
    for name, dtype in found.schema.items():
        column = said[name]
        assert column.description
        assert column.type == TYPES[type(dtype)], name
        low, high = (None if end is None else end for end in (column.low, column.high))
        values = found[name].drop_nulls()
        assert low is None or values.is_empty() or (values >= low).all(), name
        assert high is None or values.is_empty() or (values <= high).all(), name


@pytest.fixture(scope="module")
def scores() -> Scores:
    return score(load("demo"), load_runs("demo"))


@pytest.fixture(scope="module")
def frames(scores: Scores) -> dict[str, list[pl.DataFrame]]:
    data = load("demo")
    given = scores.values.with_row_index().filter(pl.col("index") % 8 != 0)
    labels = given.select("model", "unit", rating=pl.col("composite_score") * 0.9 + pl.col("index") % 3)
    rows = [
        (f"i{item}", rater, "warmth", (item * place) % 5) for item in range(12) for place, rater in enumerate("abc")
    ]
    ratings = pl.DataFrame(rows, schema=["item", "rater", "dimension", "rating"], orient="row")
    judged = compare_judges(ratings, experts=["a", "b"], judges=["c"], **QUICK)
    alike = [(f"i{item}", f"m{item % 2}", rater, "warmth", item % 5) for item in range(12) for rater in "abcd"]
    by_models = pl.DataFrame(alike, schema=["item", "responder", "rater", "dimension", "rating"], orient="row")
    agreed = judge_consensus(by_models)
    panel = Scores.from_table(by_models.filter((pl.col("rater") != "d") | (pl.col("item") != "i0")))
    flat = flat_tables(scores, by=["category"], data=data, small_cells=True, **ONE)
    return {
        "summary": [scores.summary(**QUICK), flat["summary"]],
        "scores": [flat["scores"]],
        "subgroups": [scores.by("category", data=data, compare=True, **ONE), flat["subgroups"]],
        "comparisons": [
            scores.compare_all(margin=1.0, **ONE),
            scores.compare_all(looks=2, look=1, **ONE),
            compare_by(scores, "category", data=data, models=None, **ONE),
        ],
        "ranks": [scores.rank(**ONE)],
        "distribution": [distribution(scores)],
        "plan": [scores.plan(difference=1.0, looks=looks, metrics=["composite_score"]) for looks in (1, 2)],
        "judged models": [debias(scores, labels, **QUICK)],
        "judged differences": [debias_pairs(scores, labels, **QUICK)],
        "ratings needed": [plan_labels(scores, labels, width=5)],
        "panels of judges": [plan_judges(*rated_by(panel, "d"), price=9, rating_price=1, judge_prices={"a": 0.1})],
        "judges": [judged.judges],
        "pairs of raters": [judged.pairs],
        "consensus": [agreed.models],
        "errors of judges": [agreed.judges],
        "confusion of judges": [agreed.confusion],
        "shared errors": [agreed.pairs],
        "levels of units": [agreed.units],
        "chance": [chance_of_units(scores)],
        "metrics": [flat["metrics"]],
        "models": [flat["models"]],
        "issues": [data.issues],
        "random answers": [chance(scores), chance(data, repeats=40)],
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [name for name in FRAMES if name not in {"file of scores", "models in JSON", "leaderboard"}]
)
def test_every_column_of_a_frame_has_a_meaning(name: str, frames: dict[str, list[pl.DataFrame]]) -> None:
    said = FRAMES[name].columns
    for found in frames[name]:
        check(found, said)
    printed = {"signature", *(["repeat"] if name == "scores" else [])}
    assert {column for found in frames[name] for column in found.columns} | printed >= said.keys()


@pytest.mark.parametrize("name", ["attunebench", "eibench", "sage", "emobench", "table"])
def test_every_column_of_a_file_of_scores_has_a_meaning(name: str, tmp_path: Path) -> None:
    made = scores_named(name)
    made.write(tmp_path / "scores.parquet")
    terms = {term for metric in made.metrics.values() for term in metric.terms}
    names = dict.fromkeys(made.metrics, "<metric>") | dict.fromkeys(terms - made.metrics.keys(), "<term>")
    for frame, said in (
        (pl.read_parquet(tmp_path / "scores.parquet"), FRAMES["file of scores"].columns),
        (model_frame(made), FRAMES["models in JSON"].columns),
    ):
        patterns = [re.escape(column).replace("<", "[^.]*<") for column in said]
        patterns = [re.sub(r"\[\^\.\]\*<\w+>", ".+", pattern) for pattern in patterns if pattern[0] != "["]
        for column in frame.columns:
            known = names.get(column.removesuffix("_n"), column)
            known = f"{known}_n" if column.removesuffix("_n") in names and column not in names else known
            assert known in said or any(re.fullmatch(pattern, column) for pattern in patterns), column


def test_every_key_of_a_leaderboard_has_a_meaning(scores: Scores) -> None:
    [board] = leaderboard_content(make_boards([Entry("demo", scores)]), **QUICK)["boards"]
    types = {str: "text", int: "whole number", float: "number", dict: "object"}
    for row in board["conditions"][0]["models"]:
        said = FRAMES["leaderboard"].columns
        assert [*row] == [*said]
        assert {name: types[type(value)] for name, value in row.items() if value is not None}.items() <= {
            name: column.type for name, column in said.items()
        }.items()


def run(analysis: Analysis, made: Scores, data: Any, results: Any) -> pl.DataFrame:
    """Return the frame of an analysis."""
    inputs = {"data": data, "results": results}
    return analysis.function(made, **{need: inputs[need] for need in analysis.needs}, **QUICK)


@pytest.mark.parametrize("name", ANALYSES)
def test_every_column_of_an_analysis_has_a_meaning(name: str, scores: Scores) -> None:
    analysis = ANALYSES[name]
    assert analysis.row
    priced = [one.model_copy(update={"api_cost": 0.5}) for one in load_runs("demo")]
    found = run(analysis, scores if analysis.needs else scores_named("table"), None, priced)
    assert found.columns == [*analysis.columns]
    check(found, analysis.columns)


@pytest.mark.parametrize(("benchmark", "name"), BENCHMARKS_ANALYSES, ids=str)
def test_every_column_of_an_analysis_of_a_benchmark_has_a_meaning(benchmark: str, name: str, scores: Scores) -> None:
    analysis = BENCHMARKS_ANALYSES[benchmark, name]
    assert analysis.row
    if benchmark == "attunebench":
        found = run(analysis, scores, load("demo"), load_runs("demo"))
    elif benchmark in ("comparisons", "eqbench3_pairs"):
        judged: Any = load_records("demo", COMPARISON if benchmark == "comparisons" else VERDICT)
        found = run(analysis, score(judged), None, judged)
    elif benchmark == "eibench":
        scenarios, episodes = load_scenarios("demo"), load_episodes("demo")
        found = run(analysis, score(scenarios, episodes), scenarios, episodes)
    elif benchmark == "sage":
        found = run(analysis, score(load_sage("demo")), None, load_sage("demo"))
    else:
        items = load_records("demo", ITEM)
        answers = PREDICTION.collection(answers_of(items, "a", 0.5))
        found = run(analysis, score(items, answers), items, answers)
    assert found.columns == [*analysis.columns]
    check(found, analysis.columns)


@pytest.mark.slow
def test_every_column_of_every_kind_of_record_is_listed() -> None:
    listed = {(table.origin, column.column) for table in listed_tables() for column in table.columns}
    for kind in KINDS:
        for name, frame in load_records("demo", kind)._frames():
            origin = f"`{kind.plural}.tables.{name}`" if name != "records" else "`to_parquet()` of any records"
            assert {(origin, column) for column in frame.columns} <= listed, (kind, name)
    joined = load_runs("demo").joined(load("demo"))
    for name, frame in joined._frames():
        assert {(f"`runs.joined(...).{name}`", column) for column in frame.columns} <= listed


def test_no_column_is_without_a_word() -> None:
    for table in listed_tables():
        assert table.row, table.name
        assert table.columns, table.name
        for column in table.columns:
            assert column.meaning.strip(), (table.name, column.column)
            assert column.meaning.rstrip().endswith((".", ";")), (table.name, column.column, column.meaning)


def test_metrics_are_those_of_the_catalogue() -> None:
    [table] = listed_tables("metric_names")
    assert [column.column for column in table.columns] == [
        name for name, metric in CATALOG.items() if metric.level != "turn"
    ]


def test_the_page_is_what_make_schemas_writes() -> None:
    assert COLUMNS.read_text(encoding="utf-8") == columns_page(), "run make schemas"


def test_the_page_says_every_column() -> None:
    page = COLUMNS.read_text(encoding="utf-8")
    for table in listed_tables():
        for column in table.columns:
            assert f"| `{column.column}` | {column.meaning.replace('|', chr(92) + '|')} |" in page


def test_text_stays_within_100_columns() -> None:
    text = columns_text(listed_tables())
    assert max(map(len, text.splitlines())) <= 100
    assert "`" not in text


def test_a_codebook_has_a_row_a_column() -> None:
    frame = column_frame(listed_tables())
    assert frame.height == sum(len(table.columns) for table in listed_tables())
    row = frame.row(
        by_predicate=(pl.col("origin") == "conversations.tables.mood_tags") & (pl.col("column") == "intensity")
    )
    assert row == (
        "Conversations", "mood_tags", "conversations.tables.mood_tags", "intensity",
        "Intensity, 1-7, or null where it was not given.", "whole number", 1.0, 7.0, True, "intensity",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("sage", None),
        ("run", {"runs", "conversations", "turns", "mood_tags", "binary", "pairwise", "panas", "conversation_wide"}),
        ("mood_tags", {"mood_tags"}),
        ("compare", {"comparisons"}),
        ("report", {"summary", "chance", "models in JSON"}),
        ("win_rates", {"win_rates"}),
        ("mde", {"comparisons", "plan", "condition_differences", "perspective_gap", "phrasing_gap", "turn_drift"}),
        ("composite_score", {"metric_names"}),
    ],
)
def test_what_a_name_finds(name: str, expected: set[str] | None) -> None:
    if expected is None:
        with pytest.raises(ValueError, match=f"no table or column '{name}'; "):
            listed_tables(name)
    else:
        assert {table.name for table in listed_tables(name)} == expected


def test_a_column_without_a_meaning_is_an_error() -> None:
    with pytest.raises(KeyError, match="new_column"):
        columns("model new_column")
    with pytest.raises(KeyError, match="no such columns: odd"):
        columns("model", odd="Not there.")


def test_json_is_the_frame() -> None:
    assert json.loads(json.dumps(column_frame(listed_tables("ranks")).to_dicts()))[0]["column"] == "condition"
