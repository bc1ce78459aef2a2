"""A transcript of records of any class: their fields, those of the result below those of what it is scored against."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attune_bench.report.transcript_parts import TranscriptView, facts
from attune_data.issues import Html, tag
from attune_data.record import Record

__all__ = ["FIELD_VIEW"]


def _unit(record: Any, _results: Mapping[str, Any]) -> Iterator[Html]:
    if record is not None:
        yield _fields(record)


def _result(_record: Any, result: Any) -> Iterator[Html]:
    yield _fields(result)


def _fields(record: Record) -> Html:
    """Return every field that has a value, as the record's class names it."""
    return facts((name.replace("_", " "), _value(getattr(record, name))) for name in type(record).model_fields)


def _value(value: Any) -> str:
    """Return a value as text or as markup; empty where there is none."""
    if isinstance(value, Record):
        return _fields(value)
    if isinstance(value, Mapping):
        return facts((str(key), _value(one)) for key, one in value.items())
    if isinstance(value, Sequence) and not isinstance(value, str):
        if all(isinstance(one, str | int | float | None) for one in value):
            # Short ones beside each other, as an answer a sample; texts below each other.
            is_short = all(len(str(one)) < _SHORT for one in value)
            return (", " if is_short else "\n").join("-" if one is None else str(one) for one in value)
        return tag("ol", *(tag("li", _value(one)) for one in value))
    return "" if value is None else str(value)


_SHORT = 12

FIELD_VIEW = TranscriptView(unit=_unit, result=_result)
"""How a page shows the records of a benchmark that does not say it for itself."""
