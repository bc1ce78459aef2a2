"""PANAS after the conversation: how well the model predicts the participant's mood.

Conventions
-----------
The Positive and Negative Affect Schedule [1]_ has ten positive and ten negative items, here rated 1 to 7, so each total
is 10 to 70. A `Panas` may lack items and totals; which total counts where there are both is a choice of the protocol.

Metrics
-------
- MAE and its normalized form, of the totals and of the items [2]_.
- Baseline-adjusted: skill over the forecast that the mood stays as it was before the conversation [2]_.

References
----------
.. [1] Watson, Clark, Tellegen (1988), Development and validation of brief measures of positive and negative affect,
   J. Pers. Soc. Psychol. 54, 1063-1070.
.. [2] AttuneBench, arXiv:2605.21739, post-conversation metrics.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import isnan, nan

from attune_metrics._checks import defined, warn_undefined
from attune_metrics._panas_form import (
    Panas,
    PanasTotals,
    PreparedPanas,
    check_panas,
    panas_totals,
    prepare_panas,
)
from attune_metrics.protocol import DOCUMENTED, Protocol, get_protocol

__all__ = [
    "Panas",
    "PanasScores",
    "PanasTotals",
    "PreparedPanas",
    "panas_baseline_adjusted",
    "panas_item_baseline_adjusted",
    "panas_item_mae",
    "panas_item_normalized",
    "panas_mae",
    "panas_na_baseline_adjusted",
    "panas_na_mae",
    "panas_na_normalized",
    "panas_normalized",
    "panas_pa_baseline_adjusted",
    "panas_pa_mae",
    "panas_pa_normalized",
    "panas_scores",
    "panas_totals",
    "prepare_panas",
    "score_panas",
]

_ITEM_SPAN = 6
_TOTAL_SPAN = 60
_UNDEFINED = "what it needs is missing, or nothing changed since the baseline"


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
    there = [value for value in values if not isnan(value)]
    return sum(there) / len(there) if there else nan


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


def _score(reference: Panas, predicted: Panas, baseline: Panas | None, protocol: Protocol | str) -> PanasScores:
    chosen = get_protocol(protocol)
    return score_panas(
        _checked(reference, "reference", chosen),
        _checked(predicted, "predicted", chosen),
        baseline=None if baseline is None else _checked(baseline, "baseline", chosen),
    )


def _checked(panas: Panas, side: str, protocol: Protocol) -> PreparedPanas:
    check_panas(panas, side)
    return prepare_panas(panas, protocol=protocol)


def _view(
    name: str, reference: Panas, predicted: Panas, baseline: Panas | None = None, protocol: Protocol | str = DOCUMENTED
) -> float:
    scores = _score(reference, predicted, baseline, protocol)
    return defined(getattr(scores, name), f"panas_{name}", _UNDEFINED, stacklevel=5)


def panas_scores(
    reference: Panas, predicted: Panas, *, baseline: Panas | None = None, protocol: Protocol | str = DOCUMENTED
) -> PanasScores:
    """All PANAS metrics of a conversation in one pass.

    Parameters
    ----------
    reference, predicted : Panas
        The form filled after the conversation, and its prediction.
    baseline : Panas, optional
        The form filled before; the `baseline_adjusted` values need it.
    protocol : Protocol or str
        Which totals count, see `panas_totals`.

    Returns
    -------
    PanasScores
        Values that are not defined are nan.

    Raises
    ------
    MetricInputError
        As `panas_totals`.

    Warns
    -----
    UndefinedMetricWarning
        Naming the values that are nan; not for the baseline-adjusted ones if no baseline is given.

    Examples
    --------
    >>> before, after = Panas({"proud": 3}, 40, 30), Panas({"proud": 5}, 50, 20)
    >>> scores = panas_scores(after, Panas({"proud": 4}, 46, 22), baseline=before)
    >>> scores.pa_mae, scores.na_mae, scores.mae, scores.pa_baseline_adjusted, scores.item_baseline_adjusted
    (4.0, 2.0, 3.0, 0.6, 0.5)
    """
    scores = _score(reference, predicted, baseline, protocol)
    undefined = [
        name
        for name in PanasScores.__slots__
        if name != "item_errors" and isnan(getattr(scores, name)) and (baseline is not None or "baseline" not in name)
    ]
    if undefined:
        warn_undefined(", ".join(undefined), _UNDEFINED)
    return scores


def panas_mae(reference: Panas, predicted: Panas, *, protocol: Protocol | str = DOCUMENTED) -> float:
    """Mean absolute error of the two affect totals: ``mean over affects of |actual - predicted|``.

    Takes and raises what `panas_scores` does.

    Returns
    -------
    float
        0 to 60 points, lower is better. A total missing on one end is taken as 40; an affect missing on both ends is
        left out; nan, with `UndefinedMetricWarning`, if both are.

    Examples
    --------
    >>> panas_mae(Panas(positive_total=50, negative_total=20), Panas(positive_total=44, negative_total=22))
    4.0
    """
    return _view("mae", reference, predicted, None, protocol)


def panas_normalized(reference: Panas, predicted: Panas, *, protocol: Protocol | str = DOCUMENTED) -> float:
    """`panas_mae` as a score: ``1 - MAE / 60``; 0 to 1, higher is better, nan where `panas_mae` is.

    Examples
    --------
    >>> panas_normalized(Panas(positive_total=50), Panas(positive_total=44))
    0.9
    """
    return _view("normalized", reference, predicted, None, protocol)


def panas_pa_mae(reference: Panas, predicted: Panas, *, protocol: Protocol | str = DOCUMENTED) -> float:
    """Absolute error of the positive affect total: 0 to 60 points, lower is better; as `panas_mae`."""
    return _view("pa_mae", reference, predicted, None, protocol)


def panas_na_mae(reference: Panas, predicted: Panas, *, protocol: Protocol | str = DOCUMENTED) -> float:
    """Absolute error of the negative affect total: 0 to 60 points, lower is better; as `panas_mae`."""
    return _view("na_mae", reference, predicted, None, protocol)


def panas_pa_normalized(reference: Panas, predicted: Panas, *, protocol: Protocol | str = DOCUMENTED) -> float:
    """`panas_pa_mae` as a score: ``1 - error / 60``; 0 to 1, higher is better."""
    return _view("pa_normalized", reference, predicted, None, protocol)


def panas_na_normalized(reference: Panas, predicted: Panas, *, protocol: Protocol | str = DOCUMENTED) -> float:
    """`panas_na_mae` as a score: ``1 - error / 60``; 0 to 1, higher is better."""
    return _view("na_normalized", reference, predicted, None, protocol)


def panas_baseline_adjusted(
    reference: Panas, predicted: Panas, *, baseline: Panas, protocol: Protocol | str = DOCUMENTED
) -> float:
    """Skill over the forecast "mood does not change", mean of the two affects.

    Per affect ``(raw - naive) / (1 - naive)``, clamped to -1 to 1, with ``raw = 1 - |post - predicted| / 60`` and
    ``naive = 1 - |post - pre| / 60``; that is ``1 - |post - predicted| / |post - pre|``.

    Takes and raises what `panas_scores` does.

    Returns
    -------
    float
        -1 to 1, higher is better: 1 is exact, 0 as good as predicting no change. An affect that did not change or lacks
        a total (before, after or predicted) is left out; nan, with `UndefinedMetricWarning`, if both are.

    Examples
    --------
    >>> panas_baseline_adjusted(Panas(positive_total=50), Panas(positive_total=46), baseline=Panas(positive_total=40))
    0.6
    """
    return _view("baseline_adjusted", reference, predicted, baseline, protocol)


def panas_pa_baseline_adjusted(
    reference: Panas, predicted: Panas, *, baseline: Panas, protocol: Protocol | str = DOCUMENTED
) -> float:
    """Positive affect's part of `panas_baseline_adjusted`: -1 to 1, higher is better."""
    return _view("pa_baseline_adjusted", reference, predicted, baseline, protocol)


def panas_na_baseline_adjusted(
    reference: Panas, predicted: Panas, *, baseline: Panas, protocol: Protocol | str = DOCUMENTED
) -> float:
    """Negative affect's part of `panas_baseline_adjusted`: -1 to 1, higher is better."""
    return _view("na_baseline_adjusted", reference, predicted, baseline, protocol)


def panas_item_mae(reference: Panas, predicted: Panas) -> float:
    """Mean absolute error over the items on both ends: ``mean |actual - predicted|``.

    Takes and raises what `panas_scores` does.

    Returns
    -------
    float
        0 to 6 points, lower is better; nan, with `UndefinedMetricWarning`, if no item is on both ends.

    Examples
    --------
    >>> panas_item_mae(Panas({"Proud": 5, "Upset": 2}), Panas({"proud": 4, "upset": 5, "afraid": 1}))
    2.0
    """
    return _view("item_mae", reference, predicted)


def panas_item_normalized(reference: Panas, predicted: Panas) -> float:
    """`panas_item_mae` as a score: ``1 - MAE / 6``; 0 to 1, higher is better, nan where `panas_item_mae` is.

    Examples
    --------
    >>> panas_item_normalized(Panas({"Proud": 5}), Panas({"Proud": 2}))
    0.5
    """
    return _view("item_normalized", reference, predicted)


def panas_item_baseline_adjusted(reference: Panas, predicted: Panas, *, baseline: Panas) -> float:
    """Skill over the forecast "no item changes": `panas_baseline_adjusted` per item with 6 for 60, mean over items.

    Takes and raises what `panas_scores` does.

    Returns
    -------
    float
        -1 to 1, higher is better; items that did not change or are missing anywhere are left out; nan, with
        `UndefinedMetricWarning`, if none is left.

    Examples
    --------
    >>> panas_item_baseline_adjusted(Panas({"Proud": 5}), Panas({"Proud": 4}), baseline=Panas({"Proud": 3}))
    0.5
    """
    return _view("item_baseline_adjusted", reference, predicted, baseline)
