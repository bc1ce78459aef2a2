"""Models compared on the scenarios that they share: what EIBench and SAGE have in common.

Conventions ----------- The unit is the scenario, of which a model has one value. With fewer than
`attune_bench.stats.comparison.FEWEST` scenarios there is no interval, unless they are equal on all of them: then it is
0 to 0.
"""

from collections.abc import Mapping
from itertools import combinations
from math import isnan
from typing import TYPE_CHECKING, Any

from attune_bench.benchmarks.attunebench.records import null
from attune_bench.stats.comparison import ALPHA, FEWEST, detectable_difference, warn_family
from attune_bench.stats.series import Settings
from attune_metrics.stats.comparison import paired_bootstrap, paired_permutation_test
from attune_metrics.stats.multiplicity import holm
from attune_metrics.stats.resampling import Interval, Resamples, draw_resamples

if TYPE_CHECKING:
    import polars as pl

__all__ = ["compare_by_scenario", "scenario_ends"]


def compare_by_scenario(
    values: Mapping[str, Mapping[str, float]], settings: Settings, *, family: str = "all pairs of models"
) -> "pl.DataFrame":
    """Compare every two models on the scenarios that both have a value of.

    Parameters
    ----------
    values : mapping of str to mapping of str to float
        The values of each model by scenario; of a pair, `a` is the model that stands first.
    settings : Settings
        Resamples, which is also the number of random exchanges, and seed.
    family : str
        What the pairs are, for the warning.

    Returns
    -------
    polars.DataFrame
        ``model_a, model_b, difference, low, high, p, p_holm, told_apart, n, detectable, reason``. ``difference`` is `a`
        minus `b`, with the 95% interval of `attune_metrics.stats.comparison.paired_bootstrap`; ``p`` is that of
        `attune_metrics.stats.comparison.paired_permutation_test`, ``p_holm`` corrected for all
        pairs, and below 0.05 where the models are told apart. ``detectable`` is the smallest true difference that a
        comparison of this size finds with 80% power at an uncorrected 0.05.

    Warns
    -----
    UserWarning
        Where there are so many pairs that, with so few resamples, no corrected p-value can be below 0.05.

    Examples
    --------
    >>> found = {"a": {"s1": 1.0, "s2": 0.5}, "b": {"s2": 0.25, "s3": 1.0}}
    >>> compare_by_scenario(found, Settings()).select("difference", "n", "reason").row(0)
    (0.25, 1, 'fewer than 5 scenarios')
    """
    import polars as pl

    drawn: dict[tuple[str, ...], Resamples] = {}
    rows: list[dict[str, Any]] = []
    p_values: list[float] = []
    sampled = False
    for a, b in combinations(values, 2):
        shared = tuple(sorted(values[a].keys() & values[b].keys()))
        one, other = ([values[model][scenario] for scenario in shared] for model in (a, b))
        if shared not in drawn:
            drawn[shared] = draw_resamples(shared, n_resamples=settings.resamples, seed=settings.seed)
        [interval] = paired_bootstrap(one, other, drawn[shared])
        [test] = paired_permutation_test(one, other, shared, n_permutations=settings.resamples, seed=settings.seed)
        low, high, reason = scenario_ends(interval)
        sampled |= test.exchanges > 0 and not test.exact
        rows.append(
            {
                "model_a": a,
                "model_b": b,
                "difference": null(test.difference),
                "low": low,
                "high": high,
                "p": null(test.p_value),
                "n": interval.n,
                "detectable": detectable_difference(one, other, shared),
                "reason": reason,
            }
        )
        p_values.append(test.p_value)
    corrected = holm(p_values).tolist()
    for row, p in zip(rows, corrected, strict=True):
        row |= {"p_holm": null(p), "told_apart": None if isnan(p) else p < ALPHA}
    if sampled:
        warn_family(sum(not isnan(p) for p in corrected), settings, family)
    schema = {
        **dict.fromkeys(("model_a", "model_b"), pl.String),
        **dict.fromkeys(("difference", "low", "high", "p", "p_holm"), pl.Float64),
        "told_apart": pl.Boolean,
        "n": pl.Int64,
        "detectable": pl.Float64,
        "reason": pl.String,
    }
    return pl.DataFrame(rows, schema=schema)


def scenario_ends(interval: Interval) -> tuple[float | None, float | None, str | None]:
    """Return the two ends of an interval over scenarios, or None and the reason why there are none."""
    if interval.low == interval.high == interval.estimate == 0:
        # Of two equal models, for certain.
        return 0.0, 0.0, None
    if 0 < interval.n < FEWEST:
        return None, None, f"fewer than {FEWEST} scenarios"
    return null(interval.low), null(interval.high), interval.reason
