"""Signatures of scores: one line for one set of settings, and back."""

from dataclasses import fields, replace
from hashlib import sha256
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from attune_metrics import MetricInputError
from attune_metrics.signature import Signature, hash_records

FULL = Signature(
    attune="0.1", metric="composite_score", protocol="released", mode="with history", codebook="1", data="d41d8c",
    runs="0cc175", scores="92eb5f", filter="", n=200, clusters=120, excluded=0, unit="participant",
    draw="poisson", interval="percentile-expanded", level=0.95, boot=10000, seed=7,
)  # fmt: skip
# Any code point, lone surrogates too, and often what the format itself is made of.
texts = st.text(st.characters(exclude_categories=[]) | st.sampled_from("|:%+ 2C\n"), max_size=12)
counts = st.integers(0, 10**30)
levels = st.floats(0, 1, exclude_min=True, exclude_max=True)
KINDS = {
    "n": counts,
    "clusters": counts,
    "excluded": counts,
    "boot": counts,
    "exchanges": counts,
    "seed": counts,
    "level": levels,
}
signatures = st.builds(
    Signature,
    attune=texts,
    metric=texts,
    **{field.name: st.none() | KINDS.get(field.name, texts) for field in fields(Signature) if field.default is None},
)
quick = settings(deadline=None)


def test_the_line() -> None:
    assert str(FULL) == (
        "attune:0.1|metric:composite_score|protocol:released|mode:with%20history|codebook:1|data:d41d8c|runs:0cc175|"
        "scores:92eb5f|filter:|n:200|clusters:120|excluded:0|unit:participant|draw:poisson|interval:percentile-expanded|level:0.95|boot:10000|seed:7"
    )


def test_values_are_percent_encoded() -> None:
    # Of the characters of the format and of a text that is not ASCII (UTF-8 of é is C3 A9).
    assert str(Signature(attune="0", metric="a:b|c%+é ~_.-")) == "attune:0|metric:a%3Ab%7Cc%25%2B%C3%A9%20~_.-"


def test_absent_is_not_empty() -> None:
    line = str(replace(FULL, filter=None))
    assert "filter" not in line
    assert Signature.parse(line).filter is None
    assert Signature.parse(str(FULL)).filter == ""


@given(signatures)
@example(Signature(attune="", metric="", filter="|n:3", mode="%7C", data="\ud800", runs="\ud83d\ude00", codebook="😀"))
@quick
def test_reads_back(signature: Signature) -> None:
    line = str(signature)
    assert line.isascii()
    assert line.isprintable()
    assert " " not in line
    assert Signature.parse(line) == signature


@given(signatures, signatures)
@example(Signature(attune="1", metric="a|n:3"), Signature(attune="1", metric="a", n=3))
@example(Signature(attune="1", metric="a", filter=""), Signature(attune="1", metric="a"))
@quick
def test_different_settings_have_different_signatures(one: Signature, other: Signature) -> None:
    assert (str(one) == str(other)) == (one == other)


@given(st.sampled_from([field.name for field in fields(Signature)]), st.data())
@quick
def test_every_setting_counts(name: str, data: st.DataObject) -> None:
    value = data.draw(KINDS.get(name, texts))
    setting: dict[str, Any] = {name: value}
    changed = replace(FULL, **setting)
    assert (str(changed) == str(FULL)) == (value == getattr(FULL, name))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "'' is not name:value"),
        ("attune:0.1|metric", "'metric' is not name:value"),
        ("attune:0.1|metric:a|colour:red", "'colour:red' is not name:value; names: attune, benchmark, metric, "),
        ("attune:0.1|metric:a|n:1|n:2", "n is given twice"),
        ("attune:0.1|n:2", "has no metric; is it cut off?"),
        ("attune:0.1|metric:a|n:many", "n 'many' is not a whole number from 0"),
        ("attune:0.1|metric:a|n:-1", "n -1 is not a whole number from 0"),
        ("attune:0.1|metric:a|level:95", "level 95.0 is not a number between 0 and 1"),
        ("attune:0.1|metric:a|level:nan", "level nan is not a number between 0 and 1"),
        ("attune:0.1|metric:%FF", "metric '%FF' is not a text"),
        # What means a signature but is not how it is written.
        ("metric:a|attune:0.1", "not in its one form, which is 'attune:0.1|metric:a'"),
        ("attune:0.1|metric:%7c", "not in its one form, which is 'attune:0.1|metric:%7C'"),
        ("attune:0.1|metric:a b", "not in its one form, which is 'attune:0.1|metric:a%20b'"),
        ("attune:0.1|metric:a|n:1_0", "not in its one form"),
        ("attune:0.1|metric:a|level:0.950", "not in its one form"),
    ],
)
def test_what_is_no_signature(line: str, message: str) -> None:
    with pytest.raises(MetricInputError) as caught:
        Signature.parse(line)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "wrong",
    [
        {"n": 1.0},
        {"n": True},
        {"seed": -1},
        {"level": 1.0},
        {"level": 95},
        {"metric": None},
        {"mode": 3},
        {"boot": "9"},
    ],
)
def test_settings_of_the_wrong_kind(wrong: dict[str, Any]) -> None:
    [(name, value)] = wrong.items()
    with pytest.raises(MetricInputError, match=f"^signature {name} {value!r} is not "):
        replace(FULL, **wrong)


def test_a_numpy_level_is_written_as_a_number() -> None:
    assert str(replace(FULL, level=np.float64(0.95))) == str(FULL)


def test_hash_by_hand() -> None:
    # sha256 of the two digests in ascending order, first 32 digits.
    digests = sorted(sha256(record).digest() for record in (b'{"id":1}', b'{"id":2}'))
    assert hash_records(iter([b'{"id":2}', b'{"id":1}'])) == sha256(digests[0] + digests[1]).hexdigest()[:32]
    # The published SHA-256 of no bytes (FIPS 180-4 test vectors): no record at all.
    assert hash_records([]) == "e3b0c44298fc1c149afbf4c8996fb924"


@given(st.lists(st.binary(max_size=3), max_size=6), st.lists(st.binary(max_size=3), max_size=6))
@example([b"a", b"a"], [b"a"])
@example([b"a", b"a", b"b"], [b"a", b"b", b"b"])
@example([b"ab"], [b"a", b"b"])
@example([b""], [])
@quick
def test_hashes_are_those_of_multisets(one: list[bytes], other: list[bytes]) -> None:
    assert (hash_records(one) == hash_records(other)) == (sorted(one) == sorted(other))


@given(st.lists(st.binary(max_size=3), max_size=6), st.randoms())
@quick
def test_the_order_of_records_does_not_matter(records: list[bytes], random: Any) -> None:
    shuffled = list(records)
    random.shuffle(shuffled)
    assert hash_records(shuffled) == hash_records(records)


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([b"{}", "{}"], "record 1 is str, not bytes; encode it as UTF-8"),
        ("{}", "record 0 is str, not bytes; encode it as UTF-8"),
        (b"{}", "record 0 is int, not bytes"),
    ],
)
def test_records_that_are_no_bytes(records: Any, message: str) -> None:
    with pytest.raises(MetricInputError, match=message):
        hash_records(records)
