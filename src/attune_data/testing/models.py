"""Hypothesis strategies of JSON documents, from record models: what a model accepts, a strategy draws."""

import json
from collections.abc import Iterable, Mapping
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Le, MinLen
from hypothesis import strategies as st
from pydantic.fields import FieldInfo

from attune_data.io.documents import Document
from attune_data.kind import Kind
from attune_data.loading import load_records
from attune_data.reading import Reader
from attune_data.record import NullAs, Record

__all__ = ["Json", "accepted", "filled", "from_model", "texts"]

Json = dict[str, Any]

_MOST = 3

texts: st.SearchStrategy[str] = st.text(max_size=12)
"""Texts of any characters, which may be empty or blank."""

filled: st.SearchStrategy[str] = st.text(min_size=1, max_size=12).filter(lambda text: bool(text.strip()))
"""Texts that are not blank."""

jsons: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | texts,
    lambda inner: st.lists(inner, max_size=_MOST) | st.dictionaries(texts, inner, max_size=_MOST),
    max_leaves=4,
)
"""JSON values."""


def from_model(
    model: type[Record], fields: Mapping[str, st.SearchStrategy[Any]] | None = None
) -> st.SearchStrategy[Json]:
    """Return a strategy of JSON objects that a record model accepts, in the spelling of files.

    A key that the model does not need may be absent, and null where the model reads it as empty.

    Parameters
    ----------
    model : type
        A `Record`.
    fields : mapping, optional
        By the name of a field the strategy of its values, where the model alone would allow too much; the key is then
        always in the object.

    Examples
    --------
    >>> from attune_data.attunebench.parts import MoodShiftTag
    >>> from hypothesis import find
    >>> find(from_model(MoodShiftTag), lambda tag: tag.get("intensity", 0) == 7)
    {'emotion': '', 'intensity': 7}
    """
    given = fields or {}
    required: Json = {}
    optional: Json = {}
    for name, info in model.model_fields.items():
        key = info.alias or name
        if name in given:
            required[key] = given[name]
        elif info.is_required():
            required[key] = _values(info.annotation, info.metadata)
        else:
            optional[key] = _values(info.annotation, info.metadata)
    return st.fixed_dictionaries(required, optional=optional)


def accepted(kind: Kind[Any, Any]) -> st.SearchStrategy[Json]:
    """Return a strategy of the demonstration data's documents, with whatever else the model and the rules accept.

    Each field has a drawn value, or none, where loading has nothing to say about it; else it stays as it was.

    Examples
    --------
    >>> from attune_data.kinds import DIALOGUE
    >>> from hypothesis import find
    >>> find(accepted(DIALOGUE), lambda dialogue: dialogue["emo_point"] == 100)["emo_state"]
    'Emotion-S'
    """
    examples = [json.loads(record.to_json()) for record in load_records("demo", kind)]

    @st.composite
    def documents(draw: st.DrawFn) -> Json:
        document: Json = draw(st.sampled_from(examples))
        drawn = draw(from_model(kind.model))
        for key in {**document, **drawn}:
            others = {name: value for name, value in document.items() if name != key}
            changed = {**others, key: drawn[key]} if key in drawn else others
            document = changed if _loads(kind, changed) else document
        return document

    return documents()


def _loads(kind: Kind[Any, Any], document: Json) -> bool:
    """Tell whether a document is a record without an issue, and written as it was."""
    reader = Reader(kind)
    record = reader.read(Document("drawn", json.dumps(document).encode()))
    return record is not None and not [*reader.issues] and json.loads(record.to_json()) == document


def _values(annotation: Any, metadata: Iterable[Any] = ()) -> st.SearchStrategy[Any]:
    """Return the strategy of what an annotation accepts."""
    marks = [mark for item in metadata for mark in (item.metadata if isinstance(item, FieldInfo) else [item])]
    origin = get_origin(annotation)
    if origin is Annotated:
        inner, *more = get_args(annotation)
        return _values(inner, [*more, *marks])
    found = _of_type(annotation, origin, marks)
    return found | st.none() if any(isinstance(mark, NullAs) for mark in marks) else found


def _of_type(annotation: Any, origin: Any, marks: list[Any]) -> st.SearchStrategy[Any]:
    if origin in (Union, UnionType):
        return st.one_of(*(_values(kind, marks) for kind in get_args(annotation)))
    if origin is Literal:
        return st.sampled_from(get_args(annotation))
    if origin is tuple:
        return st.lists(_values(get_args(annotation)[0]), max_size=_MOST)
    if origin is dict:
        return st.dictionaries(texts, _values(get_args(annotation)[1]), max_size=_MOST)
    if annotation is NoneType:
        return st.none()
    if isinstance(annotation, type) and issubclass(annotation, Record):
        return from_model(annotation)
    low = next((mark.ge for mark in marks if isinstance(mark, Ge)), None)
    high = next((mark.le for mark in marks if isinstance(mark, Le)), None)
    if annotation is bool:
        return st.booleans()
    if annotation is int:
        return st.integers(low, high)  # type: ignore[arg-type]  # the bounds of an integer are integers
    if annotation is float:
        return st.floats(low, high, allow_nan=False, allow_infinity=False)  # type: ignore[arg-type]  # as above
    if annotation is str:
        least = next((mark.min_length for mark in marks if isinstance(mark, MinLen)), 0)
        return st.text(min_size=least, max_size=12)
    return jsons
