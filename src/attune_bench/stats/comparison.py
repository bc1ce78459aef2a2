"""Comparison: whether models differ, on the units that both were run on.

Corrected p-values are Holm's, over all pairs of models for one metric in one condition: that is the family. Two models
differ significantly where the corrected p-value is below 0.05.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
import polars as pl
from typing_extensions import Unpack

from attune_bench.score_table import ScoreTable
from attune_bench.stats.comparability import check_within_conditions
from attune_bench.stats.margins import margins_of
from attune_bench.stats.options import FEW, MIN_CLUSTERS, AnalysisOptions, ComparisonKeywords, Margin
from attune_bench.stats.paired import SAME, TESTED, enough_exchanges, family_of_pairs, paired, tested, tested_same
from attune_bench.stats.remarks import OneWarning
from attune_bench.stats.series import Draws, ScoreSeries
from attune_bench.stats.skewed import SkewedMeans
from attune_bench.stats.summary import sorted_groups
from attune_bench.stats.traits import asked, strata_of
from attune_data.query import Queryable
from attune_data.text import meant
from attune_metrics.metric import MetricInputError
from attune_metrics.stats.bootstrap import STATISTICS

__all__ = ["check_shared_units", "compare", "compare_all", "compare_by", "count_significant", "exchanges_of_all"]

_SCHEMA: dict[str, Any] = {
    **dict.fromkeys(("model_a", "model_b", "condition", "metric"), pl.String),
    "difference": pl.Float64,
    **TESTED,
}

Pair = tuple[str, str, str | None]


def compare(table: ScoreTable, a: str, b: str, **options: Unpack[ComparisonKeywords]) -> pl.DataFrame:
    """Compare two models on the units that both were run on, in each condition that both have.

    Parameters
    ----------
    table : ScoreTable
        The scores.
    a, b : str
        Models; one compared with itself differs by 0 for certain.
    **options
        As for `attune_bench.stats.summary.summary`; and ``margin``, the smallest difference of interest in the unit of
        the values: a number for all metrics, a mapping by metric, or ``"declared"`` for what their entries state.

    Returns
    -------
    polars.DataFrame
        ``model_a, model_b, condition, metric, difference, low, high, p, p_min, p_holm, significant, n, clusters, mde,
        reason``. ``difference`` is `a` minus `b`; ``p`` is that of
        `attune_metrics.stats.comparison.paired_permutation_test`, ``p_min`` the smallest that it could have been,
        ``p_holm`` corrected for the family, ``significant`` where that is below 0.05. ``mde`` is the minimum detectable
        effect: the smallest true difference that a comparison of this size finds with 80% power at an uncorrected 0.05;
        null with fewer than 7 clusters and where ``p_min`` is 0.05 or more. ``reason`` says why there is no interval or
        no ``mde``, or that the two are equal everywhere. With a margin also ``margin, p_same, p_same_holm, verdict``:
        ``p_same`` is that of `attune_metrics.stats.equivalence.equivalence`, null without an interval, and the verdict,
        ``different``, ``practically the same`` or ``undecided``, is by both corrected p-values.

    Raises
    ------
    MetricInputError
        As `summary`, and where a model is not in the scores, both have no condition or no unit in common, or a metric
        has no margin or one that is no number above 0.
    MixedSettingsError
        Where the runs differ in what changes an answer; see `attune_bench.stats.comparability`.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_bench.benchmarks.attunebench.baselines import chance, prior
    >>> from attune_data import load
    >>> conversations = load("demo")
    >>> scores = score(conversations, [*prior(conversations), *chance(conversations)])
    >>> found = compare(scores, "baseline/prior", "baseline/chance", metrics=["avg_binary_om_accuracy"])
    >>> found["p"].item() < 0.01, found["difference"].item() > found["mde"].item()
    (True, True)
    """
    skewed = SkewedMeans()
    found = _compare(table, _pairs_of(table, a, b), *_split(options), skewed)
    skewed.warn_of_differences()
    return found


def compare_all(table: ScoreTable, **options: Unpack[ComparisonKeywords]) -> pl.DataFrame:
    """Compare every two models of a condition.

    Parameters
    ----------
    table, **options
        As for `compare`.

    Returns
    -------
    polars.DataFrame
        As from `compare`; `count_significant` counts. Each pair once: ``model_a`` is the better one by the primary
        metric, and the best models come first, see `attune_bench.stats.summary.sorted_groups`.

    Raises
    ------
    MetricInputError
        As `compare`.

    Warns
    -----
    UserWarning
        Where a family is so large that, with so few clusters that differ, no corrected p-value can be below 0.05.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_data import load, load_runs
    >>> scores = score(load("demo"), load_runs("demo"))
    >>> found = compare_all(scores, metrics=["composite_score"], resamples=200).row(0, named=True)
    >>> found["model_a"], found["model_b"], round(found["difference"], 2), found["significant"]
    ('synthetic/attentive', 'synthetic/hasty', 17.17, True)
    """
    chosen, margin = _split(options)
    skewed = SkewedMeans()
    found = _compare(table, _all_pairs(table, chosen), chosen, margin, skewed)
    skewed.warn_of_differences()
    return found


def exchanges_of_all(table: ScoreTable, resamples: int) -> int:
    """Return how many random exchanges `compare_all` makes: `enough_exchanges` of the condition with most models."""
    models = Counter(condition for _, condition in table.groups).values()
    return enough_exchanges(comb(max(models, default=0), 2), resamples)


def check_shared_units(table: ScoreTable, models: Sequence[str] | None = None) -> None:
    """Raise where conditions have two models or more, and no two of these have a unit in common.

    Parameters
    ----------
    table : ScoreTable
        The scores.
    models : sequence of str, optional
        The models that are compared; by default all.

    Raises
    ------
    MetricInputError
        Where it is so; the text names a unit of two models.
    """
    rows = table.values if models is None else table.values.filter(pl.col("model").is_in(list(models)))
    sharing = rows.group_by("condition", "unit").agg(pl.col("model").n_unique())
    examples = rows.group_by("condition", "model").agg(pl.col("unit").min()).sort("condition", "model")
    together = examples.filter(pl.len().over("condition") > 1)
    if together.is_empty() or (sharing["model"] > 1).any():
        return
    said = ", ".join(f"{model!r} has {unit!r}" for model, unit in together.select("model", "unit").head(2).iter_rows())
    unit = table.provenance.unit
    raise MetricInputError(f"no two models have a {unit} in common ({said}); are the {unit}s of both named alike?")


def compare_by(
    table: ScoreTable,
    trait: str,
    *,
    data: Queryable | None = None,
    models: Sequence[str] | None = None,
    **options: Unpack[ComparisonKeywords],
) -> pl.DataFrame:
    """Compare models on all units, then within each stratum of a trait; each stratum is a family of its own.

    Parameters
    ----------
    table : ScoreTable
        The scores.
    trait : str
        As for `attune_bench.stats.subgroups.by`.
    data : Collection or Tables, optional
        The units' records; by default the traits that the scores have of their units.
    models : pair of str, optional
        Two models; by default every two.
    **options
        As for `compare`.

    Returns
    -------
    polars.DataFrame
        ``stratum``, ``overall`` or a value of the trait, then the columns of `compare`. A pair has no row in a stratum
        on which one of the two was not run.

    Raises
    ------
    ValueError
        As `compare`, and where there is no such trait.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_data import load, load_runs
    >>> conversations = load("demo")
    >>> scores = score(conversations, load_runs("demo"))
    >>> found = compare_by(scores, "category", data=conversations, metrics=["composite_score"], resamples=200)
    >>> found.select("stratum", "n").rows()[:2]
    [('overall', 40), ('Family', 8)]
    """
    chosen, margin = _split(options)
    pairs = _all_pairs(table, chosen) if models is None else _pairs_of(table, *models)
    strata = strata_of(asked(table, data), trait)
    parts, warning, skewed = [], OneWarning(), SkewedMeans()
    for name, units in {"overall": None, **strata}.items():
        part = table if units is None else table.keep(units=units)
        common = [(a, b, one) for a, b, one in pairs if {(a, one), (b, one)} <= {*part.groups}]
        with warning.of_all():
            if units is None:
                found = _compare(part, common, chosen, margin, skewed)
            else:
                found = _compare(part, common, chosen, margin, skewed, within=f", {trait} {name!r}", checked_from=FEW)
        parts.append(found.select(pl.lit(name).alias("stratum"), pl.all()))
    skewed.warn_of_differences()
    return pl.concat(parts)


def _split(options: ComparisonKeywords) -> tuple[AnalysisOptions, Margin | None]:
    """Return the options of any analysis, and the margin."""
    others: dict[str, Any] = {**options}
    margin = others.pop("margin", None)
    return AnalysisOptions(**others), margin


def _all_pairs(table: ScoreTable, options: AnalysisOptions) -> list[Pair]:
    """Return every two models of each condition, the better one first."""
    groups = sorted_groups(table, options)
    return [
        (one, other, condition)
        for condition in table.conditions
        for one, other in combinations([model for model, under in groups if under == condition], 2)
    ]


def _pairs_of(table: ScoreTable, a: str, b: str) -> list[Pair]:
    """Return two models in each condition that both have; raise where there is none."""
    conditions: dict[str, list[str | None]] = {model: [] for model in table.models}
    for model, condition in table.groups:
        conditions[model].append(condition)
    for model in (a, b):
        if model not in conditions:
            raise MetricInputError(f"no scores of model {model!r}; {meant(model, conditions)}")
    common = [one for one in table.conditions if one in conditions[a] and one in conditions[b]]
    if not common:
        raise MetricInputError(
            f"{a!r} and {b!r} have no {table.provenance.condition} in common: "
            f"{', '.join(map(str, conditions[a]))} and {', '.join(map(str, conditions[b]))}"
        )
    check_shared_units(table, (a, b))
    return [(a, b, one) for one in common]


def _compare(
    table: ScoreTable,
    pairs: Sequence[Pair],
    options: AnalysisOptions,
    margin: Margin | None,
    skewed: SkewedMeans,
    *,
    within: str = "",
    checked_from: int = MIN_CLUSTERS,
) -> pl.DataFrame:
    """Compare pairs (model, model, condition), which are in the order of their conditions.

    `within` says of which units, where these are a stratum; `checked_from` is as for `paired`, which adds to `skewed`.
    """
    series = ScoreSeries(table)
    draws = Draws(series, options, weighted=True)
    draws.skewed = skewed
    place = {group: place for place, group in enumerate(series.groups)}
    sides = np.array([(place[a, one], place[b, one]) for a, b, one in pairs], dtype=np.intp).reshape(-1, 2)
    families = [f"{family_of_pairs(table, condition)}{within}" for *_, condition in pairs]
    rows: dict[tuple[str | None, str], list[tuple[Any, ...]]] = {}
    # A metric that depends on all models' results has no units to compare on; asked for by name it is refused.
    comparable = [name for name, metric in table.metrics.items() if metric.statistic in STATISTICS]
    names = options.names_of_means(table, comparable)
    compared = [(model, condition) for *both, condition in pairs for model in both]
    check_within_conditions(table, names, groups=compared)
    if margin is not None and options.weighs_clusters(table):
        raise MetricInputError(
            f"in a comparison with a margin each unit counts once; leave out weight={options.weight!r}"
        )
    margins = margins_of(table, margin, names)
    for name in names:
        of_metric = margins.get(name)
        found = paired(
            series, series.values(name), sides, families, draws, options, series.statistic(name), margin=of_metric,
            of=name, checked_from=checked_from,
        )  # fmt: skip
        columns_of = tested(found, families, draws)
        if of_metric is not None:
            same = tested_same(found, families, of_metric)
            columns_of = [(*first, *more) for first, more in zip(columns_of, same, strict=True)]
        for pair, one, columns in zip(pairs, found, columns_of, strict=True):
            rows.setdefault((pair[2], name), []).append((*pair, name, one.difference, *columns))
    schema = {**_SCHEMA, **(SAME if margins else {})}
    ordered = [rows[condition, name] for condition in table.conditions for name in names if (condition, name) in rows]
    return pl.DataFrame([row for family in ordered for row in family], schema=schema, orient="row")


def count_significant(comparisons: pl.DataFrame) -> pl.DataFrame:
    """Count the pairs of models that differ, by two rules.

    Parameters
    ----------
    comparisons : polars.DataFrame
        What `compare_all` gives; where some of its pairs are left out, with the size of each one's ``family``.

    Returns
    -------
    polars.DataFrame
        ``condition, metric`` (with strata, ``stratum`` before these), ``pairs, family, significant,
        interval_excludes_0, p_holm_min``, a row a condition and metric: all pairs, those with a p-value (the family of
        the correction), those whose corrected p-value is below 0.05, those whose interval, uncorrected, excludes 0, and
        the smallest corrected p-value that any pair could have had, null where none has a p-value.

    Examples
    --------
    >>> rows = {"condition": ["m", "m"], "metric": ["x", "x"], "p": [0.01, None], "p_min": [0.01, None],
    ...         "significant": [True, None], "low": [1.0, None], "high": [2.0, None]}
    >>> count_significant(pl.DataFrame(rows)).row(0)
    ('m', 'x', 2, 1, 1, 1, 0.01)
    """
    excludes = (pl.col("low") > 0) | (pl.col("high") < 0)
    keys = [name for name in ("stratum", "condition", "metric") if name in comparisons.columns]
    family = pl.col("family").first() if "family" in comparisons.columns else pl.col("p").count()
    return comparisons.group_by(keys, maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("pairs"),
        family.cast(pl.Int64).alias("family"),
        pl.col("significant").sum().cast(pl.Int64).alias("significant"),
        excludes.sum().cast(pl.Int64).alias("interval_excludes_0"),
        pl.min_horizontal(family * pl.col("p_min").min(), 1.0).alias("p_holm_min"),
    )
