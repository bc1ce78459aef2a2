"""The distribution of each metric over conversations, per model and mode."""

from math import isnan
from statistics import fmean, median, stdev

from attune_bench.benchmarks.attunebench.records import ConversationScore, PostScore
from attune_bench.scores import Scores
from attune_data.text import grid, plural, printable

__all__ = ["summary"]

_NAMES = (
    *(name for name in ConversationScore.__annotations__ if name.startswith("avg_") or name == "turn_level_average"),
    *(name for name in PostScore.__annotations__ if name not in ("panas_item_errors", "four_branch_per_branch")),
    "composite_score",
)


def summary(scores: Scores) -> str:
    """Return a table per model and mode: how many conversations a metric rests on, mean, SD, lowest, median, highest.

    Parameters
    ----------
    scores : Scores
        The scores.

    Returns
    -------
    str
        Values that are null are left out of their metric; one without any is not listed. The SD is that of a sample,
        ``-`` for one conversation.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_data import load, load_runs
    >>> text = summary(score(load("demo"), load_runs("demo")))
    >>> text.splitlines()[2].split()
    ['metric', 'n', 'mean', 'SD', 'lowest', 'median', 'highest']
    """
    parts = []
    for row in scores.aggregates:
        model, mode = row["em_model"], row["mode"]
        records = [one for one in scores.records if (one["em_model"], one["mode"]) == (model, mode)]
        flat = [{**one, **(one["post_score"] or {})} for one in records]
        table = []
        for name in dict.fromkeys(_NAMES):
            values = [value for one in flat if isinstance(value := one.get(name), int | float) and not isnan(value)]
            if values:
                spread = f"{stdev(values):.3f}" if len(values) > 1 else "-"
                shown = (f"{value:.3f}" for value in (min(values), median(values), max(values)))
                table.append([name, str(len(values)), f"{fmean(values):.3f}", spread, *shown])
        title = printable(f"{model}, {mode}: {plural(len(records), 'conversation')}")
        parts.append(f"{title}\n\n{grid(['metric', 'n', 'mean', 'SD', 'lowest', 'median', 'highest'], table)}\n")
    return "\n".join(parts)
