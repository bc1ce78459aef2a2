"""Recovery of a state: how soon it is as good as before, after a reply that made it worse.

For benchmarks in which the model's words move the state of a person whom another model plays, step by step.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl

from attune_bench.scores.columns import Analysis, FrameColumn, build_frame, columns, share, text, whole
from attune_bench.scores.table import ScoreTable
from attune_bench.stats.options import SamplingKeywords, begin, interval_ends, too_few
from attune_metrics.metric import nan_to_none
from attune_metrics.stats.bootstrap import bootstrap
from attune_metrics.stats.recovery_times import Wait, median_wait, share_back, wait_terms, waits_of_falls

WITHIN = 3

STATE_RECOVERY = columns(
    "model condition axis falls per_reply back low high turns_back left n clusters reason",
    axis=text("The axis of the person's state."),
    falls=whole("Falls: replies after which the state was worse; a fall within another belongs to that one."),
    per_reply=share("Falls for each reply of the model."),
    back=share(f"Share of the falls after which the state is as good as before within {WITHIN} replies.")
    ._replace(head=f"back in {WITHIN}"),
    low=FrameColumn("Lower end of the interval of this share.", low=0, high=1, shown="plain"),
    high=FrameColumn("Upper end of the interval of this share.", low=0, high=1, shown="plain"),
    turns_back=whole("Replies until the state is back after half of the falls. Empty where that was not observed.")
    ._replace(head="half back"),
    left=share("Share of the falls after which the person ended the conversation before the state was back."),
)  # fmt: skip


def recovery_entry(
    paths: "Callable[..., Iterable[StatePath]]", needs: Sequence[Literal["data", "results"]]
) -> Analysis:
    """Return the analysis of a benchmark that makes `paths` of what it `needs`, for `recovery_of_paths`."""

    def state_recovery(scores: ScoreTable, **given: Any) -> pl.DataFrame:
        """Return how soon each model brings the state back after a reply that made it worse."""
        made = paths(**{name: given.pop(name) for name in needs})
        return recovery_of_paths(scores, made, given)  # type: ignore[arg-type]  # what is left are the options

    return Analysis(
        function=state_recovery,
        title="Recovery of the state",
        note="Falls: replies after which the state was worse. Back: the share of falls after which the state was as "
        "good as before within three replies. Conversations that end before are censored; where the person ended the "
        "conversation, the state counts as never back (left).",
        takes_metrics=False,
        needs=tuple(needs),
        rows_need="results that record the state of the person after each reply",
        estimate="back",
        by=("axis",),
        figure="attune_bench.report.recovery:recovery_plot",
        row="a model and axis of the state",
        columns=STATE_RECOVERY,
    )


class StatePath(NamedTuple):
    """The state of the person on an axis in one conversation.

    Attributes
    ----------
    row : tuple of (str, str or None, str)
        Model, condition and unit of the conversation.
    axis : str
        The axis.
    states : sequence of float or None
        At the start and after each reply; a higher state is better.
    left : bool
        Whether the person ended the conversation.
    """

    row: tuple[str, str | None, str]
    axis: str
    states: Sequence[float | None]
    left: bool


def recovery_of_paths(scores: ScoreTable, paths: Iterable[StatePath], options: SamplingKeywords) -> pl.DataFrame:
    """Return how soon each model brings the state back after it made the state worse.

    Parameters
    ----------
    scores : ScoreTable
        The scores; conversations of other rows do not count.
    paths : iterable of StatePath
        The states; a path ends before the first state that is not known, and is censored there.
    options : mapping
        Of the analysis.

    Returns
    -------
    polars.DataFrame
        The columns `STATE_RECOVERY`. The end of a conversation censors a fall; where the person ended the
        conversation, the state counts as never back. See `attune_metrics.stats.recovery_times.share_back`.

    Raises
    ------
    MetricInputError
        Where an option is unknown or out of range.
    """
    _, series, draws = begin(scores, options)
    place_of = {unit: place for place, unit in enumerate(series.units)}
    found: dict[tuple[str, str, str | None], dict[int, tuple[list[Wait], int]]] = {}
    for (model, condition, unit), axis, states, left in paths:
        if (model, condition) not in series.groups or unit not in place_of:
            continue
        known = [state for state in states if state is not None]
        until = states.index(None) if None in states else len(states)
        is_whole = until == len(states)
        waits, replies = found.setdefault((axis, model, condition), {}).get(place_of[unit], ([], 0))
        own = waits_of_falls(known[:until], left=left and is_whole)
        found[axis, model, condition][place_of[unit]] = [*waits, *own], replies + max(until - 1, 0)
    rows: list[tuple[Any, ...]] = []
    for (axis, model, condition), of_units in sorted(
        found.items(), key=lambda one: (one[0][0], one[0][1], one[0][2] or "")
    ):
        replies = sum(own for _, own in of_units.values())
        if not replies:
            continue
        mask = np.zeros(len(series.units), dtype=np.bool_)
        mask[[*of_units]] = True
        of_unit = [of_units[place][0] for place in np.flatnonzero(mask).tolist()]
        every = [wait for own in of_unit for wait in own]
        falls = len(every)
        terms = np.stack([wait_terms(own, WITHIN) for own in of_unit]).T
        [back] = draws.intervals(bootstrap, terms[np.newaxis], mask, statistic=share_back)
        with_falls = np.zeros(len(mask), dtype=np.bool_)
        with_falls[[place for place, (own, _) in of_units.items() if own]] = True
        low, high, reason = interval_ends(back, series.count(with_falls), scores)
        lost = sum(wait.end == "left" for wait in every)
        told: tuple[Any, ...] = (None, None, None, None, None)
        if falls:
            told = (nan_to_none(back.estimate), low, high, median_wait(every), lost / falls)
        why = f"{reason} with a fall" if reason == too_few(scores) else reason
        counts = (len(of_unit), series.count(mask), why if falls else "the state never got worse")
        rows.append((model, condition, axis, falls, falls / replies, *told, *counts))
    return build_frame(STATE_RECOVERY, rows)
