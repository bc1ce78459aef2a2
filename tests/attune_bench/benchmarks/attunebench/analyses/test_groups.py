"""Diagnosis groups: by hand, and against what subgroups say."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from attune_bench import score
from attune_bench.benchmarks.attunebench.analyses import diagnosis_groups
from attune_bench.stats.subgroups import by
from attune_data import Conversations, load, load_runs
from attune_metrics import MetricInputError

Json = dict[str, Any]
Build = Callable[..., Any]
VA = "avg_emotion_va_score"


def _people(make_conversation: Build, diagnoses: Mapping[str, Sequence[str]]) -> Conversations:
    return Conversations(
        [
            make_conversation(
                conversationId=unit,
                participant_profile={"participant_id": f"P-{unit}", "demographics": {"diagnoses": list(named)}},
            )
            for unit, named in diagnoses.items()
        ]
    )


def test_diagnosis_groups_by_hand(scores_of: Build, make_conversation: Build) -> None:
    data = _people(
        make_conversation,
        {
            "c1": ["None of the above"],
            "c2": ["None of the above"],
            "c3": ["ADHD", "Depression"],
            "c4": ["Social anxiety"],
            "c5": ["PTSD"],
            "c6": [],
            "c7": ["Autism"],  # not scored
        },
    )
    values = {"c1": 0.5, "c2": 0.7, "c3": 0.2, "c4": 0.4, "c5": 0.9, "c6": 0.1}
    scores = scores_of({"a": {unit: {VA: value} for unit, value in values.items()}})
    found = diagnosis_groups(scores, data=data, metrics=[VA])
    rows = {row["group"]: row for row in found.iter_rows(named=True)}
    # Without a diagnosis .6; whoever gave no answer is on neither side.
    assert {name: (row["n"], row["value"]) for name, row in rows.items()} == {
        "any": (3, pytest.approx(0.5, abs=1e-12)),
        "AnxDep": (2, pytest.approx(0.3, abs=1e-12)),
        "ADHD": (1, pytest.approx(0.2, abs=1e-12)),
        "other": (1, pytest.approx(0.9, abs=1e-12)),
    }
    assert [row["value_none"] for row in rows.values()] == pytest.approx([0.6] * 4, abs=1e-12)
    assert [row["difference"] for row in rows.values()] == pytest.approx([-0.1, -0.3, -0.4, 0.3], abs=1e-12)
    assert {row["mark"] for row in rows.values()} == {"too few"}
    assert {row["p"] for row in rows.values()} == {None}
    assert [(row["metric"], row["model"], row["condition"]) for row in rows.values()] == [(VA, "a", "default")] * 4


def test_diagnosis_groups_are_what_by_gives_on_the_two_sides() -> None:
    data, runs = load("demo"), load_runs("demo")
    scores = score(data, runs)
    found = diagnosis_groups(scores, data=data, metrics=[VA], resamples=4000)
    # With these conversations alone the complement of a group is those without a diagnosis.
    pair = data.where(diagnosis=["ADHD", "none"])
    expected = by(scores, "diagnosis_group", data=pair, compare=True, metrics=[VA], resamples=4000)
    names = ["model", "value", "difference", "p"]
    [adhd, other] = [frame.sort("model") for frame in (found.filter(group="ADHD"), expected.filter(stratum="ADHD"))]
    assert adhd.select(names).equals(other.select(names))
    assert adhd["low"].to_list() == other["difference_low"].to_list()


@pytest.mark.slow
def test_holm_is_over_the_groups_of_a_metric_and_model() -> None:
    data, runs = load("demo"), load_runs("demo")
    found = diagnosis_groups(score(data, runs), data=data, resamples=4000)
    for _, rows in found.group_by("metric", "model", "condition"):
        p = sorted(value for value in rows["p"].to_list() if value is not None)
        smallest = rows.sort("p", nulls_last=True).row(0, named=True)
        assert smallest["p_holm"] == pytest.approx(min(1, p[0] * len(p)), abs=1e-12)
    assert found.height == 5 * 12 * 2


@pytest.mark.parametrize("answers", [["None of the above"], []])
def test_nobody_with_a_diagnosis(scores_of: Build, make_conversation: Build, answers: list[str]) -> None:
    data = _people(make_conversation, {"c1": answers, "c2": answers})
    assert diagnosis_groups(scores_of({"a": {"c1": {}, "c2": {}}}), data=data).height == 0


def test_nobody_without_a_diagnosis(scores_of: Build, make_conversation: Build) -> None:
    # Whoever gave no answer is nobody to set against.
    data = _people(make_conversation, {**{f"c{i}": ["ADHD"] for i in range(6)}, "c6": []})
    scores = scores_of({"a": {f"c{i}": {VA: i / 6} for i in range(7)}})
    found = diagnosis_groups(scores, data=data, metrics=[VA])
    assert found.select("group", "n", "difference", "p", "reason").rows() == [
        (group, 6, None, None, "no difference: no conversation on one side") for group in ("any", "ADHD")
    ]
    assert found["low"].to_list() == [None, None]


def test_data_of_others(scores_of: Build, make_conversation: Build) -> None:
    data = _people(make_conversation, {"x1": ["ADHD"]})
    with pytest.raises(MetricInputError, match="none of the 1 conversation scored is in the data"):
        diagnosis_groups(scores_of({"a": {"c1": {}}}), data=data)
