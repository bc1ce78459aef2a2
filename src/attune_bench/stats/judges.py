"""How close judges are to experts, from a table of ratings.

A table has the columns ``item``, ``rater``, ``dimension`` and ``rating``; optional are ``responder``, where several
answer an item, ``dataset``, which keeps items apart, and ``cluster``, of items that belong together. A row without a
rating is not rated.

`attune_metrics.stats.judges` defines the statistics.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isnan
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from typing_extensions import Unpack

from attune_bench.scores.columns import FrameColumn, build_frame, columns, text
from attune_bench.scores.rating_tables import RATING_NAMES
from attune_bench.scores.table import ScoreTable
from attune_bench.scores.table_columns import COLUMNS
from attune_bench.scores.table_files import Description, description_of, read_table
from attune_bench.scores.table_rows import table_rows
from attune_bench.stats.options import MIN_CLUSTERS, AnalysisKeywords, Mask, begin, interval_ends
from attune_bench.stats.summary import per_unit
from attune_data.text import did_you_mean
from attune_metrics.metric import MetricInputError, nan_to_none
from attune_metrics.stats.agreement import KappaDistances, KappaWeights
from attune_metrics.stats.bootstrap import Interval, Resamples, bootstrap, draw_resamples, mean_of_sums
from attune_metrics.stats.judges import JudgeCloseness, Reliability, judge_reliability
from attune_metrics.stats.sums import ROUNDING, Floats


@dataclass(frozen=True, eq=False, slots=True)
class RatedDimension:
    """What raters gave the items of a data set on one dimension.

    Attributes
    ----------
    dataset : str or None
        None where the table has no such column.
    dimension : str
        What was rated.
    raters : tuple of str
        Who rated at least one item.
    ratings : array of float, shape (responses, raters)
        In the order of the items' names, and of the responders' within an item; nan where a rater did not rate it.
        Without responders, a response is an item.
    labels : tuple of (str, str)
        What each response is drawn with: the cluster of its item, or its item.
    responses : tuple of (str, str or None)
        Item and responder of each response; None where the table does not say who is rated.
    """

    dataset: str | None
    dimension: str
    raters: tuple[str, ...]
    ratings: Floats
    labels: tuple[tuple[str, str], ...]
    responses: tuple[tuple[str, str | None], ...]

    def of(self, raters: tuple[str, ...]) -> "RatedDimension":
        """Return what some of the raters gave, in this order, without the responses that only others rated."""
        ratings = self.ratings[:, [self.raters.index(rater) for rater in raters]]
        kept = np.flatnonzero((~np.isnan(ratings)).any(axis=1))
        return replace(
            self,
            raters=raters,
            ratings=ratings[kept],
            labels=tuple(self.labels[place] for place in kept),
            responses=tuple(self.responses[place] for place in kept),
        )


@dataclass(frozen=True, eq=False, slots=True)
class RaterTable:
    """A table of ratings.

    Attributes
    ----------
    name : str
        What errors call it.
    raters : tuple of str
        All of them, sorted.
    dimensions : tuple of RatedDimension
        One for each dimension of each data set, in the order of the table.
    notes : tuple of str
        What was assumed of the table, and how many ratings were left out.
    """

    name: str
    raters: tuple[str, ...]
    dimensions: tuple[RatedDimension, ...]
    notes: tuple[str, ...] = ()


def read_ratings(source: pl.DataFrame | str | os.PathLike[str]) -> RaterTable:
    """Read a table of ratings and check it.

    Parameters
    ----------
    source : polars.DataFrame or path
        A frame, or a CSV, XLSX, JSONL or Parquet file, with a TOML file beside it that may give the scale of a
        dimension, as for `attune_bench.Scores.from_table`; a rating outside of its scale is left out.

    Raises
    ------
    MetricInputError
        Where a column is missing, a rating is no finite number, a name is empty, a rater rates an item twice, an item
        is in two clusters, or nothing is rated; the text names the file and the row.
    SourceError
        Where the file cannot be read.

    Examples
    --------
    >>> rows = [("i1", "ann", "warmth", 3), ("i1", "bob", "warmth", 4), ("i2", "ann", "warmth", 1)]
    >>> table = read_ratings(pl.DataFrame(rows, schema=["item", "rater", "dimension", "rating"], orient="row"))
    >>> table.raters, table.dimensions[0].ratings.tolist()
    (('ann', 'bob'), [[3.0, 4.0], [1.0, nan]])
    """
    name, first_row, said = "the ratings", 1, Description({}, {}, {})
    if not isinstance(source, pl.DataFrame):
        name, said = str(source), description_of(source)
        names = (*RATING_NAMES, "dataset", *COLUMNS, *said.columns.values())
        source, first_row, _ = read_table(Path(source), names=names)
    read = table_rows(
        _of_ratings(source), metrics=said.metrics, traits=said.about.get("traits", []), name=name,
        first_row=first_row, columns=said.columns, of_ratings=True,
    )  # fmt: skip
    rated = read.frame.drop_nulls("value")
    if rated.is_empty():
        raise MetricInputError(f"{name}: no rating; fill in the column {read.columns.get('value', 'value')!r}")
    keys = ["dataset", "metric"] if "dataset" in rated.columns else ["metric"]
    parts = rated.partition_by(keys, as_dict=True, maintain_order=True)
    dimensions = tuple(_dimension(key[0] if len(key) > 1 else None, key[-1], part) for key, part in parts.items())
    raters = sorted({rater for one in dimensions for rater in one.raters})
    return RaterTable(name, tuple(raters), dimensions, tuple(read.notes))


def _of_ratings(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a table of ratings in which each item has one name."""
    # `annotate rate` writes the text that was rated as the item, and its unit and condition beside it.
    frame = frame.drop("condition", *(["unit"] if "item" in frame.columns else []), strict=False)
    if not {"dataset", "item"} <= {*frame.columns}:
        return frame
    return frame.with_columns(item=pl.concat_str("dataset", "item", separator=": "))


def _dimension(dataset: str | None, dimension: str, rated: pl.DataFrame) -> RatedDimension:
    keys = ["unit", "model", "cluster"]
    responses = rated.select(keys).unique().sort("unit", "model").with_row_index("response")
    raters = sorted(rated["condition"].unique())
    # A rater who rated a response several times counts by the mean.
    means = rated.group_by(*keys, "condition").agg(pl.col("value").mean())
    placed = means.join(responses, on=keys, nulls_equal=True)
    ratings = np.full((responses.height, len(raters)), np.nan)
    columns = placed["condition"].replace_strict(raters, range(len(raters)), return_dtype=pl.Int64)
    ratings[placed["response"].to_numpy(), columns.to_numpy()] = placed["value"].to_numpy()
    labels = tuple(
        ("", unit) if cluster is None else (cluster, "") for unit, cluster in responses.select("unit", "cluster").rows()
    )
    rated_responses = tuple(responses.select("unit", "model").rows())
    return RatedDimension(dataset, dimension, tuple(raters), ratings, labels, rated_responses)


_MOST_LEVELS = 500
_COUNTS: dict[str, Any] = {**dict.fromkeys(("n", "clusters"), pl.Int64), "reason": pl.String}
RATED: dict[str, str | FrameColumn] = {
    "dataset": text("Where the items are from, where the ratings say it."),
    "dimension": text("What was rated."),
}
"""The columns that say what was rated."""

_RATED: dict[str, str | FrameColumn] = {
    **RATED,
    "shift_low": "Lower end of its interval.",
    "shift_high": "Upper end of its interval.",
    "n": "How many items.",
    "clusters": "How many clusters the items come from.",
}
JUDGES = columns(
    "dataset dimension judge with_experts with_experts_low with_experts_high among_experts among_experts_low "
    "among_experts_high difference low high verdict shift shift_low shift_high expert_shift judge_shift n "
    "clusters reason",
    **_RATED,
    judge=text("The judge."),
    with_experts=FrameColumn("Mean kappa of the judge with each expert.", low=-1, high=1),
    with_experts_low="Lower end of its interval.",
    with_experts_high="Upper end of its interval.",
    among_experts=FrameColumn("Mean kappa of every two experts.", low=-1, high=1),
    among_experts_low="Lower end of its interval.",
    among_experts_high="Upper end of its interval.",
    difference=FrameColumn("The first kappa minus the second.", low=-2, high=2),
    low="Lower end of the interval of the difference.",
    high="Upper end of the interval of the difference.",
    verdict=text("Whether the judge is as close to an expert as another expert is."),
    shift="By how much the judge rates above the experts, on average.",
    expert_shift=FrameColumn("Largest difference of the mean ratings of two experts.", low=0),
    judge_shift=FrameColumn("Largest difference of the mean ratings of this and another judge.", low=0),
)
RATER_PAIRS = columns(
    "dataset dimension rater_a rater_b kappa low high shift shift_low shift_high n clusters reason",
    **_RATED,
    rater_a=text("The first rater."),
    rater_b=text("The second rater."),
    kappa=FrameColumn("Cohen's kappa of the two.", low=-1, high=1),
    shift="Mean rating of the second rater minus mean rating of the first.",
)


class ClosenessTables(NamedTuple):
    """What `compare_judges` gives: a row a dimension and judge, a row for each two raters, who was not used, notes."""

    judges: pl.DataFrame
    pairs: pl.DataFrame
    unused: tuple[str, ...]
    notes: tuple[str, ...]


def compare_judges(
    ratings: pl.DataFrame | str | os.PathLike[str],
    *,
    experts: Sequence[str],
    judges: Sequence[str],
    weights: KappaWeights | None = "quadratic",
    by: KappaDistances = "value",
    margin: float | None = None,
    resamples: int = 10_000,
    seed: int = 0,
    level: float = 0.95,
) -> ClosenessTables:
    """Compare each judge's agreement with experts to the experts' agreement among themselves, by dimension.

    Parameters
    ----------
    ratings : polars.DataFrame or path
        As `attune_bench.stats.judges.read_ratings` takes them.
    experts, judges : sequence of str
        Names of raters; at least two experts and one judge.
    weights, by, margin, level
        As for `attune_metrics.stats.judges.judge_reliability`.
    resamples, seed : int
        How many resamples are drawn of the items of a dimension, or of their clusters, and from which seed.

    Returns
    -------
    ClosenessTables
        ``judges``: ``dataset, dimension, judge``; ``with_experts`` and ``among_experts``, mean kappas, and
        ``difference``, the first minus the second, each with its interval (``low`` and ``high`` are of the difference);
        ``verdict``; ``shift``, by how much the judge rates above the experts on average, with its interval,
        ``expert_shift`` and ``judge_shift``, the largest difference, without its sign, of the mean ratings of two
        experts, and of this and another judge; ``n`` items in so many ``clusters``; ``reason``, why there is no
        difference or interval. ``pairs``: ``dataset, dimension, rater_a, rater_b``; ``kappa`` with its interval;
        ``shift``, of ``rater_b`` minus ``rater_a``; ``n, clusters, reason``. ``unused``: raters who are neither experts
        nor judges. ``notes``: what was assumed of the table, and which ratings were left out. A rater without a rating
        in a dimension has no row there.

    Raises
    ------
    MetricInputError
        As `read_ratings` and `judge_reliability`, and where an expert or judge did not rate or is named twice, or a
        dimension has more than 500 different ratings by these.
    SourceError
        Where the file cannot be read.

    Examples
    --------
    >>> rated = {"ann": [1, 2, 3, 4, 5, 2, 1, 4], "bob": [1, 3, 2, 5, 4, 2, 2, 3], "model": [1, 2, 3, 4, 4, 2, 1, 4]}
    >>> rows = [(str(item), rater, "warmth", rating) for rater in rated for item, rating in enumerate(rated[rater])]
    >>> frame = pl.DataFrame(rows, schema=["item", "rater", "dimension", "rating"], orient="row")
    >>> found = compare_judges(frame, experts=["ann", "bob"], judges=["model"])
    >>> found.judges.select("dimension", "judge", pl.col("difference").round(3), "verdict").row(0)
    ('warmth', 'model', 0.098, 'closer')
    """
    table = read_ratings(ratings)
    _check_raters(table, experts, judges)
    of_judges: list[dict[str, Any]] = []
    of_pairs: list[dict[str, Any]] = []
    for one in table.dimensions:
        where = {"dataset": one.dataset, "dimension": one.dimension}
        known, judging = ([rater for rater in side if rater in one.raters] for side in (experts, judges))
        if len(known) < 2:
            reason = f"{'one expert' if known else 'no expert'} rated this; at least two are needed"
            of_judges += [{**where, "judge": judge, "reason": reason} for judge in judging]
            continue
        if judging:
            own = (*known, *judging)
            given = one.of(own)
            _check_levels(given.ratings, one.dimension, table.name)
            drawn = draw_resamples(given.labels, n_resamples=resamples, seed=seed)
            found = judge_reliability(
                given.ratings, range(len(known)), drawn, weights=weights, by=by, margin=margin, level=level
            )
            of_judges += [{**where, **_judge_row(judge, found, own)} for judge in found.judges]
            of_pairs += [{**where, **row} for row in _pair_rows(found, own)]
    return ClosenessTables(
        build_frame(JUDGES, of_judges),
        build_frame(RATER_PAIRS, of_pairs),
        tuple(rater for rater in table.raters if rater not in {*experts, *judges}),
        table.notes,
    )


def _check_raters(table: RaterTable, experts: Sequence[str], judges: Sequence[str]) -> None:
    """Raise unless there are two experts and a judge, all of whom rated, each named once."""
    if len(experts) < 2 or not judges:
        raise MetricInputError(
            "name at least two experts, to compare a judge with, and one judge; the raters are "
            f"{', '.join(table.raters)}"
        )
    check_named(table, (*experts, *judges))


def check_named(table: RaterTable, raters: Sequence[str]) -> None:
    """Raise where one of these raters is not in the table, or is named twice."""
    named: set[str] = set()
    for rater in raters:
        if rater not in table.raters:
            raise MetricInputError(f"{table.name}: no rater {rater!r}; {did_you_mean(rater, table.raters)}")
        if rater in named:
            raise MetricInputError(f"{rater!r} is named twice; a rater is an expert or a judge, once")
        named.add(rater)


def _check_levels(ratings: Floats, dimension: str, name: str) -> None:
    """Raise where ratings are of too many levels for tables of every two."""
    levels = len(np.unique(ratings[~np.isnan(ratings)]))
    if levels > _MOST_LEVELS:
        raise MetricInputError(
            f"{name}: dimension {dimension!r:.60} has {levels:,} different ratings; kappa is of a scale with few "
            f"levels, at most {_MOST_LEVELS:,}: round them"
        )


def _judge_row(judge: JudgeCloseness, found: Reliability, raters: Sequence[str]) -> dict[str, Any]:
    judging = {other.judge for other in found.judges}
    shifts = {(pair.one, pair.other): pair.shift.estimate for pair in found.pairs}
    among_experts = [shift for pair, shift in shifts.items() if not judging.intersection(pair)]
    among_judges = [shift for pair, shift in shifts.items() if judge.judge in pair and judging.issuperset(pair)]
    low, high, reason = _ends(judge.difference)
    return {
        "judge": raters[judge.judge],
        **_estimate("with_experts", judge.with_experts),
        **_estimate("among_experts", judge.among_experts),
        "difference": nan_to_none(judge.difference.estimate), "low": low, "high": high,
        "verdict": None if low is None else judge.verdict,
        **_estimate("shift", judge.shift),
        "expert_shift": _largest(among_experts), "judge_shift": _largest(among_judges),
        "n": judge.difference.n, "clusters": judge.difference.clusters, "reason": reason,
    }  # fmt: skip


def _largest(shifts: Sequence[float]) -> float | None:
    """Return the largest of the shifts that are defined, without its sign."""
    return max((abs(shift) for shift in shifts if not isnan(shift)), default=None)


def _pair_rows(found: Reliability, raters: Sequence[str]) -> list[dict[str, Any]]:
    rows = []
    for pair in found.pairs:
        low, high, reason = _ends(pair.kappa)
        rows.append(
            {
                "rater_a": raters[pair.one], "rater_b": raters[pair.other],
                "kappa": nan_to_none(pair.kappa.estimate), "low": low, "high": high, **_estimate("shift", pair.shift),
                "n": pair.kappa.n, "clusters": pair.kappa.clusters, "reason": reason,
            }
        )  # fmt: skip
    return rows


def _estimate(name: str, interval: Interval) -> dict[str, float | None]:
    low, high, _ = _ends(interval)
    return {name: nan_to_none(interval.estimate), f"{name}_low": low, f"{name}_high": high}


def _ends(interval: Interval) -> tuple[float | None, float | None, str | None]:
    """Return the ends of an interval, or None and the reason."""
    if interval.n == 0:
        return None, None, "two raters have no item in common"
    if isnan(interval.estimate):
        return (None, None, "a kappa is undefined: two raters have no item in common, or give all the same rating")
    if interval.clusters < MIN_CLUSTERS:
        return None, None, f"fewer than {MIN_CLUSTERS} items, or clusters of them"
    return nan_to_none(interval.low), nan_to_none(interval.high), interval.reason


BESIDE_PEOPLE = columns(
    "metric judge shift low high correlation correlation_low correlation_high n clusters reason",
    judge=text("The judge."),
    shift=FrameColumn("Mean rating of the judge minus mean rating of the people, on what both rated.", signed=True),
    low="Lower end of the interval of the shift.",
    high="Upper end of the interval of the shift.",
    correlation=FrameColumn("Correlation of single ratings by the judge and by the people.", low=-1, high=1),
    correlation_low="Lower end of its interval.",
    correlation_high="Upper end of its interval.",
    n="How many answers both rated.",
)


def beside_people(table: ScoreTable, people: str, **options: Unpack[AnalysisKeywords]) -> pl.DataFrame:
    """Return how far each judge rates above people, and how its ratings follow theirs, over all models.

    Parameters
    ----------
    table : ScoreTable
        Ratings by several raters, as `attune_bench.scores.rating_tables` reads them.
    people : str
        The rater who stands for people.
    **options
        ``metrics``, ``resamples``, ``seed``, ``level``, ``unit``, ``interval`` (no BCa); see `AnalysisOptions`.

    Returns
    -------
    polars.DataFrame
        The columns `BESIDE_PEOPLE`, a row for each metric of the board and judge. The correlation is Pearson's. All
        answers to a unit, or to the units of a cluster, are drawn together.

    Raises
    ------
    MetricInputError
        Where an option is unknown or out of range.

    Examples
    --------
    >>> from attune_bench import Scores
    >>> rows = [(f"q{item}", "m", rater, item + (rater == "gpt")) for item in range(6) for rater in ("human", "gpt")]
    >>> scores = Scores.from_table(pl.DataFrame(rows, schema=["item", "model", "rater", "rating"], orient="row"))
    >>> beside_people(scores, "human", resamples=200).select("judge", "shift", "correlation", "n").row(0)
    ('gpt', 1.0, 1.0, 6)
    """
    chosen, series, draws = begin(table, options)
    places = {group: place for place, group in enumerate(series.groups)}
    rows: list[tuple[Any, ...]] = []
    for name in chosen.names(table, table.headline):
        values = series.values(per_unit(table, name, "beside_people"))[:, 0]
        for judge in (one for one in table.conditions if one not in (None, people)):
            models = [model for model in table.models if {(model, judge), (model, people)} <= places.keys()]
            judged, rated = (values[[places[model, rater] for model in models]] for rater in (judge, people))
            both = ~np.isnan(judged + rated)
            units: Mask = np.logical_or.reduce(both, axis=0)
            drawn, clusters = draws.of(units), series.count(units)
            of_answers = Resamples(
                np.broadcast_to(drawn.clusters, (len(models), len(drawn.clusters)))[both[:, units]], drawn.counts
            )
            x, y = judged[both], rated[both]
            terms = np.array([x, y, x * x, y * y, x * y])
            ends: list[Any] = []
            why: list[str | None] = []
            how: Any = {"method": chosen.interval, "level": chosen.level}
            for of_both, statistic in ((x - y, mean_of_sums), (terms[np.newaxis], _correlation)):
                [found] = bootstrap(of_both, of_answers, statistic=statistic, **how)
                low, high, reason = interval_ends(found, clusters, table)
                ends += [nan_to_none(found.estimate), low, high]
                why.append(reason)
            lacking = ["no interval of the shift", "no interval of the correlation"]
            if ends[3] is None:
                lacking[1], why[1] = "no correlation", "one of the two always gives the same rating"
                if len(x) == 1:
                    why[1] = "the two have a single answer in common"
            named = zip(lacking, why, strict=True)
            reason = "; ".join(f"{what}: {said}" for what, said in named if said) if why[0] != why[1] else why[0]
            if not both.any():
                reason = f"no {table.provenance.unit} is rated by both"
            rows.append((name, judge, *ends, int(both.sum()), clusters, reason))
    return build_frame(BESIDE_PEOPLE, rows)


def _correlation(sums: Floats, n: Floats) -> Floats:
    """Return Pearson's correlation from the sums of x, y, xx, yy and xy; nan where either does not vary."""
    x, y, xx, yy, xy = np.moveaxis(sums, -1, 0)
    spread = [n * square - total * total for square, total in ((xx, x), (yy, y))]
    varies = [one > ROUNDING * n * square for one, square in zip(spread, (xx, yy), strict=True)]
    return np.where(varies[0] & varies[1], (n * xy - x * y) / np.sqrt(spread[0] * spread[1]), np.nan)
