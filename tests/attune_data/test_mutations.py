"""10,000 broken copies of valid files: each loads or is an issue, and what loads can be written and read again.

Hypothesis gives the seeds (250 for conversations, 250 for runs, always the same ones); each seed makes 20 copies.
"""

import json
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from attune_data import Collection, LoadError, load, load_runs

Json = dict[str, Any]
Loader = Callable[..., Collection[Any]]
Mutation = Callable[[Json, random.Random], bytes]

SEEDS = 250
COPIES = 20
SECONDS = 45
SECONDS_OF_ONE = 2

# What a value is replaced by: JSON, or what some program wrote for it.
VALUES = (
    *("null", "true", "false", "0", "-1", "3", "8", "2.5", "-0.0", "1e3", "1e999", "-1e999", "1e-999"),
    *("NaN", "Infinity", "-Infinity", "1" + "0" * 400, "-1" + "0" * 400, "9" * 4000, "9" * 5000, "0." + "3" * 4000),
    *('""', '" "', '"\\t\\n"', '"3"', '"٣"', '" 6.5 "', '"1e999"', '"nan"', '"yes"', '"a"', '"None"', '"mild"'),
    *('"\\ud800"', '"\\udc00\\ud800"', '"\\ud83c\\udffa"', '"\\u0000"', '"\u2028"', f'"{"long " * 20_000}"'),
    *("[]", "[[]]", "[null]", '[""]', "{}", '{"": null}', '{"a": 1, "a": 2}', '{"questionId": 1}', '["yes", 3]'),
    *("[" * depth + "]" * depth for depth in (50, 190, 260, 500, 990, 100_000)),
    *('{"a":' * depth + "1" + "}" * depth for depth in (190, 500)),
    *("undefined", "'x'", "tru", "01", "+1", ".5", "/**/1", "\\", '"\x01"'),
)
KEYS = (
    *("", " ", "\ud800", "\u0000", "k" * 10_000, "constructor", "__proto__", "__class__", "id", "self", "model_extra"),
    *("conversationId", "conversation_id", "turns", "turnNumber", "turn_number", "userMessage", "user_message"),
    *("did_occur", "humanValue", "actualValue", "should_occur", "humanPreference", "llmValue", "alternate1"),
    *("alternate2", "response_1", "response_2", "Q1", "Q2", "Q3", "responses", "items", "Proud", "PROUD ", "proud"),
    *("emotion", "intensity", "em_model", "mode", "post_conversation", "predicted_post_panas", "winner"),
)
PIECES = (
    b'"',
    b",",
    b":",
    b"{",
    b"}",
    b"[",
    b"]",
    b"\\",
    b"\n",
    b"\0",
    b"\xff",
    b"\xed\xa0\x80",
    b"\xef\xbb\xbf",
    b"e9",
)


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every (container, key) below a JSON value."""
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield value, key
        yield from places(value[key])


def chosen(record: Json, rng: random.Random) -> tuple[Any, Any]:
    """Return a place in a record; one near the root is as likely as one in a list of many."""
    found = list(places(record))
    return rng.choice(found[:12] if rng.random() < 0.2 else found)


def replaced_value(record: Json, rng: random.Random) -> bytes:
    texts = [rng.choice(VALUES) for _ in range(rng.randint(1, 3))]
    for number, _ in enumerate(texts):
        container, key = chosen(record, rng)
        container[key] = f"@{number}@"
    written = json.dumps(record)
    for number, text in enumerate(texts):
        written = written.replace(f'"@{number}@"', text)
    return written.encode("utf-8", "surrogatepass")


def swapped_values(record: Json, rng: random.Random) -> bytes:
    (first, a), (second, b) = chosen(record, rng), chosen(record, rng)
    # A copy of one in the place of the other: swapping both could put a container into itself.
    first[a] = json.loads(json.dumps(second[b]))
    return json.dumps(record).encode()


def dropped_key(record: Json, rng: random.Random) -> bytes:
    for _ in range(rng.randint(1, 3)):
        container, key = chosen(record, rng)
        del container[key]
        if not record:
            break
    return json.dumps(record).encode()


def renamed_key(record: Json, rng: random.Random) -> bytes:
    objects = [record, *(c[k] for c, k in places(record) if isinstance(c[k], dict) and c[k])]
    container = rng.choice(objects)
    key = rng.choice(list(container))
    container[rng.choice(KEYS)] = container.pop(key) if rng.random() < 0.5 else container[key]
    return json.dumps(record).encode()


def repeated_key(record: Json, rng: random.Random) -> bytes:
    objects = [record, *(c[k] for c, k in places(record) if isinstance(c[k], dict) and c[k])]
    container = rng.choice(objects)
    key = rng.choice(list(container))
    container["@key@"] = "@value@"
    written = json.dumps(record).replace('"@key@"', json.dumps(key))
    return written.replace('"@value@"', rng.choice(VALUES)).encode("utf-8", "surrogatepass")


def broken_bytes(record: Json, rng: random.Random) -> bytes:
    data = bytearray(json.dumps(record).encode())
    for _ in range(rng.choice((1, 1, 2, 5))):
        place = rng.randrange(len(data))
        kind = rng.randrange(5)
        if kind == 0:
            data[place] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del data[place : place + rng.choice((1, 1, 3, 40))]
        elif kind == 2:
            data[place:place] = rng.choice(PIECES)
        elif kind == 3:
            data[place:place] = data[place : place + rng.randrange(60)]
        else:
            data[place] = rng.randrange(256)
    return bytes(data)


def cut_off(record: Json, rng: random.Random) -> bytes:
    data = json.dumps(record).encode()
    return data[: rng.randrange(len(data))] + rng.choice((b"", b"", b"\n", b"...", b"}", b'"}]}'))


def other_encoding(record: Json, rng: random.Random) -> bytes:
    container, key = chosen(record, rng)
    container[key] = "Größe \U0001f3fa\u2028"
    text = json.dumps(record, ensure_ascii=False)
    data = text.encode(rng.choice(("utf-8-sig", "utf-16", "utf-16-le", "utf-32", "latin-1", "cp037")), "replace")
    return data if rng.random() < 0.7 else data[: rng.randrange(len(data))]


def blank(record: Json, rng: random.Random) -> bytes:
    whole = json.dumps(record).encode()
    white = rng.choice((b" ", b"\n", b"\r\n", b"\t", b"\0", b"\xc2\xa0")) * rng.randrange(2000)
    return rng.choice((white, white + whole, whole + white, whole + white + whole))


MUTATIONS: tuple[Mutation, ...] = (
    *(replaced_value, replaced_value, replaced_value, broken_bytes, broken_bytes, swapped_values),
    *(dropped_key, renamed_key, repeated_key, cut_off, other_encoding, blank),
)


def check(data: bytes, loader: Loader, path: Path) -> bool:
    """Check what loading promises for any bytes at all; tell whether they loaded."""
    path.write_bytes(data)
    loaded = loader(path)
    errors = [issue for issue in loaded.found if issue.severity == "error"]
    assert bool(errors) is (len(loaded) == 0), errors
    assert loaded.issues.height == len(loaded.found)
    assert all(str(issue).encode() and issue.message and issue.consequence for issue in loaded.found)
    try:
        loader(path, on_error="raise")
        rejected = False
    except LoadError:
        rejected = True
    assert rejected or not errors
    assert not rejected or errors or any(issue.rule == "out-of-range" for issue in loaded.found)
    if not loaded:
        return False
    written = loaded[0].to_json()
    path.write_bytes(written)
    again = loader(path)
    assert again[0].to_json() == written
    assert {issue.rule for issue in again.found}.isdisjoint({"old-spelling", "two-spellings", "number-as-text"})
    return True


@pytest.mark.parametrize(("kind", "loader"), [("conversation", load), ("run", load_runs)])
def test_broken_files_load_or_are_reported(
    kind: str, loader: Loader, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    whole = json.dumps(request.getfixturevalue(kind))
    path = tmp_path / "mutant.json"
    tried: set[int] = set()
    outcomes: list[bool] = []
    slowest = 0.0

    @settings(max_examples=SEEDS, derandomize=True, database=None, deadline=None, phases=[Phase.generate])
    @given(seed=st.integers(0, 2**64 - 1))
    def attempt(seed: int) -> None:
        nonlocal slowest
        rng = random.Random(seed)
        for _ in range(COPIES):
            data = rng.choice(MUTATIONS)(json.loads(whole), rng)
            tried.add(hash(data))
            started = time.process_time()
            outcomes.append(check(data, loader, path))
            slowest = max(slowest, time.process_time() - started)

    started = time.process_time()
    attempt()
    assert time.process_time() - started < SECONDS
    assert slowest < SECONDS_OF_ONE
    assert len(outcomes) == SEEDS * COPIES
    assert len(tried) > 0.95 * len(outcomes)
    # Both ways out are taken often: a mutation that is never noticed, or always fatal, tests nothing.
    assert 0.2 < sum(outcomes) / len(outcomes) < 0.8
