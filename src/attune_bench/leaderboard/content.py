"""What a leaderboard says, as plain values: the file ``board.json``, of which the page is made."""

import warnings
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import polars as pl
from typing_extensions import Unpack

from attune_bench._version import __version__
from attune_bench.entries import entry_fields
from attune_bench.group_settings import kind_of_group
from attune_bench.leaderboard.boards import Board
from attune_bench.report.provenance import provenance_line, standing_notes
from attune_bench.report.render import strict
from attune_bench.report.shown import shown_strata, shown_summary
from attune_bench.report.standing import TIERS
from attune_bench.report.suppression import conceal, hides
from attune_bench.report.words import interval_words, under_condition
from attune_bench.score_table import ScoreTable
from attune_bench.stats.comparability import settings_by_group
from attune_bench.stats.comparison import exchanges_of_all
from attune_bench.stats.intervals import too_few
from attune_bench.stats.options import AnalysisOptions, SamplingKeywords
from attune_bench.stats.signing import sign
from attune_bench.stats.tiers import Tiers, tiers
from attune_bench.stats.traits import strata_and_known, unit_traits
from attune_data.text import plural
from attune_metrics.stats.bootstrap import STATISTICS

__all__ = ["FORMAT", "leaderboard_content"]

FORMAT = 1
"""The version of ``board.json``; it grows where a key changes its meaning or goes."""

_MOST_STRATA = 20


def leaderboard_content(
    boards: Sequence[Board], *, small_cells: bool = False, **options: Unpack[SamplingKeywords]
) -> dict[str, Any]:
    """Return what ``board.json`` has; docs/leaderboard.md describes its keys.

    Parameters
    ----------
    boards : sequence of Board
        As from `attune_bench.leaderboard.boards.make_boards`.
    small_cells : bool
        Where clusters are people: whether to show values that rest on fewer than 5 of them, or would give such values
        away; see `attune_bench.report.suppression`.
    **options
        ``resamples``, ``seed``, ``level``, ``unit``, ``weight``, ``interval`` (no BCa); see
        `attune_bench.stats.options.AnalysisOptions`.

    Returns
    -------
    dict
        Strict JSON: nan is null, and a row with a null has its ``reason``.

    Raises
    ------
    MetricInputError
        As `attune_bench.stats.tiers.tiers`.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_bench.leaderboard.boards import make_boards
    >>> from attune_bench.leaderboard.entries import Entry
    >>> from attune_data import load, load_runs
    >>> entry = Entry("demo", score(load("demo"), load_runs("demo")))
    >>> [board] = leaderboard_content(make_boards([entry]), resamples=200)["boards"]
    >>> [(row["model"], row["tier"]) for row in board["conditions"][0]["models"]]
    [('synthetic/attentive', 1), ('synthetic/hasty', 2)]
    """
    chosen = AnalysisOptions(**options)
    sampled = {name: getattr(chosen, name) for name in ("resamples", "seed", "level", "unit", "weight", "interval")}
    return {
        "format": FORMAT,
        "library_version": __version__,
        "options": sampled,
        "tiers": TIERS,
        "boards": [_board(board, small_cells=small_cells, options=options) for board in boards],
    }


def _board(board: Board, *, small_cells: bool, options: SamplingKeywords) -> dict[str, Any]:
    table = board.table
    held = table.provenance
    about: dict[str, Any] = {
        "title": board.title,
        **{name: getattr(held, name) for name in ("benchmark", "protocol", "variant", "codebook")},
        # The merged scores have no hash of data where that of a file's runs is not known.
        "data": next((entry.table.provenance.data for entry in board.sources.values()), None),
        **{name: getattr(held, name) for name in ("unit", "cluster", "private", "synthetic")},
        "condition": held.condition,
        "ranked_by": table.primary,
        "metrics": [
            {"name": name, **_described(table, name)} for name in dict.fromkeys((table.primary, *table.headline))
        ],
        "left_out": list(board.left_out),
    }
    if table.values.is_empty():
        return {**about, "provenance": None, "signature": None, "intervals": None, "notes": [], "conditions": []}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        found = tiers(table, **options)
        names = [metric["name"] for metric in about["metrics"]]
        values = shown_summary(table, small_cells=small_cells, metrics=names, **options)
        strata = _Strata.of(table, small_cells=small_cells, options=options)
    made_of_units = [name for name in names if table.metric(name).statistic in STATISTICS]
    exchanges = exchanges_of_all(table, AnalysisOptions(**options).resamples)
    shown = Tiers(*(conceal(table, frame, small_cells=small_cells) for frame in found))
    families = dict(found.pairs.group_by("condition").agg(pl.col("p").count()).iter_rows())
    notes = [*standing_notes(table), *strata.notes]
    if hides(table, small_cells=small_cells):
        notes.append(f"Values of {too_few(table)} are not shown, nor others from which they would follow.")
    notes += dict.fromkeys(f"Warning: {str(one.message).rstrip('.')}." for one in caught)
    content: dict[str, Any] = strict(
        {
            **about,
            "provenance": provenance_line(table),
            "signature": sign(table, metrics=made_of_units, exchanges=exchanges, **options),
            "intervals": interval_words(table, AnalysisOptions(**options), values),
            "notes": notes,
            "conditions": [
                _condition(board, condition, shown, values, strata, families.get(condition, 0), options)
                for condition in table.conditions
            ],
        }
    )
    return content


def _described(table: ScoreTable, name: str) -> dict[str, Any]:
    """Return how a metric is read, every key given."""
    metric = table.metric(name)
    return {
        "label": metric.short or metric.label,
        "higher_is_better": metric.higher_is_better,
        "scale": metric.scale,
        "digits": metric.digits,
        "statistic": metric.statistic,
        "low": None,
        "high": None,
        **{key: value for key, value in entry_fields(metric).items() if key in ("low", "high", "source")},
    }


def _condition(
    board: Board,
    condition: str | None,
    found: Tiers,
    values: pl.DataFrame,
    strata: "_Strata",
    family: int,
    options: SamplingKeywords,
) -> dict[str, Any]:
    table = board.table
    here = pl.col("condition").eq_missing(condition)
    of_model: dict[str, dict[str, Any]] = {}
    for row in values.filter(here).drop("condition").iter_rows(named=True):
        of_model.setdefault(row.pop("model"), {})[row.pop("metric")] = row
    pairs = found.pairs.filter(here).drop("condition", "metric")
    settings = settings_by_group(table)
    models = []
    for row in found.models.filter(here).drop("condition", "metric").iter_rows(named=True):
        group = row["model"], condition
        entry = board.sources[group]
        alone = entry.table.keep(groups=[group])
        models.append(
            {
                **{("rank_" + name if name in ("low", "high") else name): value for name, value in row.items()},
                "kind": kind_of_group(row["model"]),
                "metrics": of_model[row["model"]],
                "link": entry.about.get("link"),
                "date": entry.about.get("date"),
                "submitter": entry.about.get("submitter"),
                "licence": entry.about.get("licence"),
                "library_version": alone.provenance.library_version,
                "runs": alone.provenance.runs,
                "settings": {name: list(value) for name, value in settings.get(group, {}).items()},
                "signature": sign(alone, metrics=[table.primary], **options),
            }
        )
    return {
        "condition": condition,
        "title": under_condition(table, condition).removeprefix(", "),
        "family": family,
        "exchanges": exchanges_of_all(table, AnalysisOptions(**options).resamples),
        "models": models,
        "pairs": pairs.to_dicts(),
        "subgroups": strata.rows.filter(here).drop("condition").to_dicts() if strata.rows is not None else [],
    }


class _Strata(NamedTuple):
    """The primary metric in the strata of the units' traits, as far as it may be shown, and what is left out."""

    rows: pl.DataFrame | None
    notes: Sequence[str]

    @classmethod
    def of(cls, table: ScoreTable, *, small_cells: bool, options: SamplingKeywords) -> "_Strata":
        counts = {trait: len(strata_and_known(unit_traits(table), trait)[0]) for trait in table.traits}
        shown = [trait for trait, count in counts.items() if 1 < count <= _MOST_STRATA]
        notes = [
            f"No subgroups by {trait}: it has {plural(count, 'value')}."
            for trait, count in counts.items()
            if trait not in shown
        ]
        if not shown:
            return cls(None, notes)
        found: Iterator[Any] = shown_strata(table, shown, small_cells=small_cells, metrics=[table.primary], **options)
        rows = [one.rows.select(pl.lit(one.trait).alias("trait"), pl.exclude("metric")) for one in found]
        return cls(pl.concat(rows) if rows else None, notes)
