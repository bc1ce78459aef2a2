"""Misreads in a row: how likely a model reads a turn badly after a turn that it read badly.

Evaluated models predict on a fixed transcript, so a misread changes nothing in the conversation. What follows one says
how the errors of a model are spread: alone, or in stretches that the model does not get.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
from typing_extensions import Unpack

from attune_bench.benchmarks.attunebench.detail import TURN_KEYS, record_grid
from attune_bench.scores.columns import FrameColumn, build_frame, columns, share, whole
from attune_bench.scores.provenance import kind_of_group
from attune_bench.scores.table import ScoreTable
from attune_bench.stats.options import AnalysisKeywords, begin, direction, interval_ends
from attune_metrics.metric import MetricInputError, nan_to_none
from attune_metrics.stats.bootstrap import bootstrap
from attune_metrics.stats.recovery_times import median_wait, share_back, wait_terms, waits_of_runs
from attune_metrics.stats.serial import serial_dependence

READ = ("avg_emotion_f1", "avg_binary_om_accuracy", "avg_binary_human_accuracy", "avg_pairwise_accuracy")
"""What each turn asks a model to read."""

WITHIN = 3

SERIAL_MISREADS = columns(
    "model condition metric bad after_bad after_good difference low high uncontrolled back back_low back_high "
    "turns_back pairs n clusters reason",
    bad=share("Share of the turns that the model read badly: worse than the median of all models' turns.")
    ._replace(shown="files"),
    after_bad=share("Share of bad turns after a bad turn, in a conversation of average level.")
    ._replace(head="if bad"),
    after_good=share("Share of bad turns after a good turn, in a conversation of average level.")
    ._replace(head="if good"),
    difference=FrameColumn(
        "After a bad turn minus after a good one, within conversations.", low=-1, high=1, shown="plain", signed=True
    ),
    uncontrolled=FrameColumn(
        "The difference over all conversations together; conversations that are hard as a whole add to it.",
        low=-1, high=1, shown="files",
    ),
    back=share("Share of the stretches of bad turns that are over three turns after the first bad turn.")
    ._replace(head=f"back in {WITHIN}"),
    back_low=share("Lower end of the interval of this share."),
    back_high=share("Upper end of the interval of this share."),
    turns_back=whole("Turns until half of the stretches are over. Empty where that was not observed.")
    ._replace(shown="files"),
    pairs=whole("Pairs of neighbouring turns.")._replace(shown="files"),
)  # fmt: skip


def serial_misreads(scores: ScoreTable, **options: Unpack[AnalysisKeywords]) -> pl.DataFrame:
    """Return how likely each model reads a turn badly after a bad turn and after a good one, and how long that lasts.

    A turn is read badly where its value is worse than the median over the turns of all models in the condition, people
    and baselines left out. The conversation is its own control, see `attune_metrics.stats.serial.serial_dependence`. A
    stretch of bad turns that the end of the conversation cuts off is censored, see
    `attune_metrics.stats.recovery_times.share_back`.

    Parameters
    ----------
    scores : ScoreTable
        Scores of this benchmark, with the records of their runs.
    **options
        ``metrics``, ``resamples``, ``seed``, ``level``, ``interval``; see
        `attune_bench.stats.options.AnalysisOptions`. Metrics that turns have; by default `READ`. The interval of the
        difference is Student's t over participants, the interval of ``back`` resamples them.

    Returns
    -------
    polars.DataFrame
        The columns `SERIAL_MISREADS`.

    Raises
    ------
    MetricInputError
        Where an option is unknown or out of range, turns do not have a metric, or the scores have no records.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_data import load, load_runs
    >>> found = serial_misreads(score(load("demo"), load_runs("demo")), metrics=["avg_emotion_f1"], resamples=200)
    >>> row = found.row(0, named=True)
    >>> row["model"], row["pairs"], row["low"] < row["difference"] < row["high"]
    ('synthetic/attentive', 160, True)
    """
    chosen, series, draws = begin(scores, options)
    metrics = chosen.names(scores, READ)
    for metric in metrics:
        if metric not in TURN_KEYS or "." in metric:
            known = ", ".join(name for name in TURN_KEYS if "." not in name)
            raise MetricInputError(f"turns have no value of {metric!r}; expected one of {known}")
    grid, clusters = record_grid(scores, series), series.clusters(chosen)
    rows: list[tuple[Any, ...]] = []
    for groups in series.by_condition().values():
        for metric in metrics:
            sign = direction(scores.metrics[metric])
            values = [[_turns(record, TURN_KEYS[metric], sign) for record in grid[group]] for group in groups]
            is_model = [kind_of_group(series.groups[group][0]) == "model" for group in groups]
            judged = [own for own, counts in zip(values, is_model, strict=True) if counts or not any(is_model)]
            every = [value for of_group in judged for turns in of_group for _, value in turns]
            if not every:
                continue
            limit = float(np.median(every))
            for group, of_group in zip(groups, values, strict=True):
                named = [(value < limit, unit, place) for unit, turns in enumerate(of_group) for place, value in turns]
                if not named:
                    continue
                bad, unit, place = (np.array(one) for one in zip(*named, strict=True))
                found = serial_dependence(
                    bad.astype(float), unit, place, [clusters[one] for one in unit], level=chosen.level
                )
                waits = [waits_of_runs([value < limit for _, value in turns]) for turns in of_group]
                has_turns = np.array([bool(turns) for turns in of_group])
                terms = np.stack([wait_terms(own, WITHIN) for own in waits])[has_turns].T
                [back] = draws.intervals(bootstrap, terms[np.newaxis], has_turns, statistic=share_back)
                n, people = int(has_turns.sum()), series.count(has_turns)
                low, high, reason = interval_ends(found.effect, people, scores)
                *ends, lacking = interval_ends(back, people, scores)
                half = median_wait(wait for own in waits for wait in own)
                numbers = (found.mean, found.after, found.otherwise, found.effect.estimate)
                last = (nan_to_none(found.uncontrolled), nan_to_none(back.estimate), *ends, half)
                rows.append(
                    (*series.groups[group], metric, *map(nan_to_none, numbers), low, high, *last, found.pairs, n,
                     people, reason or lacking)
                )  # fmt: skip
    return build_frame(SERIAL_MISREADS, rows)


def _turns(record: Mapping[str, Any] | None, key: str, sign: int) -> list[tuple[int, float]]:
    """Return number and value of the turns of a run that have one, in order; higher is better."""
    turns = [] if record is None else record["turn_scores"]
    known = [(turn["turnNumber"], sign * turn[key]) for turn in turns if turn.get(key) is not None]
    return sorted(known)
