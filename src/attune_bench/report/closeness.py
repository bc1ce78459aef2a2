"""Tables of how close judges are to experts, and of the agreement of every two raters."""

from collections.abc import Iterator
from dataclasses import replace

import polars as pl

from attune_bench.report.columns import (
    Column,
    Row,
    Table,
    estimate_column,
    number_column,
    size_column,
    text_column,
)
from attune_data.text import plural
from attune_metrics.metric import Metric

__all__ = ["closeness_note", "closeness_tables"]

_KAPPA = Metric(name="kappa", label="Kappa", digits=3)
_RATING = Metric(name="rating", label="Rating", digits=2)


def closeness_tables(judges: pl.DataFrame, pairs: pl.DataFrame, *, all_pairs: bool) -> list[Table]:
    """Return the tables of `attune_bench.stats.judges.compare_judges`, for each data set; pairs where asked for."""
    agreement = [
        text_column("dimension", "dimension", is_name=True),
        text_column("judge", "judge", is_name=True),
        number_column("with", "with_experts", _kappa),
        number_column("among", "among_experts", _kappa),
        estimate_column("difference", "difference", _kappa, signed=True),
        text_column("verdict", "verdict"),
        size_column(),
    ]
    shifts = [
        *agreement[:2],
        _shift(),
        number_column("of two experts", "expert_shift", _rating),
        number_column("of two judges", "judge_shift", _rating),
    ]
    twos = [
        agreement[0],
        text_column("A", "rater_a", is_name=True),
        text_column("B", "rater_b", is_name=True),
        estimate_column("kappa", "kappa", _kappa),
        _shift("B minus A"),
        size_column(),
    ]
    tables = _by_dataset("judges", "Kappa of a judge with experts, and of experts among themselves", agreement, judges)
    # Their frame is that of the first tables, and so are their footnotes.
    moved = judges.filter(pl.col("shift").is_not_null()).with_columns(reason=pl.lit(None, dtype=pl.String))
    tables += [
        replace(one, frame=None) for one in _by_dataset("judges", "Mean rating, judge minus experts", shifts, moved)
    ]
    if all_pairs:
        return [*tables, *_by_dataset("pairs", "Kappa of every two raters", twos, pairs)]
    return [*tables, Table("pairs", "", (), (), pairs)]


def _kappa(_: Row) -> Metric:
    return _KAPPA


def _rating(_: Row) -> Metric:
    return _RATING


def _shift(head: str = "shift") -> Column:
    return estimate_column(head, "shift", _rating, low="shift_low", high="shift_high", signed=True)


def _by_dataset(key: str, title: str, columns: list[Column], frame: pl.DataFrame) -> list[Table]:
    def tables() -> Iterator[Table]:
        for (dataset,), rows in frame.group_by("dataset", maintain_order=True):
            yield Table(key, title if dataset is None else f"{dataset}: {title}", columns, rows.to_dicts())

    found = list(tables()) or [Table(key, "", (), ())]
    return [replace(found[0], frame=frame), *found[1:]]


def closeness_note(judges: pl.DataFrame, *, weights: str | None, by: str, margin: float | None, level: float) -> str:
    """Return the sentences below the tables."""
    drawn = "items" if judges["clusters"].equals(judges["n"]) else "clusters of items"
    weighting = f"{weights} weights by {by}" if weights else "unweighted"
    given = judges["verdict"].count()
    within = "" if margin is None else f"as close: it is above -{margin:g}, the largest loss that does not matter. "
    return (
        f"Cohen's kappa, {weighting}. with: mean of the judge's kappas with each expert. among: mean over every two "
        f"experts. In brackets: {100 * level:g}% intervals by resampling {drawn} (expanded percentile). closer, less "
        f"close: the interval of the difference is above 0, below 0. {within}undecided: the data do not tell, which "
        f"is no sign that judge and experts are equal. Of {plural(given, 'verdict')}, about {given * (1 - level):.1f} "
        "would be closer or less close by chance if every judge were as close as an expert. shift: by how much a mean "
        "score moves where the judge takes the place of an expert; of two experts, of two judges: by how much at most "
        "where one takes the place of another."
    )
