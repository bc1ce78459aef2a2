"""The signature of an analysis: one line with every setting that can change its numbers."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import numpy as np
from typing_extensions import Unpack

from attune_bench._version import __version__
from attune_bench.scores.codebook import codebook_hash
from attune_bench.scores.table import ScoreTable
from attune_bench.stats.comparability import settings_mark
from attune_bench.stats.compare import looking_at, margins_of
from attune_bench.stats.options import (
    AnalysisKeywords,
    AnalysisOptions,
    Margin,
    Mask,
    ScoreSeries,
    draws_poisson,
    interval_method,
)
from attune_data.record import canonical
from attune_metrics.signature import Signature, hash_records
from attune_metrics.stats.bootstrap import STATISTICS


def sign(
    table: ScoreTable,
    *,
    within: Iterable[str] | None = None,
    question: str | None = None,
    models: Sequence[str] | None = None,
    labels: str | None = None,
    margin: Margin | None = None,
    looks: int | Literal["any"] | None = None,
    look: int | None = None,
    exchanges: int | None = None,
    of: Literal["values", "differences", "ranks"] = "values",
    **options: Unpack[AnalysisKeywords],
) -> str:
    """Return the signature of an analysis of scores.

    Parameters
    ----------
    table : ScoreTable
        What was analysed. The hashes of data and runs are those in its provenance; without them the scores are hashed.
    within : iterable of str, optional
        The units that the analysis kept to.
    question : str, optional
        What chose them.
    models : sequence of str, optional
        The models that were analysed; by default all. Only their settings count.
    labels : str, optional
        The hash of people's ratings, where these corrected a judge; see `attune_bench.stats.debias`.
    margin : float, mapping of str to float or "declared", optional
        The margin of a comparison.
    looks, look : optional
        Which look at the data a comparison is, as for `attune_bench.stats.compare.compare`; its intervals are ``t``.
    exchanges : int, optional
        How many random exchanges a comparison made; named where these are more than the resamples.
    of : {"values", "differences", "ranks"}
        The statistic with intervals: values of metrics, where shares have intervals of their own; differences or other
        statistics of an analysis; or ranks, which are resampled where each cluster counts once too.
    **options
        As for the analysis; see `AnalysisOptions`.

    Returns
    -------
    str
        A line that `attune_metrics.signature.Signature.parse` reads back. ``n`` counts the units with a value of any of
        the metrics, ``clusters`` the resampling units, ``excluded`` the units without such a value. ``draw`` is
        ``poisson`` where models were run on more than 20,000 resampling units; parts with fewer are drawn
        multinomially. ``weight`` is there where each cluster counts once; ``interval`` is then ``t``, for values and
        paired differences. Otherwise ``interval`` of values is ``percentile-expanded_logit-t`` where a metric is a
        share of clustered units.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_data import load, load_runs
    >>> scores = score(load("demo"), load_runs("demo"))
    >>> sign(scores, metrics=["composite_score"]).split("|")[1:4]
    ['benchmark:attunebench', 'metric:composite_score', 'protocol:documented']
    """
    chosen, looking = AnalysisOptions(**options), looking_at(looks, look)
    series = ScoreSeries(table)
    names = chosen.names(table)
    within = None if within is None else set(within)
    kept = np.ones(len(series.units), dtype=np.bool_) if within is None else series.mask(within)
    valued = np.zeros_like(kept)
    for name in names:
        if table.metric(name).statistic in STATISTICS:
            valued |= (~np.isnan(series.values(name)[:, 0])).any(axis=0)
    clusters, weighs = series.clusters(chosen), chosen.weighs_clusters(table)
    held = table.provenance
    hashed = held.data is not None or held.runs is not None
    conditions = [condition for condition in table.conditions if condition is not None]
    variant = held.variant | ({"similarity": held.similarity} if held.similarity else {})
    signature = Signature(
        attune="/".join(dict.fromkeys((held.library_version, __version__))),
        benchmark=held.benchmark,
        metric="all" if len(names) > 1 and names == tuple(table.metrics) else ",".join(names),
        protocol=held.protocol,
        variant=",".join(f"{name}={option}" for name, option in variant.items()) or None,
        mode=",".join(sorted(conditions)) or None,
        codebook=held.codebook and "/".join(dict.fromkeys((held.codebook, codebook_hash()))),
        settings=settings_mark(
            table, names, groups=[group for group in table.groups if models is None or group[0] in models]
        ),
        data=held.data,
        runs=held.runs,
        scores=None if hashed else _hash(table),
        labels=labels,
        filter=question,
        repeats="-".join(str(count) for count in sorted({*table.repeat_counts[:1], *table.repeat_counts[-1:]})) or None,
        n=int((valued & kept).sum()),
        clusters=len({clusters[unit] for unit in np.flatnonzero(valued & kept).tolist()}),
        excluded=int((kept & ~valued).sum()),
        unit=held.cluster if chosen.draws_clusters(table) else held.unit,
        draw="poisson" if draws_poisson(table, chosen, within=within) else None,
        weight=held.cluster if weighs else None,
        interval=_interval(series, names, kept, chosen, of) if looking is None else "t",
        margin=_margins(margins_of(table, margin, list(margin) if isinstance(margin, Mapping) else names)),
        look=None if looking is None else str(looking),
        level=float(chosen.level),
        boot=chosen.resamples,
        exchanges=None if exchanges == chosen.resamples else exchanges,
        seed=chosen.seed,
    )
    return str(signature)


def _interval(series: ScoreSeries, names: Sequence[str], kept: Mask, options: AnalysisOptions, of: str) -> str:
    """Return the method of the intervals, then the method for shares of clustered units where it differs."""
    table = series.table
    if options.weighs_clusters(table) and of != "ranks":
        return "t"
    shares = [name for name in names if table.metric(name).statistic == "share" and of == "values"]
    valued = [(table.metric(name), own) for name in shares for own in ~np.isnan(series.values(name)[:, 0]) & kept]
    methods = {
        interval_method(metric, options, table, n=int(own.sum()), clusters=series.count(own)) for metric, own in valued
    }
    return "_".join([options.interval, *(methods & {"logit-t"})])


def _margins(margins: Mapping[str, float]) -> str | None:
    """Return one margin, or each with its metric; None where none is given."""
    if len(set(margins.values())) <= 1:
        return next((f"{value!r}" for value in margins.values()), None)
    return ",".join(f"{name}={value!r}" for name, value in margins.items())


def _hash(table: ScoreTable) -> str:
    """Return the hash of the values and clusters, whatever the order of rows and columns."""
    frame = table.values.join(table.units.select("unit", "cluster"), on="unit", how="left")
    rows = frame.select(sorted(frame.columns)).fill_nan(None).iter_rows(named=True)
    return hash_records(map(canonical, rows))
