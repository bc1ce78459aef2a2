"""Counts of a collection: of its records by trait, of their parts, of issues."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isnan, nan
from statistics import median
from typing import Any, Protocol, TypeVar

from attune_data.issues import Issue, count_severities
from attune_data.query import NO_ANSWER
from attune_data.record import is_generated
from attune_data.text import WIDTH, grid, plural, sanitize, shortened, width, wrapped

R = TypeVar("R")

_LEAST_NAME = 12
_TOLD = {"synthetic": "SYNTHETIC", "without_participant": "without a participant"}
_SEVERITIES = ("error", "warning", "note")
_OF_PARTS = "With any: {records} that have at least one. Min, median, max: per record, those with none included."
_OF_TRAITS = "One with several values of a trait counts in each."


class Described(Protocol):
    """A collection that names the kind of its records."""

    @property
    def kind(self) -> Any:
        """The kind of the records."""

    @property
    def found(self) -> tuple[Issue, ...]:
        """The issues of the records."""

    def __iter__(self) -> Any: ...
    def __len__(self) -> int: ...


def describe(collection: Described) -> dict[str, Any]:
    """Count the records of a collection, what they consist of, and its issues.

    Parameters
    ----------
    collection : Collection
        What a loader gives, or a part of it.

    Returns
    -------
    dict
        The number of records under their plural, such as ``conversations``, and of their sources, such as
        ``participants``; ``synthetic``, the number of generated records; ``traits``, by trait and
        value these numbers again; ``counts``, of turns, annotations and the like the ``total``, how many records have
        any, and ``min``, ``median``, ``max`` per record (nan without a record); ``issues`` by severity.

    Examples
    --------
    >>> from attune_data import load
    >>> counts = describe(load("demo"))
    >>> counts["conversations"], counts["traits"]["diagnosis_group"]["ADHD"]
    (40, {'conversations': 8, 'participants': 6})
    """
    counts: dict[str, Any] = collection.kind.describe(collection)
    return counts


def description(
    collection: Described,
    plural: str,
    *,
    of: Mapping[str, Callable[[Iterable[Any]], int]] | None = None,
    traits: Mapping[str, Mapping[str, Sequence[Any]]] | None = None,
    counts: Mapping[str, Callable[[Any], int]] | None = None,
) -> dict[str, Any]:
    """Return the counts of `describe`, from the parts that a kind of record names.

    Parameters
    ----------
    collection : Collection
        The records.
    plural : str
        The plural of their noun.
    of : mapping, optional
        From a plural, such as ``participants``, to the function that counts these among some records.
    traits : mapping, optional
        By trait and value the records that have it.
    counts : mapping, optional
        From the name of a part to the function that counts these in a record.
    """

    def sizes(records: Iterable[Any]) -> dict[str, int]:
        kept = list(records)
        return {plural: len(kept), **{name: count(kept) for name, count in (of or {}).items()}}

    issues = count_severities(collection.found)
    return {
        **sizes(collection),
        "synthetic": sum(map(is_generated, collection)),
        "traits": {
            trait: {name: sizes(part) for name, part in values.items()} for trait, values in (traits or {}).items()
        },
        "counts": {
            name: _spread([count(record) for record in collection], plural) for name, count in (counts or {}).items()
        },
        "issues": {severity: issues[severity] for severity in _SEVERITIES},
    }


def grouped(records: Iterable[R], value: Callable[[R], str | None], order: Sequence[str] = ()) -> dict[str, list[R]]:
    """Return records by a value: the values of `order` first, the others sorted, no answer last.

    Examples
    --------
    >>> grouped(["b1", "a1", "c1", "a2"], lambda text: text[0], order="c")
    {'c': ['c1'], 'a': ['a1', 'a2'], 'b': ['b1']}
    """
    found: dict[str, list[R]] = {}
    for record in records:
        found.setdefault(value(record) or NO_ANSWER, []).append(record)
    names = [*(name for name in order if name in found), *sorted(found.keys() - {*order, NO_ANSWER})]
    return {name: found[name] for name in (*names, *({NO_ANSWER} & found.keys()))}


def _spread(values: list[int], plural: str) -> dict[str, float]:
    low, middle, high = (min(values), median(values), max(values)) if values else [nan] * 3
    with_any = sum(value > 0 for value in values)
    return {"total": sum(values), plural: with_any, "min": low, "median": middle, "max": high}


def description_text(counts: Mapping[str, Any], columns: int = WIDTH) -> str:
    """Return the counts of `describe` as text, at most `columns` wide.

    Examples
    --------
    >>> from attune_data import load
    >>> print(description_text(describe(load("demo"))).partition(", 40 SYNTHETIC")[0])
    40 conversations, 24 participants
    """
    names = [name for name, count in counts.items() if isinstance(count, int)]
    # The first numbers count records and their sources; other numbers are left out where they are 0.
    first = names[: names.index("synthetic")]
    parts = [plural(counts[name], name.removesuffix("s"), name) for name in first]
    parts += [f"{counts[name]} {_TOLD.get(name, name)}" for name in names[len(first) :] if counts[name]]
    issues = [plural(count, severity) for severity, count in counts["issues"].items() if count]
    blocks = ["\n".join(wrapped(", ".join([*parts, *(issues or ["no issues"])]), columns))]
    if counts["counts"]:
        rows = [[name, *map(_number, row.values())] for name, row in counts["counts"].items()]
        blocks.append(grid(["parts", "total", "with any", "min", "median", "max"], rows))
    for trait, values in counts["traits"].items():
        heads: Mapping[str, int] = next(iter(values.values()), {})
        room = max(columns - sum(2 + width(head) for head in heads), _LEAST_NAME)
        rows = [
            [shortened(sanitize(name), room), *(f"{row[column]}" for column in row)] for name, row in values.items()
        ]
        blocks.append(grid([trait.replace("_", " "), *heads], rows))
    notes = [_OF_PARTS.format(records=names[0])] if counts["counts"] else []
    notes += [_OF_TRAITS] if counts["traits"] else []
    if notes:
        blocks.append("\n".join(wrapped(" ".join(notes), columns)))
    return "\n\n".join(blocks)


def _number(value: float) -> str:
    return "-" if isnan(value) else f"{value:g}"
