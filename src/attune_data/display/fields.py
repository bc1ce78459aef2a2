"""A record of any class as text, from its fields alone."""

from collections.abc import Mapping, Sequence
from typing import Any

from attune_data.record import Record, is_generated
from attune_data.text import labelled, wrapped

__all__ = ["fields_text"]

_LABEL = 22


def fields_text(record: Record, columns: int) -> str:
    """Return a record as text that is safe to print: its id, then every field that has a value.

    Examples
    --------
    >>> class Note(Record):
    ...     id: str
    ...     stars: int
    ...     said: dict[str, list[int]]
    >>> print(fields_text(Note(id="a", stars=3, said={"first": [1, 2], "then": [3]}), 40))
    Note a
      stars  3
      said   first: 1, 2
             then: 3
    """
    name: Any = getattr(record, "id", "")
    synthetic = " (synthetic)" if is_generated(record) else ""
    given = record.model_dump(by_alias=True, exclude_none=True)
    said = {key: _lines(value) for key, value in given.items() if key not in ("id", "synthetic")}
    rows = labelled(said.items(), columns, label=min(max(map(len, said), default=0) + 2, _LABEL))
    return "\n".join([*wrapped(f"{type(record).__name__} {name}{synthetic}", columns), *rows])


def _lines(value: Any) -> str:
    """Return a value as lines: a line an entry of an object, and an item of a list of more than words."""
    if isinstance(value, Mapping):
        return "\n".join(f"{key}: {_line(item)}" for key, item in value.items())
    return "\n".join(map(_line, value)) if _is_list(value) else str(value)


def _line(value: Any) -> str:
    if isinstance(value, Mapping):
        return "; ".join(f"{key}: {_line(item)}" for key, item in value.items())
    if _is_list(value):
        return ", ".join(map(_line, value))
    return "-" if value is None else str(value)


def _is_list(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)
