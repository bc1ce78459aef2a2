"""The run files of scores, for analyses of what scores do not keep."""

from collections.abc import Iterable, Iterator

from attune_bench.score_table import KEYS, ScoreTable
from attune_data import Run
from attune_metrics.metric import MetricInputError

__all__ = ["scored_runs"]


def scored_runs(scores: ScoreTable, runs: Iterable[Run]) -> Iterator[Run]:
    """Yield the runs that were scored, each once.

    Raises
    ------
    MetricInputError
        Where the scores are means over repeats, of which no run is the one that was scored; where runs are several
        repeats of one that was scored; at the end, where a run that was scored is not among the runs.
    """
    if scores.repeats is not None:
        raise MetricInputError("these scores are means over repeats, which have no answers; score one repeat alone")
    missing = {(unit, model, mode) for model, mode, unit in scores.values.select(KEYS).iter_rows()}
    repeat_of: dict[tuple[str, str, str], int] = {}
    for run in runs:
        of_row = run.conversation_id, run.em_model, run.mode
        if repeat_of.get(of_row, run.repeat) != run.repeat:
            raise MetricInputError(
                f"the runs are repeats {repeat_of[of_row]} and {run.repeat} of model {run.em_model!r}, mode "
                f"{run.mode!r} on conversation {run.conversation_id!r}; give those of the repeat that was scored alone"
            )
        if of_row in missing:
            missing.remove(of_row)
            repeat_of[of_row] = run.repeat
            yield run
    if missing:
        conversation_id, model, mode = min(missing)
        raise MetricInputError(
            f"the run of model {model!r}, mode {mode!r} on conversation {conversation_id!r} was scored and is not "
            "among the runs; are these the runs of these scores?"
        )
