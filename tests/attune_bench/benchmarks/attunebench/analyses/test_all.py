"""All analyses of AttuneBench's scores: none, one of everything, nothing that varies or is there; order and seed."""

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import polars as pl
import pytest
from judged_runs import with_judges
from synthetic.conversations import conversations
from synthetic.participants import Effects
from synthetic.recitation import recite
from synthetic.runs import SimulatedModel, runs

from attune_bench import Scores, figures, score
from attune_bench.analyses import ANALYSES as GENERAL
from attune_bench.benchmarks.attunebench.analyses import ANALYSES as OWN
from attune_bench.benchmarks.attunebench.analyses import diagnosis_groups, turn_drift
from attune_bench.benchmarks.attunebench.branches import WHOLE
from attune_bench.benchmarks.attunebench.detail import records_of
from attune_bench.benchmarks.attunebench.scoring import METRICS, provenance_of, scores_of
from attune_bench.scores.columns import Analysis
from attune_bench.stats.compare import compare
from attune_data import Collection, Conversation, Conversations, Run

Json = dict[str, Any]
ANALYSES: Mapping[str, Analysis] = {**GENERAL, **OWN}
QUICK: Json = {"resamples": 200}
pytestmark = pytest.mark.filterwarnings("ignore:200 resamples are too few")
NUMBERS = ("low", "high", "p", "p_holm", "share_low", "share_high")

each = pytest.mark.parametrize("name", ANALYSES)


@dataclass(frozen=True)
class Case:
    """Conversations with the runs of several models and modes, and their scores."""

    data: Collection[Conversation]
    runs: list[Run]
    scores: Scores

    def analyse(self, name: str, **options: Any) -> pl.DataFrame:
        analysis = ANALYSES[name]
        needs = {need: {"data": self.data, "results": self.runs}[need] for need in analysis.needs}
        metrics = {"metrics": analysis.metrics} if analysis.takes_metrics and analysis.metrics else {}
        return analysis.function(self.scores, **needs, **QUICK, **metrics, **options)


def _scored(data: Collection[Conversation], found: list[Run]) -> Case:
    return Case(data, found, score(data, found))


@cache
def _case(count: int, participants: int, models: str, modes: tuple[Any, ...] = ("default",)) -> Case:
    data = Conversations(conversations(count, participants=participants, seed=1, effects=Effects(diagnosis_rate=0.6)))
    chosen = [SimulatedModel(name, emotion=0.3 + place / 9, pairwise=0.6) for place, name in enumerate(models)]
    made = (run for mode in modes for run in runs(data, chosen, seed=2, mode=mode))
    # With probes, of which a part is recited.
    found = with_judges(recite(made, {one.id: one for one in data}, memorized=0.4, paraphrased=True, seed=3))
    return _scored(data, [run.model_copy(update={"api_cost": len(run.turns) / 100}) for run in found])


@pytest.fixture(scope="module")
def full() -> Case:
    return _case(16, 10, "abcdef", ("default", "verbose"))


@pytest.fixture(scope="module")
def mixed(full: Case) -> Case:
    """Return the same with its runs in another order."""
    return _scored(full.data, random.Random(1).sample(full.runs, k=len(full.runs)))


def _rebuilt(records: Sequence[Any]) -> Scores:
    return Scores.of(scores_of(records, provenance_of(protocol="documented", synthetic=True)))


def _finite(frame: pl.DataFrame) -> None:
    for column in frame.iter_columns():
        if column.dtype.is_float():
            assert not column.is_nan().any(), column.name
            assert not column.is_infinite().any(), column.name


# Runs of models that were asked once have nothing to tell of repeats, and nothing of other annotators.
of_runs = pytest.mark.parametrize("name", [name for name in ANALYSES if not name.startswith(("repeat", "truth"))])


@of_runs
def test_a_full_case_has_intervals_of_its_metrics(full: Case, name: str) -> None:
    found = full.analyse(name)
    _finite(found)
    assert found.height > 0
    if "condition" in found.columns:  # The participants' forms have none.
        assert set(found["condition"]) == ({"verbose"} if "reference" in found.columns else {"default", "verbose"})
    if "low" in found.columns:
        there = found.drop_nulls("low")
        assert there.height > 0
        assert (there["low"] <= there["high"]).all()
        assert found.filter(pl.col("low").is_null())["reason"].is_not_null().all()
    metrics = ANALYSES[name].metrics or ("composite_score",)
    assert set(metrics) <= set(METRICS)
    if "metric" in found.columns:
        shown = list(dict.fromkeys(found.sort("condition", maintain_order=True)["metric"]))
        # The most reliable metric comes first.
        assert (sorted(shown) == sorted(metrics)) if name == "separation" else shown == list(metrics)


@pytest.mark.parametrize("name", [name for name in ANALYSES if ANALYSES[name].figure is not None])
def test_the_figure_of_an_analysis_draws_one_condition(full: Case, name: str) -> None:
    frame = full.analyse(name)
    drawn = partial(figures.of_analysis, full.scores, ANALYSES[name], frame=frame)
    if name == "truth":  # There are no people among the runs; test_truth.py draws some.
        with pytest.raises(ValueError, match="nothing to draw"):
            drawn()
        return
    text = json.dumps(drawn(condition="verbose").to_dict())
    models = full.scores.models if "model" in frame.columns else ["missing, then positive emotion"]
    assert [model for model in models if f'"{model}"' not in text and f'"{model}: ' not in text] == []
    if "condition" in frame.columns:
        with pytest.raises(ValueError, match="the conditions are 'default', 'verbose'; choose one"):
            drawn()


@pytest.mark.slow
@each
def test_order_of_records_changes_nothing_and_a_seed_repeats(full: Case, mixed: Case, name: str) -> None:
    first = full.analyse(name, seed=5)
    assert first.equals(full.analyse(name, seed=5))
    assert first.equals(mixed.analyse(name, seed=5))


@each
@pytest.mark.parametrize(
    ("count", "participants", "models"),
    [
        *(pytest.param(*case, marks=pytest.mark.slow) for case in ((16, 10, "a"), (3, 1, "abc"))),
        *((1, 1, "abc"), (4, 4, "ab")),
    ],
    ids=["one model", "one participant", "one conversation", "four participants"],
)
def test_one_of_everything(name: str, count: int, participants: int, models: str) -> None:
    found = _case(count, participants, models).analyse(name)
    _finite(found)
    if participants < 5 and "low" in found.columns:
        assert found["low"].drop_nulls().is_in([0.0]).all()
        assert found.filter(pl.col("low").is_null())["reason"].is_not_null().all()


@each
def test_no_scores(name: str) -> None:
    case = replace(_case(4, 4, "a"), scores=score([], [], benchmark="attunebench"))
    if name == "diagnosis_groups":
        with pytest.raises(ValueError, match="none of the 0 conversations scored is in the data"):
            case.analyse(name)
    else:
        assert case.analyse(name).height == 0


@pytest.fixture(scope="module")
def alike() -> Case:
    """Return a case in which every conversation has the same scores for all models: nothing varies."""
    case = _case(16, 10, "abc", ("default", "verbose"))
    example = dict(records_of(case.scores)[0])
    keys = ("conversationId", "participant_id", "em_model", "mode")
    records = [example | {key: record.get(key) for key in keys} for record in records_of(case.scores)]
    return replace(case, scores=_rebuilt(records))


@each
def test_models_that_are_alike_in_everything(alike: Case, name: str) -> None:
    found = alike.analyse(name)
    _finite(found)
    if name in {"condition_differences", "rank_shifts"}:
        assert set(found["low"]) == set(found["high"]) == {0.0}
    elif name == "turn_drift":
        assert set(found["low"]) == set(found["high"]) == {0.0, None}
    elif name in {"perspective_gap", "win_rates", "separation"}:
        assert found["low"].null_count() == found.height
        assert found["reason"].is_not_null().all()


@pytest.fixture(scope="module")
def without_post_scores() -> Case:
    case = _case(8, 6, "abc", ("default", "verbose"))
    lost = dict.fromkeys(("post_score", "avg_four_branch_mae", "composite_score", "equal_weight_composite"))
    records = [{**record, **lost, "conversation_wide_average": None} for record in records_of(case.scores)]
    return replace(case, scores=_rebuilt(records))


@each
def test_post_scores_that_are_all_null(without_post_scores: Case, name: str) -> None:
    found = without_post_scores.analyse(name)
    _finite(found)
    if name == "branches":
        lost = found.filter(part=WHOLE)
        assert lost["share"].null_count() == lost.height
        assert all(reason.startswith("no value of ") for reason in lost["reason"])
    if name in {"rank_shifts", "unit_difficulty"}:
        assert found.height == 0


@pytest.mark.slow
def test_what_is_planted_is_found_in_its_direction() -> None:
    # Only the direction, of one seed; benchmarks/recovery.py looks at 200.
    better = SimulatedModel("better", emotion=0.8, binary_om=0.8, pairwise=0.7, unclear_loss=0.9, drift=-0.1)
    worse = SimulatedModel("worse", unclear_loss=0.9)
    data = Conversations(conversations(80, participants=48, seed=1, effects=Effects(clarity_loss_diagnosed=0.6)))
    scores = score(data, runs(data, [better, worse], seed=1))
    gap = diagnosis_groups(scores, data=data, metrics=["avg_emotion_va_score"], **QUICK).filter(group="any")
    assert (gap["difference"] < 0).all()
    drift = turn_drift(scores, metrics=["pooled_binary_om_metrics.accuracy"], **QUICK).filter(model="better")
    assert drift["drift"].item() < 0
    assert compare(scores, "better", "worse", metrics=["composite_score"], **QUICK)["difference"].item() > 0
