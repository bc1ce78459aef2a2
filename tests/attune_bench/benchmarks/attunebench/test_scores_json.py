"""``scores.json``: written whole or not at all, read back the same, and known from what it is not."""

import json
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import replace
from errno import ENOSPC
from math import isnan, nan
from pathlib import Path
from typing import Any, NoReturn

import pytest
from slow_cases import slow_after

from attune_bench import Scores, score
from attune_bench._version import __version__
from attune_bench.benchmarks.attunebench.detail import records_of
from attune_bench.benchmarks.attunebench.scores_json import aggregates
from attune_bench.benchmarks.attunebench.scoring import provenance_of
from attune_data import Conversation, Run, SourceError, load, load_runs
from attune_metrics import MetricInputError

Json = dict[str, Any]
Make = Callable[..., Scores]


def _refuse(constant: str) -> NoReturn:
    raise AssertionError(f"{constant} is no JSON")


def _strict(path: Path) -> Any:
    return json.loads(path.read_bytes(), parse_constant=_refuse)


def same(one: Scores, other: Scores) -> bool:
    return (
        one.values.equals(other.values)
        and one.units.equals(other.units)
        and dict(one.metrics) == dict(other.metrics)
        and one.provenance == other.provenance
        and list(records_of(one)) == list(records_of(other))
        and aggregates(one) == aggregates(other)
    )


# Writing and reading.


def test_round_trip(make_scores: Make, tmp_path: Path) -> None:
    scores = make_scores(["a", "b"], ["default", "verbose"], synthetic=True, avg_draft_judge_score=None)
    scores.write(tmp_path / "scores.json")
    read = Scores.read(str(tmp_path / "scores.json"))
    assert same(read, scores)
    assert _strict(tmp_path / "scores.json")["metadata"] == {
        "protocol": "documented",
        "library_version": __version__,
        "synthetic": True,
        "issues": [],
    }
    assert repr(read) == "<Scores of 2 models, 2 modes, 2 conversations, 76 metrics; protocol documented>"


def test_round_trip_of_all_that_scoring_leaves(
    make_conversation: Callable[..., Conversation], make_run: Callable[..., Run], tmp_path: Path
) -> None:
    scores = score([make_conversation()], [make_run(), make_run(conversationId="c9")], protocol="released")
    scores.write(tmp_path / "scores.json")
    read = Scores.read(tmp_path / "scores.json")
    assert same(read, scores)
    assert len(read.provenance.issues) == 1
    assert read.issues.equals(scores.issues)
    assert read.issues["rule"].to_list() == ["run-without-conversation"]
    metadata = _strict(tmp_path / "scores.json")["metadata"]
    held = scores.provenance
    assert [metadata[name] for name in ("codebook", "data", "runs")] == [held.codebook, held.data, held.runs]
    assert None not in (held.codebook, held.data, held.runs)


def test_notes_are_read_back(make_scores: Make, tmp_path: Path) -> None:
    path = tmp_path / "scores.json"
    scores = make_scores().note("One of ours.", "Another.")
    scores.write(path)
    assert _strict(path)["metadata"]["notes"] == ["One of ours.", "Another."]
    assert same(Scores.read(path), scores)


@pytest.mark.slow
def test_the_demo_is_read_back_the_same(tmp_path: Path) -> None:
    scores = score(load("demo"), load_runs("demo"))
    scores.write(tmp_path / "scores.json")
    assert same(Scores.read(tmp_path / "scores.json"), scores)
    assert _strict(tmp_path / "scores.json")["aggregates"] == aggregates(scores)


def test_the_file_is_strict_json_with_three_parts(make_scores: Make, tmp_path: Path) -> None:
    make_scores(avg_response_similarity=nan).write(tmp_path / "scores.json")
    content = _strict(tmp_path / "scores.json")
    assert list(content) == ["metadata", "conversations", "aggregates"]
    assert (len(content["conversations"]), len(content["aggregates"])) == (2, 1)


def test_nan_and_null_are_kept_apart_in_records(make_scores: Make, tmp_path: Path) -> None:
    scores = make_scores(avg_response_similarity=nan, avg_draft_judge_score=None)
    scores.write(tmp_path / "scores.json")
    _strict(tmp_path / "scores.json")
    read = Scores.read(tmp_path / "scores.json")
    record = records_of(read)[0]
    assert isnan(record["avg_response_similarity"])
    assert record["avg_draft_judge_score"] is None
    # No analysis counts either.
    [row] = aggregates(read)
    assert (row["avg_response_similarity"], row["avg_response_similarity_n"]) == (None, 0)
    assert (row["avg_draft_judge_score"], row["avg_draft_judge_score_n"]) == (None, 0)


@pytest.mark.parametrize("model", slow_after(2, ["NaN", "модель-7", "a\nb", "\u202e\U0001f600", '"\\']))
def test_any_model_name_survives(make_scores: Make, tmp_path: Path, model: str) -> None:
    scores = make_scores([model])
    scores.write(tmp_path / "scores.json")
    assert same(Scores.read(tmp_path / "scores.json"), scores)


def test_numbers_keep_every_digit(make_scores: Make, tmp_path: Path) -> None:
    scores = make_scores(avg_emotion_f1=0.1 + 0.2, avg_emotion_va_score=5e-324, avg_pairwise_accuracy=1 / 3)
    scores.write(tmp_path / "scores.json")
    read = Scores.read(tmp_path / "scores.json")
    assert records_of(read)[0]["avg_emotion_f1"] == read.values["avg_emotion_f1"][0] == 0.1 + 0.2
    assert records_of(read)[0]["avg_emotion_va_score"] == read.values["avg_emotion_va_score"][0] == 5e-324


@pytest.mark.slow
def test_unknown_keys_survive_reading_and_writing(make_scores: Make, tmp_path: Path) -> None:
    path = tmp_path / "scores.json"
    make_scores().write(path)
    content = json.loads(path.read_bytes())
    content["metadata"] |= {"note": "by hand", "title": "no title of ours", "remarks": [1]}
    content["conversations"][0]["reviewed"] = {"by": "A", "on": None}
    path.write_text(json.dumps(content))
    read = Scores.read(path)
    assert read.provenance.title == "AttuneBench"
    read.write(path)
    assert json.loads(path.read_bytes()) == content
    # By way of the other format too.
    read.write(tmp_path / "scores.parquet")
    Scores.read(tmp_path / "scores.parquet").write(path)
    assert json.loads(path.read_bytes()) == content


def test_aggregates_follow_from_the_records(make_scores: Make, tmp_path: Path) -> None:
    path = tmp_path / "scores.json"
    scores = make_scores()
    scores.write(path)
    content = json.loads(path.read_bytes())
    content["aggregates"] = [{"em_model": "somebody", "composite_score": 99.0}]
    path.write_text(json.dumps(content))
    assert same(Scores.read(path), scores)


# A write is whole or not at all.


def test_a_failing_write_leaves_the_old_file(
    make_scores: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "scores.json"
    target.write_text("old")

    def fail(_self: Path, _target: Path) -> NoReturn:
        raise OSError(ENOSPC, "disk full")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match=r"disk full: '.*scores\.json'$"):
        make_scores().write(target)
    assert [path.name for path in tmp_path.iterdir()] == ["scores.json"]
    assert target.read_text() == "old"


def test_content_that_is_no_json_leaves_the_old_file(make_scores: Make, tmp_path: Path) -> None:
    target = tmp_path / "scores.json"
    target.write_text("old")
    scores = make_scores()
    with pytest.raises(ValueError, match="serialize"):
        replace(scores, provenance=provenance_of(protocol="documented", metadata={"own": object()})).write(target)
    assert [path.name for path in tmp_path.iterdir()] == ["scores.json"]
    assert target.read_text() == "old"


def test_a_missing_folder(make_scores: Make, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        make_scores().write(tmp_path / "none" / "scores.json")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_in_the_way(make_scores: Make, tmp_path: Path) -> None:
    (tmp_path / "scores.json").mkdir()
    with pytest.raises(OSError, match="directory"):
        make_scores().write(tmp_path / "scores.json")
    assert [path.name for path in tmp_path.iterdir()] == ["scores.json"]


@pytest.fixture(params=[0o022, 0o077, 0o002], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


@pytest.mark.parametrize("name", ["scores.json", "scores.parquet"])
@pytest.mark.parametrize("there", [False, True], ids=["new", "overwritten"])
def test_permissions_follow_the_umask(make_scores: Make, tmp_path: Path, umask: int, there: bool, name: str) -> None:
    target = tmp_path / name
    if there:
        target.touch()
    make_scores().write(target)
    assert stat.S_IMODE(target.stat().st_mode) == 0o666 & ~umask
    assert os.umask(umask) == umask  # the process keeps its own


# What is no file of scores.

WHOLE: Json = {"metadata": {"protocol": "documented"}, "conversations": [], "aggregates": []}
NO_JSON: dict[str, bytes] = {
    "empty": b"",
    "no-json": b"protocol: documented",
    "cut-off": json.dumps(WHOLE).encode()[:-20],
    "no-text": b"\xff\xfe\x00",
    "deep": b"[" * 100_000,
}
OTHER_JSON: dict[str, bytes] = {
    "list": b"[]",
    "text": b'"scores"',
    "null": b"null",
    "no-conversations": b'{"metadata": {"protocol": "x"}, "aggregates": []}',
    "no-aggregates": b'{"metadata": {"protocol": "x"}, "conversations": []}',
}
NOT_WHOLE: dict[str, tuple[bytes, str]] = {
    "without-metadata": (b'{"conversations": [], "aggregates": []}', "metadata"),
    "no-metadata": (json.dumps(WHOLE | {"metadata": None}).encode(), "metadata"),
    "no-protocol": (json.dumps(WHOLE | {"metadata": {}}).encode(), r"metadata\.protocol"),
    "conversations-as-object": (json.dumps(WHOLE | {"conversations": {}}).encode(), "conversations"),
    "conversation-without-keys": (json.dumps(WHOLE | {"conversations": [{}]}).encode(), r"conversations\.0"),
    "aggregate-is-no-object": (json.dumps(WHOLE | {"aggregates": [3]}).encode(), r"aggregates\.0"),
}


def _message(path: Path, content: bytes) -> str:
    path.write_bytes(content)
    with pytest.raises(SourceError) as caught:
        Scores.read(path)
    message = str(caught.value)
    assert message.startswith(f"{path}")
    assert "\n" not in message
    return message.removeprefix(str(path))


@pytest.mark.parametrize("content", NO_JSON.values(), ids=NO_JSON)
def test_what_is_no_json(tmp_path: Path, content: bytes) -> None:
    assert _message(tmp_path / "some.json", content).startswith(" is not JSON: ")


@pytest.mark.parametrize("content", OTHER_JSON.values(), ids=OTHER_JSON)
def test_what_is_no_file_of_scores(tmp_path: Path, content: bytes) -> None:
    expected = " holds no scores; is it a file that `attune-bench score` wrote?"
    assert _message(tmp_path / "some.json", content) == expected


def test_a_file_of_records_is_told_what_makes_scores(tmp_path: Path) -> None:
    expected = " contains conversations, no scores; attune-bench score makes them, in Python attune_bench.score"
    assert _message(tmp_path / "some.json", b'{"conversationId": "c1", "turns": []}') == expected


@pytest.mark.parametrize(("content", "place"), NOT_WHOLE.values(), ids=NOT_WHOLE)
def test_what_is_not_whole(tmp_path: Path, content: bytes, place: str) -> None:
    message = _message(tmp_path / "some.json", content)
    assert message.startswith(f": {place}".replace("\\", ""))
    assert message.endswith("; is it a file that `attune-bench score` wrote?")


def test_a_record_of_the_wrong_type_is_named(make_scores: Make, tmp_path: Path) -> None:
    path = tmp_path / "scores.json"
    make_scores().write(path)
    content = _strict(path)
    content["conversations"][1]["turn_scores"][0]["emotion_f1"] = "high"
    path.write_text(json.dumps(content))
    with pytest.raises(SourceError, match=r"conversations\.1\.turn_scores\.0\.emotion_f1"):
        Scores.read(path)


def test_records_that_contradict_each_other_are_named_with_the_file(make_scores: Make, tmp_path: Path) -> None:
    path = tmp_path / "scores.json"
    make_scores().write(path)
    content = _strict(path)
    content["conversations"].append(content["conversations"][0])
    path.write_text(json.dumps(content))
    with pytest.raises(SourceError, match=rf"{path}: two records of conversation 'c0', model 'vendor/model'"):
        Scores.read(path)


@pytest.mark.parametrize(
    ("name", "words"),
    [("none.json", "cannot be read: No such file"), ("folder.json", "is a folder; name a file in it")],
)
def test_what_cannot_be_read(tmp_path: Path, name: str, words: str) -> None:
    (tmp_path / "folder.json").mkdir()
    with pytest.raises(SourceError, match=words):
        Scores.read(tmp_path / name)


def test_scores_without_records_are_not_written(make_scores: Make, tmp_path: Path) -> None:
    with pytest.raises(MetricInputError, match="these scores have no records of runs; score the runs again, or read"):
        replace(make_scores(), detail=None).write(tmp_path / "scores.json")
    assert list(tmp_path.iterdir()) == []
