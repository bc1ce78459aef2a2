"""Simulated models: skills, losses and biases are what was asked for, and every run is valid."""

from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from synthetic.conversations import conversations
from synthetic.participants import Effects
from synthetic.runs import SimulatedModel, runs

from attune_data import Conversation, Conversations, Run, Runs, load, load_runs

TASKS = ("emotion", "binary_om", "binary_human", "pairwise", "response", "panas", "wide")
PERFECT = SimulatedModel("perfect", **dict.fromkeys(TASKS, 1.0))
CHANCE = SimulatedModel("chance", **dict.fromkeys(TASKS, 0.0))


def diagnosed(conversation: Conversation) -> bool:
    return conversation.participant_profile.demographics.diagnoses != ("None of the above",)


def mean(values: Iterable[float]) -> float:
    numbers = list(values)
    return sum(numbers) / len(numbers)


def right_answers(run: Run, conversation: Conversation, field: str = "em_binary_om_assessment") -> list[bool]:
    return [
        getattr(turn, field).get(judgement.question_id) == judgement.observed_behavior
        for turn, truth in zip(run.turns, conversation.turns, strict=True)
        for judgement in truth.annotations.binary_judgements
        if judgement.observed_behavior in {"yes", "no"}
    ]


def right_choices(run: Run, conversation: Conversation) -> list[bool]:
    return [
        turn.em_pairwise_selections.get(str(index)) == comparison.winner
        for turn, truth in zip(run.turns, conversation.turns, strict=True)
        for index, comparison in enumerate(truth.annotations.pairwise_comparisons)
    ]


def pooled(model: SimulatedModel, measure: Callable[..., list[bool]], **options: Any) -> float:
    truths = load("demo")
    simulated = runs(truths, [model], seed=3)
    return mean(hit for run in simulated for hit in measure(run, truths[run.conversation_id], **options))


# --- The demonstration runs -------------------------------------------------------------------------------------------


def test_demo_runs_are_80_without_an_issue_each_with_its_conversation() -> None:
    truths, demo_runs = load("demo"), load_runs("demo", on_error="raise")
    assert demo_runs.issues.is_empty()
    assert len(demo_runs) == 80
    answered = {(run.em_model, run.conversation_id) for run in demo_runs}
    models = ("synthetic/attentive", "synthetic/hasty")
    assert answered == {(model, conversation.id) for model in models for conversation in truths}
    assert {run.mode for run in demo_runs} == {"default"}
    for run in demo_runs:
        truth = truths[run.conversation_id]
        assert [turn.turn_number for turn in run.turns] == [turn.turn_number for turn in truth.turns]


def test_the_attentive_demo_model_is_better_and_the_hasty_one_incomplete_and_biased() -> None:
    truths, demo_runs = load("demo"), load_runs("demo")
    by_model = {
        name: [run for run in demo_runs if run.em_model == name] for name in ("synthetic/attentive", "synthetic/hasty")
    }
    attentive, hasty = by_model.values()
    for measure in (right_answers, right_choices):
        better, worse = (
            mean(hit for run in own for hit in measure(run, truths[run.conversation_id])) for own in (attentive, hasty)
        )
        assert better > worse + 0.1

    def choices(own: list[Run]) -> Counter[str | None]:
        return Counter(choice for run in own for turn in run.turns for choice in turn.em_pairwise_selections.values())

    full, partial = choices(attentive), choices(hasty)
    assert full.total() == sum(len(turn.annotations.pairwise_comparisons) for c in truths for turn in c.turns)
    assert partial.total() < full.total()
    assert full["A"] / full.total() == pytest.approx(0.5, abs=0.05)
    assert partial["A"] / partial.total() > 0.58


# --- Simulated models -------------------------------------------------------------------------------------------------


def test_a_perfect_model_gives_the_participants_own_answers() -> None:
    truths = load("demo")
    for run in runs(truths, [PERFECT], seed=1):
        truth = truths[run.conversation_id]
        assert all(right_answers(run, truth))
        assert all(right_choices(run, truth))
        for turn, annotated in zip(run.turns, truth.turns, strict=True):
            tags = {tag.emotion: tag.intensity for tag in annotated.mood_shift_tags}
            assert {tag.emotion for tag in turn.em_emotion_tags} == tags.keys()
            assert all(tags[tag.emotion] in {tag.intensity, None} for tag in turn.em_emotion_tags)
            draft = turn.em_drafted_response.split()
            assert draft == annotated.annotations.alternate_responses.human_edited.split()
            assert turn.em_draft_judge_scores.overall_score == 7
        assert run.post_conversation
        predicted = run.post_conversation
        items = {word.lower(): rating for word, rating in predicted.predicted_post_panas.items.items()}
        assert items == truth.post_panas.responses
        wide = truth.conversation_wide_questions.model_dump(by_alias=True)
        assert predicted.predicted_conversation_wide.model_dump(by_alias=True) == wide


def test_a_model_without_skill_is_at_chance() -> None:
    assert pooled(CHANCE, right_answers) == pytest.approx(0.5, abs=0.03)
    assert pooled(CHANCE, right_choices) == pytest.approx(0.5, abs=0.03)
    truths = load("demo")
    for run in runs(truths, [CHANCE], seed=1):
        for turn, annotated in zip(run.turns, truths[run.conversation_id].turns, strict=True):
            own = annotated.annotations.alternate_responses.human_edited.lower().split()
            drafted = set(turn.em_drafted_response.lower().split())
            assert len(drafted & set(own)) / len(drafted | set(own)) < 0.15


@pytest.mark.parametrize(
    "options", [{"missing": 0.0}, {"missing": 0.2}, {"emotion": 0.3, "wide": 0.2, "response": 0.0}]
)
def test_runs_load_without_an_issue(tmp_path: Path, options: dict[str, float]) -> None:
    simulated = runs(load("demo"), [SimulatedModel("a/b", **options)], seed=9, mode="verbose")
    path = tmp_path / "runs.jsonl"
    path.write_bytes(b"".join(run.to_json() + b"\n" for run in simulated))
    loaded = load_runs(path, on_error="raise")
    assert loaded.issues.is_empty()
    assert list(loaded) == simulated
    assert all(run.complete and run.turns[0].emotion_reasoning for run in loaded)


def test_a_run_does_not_depend_on_what_else_is_simulated() -> None:
    truths = load("demo")
    alone = runs(truths[5:6], [CHANCE], seed=1)[0]
    among = Runs(runs(truths, [PERFECT, CHANCE], seed=1))[alone.id]
    assert alone.to_json() == among.to_json()
    assert alone.to_json() != runs(truths[5:6], [CHANCE], seed=2)[0].to_json()


def test_runs_of_conversations_that_are_not_synthetic() -> None:
    bare = Conversation(conversation_id="c1", turns=[{"turn_number": 1, "user_message": "Hello."}])
    run = runs([bare], [PERFECT])[0]
    assert run.turns[0].em_drafted_response
    assert run.post_conversation is not None


@pytest.mark.slow
def test_missing_bias_drift_and_phrasing_show() -> None:
    truths = load("demo")

    def turns(**options: float) -> list[tuple[int, Any]]:
        model = SimulatedModel("m", **options)
        return [(place, turn) for run in runs(truths, [model], seed=5) for place, turn in enumerate(run.turns)]

    chosen = [choice for _, turn in turns(position_bias=0.6) for choice in turn.em_pairwise_selections.values()]
    assert mean(choice == "A" for choice in chosen) == pytest.approx(0.8, abs=0.03)  # 0.6 + half of the rest
    judgements = [j for c in truths for turn in c.turns for j in turn.annotations.binary_judgements]
    asked = sum(judgement.observed_behavior != "na" for judgement in judgements)
    answered = sum(len(turn.em_binary_om_assessment) for _, turn in turns(missing=0.3))
    assert answered / asked == pytest.approx(0.7, abs=0.03)

    steady, shifted = SimulatedModel("m", binary_om=0.8), SimulatedModel("m", binary_om=0.8, hp_shift=-0.4)
    field = {"field": "em_binary_om_assessment_hp"}
    assert pooled(steady, right_answers, **field) - pooled(shifted, right_answers, **field) > 0.15
    assert pooled(steady, right_answers) == pytest.approx(pooled(shifted, right_answers), abs=0.03)

    drifting = runs(truths, [SimulatedModel("m", binary_om=1.0, drift=-0.2)], seed=5)
    early, late = [], []
    for run in drifting:
        truth = truths[run.conversation_id]
        first = sum(j.observed_behavior in {"yes", "no"} for j in truth.turns[0].annotations.binary_judgements)
        hits = right_answers(run, truth)
        early += hits[:first]
        late += hits[-first:]
    assert mean(early) == 1.0
    assert mean(late) < 0.8


def test_unclear_and_diagnosed_participants_are_read_worse_when_planted() -> None:
    effects = Effects(clarity_loss_diagnosed=0.5, diagnosis_rate=0.5)
    truths = Conversations(conversations(150, seed=6, effects=effects))
    model = SimulatedModel("m", emotion=0.9, binary_om=0.7, unclear_loss=0.8, diagnosed_om_shift=0.25)
    hits: dict[bool, list[bool]] = {False: [], True: []}
    accuracy: dict[bool, list[bool]] = {False: [], True: []}
    for run in runs(truths, [model], seed=6):
        truth = truths[run.conversation_id]
        accuracy[diagnosed(truth)] += right_answers(run, truth)
        for turn, annotated in zip(run.turns, truth.turns, strict=True):
            predicted = {tag.emotion for tag in turn.em_emotion_tags}
            hits[diagnosed(truth)] += [tag.emotion in predicted for tag in annotated.mood_shift_tags]
    assert mean(hits[False]) > mean(hits[True]) + 0.2
    assert mean(accuracy[True]) - mean(accuracy[False]) == pytest.approx(0.125, abs=0.03)  # half of what was shifted


def test_parameters_outside_their_range_are_refused() -> None:
    with pytest.raises(ValueError, match="position_bias is -2; expected -1 to 1"):
        SimulatedModel("m", position_bias=-2)
    with pytest.raises(ValueError, match="name is empty"):
        SimulatedModel("")
    with pytest.raises(ValueError, match="two models have the same name"):
        runs([], [CHANCE, CHANCE])
