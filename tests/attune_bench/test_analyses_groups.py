"""Diagnosis groups and agreement by question: by hand, and against what scoring and subgroups say."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from attune_bench import Scores, score
from attune_bench.benchmarks.attunebench.analyses import diagnosis_groups, question_agreement
from attune_bench.stats.subgroups import by
from attune_data import Collection, Conversation, Conversations, Run, load, load_runs
from attune_metrics import MetricInputError

Json = dict[str, Any]
Build = Callable[..., Any]
VA = "avg_emotion_va_score"


def _people(make_conversation: Build, diagnoses: Mapping[str, Sequence[str]]) -> Collection[Conversation]:
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
    assert [(row["metric"], row["model"], row["mode"]) for row in rows.values()] == [(VA, "a", "default")] * 4


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


def test_holm_is_over_the_groups_of_a_metric_and_model() -> None:
    data, runs = load("demo"), load_runs("demo")
    found = diagnosis_groups(score(data, runs), data=data, resamples=4000)
    for _, rows in found.group_by("metric", "model", "mode"):
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
    with pytest.raises(MetricInputError, match="none of the 1 conversations scored is in the data"):
        diagnosis_groups(scores_of({"a": {"c1": {}}}), data=data)


# Agreement by question.


def test_question_agreement_by_hand(make_conversation: Build, make_run: Build) -> None:
    data, runs = [make_conversation()], [make_run()]
    found = question_agreement(score(data, runs), data=data, runs=runs)
    rows = {
        (row["task"], row["question"]): (row["agreement"], row["answers"], row["coverage"])
        for row in found.iter_rows(named=True)
    }
    assert rows == {
        # Truth yes, no in two turns, answered yes, na, which counts as a no.
        ("binary_om", "B1"): (1.0, 2, 1.0),
        # Truth no, answered yes; truth yes (by `llmValue`), answered no; truth yes, not answered.
        ("binary_om", "B2"): (0.0, 1, 1.0),
        ("binary_om", "B3"): (0.0, 1, 1.0),
        ("binary_om", "B5"): (0.0, 1, 0.0),
        # Truth yes and yes; no (by what was observed), not answered; no, answered yes.
        ("binary_human", "B1"): (1.0, 2, 1.0),
        ("binary_human", "B2"): (1.0, 1, 0.0),
        ("binary_human", "B3"): (0.0, 1, 1.0),
        # HP-facing: yes and yes for yes and no; no for no; yes for yes; no for yes.
        ("binary_om_hp", "B1"): (0.5, 2, 1.0),
        ("binary_om_hp", "B2"): (1.0, 1, 1.0),
        ("binary_om_hp", "B3"): (1.0, 1, 1.0),
        ("binary_om_hp", "B5"): (0.0, 1, 1.0),
        # No and yes for yes and yes; no for no; yes for no.
        ("binary_human_hp", "B1"): (0.5, 2, 1.0),
        ("binary_human_hp", "B2"): (1.0, 1, 1.0),
        ("binary_human_hp", "B3"): (0.0, 1, 1.0),
    }
    assert found["n"].to_list() == [1] * 14
    assert set(found["reason"]) == {"fewer than 5 participants"}


def test_questions_add_up_to_pooled_accuracy_and_coverage() -> None:
    data, runs = load("demo"), load_runs("demo")
    scores = score(data, runs)
    found = question_agreement(scores, data=data, runs=runs, resamples=20)
    for row in scores.aggregates:
        for task in ("binary_om", "binary_human", "binary_om_hp", "binary_human_hp"):
            part = found.filter(task=task, model=row["em_model"])
            right = sum(a * n for a, n in part.select("agreement", "answers").iter_rows())
            present = sum(c * n for c, n in part.select("coverage", "answers").iter_rows())
            asked = part["answers"].sum()
            pooled = row[f"pooled_{task.removesuffix('_hp')}_metrics{'_hp' if task.endswith('_hp') else ''}"]
            assert right / asked == pytest.approx(pooled["accuracy"], abs=1e-12)
            assert present / asked == pytest.approx(row[f"coverage_{task}"], abs=1e-12)


def test_a_phrasing_that_was_not_asked_has_no_rows(make_conversation: Build, make_run: Build) -> None:
    turns = [{"turnNumber": 1, "em_binary_om_assessment": {"B1": "yes"}}]
    data, runs = [make_conversation()], [make_run(turns=turns)]
    found = question_agreement(score(data, runs), data=data, runs=runs)
    assert set(found["task"]) == {"binary_om", "binary_human"}


def test_runs_that_were_not_scored_do_not_count(make_conversation: Build, make_run: Build) -> None:
    data, runs = [make_conversation()], [make_run()]
    scores = score(data, runs)
    others = [*runs, make_run(em_model="other"), make_run(conversationId="c9"), make_run(turns=[])]
    assert question_agreement(scores, data=data, runs=others).equals(question_agreement(scores, data=data, runs=runs))


def test_inputs_that_do_not_belong_to_the_scores(make_conversation: Build, make_run: Build) -> None:
    data: list[Conversation] = [make_conversation()]
    runs: list[Run] = [make_run()]
    scores: Scores = score(data, runs)
    with pytest.raises(MetricInputError, match="run of model 'vendor/model', mode 'default' on conversation 'c1' was"):
        question_agreement(scores, data=data, runs=[])
    with pytest.raises(MetricInputError, match="conversation 'c1' was scored and is not in the data"):
        question_agreement(scores, data=[], runs=runs)
