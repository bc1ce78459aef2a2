"""The second stage of loading as a record's model says it: what its fields accept, read from what files have instead.

A choice is read in any letter case, a number from the text that is its writing, a text from a number, a list from its
only item. A number outside its range costs the record.
"""

from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Le
from pydantic.fields import FieldInfo

from attune_data.fixes import Fix, closed, each, keep, number, record, scored, text, texts, values
from attune_data.record import LARGEST, Record

__all__ = ["fix_of"]


def fix_of(model: type[Record]) -> Fix:
    """Return the fix of the documents of a model.

    Examples
    --------
    >>> from attune_data.fixes import Findings
    >>> class Note(Record):
    ...     id: str
    ...     tone: Literal["kind", "harsh"]
    >>> fix_of(Note)({"id": 3, "tone": "Kind"}, "$", Findings("notes.jsonl"))
    {'id': '3', 'tone': 'kind'}
    """
    fields = model.model_fields
    return record({info.alias or name: _fix(info.annotation, info.metadata) for name, info in fields.items()})


def _fix(annotation: Any, metadata: Any = ()) -> Fix:
    marks = [mark for item in metadata for mark in (item.metadata if isinstance(item, FieldInfo) else [item])]
    if get_origin(annotation) is Annotated:
        inner, *more = get_args(annotation)
        return _fix(inner, [*more, *marks])
    if get_origin(annotation) in (Union, UnionType):
        kinds = [kind for kind in get_args(annotation) if kind is not NoneType]
        if {get_args(kind)[0] if get_origin(kind) is Annotated else kind for kind in kinds} == {int, float}:
            return number(whole=False)
        return _fix(kinds[0], marks) if len(kinds) == 1 else keep
    return _of_type(annotation, marks)


def _of_type(annotation: Any, marks: list[Any]) -> Fix:
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        # Where letter case alone tells two choices apart, each is read as it is written.
        accepted = {choice.lower(): choice for choice in inner if isinstance(choice, str)}
        return closed(accepted, " or ".join(inner)) if len(accepted) == len(inner) else keep
    if origin is tuple:
        return texts if inner[0] is str else each(_fix(inner[0]), needed=True)
    if origin is dict:
        return values(_fix(inner[1]))
    if isinstance(annotation, type) and issubclass(annotation, Record):
        return fix_of(annotation)
    if annotation in (int, float):
        low: Any = next((mark.ge for mark in marks if isinstance(mark, Ge)), None)
        high: Any = next((mark.le for mark in marks if isinstance(mark, Le)), None)
        is_bounded = annotation is int and None not in (low, high) and high != LARGEST
        return scored(low, high) if is_bounded else number(whole=annotation is int)
    return text if annotation is str else keep
