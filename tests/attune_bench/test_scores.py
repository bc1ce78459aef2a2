import json
import os
import stat
from collections.abc import Callable, Iterator
from math import isnan, nan
from pathlib import Path
from typing import Any, NoReturn

import polars as pl
import pytest

from attune_bench import Scores, score
from attune_bench._version import __version__
from attune_bench.stats.signing import codebook_hash
from attune_data import Conversation, Run, SourceError

Json = dict[str, Any]
Make = Callable[..., Scores]


def _refuse(constant: str) -> NoReturn:
    raise AssertionError(f"{constant} is no JSON")


def _strict(path: Path) -> Any:
    return json.loads(path.read_bytes(), parse_constant=_refuse)


# Writing and reading.


def test_round_trip(make_scores: Make, tmp_path: Path) -> None:
    scores = make_scores(["a", "b"], ["default", "verbose"], synthetic=True, avg_draft_judge_score=None)
    scores.write(tmp_path / "scores.json")
    read = Scores.read(str(tmp_path / "scores.json"))
    assert read == scores
    assert read.metadata == {
        "protocol": "documented",
        "library_version": __version__,
        "synthetic": True,
        "issues": [],
        "codebook": codebook_hash(),
    }
    assert repr(read) == "<Scores of 8 runs: 4 models and modes on 2 conversations, protocol documented>"


def test_round_trip_of_the_vectors_and_of_issues(
    make_conversation: Callable[..., Conversation], make_run: Callable[..., Run], tmp_path: Path
) -> None:
    scores = score([make_conversation()], [make_run(), make_run(conversationId="c9")], protocol="released")
    scores.write(tmp_path / "scores.json")
    read = Scores.read(tmp_path / "scores.json")
    assert read == scores
    assert len(read.metadata["issues"]) == 1
    assert read.issues.equals(scores.issues)


def test_the_file_is_strict_json_with_three_parts(make_scores: Make, tmp_path: Path) -> None:
    make_scores(avg_response_similarity=nan).write(tmp_path / "scores.json")
    content = _strict(tmp_path / "scores.json")
    assert list(content) == ["metadata", "conversations", "aggregates"]
    assert (len(content["conversations"]), len(content["aggregates"])) == (2, 1)


def test_nan_and_null_are_kept_apart(make_scores: Make, tmp_path: Path) -> None:
    scores = make_scores(avg_response_similarity=nan, avg_draft_judge_score=None)
    assert isnan(scores.aggregates[0]["avg_response_similarity"])
    scores.write(tmp_path / "scores.json")
    _strict(tmp_path / "scores.json")
    read = Scores.read(tmp_path / "scores.json")
    rows: list[Json] = [dict(read.records[0]), dict(read.aggregates[0])]
    for row in rows:
        assert isnan(row["avg_response_similarity"])
        assert row["avg_draft_judge_score"] is None
    assert read.aggregates[0].keys() == scores.aggregates[0].keys()


@pytest.mark.parametrize("model", ["NaN", "модель-7", "a\nb", "\u202e\U0001f600", '"\\'])
def test_any_model_name_survives(make_scores: Make, tmp_path: Path, model: str) -> None:
    scores = make_scores([model])
    scores.write(tmp_path / "scores.json")
    assert Scores.read(tmp_path / "scores.json") == scores


def test_numbers_keep_every_digit(make_scores: Make, tmp_path: Path) -> None:
    scores = make_scores(avg_emotion_f1=0.1 + 0.2, avg_emotion_va_score=5e-324, avg_pairwise_accuracy=1 / 3)
    scores.write(tmp_path / "scores.json")
    record = Scores.read(tmp_path / "scores.json").records[0]
    assert record["avg_emotion_f1"] == 0.1 + 0.2
    assert record["avg_emotion_va_score"] == 5e-324


# A write is whole or not at all.


def test_a_failing_write_leaves_the_old_file(
    make_scores: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "scores.json"
    target.write_text("old")

    def fail(_self: Path, _target: Path) -> NoReturn:
        raise OSError("disk full")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        make_scores().write(target)
    assert [path.name for path in tmp_path.iterdir()] == ["scores.json"]
    assert target.read_text() == "old"


def test_content_that_is_no_json_leaves_the_old_file(make_scores: Make, tmp_path: Path) -> None:
    target = tmp_path / "scores.json"
    target.write_text("old")
    scores = make_scores()
    broken = Scores(scores.metadata, scores.records, [{"em_model": object()}])
    with pytest.raises(ValueError, match="serialize"):
        broken.write(target)
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


@pytest.mark.parametrize("there", [False, True], ids=["new", "overwritten"])
def test_permissions_follow_the_umask(make_scores: Make, tmp_path: Path, umask: int, there: bool) -> None:
    target = tmp_path / "scores.json"
    if there:
        target.touch()
    make_scores().write(target)
    assert stat.S_IMODE(target.stat().st_mode) == 0o666 & ~umask
    assert os.umask(umask) == umask  # the process keeps its own


# What is no file of scores.

WHOLE: Json = {"metadata": {"protocol": "documented"}, "conversations": [], "aggregates": []}
NO_SCORES: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "the file"),
    "no-json": (b"protocol: documented", "Invalid JSON"),
    "cut-off": (json.dumps(WHOLE).encode()[:-20], "Invalid JSON"),
    "no-text": (b"\xff\xfe\x00", "the file"),
    "list": (b"[]", "the file"),
    "text": (b'"scores"', "the file"),
    "null": (b"null", "the file"),
    "deep": (b"[" * 100_000, "the file"),
    "no-metadata": (json.dumps(WHOLE | {"metadata": None}).encode(), "metadata"),
    "no-protocol": (json.dumps(WHOLE | {"metadata": {}}).encode(), r"metadata\.protocol"),
    "conversation": (b'{"conversationId": "c1", "turns": []}', "metadata"),
    "no-conversations": (b'{"metadata": {"protocol": "x"}, "aggregates": []}', "conversations"),
    "no-aggregates": (b'{"metadata": {"protocol": "x"}, "conversations": []}', "aggregates"),
    "conversations-as-object": (json.dumps(WHOLE | {"conversations": {}}).encode(), "conversations"),
    "conversation-without-keys": (json.dumps(WHOLE | {"conversations": [{}]}).encode(), r"conversations\.0"),
    "aggregate-is-no-object": (json.dumps(WHOLE | {"aggregates": [3]}).encode(), r"aggregates\.0"),
    "aggregate-without-a-model": (json.dumps(WHOLE | {"aggregates": [{}]}).encode(), r"aggregates\.0"),
}


@pytest.mark.parametrize(("content", "place"), NO_SCORES.values(), ids=NO_SCORES)
def test_what_is_no_file_of_scores(tmp_path: Path, content: bytes, place: str) -> None:
    path = tmp_path / "some.json"
    path.write_bytes(content)
    with pytest.raises(SourceError, match=place) as caught:
        Scores.read(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert "is it a file that `attune-bench score` wrote?" in message
    assert "\n" not in message


def test_a_record_of_the_wrong_type_is_named(make_scores: Make, tmp_path: Path) -> None:
    path = tmp_path / "scores.json"
    make_scores().write(path)
    content = _strict(path)
    content["conversations"][1]["turn_scores"][0]["emotion_f1"] = "high"
    path.write_text(json.dumps(content))
    with pytest.raises(SourceError, match=r"conversations\.1\.turn_scores\.0\.emotion_f1"):
        Scores.read(path)


@pytest.mark.parametrize(("name", "words"), [("none.json", "No such file"), ("", "Is a directory")])
def test_what_cannot_be_read(tmp_path: Path, name: str, words: str) -> None:
    with pytest.raises(SourceError, match=f"cannot be read: {words}"):
        Scores.read(tmp_path / name)


# Frames.

KEYS = ["conversationId", "participant_id", "em_model", "mode"]
COUNTS = ("tp", "tn", "fp", "fn")
RATES = ("accuracy", "precision", "recall", "f1", "mcc")
NOT_ASKED: Json = dict.fromkeys(
    (
        "avg_binary_om_accuracy_hp",
        "avg_binary_human_accuracy_hp",
        "pooled_binary_om_metrics_hp",
        "pooled_binary_human_metrics_hp",
        "hp_perspective_gap",
        "hp_perspective_alignment",
    )
)


def test_turns(make_scores: Make) -> None:
    scores = make_scores(["a", "b"])
    frame = scores.turns
    # Two models, two conversations, three turns; keys, the number of the turn, 21 metrics, four objects of nine.
    assert frame.shape == (12, 4 + 1 + 21 + 4 * 9)
    assert frame.columns[:5] == [*KEYS, "turnNumber"]
    assert frame["turnNumber"].to_list() == [1, 2, 3] * 4
    assert frame.schema["turnNumber"] == pl.Int64
    assert [frame.schema[f"binary_om_metrics_{cell}"] for cell in COUNTS] == [pl.Int64] * 4
    assert [frame.schema[f"binary_human_metrics_hp_{rate}"] for rate in RATES] == [pl.Float64] * 5
    assert frame["binary_om_metrics_tp"].to_list() == [1, 0, 0] * 4  # derived in test_scoring.py
    assert frame["emotion_intensity_mae"].to_list() == [2.0, None, None] * 4


def test_conversations(make_scores: Make) -> None:
    scores = make_scores(["a", "b"], ["default", "verbose"])
    frame = scores.conversations
    assert frame.height == 8
    assert frame.columns[:4] == KEYS
    assert frame["turns"].to_list() == [3] * 8
    assert frame["composite_score"].to_list() == [64.69] * 8
    assert frame["four_branch_per_branch_managing"].to_list() == [2.0] * 8
    assert frame["coverage_pairwise_present"].to_list() == [4] * 8
    assert frame.schema["coverage_pairwise_expected"] == pl.Int64
    assert frame.select("em_model", "mode", "conversationId").n_unique() == 8


def test_models(make_scores: Make) -> None:
    scores = make_scores(["b", "a"], ["verbose", "default"])
    frame = scores.models
    assert frame.select("em_model", "mode").rows() == [(m, o) for m in "ab" for o in ("default", "verbose")]
    for name in ("n_conversations", "n_participants", "composite_score_n", "pooled_binary_om_metrics_fn"):
        assert frame.schema[name] == pl.Int64, name
    assert frame.schema["composite_z"] == pl.Float64
    assert frame["pooled_binary_om_metrics_tp"].to_list() == [2] * 4
    assert frame.schema["coverage_pairwise"] == pl.Float64


@pytest.mark.parametrize("name", ["turns", "conversations", "models"])
def test_no_column_depends_on_what_is_null(make_scores: Make, name: str) -> None:
    whole = make_scores()
    bare = make_scores(post_score=None, composite_score=None, participant_id=None, **NOT_ASKED)
    for record in bare.records:
        for turn in record["turn_scores"]:
            turn["binary_om_metrics_hp"] = turn["binary_human_metrics_hp"] = turn["emotion_intensity_mae"] = None
    ours, expected = getattr(bare, name), getattr(whole, name)
    # Branches and items are data, their columns depend on it.
    data = tuple(
        f"{what}_"
        for what in ("four_branch_per_branch", "panas_item_errors", "four_branch_perceiving", "four_branch_managing")
    )
    lost = {(c, t) for c, t in expected.schema.items() if not c.startswith(data)} - set(ours.schema.items())
    assert lost == set()
    assert set(ours.columns) - set(expected.columns) == set()


def test_a_column_of_nulls_has_a_type(make_scores: Make) -> None:
    scores = make_scores(participant_id=None, avg_pairwise_kendall_tau=None, source_file=None)
    frame = scores.conversations
    assert frame.schema["participant_id"] == pl.String
    assert frame.schema["source_file"] == pl.String
    assert frame.schema["avg_pairwise_kendall_tau"] == pl.Float64
    assert scores.models.schema["n_participants"] == pl.Int64


def test_frames_of_a_file_read_back(make_scores: Make, tmp_path: Path) -> None:
    scores = make_scores(["a", "b"])
    scores.write(tmp_path / "scores.json")
    read = Scores.read(tmp_path / "scores.json")
    for name in ("turns", "conversations", "models"):
        ours, expected = getattr(read, name), getattr(scores, name)
        assert ours.select(sorted(ours.columns)).equals(expected.select(sorted(expected.columns))), name


def test_frames_of_nothing() -> None:
    scores = Scores.of([], protocol="documented", synthetic=False)
    assert (list(scores.records), list(scores.aggregates)) == ([], [])
    assert [frame.height for frame in (scores.turns, scores.conversations, scores.models, scores.issues)] == [0] * 4


def test_unknown_keys_survive_reading_and_writing(make_scores: Make, tmp_path: Path) -> None:
    path = tmp_path / "scores.json"
    make_scores().write(path)
    content = json.loads(path.read_bytes())
    content["metadata"]["note"] = "by hand"
    content["conversations"][0]["reviewed"] = {"by": "A", "on": None}
    path.write_text(json.dumps(content))
    Scores.read(path).write(path)
    assert json.loads(path.read_bytes()) == content
