"""Parquet and Arrow: records out and in lose nothing, tables keep their types, odd and damaged files are reported."""

import json
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from archive_files import both_loaders, brief, ids, pack
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from attune_data import Conversation, Conversations, SourceError, load, load_runs, load_tables
from attune_data.attunebench.tables import TABLES
from attune_data.export import parquet_bytes
from attune_data.io.documents import write_whole

Json = dict[str, Any]
Save = Callable[[Any, str], Path]
Loader = Callable[..., Any]
Record = Callable[[str], bytes]

VECTORS = Path(__file__).parents[1] / "golden" / "vectors"
FILES = sorted(f"{name}.parquet" for name in (*TABLES, "records"))


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def rows(path: Path, records: list[bytes | str | None]) -> Path:
    """Write a Parquet file with these rows of records, by pyarrow, in groups of two rows."""
    import pyarrow as pa  # type: ignore[import-untyped]
    import pyarrow.parquet as pq  # type: ignore[import-untyped]

    texts = [record.decode() if isinstance(record, bytes) else record for record in records]
    pq.write_table(pa.table({"record": pa.array(texts, pa.string())}), path, row_group_size=2)
    return path


# Records, out and in.


@pytest.mark.parametrize("name", ["plain", "odd", "old"])
@pytest.mark.parametrize(("part", "loader"), [("data", load), ("runs", load_runs)], ids=["data", "runs"])
def test_golden_records_come_back_equal(name: str, part: str, loader: Loader, tmp_path: Path) -> None:
    loaded = loader(VECTORS / name / part)
    loaded.to_parquet(tmp_path / "out")
    again = loader(tmp_path / "out")
    assert len(again) >= 10
    assert list(again) == list(loaded)
    assert [record.to_json() for record in again] == [record.to_json() for record in loaded]
    assert list(again.files.values()) == [f"records.parquet:{row}" for row in range(1, len(again) + 1)]


ODD_TEXTS = ("\u2028", "\u2029", "\x85", "\n", "\r", "\x00", "\U0001f3fa", "", '"', "\\ud83c")
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8")) | st.sampled_from(ODD_TEXTS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


def places(value: Any) -> list[tuple[Json, str]]:
    """Return every (object, key) of a record."""
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    own = [(value, key) for key in value] if isinstance(value, dict) else []
    return own + [place for item in inside for place in places(item)]


@pytest.mark.parametrize(
    ("kind", "loader"), [pytest.param("conversation", load, marks=pytest.mark.slow), ("run", load_runs)]
)
def test_nulls_absent_keys_and_unknown_keys_come_back(
    kind: str, loader: Loader, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    whole = json.dumps(request.getfixturevalue(kind))
    kept: list[bool] = []

    @settings(max_examples=25, derandomize=True, database=None, deadline=None, phases=[Phase.generate])
    @given(seed=st.integers(0, 2**32), unknown=st.dictionaries(st.text(max_size=9), VALUES, max_size=3))
    def attempt(seed: int, unknown: Json) -> None:
        record, rng = json.loads(whole), random.Random(seed)
        for container, key in rng.sample(places(record), 2):
            change = rng.randrange(3)
            if change == 0:
                container[key] = None
            elif change == 1:
                container.pop(key, None)
            else:
                container.update({f"x-{name}": value for name, value in unknown.items()})
        folder = tmp_path / str(len(kept))
        (tmp_path / "in.json").write_text(json.dumps(record))
        loaded = loader(tmp_path / "in.json")
        loaded.to_parquet(folder)
        again = loader(folder)
        assert [item.to_json() for item in again] == [item.to_json() for item in loaded]
        assert list(again) == list(loaded)
        written = pl.read_parquet(folder / "records.parquet")
        assert [json.loads(text) for text in written["record"]] == [json.loads(item.to_json()) for item in loaded]
        kept.append(len(loaded) == 1 and loaded.found == () and json.loads(written["record"][0]) == record)

    attempt()
    assert sum(kept) > 6  # Many load without an issue and are written exactly as they were.


def test_runs_write_their_records(tmp_path: Path) -> None:
    runs = load_runs("demo")
    runs.to_parquet(tmp_path / "out")
    assert list(load_runs(tmp_path / "out")) == list(runs)
    assert list(runs.to_arrow()) == ["records", "runs"]


def test_columns_of_the_records(conversation: Json, save: Save, tmp_path: Path) -> None:
    conversation["odd"] = {"big": 10**40, "half": "\\ud83c", "line": "\u2028"}
    save(conversation, "in/conversation_7.json")
    loaded = load(tmp_path / "in") | Conversations([Conversation(conversation_id="made")])
    loaded.to_parquet(tmp_path / "out")
    frame = pl.read_parquet(tmp_path / "out" / "records.parquet")
    assert dict(frame.schema) == {"id": pl.String, "file": pl.String, "record": pl.String}
    assert frame["id"].to_list() == [conversation["conversationId"], "made"]
    assert frame["file"].to_list() == ["conversation_7.json", None]
    assert [json.loads(text) for text in frame["record"]] == [conversation, {"conversationId": "made"}]


@pytest.mark.slow
def test_order_and_every_row_beyond_one_piece(record: Record, save: Save, tmp_path: Path) -> None:
    order = [str(number * 7919 % 600) for number in range(600)]
    save(b"\n".join(map(record, order)), "in.jsonl")
    load(tmp_path / "in.jsonl").to_parquet(tmp_path / "out")
    for source in (tmp_path / "out", tmp_path / "out" / "records.parquet"):
        assert ids(load(source)) == ids(load_tables(source)) == order


def test_empty_collection_comes_back_empty(tmp_path: Path) -> None:
    load("demo")[:0].to_parquet(tmp_path / "out")
    again = load(tmp_path / "out")
    assert (len(again), again.found) == (0, ())
    assert names(tmp_path / "out") == FILES


# Tables.


@pytest.mark.parametrize("chunk", [7, 1000])
def test_tables_come_back_with_their_types_and_equal_tables_give_equal_bytes(chunk: int, tmp_path: Path) -> None:
    demo = load("demo")
    demo.to_parquet(tmp_path / "records")
    load_tables("demo", chunk=chunk).to_parquet(tmp_path / "tables")
    assert names(tmp_path / "records") == FILES
    assert names(tmp_path / "tables") == sorted(f"{name}.parquet" for name in TABLES)
    for name in TABLES:
        written = tmp_path / "tables" / f"{name}.parquet"
        assert_frame_equal(pl.read_parquet(written), getattr(demo.tables, name))
        assert written.read_bytes() == (tmp_path / "records" / f"{name}.parquet").read_bytes()


@pytest.mark.slow
def test_pieces_of_a_long_table_do_not_show_in_its_bytes() -> None:
    numbers = range(200_000)
    texts = [f"text {number * 7919 % 1000}" for number in numbers]
    whole = pl.DataFrame({"text": texts, "list": [[str(number % 5)] * (number % 3) for number in numbers]})
    pieces = pl.concat([whole[start : start + 30_000] for start in range(0, 200_000, 30_000)], rechunk=False)
    assert pieces.n_chunks() == 7
    assert parquet_bytes(pieces) == parquet_bytes(whole)


@pytest.mark.slow
def test_another_process_writes_equal_bytes(tmp_path: Path) -> None:
    load("demo").to_parquet(tmp_path / "here")
    code = "import sys; from attune_data import load; load('demo').to_parquet(sys.argv[1])"
    environment = {"POLARS_MAX_THREADS": "1", "LC_ALL": "C"}
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "there")], check=True, env=environment)
    assert [(tmp_path / "there" / name).read_bytes() for name in FILES] == [
        (tmp_path / "here" / name).read_bytes() for name in FILES
    ]


def test_a_subgroup_writes_itself_only(tmp_path: Path) -> None:
    part = load("demo").where(diagnosis="ADHD")
    part.to_parquet(tmp_path / "out")
    assert ids(load(tmp_path / "out")) == ids(part)
    assert_frame_equal(pl.read_parquet(tmp_path / "out" / "binary.parquet"), part.tables.binary)


def test_arrow_holds_what_the_frames_hold() -> None:
    demo = load("demo")
    tables = demo.to_arrow()
    assert list(tables) == ["records", *TABLES]
    assert list(demo.tables.to_arrow()) == list(TABLES)
    for name in TABLES:
        assert tables[name].to_pylist() == getattr(demo.tables, name).to_dicts()
    assert [json.loads(text) for text in tables["records"]["record"].to_pylist()] == [
        json.loads(record.to_json()) for record in demo
    ]


def test_arrow_without_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"pyarrow is not installed.*pip install 'attune-bench\[datasets\]'"):
        load("demo").to_arrow()


@pytest.mark.slow
def test_parquet_needs_no_extra(tmp_path: Path) -> None:
    code = "import sys; sys.modules['pyarrow'] = None; from attune_data import load; "
    write = "load('demo').to_parquet(sys.argv[1])"
    subprocess.run([sys.executable, "-c", code + write, str(tmp_path / "out")], check=True)
    assert len(load(tmp_path / "out")) == 40


# Where it is written.


def test_what_is_there_is_never_overwritten(tmp_path: Path) -> None:
    demo = load("demo")[:2]
    (tmp_path / "file").write_text("kept")
    demo.to_parquet(tmp_path / "folder")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    for name in ("file", "folder"):
        with pytest.raises(FileExistsError, match=rf"{name} exists and is not an empty folder; remove it"):
            load("demo").to_parquet(tmp_path / name)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_an_empty_folder_is_filled_and_a_missing_parent_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    load("demo").to_parquet(str(tmp_path / "out"))
    assert names(tmp_path / "out") == FILES
    with pytest.raises(FileNotFoundError, match="none"):
        load("demo").to_parquet(tmp_path / "none" / "out")
    assert names(tmp_path) == ["out"]


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_failure_leaves_nothing(error: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(path: Path, parts: Any) -> None:
        if path.name == "pairwise.parquet":
            assert (path.parent / "records.parquet").stat().st_size > 0
            raise error
        write_whole(path, parts)

    monkeypatch.setattr("attune_data.export.write_whole", failing)
    with pytest.raises(type(error)):
        load("demo").to_parquet(tmp_path / "out")
    assert names(tmp_path) == []


def test_permissions_are_the_usual_ones(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "file").touch()
    load("demo").to_parquet(tmp_path / "out")
    assert (tmp_path / "out").stat().st_mode == (tmp_path / "plain").stat().st_mode
    assert (tmp_path / "out" / "turns.parquet").stat().st_mode == (tmp_path / "plain" / "file").stat().st_mode


# Parquet as a source.


@both_loaders
def test_issues_name_the_row(loader: Loader, record: Record, tmp_path: Path) -> None:
    path = rows(tmp_path / "x.parquet", [record("a"), "{", None, record("b"), "[]", record("a")])
    loaded = loader(path)
    assert ids(loaded) == ["a", "b"]
    assert [(file, rule) for file, rule, _ in brief(loaded.found)] == [
        ("x.parquet:2", "invalid-json"),
        ("x.parquet:3", "unreadable"),
        ("x.parquet:5", "not-a-record"),
        ("x.parquet:6", "duplicate-conversation"),
    ]
    assert loaded.found[1].message == "the record is null; expected its JSON"


def test_a_folder_reads_json_then_lines_then_records_then_other_parquet(record: Record, tmp_path: Path) -> None:
    def notes() -> list[str]:
        return [issue.message for issue in load(tmp_path).found]

    rows(tmp_path / "b.parquet", [record("b")])
    rows(tmp_path / "a.parquet", [record("a")])
    assert ids(load(tmp_path)) == ["a", "b"]
    load("demo")[:2].to_parquet(tmp_path / "sub")
    assert ids(load(tmp_path)) == ids(load("demo")[:2])
    assert notes() == ["2 files are not read here: a.parquet, b.parquet"]
    (tmp_path / "c.jsonl").write_bytes(record("c"))
    assert ids(load(tmp_path)) == ["c"]
    (tmp_path / "d.json").write_bytes(record("d"))
    assert ids(load(tmp_path)) == ["d"]
    assert len(notes()) == 1


@pytest.mark.parametrize("name", ["a.zip", "a.tar.gz"])
def test_a_packed_folder_reads_as_the_folder(name: str, tmp_path: Path) -> None:
    demo = load("demo")
    demo.to_parquet(tmp_path / "out")
    packed = load(pack(tmp_path / name, {f"x/{file}": (tmp_path / "out" / file).read_bytes() for file in FILES}))
    assert packed.found == ()
    assert list(packed) == list(demo)
    assert packed.files[demo[0].id] == "x/records.parquet:1"


def test_a_table_is_not_records(tmp_path: Path) -> None:
    load("demo").tables.to_parquet(tmp_path / "out")
    (issue,) = load(tmp_path / "out" / "mood_tags.parquet").found
    assert (issue.file, issue.rule, issue.severity) == ("mood_tags.parquet", "unreadable", "error")
    assert "no column 'record'" in issue.message
    assert "only conversation_id, turn_number, emotion, intensity; is it one of the tables" in issue.message
    assert [issue.file for issue in load(tmp_path / "out").found] == [f"{name}.parquet" for name in sorted(TABLES)]


def test_a_record_that_is_no_text(tmp_path: Path) -> None:
    pl.DataFrame({"record": [1, 2]}).write_parquet(tmp_path / "x.parquet")
    (issue,) = load(tmp_path / "x.parquet").found
    assert issue.message.endswith("its column 'record' is Int64; expected text, a record's JSON a row")


@pytest.mark.parametrize("content", [b"", b"PAR1", b"nonsense" * 100, b"PAR1" + bytes(90) + b"PAR1"])
def test_what_is_no_parquet_is_one_issue(content: bytes, save: Save) -> None:
    (issue,) = load(save(content, "x.parquet")).found
    assert (issue.file, issue.rule) == ("x.parquet", "unreadable")
    assert "not whole Parquet" in issue.message


def test_a_cut_off_file_gives_no_record(record: Record, tmp_path: Path) -> None:
    whole = rows(tmp_path / "x.parquet", [record(str(number)) for number in range(9)]).read_bytes()
    for end in range(0, len(whole), 1 + len(whole) // 40):
        (tmp_path / "x.parquet").write_bytes(whole[:end])
        loaded = load(tmp_path / "x.parquet")
        assert len(loaded) == 0
        assert brief(loaded.found) == [("x.parquet", "unreadable", "error")]


@pytest.mark.slow
def test_damage_in_the_middle_costs_what_follows(record: Record, tmp_path: Path) -> None:
    load_lines = b"\n".join(record(str(number)) for number in range(600))
    (tmp_path / "in.jsonl").write_bytes(load_lines)
    load(tmp_path / "in.jsonl").to_parquet(tmp_path / "out")
    path = tmp_path / "out" / "records.parquet"
    data = bytearray(path.read_bytes())
    place = data.rindex(b"\x28\xb5\x2f\xfd")  # where the last compressed page begins
    data[place : place + 4] = bytes(4)
    path.write_bytes(data)
    loaded = load(path)
    assert ids(loaded) == [str(number) for number in range(len(loaded))]
    assert len(loaded) == 512
    (issue,) = loaded.found
    assert "not whole Parquet beyond row 512" in issue.message


def test_limits_hold(record: Record, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = rows(tmp_path / "x.parquet", [record("a"), record("b") + b" " * 9000, record("c"), record("d")])
    monkeypatch.setattr("attune_data.io.documents.RECORD_LIMIT", 9000)
    loaded = load(path)
    assert ids(loaded) == ["a", "c", "d"]
    assert brief(loaded.found) == [("x.parquet:2", "unreadable", "error")]
    # The first two rows fit into it; the next two, as the headers of their pages say, do not into what is left.
    monkeypatch.setattr("attune_data.io.documents.ALL_LIMIT", 3 * len(record("a")) + 9000)
    loaded = load(path)
    assert ids(loaded) == ["a"]
    assert "the limit of one source" in loaded.found[-1].message


def test_a_folder_named_like_parquet(tmp_path: Path) -> None:
    load("demo").to_parquet(tmp_path / "x.parquet")
    assert len(load(tmp_path / "x.parquet")) == 40
    assert [issue.message for issue in load(tmp_path).found] == ["a folder, not a file"]
    with pytest.raises(SourceError, match="no such file"):
        load(tmp_path / "y.parquet")


@pytest.mark.posix
def test_an_odd_path_is_no_pattern(record: Record, tmp_path: Path) -> None:
    folder = tmp_path / "a[b]*" / "key=1"
    folder.mkdir(parents=True)
    assert ids(load(rows(folder / "x?.parquet", [record("a")]))) == ["a"]
