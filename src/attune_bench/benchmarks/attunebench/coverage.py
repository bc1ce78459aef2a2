"""How much of a run is there: predictions of the questions that count, calls by how their answer was read."""

from collections.abc import Mapping

from typing_extensions import TypedDict

from attune_bench.benchmarks.attunebench.reference import BINARY_TASKS, Truth
from attune_bench.benchmarks.attunebench.values import Count
from attune_data import Run, RunTurn
from attune_metrics.attunebench.panas import PreparedPanas
from attune_metrics.attunebench.questions import CheckedAnswers, PreparedAnswers

__all__ = ["OUTCOMES", "TASKS", "CallCounts", "Coverage", "count_calls", "count_predictions"]

TASKS = (*BINARY_TASKS, "pairwise", "panas")


class Coverage(TypedDict):
    """Predictions present, of the ground-truth questions that count."""

    present: Count
    expected: Count


class CallCounts(TypedDict):
    """Calls by how the answer was read: at first, after repair of its text, after asking again, or not at all."""

    parsed: Count
    repaired: Count
    retried: Count
    failed: Count


OUTCOMES = tuple(CallCounts.__annotations__)

_NO_TURN = RunTurn(turn_number=0)


def count_predictions(truth: Truth, predicted: Mapping[int, RunTurn], form: PreparedPanas) -> dict[str, Coverage]:
    """Count predictions present of the questions that count, over all turns of the conversation."""
    present = dict.fromkeys(TASKS, 0)
    expected = present.copy()
    for number, turn_truth in truth.turns.items():
        turn = predicted.get(number, _NO_TURN)
        for name, sides in BINARY_TASKS.items():
            answered, answers = sides(turn_truth, turn)
            expected[name] += len(answered.yes) + len(answered.no)
            present[name] += _answered(answers, answered)
        positions = [position for position, _ in turn_truth.comparisons.keyed]
        expected["pairwise"] += len(positions)
        present["pairwise"] += len(positions) - list(map(turn.em_pairwise_selections.get, positions)).count(None)
    present["panas"], expected["panas"] = _panas_coverage(truth.post_panas, form)
    return {name: {"present": present[name], "expected": expected[name]} for name in present}


def _panas_coverage(truth: PreparedPanas, form: PreparedPanas) -> tuple[int, int]:
    """Count the items predicted of the items rated; of the two totals where no item is rated."""
    if truth.items:
        return len(truth.items.keys() & form.items.keys()), len(truth.items)
    pairs = ((truth.totals.positive, form.totals.positive), (truth.totals.negative, form.totals.negative))
    there = [guess is not None for total, guess in pairs if total is not None]
    return sum(there), len(there)


def _answered(answers: CheckedAnswers, reference: PreparedAnswers) -> int:
    return sum(
        len(questions) - list(map(answers.get, questions)).count(None) for questions in (reference.yes, reference.no)
    )


def count_calls(run: Run) -> CallCounts | None:
    """Count calls by how the answer was read; None where the run file, of another runner perhaps, does not say."""
    calls = (run.model_extra or {}).get("calls")
    if not isinstance(calls, Mapping):
        return None
    said = [call.get("outcome") for call in calls.values() if isinstance(call, Mapping)]
    counts = {outcome: said.count(outcome) for outcome in OUTCOMES}
    return counts if any(counts.values()) else None  # type: ignore[return-value]  # its keys are OUTCOMES
