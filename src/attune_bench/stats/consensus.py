"""What several judges say together of models, and how each of them errs, from a table of ratings without people.

`attune_bench.stats.judges.read_ratings` reads the table; `attune_metrics.stats.dawid_skene` defines the model, and says
what it cannot see.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from attune_bench.scores.columns import FrameColumn, build_frame, columns, share, text, true_false
from attune_bench.stats.judges import RATED, RatedDimension, check_named, read_ratings
from attune_data.text import joined
from attune_metrics.metric import MetricInputError, nan_to_none
from attune_metrics.stats.dawid_skene import Consensus, ordinal_consensus

_JUDGE = text("The judge.")
CONSENSUS = columns(
    "dataset dimension model level low high plain n clusters reason",
    **RATED,
    model=text("Who was rated, where the ratings say it."),
    level="Mean of the levels that the judges' agreement makes likely.",
    plain="Mean of the judges' ratings, without the judges that are left out.",
)
JUDGE_ERRORS = columns(
    "dataset dimension judge accuracy leniency spread falls n reason",
    **RATED,
    judge=_JUDGE,
    accuracy=share("Probability that a rating is the level."),
    leniency=FrameColumn("Mean of rating minus level.", signed=True),
    spread=FrameColumn("Standard deviation of rating minus level.", low=0),
    falls=true_false("Whether the judge falls where most others rise."),
    n="How many units the judge rated.",
    reason="Why the judge is left out.",
)
CONFUSION = columns(
    "dataset dimension judge level rating probability",
    **RATED,
    judge=_JUDGE,
    level="The level of a unit.",
    rating="What the judge gives it.",
    probability=share("How often."),
)
SHARED_ERRORS = columns(
    "dataset dimension judge_a judge_b excess p p_holm reason",
    **RATED,
    judge_a=text("The first judge."),
    judge_b=text("The second judge."),
    excess=FrameColumn("Correlation of their ratings beyond what the other judges lead to expect.", signed=True),
    p="One-sided p-value that the excess is chance.",
    p_holm="The same with Holm's correction for the pairs of the dimension.",
    reason="Why there is no p-value.",
)
UNIT_LEVELS = columns(
    "dataset dimension unit model level",
    **RATED,
    unit="What was rated.",
    level="Expected level, given the ratings.",
)


class ConsensusTables(NamedTuple):
    """What `judge_consensus` gives: five frames, and what was assumed of the table."""

    models: pl.DataFrame
    judges: pl.DataFrame
    confusion: pl.DataFrame
    pairs: pl.DataFrame
    units: pl.DataFrame
    notes: tuple[str, ...]


def judge_consensus(
    ratings: pl.DataFrame | str | os.PathLike[str], *, judges: Sequence[str] = (), level: float = 0.95
) -> ConsensusTables:
    """Estimate the mean level of each model and the errors of each judge, by dimension, without people's ratings.

    Parameters
    ----------
    ratings : polars.DataFrame or path
        As `attune_bench.stats.judges.read_ratings` takes them.
    judges : sequence of str
        The raters that count; by default all.
    level : float
        Confidence level, between 0 and 1.

    Returns
    -------
    ConsensusTables
        ``models``, ``judges``, ``confusion``, ``pairs`` and ``units``; and ``notes``, what was assumed of the table. In
        a dimension of which the ratings say nothing, ``reason`` says why.

    Raises
    ------
    MetricInputError
        As `read_ratings` and `attune_metrics.stats.dawid_skene.ordinal_consensus`, and where nothing can be estimated
        of any dimension.
    SourceError
        Where the file cannot be read.

    Examples
    --------
    >>> given = {"ann": "111222333444555" * 2, "bob": "112123233454545" * 2, "cem": "211232323434455" * 2}
    >>> rows = [(str(item), rater, "warmth", float(one)) for rater in given for item, one in enumerate(given[rater])]
    >>> frame = pl.DataFrame(rows, schema=["item", "rater", "dimension", "rating"], orient="row")
    >>> found = judge_consensus(frame)
    >>> found.judges.select("judge", pl.col("accuracy").round(1)).rows()
    [('ann', 1.0), ('bob', 0.7), ('cem', 0.7)]
    """
    table = read_ratings(ratings)
    check_named(table, judges)
    found: list[tuple[RatedDimension, Consensus]] = []
    for dimension in table.dimensions:
        raters = tuple(rater for rater in dimension.raters if rater in (judges or table.raters))
        if not raters:
            continue
        one = dimension.of(raters)
        models = [model or "" for _, model in one.responses]
        try:
            found.append((one, ordinal_consensus(one.ratings, one.labels, models=models, level=level)))
        except MetricInputError as error:
            between = _raters_between_levels(one)
            hint = f", or leave out {joined(between)}, with ratings between whole numbers" if between else ""
            raise MetricInputError(f"{table.name}: dimension {one.dimension!r:.60}: {error}{hint}") from None
    if all(estimated.reason for _, estimated in found):
        one, estimated = found[0]
        raise MetricInputError(f"{table.name}: dimension {one.dimension!r:.60}: {_why_refused(one, estimated)}")
    return ConsensusTables(
        build_frame(CONSENSUS, _rows(found, _of_models)),
        build_frame(JUDGE_ERRORS, _rows(found, _of_judges)),
        build_frame(CONFUSION, _rows(found, _of_confusion)),
        build_frame(SHARED_ERRORS, _rows(found, _of_pairs)),
        build_frame(UNIT_LEVELS, _rows(found, _of_units)),
        table.notes,
    )


def _raters_between_levels(one: RatedDimension) -> list[str]:
    """Return who gave ratings that are no whole numbers, where others gave none, such as means of several people."""
    broken = (np.nan_to_num(one.ratings) % 1 != 0).any(axis=0)
    return [rater for rater, is_broken in zip(one.raters, broken, strict=True) if is_broken and not broken.all()]


def _why_refused(one: RatedDimension, found: Consensus) -> str:
    """Return why nothing can be estimated, and why each judge that is left out is."""
    left_out = [
        f"{rater}: {judge.reason}" for rater, judge in zip(one.raters, found.judges, strict=True) if judge.reason
    ]
    return f"{found.reason} ({'; '.join(left_out) or ', '.join(one.raters)})"


def _rows(
    found: Sequence[tuple[RatedDimension, Consensus]],
    rows_of: Callable[[RatedDimension, Consensus], Iterator[dict[str, Any]]],
) -> list[dict[str, Any]]:
    return [
        {"dataset": one.dataset, "dimension": one.dimension, **row}
        for one, estimated in found
        for row in rows_of(one, estimated)
    ]


def _of_models(_: RatedDimension, found: Consensus) -> Iterator[dict[str, Any]]:
    for model, mean, plain in zip(found.models, found.means, found.plain_means, strict=True):
        numbers = {"level": mean.estimate, "low": mean.low, "high": mean.high, "plain": float(plain)}
        yield {
            "model": str(model) or None, **{name: nan_to_none(number) for name, number in numbers.items()},
            "n": mean.n, "clusters": mean.clusters, "reason": mean.reason,
        }  # fmt: skip


def _of_judges(one: RatedDimension, found: Consensus) -> Iterator[dict[str, Any]]:
    rated = (~np.isnan(one.ratings)).sum(axis=0).tolist()
    for rater, judge, n in zip(one.raters, found.judges, rated, strict=True):
        numbers = {name: nan_to_none(getattr(judge, name)) for name in ("accuracy", "leniency", "spread")}
        reason = judge.reason or found.reason
        yield {"judge": rater, **numbers, "falls": None if reason else judge.falls, "n": n, "reason": reason}


def _of_confusion(one: RatedDimension, found: Consensus) -> Iterator[dict[str, Any]]:
    levels = found.levels.tolist()
    for rater, judge in zip(one.raters, found.judges, strict=True):
        if not (found.reason or judge.reason):
            for level, row in zip(levels, judge.confusion.tolist(), strict=True):
                for rating, probability in zip(levels, row, strict=True):
                    yield {"judge": rater, "level": level, "rating": rating, "probability": probability}


def _of_pairs(one: RatedDimension, found: Consensus) -> Iterator[dict[str, Any]]:
    for pair in found.pairs:
        numbers = {name: nan_to_none(getattr(pair, name)) for name in ("excess", "p", "p_holm")}
        yield {"judge_a": one.raters[pair.one], "judge_b": one.raters[pair.other], **numbers, "reason": pair.reason}


def _of_units(one: RatedDimension, found: Consensus) -> Iterator[dict[str, Any]]:
    for (unit, model), level in zip(one.responses, found.unit_levels.tolist(), strict=True):
        yield {"unit": unit, "model": model, "level": nan_to_none(level)}
