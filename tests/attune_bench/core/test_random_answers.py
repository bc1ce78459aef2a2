"""What answering at random scores: of data and of scores, of parts of them, from files, and where nothing says it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from attune_bench import Scores, chance, score
from attune_bench.benchmarks.attunebench import baselines
from attune_bench.benchmarks.attunebench.detail import records_of
from attune_bench.benchmarks.attunebench.expected_scores import EXPECTED
from attune_bench.benchmarks.attunebench.scores_json import chance_by_unit
from attune_bench.benchmarks.attunebench.scoring import scores_of
from attune_bench.report import figures
from attune_bench.report.drawing import svg
from attune_data import Conversations, load, load_runs, load_sage
from attune_metrics import MetricInputError

PAIRWISE, TAU, GOALS, COMPOSITE, SIMULATED = (
    "avg_pairwise_accuracy",
    "avg_pairwise_kendall_tau",
    "q1_looking_for_score",
    "composite_score",
    "avg_response_similarity",
)


@pytest.fixture(scope="module")
def conversations() -> Conversations:
    """Conversations in which the comparisons of every second one have no winner."""
    demo = load("demo")
    records = [one.model_dump(by_alias=True) for one in demo]
    for record in records[::2]:
        for turn in record["turns"]:
            for comparison in turn["annotations"]["pairwiseComparisons"]:
                comparison["winner"] = None
    return Conversations([type(one).model_validate(record) for one, record in zip(demo, records, strict=True)])


@pytest.fixture(scope="module")
def scores(conversations: Conversations) -> Scores:
    return score(conversations, load_runs("demo"))


def values(frame: pl.DataFrame, condition: str | None = "default") -> dict[str, float]:
    rows = frame.filter(pl.col("condition").eq_missing(pl.lit(condition)))
    return dict(rows.select("metric", "chance").rows())


def test_of_scores_it_is_the_mean_over_the_units_scored(conversations: Conversations, scores: Scores) -> None:
    found = chance(scores)
    assert found.columns == ["condition", "metric", "chance", "low", "high", "n", "how"]
    assert set(found["metric"]) == {*EXPECTED}
    assert found.select("low", "high").null_count().row(0) == (found.height,) * 2
    assert set(found["how"]) == {"exact"}
    # No comparison of one half of 40 conversations is answered right, of the other half one in two.
    assert values(found)[PAIRWISE] == 0.25
    one = conversations[0].id, conversations[1].id
    for unit, expected in zip(one, (0, 0.5), strict=True):
        part = chance(scores.keep(units=[unit])).row(by_predicate=pl.col("metric") == PAIRWISE, named=True)
        assert (part["chance"], part["n"]) == (expected, 1)


@pytest.mark.slow
def test_it_is_of_the_units_under_each_condition(conversations: Conversations) -> None:
    runs = load_runs("demo")
    of_ties = {one.id for one in conversations[::2]}
    verbose = [one.model_copy(update={"mode": "verbose"}) for one in runs if one.conversation_id in of_ties]
    both = score(conversations, [*runs, *verbose])
    found = chance(both)
    assert values(found)[PAIRWISE] == 0.25
    assert values(found, "verbose")[PAIRWISE] == 0
    # What a figure draws is of its condition.
    for condition, line in (("default", 0.25), ("verbose", 0.0)):
        chart = figures.scores(both, frame=both.summary(metrics=[PAIRWISE], resamples=20), condition=condition)
        drawn = [one["x"] for layer in _layers(chart.to_dict()) for one in _rows(layer) if "x" in one]
        assert set(drawn) == {line}
        assert "random answers on these data" in svg(chart)


def _layers(chart: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    below = [inner for layer in chart.get("layer", ()) for inner in _layers(layer)]
    return [chart, *below]


def _rows(layer: Mapping[str, Any]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = layer.get("data", {}).get("values", [])
    return rows


@pytest.mark.parametrize("ending", ["parquet", "json"])
def test_files_of_scores_say_it(scores: Scores, ending: str, tmp_path: Path) -> None:
    scores.write(tmp_path / f"scores.{ending}")
    assert chance(Scores.read(tmp_path / f"scores.{ending}")).equals(chance(scores))


@pytest.mark.slow
def test_of_data_every_metric_has_it_expected_or_simulated(conversations: Conversations, scores: Scores) -> None:
    few = conversations[:8]
    found, of_units = chance(few, repeats=40, seed=3), chance(scores.keep(units=[one.id for one in few]))
    rows = {row["metric"]: row for row in found.iter_rows(named=True)}
    exact, of_scores = (frame.filter(how="exact") for frame in (found, of_units))
    assert (
        exact.select("metric", "chance", "n")
        .sort("metric")
        .equals(of_scores.select("metric", "chance", "n").sort("metric"))
    )
    simulated = found.filter(how="simulated")
    assert {SIMULATED, "avg_emotion_f1_intensity", "pooled_binary_om_metrics.mcc"} <= {*simulated["metric"]}
    # Of 40 sets of random answers, the range of a metric with an expected value lies about it too.
    [composite] = found.filter(metric=COMPOSITE).to_dicts()
    assert composite["low"] < composite["chance"] < composite["high"]
    assert (simulated["low"] <= simulated["chance"]).all()
    assert (simulated["chance"] <= simulated["high"]).all()
    # Nobody judges random drafts, and a score among models is of no single one.
    assert {"avg_draft_judge_score", "composite_z"}.isdisjoint(rows)
    some = conversations[:4]
    again, other = (chance(some, repeats=2, seed=seed) for seed in (3, 4))
    assert chance(some, repeats=2, seed=3).equals(again)
    assert values(again, None)[SIMULATED] != values(other, None)[SIMULATED]
    assert values(again, None)[PAIRWISE] == values(other, None)[PAIRWISE] == 0.25
    assert again["low"].is_null().all()


def test_a_simulated_value_is_the_mean_of_random_answers_to_all_of_the_data(conversations: Conversations) -> None:
    some = conversations[:4]
    [row] = chance(some, repeats=1).filter(metric=SIMULATED).to_dicts()
    # The first seed that numpy's sequence of seed 0 gives.
    own = score(some, baselines.chance(some, seed=2968811710)).values[SIMULATED].mean()
    assert row["chance"] == pytest.approx(own, abs=1e-12)
    assert (row["n"], row["how"]) == (4, "simulated")


def test_the_protocol_counts(conversations: Conversations) -> None:
    some = conversations[:4]
    documented, released = (values(chance(some, repeats=1, protocol=name), None) for name in ("documented", "released"))
    # A set F1 is never below the Jaccard index of the same sets.
    assert documented[GOALS] < released[GOALS]
    assert documented[PAIRWISE] == released[PAIRWISE]


@pytest.mark.slow
def test_on_data_without_ties_the_line_is_a_half_and_the_interval_of_random_answers_covers_it() -> None:
    demo = load("demo")
    assert all(pair.winner for one in demo for turn in one.turns for pair in turn.annotations.pairwise_comparisons)
    covered = 0
    for seed in range(20):
        scores = score(demo, baselines.chance(demo, seed=seed))
        assert values(chance(scores))[PAIRWISE] == 0.5
        [row] = scores.summary(metrics=[PAIRWISE], resamples=1000).to_dicts()
        covered += row["low"] <= 0.5 <= row["high"]
    assert covered >= 17


# Where nothing says it.


def test_scores_without_it_say_what_to_give(scores: Scores) -> None:
    table = pl.DataFrame({"model": ["m"], "unit": ["u"], "metric": ["hit"], "value": [1.0]})
    bare = scores.units.select("unit", "cluster")
    older = Scores(values=scores.values, units=bare, metrics=scores.metrics, provenance=scores.provenance)
    for one in (Scores.from_table(table), score(load_sage("demo")), older):
        with pytest.raises(
            MetricInputError, match=r"do not say what random answers score; give the data instead: chance\(data\)"
        ):
            chance(one)


def test_units_of_which_some_lack_it_say_nothing(scores: Scores) -> None:
    # Such as those of two files that were joined, one of them by an earlier version.
    known = chance_by_unit(scores)
    del known[min(known)]
    with pytest.raises(MetricInputError, match="do not say"):
        chance(scores_of(records_of(scores), scores.provenance, known))  # type: ignore[arg-type]  # records of a file


@pytest.mark.parametrize(
    ("given", "options", "message"),
    [
        (lambda: load_sage("demo"), {}, "SAGE has no baseline named 'chance', so that nothing answers at random"),
        (lambda: load_runs("demo"), {}, "the data have a Run; AttuneBench takes conversations"),
        (list, {}, "no data to answer at random"),
        (lambda: ["text"], {}, "str is a record of no benchmark"),
        (lambda: load("demo"), {"repeats": 0}, "repeats 0 is not a whole number from 1"),
        (lambda: load("demo"), {"repeats": 2.5}, r"repeats 2\.5 is not a whole number from 1"),
        (lambda: load("demo"), {"repeats": True}, "repeats True is not a whole number from 1"),
        (lambda: load("demo"), {"repeats": 1, "seed": "a"}, "seed 'a' is not a whole number from 0"),
        (lambda: load("demo"), {"repeats": 1, "seed": -1}, "seed -1 is not a whole number from 0"),
        (lambda: load("demo"), {"repeats": 1, "foo": 1}, "no option 'foo'; expected one of .*protocol"),
        (lambda: load("demo"), {"repeat": 1}, "no option 'repeat'; did you mean 'repeats'"),
        (lambda: "demo", {}, r"'demo' is a source, not data; load it first: chance\(load\('demo'\)\)"),
        (lambda: Path("a/b"), {}, r"'a/b' is a source, not data; load it first: chance\(load\('a/b'\)\)"),
        (lambda: load("demo"), {"repeats": 1, "protocol": "none"}, "none"),
        (
            lambda: score(load("demo"), load_runs("demo")),
            {"protocol": "released"},
            "scores are already made; protocol is for data",
        ),
    ],
)
def test_a_mistake_is_named(given: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(MetricInputError, match=message):
        chance(given(), **options)


def test_a_column_of_a_table_is_not_taken_for_it() -> None:
    rows = {"model": ["m"], "unit": ["u"], "metric": ["hit"], "value": [1.0]}
    with pytest.raises(MetricInputError, match=r"'chance\.hit' is a column of scores; give the trait another name"):
        Scores.from_table(pl.DataFrame(rows | {"chance.hit": [0.5]}))
    with pytest.raises(MetricInputError, match=r"'chance\.hit' is a column of scores; give the metric another name"):
        Scores.from_table(pl.DataFrame(rows | {"metric": ["chance.hit"]}))


def test_iterators_are_read_once() -> None:
    some = load("demo")[:2]
    assert chance(iter(some), repeats=1).equals(chance(some, repeats=1))


def test_it_is_no_trait_of_units(scores: Scores) -> None:
    assert scores.traits == ()
    with pytest.raises(ValueError, match="these scores have no traits of their conversations"):
        scores.by(f"chance.{PAIRWISE}", metrics=[COMPOSITE])
