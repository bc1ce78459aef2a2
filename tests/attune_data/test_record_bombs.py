"""Records of too many values, too deep or wrong in every value: bounded before they are parsed, issues counted."""

import gzip
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from archive_files import brief, ids, pack
from slow_cases import slow_after

from attune_data import IssueReport, LoadError, SourceError, load
from attune_data.attunebench.kinds import CONVERSATION
from attune_data.description import describe
from attune_data.io import documents
from attune_data.io.archives import _tar_contents
from attune_data.issues import Issue, count_severities
from attune_data.loading import parse_object

Json = dict[str, Any]
Record = Callable[[str], bytes]
Save = Callable[[Any, str], Path]

TOO_MANY = "it has more than 200,000 values, the limit of one record"
TOO_DEEP = "nested too deeply to be a record"


def _count(value: Any) -> int:
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(map(_count, items))


def _depth(value: Any) -> int:
    """Return how many lists and objects with something in them are within each other."""
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + max(map(_depth, items)) if items else 0


def _drawn(random_: random.Random, depth: int = 0) -> Any:
    """Return a JSON value with texts of what JSON itself is written with."""
    text = "".join(random_.choice('a",[]{}\\é😀∢ \n') for _ in range(random_.randrange(6)))
    if depth > 4 or random_.random() < 0.5:
        return random_.choice([1, None, 2.5, text])
    items = [_drawn(random_, depth + 1) for _ in range(random_.randrange(4))]
    return items if random_.random() < 0.5 else {f"{text}{number}": item for number, item in enumerate(items)}


def test_values_and_depth_are_counted_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    random_ = random.Random(1)
    for _ in range(150):
        value = {"a": _drawn(random_), "b": _drawn(random_)}
        text = json.dumps(value, ensure_ascii=random_.random() < 0.5, indent=random_.choice([None, 1]))
        for encoding in ("utf-8", "utf-8-sig", "utf-16", "utf-32-le"):
            data, count, depth = text.encode(encoding), _count(value), _depth(value)
            for limit in (count - 1, count):
                monkeypatch.setattr(documents, "VALUES_LIMIT", limit)
                assert documents.has_too_many_values(data) == (count > limit)
            monkeypatch.setattr(documents, "VALUES_LIMIT", 200_000)
            for limit in (depth - 1, depth):
                monkeypatch.setattr(documents, "DEPTH_LIMIT", limit)
                assert documents.is_nested_too_deeply(data) == (depth > limit)


@pytest.mark.parametrize("name", slow_after(2, ["a.json", "a.jsonl", "a.jsonl.gz", "a.zip", "a.tar.gz", "a.parquet"]))
def test_a_record_of_too_many_values_is_one_issue(name: str, record: Record, tmp_path: Path) -> None:
    # The record has the object, its id, its turns and the values of these.
    bomb = b'{"conversationId":"b","turns":[' + b"{}," * 199_997 + b"{}]}"
    path = tmp_path / name
    if path.suffix == ".parquet":
        pl.DataFrame({"record": [record("a"), bomb]}).write_parquet(path)
    elif path.suffix in (".zip", ".gz") and ".jsonl" not in name:
        pack(path, {"1.json": record("a"), "2.json": bomb})
    elif path.suffix == ".json":
        path.write_bytes(bomb)
    else:
        lines = record("a") + b"\n" + bomb
        path.write_bytes(gzip.compress(lines) if path.suffix == ".gz" else lines)
    loaded = load(path)
    assert ids(loaded) == ([] if name == "a.json" else ["a"])
    assert [(issue.rule, issue.message) for issue in loaded.found] == [("unreadable", TOO_MANY)]


@pytest.mark.slow
def test_a_record_of_as_many_values_as_it_may_have_is_read(record: Record, save: Save) -> None:
    whole = json.loads(record("a"))
    left = 200_000 - _count(whole) - 1
    for more, found in ((left, []), (left + 1, [("a.json", "unreadable", "error")])):
        loaded = load(save({**whole, "more": [1] * more}, "a.json"))
        assert brief(loaded.found) == found
        assert len(loaded) == (not found)


def _nested(levels: int, kind: str) -> bytes:
    """Return a record with so many lists or objects within each other, itself included."""
    inner = b"[" * (levels - 1) + b"1" + b"]" * (levels - 1)
    if kind == "object":
        inner = b'{"a":' * (levels - 1) + b"1" + b"}" * (levels - 1)
    return b'{"conversationId":"a","turns":[],"more":' + inner + b"}"


@pytest.mark.parametrize("name", ["a.json", "a.jsonl", "a.parquet"])
@pytest.mark.parametrize("kind", ["list", "object"])
@pytest.mark.parametrize("prefix", [b"", b"\xef\xbb\xbf"])  # With a mark pydantic reads nothing of it.
def test_nesting_is_bounded_alike_at_both_stages(name: str, kind: str, prefix: bytes, tmp_path: Path) -> None:
    path = tmp_path / name
    for levels in (150, *range(199, 257, 3), 200, 201, 1000, 99_000):
        data = prefix + _nested(levels, kind)
        if name == "a.parquet":
            pl.DataFrame({"record": [data]}).write_parquet(path)
        else:
            path.write_bytes(data)
        loaded = load(path)
        errors = [(issue.rule, issue.message) for issue in loaded.found if issue.severity == "error"]
        # Beyond 200,000 values depth does not matter.
        assert errors == ([("invalid-json", TOO_DEEP)] if levels > 200 else [])
        assert len(loaded) == (levels <= 200)
        if loaded:
            assert json.loads(loaded[0].to_json())["turns"] == []


def test_what_pydantic_reads_is_as_deep() -> None:
    for kind in ("list", "object"):
        CONVERSATION.model.model_validate_json(_nested(200, kind))
        with pytest.raises(ValueError, match="recursion limit"):
            CONVERSATION.model.model_validate_json(_nested(201, kind))
        parse_object(_nested(200, kind))
        with pytest.raises(ValueError, match=TOO_DEEP):
            parse_object(_nested(201, kind))


@pytest.mark.slow
def test_issues_of_one_rule_and_file_are_counted(record: Record, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(record("a") + b"\n" + b"{}\n" * 3500 + b"{\n" * 3)
    loaded = load(path)
    assert len(loaded.found) == 1000 + 3 + 1
    assert loaded.found[-1] == Issue(
        "a.jsonl", "$", "not-a-record", "error", "null", "2,500 more of the rule not-a-record in this file",
        "counted, not listed", 2500,
    )  # fmt: skip
    assert count_severities(loaded.found) == {"error": 3503}
    assert describe(loaded)["issues"]["error"] == 3503
    assert "3,503 errors" in repr(loaded)
    assert loaded.issues["count"].sum() == 3503
    # By hand: 3,500 of one rule and 3 of the other, all in one file.
    assert repr(IssueReport(loaded.found)).startswith("3,503 errors in 1 file\n")
    with pytest.raises(LoadError, match=r"^3,503 errors while loading:\n") as raised:
        load(path, on_error="raise")
    assert len(str(raised.value).splitlines()) == 1005


def test_a_record_wrong_in_every_value_has_as_many_issues(conversation: Json, save: Save) -> None:
    tags = [{"emotion": "Nervous", "intensity": "3"}] * 5000
    conversation["turns"][0]["moodShiftTags"] = tags
    loaded = load(save(conversation, "a.json"))
    notes = [issue for issue in loaded.found if issue.rule == "number-as-text"]
    assert len(notes) == 1001
    assert sum(issue.count for issue in notes) == 5000
    assert loaded[0].turns[0].mood_shift_tags[-1].intensity == 3


_PEAK = r"""
import sys
from attune_data import load
from memory import peak
try:
    found = load(sys.argv[1]).found
except ValueError as error:
    found = [error]
print(len(found), peak() // 2**20)
"""


def _peak(path: Path) -> int:
    """Return the MiB that loading takes at most, in a process of its own."""
    command = [sys.executable, "-c", _PEAK, str(path)]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1] / "helpers")}
    return int(subprocess.run(command, capture_output=True, check=True, text=True, env=environment).stdout.split()[1])


_TURN = b'{"conversationId":"a","turns":[{"turnNumber":"1","userMessage":"%s"}]}'
_IN_TURN = b'{"conversationId":"a","turns":[{"turnNumber":1,"annotations":{"%s":[%s1]}}]}'
_WRONG = b'{"questionId":"B1","observedBehavior":"zz"},'
SHAPES: dict[str, Callable[[], bytes]] = {
    "empty turns": lambda: b'{"turns":[' + b"{}," * 199_990 + b"{}]}",
    "null turns": lambda: b'{"conversationId":"a","turns":[' + b"null," * 199_990 + b"1]}",
    "wrong words": lambda: _IN_TURN % (b"binaryJudgements", _WRONG * 66_000),
    "no comparisons": lambda: _IN_TURN % (b"pairwiseComparisons", b'{"a":{"b":{}}},' * 66_000),
    "one emoji": lambda: _TURN % ("😀".encode() + b"a" * 60 * 2**20),
    "one emoji that is no record": lambda: '"😀'.encode() + b"a" * 60 * 2**20 + b'"',
    "bytes that are no text": lambda: _TURN % ("😀".encode() + b"\xff" * 60 * 2**20),
    "UTF-16": lambda: (_TURN % ("😀".encode() + b"a" * 30 * 2**20)).decode().encode("utf-16"),
    "half a pair": lambda: _TURN % (b"\\ud83d" + b"a" * 60 * 2**20),
}


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_a_record_takes_twelve_times_its_size_at_most(shape: str, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(SHAPES[shape]())
    assert _peak(path) <= 12 * path.stat().st_size / 2**20 + 150


@pytest.mark.slow
def test_lines_of_nothing_take_no_memory(tmp_path: Path) -> None:
    peaks = []
    for lines in (1, 400_000):
        (tmp_path / "a.jsonl").write_bytes(b"{}\n" * lines)
        peaks.append(_peak(tmp_path / "a.jsonl"))
    assert peaks[1] - peaks[0] < 50


@pytest.mark.slow
def test_blanks_before_a_member_are_not_kept(record: Record, tmp_path: Path) -> None:
    pack(tmp_path / "a.tar.gz", {"z.jsonl": b" " * 600 * 2**20, "a.jsonl": record("a")})
    assert (tmp_path / "a.tar.gz").stat().st_size < 2**20
    assert _peak(tmp_path / "a.tar.gz") < 250


def test_a_tar_out_of_order_is_read_again(record: Record, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    passes: list[int] = []

    def counted(path: Path, last: int) -> Any:
        passes.append(1)
        return _tar_contents(path, last)

    monkeypatch.setattr("attune_data.io.archives._tar_contents", counted)
    names = [f"{number:02}" for number in range(20)]
    size = len(record("00"))
    for kept, order, expected in (
        (100 * size, names, 1),
        (0, names, 1),  # In name order nothing is kept, and it is read once.
        (100 * size, names[::-1], 1),
        (5 * size, names[::-1], 4),
        (0, names[::-1], 20),
    ):
        monkeypatch.setattr(documents, "KEPT_LIMIT", kept)
        pack(tmp_path / "a.tar.gz", {f"{name}.json": record(name) for name in order})
        passes.clear()
        loaded = load(tmp_path / "a.tar.gz")
        assert ids(loaded) == names
        assert brief(loaded.found) == []
        assert len(passes) == expected


def test_a_tar_that_changes_while_it_is_read_is_one_issue(
    record: Record, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pack(tmp_path / "a.tar.gz", {f"{name}.json": record(name) for name in "abc"})
    monkeypatch.setattr("attune_data.io.archives._tar_contents", lambda path, last: [*_tar_contents(path, last)][:0])
    (issue,) = load(tmp_path / "a.tar.gz").found
    assert issue.message == "the archive has changed since its members were listed"


def test_parquet_too_large_to_be_kept_is_one_issue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "KEPT_LIMIT", 2**20)
    for name in ("a.zip", "a.tar.gz"):
        pack(tmp_path / name, {"a.parquet": bytes(2**21)})
        (issue,) = load(tmp_path / name).found
        assert issue.message.endswith(
            "Parquet of more than 1,048,576 bytes in an archive; unpack it and load the folder"
        )


@pytest.mark.parametrize("name", ["a\x1b[2Jb\n.json", "a\x9b31m\u202e.json"])
def test_names_cannot_drive_a_terminal(name: str, tmp_path: Path) -> None:
    pack(tmp_path / "a.zip", {name: b"{"})
    with pytest.raises(LoadError) as raised:
        load(tmp_path / "a.zip", on_error="raise")
    lines = str(raised.value).split("\n")
    assert len(lines) == 2
    assert all(line.isprintable() for line in lines)
    with pytest.raises(SourceError) as missing:
        load(tmp_path / name)
    assert str(missing.value).isprintable()
    (tmp_path / "b.json").write_text(json.dumps({"conversationId": 1, "turns": "\x9b31m\u202e"}, ensure_ascii=False))
    assert all(str(issue).isprintable() for issue in load(tmp_path / "b.json").found)
