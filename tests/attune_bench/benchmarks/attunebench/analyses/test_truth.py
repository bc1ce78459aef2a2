"""Other annotators: their answers as the truth, planted truths, the ceiling, self-ratings, who did not answer all."""

from functools import cache
from typing import Any

import polars as pl
import pytest
from synthetic.conversations import conversations
from synthetic.runs import SimulatedModel, runs

from attune_bench import Scores, score
from attune_bench.benchmarks.attunebench.annotators import read_as_run, read_as_truth
from attune_bench.benchmarks.attunebench.report import truth_cells
from attune_bench.benchmarks.attunebench.truth import METRICS, above_ceiling, truth
from attune_bench.benchmarks.attunebench.truth_agreement import alike, truth_agreement
from attune_data import Conversation, Conversations, Run, load, load_runs
from attune_metrics.metric import MetricInputError

PAIRWISE = "avg_pairwise_accuracy"
QUICK: dict[str, Any] = {"metrics": [PAIRWISE], "resamples": 400}


@cache
def _data(count: int = 24) -> Conversations:
    return Conversations(conversations(count, participants=count // 2, seed=1))


def _models(name: str, skills: list[float]) -> list[SimulatedModel]:
    return [SimulatedModel(f"{name}{place}", pairwise=skill) for place, skill in enumerate(skills)]


def _asked(given: list[Run], data: Conversations | None = None) -> tuple[Scores, dict[str, Any]]:
    data = data or _data()
    return score(data, given), {"data": data, "results": given}


@cache
def _planted() -> tuple[Scores, dict[str, Any]]:
    """Return eight models: four know the participant's choices better and better, four those of the annotator ann."""
    ann = {run.conversation_id: run for run in runs(_data(), [SimulatedModel("human/ann", pairwise=0.3)], seed=3)}
    by_ann = [read_as_truth(one, ann[one.id]) for one in _data()]
    given = [
        *runs(_data(), _models("hers", [0.2, 0.4, 0.6, 0.8]), seed=4),
        *runs(by_ann, _models("ann", [0.25, 0.45, 0.65, 0.85]), seed=5),
        *runs(_data(), [SimulatedModel("human/self", pairwise=0.95)], seed=6),
        *ann.values(),
    ]
    return _asked(given)


def test_annotations_as_a_run_and_back_score_alike() -> None:
    data, given = load("demo"), load_runs("demo")
    again = [read_as_truth(one, read_as_run(one, "human/self")) for one in data]
    own, other = score(data, given).values, score(again, given).values
    assert own.equals(other)
    perfect = score(data, [read_as_run(one, "human/self") for one in data]).summary(metrics=[PAIRWISE], resamples=100)
    assert perfect["value"].item() > 0.9  # a comparison without a choice is never right


@pytest.mark.slow
def test_each_truth_ranks_its_own_models_first() -> None:
    scores, needs = _planted()
    found = truth(scores, **needs, **QUICK).filter(role="model")
    of = {name: found.filter(truth=name)["model"].to_list() for name in ("participant", "human/ann")}
    assert of["participant"][:2] == ["hers3", "hers2"]
    assert of["human/ann"][:2] == ["ann3", "ann2"]
    assert (found["rank_low"] <= found["rank"]).all()
    assert (found["rank"] <= found["rank_high"]).all()
    [row] = truth_agreement(scores, **needs, metrics=[PAIRWISE]).filter(truth_b="human/ann").to_dicts()
    assert row["corrected"] < 0.5
    assert row["rho"] < 0.7
    [row] = (
        truth_agreement(scores, **needs, metrics=[PAIRWISE])
        .filter(truth_a="participant", truth_b="human/self")
        .to_dicts()
    )
    assert row["high"] > 0.98
    assert row["corrected"] > 0.95


@pytest.mark.slow
def test_the_ceiling_is_the_best_other_annotator_and_no_self_rating() -> None:
    scores, needs = _planted()
    found = truth(scores, **needs, **QUICK)
    own = found.filter(truth="participant")
    by_name = {row["model"]: row for row in own.to_dicts()}
    assert [row["role"] for row in by_name.values()][-2:] == ["annotator", "self-rating"]
    assert by_name["human/self"]["value"] > by_name["hers3"]["value"] > by_name["human/ann"]["value"]
    assert set(own["ceiling"]) == {by_name["human/ann"]["value"]}
    assert by_name["hers3"]["above"] is True
    assert by_name["ann0"]["above"] is False
    assert by_name["hers3"]["difference"] == pytest.approx(
        by_name["hers3"]["value"] - by_name["human/ann"]["value"], abs=1e-12
    )
    assert by_name["human/ann"]["above"] is None
    # The participant predicts ann as well as ann predicts the participant, and the second answers are no better.
    other = found.filter(truth="human/ann", model="human/participant")
    assert other["value"].item() == pytest.approx(by_name["human/ann"]["value"], abs=1e-12)
    again = found.filter(truth="human/self", model="human/participant")
    assert again["role"].item() == "self-rating"


@pytest.mark.slow
def test_sentences_count_what_the_frames_have() -> None:
    scores, needs = _planted()
    found = truth(scores, **needs, **QUICK)
    above = found.filter(truth="participant", role="model")["above"].sum()
    assert f"Pairwise accuracy {above} of 8 models." in above_ceiling(scores, found)
    none = found.with_columns(above=pl.lit(value=False))
    assert "Pairwise accuracy none of 8 models." in above_ceiling(scores, none)
    unknown = found.with_columns(above=pl.lit(None, dtype=pl.Boolean))
    assert above_ceiling(scores, unknown) == "No model has an interval of its difference to another annotator."
    agreed = truth_agreement(scores, **needs, metrics=[PAIRWISE])
    assert "go together: 1 of 2 rankings" in alike(scores, agreed)
    lost = agreed.with_columns(low=pl.lit(None, dtype=pl.Float64))
    assert alike(scores, lost).startswith("No ranking by another annotator has an interval")


def _cut(run: Run) -> Run:
    """Return the run without its answer to one comparison."""
    first = run.turns[0]
    chosen = {place: said for place, said in first.em_pairwise_selections.items() if place != "0"}
    return run.model_copy(
        update={"turns": (first.model_copy(update={"em_pairwise_selections": chosen}), *run.turns[1:])}
    )


def test_conversations_that_an_annotator_did_not_answer_in_full_do_not_count() -> None:
    ann = runs(_data(), [SimulatedModel("human/ann")], seed=3)
    models = runs(_data(), _models("m", [0.3, 0.6]), seed=4)
    scores, needs = _asked([*models, _cut(ann[0]), *ann[1:-1]])
    found = truth(scores, **needs, metrics=[PAIRWISE, "avg_binary_om_accuracy"], resamples=200)
    assert set(found.filter(metric=PAIRWISE)["n"]) == {22}
    assert set(found.filter(metric="avg_binary_om_accuracy")["n"]) == {23}
    agreed = truth_agreement(scores, **needs, metrics=[PAIRWISE])
    assert (agreed["n"].item(), agreed["reason"].item()) == (22, "fewer than 6 models")


def test_without_people_or_common_conversations_there_are_no_rows() -> None:
    models = runs(_data(), _models("m", [0.3, 0.6]), seed=4)
    scores, needs = _asked(models)
    assert truth(scores, **needs, **QUICK).is_empty()
    ann, bob = (runs(_data(), [SimulatedModel(f"human/{name}")], seed=3) for name in ("ann", "bob"))
    scores, needs = _asked([*models, *ann[:12], *bob[12:]])
    assert truth(scores, **needs, **QUICK).is_empty()
    assert truth_agreement(scores, **needs).is_empty()


def test_metrics_that_an_annotator_was_not_asked_are_left_out_and_named() -> None:
    untagged = [
        run.model_copy(update={"turns": tuple(turn.model_copy(update={"em_emotion_tags": ()}) for turn in run.turns)})
        for run in runs(_data(), [SimulatedModel("human/ann")], seed=3)
    ]
    scores, needs = _asked([*runs(_data(), _models("m", [0.3, 0.6]), seed=4), *untagged])
    said = "left out, as no conversation has the full answers of every annotator: Emotion F1"
    with pytest.warns(UserWarning, match=said):
        found = truth(scores, **needs, metrics=["avg_emotion_f1", PAIRWISE], resamples=200)
    assert set(found["metric"]) == {PAIRWISE}


def test_what_is_refused() -> None:
    scores, needs = _planted()
    with pytest.raises(MetricInputError, match="avg_response_similarity has no answers of annotators; expected one of"):
        truth(scores, **needs, metrics=["avg_response_similarity"])
    with pytest.raises(MetricInputError, match="was scored and is not in the data"):
        truth(scores, **{**needs, "data": list(_data())[1:]}, **QUICK)
    with pytest.raises(MetricInputError, match="name 'ann' is no name of a person; expected human/NAME"):
        read_as_run(_data()[0], "ann")


def test_answers_that_the_participant_did_not_give_stay_out() -> None:
    made: dict[str, Any] = {
        "conversationId": "c", "turns": [{
            "turnNumber": 1, "userMessage": "hello", "llmResponse": "hi",
            "annotations": {
                "binaryJudgements": [
                    {"questionId": "B1", "observedBehavior": "yes", "preferredBehavior": "na"},
                    {"questionId": "B2", "observedBehavior": "no", "preferredBehavior": "no"},
                ],
                "pairwiseComparisons": [
                    {"questionId": "PW1", "responseA": "original", "responseB": "human", "winner": None},
                    {"questionId": "PW1", "responseA": "original", "responseB": "human", "winner": "A"},
                ],
            },
        }],
    }  # fmt: skip
    said = Run.model_validate({
        "conversationId": "c", "em_model": "human/ann", "turns": [{
            "turnNumber": 1, "em_binary_om_assessment": {"B1": "no"},
            "em_binary_human_prediction": {"B1": "yes", "B2": "yes"}, "em_pairwise_selections": {"0": "B", "1": "B"},
        }],
    })  # fmt: skip
    found = read_as_truth(Conversation.model_validate(made), said).turns[0].annotations
    answers = [(one.observed_behavior, one.preferred_behavior) for one in found.binary_judgements]
    assert answers == [("no", "na"), ("na", "yes")]
    assert [one.winner for one in found.pairwise_comparisons] == [None, "B"]


@pytest.mark.slow
def test_order_changes_nothing_a_seed_repeats_and_all_metrics_are_there() -> None:
    scores, needs = _planted()
    options: dict[str, Any] = {"resamples": 200, "seed": 5}
    first = truth(scores, **needs, **options)
    assert set(first["metric"]) == set(METRICS)
    turned = list(reversed(needs["results"]))
    mixed, _ = _asked(turned)
    assert first.equals(truth(mixed, data=_data(), results=turned, **options))
    post = ["panas_baseline_adjusted", "four_branch_normalized", "composite_score"]
    assert set(truth(scores, **needs, **options, metrics=post)["metric"]) == {*post}


def test_the_figure_has_a_cell_for_each_truth_and_colours_by_the_ceiling() -> None:
    scores, needs = _planted()
    cells = truth_cells(scores, truth(scores, **needs, **QUICK))
    assert list(cells.x[1]) == ["participant", "human/ann", "human/self"]
    assert cells.y[1][0] == "hers3"
    by_cell = {(row["model"], row["truth"]): row for row in cells.rows}
    assert by_cell["hers3", "participant"]["over"] > 0 > by_cell["ann0", "participant"]["over"]
    assert by_cell["human/ann", "participant"]["over"] == 0
    assert "rank 1 [" in by_cell["hers3", "participant"]["shown"]
    assert "rank" not in by_cell["human/ann", "participant"]["shown"]
    assert ("human/ann", "human/ann") not in by_cell


@pytest.mark.slow
def test_the_page_has_the_section_or_says_what_it_needs() -> None:
    scores, needs = _planted()
    heading = "Scores against other annotators: Pairwise accuracy"
    page = scores.report(format="html", resamples=200, **needs)
    assert f"<h2>{heading}</h2>" in page
    assert "Above the best other annotator, against the participant" in page
    without = scores.report(format="html", resamples=200)
    assert f"<h2>{heading}</h2>" not in without
    models = scores.keep(groups=[group for group in scores.groups if not group[0].startswith("human/")])
    assert "runs of at least one person, called human/NAME" in models.report(format="html", resamples=200)
