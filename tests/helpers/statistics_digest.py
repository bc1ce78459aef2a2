"""All digits of what each statistic makes of random tables, a line each; as a program, after the kernel in use."""

import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from processors import kernel_in_use

from attune_metrics.stats.agreement import (
    cohen_kappa_interval,
    fleiss_kappa_interval,
    kendall_tau_b_rows,
    krippendorff_alpha_interval,
    spearman_rho_rows,
)
from attune_metrics.stats.bootstrap import STATISTICS, bootstrap, bootstrap_distribution, draw_resamples
from attune_metrics.stats.bradley_terry import bradley_terry
from attune_metrics.stats.cluster_means import mean_of_clusters_interval
from attune_metrics.stats.comparison import paired_bootstrap, paired_permutation_test
from attune_metrics.stats.equivalence import equivalence
from attune_metrics.stats.judges import prediction_powered
from attune_metrics.stats.pairwise import fit_comparisons
from attune_metrics.stats.pairwise_ratings import bradley_terry_ratings
from attune_metrics.stats.power import minimum_detectable_effect
from attune_metrics.stats.ranking import rank_intervals, win_rates
from attune_metrics.stats.repeats import crossed_variances, rank_shares, repeat_variance
from attune_metrics.stats.sums import clustered_standard_error, exponential

__all__ = ["digest"]

_UNITS = 400  # so many that OpenBLAS shares their sums among threads
_WINS = [[0, 24, 15, 12, 15, 8], [24, 0, 10, 9, 17, 13], [33, 38, 0, 20, 28, 20], [36, 39, 28, 0, 27, 21],
         [33, 31, 20, 21, 0, 15], [40, 35, 28, 27, 33, 0]]  # fmt: skip
"""Of which the fifth takes steps that are small beside those of the others."""


def digest() -> str:
    """Return the lines."""
    source = np.random.default_rng(1)
    clusters = np.arange(_UNITS) // 3
    drawn = draw_resamples(clusters, n_resamples=600, seed=2)
    few = draw_resamples(clusters[:60], n_resamples=100, seed=3)
    scores = source.gamma(2, size=(8, _UNITS)) / 7
    counts = source.integers(0, 9, size=(3, 4, _UNITS))
    tenths = source.integers(0, 11, size=(_UNITS, 4)) / 10
    left = source.integers(0, 9, size=500)
    right = (left + source.integers(1, 9, size=500)) % 9
    outcomes = source.integers(0, 3, size=500) / 2
    of_comparisons = draw_resamples(np.arange(500) // 5, n_resamples=200, seed=4)
    terms = {"position": source.choice([-1.0, 1.0], size=500), "length": source.normal(size=500)}
    fit = fit_comparisons(
        left, right, outcomes, clusters=np.arange(500) // 5, ties="davidson", terms=terms, weights=source.random(500)
    )
    rated = np.where(source.random(_UNITS) < 0.3, scores[0] + source.normal(size=_UNITS) / 20, np.nan)
    pair = scores[0], scores[1]
    made: Mapping[str, Callable[[], Any]] = {
        "bootstrap": lambda: bootstrap(scores, drawn),
        "bootstrap, BCa": lambda: bootstrap(scores, drawn, method="bca"),
        "bootstrap, MCC": lambda: bootstrap(counts, drawn, statistic=STATISTICS["mcc"]),
        "distribution": lambda: bootstrap_distribution(scores, drawn).tolist(),
        "paired bootstrap": lambda: paired_bootstrap(*pair, drawn),
        "permutations": lambda: paired_permutation_test(*pair, clusters, n_permutations=500),
        "equivalence": lambda: equivalence(*pair, drawn, margin=0.03),
        "strengths": lambda: bradley_terry(source.integers(1, 40, size=(30, 30))).tolist(),
        "strengths near 0": lambda: bradley_terry(_WINS).tolist(),
        "ratings": lambda: bradley_terry_ratings(left, right, outcomes, of_comparisons),
        "ratings with terms": lambda: bradley_terry_ratings(
            left, right, outcomes, of_comparisons, ties="davidson", terms=terms, method="percentile"
        ),
        "fit of comparisons": lambda: [
            fit.strengths.tolist(),
            fit.terms,
            fit.tie,
            fit.log_likelihood,
            fit.influence.tolist(),
            fit.term_influence["length"].tolist(),
            fit.covariance.tolist(),
        ],
        "kappa": lambda: cohen_kappa_interval(tenths[:, 0], tenths[:, 1], drawn, weights="quadratic"),
        "linear kappa": lambda: cohen_kappa_interval(tenths[:, 0], tenths[:, 1], drawn, weights="linear"),
        "Fleiss": lambda: fleiss_kappa_interval(tenths, drawn),
        "alpha, interval": lambda: krippendorff_alpha_interval(tenths, drawn, level="interval"),
        "alpha, ratio": lambda: krippendorff_alpha_interval(tenths, drawn, level="ratio"),
        "alpha, ordinal": lambda: krippendorff_alpha_interval(tenths, drawn, level="ordinal"),
        "correlations": lambda: [
            rows(scores[:4], scores[4:]).tolist() for rows in (spearman_rho_rows, kendall_tau_b_rows)
        ],
        "clusters": lambda: mean_of_clusters_interval(scores, clusters),
        "errors": lambda: [clustered_standard_error(one, clusters) for one in scores],
        "smallest effect": lambda: minimum_detectable_effect(*pair, clusters),
        "corrected": lambda: prediction_powered(scores[:1], rated[np.newaxis], drawn),
        "ranks": lambda: [rank_intervals(scores, drawn), win_rates(scores).rates.tolist()],
        "rank shares": lambda: rank_shares([*scores[:4, :5]]).tolist(),
        "repeats": lambda: repeat_variance(scores[:3, :60], few),
        "variances": lambda: crossed_variances(scores[:, :60], few),
        "exponential": lambda: exponential(source.uniform(-700, 700, size=1000)).tolist(),
    }
    return "".join(f"{name}: {compute()!r}\n" for name, compute in made.items())


if __name__ == "__main__":
    sys.stdout.write(f"{kernel_in_use()}\n{digest()}")
