"""Scores as a CSV file and as a frame of pandas: what is read back gives the same results."""

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from benchmark_scores import NAMES, scores_named
from polars.testing import assert_frame_equal
from slow_cases import slow_except

from attune_bench import Scores
from attune_bench.scores.table import metrics_per_unit
from attune_bench.scores.tables_out import description_toml, long_table
from attune_metrics.metric import MetricInputError

SAME = ["model", "condition", "metric", "value", "low", "high", "n", "clusters", "excluded", "reason"]


def read_back(scores: Scores, folder: Path) -> Scores:
    """Write scores as CSV and read them."""
    scores.to_csv(folder / "scores.csv")
    return Scores.read(folder / "scores.csv")


@pytest.mark.parametrize("name", slow_except(NAMES, "attunebench", "sage"))
def test_results_are_equal(name: str, tmp_path: Path) -> None:
    scores = scores_named(name)
    again = read_back(scores, tmp_path)
    own = metrics_per_unit(scores)
    assert [*again.metrics] == own
    for metric in own:
        mine, theirs = scores.metrics[metric], again.metrics[metric]
        for field in ("label", "low", "high", "higher_is_better", "scale", "digits", "statistic", "group", "source"):
            assert getattr(mine, field) == getattr(theirs, field), (metric, field)
    for field in ("title", "unit", "condition", "private", "synthetic"):
        assert getattr(scores.provenance, field) == getattr(again.provenance, field)
    assert again.traits == scores.traits
    assert_frame_equal(
        again.summary(resamples=200).select(SAME), scores.summary(metrics=own, resamples=200).select(SAME)
    )
    models = scores.models[:2]
    options: Any = {"metrics": [again.primary], "resamples": 200}
    assert_frame_equal(again.compare(*models, **options), scores.compare(*models, **options))
    if scores.traits:
        trait = scores.traits[0]
        # A closed list of values keeps its order in no CSV file.
        assert_frame_equal(again.by(trait, **options), scores.by(trait, **options), check_row_order=False)
    # Written again, it is the same.
    table, about = (tmp_path / "scores.csv").read_bytes(), (tmp_path / "scores.toml").read_text(encoding="utf-8")
    again.to_csv(tmp_path / "scores.csv")
    assert (tmp_path / "scores.csv").read_bytes() == table
    assert tomllib.loads((tmp_path / "scores.toml").read_text(encoding="utf-8")) == tomllib.loads(about)


@pytest.fixture(scope="module")
def repeated() -> Scores:
    rows = [
        (model, f"q{unit}", repeat, metric, None if unit == 3 else (unit * 7 + place + int(repeat)) % 5 / 4)
        for place, model in enumerate(("=cmd()", "b"))
        for unit in range(8)
        for repeat in ("1", "2")
        for metric in ("hit", "odd name")
    ]
    frame = pl.DataFrame(rows, schema=["model", "unit", "repeat", "metric", "value"], orient="row")
    frame = frame.with_columns(topic=pl.col("unit") + "=x", number=pl.col("unit").str.tail(1).cast(pl.Int64))
    metrics = {
        "odd name": {
            "label": 'Odd \x7f "name"\\',
            "higher_is_better": "neither",
            "smallest_difference": 1e-5,
            "smallest_difference_source": "a\nb",
        }
    }
    return Scores.from_table(frame, metrics=metrics)


def test_repeats_names_and_what_is_undefined(repeated: Scores, tmp_path: Path) -> None:
    again = read_back(repeated, tmp_path)
    assert repeated.repeats is not None
    assert again.repeats is not None
    assert_frame_equal(again.repeats, repeated.repeats)
    assert_frame_equal(again.values, repeated.values)
    assert_frame_equal(again.units, repeated.units)
    assert again.metrics["odd name"] == repeated.metrics["odd name"]
    assert again.metrics["odd name"].higher_is_better is None
    rows = (tmp_path / "scores.csv").read_text(encoding="utf-8").splitlines()
    assert rows[0] == "model,condition,unit,cluster,topic,number,repeat,metric,value"
    assert rows[1] == "'=cmd(),,q0,,q0=x,0,1,odd name,0.25"
    assert "'=cmd(),,q3,,q3=x,3,1,hit," in rows


def test_a_frame_of_pandas_has_the_same_rows(repeated: Scores) -> None:
    found, expected = repeated.to_pandas(), long_table(repeated)
    assert [*found.columns] == expected.columns
    assert found["number"].dtype == "Int64"
    assert found["model"].dtype == "string"
    assert pl.Series(found["value"].to_numpy()).fill_nan(None).to_list() == expected["value"].to_list()


def test_a_description_is_toml(repeated: Scores) -> None:
    found = tomllib.loads(description_toml(repeated, long_table(repeated)))
    assert found["metrics"]["odd name"] == {
        "label": 'Odd \x7f "name"\\',
        "higher_is_better": "neither",
        "smallest_difference": 1e-5,
        "smallest_difference_source": "a\nb",
    }
    assert "cluster" not in found


def test_what_cannot_be_written(repeated: Scores, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"^to_csv writes one table: 'scores.txt' has to end in .csv$"):
        repeated.to_csv(tmp_path / "scores.txt")
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        repeated.to_csv(tmp_path / "no" / "scores.csv")
    odd = replace(repeated, units=repeated.units.rename({"topic": "value"}))
    with pytest.raises(MetricInputError, match="'value' is a column of tables of scores"):
        odd.to_csv(tmp_path / "scores.csv")
    pooled = replace(repeated, metrics={name: replace(one, statistic="mcc") for name, one in repeated.metrics.items()})
    with pytest.raises(MetricInputError, match="none of the metrics has one value for each unit"):
        pooled.to_pandas()
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize(
    ("values", "strata"),
    [
        ([True, False], ["false", "true"]),
        (["true", "false"], ["false", "true"]),
        (["01", "2"], ["01", "2"]),
        ([1, 20], ["1", "20"]),
        ([["a, b", "c"], ["c"]], ["a, b", "c"]),
        ([["ADHD"], []], ["ADHD", "no answer"]),
        (["[sic]", '["a", 1]'], ['["a", 1]', "[sic]"]),
        (["-b", None], ["-b", "no answer"]),
    ],
)
def test_traits_have_the_same_strata(values: list[Any], strata: list[str], tmp_path: Path) -> None:
    rows = [
        (model, f"q{unit}", "hit", (unit * 7 + place) % 5 / 4, values[unit % 2])
        for place, model in enumerate("ab")
        for unit in range(12)
    ]
    scores = Scores.from_table(pl.DataFrame(rows, schema=["model", "unit", "metric", "value", "trait"], orient="row"))
    own = scores.by("trait", resamples=100)
    assert own["stratum"].unique(maintain_order=True).to_list() == strata
    assert_frame_equal(read_back(scores, tmp_path).by("trait", resamples=100), own)
