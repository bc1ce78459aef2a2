"""Measures of agreement as sums over units, of shape (terms, units), and the statistic of these sums."""

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from attune_metrics.errors import MetricInputError
from attune_metrics.stats._ratings import as_categories, tally_units
from attune_metrics.stats.arrays import Floats, check_same_shape
from attune_metrics.stats.sums import Statistic, weighted_sums

__all__ = [
    "KappaDistances",
    "KappaWeights",
    "MeasurementLevel",
    "Ratings",
    "cohen_sums",
    "fleiss_sums",
    "krippendorff_sums",
]

KappaWeights = Literal["linear", "quadratic"]
KappaDistances = Literal["value", "rank"]
# ArrayLike does not include a list of texts with None among them.
Ratings = ArrayLike | Sequence[object]
MeasurementLevel = Literal["nominal", "ordinal", "interval", "ratio"]


def cohen_sums(
    reference: Ratings, predicted: Ratings, weights: KappaWeights | None, by: KappaDistances
) -> tuple[Floats, Statistic]:
    """Return the sums of Cohen's kappa, after checking its input; `attune_metrics.stats.agreement.cohen_kappa`."""
    if weights not in (None, "linear", "quadratic"):
        raise MetricInputError(f"unknown weights {weights!r}; known: linear, quadratic, or None")
    if by not in ("value", "rank"):
        raise MetricInputError(f"unknown by {by!r}; known: value, rank")
    if by == "rank" and weights is None:
        raise MetricInputError("by='rank' says how weights measure distance, and there are no weights; give them too")
    truth, guess = (np.asarray(side, dtype=object) for side in (reference, predicted))
    check_same_shape(truth, guess)
    if truth.ndim != 1:
        raise MetricInputError(f"reference has shape {truth.shape}; expected one rating for each unit")
    numeric = f"{weights} weighting" if weights else None
    pairs = as_categories(
        np.stack([truth, guess], axis=1), "reference or predicted", "units", "raters", numeric=numeric
    )
    if (missing := np.flatnonzero(np.isnan(pairs).any(axis=1))).size:
        raise MetricInputError(f"unit {missing[0]} lacks a rating; leave it out on both sides")
    values, codes = np.unique(pairs, return_inverse=True)
    one, other = np.eye(len(values))[codes.reshape(pairs.shape)].swapaxes(0, 1)
    places = np.arange(len(values)) if by == "rank" else values
    apart = np.abs(places - places[:, np.newaxis]).astype(float)
    distance = {None: np.sign(apart), "linear": apart, "quadratic": apart**2}[weights]
    disagreement = (weighted_sums(one, distance) * other).sum(axis=1)

    def statistic(sums: Floats, n: Floats) -> Floats:
        truths, guesses = np.split(sums[..., 1:], 2, axis=-1)
        kappa: Floats = 1 - sums[..., 0] * n / (weighted_sums(truths, distance) * guesses).sum(axis=-1)
        return kappa

    return np.vstack([disagreement, one.T, other.T]), statistic


def fleiss_sums(ratings: Ratings) -> tuple[Floats, Statistic]:
    """Return the sums of Fleiss' kappa, after checking its input; `attune_metrics.stats.agreement.fleiss_kappa`."""
    _, tally = tally_units(as_categories(ratings, "ratings", "units", "raters"))
    m = tally.sum(axis=1)
    if (odd := np.flatnonzero(m != m[:1])).size:
        raise MetricInputError(
            f"unit {odd[0]} has {m[odd[0]]:g} ratings and unit 0 has {m[0]:g}; Fleiss' kappa needs equal numbers, "
            "krippendorff_alpha does not"
        )
    # Ordered pairs of ratings that differ: of one unit, and of all.
    differ = m**2 - (tally**2).sum(axis=1)

    def statistic(sums: Floats, n: Floats) -> Floats:
        totals = sums[..., 1:]
        each = totals.sum(axis=-1) / n
        expected = (n * each) ** 2 - (totals**2).sum(axis=-1)
        kappa: Floats = 1 - sums[..., 0] * n * each / ((each - 1) * expected)
        return kappa

    return np.vstack([differ, tally.T]), statistic


def krippendorff_sums(ratings: Ratings, level: MeasurementLevel) -> tuple[Floats, Statistic]:
    """Return the sums of alpha, after checking its input; `attune_metrics.stats.agreement.krippendorff_alpha`."""
    if level not in ("nominal", "ordinal", "interval", "ratio"):
        raise MetricInputError(f"unknown level {level!r}; known: nominal, ordinal, interval, ratio")
    numeric = None if level == "nominal" else f"the {level} level"
    values, tally = tally_units(as_categories(ratings, "ratings", "units", "raters", numeric=numeric))
    if level == "ratio" and (values < 0).any():
        raise MetricInputError(f"rating {values[0]:g} is negative; a ratio scale starts at 0")
    # Each rating is paired with the m - 1 others of its unit; a lone rating leaves its unit without a value.
    m = tally.sum(axis=1)
    share = np.divide(1, m - 1, out=np.full_like(m, np.nan), where=m > 1)

    if level == "ordinal":
        # The distance depends on how often values occur, hence on the resample: so the pairs themselves are summed.
        k = len(values)
        pairs = tally[:, :, np.newaxis] * tally[:, np.newaxis, :] - tally[:, :, np.newaxis] * np.eye(k)
        pairs *= share[:, np.newaxis, np.newaxis]

        def ordinal(sums: Floats, _: Floats) -> Floats:
            observed = sums[..., 1:].reshape(*sums.shape[:-1], k, k)
            totals = observed.sum(axis=-1)
            ranks = np.cumsum(totals, axis=-1) - totals / 2
            distance = (ranks[..., np.newaxis] - ranks[..., np.newaxis, :]) ** 2
            expected = totals[..., np.newaxis] * totals[..., np.newaxis, :]
            return _alpha((observed * distance).sum(axis=(-1, -2)), (expected * distance).sum(axis=(-1, -2)), totals)

        return np.vstack([share, pairs.reshape(len(pairs), k * k).T]), ordinal

    distance = _DISTANCES[level](values[:, np.newaxis], values)
    disagreement = (weighted_sums(tally, distance) * tally).sum(axis=1) * share

    def statistic(sums: Floats, _: Floats) -> Floats:
        totals = sums[..., 1:]
        return _alpha(sums[..., 0], (weighted_sums(totals, distance) * totals).sum(axis=-1), totals)

    return np.vstack([disagreement, tally.T]), statistic


def _alpha(observed: Floats, expected: Floats, totals: Floats) -> Floats:
    alpha: Floats = 1 - observed * (totals.sum(axis=-1) - 1) / expected
    return alpha


def _ratio_distance(one: Floats, other: Floats) -> Floats:
    both = one + other
    # Two zeros do not differ.
    return np.divide(one - other, both, out=np.zeros_like(both), where=both != 0) ** 2


_DISTANCES: dict[str, Callable[[Floats, Floats], Floats]] = {
    "nominal": lambda one, other: (one != other).astype(float),
    "interval": lambda one, other: (one - other) ** 2,
    "ratio": _ratio_distance,
}
