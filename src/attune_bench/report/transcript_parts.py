"""What transcripts on a page are made of: messages, facts, answers beside those that count; all text is escaped."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from attune_bench.report.columns import Figure
from attune_bench.report.page import element
from attune_data.issues import Html, tag

__all__ = ["Compared", "TranscriptView", "chips", "compared", "counted", "facts", "folded", "message", "quiet"]


@dataclass(frozen=True, kw_only=True)
class TranscriptView:
    """How a page shows what models made of one unit.

    Attributes
    ----------
    unit : callable
        ``unit(record, results)`` gives what is shown once: `record` is the unit's record of the data, None for a
        benchmark without data; `results` are those of all models, by what the page calls them.
    result : callable
        ``result(record, result)`` gives one result beside what it is scored against.
    """

    unit: Callable[[Any, Mapping[str, Any]], Iterable[Html | Figure]]
    result: Callable[[Any, Any], Iterable[Html | Figure]]


@dataclass(frozen=True, slots=True)
class Compared:
    """An answer beside the one that counts.

    Attributes
    ----------
    asked : str or Html
        What was asked.
    reference, predicted : str
        The answer that counts, and that of the model; empty where there is none.
    same : bool or None
        Whether they agree, as the benchmark scores it; None where it does not score this one.
    note : str
        What is said in place of "same" and "differs".
    """

    asked: str
    reference: str
    predicted: str
    same: bool | None
    note: str = ""


def message(speaker: str, text: str, *beside: Html, person: bool, state: str = "") -> Html:
    """Return what somebody says, with the state they are in after it and what goes below.

    Examples
    --------
    >>> "&lt;b&gt;" in message("Person", "<b>", person=True)
    True
    """
    who = [tag("span", speaker, kind="speaker"), *([Html(" "), tag("span", state, kind="chip")] if state else [])]
    said = tag("p", text) if text.strip() else tag("p", "(nothing)", kind="quiet")
    return tag("div", element("div", *who, class_="who"), said, *beside, kind="said person" if person else "said model")


def facts(rows: Iterable[tuple[str, str]]) -> Html:
    """Return what is known, by heading; what is empty is left out."""
    told = [element("div", tag("dt", name), tag("dd", text)) for name, text in rows if text.strip()]
    return element("dl", *told, class_="facts") if told else Html("")


def folded(summary: str, *children: Html) -> Html:
    """Return parts that are shown where their summary is chosen; nothing where there is no part."""
    return tag("details", tag("summary", summary), *children) if children else Html("")


def quiet(text: str) -> Html:
    """Return a remark."""
    return tag("p", text, kind="quiet")


def chips(texts: Iterable[str]) -> Html:
    """Return short texts side by side."""
    return element("div", *(part for text in texts for part in (tag("span", text, kind="chip"), Html(" "))))


def counted(rows: Sequence[Compared]) -> str:
    """Return how many of the answers that are scored agree.

    Examples
    --------
    >>> counted([Compared("B1", "yes", "no", False), Compared("B2", "no", "no", True), Compared("B3", "na", "", None)])
    '1 of 2 the same'
    """
    scored = [row.same for row in rows if row.same is not None]
    return f"{sum(scored)} of {len(scored)} the same"


def compared(rows: Sequence[Compared], *, asked: str, reference: str, predicted: str) -> Html:
    """Return a table of answers beside those that count, the agreement in words; nothing where there is no row.

    Parameters
    ----------
    rows : sequence of Compared
        The answers.
    asked, reference, predicted : str
        The heads of the columns.
    """
    if not rows:
        return Html("")
    heads = [element("th", text, scope="col") for text in (asked, reference, predicted, "agreement")]
    body = [
        element(
            "tr", tag("td", row.asked), tag("td", row.reference or "-"), tag("td", row.predicted or "-"), _mark(row)
        )
        for row in rows
    ]
    return element("table", element("thead", element("tr", *heads)), element("tbody", *body), class_="compared")


def _mark(row: Compared) -> Html:
    if row.same is None:
        return element("td", row.note or "not scored", class_="unscored")
    sign, words, kind = ("\u2713", "same", "same") if row.same else ("\u2717", "differs", "differs")
    return element("td", f"{sign} {row.note or words}", class_=kind)
