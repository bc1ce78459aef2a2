"""What scores of AttuneBench keep beyond their values: the record of every run, the frame of turns."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from attune_bench import Scores
from attune_bench.benchmarks.attunebench.detail import record_grid, records_of, turn_frame
from attune_bench.stats.options import ScoreSeries

Json = dict[str, Any]
Make = Callable[..., Scores]

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


def test_no_column_depends_on_what_is_null(make_scores: Make) -> None:
    whole = make_scores()
    bare = make_scores(post_score=None, composite_score=None, participant_id=None, **NOT_ASKED)
    for record in records_of(bare):
        for turn in record["turn_scores"]:
            turn["binary_om_metrics_hp"] = turn["binary_human_metrics_hp"] = turn["emotion_intensity_mae"] = None
    assert turn_frame(bare).schema == turn_frame(whole).schema
    assert bare.values.schema == whole.values.schema


def test_a_column_of_nulls_has_a_type(make_scores: Make) -> None:
    scores = make_scores(participant_id=None, avg_pairwise_kendall_tau=None, source_file=None)
    assert turn_frame(scores).schema["participant_id"] == pl.String
    assert scores.values.schema["avg_pairwise_kendall_tau"] == pl.Float64
    assert scores.units.schema["cluster"] == pl.String


@pytest.mark.parametrize("ending", ["json", "parquet"])
def test_frames_of_a_file_read_back(make_scores: Make, tmp_path: Path, ending: str) -> None:
    scores = make_scores(["a", "b"])
    scores.write(tmp_path / f"scores.{ending}")
    read = Scores.read(tmp_path / f"scores.{ending}")
    assert turn_frame(read).equals(turn_frame(scores))


def test_frames_of_nothing(scores_of: Make) -> None:
    scores = scores_of({})
    assert list(records_of(scores)) == []
    assert turn_frame(scores).height == 0
    assert (scores.values.height, scores.units.height, scores.issues.height) == (0, 0, 0)


def test_the_record_of_each_model_and_conversation(scores_of: Make) -> None:
    scores = scores_of({"b": {"c2": {}, "c1": {}}, "a": {"c2": {}}})
    grid = record_grid(scores, ScoreSeries(scores))
    found = [[record and (record["em_model"], record["conversationId"]) for record in row] for row in grid]
    assert found == [[None, ("a", "c2")], [("b", "c1"), ("b", "c2")]]
    kept = scores.keep(units=["c2"])
    assert [record["em_model"] for record in records_of(kept)] == ["b", "a"]
