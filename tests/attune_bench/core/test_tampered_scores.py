"""Scores of which one value was changed by hand: an error that names the place and the value."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from benchmark_scores import scores_named

from attune_bench import Scores
from attune_data import SourceError

Content = dict[str, Any]


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> Content:
    path = tmp_path_factory.mktemp("scores") / "scores.json"
    scores_named("attunebench").write(path)
    found: Content = json.loads(path.read_bytes())
    return found | {"conversations": found["conversations"][:3]}


def _first(content: Content, *way: Any) -> Any:
    value = content["conversations"][0]
    for key in way:
        value = value[key]
    return value


COUNTS, TURN = ("pooled_binary_om_metrics",), ("turn_scores", 0)


@pytest.mark.parametrize(
    ("way", "key", "value", "message"),
    [
        ((), "composite_score", 1e308, r"composite_score of model .* is 1e\+308; expected a number from 0 to 100"),
        ((), "avg_emotion_f1", float("inf"), r"conversations\.0\.avg_emotion_f1: .*finite number"),
        ((), "avg_emotion_f1", 5, "conversation '.*', model '.*', mode 'default': f1 5"),
        ((), "avg_emotion_f1", True, r"conversations\.0\.avg_emotion_f1: .*not true"),
        ((), "avg_emotion_f1", "0.5", r'conversations\.0\.avg_emotion_f1: .*not "0\.5"'),
        ((), "em_model", 3, r"conversations\.0\.em_model: .*not 3"),
        (COUNTS, "tp", 10**400, r"om_metrics\.tp: .*not 1000"),
        (COUNTS, "tp", 2.5, r"om_metrics\.tp: .*not 2\.5"),
        (COUNTS, "tp", -1, r"om_metrics\.tp: .*not -1"),
        (COUNTS, "f1", 7, r"om_metrics\.f1: .*not 7"),
        (("coverage", "panas"), "present", 99, r"coverage\.panas\.present of .* is 99; expected \d+ at most"),
        (TURN, "emotion_f1", 1.5, r"emotion_f1 of .* is 1\.5; expected a number from 0 to 1"),
        (TURN, "turnNumber", 10**30, r"turn_scores\.0\.turnNumber: "),
        (TURN, "turnNumber", 2, "two turns are"),
    ],
)
def test_a_wrong_value_of_a_record(
    content: Content, tmp_path: Path, way: tuple[Any, ...], key: str, value: Any, message: str
) -> None:
    wrong = copy.deepcopy(content)
    _first(wrong, *way)[key] = value
    path = tmp_path / "scores.json"
    path.write_text(json.dumps(wrong), encoding="utf-8")
    with pytest.raises(SourceError, match=message):
        Scores.read(path)


Change = Callable[[pl.DataFrame, Content], tuple[pl.DataFrame, Content]]


def _set(column: str, value: Any) -> Change:
    return lambda frame, about: (frame.with_columns(pl.lit(value).alias(column)), about)


def _about(**changes: Any) -> Change:
    return lambda frame, about: (frame, about | changes)


def _provenance(**changes: Any) -> Change:
    return lambda frame, about: (frame, about | {"provenance": about["provenance"] | changes})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_set("reward.support", float("inf")), r"reward\.support of model .* is inf"),
        (_set("reward.support", "x"), r"reward\.support is of type String"),
        (_set("n.support", 0.5), r"n\.support of model .* is 0\.5; expected a count"),
        (_set("n.support", -1.0), r"n\.support of model .* is -1\.0; expected a count"),
        (_set("failed.error", 1e308), r"failed\.error of model .* is 1e\+308; expected a count"),
        (_set("model", None), "model is empty in row 1"),
        (_set("unit", 3), "unit is of type Int32"),
        (lambda frame, about: (pl.concat([frame, frame[:1]]), about), "two rows are of model"),
        (lambda frame, about: (frame.drop("n.support"), about), r"no column 'n\.support'"),
        (_provenance(variant={"rule": "evaluation"}), r"provenance\.variant"),
        (_provenance(primary="nothing"), "no metric 'nothing'"),
        (_provenance(headline="x"), "damaged scores"),
        (_about(metrics={"a": {"statistic": "mode"}}), r"metrics\.a\.statistic: no 'mode'"),
        (_about(metrics={"a": {"statistic": "f1"}}), r"metrics\.a\.terms: f1 of 1 term"),
        (_about(provenance=[]), "damaged scores"),
        (_about(choices=["rule"]), "damaged scores"),
        (_about(format=10**400), "later version"),
    ],
)
def test_a_wrong_value_of_a_file_of_scores(tmp_path: Path, change: Change, message: str) -> None:
    path = tmp_path / "scores.parquet"
    scores_named("eibench").write(path)
    about = json.loads(pl.read_parquet_metadata(path)["attune-bench"])
    frame, about = change(pl.read_parquet(path), about)
    frame.write_parquet(path, metadata={"attune-bench": json.dumps(about)})
    with pytest.raises(SourceError, match=message):
        Scores.read(path)
