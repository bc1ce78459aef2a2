"""The frames of turns and of conversations that scores of AttuneBench keep beyond their values."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from attune_bench import Scores
from attune_bench.benchmarks.attunebench.detail import conversation_frame, record_grid, records_of, turn_frame
from attune_bench.stats.series import ScoreSeries

Json = dict[str, Any]
Make = Callable[..., Scores]

KEYS = ["conversationId", "participant_id", "em_model", "mode"]
COUNTS = ("tp", "tn", "fp", "fn")
RATES = ("accuracy", "precision", "recall", "f1", "mcc")
FRAMES: dict[str, Callable[[Scores], pl.DataFrame]] = {"turns": turn_frame, "conversations": conversation_frame}
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
    frame = turn_frame(make_scores(["a", "b"]))
    # Two models, two conversations, three turns; keys, the number of the turn, 21 metrics, four objects of nine.
    assert frame.shape == (12, 4 + 1 + 21 + 4 * 9)
    assert frame.columns[:5] == [*KEYS, "turnNumber"]
    assert frame["turnNumber"].to_list() == [1, 2, 3] * 4
    assert frame.schema["turnNumber"] == pl.Int64
    assert [frame.schema[f"binary_om_metrics_{cell}"] for cell in COUNTS] == [pl.Int64] * 4
    assert [frame.schema[f"binary_human_metrics_hp_{rate}"] for rate in RATES] == [pl.Float64] * 5
    assert frame["binary_om_metrics_tp"].to_list() == [1, 0, 0] * 4  # derived in the tests of scoring
    assert frame["emotion_intensity_mae"].to_list() == [2.0, None, None] * 4


def test_conversations(make_scores: Make) -> None:
    frame = conversation_frame(make_scores(["a", "b"], ["default", "verbose"]))
    assert frame.height == 8
    assert frame.columns[:4] == KEYS
    assert frame["turns"].to_list() == [3] * 8
    assert frame["composite_score"].to_list() == [64.69] * 8
    assert frame["four_branch_per_branch_managing"].to_list() == [2.0] * 8
    assert frame["coverage_pairwise_present"].to_list() == [4] * 8
    assert frame.schema["coverage_pairwise_expected"] == pl.Int64
    assert frame["pooled_binary_om_metrics_tp"].to_list() == [1] * 8
    assert frame.select("em_model", "mode", "conversationId").n_unique() == 8


@pytest.mark.parametrize("name", FRAMES)
def test_no_column_depends_on_what_is_null(make_scores: Make, name: str) -> None:
    whole = make_scores()
    bare = make_scores(post_score=None, composite_score=None, participant_id=None, **NOT_ASKED)
    for record in records_of(bare):
        for turn in record["turn_scores"]:
            turn["binary_om_metrics_hp"] = turn["binary_human_metrics_hp"] = turn["emotion_intensity_mae"] = None
    assert FRAMES[name](bare).schema == FRAMES[name](whole).schema
    assert bare.values.schema == whole.values.schema


def test_a_column_of_nulls_has_a_type(make_scores: Make) -> None:
    scores = make_scores(participant_id=None, avg_pairwise_kendall_tau=None, source_file=None)
    frame = conversation_frame(scores)
    assert frame.schema["participant_id"] == pl.String
    assert frame.schema["source_file"] == pl.String
    assert frame.schema["avg_pairwise_kendall_tau"] == pl.Float64
    assert scores.values.schema["avg_pairwise_kendall_tau"] == pl.Float64
    assert scores.units.schema["cluster"] == pl.String


@pytest.mark.parametrize("ending", ["json", "parquet"])
def test_frames_of_a_file_read_back(make_scores: Make, tmp_path: Path, ending: str) -> None:
    scores = make_scores(["a", "b"])
    scores.write(tmp_path / f"scores.{ending}")
    read = Scores.read(tmp_path / f"scores.{ending}")
    for frame in FRAMES.values():
        assert frame(read).equals(frame(scores))


def test_frames_of_nothing(scores_of: Make) -> None:
    scores = scores_of({})
    assert list(records_of(scores)) == []
    assert [frame(scores).height for frame in FRAMES.values()] == [0, 0]
    assert (scores.values.height, scores.units.height, scores.issues.height) == (0, 0, 0)


def test_the_record_of_each_model_and_conversation(scores_of: Make) -> None:
    scores = scores_of({"b": {"c2": {}, "c1": {}}, "a": {"c2": {}}})
    grid = record_grid(scores, ScoreSeries(scores))
    found = [[record and (record["em_model"], record["conversationId"]) for record in row] for row in grid]
    assert found == [[None, ("a", "c2")], [("b", "c1"), ("b", "c2")]]
    kept = scores.keep(units=["c2"])
    assert [record["em_model"] for record in records_of(kept)] == ["b", "a"]
