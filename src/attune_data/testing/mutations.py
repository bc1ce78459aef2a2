"""Documents that are broken in the ways that files are: values of other types, lost keys, damaged bytes."""

import json
import random
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["VALUES", "mutated", "places"]

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

_KEYS = (
    "",
    " ",
    "\ud800",
    "\u0000",
    "k" * 10_000,
    "constructor",
    "__proto__",
    "__class__",
    "id",
    "self",
    "model_extra",
)
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
