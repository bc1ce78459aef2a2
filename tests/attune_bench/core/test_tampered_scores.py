"""Scores of which one value was changed by hand: an error that names the place and the value."""

import copy
import json
from collections.abc import Callable
from math import isnan
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


def _metric(name: str, **fields: Any) -> Change:
    return lambda frame, about: (frame, about | {"metrics": about["metrics"] | {name: fields}})


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
        (_about(metrics=[]), r"metrics: Input should be an object, not \[\]"),
        (_about(traits=["nothing"]), r"no column 'trait\.nothing'"),
        (_metric("reward", statistic="z_score"), r"metrics\.reward\.terms: z_score of 0 terms"),
        (_metric("reward", statistic="share"), r"reward of model .* is .*; expected 0 or 1"),
        (_provenance(private="x"), r'provenance\.private: .*, not "x"'),
        (_provenance(expected=-1), r"provenance\.expected is -1; expected a count"),
        (_provenance(variant={"rule": "x", "failed": "exclude"}), r"provenance\.variant\.rule: no 'x'; expected one"),
        (_provenance(settings=[{"model": "a", "settings": {"t": [float("nan")]}}]), r"settings\.t\.0.*not NaN"),
        (_set("reward.support", 5.0), r"reward\.support of model .* is 5\.0; expected the sum over 0\.0 of n\.support"),
        (_set("n.support", None), r"reward\.support of model .* expected the sum over None of n\.support"),
        (
            lambda frame, about: (frame.with_columns(pl.col("model").alias("trait.scene")), about),
            r"two descriptions \(cluster, traits, chance\) are of unit",
        ),
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


def _of_first(**changes: Any) -> Callable[[Content], Content]:
    return lambda record: record | changes


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda _: [], r"detail\.0: .*not \[\]"),
        (_of_first(turn_scores="x"), r'detail\.0\.turn_scores: .*not "x"'),
        (_of_first(composite_score=float("inf")), r"detail\.0\.composite_score: .*finite number"),
        (_of_first(em_model="other"), "detail of '.*' is the record of another run"),
        (lambda record: record | {"turn_scores": record["turn_scores"][:1] * 2}, "two turns are"),
    ],
)
def test_a_wrong_record_beside_the_values(tmp_path: Path, change: Callable[[Content], Any], message: str) -> None:
    path = tmp_path / "scores.parquet"
    scores_named("attunebench").write(path)
    about = pl.read_parquet_metadata(path)["attune-bench"]
    frame = pl.read_parquet(path)
    texts = frame["detail"].to_list()
    texts[0] = json.dumps(change(json.loads(texts[0])))
    frame.with_columns(pl.Series("detail", texts)).write_parquet(path, metadata={"attune-bench": about})
    with pytest.raises(SourceError, match=message):
        Scores.read(path)


def test_coverage_of_which_a_part_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "scores.parquet"
    scores_named("attunebench").write(path)
    about = pl.read_parquet_metadata(path)["attune-bench"]
    frame = pl.read_parquet(path).with_columns(pl.lit(None).alias("coverage.panas.present"))
    frame.write_parquet(path, metadata={"attune-bench": about})
    with pytest.raises(SourceError, match=r"coverage\.panas\.present of .* is None; coverage\.panas\.expected is"):
        Scores.read(path)


def test_undefined_values_of_a_record_as_python_writes_them(content: Content, tmp_path: Path) -> None:
    changed = copy.deepcopy(content)
    _first(changed)["avg_emotion_f1"] = float("nan")
    path = tmp_path / "scores.json"
    path.write_text(json.dumps(changed), encoding="utf-8")  # as NaN, which other parsers than Python's refuse
    assert isnan(Scores.read(path).values["avg_emotion_f1"][0])
