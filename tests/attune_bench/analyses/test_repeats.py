"""Scores of models that were asked several times: means count, and repeats are kept for their own analyses."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from attune_bench import Scores
from attune_bench.analyses import repeat_ranks, repeat_variances, repeats_worth
from attune_bench.stats.signing import sign
from attune_data import SourceError
from attune_metrics.metric import MetricInputError
from attune_metrics.signature import Signature
from attune_metrics.stats.bootstrap import draw_resamples
from attune_metrics.stats.repeats import repeat_variance

SAID = {
    "a": [[8.0, 6.0, 7.0, 9.0, 5.0, 7.0], [7.0, 6.0, 8.0, 9.0, 4.0, 7.0]],
    "b": [[7.0, 6.0, 7.0, 8.0, 5.0, 6.0], [8.0, 7.0, 7.0, 9.0, 6.0, 6.0], [6.0, 6.0, 7.0, 8.0, 5.0, 6.0]],
}


def rows_of(said: dict[str, list[list[float]]] = SAID) -> list[dict[str, Any]]:
    return [
        {"model": model, "unit": f"q{unit}", "cluster": f"p{unit // 2}", "metric": "points", "repeat": number}
        | {"value": value}
        for model, repeats in said.items()
        for number, values in enumerate(repeats, start=1)
        for unit, value in enumerate(values)
    ]


@pytest.fixture
def scores() -> Scores:
    return Scores.from_table(pl.DataFrame(rows_of()), metrics={"points": {"low": 0, "high": 10}})


@pytest.mark.slow
def test_repeats_never_count_as_data(scores: Scores) -> None:
    means = [
        row | {"value": sum(each[unit] for each in SAID[row["model"]]) / len(SAID[row["model"]])}
        for row in rows_of()
        if row["repeat"] == 1 and (unit := int(row["unit"][1:])) >= 0
    ]
    once = Scores.from_table(pl.DataFrame(means).drop("repeat"), metrics={"points": {"low": 0, "high": 10}})
    assert scores.values.equals(once.values)
    for verb in ("summary", "compare_all", "rank"):
        assert getattr(scores, verb)(resamples=300).equals(getattr(once, verb)(resamples=300)), verb
    assert "Values are means over the repeats of each unit" in scores.report(resamples=300)
    assert Signature.parse(sign(scores)).repeats == "2-3"
    assert Signature.parse(sign(once)).repeats is None


def test_a_mean_is_over_the_repeats_in_which_there_is_a_value() -> None:
    rows = rows_of({"a": [[1.0, 2.0], [3.0, 4.0]]})
    rows[2]["value"] = None
    assert Scores.from_table(pl.DataFrame(rows)).values["points"].to_list() == [1.0, 3.0]


def test_a_share_of_trials_becomes_a_mean() -> None:
    frame = pl.DataFrame(rows_of({"a": [[1.0, 0.0, 1.0], [0.0, 0.0, 1.0]]}))
    found = Scores.from_table(frame, metrics={"points": {"statistic": "share", "low": 0, "high": 1}})
    assert found.metric("points").statistic == "mean"
    assert found.values["points"].to_list() == [0.5, 0.0, 1.0]


def test_a_file_keeps_the_repeats(scores: Scores, tmp_path: Path) -> None:
    path = tmp_path / "scores.parquet"
    scores.write(path)
    read = Scores.read(path)
    assert read.values.equals(scores.values)
    assert read.repeats is not None
    assert scores.repeats is not None
    assert read.repeats.equals(scores.repeats)
    assert sign(read) == sign(scores)
    assert repeat_variances(read, resamples=200).equals(repeat_variances(scores, resamples=200))


def test_a_file_of_one_answer_each_is_as_before(scores: Scores, tmp_path: Path) -> None:
    once = Scores.from_table(pl.DataFrame(rows_of()).filter(repeat=1).drop("repeat"))
    once.write(tmp_path / "once.parquet")
    assert "repeat" not in pl.read_parquet(tmp_path / "once.parquet").columns
    assert b'"format": 1' in (tmp_path / "once.parquet").read_bytes()
    scores.write(tmp_path / "several.parquet")
    assert b'"format": 2' in (tmp_path / "several.parquet").read_bytes()


def test_a_repeat_of_a_row_that_is_not_there_is_damage(scores: Scores, tmp_path: Path) -> None:
    path = tmp_path / "scores.parquet"
    scores.write(path)
    metadata = pl.read_parquet_metadata(path)
    frame = pl.read_parquet(path)
    frame.filter(pl.col("repeat").is_not_null() | (pl.col("model") == "a")).write_parquet(
        path, metadata={"attune-bench": metadata["attune-bench"]}
    )
    with pytest.raises(SourceError, match="repeat '1' of model 'b', unit 'q0' has no mean"):
        Scores.read(path)


def test_a_part_of_the_units_has_their_repeats(scores: Scores) -> None:
    part = scores.keep(units=["q0", "q1"])
    assert part.repeats is not None
    assert part.repeats.height == 2 * 5
    assert scores.keep(groups=[("a", None)]).repeat_counts == (2,)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"repeat": None}, "the table, row 1: repeat is empty; every row names its repeat, or none"),
        ({"repeat": 2}, "rows 1 and 7: both are model 'a', unit 'q0', metric 'points', repeat '2', with the values"),
    ],
)
def test_rows_that_do_not_fit_are_refused(change: dict[str, Any], message: str) -> None:
    rows = rows_of()
    rows[0] |= change
    with pytest.raises(MetricInputError) as raised:
        Scores.from_table(pl.DataFrame(rows))
    assert message in str(raised.value)


def test_variances_of_each_model_on_its_own_repeats(scores: Scores) -> None:
    found = repeat_variances(scores, resamples=400, seed=3)
    assert found["repeats"].to_list() == [2] * 3 + [3] * 3
    labels = [f"p{unit // 2}" for unit in range(6)]
    expected = repeat_variance(SAID["b"], draw_resamples(labels, n_resamples=400, seed=3))
    rows = found.filter(model="b").to_dicts()
    assert [row["variance"] for row in rows] == pytest.approx(
        [expected.unit.estimate, expected.repeat.estimate, expected.interaction.estimate], rel=1e-12
    )
    assert {row["reason"] for row in rows} == {"fewer than 5 clusters"}
    by_units = repeat_variances(scores, resamples=400, unit="unit").filter(source="repeat")
    assert all(row["low"] <= max(row["variance"], 0) <= row["high"] for row in by_units.to_dicts() if row["low"])


def test_ranks_over_every_combination(scores: Scores) -> None:
    means = {model: [sum(each) / 6 for each in repeats] for model, repeats in SAID.items()}
    pairs = [(one, other) for one in means["a"] for other in means["b"]]
    ahead = sum((one > other) + (one == other) / 2 for one, other in pairs) / 6
    [first, second] = repeat_ranks(scores).to_dicts()
    assert (first["model"], first["rank"], first["best"], first["worst"]) == ("a", 1.0, 1, 2)
    assert first["same"] == pytest.approx(ahead, rel=1e-12)
    assert (second["repeats"], second["n"]) == (3, 6)


def test_what_more_repeats_and_more_units_would_do(scores: Scores) -> None:
    found = repeats_worth(scores).filter(model="b")
    assert found["repeats"].to_list() == [1, 2, 3, 5, 10]
    split = repeat_variance(SAID["b"], draw_resamples([f"p{unit // 2}" for unit in range(6)]))
    assert found["error"].to_list() == pytest.approx([split.standard_error(r) for r in (1, 2, 3, 5, 10)], rel=1e-12)
    assert found["error_of_units"][2] == pytest.approx(split.standard_error(1, units=3), rel=1e-12)


def test_scores_without_repeats_have_no_rows() -> None:
    once = Scores.from_table(pl.DataFrame(rows_of()).filter(repeat=1).drop("repeat"))
    for analysis in (repeat_variances, repeat_ranks, repeats_worth):
        assert analysis(once, resamples=200).is_empty()


def test_variances_honour_the_options_of_every_analysis(scores: Scores) -> None:
    ends = ["low", "high"]
    wide, narrow = (repeat_variances(scores, resamples=300, unit="unit", level=level) for level in (0.95, 0.5))
    assert wide.drop(ends).equals(narrow.drop(ends))
    pairs = zip((wide["high"] - wide["low"]).to_list(), (narrow["high"] - narrow["low"]).to_list(), strict=True)
    assert all(one > other for one, other in pairs if one is not None)
    drawn = [repeat_variances(scores, resamples=300, unit="unit", interval="percentile", seed=seed) for seed in (0, 1)]
    assert not drawn[0].equals(drawn[1])
    assert not repeat_variances(scores, resamples=300, unit="unit", interval="percentile").equals(wide)
    # Repeats are not resampled.
    of_repeats = [
        repeat_variances(scores, resamples=300, unit="unit", seed=seed).filter(source="repeat") for seed in (0, 1)
    ]
    assert of_repeats[0].equals(of_repeats[1])
