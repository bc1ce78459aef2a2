"""Runs in which several judges by name rated the drafts."""

from collections.abc import Iterable
from random import Random

from attune_data import Run
from attune_metrics.attunebench.preferences import JUDGE_DIMENSIONS

SHIFTS = {"judge/even": 0, "judge/strict": -1, "judge/odd": 1}


def with_judges(runs: Iterable[Run]) -> list[Run]:
    """Return runs with what each judge said beside what is scored; the strict one rates lower, two answer questions."""
    found = []
    for run in runs:
        random = Random(run.id)
        content = run.model_dump(by_alias=True, exclude_unset=True)
        for turn in content["turns"]:
            rated = turn.get("em_draft_judge_scores") or {}
            known = {name: rated[name] for name in JUDGE_DIMENSIONS if rated.get(name) is not None}
            turn["em_draft_judge_scores_by_model"] = {
                judge: {name: min(max(value + shift + random.choice((0, 0, 1)), 1), 7) for name, value in known.items()}
                for judge, shift in SHIFTS.items()
            }
            answers = turn.get("em_draft_binary_assessment") or {}
            turn["em_draft_binary_assessment_by_model"] = {
                judge: {question: answer if random.random() < 0.8 else "no" for question, answer in answers.items()}
                for judge in list(SHIFTS)[:2]
            }
        found.append(Run.model_validate(content))
    return found
