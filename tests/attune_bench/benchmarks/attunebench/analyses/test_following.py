"""What follows misreads and mismatches in AttuneBench: by hand on small scores, and planted."""

import random
from collections.abc import Callable, Sequence
from statistics import fmean, median
from typing import Any

import polars as pl
import pytest
from synthetic.misreads import misreads

from attune_bench import Scores, score
from attune_bench.benchmarks import benchmark_named
from attune_bench.benchmarks.attunebench.after_mismatch import after_mismatch
from attune_bench.benchmarks.attunebench.serial_misreads import serial_misreads
from attune_bench.report.html import html_report
from attune_data import Conversation, Conversations, load, load_runs
from attune_data.attunebench.records import Turn
from attune_metrics import MetricInputError

Json = dict[str, Any]
Build = Callable[..., Scores]
F1 = "avg_emotion_f1"
QUICK: Json = {"resamples": 200}
pytestmark = pytest.mark.filterwarnings("ignore:200 resamples are too few")


def _turns(make_record: Callable[..., Json], values: Sequence[float]) -> Json:
    turn: Json = make_record()["turn_scores"][0]
    scored = [turn | {"turnNumber": number, "emotion_f1": value} for number, value in enumerate(values, start=1)]
    return {"turn_scores": scored}


def test_planted_dependence_of_errors(scores_of: Build, make_record: Callable[..., Json]) -> None:
    tables: dict[str, dict[str, Json]] = {}
    people = {f"c{name}": f"p{name // 2}" for name in range(80)}
    for model, dependence in (("alone", 0.0), ("in_runs", 0.6)):
        planted = misreads(participants=40, dependence=dependence, hard=1.0, seed=3)
        tables[model] = {}
        for name in range(80):
            own = planted.conversation == name
            values = (1 - planted.bad[own]).tolist()
            tables[model][f"c{name}"] = _turns(make_record, values)
    found = serial_misreads(scores_of(tables, people=people), metrics=[F1], **QUICK)
    rows = {row["model"]: row for row in found.iter_rows(named=True)}
    assert rows["alone"]["low"] < 0 < rows["alone"]["high"]
    assert rows["in_runs"]["low"] < 0.6 < rows["in_runs"]["high"]
    assert rows["in_runs"]["low"] > 0.3
    # Conversations that are hard as a whole.
    assert rows["alone"]["uncontrolled"] > rows["alone"]["difference"] + 0.05
    one = rows["in_runs"]
    assert one["after_bad"] - one["after_good"] == pytest.approx(one["difference"], abs=1e-12)
    assert one["back"] < rows["alone"]["back"]
    assert (one["n"], one["clusters"]) == (80, 40)


def test_bad_is_worse_than_the_median_of_all_models(scores_of: Build, make_record: Callable[..., Json]) -> None:
    def table(*values: float) -> dict[str, Json]:
        return {f"c{place}": _turns(make_record, values) for place in range(6)}

    found = serial_misreads(scores_of({"a": table(0.9, 0.8, 0.7, 0.9), "b": table(0.9, 0.1, 0.2, 0.6)}), metrics=[F1])
    # The median is .75: the third turn of a, and three turns of b; the stretch of b is cut off.
    assert found.select("model", "bad", "back", "turns_back", "pairs").rows() == [
        ("a", 0.25, 1.0, 1, 18),
        ("b", 0.75, None, None, 18),
    ]
    # A baseline that is always wrong changes nothing for the models.
    more = {"a": table(0.9, 0.8, 0.7, 0.9), "b": table(0.9, 0.1, 0.2, 0.6), "baseline/none": table(0.0, 0.0, 0.0, 0.0)}
    with_baseline = serial_misreads(scores_of(more), metrics=[F1])
    assert with_baseline.filter(pl.col("model") != "baseline/none").equals(found)
    assert with_baseline.filter(model="baseline/none")["bad"].to_list() == [1.0]
    assert found["reason"][0] == "fewer than 8 clusters have a series with different values"


@pytest.mark.parametrize("metric", ["composite_score", "pooled_binary_om_metrics.accuracy"])
def test_a_metric_that_turns_lack_is_an_error(scores_of: Build, metric: str) -> None:
    with pytest.raises(MetricInputError, match=f"turns have no value of '{metric}'; expected one of avg_"):
        serial_misreads(scores_of({}), metrics=[metric])


def _annotated(effect: float, seed: int = 1) -> Conversations:
    """Return conversations in which a missing behaviour makes negative emotion likelier in the next turn."""
    generator = random.Random(seed)
    found = []
    for record in load("demo"):
        content: Json = record.model_dump(mode="json", by_alias=True)
        before = False
        [question, other] = [one["questionId"] for one in content["turns"][0]["annotations"]["binaryJudgements"][:2]]
        for turn in content["turns"]:
            missing = generator.random() < 0.5
            felt = generator.random() < 0.3 + effect * before
            turn["annotations"]["binaryJudgements"] = [
                {"questionId": question, "observedBehavior": "no" if missing else "yes", "preferredBehavior": "yes"},
                {"questionId": other, "observedBehavior": "no", "preferredBehavior": "no"},
            ]
            turn["moodShiftTags"] = [{"emotion": "Upset", "intensity": 5}] if felt else []
            before = missing
        found.append(Conversation.model_validate(content))
    return Conversations(found)


def _lacks(turn: Turn) -> bool:
    return any(
        (one.observed_behavior, one.preferred_behavior) == ("no", "yes") for one in turn.annotations.binary_judgements
    )


def test_an_outcome_that_never_changes_is_no_missing_behaviour() -> None:
    data = [
        one.model_copy(update={"turns": [turn.model_copy(update={"mood_shift_tags": ()}) for turn in one.turns]})
        for one in load("demo")
    ]
    rows = after_mismatch(score(load("demo"), load_runs("demo")), data=data).filter(behaviour="missing").to_dicts()
    assert (rows[0]["difference"], rows[0]["reason"]) == (0, "no variation among participants")
    assert (rows[0]["low"], rows[2]["reason"]) == (None, None)


@pytest.mark.parametrize(("effect", "is_found"), [(0.6, True), (0.0, False)])
def test_planted_consequences_of_a_missing_behaviour(effect: float, is_found: bool) -> None:
    data = _annotated(effect)
    found = after_mismatch(score(load("demo"), load_runs("demo")), data=data)
    rows = {(row["behaviour"], row["outcome"]): row for row in found.iter_rows(named=True)}
    row = rows["missing", "negative emotion"]
    assert (row["low"] > 0) == is_found
    assert row["low"] < effect < row["high"]
    assert row["after"] - row["otherwise"] == pytest.approx(row["difference"], abs=1e-12)
    assert (row["pairs"], row["n"], row["clusters"]) == (160, 40, 24)
    unwanted = rows["unwanted", "negative emotion"]
    assert (unwanted["difference"], unwanted["reason"]) == (
        None,
        "no conversation has an unwanted behaviour in some turns and not in others",
    )
    reason = "no conversation has an unwanted behaviour in more turns than the median"
    assert rows["unwanted", "positive affect"]["reason"] == reason
    # By hand: the mean change of negative affect where more turns than the median lack something, and elsewhere.
    shares = [fmean(_lacks(turn) for turn in one.turns) for one in data]
    often = [share > median(shares) for share in shares]
    totals = [(one.pre_panas.total_negative_affect or 0, one.post_panas.total_negative_affect or 0) for one in data]
    changes = [after - before for before, after in totals]
    both = [*zip(changes, often, strict=True)]
    mean = [fmean(change for change, own in both if own == side) for side in (True, False)]
    affect = rows["missing", "negative affect"]
    assert (affect["after"], affect["otherwise"]) == pytest.approx(mean, abs=1e-12)
    assert affect["difference"] == pytest.approx(mean[0] - mean[1], abs=1e-9)


def test_a_turn_without_both_answers_is_left_out() -> None:
    data = load("demo")
    content = [one.model_dump(mode="json", by_alias=True) for one in data]
    for turn in (turn for one in content for turn in one["turns"]):
        turn["annotations"]["binaryJudgements"] = []
    bare = [Conversation.model_validate(one) for one in content]
    found = after_mismatch(score(data, load_runs("demo")), data=bare)
    assert found.filter(pl.col("pairs") > 0).is_empty()
    assert found["difference"].null_count() == found.height


@pytest.mark.slow
def test_the_page_has_both_sections() -> None:
    runs, data = load_runs("demo"), _annotated(0.6)
    scores = score(load("demo"), runs)
    page = html_report(scores, benchmark=benchmark_named("attunebench"), data=data, results=runs, **QUICK)
    assert "No model reads a turn badly more often after a bad turn, or less often, than its interval allows" in page
    assert "After a missing behaviour, negative emotion is more frequent in the next turn, by its own interval" in page
    calm = html_report(scores, benchmark=benchmark_named("attunebench"), data=_annotated(0.0), results=runs, **QUICK)
    assert "No outcome of the next turn goes with such a behaviour by more than its interval allows" in calm
    without = html_report(scores, benchmark=benchmark_named("attunebench"), **QUICK)
    assert "needs the conversations (--data)" in without
