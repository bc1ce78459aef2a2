"""PANAS after the conversation: how well the model predicts the participant's mood.

Conventions
-----------
The Positive and Negative Affect Schedule [1]_ has ten positive and ten negative items, here rated 1 to 7, so each total
is 10 to 70. A `Panas` may lack items and totals; which total counts if both are given is a choice of the protocol.

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

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from math import fsum, isnan, nan
from typing import NamedTuple

from attune_metrics.attunebench import CONVERSATION_WIDE, post_entry
from attune_metrics.attunebench.composite import DOCUMENTED, Protocol, get_protocol
from attune_metrics.attunebench.emotion import NEGATIVE_AFFECT, POSITIVE_AFFECT
from attune_metrics.metric import Metric, MetricInputError, check_mapping, check_number, defined, warn_undefined

_WORDS = POSITIVE_AFFECT + NEGATIVE_AFFECT


@dataclass(frozen=True, slots=True)
class Panas:
    """One filled PANAS form.

    Attributes
    ----------
    items : mapping of str to (float or None)
        Item word, any letter case -> 1 to 7.
    positive_total, negative_total : float or None
        The recorded totals, 10 to 70.
    """

    items: Mapping[str, float | None] = field(default_factory=dict)
    positive_total: float | None = None
    negative_total: float | None = None


@dataclass(frozen=True, slots=True)
class PanasTotals:
    """The totals that count, 10 to 70; None without items and without a recorded total."""

    positive: float | None
    negative: float | None


@dataclass(frozen=True, slots=True)
class PreparedPanas:
    """A form under one protocol, ready to be scored many times.

    Attributes
    ----------
    items : dict
        The rated items, in title case and in the order of the form, clamped to 1-7.
    totals : PanasTotals
        The totals that count.
    """

    items: dict[str, float]
    totals: PanasTotals


def prepare_panas(panas: Panas, *, protocol: Protocol = DOCUMENTED) -> PreparedPanas:
    """Prepare a form for `score_panas`; unknown words are ignored, values clamped, nothing is checked."""
    given = dict(zip(_titles(tuple(panas.items)), panas.items.values(), strict=True))
    items = {
        word: value if 1 <= value <= 7 else _clamp(value, 1, 7)
        for word in _WORDS
        if (value := given.get(word)) is not None
    }
    positive = _total(POSITIVE_AFFECT, items, panas.positive_total, protocol)
    negative = _total(NEGATIVE_AFFECT, items, panas.negative_total, protocol)
    return PreparedPanas(items, PanasTotals(positive, negative))


@lru_cache(maxsize=128)  # Forms list their words in few ways.
def _titles(words: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(word.strip().title() for word in words)


def _clamp(value: float, low: float, high: float) -> float:
    return min(max(value, low), high)


def _total(
    words: tuple[str, ...], items: Mapping[str, float], recorded: float | None, protocol: Protocol
) -> float | None:
    rated = [value for word in words if (value := items.get(word)) is not None]
    items_win = protocol.panas_totals == "items" and len(rated) == len(words)
    if recorded is not None and not items_win:
        return _clamp(recorded, 10, 70)
    return _clamp(sum(rated), 10, 70) if rated else None


def check_panas(panas: object, side: str) -> None:
    """Raise if the form has an unknown or repeated word, or a value outside its range."""
    if not isinstance(panas, Panas):
        raise MetricInputError(f"{side} {panas!r:.60} is not a Panas; write Panas(items={{...}})")
    seen = set()
    for word, value in check_mapping(panas.items, f"{side} items", "word -> 1 to 7").items():
        title = word.strip().title() if isinstance(word, str) else word
        if title not in _WORDS:
            raise MetricInputError(f"{side} item {word!r} is not one of the 20 PANAS words")
        if title in seen:
            raise MetricInputError(f"{side} item {title} is given twice, in different letter case")
        seen.add(title)
        if value is not None:
            check_number(value, f"{side} item {title}", 1, 7)
    for name, total in (("positive_total", panas.positive_total), ("negative_total", panas.negative_total)):
        if total is not None:
            check_number(total, f"{side} {name}", 10, 70)


def panas_totals(panas: Panas, *, protocol: Protocol | str = DOCUMENTED) -> PanasTotals:
    """Totals of positive and negative affect under a protocol.

    Parameters
    ----------
    panas : Panas
        Items 1 to 7, recorded totals 10 to 70.
    protocol : Protocol or str
        `documented`: the sum of the ten items if all are rated, else the recorded total, else the sum of the rated
        items. `released`: the recorded total, else the sum of the rated items.

    Returns
    -------
    PanasTotals
        `positive` and `negative`, each 10 to 70, or None without items and total. A sum of fewer than ten items is
        raised to 10 at least.

    Raises
    ------
    MetricInputError
        If an item or total is outside its range, a word is unknown or given twice, or the protocol is unknown.

    Examples
    --------
    >>> panas_totals(Panas({"proud": 7, "alert": 6}, negative_total=22))
    PanasTotals(positive=13, negative=22)
    """
    chosen = get_protocol(protocol)
    check_panas(panas, "panas")
    return prepare_panas(panas, protocol=chosen).totals


_ITEM_SPAN = 6
_TOTAL_SPAN = 60


class PanasScores(NamedTuple):
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


def _item_skill(before: float | None, actual: float | None, predicted: float | None) -> float:
    # (raw - naive) / (1 - naive) with raw = 1 - |actual - predicted| / span and naive = 1 - |actual - before| / span;
    # the span cancels.
    if before is None or actual is None or predicted is None or actual == before:
        return nan
    return max(-1.0, 1 - abs(actual - predicted) / abs(actual - before))


def _mean(values: Iterable[float]) -> float:
    known = [value for value in values if not isnan(value)]
    return fsum(known) / len(known) if known else nan


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
    pa_skill = _item_skill(start.positive, actual.positive, forecast.positive)
    na_skill = _item_skill(start.negative, actual.negative, forecast.negative)
    item_errors = {word: float(abs(rated - guess[word])) for word, rated in after.items() if word in guess}
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
        item_baseline_adjusted=_mean([_item_skill(before.get(word), after[word], guess[word]) for word in item_errors]),
    )


_UNDEFINED = "items or totals are missing, or nothing changed since the baseline"


def _score(
    reference: Panas, predicted: Panas, protocol: Protocol | str = DOCUMENTED, baseline: Panas | None = None
) -> PanasScores:
    chosen = get_protocol(protocol)
    return score_panas(
        _checked(reference, "reference", chosen),
        _checked(predicted, "predicted", chosen),
        baseline=None if baseline is None else _checked(baseline, "baseline", chosen),
    )


def _checked(panas: Panas, side: str, protocol: Protocol) -> PreparedPanas:
    check_panas(panas, side)
    return prepare_panas(panas, protocol=protocol)


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
    scores = _score(reference, predicted, protocol, baseline)
    undefined = [
        name
        for name in PanasScores._fields
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
    return defined(_score(reference, predicted, protocol).mae, "panas_mae", _UNDEFINED)


def panas_normalized(reference: Panas, predicted: Panas, *, protocol: Protocol | str = DOCUMENTED) -> float:
    """`panas_mae` as a score: ``1 - MAE / 60``.

    Takes and raises what `panas_scores` does.

    Returns
    -------
    float
        0 to 1, higher is better; nan, with `UndefinedMetricWarning`, where `panas_mae` is.

    Examples
    --------
    >>> panas_normalized(Panas(positive_total=50), Panas(positive_total=44))
    0.9
    """
    return defined(_score(reference, predicted, protocol).normalized, "panas_normalized", _UNDEFINED)


def panas_pa_mae(reference: Panas, predicted: Panas, *, protocol: Protocol | str = DOCUMENTED) -> float:
    """Absolute error of the total of positive affect: ``|actual - predicted|``.

    Takes and raises what `panas_scores` does.

    Returns
    -------
    float
        0 to 60 points, lower is better. Missing on one end, a total is taken as 40; nan, with `UndefinedMetricWarning`,
        if missing on both.

    Examples
    --------
    >>> panas_pa_mae(Panas(positive_total=50), Panas(positive_total=44))
    6.0
    """
    return defined(_score(reference, predicted, protocol).pa_mae, "panas_pa_mae", _UNDEFINED)


def panas_na_mae(reference: Panas, predicted: Panas, *, protocol: Protocol | str = DOCUMENTED) -> float:
    """Absolute error of the total of negative affect: ``|actual - predicted|``.

    Takes and raises what `panas_scores` does.

    Returns
    -------
    float
        0 to 60 points, lower is better. Missing on one end, a total is taken as 40; nan, with `UndefinedMetricWarning`,
        if missing on both.

    Examples
    --------
    >>> panas_na_mae(Panas(negative_total=50), Panas(negative_total=44))
    6.0
    """
    return defined(_score(reference, predicted, protocol).na_mae, "panas_na_mae", _UNDEFINED)


def panas_pa_normalized(reference: Panas, predicted: Panas, *, protocol: Protocol | str = DOCUMENTED) -> float:
    """`panas_pa_mae` as a score: ``1 - error / 60``.

    Takes and raises what `panas_scores` does.

    Returns
    -------
    float
        0 to 1, higher is better; nan, with `UndefinedMetricWarning`, where `panas_pa_mae` is.

    Examples
    --------
    >>> panas_pa_normalized(Panas(positive_total=50), Panas(positive_total=44))
    0.9
    """
    return defined(_score(reference, predicted, protocol).pa_normalized, "panas_pa_normalized", _UNDEFINED)


def panas_na_normalized(reference: Panas, predicted: Panas, *, protocol: Protocol | str = DOCUMENTED) -> float:
    """`panas_na_mae` as a score: ``1 - error / 60``.

    Takes and raises what `panas_scores` does.

    Returns
    -------
    float
        0 to 1, higher is better; nan, with `UndefinedMetricWarning`, where `panas_na_mae` is.

    Examples
    --------
    >>> panas_na_normalized(Panas(negative_total=50), Panas(negative_total=44))
    0.9
    """
    return defined(_score(reference, predicted, protocol).na_normalized, "panas_na_normalized", _UNDEFINED)


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
    skill = _score(reference, predicted, protocol, baseline).baseline_adjusted
    return defined(skill, "panas_baseline_adjusted", _UNDEFINED)


def panas_pa_baseline_adjusted(
    reference: Panas, predicted: Panas, *, baseline: Panas, protocol: Protocol | str = DOCUMENTED
) -> float:
    """Skill on positive affect: ``max(-1, 1 - |post - predicted| / |post - pre|)``, as `panas_baseline_adjusted`.

    Takes and raises what `panas_scores` does.

    Returns
    -------
    float
        -1 to 1, higher is better; nan, with `UndefinedMetricWarning`, if the total did not change or one of the
        three is missing.

    Examples
    --------
    >>> panas_pa_baseline_adjusted(
    ...     Panas(positive_total=50), Panas(positive_total=46), baseline=Panas(positive_total=40)
    ... )
    0.6
    """
    skill = _score(reference, predicted, protocol, baseline).pa_baseline_adjusted
    return defined(skill, "panas_pa_baseline_adjusted", _UNDEFINED)


def panas_na_baseline_adjusted(
    reference: Panas, predicted: Panas, *, baseline: Panas, protocol: Protocol | str = DOCUMENTED
) -> float:
    """Skill on negative affect: ``max(-1, 1 - |post - predicted| / |post - pre|)``, as `panas_baseline_adjusted`.

    Takes and raises what `panas_scores` does.

    Returns
    -------
    float
        -1 to 1, higher is better; nan, with `UndefinedMetricWarning`, if the total did not change or one of the
        three is missing.

    Examples
    --------
    >>> panas_na_baseline_adjusted(
    ...     Panas(negative_total=50), Panas(negative_total=46), baseline=Panas(negative_total=40)
    ... )
    0.6
    """
    skill = _score(reference, predicted, protocol, baseline).na_baseline_adjusted
    return defined(skill, "panas_na_baseline_adjusted", _UNDEFINED)


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
    return defined(_score(reference, predicted).item_mae, "panas_item_mae", _UNDEFINED)


def panas_item_normalized(reference: Panas, predicted: Panas) -> float:
    """`panas_item_mae` as a score: ``1 - MAE / 6``.

    Takes and raises what `panas_scores` does.

    Returns
    -------
    float
        0 to 1, higher is better; nan, with `UndefinedMetricWarning`, where `panas_item_mae` is.

    Examples
    --------
    >>> panas_item_normalized(Panas({"Proud": 5}), Panas({"Proud": 2}))
    0.5
    """
    return defined(_score(reference, predicted).item_normalized, "panas_item_normalized", _UNDEFINED)


def panas_item_baseline_adjusted(reference: Panas, predicted: Panas, *, baseline: Panas) -> float:
    """Skill over the forecast "no item changes": ``mean max(-1, 1 - |post - predicted| / |post - pre|)`` over items.

    As `panas_baseline_adjusted`, per item.

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
    skill = _score(reference, predicted, baseline=baseline).item_baseline_adjusted
    return defined(skill, "panas_item_baseline_adjusted", _UNDEFINED)


_score_entry = partial(post_entry, family="panas", coverage=("panas",), nullable=True)
_normalized = partial(_score_entry, symmetric=True)
_error = partial(_normalized, high=60, higher_is_better=False)
_skill = partial(_score_entry, low=-1)

METRICS: tuple[Metric, ...] = (
    _error("panas_mae", "PANAS MAE", function=panas_mae),
    _normalized("panas_normalized", "PANAS normalized", "PANAS", group=CONVERSATION_WIDE, function=panas_normalized),
    _error("panas_pa_mae", "Positive affect error", function=panas_pa_mae),
    _error("panas_na_mae", "Negative affect error", function=panas_na_mae),
    _normalized("panas_pa_normalized", "Positive affect normalized", function=panas_pa_normalized),
    _normalized("panas_na_normalized", "Negative affect normalized", function=panas_na_normalized),
    _skill(
        "panas_baseline_adjusted",
        "PANAS baseline-adjusted",
        "PANAS adj",
        group=CONVERSATION_WIDE,
        function=panas_baseline_adjusted,
    ),
    _skill("panas_pa_baseline_adjusted", "Positive affect baseline-adjusted", function=panas_pa_baseline_adjusted),
    _skill("panas_na_baseline_adjusted", "Negative affect baseline-adjusted", function=panas_na_baseline_adjusted),
    _error("panas_item_mae", "PANAS item MAE", "item MAE", high=6, group=CONVERSATION_WIDE, function=panas_item_mae),
    _normalized("panas_item_normalized", "PANAS items normalized", function=panas_item_normalized),
    _skill("panas_item_baseline_adjusted", "PANAS items baseline-adjusted", function=panas_item_baseline_adjusted),
)
"""The catalogue's entries of this module."""
