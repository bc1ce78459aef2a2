from collections.abc import Callable, Sequence
from math import inf, isnan, nan
from typing import Any

import numpy as np
import pytest

from attune_bench import Scores
from attune_bench.stats.series import METRICS, Draws, ScoreSeries, Settings, statistic_of
from attune_metrics.errors import MetricInputError

Make = Callable[..., dict[str, Any]]


def _scores(records: Sequence[Any]) -> Scores:
    return Scores.of(records, protocol="documented", synthetic=False)


def _counts(tp: int, tn: int, fp: int, fn: int) -> dict[str, Any]:
    # Only the counts matter to what is pooled.
    return {"tp": tp, "tn": tn, "fp": fp, "fn": fn} | dict.fromkeys(("accuracy", "precision", "recall", "f1", "mcc"), 0)


def test_values_stand_by_model_mode_and_sorted_conversation(make_record: Make) -> None:
    records = [
        make_record(em_model="b", conversationId="c2", participant_id="P1", composite_score=3.0),
        make_record(em_model="b", conversationId="c1", participant_id="P1", composite_score=None),
        make_record(em_model="a", conversationId="c3", participant_id=None, composite_score=1.0),
        make_record(em_model="a", mode="verbose", conversationId="c2", participant_id=None, composite_score=nan),
    ]
    series = ScoreSeries(_scores(records))
    assert series.groups == (("a", "default"), ("a", "verbose"), ("b", "default"))
    assert series.units == ("c1", "c2", "c3")
    # That c2 is by P1 is known from one of its records.
    assert series.participants == (("p1", ""), ("p1", ""), ("", "c3"))
    np.testing.assert_array_equal(
        series.values("composite_score")[:, 0], [[nan, nan, 1.0], [nan, nan, nan], [nan, 3.0, nan]]
    )
    assert series.scored.tolist() == [[False, False, True], [False, True, False], [True, True, False]]
    assert series.count(np.array([True, True, True])) == 2
    assert series.clusters("conversation") == (("", "c1"), ("", "c2"), ("", "c3"))


def test_terms_of_pooled_counts(make_record: Make) -> None:
    records = [
        make_record(conversationId="c1", pooled_binary_om_metrics=_counts(3, 2, 1, 0)),
        make_record(conversationId="c2", pooled_binary_om_metrics=_counts(1, 0, 2, 4)),
    ]
    values = ScoreSeries(_scores(records)).values("pooled_binary_om_metrics.mcc")
    assert values.tolist() == [[[3, 1], [2, 0], [1, 2], [0, 4]]]


def test_every_statistic_gives_the_aggregate(make_record: Make) -> None:
    # The aggregates come from plain Python over the records.
    rng = np.random.default_rng(1)
    records = []
    for i in range(12):
        changed = {name: float(rng.uniform()) for name in METRICS if name.startswith("avg_")}
        pooled = {f"pooled_binary_{t}_metrics{s}": _counts(*map(int, rng.integers(9, size=4)))
                  for t in ("om", "human") for s in ("", "_hp")}  # fmt: skip
        records.append(make_record(conversationId=f"c{i}", **changed, **pooled))
    scores = _scores(records)
    series = ScoreSeries(scores)
    compared = 0
    for metric in METRICS:
        values = series.values(metric)
        held = ~np.isnan(values[0]).any(axis=0)
        found = (
            float(statistic_of(metric)(values[0][:, held].sum(axis=-1), np.array(float(held.sum()))))
            if held.any()
            else nan
        )
        key, _, cell = metric.partition(".")
        expected = scores.aggregates[0][key]
        expected = expected[cell] if cell else expected
        if expected is None:
            assert isnan(found), metric
        else:
            compared += 1
            assert found == pytest.approx(expected, abs=1e-12), metric
    assert compared > 60


def test_a_pooled_score_is_0_where_its_denominator_is_and_nan_without_units() -> None:
    # No question was answered yes: MCC's denominator is 0, and the score by definition.
    statistic = statistic_of("pooled_binary_om_metrics.mcc")
    found = statistic(np.array([[0.0, 5, 0, 0], [0.0, 0, 0, 0]]), np.array([1.0, 0.0]))
    np.testing.assert_array_equal(found, [0.0, nan])


def test_records_that_contradict_each_other(make_record: Make) -> None:
    twice = [make_record(conversationId="c1"), make_record(conversationId="c1")]
    with pytest.raises(MetricInputError, match="two records of conversation 'c1', model 'vendor/model', mode"):
        ScoreSeries(_scores(twice))
    two_people = [make_record(participant_id="P1"), make_record(em_model="b", participant_id="P2")]
    with pytest.raises(MetricInputError, match="by participant 'p1' in one record and by 'p2' in another"):
        ScoreSeries(_scores(two_people))


def test_one_participant_however_spelt_is_one_cluster(make_record: Make) -> None:
    names = {"c1": "P1", "c2": "p1 ", "c3": "P2", "c4": " ", "c5": None}
    records = [make_record(conversationId=unit, participant_id=name) for unit, name in names.items()]
    assert len(set(ScoreSeries(_scores(records)).participants)) == 4  # p1, p2, and two that name nobody
    assert _scores(records).aggregates[0]["n_participants"] == 2


def test_an_infinite_value_is_named(make_record: Make) -> None:
    series = ScoreSeries(_scores([make_record(hp_perspective_alignment=inf)]))
    with pytest.raises(MetricInputError, match=r"hp_perspective_alignment of model 'vendor/model'.* 'c1' is infinite"):
        series.values("hp_perspective_alignment")


def test_no_scores_are_empty_series() -> None:
    series = ScoreSeries(_scores([]))
    assert (series.groups, series.units, series.values("composite_score").shape) == ((), (), (0, 1, 0))
    assert series.alike(series.scored) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metrics": ["emotion_f1"]}, "no metric 'emotion_f1'; did you mean 'avg_emotion_f1'"),
        ({"metrics": ["pooled_binary_om_metrics"]}, "no metric 'pooled_binary_om_metrics'; did you mean"),
        ({"metrics": "composite_score"}, "metrics is the text 'composite_score'; expected a list"),
        ({"metrics": []}, "metrics is empty"),
        ({"resample": 5}, "no option 'resample'; did you mean 'resamples'"),
        ({"foo": 1}, "no option 'foo'; expected one of metrics, resamples, seed, level, unit, interval"),
        ({"unit": "turn"}, "unknown unit 'turn'; expected participant, conversation"),
        ({"interval": "normal"}, "unknown interval 'normal'; expected percentile-expanded, percentile, bca"),
        ({"level": 95}, "level 95"),
        ({"resamples": 0}, "resamples 0"),
        ({"seed": -1}, "seed -1"),
    ],
)
def test_settings_are_checked(options: dict[str, Any], message: str) -> None:
    with pytest.raises(MetricInputError, match=message):
        Settings(**options)


def test_resamples_are_drawn_once_for_the_same_units(make_scores: Callable[..., Scores]) -> None:
    series = ScoreSeries(make_scores(["a", "b"], conversations=4))
    draws = Draws(series.clusters("participant"), Settings(resamples=5, seed=3))
    [(mask, groups)] = series.alike(series.scored)
    assert groups.tolist() == [0, 1]
    assert draws.of(mask) is draws.of(mask.copy())
    assert draws.of(mask).counts.shape == (5, 4)
