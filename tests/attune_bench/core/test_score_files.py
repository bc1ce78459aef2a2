"""Files of scores: written whole, read back into the same scores, and told apart from what they are not."""

import json
from pathlib import Path

import polars as pl
import pytest

from attune_bench import Scores, score
from attune_data import Collection, Conversation, Run, SourceError
from attune_metrics.metric import Metric

Demo = tuple[Collection[Conversation], Collection[Run]]


def same(one: Scores, other: Scores) -> bool:
    variants = (one.variants is None) == (other.variants is None)
    return (
        variants
        and one.values.equals(other.values)
        and (one.variants is None or one.variants.equals(other.variants or pl.DataFrame()))
        and one.units.equals(other.units)
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


def test_scores_of_a_benchmark_are_read_back_the_same_in_both_formats(demo: Demo, tmp_path: Path) -> None:
    conversations, runs = demo
    scores = score(conversations, runs)
    for name in ("scores.parquet", "scores.json"):
        scores.write(tmp_path / name)
        again = Scores.read(tmp_path / name)
        assert same(again, scores)
        assert again.sign() == scores.sign()
        assert again.report() == scores.report()


def test_variants_are_written_and_chosen_after_reading(tmp_path: Path) -> None:
    rows = {"model": ["a"] * 2, "condition": [None] * 2, "unit": ["u"] * 2, "hit": [1.0, 0.0], "rule": ["strict", "lax"]}
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
    with pytest.raises(OSError, match="is a directory"):
        (tmp_path / "folder.parquet").mkdir()
        table.write(tmp_path / "folder.parquet")
    assert (tmp_path / "scores.parquet").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder.parquet", "scores.parquet"]


@pytest.mark.parametrize(
    ("about", "message"),
    [
        ({"format": 2}, r"format 2, of a later version of attune-bench"),
        ({"format": 1}, r"holds damaged scores"),
        ({}, r"holds damaged scores"),
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
        (b'{"overall": {}}', "holds no scores"),
        (b"[" * 100_000, "is not JSON"),
    ],
)
def test_json_that_is_no_file_of_scores(content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "scores.json").write_bytes(content)
    with pytest.raises(SourceError, match=message):
        Scores.read(tmp_path / "scores.json")
