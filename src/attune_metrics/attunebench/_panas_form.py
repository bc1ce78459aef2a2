"""The PANAS form: its items, and which totals count."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from attune_metrics.attunebench._affect import NEGATIVE_AFFECT, POSITIVE_AFFECT
from attune_metrics.attunebench.protocol import DOCUMENTED, Protocol, get_protocol
from attune_metrics.checks import check_mapping, check_number
from attune_metrics.errors import MetricInputError

__all__ = ["Panas", "PanasTotals", "PreparedPanas", "check_panas", "panas_totals", "prepare_panas"]

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
    given = {word.strip().title(): value for word, value in panas.items.items()}
    items = {word: _clamp(value, 1, 7) for word in _WORDS if (value := given.get(word)) is not None}
    positive = _total(POSITIVE_AFFECT, items, panas.positive_total, protocol)
    negative = _total(NEGATIVE_AFFECT, items, panas.negative_total, protocol)
    return PreparedPanas(items, PanasTotals(positive, negative))


def _clamp(value: float, low: float, high: float) -> float:
    return min(max(value, low), high)


def _total(
    words: tuple[str, ...], items: Mapping[str, float], recorded: float | None, protocol: Protocol
) -> float | None:
    rated = [items[word] for word in words if word in items]
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
