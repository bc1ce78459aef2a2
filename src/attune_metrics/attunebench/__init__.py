"""The metrics of AttuneBench, a module for each task, and the fields that their catalogue entries share."""

from functools import partial

from attune_metrics.metric import Metric, mean_over_turns

COMPOSITE, TURN_BY_TURN, CONVERSATION_WIDE = "Composite", "Turn by turn", "Conversation-wide"

_PAPER = "AttuneBench (arXiv:2605.21739)"
turn_entry: partial[Metric] = partial(Metric, level="turn", low=0, high=1, source=f"{_PAPER}, turn metrics")
post_entry: partial[Metric] = partial(Metric, low=0, high=1, source=f"{_PAPER}, post-conversation metrics")
composite_entry: partial[Metric] = partial(Metric, low=0, high=1, source=f"{_PAPER}, conversation score")


def with_mean(metric: Metric, *, short: str = "") -> tuple[Metric, Metric]:
    """Return the entries of a turn metric and of its mean over turns; reports list a mean with a short name."""
    return metric, mean_over_turns(metric, short=short, group=TURN_BY_TURN if short else "")
