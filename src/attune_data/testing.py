"""Records for tests: documents that a property-based test draws, and the ways in which a file can be broken.

The module needs hypothesis: ``pip install 'attune-bench[testing]'``. The strategies are built on the record models, so
that they know every field that the library knows.
"""

# ruff: noqa: E402 - a missing extra is named before its modules are imported

import json
import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from annotated_types import Ge, Le, MinLen
from pydantic.fields import FieldInfo

from attune_data.collection import Kind
from attune_data.io.documents import Document
from attune_data.loading import Reader, load_records
from attune_data.record import NullAs, Record
from attune_data.references import require, resolve

require("hypothesis", "testing")

from hypothesis import strategies as st

Json = dict[str, Any]
Mutation = Callable[[Json, random.Random], bytes]

VALUES = (
    *("null", "true", "false", "0", "-1", "3", "8", "41", "2.5", "-0.0", "1e3", "1e300", "1e999", "-1e999", "1e-999"),
    *("NaN", "Infinity", "-Infinity", "1" + "0" * 400, "-1" + "0" * 400, "9" * 4000, "9" * 5000, "0." + "3" * 4000),
    *('""', '" "', '"\\t\\n"', '"3"', '"41"', '"\u0663"', '" 6.5 "', '"1e999"', '"nan"', '"yes"', '"a"', '"None"'),
    *('"mild"', '"\\ud800"', '"\\udc00\\ud800"', '"\\ud83c\\udffa"', '"\\u0000"', '"\u2028"', f'"{"long " * 20_000}"'),
    *("[]", "[[]]", "[null]", '[""]', '["a"]', "{}", '{"": null}', '{"a": 1, "a": 2}', '{"questionId": 1}'),
    *('["yes", 3]', '[{"role": "user"}]', '{"row": {}}'),
    *("[" * depth + "]" * depth for depth in (50, 190, 260, 500, 990, 100_000)),
    *('{"a":' * depth + "1" + "}" * depth for depth in (190, 500)),
    *("undefined", "'x'", "tru", "01", "+1", ".5", "/**/1", "\\", '"\x01"'),
)
"""What a value is replaced by: JSON text, or what some program wrote in its place."""

_KEYS = ("", " ", "\ud800", "\u0000", "k" * 10_000, *"constructor __proto__ __class__ id self model_extra".split())
_PIECES = (
    *(b'"', b",", b":", b"{", b"}", b"[", b"]", b"\\", b"\n", b"\0", b"e9"),
    *(b"\xff", b"\xed\xa0\x80", b"\xef\xbb\xbf"),
)


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every place below a JSON value, as the container and the key or position in it.

    Examples
    --------
    >>> [key for _, key in places({"a": [1], "b": 2})]
    ['a', 0, 'b']
    """
    for key in list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield value, key
        yield from places(value[key])


def mutated(document: Json, rng: random.Random) -> bytes:
    """Return a document with something wrong with it, as bytes that may be no JSON at all.

    Values are replaced, swapped, dropped, repeated or renamed, bytes are changed, the end is cut off, the encoding is
    another. By chance it may still be a good document.

    Parameters
    ----------
    document : dict
        A JSON object; it is changed.
    rng : random.Random
        The same state gives the same bytes.

    Examples
    --------
    >>> mutated({"a": 1, "b": [2]}, random.Random(1))
    b'{"a": NaN, "b": "yes"}'
    """
    return rng.choice(_MUTATIONS)(document, rng)


def _chosen(document: Json, rng: random.Random) -> tuple[Any, Any]:
    """Return a place in a document; one near the root is as likely as one in a list of many."""
    found = list(places(document))
    return rng.choice(found[:12] if rng.random() < 0.2 else found)


def _objects(document: Json) -> list[Json]:
    """Return the objects of a document that have a key."""
    inside = (container[key] for container, key in places(document))
    return [document, *(value for value in inside if isinstance(value, dict) and value)]


def _with_text(document: Json, texts: list[str]) -> bytes:
    """Return a document in which ``@0@``, ``@1@``, ... are replaced by texts that need not be JSON."""
    written = json.dumps(document)
    for number, text in enumerate(texts):
        written = written.replace(f'"@{number}@"', text)
    return written.encode("utf-8", "surrogatepass")


def _replaced_value(document: Json, rng: random.Random) -> bytes:
    texts = [rng.choice(VALUES) for _ in range(rng.randint(1, 3))]
    for number, _ in enumerate(texts):
        container, key = _chosen(document, rng)
        container[key] = f"@{number}@"
    return _with_text(document, texts)


def _swapped_values(document: Json, rng: random.Random) -> bytes:
    (first, a), (second, b) = _chosen(document, rng), _chosen(document, rng)
    # A copy of one in the place of the other: swapping both could put a container into itself.
    first[a] = json.loads(json.dumps(second[b]))
    return json.dumps(document).encode()


def _dropped_key(document: Json, rng: random.Random) -> bytes:
    for _ in range(rng.randint(1, 3)):
        container, key = _chosen(document, rng)
        del container[key]
        if not document:
            break
    return json.dumps(document).encode()


def _renamed_key(document: Json, rng: random.Random) -> bytes:
    names = [*_KEYS, *{key for found in _objects(document) for key in found}]
    container = rng.choice(_objects(document))
    key = rng.choice(list(container))
    container[rng.choice(sorted(names))] = container.pop(key) if rng.random() < 0.5 else container[key]
    return json.dumps(document).encode()


def _repeated_key(document: Json, rng: random.Random) -> bytes:
    container = rng.choice(_objects(document))
    key = rng.choice(list(container))
    container["@key@"] = "@0@"
    text = rng.choice(VALUES)
    return _with_text(document, [text]).replace(b'"@key@"', json.dumps(key).encode())


def _broken_bytes(document: Json, rng: random.Random) -> bytes:
    data = bytearray(json.dumps(document).encode())
    for _ in range(rng.choice((1, 1, 2, 5))):
        place = rng.randrange(len(data))
        kind = rng.randrange(5)
        if kind == 0:
            data[place] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del data[place : place + rng.choice((1, 1, 3, 40))]
        elif kind == 2:
            data[place:place] = rng.choice(_PIECES)
        elif kind == 3:
            data[place:place] = data[place : place + rng.randrange(60)]
        else:
            data[place] = rng.randrange(256)
    return bytes(data)


def _cut_off(document: Json, rng: random.Random) -> bytes:
    data = json.dumps(document).encode()
    return data[: rng.randrange(len(data))] + rng.choice((b"", b"", b"\n", b"...", b"}", b'"}]}'))


def _other_encoding(document: Json, rng: random.Random) -> bytes:
    container, key = _chosen(document, rng)
    container[key] = "Gr\u00f6\u00dfe \U0001f3fa\u2028"
    text = json.dumps(document, ensure_ascii=False)
    data = text.encode(rng.choice(("utf-8-sig", "utf-16", "utf-16-le", "utf-32", "latin-1", "cp037")), "replace")
    return data if rng.random() < 0.7 else data[: rng.randrange(len(data))]


def _blank(document: Json, rng: random.Random) -> bytes:
    whole = json.dumps(document).encode()
    white = rng.choice((b" ", b"\n", b"\r\n", b"\t", b"\0", b"\xc2\xa0")) * rng.randrange(2000)
    return rng.choice((white, white + whole, whole + white, whole + white + whole))


_MUTATIONS: tuple[Mutation, ...] = (
    *(_replaced_value, _replaced_value, _replaced_value, _broken_bytes, _broken_bytes, _swapped_values),
    *(_dropped_key, _renamed_key, _repeated_key, _cut_off, _other_encoding, _blank),
)


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
    >>> from attune_data.attunebench.records import MoodShiftTag
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


R = TypeVar("R", bound=Record)


def documents(kind: Kind[Any, Any]) -> st.SearchStrategy[Json]:
    """Return a strategy of JSON objects of a kind, in current spelling, that load without an issue.

    Parameters
    ----------
    kind : Kind
        One of `attune_data.kinds.KINDS`, or one of your own. Without a strategy of its own,
        documents of its demonstration data are changed in ways that its model and rules accept; without such data, any
        document that its model accepts is drawn.

    Examples
    --------
    >>> from hypothesis import given, settings
    >>> from attune_data.kinds import EPISODE
    >>> @settings(max_examples=5)
    ... @given(documents(EPISODE))
    ... def test_anger_is_in_its_range(document):
    ...     assert 0 <= document["final_anger"] <= 100
    >>> test_anger_is_in_its_range()
    """
    if kind.documents is not None:
        drawn: st.SearchStrategy[Json] = resolve(kind.documents)()
        return drawn
    return from_model(kind.model) if kind.demo is None else accepted(kind)


def records(kind: Kind[R, Any]) -> st.SearchStrategy[R]:
    """Return a strategy of records of a kind that load without an issue; `documents` says more.

    Examples
    --------
    >>> from hypothesis import given, settings
    >>> from attune_data.kinds import SCENARIO
    >>> @settings(max_examples=5)
    ... @given(records(SCENARIO))
    ... def test_a_scenario_has_a_scene(scenario):
    ...     assert scenario.scene in ("support", "defense", "repair", "charm")
    >>> test_a_scenario_has_a_scene()
    """
    return documents(kind).map(lambda document: _record(kind, document))


def _record(kind: Kind[R, Any], document: Json) -> R:
    return kind.model.model_validate_json(json.dumps(document), by_alias=True, by_name=False)


def broken(kind: Kind[Any, Any]) -> st.SearchStrategy[bytes]:
    """Return a strategy of bytes in the place of a document of a kind, with something wrong with them.

    Values are of another type or size, keys are lost, repeated or renamed, bytes are damaged, the end is cut off, the
    encoding is another; `mutated` does it. About half load all the same, most of them with issues.

    Examples
    --------
    >>> from hypothesis import given, settings
    >>> from attune_data.kinds import DIALOGUE
    >>> @settings(max_examples=5)
    ... @given(broken(DIALOGUE))
    ... def test_what_is_written_in_its_place_are_bytes(data):
    ...     assert isinstance(data, bytes)
    >>> test_what_is_written_in_its_place_are_bytes()
    """
    return st.builds(
        lambda document, seed: mutated(document, random.Random(seed)),  # noqa: S311  # test data, nothing to guess
        documents(kind).map(json.dumps).map(json.loads),
        st.integers(0, 2**32),
    )
