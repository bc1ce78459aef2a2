"""The scores of two prepared PANAS forms: all metrics in one pass, unchecked."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import isnan, nan

from attune_metrics.attunebench._panas_form import PanasTotals, PreparedPanas

__all__ = ["PanasScores", "score_panas"]

_ITEM_SPAN = 6
_TOTAL_SPAN = 60


@dataclass(frozen=True, slots=True)
class PanasScores:
    """All PANAS metrics; each is described at the function of its name (`panas_...`).

    `item_errors` maps each item word on both ends, in title case, to its absolute error.
    """

    mae: float
    normalized: float
    pa_mae: float
    na_mae: float
    pa_normalized: float
    na_normalized: float
    pa_baseline_adjusted: float
    na_baseline_adjusted: float
    baseline_adjusted: float
    item_errors: dict[str, float]
    item_mae: float
    item_normalized: float
    item_baseline_adjusted: float


def _total_error(actual: float | None, predicted: float | None) -> float:
    if actual is None and predicted is None:
        return nan
    # A total missing on one end is taken as the middle of the scale.
    return float(abs((40 if actual is None else actual) - (40 if predicted is None else predicted)))


def _skill(before: float | None, actual: float | None, predicted: float | None) -> float:
    # (raw - naive) / (1 - naive) with raw = 1 - |actual - predicted| / span and naive = 1 - |actual - before| / span;
    # the span cancels.
    if before is None or actual is None or predicted is None or actual == before:
        return nan
    return max(-1.0, 1 - abs(actual - predicted) / abs(actual - before))


def _mean(values: Iterable[float]) -> float:
    known = [value for value in values if not isnan(value)]
    return sum(known) / len(known) if known else nan


def score_panas(
    reference: PreparedPanas, predicted: PreparedPanas, *, baseline: PreparedPanas | None = None
) -> PanasScores:
    """Score prepared forms: the same values as `panas_scores`, without checks and without warnings."""
    after, guess = reference.items, predicted.items
    actual, forecast = reference.totals, predicted.totals
    before, start = (baseline.items, baseline.totals) if baseline else ({}, PanasTotals(None, None))

    pa_mae = _total_error(actual.positive, forecast.positive)
    na_mae = _total_error(actual.negative, forecast.negative)
    mae = _mean([pa_mae, na_mae])
    pa_skill = _skill(start.positive, actual.positive, forecast.positive)
    na_skill = _skill(start.negative, actual.negative, forecast.negative)
    item_errors = {word: float(abs(after[word] - guess[word])) for word in after if word in guess}
    item_mae = _mean(item_errors.values())
    # Clamped values keep every error within its span, so 1 - error / span needs no floor.
    return PanasScores(
        mae=mae,
        normalized=1 - mae / _TOTAL_SPAN,
        pa_mae=pa_mae,
        na_mae=na_mae,
        pa_normalized=1 - pa_mae / _TOTAL_SPAN,
        na_normalized=1 - na_mae / _TOTAL_SPAN,
        pa_baseline_adjusted=pa_skill,
        na_baseline_adjusted=na_skill,
        baseline_adjusted=_mean([pa_skill, na_skill]),
        item_errors=item_errors,
        item_mae=item_mae,
        item_normalized=1 - item_mae / _ITEM_SPAN,
        item_baseline_adjusted=_mean(_skill(before.get(word), after[word], guess[word]) for word in item_errors),
    )
