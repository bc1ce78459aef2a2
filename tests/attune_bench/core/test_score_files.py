"""Files of scores: written whole, read back into the same scores, and told apart from what they are not."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import polars as pl
import pytest
from benchmark_scores import NAMES, scores_named

from attune_bench import Scores
from attune_bench.scores.parts import Provenance
from attune_bench.scores.table import JsonColumn
from attune_data import SourceError
from attune_metrics.metric import Metric


def same(one: Scores, other: Scores) -> bool:
    variants = (pl.DataFrame() if scores.variants is None else scores.variants for scores in (one, other))
    return (
        one.values.equals(other.values)
        and next(variants).equals(next(variants))
        and one.units.equals(other.units)
        and one.units.schema == other.units.schema
        and dict(one.metrics) == dict(other.metrics)
        and one.provenance == other.provenance
        and one.detail == other.detail
    )


@pytest.fixture
def table() -> Scores:
    frame = pl.DataFrame(
        {
            "model": ["a", "a", "b"],
            "unit": ["q1", "q2", "q1"],
            "metric": ["hit"] * 3,
            "value": [1.0, None, 0.5],
            "cluster": ["x", None, "x"],
            "value_of_food": [True, False, True],
        }
    )
    return Scores.from_table(frame, metrics={"hit": {"low": 0, "label": "Hit | rate", "digits": 1}})


def test_a_table_is_read_back_the_same(table: Scores, tmp_path: Path) -> None:
    table.write(tmp_path / "scores.parquet")
    assert same(Scores.read(tmp_path / "scores.parquet"), table)


def test_the_file_is_a_table_for_any_tool(table: Scores, tmp_path: Path) -> None:
    table.write(tmp_path / "scores.parquet")
    found = pl.read_parquet(tmp_path / "scores.parquet")
    assert found.columns == ["model", "condition", "unit", "hit", "cluster", "trait.value_of_food"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("ending", ["parquet", "json"])
def test_scores_are_read_back_the_same(name: str, ending: str, tmp_path: Path) -> None:
    scores, path = scores_named(name), tmp_path / f"scores.{ending}"
    if ending == "json":
        if name != "attunebench":
            with pytest.raises(ValueError, match=r"'scores\.json': these scores have no JSON file of their own"):
                scores.write(path)
            assert list(tmp_path.iterdir()) == []
            return
        # Its JSON file has no traits of units.
        scores = replace(scores, units=scores.units.drop(scores.traits))
    scores.write(path)
    again = Scores.read(path)
    assert same(again, scores)
    assert again.sign() == scores.sign()
    assert again.report(resamples=50) == scores.report(resamples=50)
    assert again.choices == scores.choices


def test_another_variant_is_written_as_it_is_chosen(tmp_path: Path) -> None:
    scores = scores_named("eibench").variant(failed="worst", rule="directed")
    scores.write(tmp_path / "scores.parquet")
    again = Scores.read(tmp_path / "scores.parquet")
    assert same(again, scores)
    assert again.provenance.variant == {"rule": "directed", "failed": "worst"}
    assert same(again.variant(failed="exclude", rule="evaluation"), scores_named("eibench"))


@pytest.mark.parametrize("name", NAMES)
def test_a_part_is_read_back_the_same(name: str, tmp_path: Path) -> None:
    scores = scores_named(name)
    part = scores.keep(groups=scores.groups[1:], units=scores.units["unit"][:7])
    part.write(tmp_path / "scores.parquet")
    assert same(Scores.read(tmp_path / "scores.parquet"), part)


def test_scores_without_rows_are_read_back(tmp_path: Path) -> None:
    empty = scores_named("sage").keep(units=[])
    empty.write(tmp_path / "scores.parquet")
    again = Scores.read(tmp_path / "scores.parquet")
    assert same(again, empty)
    assert repr(again) == "<Scores of 0 models, 0 scenarios, 3 metrics>"


def test_values_are_read_back_to_the_last_bit(tmp_path: Path) -> None:
    values = [0.1 + 0.2, 5e-324, 1 / 3, -0.0, 1e308]
    rows = [("a", f"q{place}", "hit", value) for place, value in enumerate(values)]
    scores = Scores.from_table(pl.DataFrame(rows, schema=["model", "unit", "metric", "value"], orient="row"))
    scores.write(tmp_path / "scores.parquet")
    assert list(map(float.hex, Scores.read(tmp_path / "scores.parquet").values["hit"])) == list(map(float.hex, values))


@pytest.mark.parametrize(
    "name", ["antigravity:NAME", "no_such_benchmark", "no.such:NAME", "os:getcwd", "os:nothing", "scipy:stats", ":", ""]
)
def test_scores_of_a_benchmark_that_is_not_known(table: Scores, name: str, tmp_path: Path) -> None:
    foreign = replace(table, provenance=table.provenance.model_copy(update={"benchmark": name}))
    foreign.write(tmp_path / "scores.parquet")
    again = Scores.read(tmp_path / "scores.parquet")
    assert same(again, foreign)
    assert again.summary(resamples=20).equals(table.summary(resamples=20))
    assert again.sign() != table.sign()
    assert f"|benchmark:{quote(name, safe='')}|" in again.sign() or not name
    assert "Limits" in again.report(format="html", resamples=20)
    with pytest.raises(ValueError, match="no JSON file of their own"):
        again.write(tmp_path / "scores.json")
    assert not {"antigravity", "no.such", "no"} & set(sys.modules)


def test_entries_of_somebody_elses_metrics_are_read_back(tmp_path: Path) -> None:
    terms = ("tp", "tn", "fp", "fn")
    metrics = {
        "f1": Metric(name="f1", label="F1", low=0, high=1, statistic="f1", terms=terms, coverage=("asked",), group="G"),
        "loss": Metric(name="loss", label="Loss", short="L", low=0, higher_is_better=False, scale=10, digits=2),
        "style": Metric(name="style", label="Style", higher_is_better=None, source="Anon (2026)"),
    }
    columns = {
        "model": ["a"] * 2,
        "condition": [None] * 2,
        "unit": ["u", "v"],
        "loss": [1.0, 2.0],
        "style": [3.0, None],
    }
    counts = dict(zip(terms, ([3.0, 1.0], [1.0, 1.0], [0.0, 2.0], [1.0, 0.0]), strict=True))
    coverage = {"coverage.asked.present": [4.0, 3.0], "coverage.asked.expected": [4.0, 4.0]}
    scores = Scores(
        values=pl.DataFrame(columns | counts | coverage, schema_overrides={"condition": pl.String}),
        units=pl.DataFrame({"unit": ["u", "v"], "cluster": [None, "c"]}),
        metrics=metrics,
        provenance=Provenance(benchmark="mine", title="Mine", primary="f1", codebook="c", data="d", runs="r"),
    )
    scores.write(tmp_path / "scores.parquet")
    again = Scores.read(tmp_path / "scores.parquet")
    assert same(again, scores)
    row = again.summary(metrics=["f1"], resamples=20).row(0, named=True)
    # TP 4, FP 2, FN 1: 8 of 11. Seven of eight questions were answered.
    assert (row["value"], row["coverage"]) == (8 / 11, 7 / 8)


def test_variants_are_written_and_chosen_after_reading(tmp_path: Path) -> None:
    keys = {"model": ["a"] * 2, "condition": [None] * 2, "unit": ["u"] * 2}
    rows = {**keys, "hit": [1.0, 0.0], "rule": ["strict", "lax"]}
    frame = pl.DataFrame(rows, schema_overrides={"condition": pl.String})
    start = Scores.from_table(pl.DataFrame({"model": ["a"], "unit": ["u"], "metric": ["hit"], "value": [1.0]}))
    scores = Scores(
        values=frame.filter(rule="strict").drop("rule"),
        units=start.units,
        metrics={"hit": Metric(name="hit", label="Hit")},
        provenance=start.provenance.model_copy(update={"variant": {"rule": "strict"}}),
        variants=frame,
    )
    scores.write(tmp_path / "scores.parquet")
    again = Scores.read(tmp_path / "scores.parquet")
    assert again.choices == {"rule": ("strict", "lax")}
    assert again.values["hit"].to_list() == [1.0]
    other = again.variant(rule="lax")
    assert (other.values["hit"].to_list(), other.provenance.variant) == ([0.0], {"rule": "lax"})
    with pytest.raises(ValueError, match="rule is 'mild'; expected strict, lax"):
        again.variant(rule="mild")
    with pytest.raises(ValueError, match="do not depend on 'failed'; their choices are rule"):
        again.variant(failed="worst")


def test_a_file_that_cannot_be_written_leaves_the_older_one(table: Scores, tmp_path: Path) -> None:
    table.write(tmp_path / "scores.parquet")
    before = (tmp_path / "scores.parquet").read_bytes()
    with pytest.raises(ValueError, match=r"does not end in \.parquet"):
        table.write(tmp_path / "scores.csv")
    with pytest.raises(ValueError, match="no JSON file of their own"):
        table.write(tmp_path / "scores.json")
    (tmp_path / "folder.parquet").mkdir()
    with pytest.raises(OSError, match="is a directory"):
        table.write(tmp_path / "folder.parquet")
    assert (tmp_path / "scores.parquet").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder.parquet", "scores.parquet"]


@pytest.mark.parametrize(
    ("about", "message"),
    [
        ({"format": 3}, r"format 3, of a later version of attune-bench"),
        ({"format": 1}, r"contains damaged scores"),
        ({}, r"contains damaged scores"),
    ],
)
def test_a_file_of_another_version_or_damaged(about: dict[str, int], message: str, tmp_path: Path) -> None:
    path = tmp_path / "scores.parquet"
    pl.DataFrame({"model": ["a"]}).write_parquet(path, metadata={"attune-bench": json.dumps(about)})
    with pytest.raises(SourceError, match=message):
        Scores.read(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "is not JSON"),
        (b"[]", "holds no scores"),
        (b'[{"model": "a"}]', r"is a list of rows; write a row a line to a file \.jsonl: in pandas frame\.to_json\("),
        (b'{"overall": {}}', "holds no scores"),
        (b"[" * 100_000, "is not JSON"),
    ],
)
def test_json_that_is_no_file_of_scores(content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "scores.json").write_bytes(content)
    with pytest.raises(SourceError, match=message):
        Scores.read(tmp_path / "scores.json")


def test_scores_with_variants_and_records_are_read_back_the_same(tmp_path: Path) -> None:
    scores = scores_named("eibench")
    detail = JsonColumn.of({"place": place} for place in range(scores.values.height))
    with_detail = replace(scores, detail=detail).variant(failed="worst")
    with_detail.write(tmp_path / "scores.parquet")
    read = Scores.read(tmp_path / "scores.parquet")
    assert same(read, with_detail)
    assert read.detail == detail
