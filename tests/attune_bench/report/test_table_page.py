"""Pages of any scores: of somebody else's table, of SAGE; the same rows as in the text; and what a page may import."""

import random
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import ModuleType
from typing import Any

import polars as pl
import pytest
from pages import Tags, cells, headings, left_out, section, tables, text_of
from slow_cases import slow_after

from attune_bench import Scores, score
from attune_bench.benchmarks import sage
from attune_bench.report import elements, exchange
from attune_bench.report.columns import Section, Table, text_column
from attune_bench.report.document import Document, render
from attune_bench.report.page_scores import PageScores
from attune_bench.scores.benchmark import Benchmark
from attune_data import load, load_runs
from attune_data.references import resolve
from attune_data.sage import SageDialogue
from attune_metrics import MetricInputError


def table_of(models: Sequence[str] = ("alpha", "beta"), units: int = 200, seed: int = 0) -> pl.DataFrame:
    """Return results per item of two metrics, without clusters or conditions, with a trait."""
    source = random.Random(seed)
    rows = [
        (model, f"q{unit:03}", metric, value, "hard" if unit % 3 else "easy")
        for place, model in enumerate(models)
        for unit in range(units)
        for metric, value in (
            ("accuracy", float(source.random() < 0.6 + place / 10)),
            ("seconds", source.gammavariate(2, 3)),
        )
    ]
    return pl.DataFrame(rows, schema=["model", "unit", "metric", "value", "level"], orient="row")


@pytest.fixture(scope="module")
def scores() -> Scores:
    return Scores.from_table(table_of())


@pytest.fixture(scope="module")
def of_table(scores: Scores) -> str:
    return scores.report(format="html", resamples=200)


# A table of somebody else's.


def test_a_bare_table_has_a_whole_page(of_table: str) -> None:
    assert headings(of_table) == [
        "Scores",
        "Comparisons",
        "Win rates",
        "Ratings",
        "Separation of models",
        "Subgroups",
        "Methods",
        "Limits",
    ]
    assert left_out(of_table) == {
        "Profiles": "need three metrics of a finite range; the scores have 0",
        "Correlation of metrics without noise": "fewer than 6 models",
        "Difficulty of units": "too few different values of accuracy",
    }


def test_it_says_how_the_metrics_were_understood(of_table: str) -> None:
    assert "2 metrics without a description (accuracy, seconds): mean, higher is better." in text_of(
        section(of_table, "Scores")
    )
    methods = text_of(section(of_table, "Methods"))
    assert "The values come from a table of results by model, unit and metric; none was scored here." in methods
    assert "units are drawn. With fewer than 5 units" in methods
    assert "Every unit is taken to be independent of the others." in methods
    assert "accuracy unbounded higher mean over units" in methods


def test_missing_values_are_counted() -> None:
    whole = table_of(units=20).filter(metric="accuracy")
    said = "values of accuracy are missing; two models are compared on the units that both have."
    # A value is missing without its row, and where its cell is empty.
    empty = pl.when(pl.int_range(pl.len()) < 5).then(None).otherwise("value").alias("value")
    for rows in (whole[5:], whole.with_columns(empty)):
        page = Scores.from_table(rows).report(format="html", resamples=100)
        assert f"5 of 40 {said}" in text_of(section(page, "Scores"))
    assert "are missing" not in Scores.from_table(whole).report(format="html", resamples=100)


def test_no_benchmark_is_spoken_of(of_table: str) -> None:
    said = text_of(of_table).lower()
    for word in ("attunebench", "eibench", "sage", "conversation", "participant", "scenario", "mode ", "coverage"):
        assert word not in said


@pytest.mark.slow
def test_a_described_table_speaks_of_its_own() -> None:
    described = Scores.from_table(
        table_of().drop("level"),
        metrics={
            "accuracy": {"label": "Accuracy", "low": 0, "high": 1, "statistic": "share", "scale": 100, "digits": 1},
            "seconds": {"label": "Time", "low": 0, "higher_is_better": False, "digits": 2, "source": "a stopwatch"},
        },
        about={"title": "Trivia", "unit": "question", "primary": "seconds"},
    )
    page_text = described.report(format="html", resamples=200)
    said = text_of(page_text)
    assert "Trivia, n = 200 questions" in said
    assert "without a description" not in said
    assert "Accuracy 0 to 100 higher share of questions" in said
    assert "Time 0 or more lower mean over questions a stopwatch" in said
    assert "Ranking by Time, lower is better" in said
    assert "Difficulty of questions" in headings(page_text)
    assert "unit" not in said.replace("unit:question", "")
    assert left_out(page_text)["Subgroups"] == "the table has no column of traits"
    # The best has the lowest time.
    values = described.summary(metrics=["seconds"], resamples=1).sort("value")
    [board] = tables(section(page_text, "Scores"))
    assert [row[0] for row in board[1:]] == values["model"].to_list()


def test_the_subgroups_are_those_of_the_traits(scores: Scores, of_table: str) -> None:
    frame = scores.by("level", compare=True, metrics=["accuracy"], resamples=200)
    assert frame.height == 4
    [head, *rows] = tables(section(of_table, "Subgroups"))[0]
    assert head == ["stratum", "model", "accuracy", "difference", "p", "Holm p", "n"]
    for row in frame.iter_rows(named=True):
        [found] = [cells for cells in rows if cells[:2] == [row["stratum"], row["model"]]]
        assert found[2] == f"{row['value']:.3f} [{row['low']:.3f}, {row['high']:.3f}]"
        assert found[3].startswith(f"{row['difference']:+.3f}")
        assert found[5] == f"{row['p_holm']:.4f}"


@pytest.mark.slow
def test_names_that_do_not_print_have_a_page() -> None:
    frame = table_of().with_columns(pl.format("{}\u202e\x1b[1m", "metric").alias("metric"))
    page = Scores.from_table(frame).report(format="html", resamples=20)
    assert "accuracy\ufffd\ufffd[1m" in page
    assert "\u202e" not in page


def test_a_trait_of_many_values_is_named_and_left_out() -> None:
    frame = table_of(units=30).with_columns(name="unit")
    page_text = Scores.from_table(frame).report(format="html", resamples=50)
    subgroups = text_of(section(page_text, "Subgroups"))
    assert "Level stratum model" in subgroups
    assert "name: left out, it has 30 values." in subgroups


def test_conditions_of_a_table() -> None:
    frame = pl.concat(
        [
            table_of(units=40, seed=place).with_columns(condition=pl.lit(condition))
            for place, condition in enumerate(("few-shot", "zero-shot"))
        ]
    )
    scores = Scores.from_table(frame, about={"condition": "prompt"})
    page_text = scores.report(format="html", resamples=200)
    differences = section(page_text, "Differences between prompts")
    assert "Prompt zero-shot minus few-shot" in text_of(differences)
    [table] = tables(differences)
    # In the order of the ranking.
    assert sorted(row[0] for row in table[1:]) == ["alpha", "beta"]
    ranked = [row[0].removesuffix(" [zero-shot]") for row in tables(section(page_text, "Scores"))[0][1:]]
    assert [row[0] for row in table[1:]] == [name for name in ranked if "[" not in name]
    assert "mode " not in text_of(differences)


@pytest.mark.slow
def test_some_rows_without_a_condition() -> None:
    frame = table_of(units=20).with_columns(condition=pl.when(pl.col("model") == "alpha").then(pl.lit("x")))
    page_text = Scores.from_table(frame).report(format="html", resamples=50)
    assert left_out(page_text)["Comparisons"] == "no condition has two models"
    assert "alpha [x]" in page_text


def test_metrics_beyond_the_board_are_named() -> None:
    wide = pl.concat(
        [table_of(units=10).with_columns(metric=pl.format("{}{}", "metric", pl.lit(place))) for place in range(5)]
    )
    page_text = Scores.from_table(wide).report(format="html", resamples=20)
    assert "2 metrics not on the board; the report as JSON has them: " in text_of(page_text)


def profiles_of(models: int, *lacking: tuple[str, str]) -> str:
    """Return the profiles of a page of some models without some values; a metric has no finite range."""
    source = random.Random(models)
    metrics: dict[str, dict[str, Any]] = {name: {"low": 0, "high": 1} for name in ("one", "two", "three")}
    metrics["two"]["higher_is_better"] = False
    rows = [
        (f"m{model}", f"u{unit}", name, source.random())
        for model in range(models)
        for unit in range(10)
        for name in (*metrics, "seconds")
        if (f"m{model}", name) not in lacking
    ]
    frame = pl.DataFrame(rows, schema=["model", "unit", "metric", "value"], orient="row")
    return section(Scores.from_table(frame, metrics=metrics).report(format="html", resamples=20), "Profiles")


def test_few_models_have_a_dot_plot_of_their_profiles_and_more_a_heat_map() -> None:
    few = profiles_of(5)
    assert "<table" not in few
    said = re.findall(r"<title>(m\d, [^:]*): [\d.]+ \[", few)
    places = ("one", "two, lower is better", "three")
    assert sorted(said) == sorted(f"m{model}, {place}" for model in range(5) for place in places)
    assert cells(profiles_of(6)).keys() == {(name, f"m{model}") for name in places for model in range(6)}


def test_a_model_that_a_dot_plot_lacks_is_named() -> None:
    said = "No value that can be shown of m1: two; m2: two, three."
    assert said in text_of(profiles_of(3, ("m1", "two"), ("m2", "two"), ("m2", "three")))
    assert "No value" not in text_of(profiles_of(3))


@pytest.mark.parametrize("models", [5, 6])
def test_metrics_that_a_profile_leaves_out_are_named_with_the_reason(models: int) -> None:
    assert "1 metric not in this figure seconds: they have no finite range." in text_of(profiles_of(models))


def test_a_metric_without_a_better_direction(scores: Scores) -> None:
    def neither(scores: Scores) -> Scores:
        metrics = {name: replace(metric, higher_is_better=None) for name, metric in scores.metrics.items()}
        return replace(scores, metrics=metrics)

    few = left_out(neither(scores).report(format="html", resamples=20))
    assert "Ranks" not in few
    four = Scores.from_table(table_of(("alpha", "beta", "gamma", "delta"), units=20))
    why = left_out(neither(four).report(format="html", resamples=20))
    assert why["Ranks"] == "neither higher nor lower values of accuracy are better"
    assert why["Win rates"] == "accuracy has no value of each unit, or no better direction"


def test_an_unknown_option_is_refused(scores: Scores) -> None:
    with pytest.raises(MetricInputError, match="no option 'resample'; did you mean 'resamples'"):
        scores.report(format="html", resample=5)  # type: ignore[call-arg]  # a mistake


# The same rows in every format.


def shown_tables(scores: Scores, monkeypatch: pytest.MonkeyPatch, **given: object) -> tuple[str, list[Table]]:
    """Return a page, and every table that it was made of."""
    found: list[Table] = []
    element = elements.table_element

    def recorded(table: Table, models: Sequence[str] = (), **given: Any) -> str:
        found.append(table)
        return element(table, models, **given)

    for module in (elements, exchange):
        monkeypatch.setattr(module, "table_element", recorded)
    return scores.report(format="html", **given), found  # type: ignore[arg-type]  # whatever a page takes


@pytest.mark.slow
def test_every_table_has_the_rows_of_its_text(monkeypatch: pytest.MonkeyPatch) -> None:
    conversations, runs = load("demo"), load_runs("demo")
    scores = score(conversations, runs)
    page_text, found = shown_tables(scores, monkeypatch, data=conversations, results=runs, resamples=50)
    assert len(found) > 8
    for table, (head, *rows) in zip(found, tables(page_text), strict=True):
        text = render(Document(tables=[table]), format="markdown")
        lines = [line for line in text.splitlines() if line.startswith("|")]
        cells = [[re.sub(r"\\([|-])", r"\1", cell.strip()) for cell in line[1:-1].split(" | ")] for line in lines]
        # A column of reasons is headed on the page only.
        assert head == [*cells[0][: len(table.columns)], *(["note"] if len(cells[0]) > len(table.columns) else [])]
        assert rows == cells[2:]


# SAGE.


@pytest.fixture(scope="module")
def of_sage() -> str:
    source = random.Random(1)
    dialogues = [
        SageDialogue(
            scenario_id=f"s{place}",
            model=model,
            emo_point=min(100, max(0, round(source.gauss(mean, 30)))),
            history=[],
        )
        for model, mean in (("a", 60), ("b", 70), ("c", 40))
        for place in range(30)
    ]
    return score(dialogues).report(format="html", resamples=200)


def test_the_page_of_sage(of_sage: str) -> None:
    assert Tags(of_sage).open == []
    assert "<title>SAGE scores</title>" in of_sage
    [board] = tables(section(of_sage, "Scores"))
    assert board[0] == ["model", "Score", "Success", "Failure, lower is better", "n"]
    assert "Shares have Wilson intervals." in text_of(section(of_sage, "Scores"))
    assert "Score 0 to 100 higher mean over scenarios" in text_of(section(of_sage, "Methods"))
    assert "Difficulty of scenarios" in headings(of_sage)
    assert sage.BENCHMARK.title in of_sage


# A benchmark of somebody else's.


def own_sections(page: PageScores, **given: object) -> list[Section]:
    columns = [text_column("name", "name", is_name=True)]
    rows = [{"name": f"{key}={value}"} for key, value in {**given, **page.options}.items()]
    return [
        Section("Own", ["<b>own</b>", Table("own", "", columns, rows), ("one", f"small_cells={page.small_cells}")]),
        Section("Other", left_out=f"lacks {len(page.table.models)} things"),
    ]


MINE = Benchmark(
    name="mine",
    title="Mine",
    docs="mine.md",
    results="attune_data.loading:RUN",
    score="attune_bench:score",
    sections=own_sections,
    limits=("It is <small>.",),
)


def test_sections_of_somebody_elses_benchmark(scores: Scores, monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("a_module_in_use")
    module.MINE = MINE  # type: ignore[attr-defined]  # an empty module gets its entry
    monkeypatch.setitem(sys.modules, "a_module_in_use", module)
    own = replace(scores, provenance=scores.provenance.model_copy(update={"benchmark": "a_module_in_use:MINE"}))
    page_text = own.report(format="html", resamples=20, seed=7)
    found = text_of(section(page_text, "Own"))
    assert "<b>own</b>" in found
    assert "data=None" in found
    assert "seed=7" in found
    assert "one small_cells=False" in found
    assert left_out(page_text)["Other"] == "lacks 2 things"
    assert "It is <small>." in text_of(section(page_text, "Limits"))


@pytest.mark.parametrize("name", slow_after(1, ["antigravity:NAME", "no_such_benchmark", "no.such:NAME"]))
def test_scores_do_not_choose_what_is_imported(scores: Scores, name: str) -> None:
    foreign = replace(scores, provenance=scores.provenance.model_copy(update={"benchmark": name}))
    assert "Limits" in headings(foreign.report(format="html", resamples=20))
    assert name.partition(":")[0] not in sys.modules


def test_sections_are_resolved_by_reference() -> None:
    assert callable(resolve("attune_bench.benchmarks.attunebench.report:sections"))
    assert callable(resolve("attune_bench.benchmarks.eibench.report:sections"))


def test_a_page_needs_no_library_of_charts(scores: Scores, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    assert "<svg" in scores.report(format="html", resamples=20)


@pytest.mark.slow
def test_a_text_needs_no_figures(spawn: Callable[..., subprocess.CompletedProcess[bytes]]) -> None:
    code = """
import sys, polars as pl
from attune_bench import Scores
rows = {"model": ["m"] * 6, "unit": list("abcdef"), "metric": ["x"] * 6, "value": [1.0, 2, 3, 4, 5, 6]}
print(Scores.from_table(pl.DataFrame(rows)).report(resamples=20))
assert not {"altair", "vl_convert", "attune_bench.report.html"} & set(sys.modules)
"""
    done = spawn(code=code)
    assert done.stderr == b""
    assert b"3.500" in done.stdout


def repeated() -> Scores:
    rows = [
        (model, f"u{unit}", "points", str(repeat), float(place + unit % 7 + (unit * repeat) % 3))
        for place, model in enumerate(("one", "two"))
        for unit in range(30)
        for repeat in range(3)
    ]
    return Scores.from_table(
        pl.DataFrame(rows, schema=["model", "unit", "metric", "repeat", "value"], orient="row"),
        metrics={"points": {"label": "Points"}},
    )


def test_repeats_have_a_section_where_models_were_asked_several_times(scores: Scores) -> None:
    assert "<h2>Repeats" not in scores.report(format="html", resamples=20)
    page = repeated().report(format="html", resamples=20)
    section = page[page.index("<h2>Repeats") :].partition("<h2>Difficulty")[0]
    for title in ("Variance between units and between repeats", "Ranks over repeats", "What repeats are worth"):
        assert title in section


def test_repeats_are_left_out_where_clusters_count_once() -> None:
    page = repeated().report(format="html", resamples=20, weight="cluster")
    assert left_out(page)["Repeats"] == "counts each unit once (--weight unit)"


@pytest.mark.parametrize(("models", "is_open"), [(4, True), (5, False)])
def test_comparisons_have_sentences_to_quote_and_at_most_six_pairs_are_open(models: int, is_open: bool) -> None:
    names = [f"m{place}" for place in range(models)]
    values = [(name, f"q{u}", "hit", place + u % 3 / 10) for place, name in enumerate(names) for u in range(24)]
    frame = pl.DataFrame(values, schema=["model", "unit", "metric", "value"], orient="row")
    page = section(Scores.from_table(frame).report(format="html", resamples=200), "Comparisons")
    last = f"To quote: m{models - 1} scores higher than m{models - 2} in hit (mean "
    assert last in text_of(page)
    assert text_of(page).count("To quote: ") == (6 if is_open else 1)
    assert ("All pairs, with their numbers" not in page) == is_open
    assert "A minus B" in text_of(page)
