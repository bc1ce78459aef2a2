"""Where records come from: files, folders and JSONL, in every state that a download or an editor leaves them in."""

import io
import json
import os
import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
import pytest

from attune_data import (
    Collection,
    Conversations,
    Issue,
    LoadError,
    Run,
    RunList,
    Runs,
    SourceError,
    load,
    load_episodes,
    load_records,
    load_runs,
    load_sage,
    load_scenarios,
    load_tables,
    recognise,
)
from attune_data.kinds import CONVERSATION, RUN

Json = dict[str, Any]
Save = Callable[[Any, str], Path]
Load = Callable[[Any], Collection[Any]]


def named(conversation: Json, name: str) -> Json:
    return {**conversation, "conversationId": name}


def ids(records: Collection[Any]) -> list[str]:
    return [record.id for record in records]


def brief(found: Sequence[Issue]) -> list[tuple[str, str, str]]:
    return [(issue.file, issue.rule, issue.severity) for issue in found]


@pytest.fixture
def lines(conversation: Json) -> list[bytes]:
    """Return three conversations, a, b and c, each as one line of JSON without its end."""
    return [json.dumps(named(conversation, name)).encode() for name in "abc"]


# Files and folders.


def test_one_file(conversation: Json, save: Save) -> None:
    path = save(conversation, "anything.JSON")
    assert ids(load(path)) == ids(load(str(path))) == [conversation["conversationId"]]


def test_folder_is_read_recursively_in_name_order(conversation: Json, save: Save, tmp_path: Path) -> None:
    for name in ("b/2", "a/9", "a/10", "c", "b/a/1"):
        save(named(conversation, name), f"{name}.json")
    loaded = load(tmp_path)
    assert ids(loaded) == ["a/10", "a/9", "b/2", "b/a/1", "c"]
    assert loaded.found == ()


def test_issue_names_the_file_by_its_path_in_the_folder(save: Save, tmp_path: Path) -> None:
    save(b"{", "part/two/conversation_3.json")
    assert brief(load(tmp_path).found) == [("part/two/conversation_3.json", "invalid-json", "error")]


def test_conversation_files_are_preferred_to_others(conversation: Json, save: Save, tmp_path: Path) -> None:
    save(named(conversation, "x"), "other.json")
    save(named(conversation, "y"), "sub/conversation_7.json")
    save(named(conversation, "z"), "sub/conversation_7.jsonl")
    assert ids(load(tmp_path)) == ["y"]


def test_folder_of_jsonl_files(lines: list[bytes], save: Save, tmp_path: Path) -> None:
    save(lines[1], "2.jsonl")
    save(lines[0] + b"\n" + lines[2], "1.jsonl")
    assert ids(load(tmp_path)) == ["a", "c", "b"]


@pytest.mark.parametrize(
    "name", ["_skipped_kiln-glaze-1.json", "annotation_codebook.json", ".cache.json", ".git/x.json"]
)
def test_file_that_is_no_record_is_passed_over(
    name: str, conversation: Json, run: Json, save: Save, tmp_path: Path
) -> None:
    save({"kiln/glaze-1": "failed"}, f"runs/{name}")
    save({"kiln/glaze-1": "failed"}, f"data/{name}")
    save(run, "runs/one.json")
    save(conversation, "data/one.json")
    assert brief(load(tmp_path / "data").found) == brief(load_runs(tmp_path / "runs").found) == []
    assert len(load(tmp_path / "data")) == len(load_runs(tmp_path / "runs")) == 1


def test_other_kinds_of_files_are_passed_over(conversation: Json, save: Save, tmp_path: Path) -> None:
    save(b"# Data", "README.md")
    save(b"\x89PNG", "cover.png")
    save(conversation, "conversation_1.json")
    assert brief(load(tmp_path).found) == []


def test_linked_folder_is_read_or_reported(conversation: Json, save: Save, tmp_path: Path) -> None:
    save(named(conversation, "far"), "elsewhere/conversation_1.json")
    save(named(conversation, "near"), "data/conversation_2.json")
    (tmp_path / "data" / "linked").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    loaded = load(tmp_path / "data")
    assert len(loaded) + len(loaded.found) == 2


def test_folder_that_links_to_itself_ends(conversation: Json, save: Save, tmp_path: Path) -> None:
    save(conversation, "data/conversation_1.json")
    (tmp_path / "data" / "again").symlink_to(tmp_path / "data", target_is_directory=True)
    assert len(load(tmp_path / "data")) == 1


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("nowhere/deep/x.json", r"'nowhere' is not in it\)$"),
        ("conversation_1.json", "no such file or folder"),
        ("dat/x.json", r"'dat' is not in it; did you mean 'data'\?\)$"),
    ],
)
def test_missing_path_says_how_far_it_exists(name: str, hint: str, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    with pytest.raises(SourceError, match=hint):
        load(tmp_path / name)


@pytest.mark.parametrize("name", ["x" * 5000, "a\0b", json.dumps({"conversationId": "c" * 300})])
def test_text_that_cannot_be_a_path_is_a_missing_source(name: str) -> None:
    with pytest.raises(SourceError, match="no such file"):
        load(name)


def test_empty_text_is_not_the_current_folder(
    conversation: Json, save: Save, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(conversation, "conversation_1.json")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SourceError, match=r"no such file|empty"):
        load("")


@pytest.mark.parametrize("make", [lambda _: None, lambda save: save(b"x", "notes.txt")], ids=["empty", "text"])
def test_folder_without_records(make: Callable[[Save], object], save: Save, tmp_path: Path) -> None:
    make(save)
    with pytest.raises(SourceError, match=r"has no \.json, \.jsonl or \.parquet file"):
        load(tmp_path)


def test_file_of_another_kind(save: Save) -> None:
    with pytest.raises(SourceError, match=r"neither a \.json, \.jsonl or \.parquet file"):
        load(save(b"a,b", "table.csv"))


@pytest.mark.parametrize("name", ["none.json", "none.jsonl"])
@pytest.mark.parametrize("content", [b"", b" \n\n", b"\xef\xbb\xbf"], ids=["empty", "blank", "only a BOM"])
def test_empty_file_is_not_silent(name: str, content: bytes, save: Save) -> None:
    with pytest.raises((SourceError, LoadError), match=r"empty|has no|not JSON"):
        load(save(content, name), on_error="raise")


def test_folder_named_like_a_file_is_an_issue(conversation: Json, save: Save, tmp_path: Path) -> None:
    save(conversation, "conversation_1.json")
    save(conversation, "conversation_2.json/inside.json")
    loaded = load(tmp_path)
    assert len(loaded) == 1
    assert brief(loaded.found) == [("conversation_2.json", "unreadable", "error")]


def link_to_itself(path: Path) -> None:
    path.symlink_to(path)


def link_to_nothing(path: Path) -> None:
    path.symlink_to(path.with_name("gone"))


@pytest.mark.parametrize("link", [link_to_itself, link_to_nothing])
@pytest.mark.parametrize("suffix", ["json", "jsonl"])
def test_unreadable_file_costs_only_itself(
    link: Callable[[Path], None], suffix: str, lines: list[bytes], save: Save, tmp_path: Path
) -> None:
    save(lines[0], f"a.{suffix}")
    link(tmp_path / f"b.{suffix}")
    save(lines[2], f"c.{suffix}")
    loaded = load(tmp_path)
    assert ids(loaded) == ["a", "c"]
    assert brief(loaded.found) == [(f"b.{suffix}", "unreadable", "error")]
    assert brief(load(tmp_path / f"b.{suffix}").found) == [(f"b.{suffix}", "unreadable", "error")]
    with pytest.raises(LoadError, match="cannot be read"):
        load(tmp_path, on_error="raise")


def test_file_name_that_is_not_unicode(tmp_path: Path) -> None:
    path = os.path.join(os.fsencode(tmp_path), b"\xff.json")  # noqa: PTH118
    Path(os.fsdecode(path)).write_bytes(b"{")
    loaded = load(tmp_path)
    assert loaded.issues["rule"].to_list() == ["invalid-json"]
    assert str(loaded.found[0]).encode()


# JSONL.


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\n\n", b"\n \t\r\n"], ids=["LF", "CRLF", "blank", "spaces"])
@pytest.mark.parametrize("last", [True, False], ids=["last line ends", "last line open"])
def test_lines_of_jsonl(end: bytes, last: bool, lines: list[bytes], save: Save) -> None:
    loaded = load(save(end.join(lines) + end * last, "all.jsonl"))
    assert ids(loaded) == ["a", "b", "c"]
    assert loaded.found == ()


@pytest.mark.parametrize("character", ["\u2028", "\u2029", "\x85", "\u000b"])
def test_line_of_jsonl_ends_at_a_line_feed_only(character: str, conversation: Json, save: Save) -> None:
    conversation["turns"][0]["userMessage"] = f"before{character}after"
    text = json.dumps(conversation, ensure_ascii=False)
    loaded = load(save(f"{text}\n".encode(), "all.jsonl"))
    assert json.loads(loaded[0].to_json()) == conversation


def test_carriage_return_within_a_line_of_jsonl_is_white_space(conversation: Json, save: Save) -> None:
    lines = [json.dumps(named(conversation, name), separators=(",\r", ":\r")) for name in "ab"]
    loaded = load(save("\n".join(lines).encode(), "all.jsonl"))
    assert ids(loaded) == ["a", "b"]
    assert loaded.found == ()


@pytest.mark.parametrize("bad", [b"{", b"[]", b"nonsense", b'{"conversationId": "x"', b"\xff\xfe", b"\0"])
def test_bad_line_costs_only_itself_and_is_named(bad: bytes, lines: list[bytes], save: Save) -> None:
    loaded = load(save(b"\n".join([lines[0], b"", bad, lines[2]]), "all.jsonl"))
    assert ids(loaded) == ["a", "c"]
    errors = [issue.file for issue in loaded.found if issue.severity == "error"]
    assert errors == ["all.jsonl:3"]


def test_issue_of_a_good_line_is_named_too(lines: list[bytes], save: Save) -> None:
    changed = json.dumps({**json.loads(lines[1]), "turns": [{"turnNumber": "1"}]}).encode()
    loaded = load(save(b"\n".join([lines[0], changed]), "all.jsonl"))
    assert brief(loaded.found) == [("all.jsonl:2", "number-as-text", "note")]


# Not what was asked for.


def test_list_of_records_in_one_file_says_what_to_do(conversation: Json, load_conversation: Load) -> None:
    issue = load_conversation([conversation]).found[0]
    assert (issue.path, issue.rule, issue.severity) == ("$", "not-a-record", "error")
    assert ".jsonl" in issue.message


@pytest.mark.parametrize("value", [None, 5, "text", True, {}, {"a": 1}])
def test_json_that_is_no_record(value: Any, load_conversation: Load, load_run: Load) -> None:
    for loader, kind in ((load_conversation, "conversation"), (load_run, "run")):
        loaded = loader(value)
        assert [(issue.path, issue.rule) for issue in loaded.found] == [("$", "not-a-record")]
        assert len(loaded) == 0
        assert kind in loaded.found[0].message


def test_scores_are_named_as_such(load_conversation: Load, load_run: Load) -> None:
    for loader in (load_conversation, load_run):
        with pytest.raises(SourceError, match=r"contains a file of scores and no .*; attune-bench report reads it"):
            loader({"metadata": {}, "conversations": [], "aggregates": []})


def test_run_file_is_no_conversation(run: Json, load_conversation: Load) -> None:
    with pytest.raises(SourceError, match="contains 1 run and no conversation; load_runs reads runs"):
        load_conversation(run)


def test_conversation_is_no_run_file(conversation: Json, load_run: Load) -> None:
    with pytest.raises(SourceError, match="contains 1 conversation and no run; load reads conversations"):
        load_run(conversation)


@pytest.mark.parametrize("name", ["0.json", "conversation_0.json"])
def test_run_file_among_conversations_does_not_displace_one(
    name: str, conversation: Json, run: Json, save: Save, tmp_path: Path
) -> None:
    save(run, name)
    save(conversation, "conversation_1.json" if "conversation" in name else "1.json")
    loaded = load(tmp_path)
    assert [json.loads(record.to_json()) for record in loaded] == [conversation]
    assert [(issue.file, issue.severity) for issue in loaded.found] == [(name, "error")]


def test_conversation_among_runs_does_not_hide_them(conversation: Json, run: Json, save: Save, tmp_path: Path) -> None:
    save(conversation, "conversation_1.json")
    save(run, "5f0c8a52_kiln_glaze-1_default.json")
    loaded = load_runs(tmp_path)
    assert [json.loads(record.to_json()) for record in loaded] == [run]


# Encodings.


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_other_encodings_are_read_and_noted(encoding: str, conversation: Json, load_conversation: Load) -> None:
    conversation["turns"][0]["userMessage"] = "Größe, 大きさ, \U0001f3fa"
    loaded = load_conversation(json.dumps(conversation, ensure_ascii=False).encode(encoding))
    assert json.loads(loaded[0].to_json()) == conversation
    assert [(issue.path, issue.rule, issue.severity) for issue in loaded.found] == [("$", "encoding", "note")]


def test_bytes_that_are_no_text_are_replaced(conversation: Json, load_conversation: Load) -> None:
    conversation["turns"][0]["userMessage"] = "caf?"
    loaded = load_conversation(json.dumps(conversation).encode().replace(b"caf?", b"caf\xe9"))
    assert loaded[0].turns[0].user_message == "caf\ufffd"
    assert [(issue.path, issue.rule, issue.severity) for issue in loaded.found] == [("$", "encoding", "warning")]


@pytest.mark.parametrize("half", [r"\ud83c", r"\udffa", r"\uDFFA\uD83C"])
def test_half_of_a_surrogate_pair_is_replaced(half: str, conversation: Json, load_conversation: Load) -> None:
    conversation["turns"][0]["userMessage"] = "vase ?"
    conversation["note ?"] = ["?"]
    loaded = load_conversation(json.dumps(conversation).replace("?", half).encode())
    replaced = "\ufffd" * (len(half) // 6)
    assert loaded[0].turns[0].user_message == f"vase {replaced}"
    assert loaded[0].model_extra == {f"note {replaced}": [replaced]}
    assert [(issue.path, issue.rule, issue.severity) for issue in loaded.found] == [("$", "lone-surrogate", "warning")]


def test_whole_surrogate_pair_is_text(conversation: Json, load_conversation: Load) -> None:
    conversation["turns"][0]["userMessage"] = "vase \U0001f3fa"
    text = json.dumps(conversation).encode()
    assert rb"\ud83c\udffa" in text
    loaded = load_conversation(text)
    assert loaded[0].turns[0].user_message == "vase \U0001f3fa"
    assert loaded.found == ()


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_lines_in_another_encoding_are_one_issue(encoding: str, lines: list[bytes], save: Save) -> None:
    loaded = load(save(b"\n".join(lines).decode().encode(encoding), "all.jsonl"))
    assert len(loaded) == 0
    (issue,) = loaded.found
    assert (issue.file, issue.rule) == ("all.jsonl", "unreadable")
    assert f"{encoding.upper()[:6]}" in issue.message
    assert "expected UTF-8" in issue.message


def test_case_of_a_preferred_name_does_not_count(conversation: Json, save: Save, tmp_path: Path) -> None:
    save(named(conversation, "a"), "CONVERSATION_1.JSON")
    save(named(conversation, "b"), "x/conversation_2.json")
    loaded = load(tmp_path)
    assert sorted(ids(loaded)) == ["a", "b"]
    assert loaded.found == ()


# What cannot be a source.


@pytest.mark.parametrize("loader", [load, load_runs, load_tables, partial(load, subset="Sample200")])
@pytest.mark.parametrize(
    ("source", "hint"),
    [
        (None, ""),
        (["a.json", "b.json"], "join"),
        ([{"turns": []}], "write each record as a line of JSON to a file in .jsonl"),
        (b"f.json", "fsdecode"),
        (5, ""),
        ({"turns": []}, "write the record as JSON to a file in .json"),
        (io.BytesIO(), "give the path of the file"),
        (np.float64(1), ""),
        (CONVERSATION, r"the kind comes second: load_records\(source, kind\)"),
        (Conversations([]), "it is loaded already"),
    ],
    ids=lambda one: one if isinstance(one, str) else type(one).__name__,
)
def test_what_cannot_be_a_source(loader: Load, source: Any, hint: str) -> None:
    with pytest.raises(TypeError, match=rf"^the source is .*, of type {type(source).__name__}; expected .*{hint}"):
        loader(source)


FRAME = pl.DataFrame({"a": [1.0]})
OF_RESULTS = "attune_bench.Scores.from_table({0}) takes a table of results, datasets.Dataset.from_polars({0}) makes"
WITHOUT_NAMES = "in which no value has a model and a unit; attune_bench.Scores.from_table takes a polars.DataFrame"


@pytest.mark.parametrize(
    "loader",
    [
        *(load, load_runs, load_scenarios, load_episodes, load_sage, load_records, load_tables, recognise),
        partial(load, subset="Sample200"),
        partial(load_scenarios, split="test"),
    ],
)
@pytest.mark.parametrize(
    ("source", "message"),
    [
        (FRAME, f"the source is a polars.DataFrame; {OF_RESULTS.format('frame')}"),
        (FRAME.lazy(), f"the source is a polars.LazyFrame; {OF_RESULTS.format('frame.collect()')}"),
        (
            pd.DataFrame({"a": [1]}),
            f"the source is a pandas.DataFrame; {OF_RESULTS.format('polars.from_pandas(frame)')}",
        ),
        (pa.table({"a": [1]}), f"the source is a pyarrow.Table; {OF_RESULTS.format('polars.from_arrow(table)')}"),
        (FRAME["a"], f"the source is a polars.Series, {WITHOUT_NAMES}"),
        (pd.Series([1]), f"the source is a pandas.Series, {WITHOUT_NAMES}"),
        (np.zeros(3), f"the source is a numpy.ndarray, {WITHOUT_NAMES}"),
        (np.array(["demo", "demo"]), f"the source is a numpy.ndarray, {WITHOUT_NAMES}"),
    ],
    ids=lambda one: type(one).__module__ if not isinstance(one, str) else "",
)
def test_a_table_is_told_what_takes_it(loader: Load, source: Any, message: str) -> None:
    with pytest.raises(TypeError, match=f"^{re.escape(message)}"):
        loader(source)


def test_what_a_table_of_records_is_told_loads_it() -> None:
    records = [run.to_line().decode() for run in load_runs("demo")[:3]]
    for frame in (pl.DataFrame({"record": records}), pl.from_pandas(pd.DataFrame({"record": records}))):
        assert load_runs(datasets.Dataset.from_polars(frame)) == load_runs("demo")[:3]
    stream = datasets.Dataset.from_dict({"record": records}).to_iterable_dataset()
    with pytest.raises(
        SourceError, match=r"a datasets.IterableDataset; give datasets.Dataset.from_list\(list\(source\)\)"
    ):
        load_runs(stream)
    assert load_runs(datasets.Dataset.from_list(list(stream))) == load_runs("demo")[:3]


def test_json_is_no_path_and_scores_are_no_records(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"JSON itself is no source: write it to a file in \.json"):
        load('{"conversationId": "a"}')
    (tmp_path / "results.csv").write_text("model,unit,metric,value\n")
    with pytest.raises(SourceError, match=r"nor a folder; attune_bench\.Scores\.from_table reads a table of results"):
        load(tmp_path / "results.csv")
    pl.DataFrame({"model": ["a"], "unit": ["b"], "f1": [1.0]}).write_parquet(tmp_path / "scores.parquet")
    (issue,) = load(tmp_path / "scores.parquet").found
    assert issue.message.endswith("attune_bench.Scores.read reads scores, and tables of results")


@pytest.mark.parametrize(
    ("kind", "named"),
    [
        ("emobench", "ITEM or attune_data.kinds.PREDICTION"),
        ("EQBench", "QUESTION or attune_data.kinds.ANSWER"),
        ("run", "RUN"),
        ("scenaros", "SCENARIO"),
        ("SageDialogue", "DIALOGUE"),
        (Runs, "RUN"),
        (Run, "RUN"),
        (RunList, "RUN"),
        ([RUN], "CONVERSATION or attune_data.kinds.RUN or attune_data.kinds.SCENARIO"),
    ],
    ids=lambda one: one if isinstance(one, str) else type(one).__name__,
)
def test_what_is_no_kind_is_told_which_is(kind: Any, named: str) -> None:
    for call in (lambda: load_records("demo", kind), lambda: recognise("demo", [kind])):
        with pytest.raises(TypeError, match=rf"the kind is .*; expected a Kind: attune_data\.kinds\.{named}"):
            call()


@pytest.mark.parametrize("frames", ["runs", Runs, 3])
def test_what_is_no_class_of_tables(frames: Any) -> None:
    named = "RunList$" if frames != 3 else "Tables or RunList or RunTables"
    with pytest.raises(TypeError, match=f"frames is .*; expected a class of tables: {named}"):
        load_tables("demo", frames)


@pytest.mark.parametrize("chunk", ["3", 2.5, None, 0, -1])
def test_chunk_that_is_no_number_of_records(chunk: Any) -> None:
    with pytest.raises(ValueError, match=r"chunk is .*; expected a number of records from 1"):
        load_tables("demo", chunk=chunk)
