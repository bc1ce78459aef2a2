"""EQ-Bench 3's ratings under two protocols beside each other, and what the order of a file moves.

The published ratings are updated game by game, so that the order of the comparisons in a file changes them. The fit of
`attune_bench.scores.pairwise` has no order.
"""

from collections.abc import Iterable, Mapping
from random import Random
from statistics import stdev
from typing import Any

import numpy as np
import polars as pl
from typing_extensions import Unpack

from attune_bench.benchmarks import comparisons
from attune_bench.benchmarks.eqbench3 import plus_counts
from attune_bench.report.columns import Section, with_note
from attune_bench.report.page_scores import PageScores
from attune_bench.report.tables import analysis_note, analysis_tables
from attune_bench.scores.columns import Analysis, FrameColumn, build_frame, columns, whole
from attune_bench.scores.table import ScoreTable
from attune_bench.stats.options import AnalysisOptions, SamplingKeywords
from attune_bench.stats.summary import summary
from attune_data.eqbench3 import EQBench3Verdict
from attune_data.text import listed
from attune_metrics.eqbench3 import published_ratings
from attune_metrics.metric import MetricInputError
from attune_metrics.stats.sums import average_ranks

_ORDERS = 20
"""Random orders of the comparisons."""

PROTOCOLS = columns(
    "model value low high rank published published_low published_high published_rank order_sd order_ranks opponents"
    " verdicts clusters reason",
    value=FrameColumn("The rating of the fit without an order, in points of Elo.", shown="rank"),
    rank="Rank by this rating, 1 is the best.",
    published=FrameColumn(
        "The rating as published, on the line of the two anchors where both are rated.", shown="rank"
    ),
    published_low=FrameColumn("Lower end of its interval as published, 1.96 sigma below.", shown="rank"),
    published_high=FrameColumn("Upper end of its interval as published.", shown="rank"),
    published_rank=FrameColumn("Rank by the published rating, 1 is the best.", low=1, shown="rank"),
    order_sd=FrameColumn(
        f"Standard deviation of the published rating over {_ORDERS} random orders of the same comparisons.",
        low=0,
        shown="rank",
    ),
    order_ranks=whole(f"How many ranks apart the published rating puts the model in these {_ORDERS} orders."),
    opponents=whole("How many models the model was compared with."),
    verdicts=whole("How many verdicts the model has."),
)


def protocols(
    scores: ScoreTable, *, results: Iterable[EQBench3Verdict], **options: Unpack[SamplingKeywords]
) -> pl.DataFrame:
    """Return the ratings of both protocols, and how far the order of the comparisons alone moves the published one.

    Parameters
    ----------
    scores : ScoreTable
        The ratings of the verdicts.
    results : iterable of EQBench3Verdict
        The verdicts, in the order of the file.
    **options
        ``resamples``, ``seed``, ``level``, ``unit``, ``interval``; see `AnalysisOptions`.

    Returns
    -------
    polars.DataFrame
        The columns `PROTOCOLS`, by published rank.

    Raises
    ------
    MetricInputError
        Where no verdict can be counted, the scores are of several judges, or an option is unknown.
    """
    if len(scores.conditions) > 1:
        judges = listed([str(one) for one in scores.conditions], 3)
        raise MetricInputError(
            f"the verdicts are of {len(scores.conditions)} judges ({judges}), and published ratings are of one; score "
            "the verdicts of one judge alone"
        )
    counts = [one for one in plus_counts(results) if {one.test, one.other} <= {*scores.models}]
    if not counts:
        raise MetricInputError("no verdict on two of the models can be counted")
    published = published_ratings(counts)
    source = Random(AnalysisOptions(**options).seed)  # noqa: S311  # nothing to guess
    ratings: dict[str, list[float]] = {model: [] for model in published}
    ranks: dict[str, list[float]] = {model: [] for model in published}
    for _ in range(_ORDERS):
        again = published_ratings(source.sample(counts, len(counts)))
        for model, rank in _ranks({model: one.elo_norm for model, one in again.items()}).items():
            ratings[model].append(again[model].elo_norm)
            ranks[model].append(rank)
    fitted = {row["model"]: row for row in summary(scores, metrics=["rating"], **options).iter_rows(named=True)}
    own = _ranks({model: row["value"] for model, row in fitted.items() if row["value"] is not None})
    as_published = _ranks({model: one.elo_norm for model, one in published.items()})
    rows = []
    for model, one in published.items():
        row: Mapping[str, Any] = fitted.get(model, {})
        met = [count for count in counts if model in (count.test, count.other)]
        rows.append(
            {
                "model": model,
                **{name: row.get(name) for name in ("value", "low", "high", "clusters", "reason")},
                "rank": own.get(model),
                "published": one.elo_norm,
                "published_low": one.ci_low_norm,
                "published_high": one.ci_high_norm,
                "published_rank": as_published[model],
                "order_sd": stdev(ratings[model]),
                "order_ranks": round(max(ranks[model]) - min(ranks[model])),
                "opponents": len({side for count in met for side in (count.test, count.other)} - {model}),
                "verdicts": len(met),
            }
        )
    return build_frame(PROTOCOLS, rows)


def _ranks(ratings: Mapping[str, float]) -> dict[str, float]:
    """Return ranks by model, 1 for the highest rating."""
    return dict(zip(ratings, average_ranks(-np.array([*ratings.values()])).tolist(), strict=True))


ANALYSES: Mapping[str, Analysis] = {
    "protocols": Analysis(
        function=protocols,
        title="Ratings under two protocols",
        note="Value: the rating of one fit to all verdicts, in points of Elo (400 are odds of 10 to 1). Published: "
        "TrueSkill, updated game by game in the order of the file; its interval knows nothing of other situations. "
        f"Order sd: how far the published rating moves in {_ORDERS} random orders of the same verdicts.",
        takes_metrics=False,
        needs=("results",),
        estimate="value",
        row="a model",
        columns=PROTOCOLS,
    ),
    **comparisons.ANALYSES,
}
"""The two protocols, and what any comparisons in pairs say of their judges."""


def sections(page: PageScores, *, data: object, results: Iterable[EQBench3Verdict] | None) -> list[Section]:
    """Return what a page says of the protocols, and of the judge."""
    entry = ANALYSES["protocols"]
    if results is None:
        own = Section(entry.title, left_out="needs the verdicts, --results")
    elif len(page.table.conditions) > 1:
        own = Section(entry.title, left_out="needs the verdicts of one judge alone")
    else:
        frame = page.hide_small_cells(protocols(page.table, results=results, **page.options))
        tables = analysis_tables(page.table, "protocols", entry, frame)
        own = Section(entry.title, with_note(tables, analysis_note(page.table, entry, frame, page.chosen)))
    return [own, *comparisons.sections(page, data=data, results=results)]
