"""Agreement by question: by hand, and against what scoring says."""

from collections.abc import Callable
from typing import Any

import pytest

from attune_bench import Scores, score
from attune_bench.benchmarks.attunebench.run_analyses import question_agreement
from attune_bench.benchmarks.attunebench.scores_json import aggregates
from attune_data import Conversation, Run, load, load_runs
from attune_metrics import MetricInputError

Build = Callable[..., Any]


def test_question_agreement_by_hand(make_conversation: Build, make_run: Build) -> None:
    data, runs = [make_conversation()], [make_run()]
    found = question_agreement(score(data, runs), data=data, results=runs)
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


@pytest.mark.slow
def test_questions_add_up_to_pooled_accuracy_and_coverage() -> None:
    data, runs = load("demo"), load_runs("demo")
    scores = score(data, runs)
    found = question_agreement(scores, data=data, results=runs, resamples=20)
    for row in aggregates(scores):
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
    found = question_agreement(score(data, runs), data=data, results=runs)
    assert set(found["task"]) == {"binary_om", "binary_human"}


def test_runs_that_were_not_scored_do_not_count(make_conversation: Build, make_run: Build) -> None:
    data, runs = [make_conversation()], [make_run()]
    scores = score(data, runs)
    others = [*runs, make_run(em_model="other"), make_run(conversationId="c9"), make_run(turns=[])]
    assert question_agreement(scores, data=data, results=others).equals(
        question_agreement(scores, data=data, results=runs)
    )


def test_inputs_that_do_not_belong_to_the_scores(make_conversation: Build, make_run: Build) -> None:
    data: list[Conversation] = [make_conversation()]
    runs: list[Run] = [make_run()]
    scores: Scores = score(data, runs)
    with pytest.raises(MetricInputError, match="run of model 'vendor/model', mode 'default' on conversation 'c1' was"):
        question_agreement(scores, data=data, results=[])
    with pytest.raises(MetricInputError, match="conversation 'c1' was scored and is not in the data"):
        question_agreement(scores, data=[], results=runs)
