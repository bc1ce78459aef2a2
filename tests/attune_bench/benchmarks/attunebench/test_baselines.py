"""The baselines: what they answer, and that they see no answer of the participant's."""

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
from slow_cases import slow_after

from attune_bench import score
from attune_bench.benchmarks.attunebench.baselines import (
    BASELINES,
    OBSERVED,
    Exchange,
    chance,
    find_emotions,
    lexicon,
    load_words,
    prefers,
    prior,
)
from attune_bench.benchmarks.attunebench.detail import records_of
from attune_bench.benchmarks.attunebench.scores_json import aggregates
from attune_bench.benchmarks.attunebench.task import write_runs
from attune_data import Collection, Conversation, Run, RunTurn, load, load_codebook, load_runs
from attune_data.attunebench.records import PostConversation

Json = dict[str, Any]
Demo = Collection[Conversation]
Predict = Callable[..., Collection[Run]]
Spawn = Callable[..., CompletedProcess[bytes]]
MakeConversation = Callable[..., Conversation]

OTHER_WIDE = {
    "fourBranchScores": {"perceiving": 1, "facilitating": 1, "understanding": 1, "managing": 1},
    "q1_lookingFor": ["Other"],
    "q2_emotionClarity": "Unclear / evolving as I talked",
    "q3_modelFit": "Mostly off-target or intrusive",
    "q3_followUp_whatFeltOff": ["Everything."],
}


@pytest.fixture(scope="module")
def demo() -> Demo:
    return load("demo")


def with_other_answers(conversation: Conversation) -> Conversation:
    """Return the conversation with every answer of the participant exchanged for another one."""
    record = json.loads(conversation.to_json())
    record["postPanas"] = {"responses": dict.fromkeys(record["prePanas"]["responses"], 7)}
    record["conversationWideQuestions"] = OTHER_WIDE
    other = {"yes": "no", "A": "B", "B": "A"}
    for turn in record["turns"]:
        turn["moodShiftTags"] = [{"emotion": "Attentive", "intensity": 1}] * (not turn["moodShiftTags"])
        for judgement in turn["annotations"]["binaryJudgements"]:
            for field in ("observedBehavior", "preferredBehavior"):
                judgement[field] = other.get(judgement[field], "yes")
            judgement["llmValue"] = "yes"
        for comparison in turn["annotations"]["pairwiseComparisons"]:
            comparison["winner"] = other.get(comparison["winner"], "A")
    return Conversation.model_validate(record)


def post_of(run: Run) -> PostConversation:
    assert run.post_conversation is not None
    return run.post_conversation


def tags_of(turn: RunTurn) -> dict[str, int | None]:
    return {tag.emotion: tag.intensity for tag in turn.em_emotion_tags}


@pytest.mark.parametrize("name", slow_after(1, BASELINES))
def test_a_baseline_predicts_everything_that_is_scored(name: str, demo: Demo) -> None:
    runs = BASELINES[name](demo)
    assert [run.conversation_id for run in runs] == [conversation.id for conversation in demo]
    assert {(run.em_model, run.mode, run.run_timestamp) for run in runs} == {(f"baseline/{name}", "default", None)}
    scores = score(demo, runs)
    assert scores.issues.is_empty()
    for record in records_of(scores):
        assert all(part["present"] == part["expected"] for part in record["coverage"].values())
    assert all(turn.em_drafted_response for run in runs for turn in run.turns)


@pytest.mark.parametrize("name", BASELINES)
def test_written_runs_load_unchanged_and_without_an_issue(name: str, demo: Demo, tmp_path: Path) -> None:
    runs = BASELINES[name](demo[:8])
    write_runs(runs, tmp_path)
    loaded = load_runs(tmp_path)
    assert loaded.issues.is_empty()
    assert {run.id: run for run in loaded} == {run.id: run for run in runs}


@pytest.mark.parametrize("predict", [chance, lexicon])
def test_predictions_do_not_depend_on_the_answers(predict: Predict, demo: Demo) -> None:
    hidden = [with_other_answers(conversation) for conversation in demo]
    assert list(predict(hidden)) == list(predict(demo))


@pytest.mark.slow
def test_prior_does_not_depend_on_the_answers_of_the_fold(demo: Demo) -> None:
    participants = sorted({conversation.participant_id or "" for conversation in demo})
    runs = prior(demo, folds=4)
    for first in range(4):
        fold = participants[first::4]
        changed = [with_other_answers(c) if c.participant_id in fold else c for c in demo]
        same = [a == b for a, b in zip(prior(changed, folds=4), runs, strict=True)]
        assert [c.participant_id in fold for c in demo] == same


@pytest.mark.slow
def test_predictions_are_the_same_in_every_process(demo: Demo, spawn: Spawn) -> None:
    code = (
        "import sys; from attune_bench.benchmarks.attunebench.baselines import BASELINES\n"
        "from attune_data import load\n"
        "for predict in BASELINES.values():\n"
        "    for run in predict(load('demo')[:6]): sys.stdout.buffer.write(run.to_json())"
    )
    here = b"".join(run.to_json() for predict in BASELINES.values() for run in predict(demo[:6]))
    assert {spawn(code=code, env={"PYTHONHASHSEED": seed}).stdout for seed in "12"} == {here}


@pytest.mark.parametrize("name", BASELINES)
@pytest.mark.parametrize(
    "changes",
    [
        {"turns": []},
        {"turns": [{"turnNumber": 1}], "prePanas": None, "postPanas": None},
        {"turns": [{"turnNumber": 2}, {"turnNumber": 1}, {"turnNumber": 2, "userMessage": "?!"}]},
        {"turns": [{"turnNumber": 1, "annotations": {"pairwiseComparisons": [{"responseA": None}]}}]},
        {"prePanas": {"responses": {"proud": None, "PROUD": 3, "blue": 4}, "totalNegativeAffect": 70}},
        {"participant_profile": None, "conversationWideQuestions": None},
    ],
)
def test_what_a_conversation_lacks_is_no_obstacle(
    name: str, changes: Json, make_conversation: MakeConversation, tmp_path: Path
) -> None:
    conversation = make_conversation(**changes)
    other = make_conversation(**changes | {"conversationId": "c2", "participant_profile": {"participant_id": "P2"}})
    runs = BASELINES[name]([conversation, other])
    assert all(run.complete for run in runs)
    assert [turn.turn_number for turn in runs[0].turns] == sorted({turn.turn_number for turn in conversation.turns})
    write_runs(runs, tmp_path)
    assert {issue.rule for issue in load_runs(tmp_path).found} <= {"no-turns"}
    assert len(BASELINES[name]([])) == 0


def test_chance_depends_on_seed_and_conversation_alone(demo: Demo) -> None:
    runs = chance(demo, seed=3)
    assert list(chance(demo[::-1], seed=3)[::-1]) == list(runs)
    assert all(a != b for a, b in zip(runs, chance(demo, seed=4), strict=True))


def test_chance_draws_all_there_is_to_draw(demo: Demo) -> None:
    turns = [turn for run in chance(demo) for turn in run.turns]
    assert {len(turn.em_emotion_tags) for turn in turns} == {0, 1, 2, 3}
    assert {tag.intensity for turn in turns for tag in turn.em_emotion_tags} == set(range(1, 8))
    assert len({tag.emotion for turn in turns for tag in turn.em_emotion_tags}) == 20
    messages = [turn.user_message for conversation in demo for turn in conversation.turns]
    for turn, message in zip(turns, messages, strict=True):
        assert set(turn.em_drafted_response.split()) <= set(message.split())
    # A fair coin, thrown for 480 comparisons or more: 0.5 within 4 standard errors of 0.023.
    choices = [choice for turn in turns for choice in turn.em_pairwise_selections.values()]
    assert choices.count("A") / len(choices) == pytest.approx(0.5, abs=0.09)


def _turn(tags: Json, judged: str = "", compared: str = "") -> Json:
    """Build a turn from "question observed preferred" and "question A B winner"; ``-`` is null."""

    def rows(text: str, *names: str) -> list[Json]:
        split = [row.replace("-", "").split(" ") for row in text.split(", ") if text]
        return [{name: value or None for name, value in zip(names, row, strict=True)} for row in split]

    annotations = {
        "binaryJudgements": rows(judged, "questionId", "observedBehavior", "preferredBehavior"),
        "pairwiseComparisons": rows(compared, "questionId", "responseA", "responseB", "winner"),
    }
    tagged = [{"emotion": emotion, "intensity": value} for emotion, value in tags.items()]
    return {"turnNumber": 1, "moodShiftTags": tagged, "annotations": annotations}


@pytest.fixture
def learned(make_conversation: MakeConversation) -> Run:
    """Return the prediction for participant P9, who is asked everything, from P1 (2 conversations), P2 and P3."""
    fit, misfit = {"q3_modelFit": "Mostly well-matched"}, {"q3_modelFit": "Mostly off-target or intrusive"}
    vent, calm = "To just listen or let me vent", "To help me calm down or feel steadier"
    first = _turn(
        {"Upset": 2, "Nervous": 5}, "B1 yes no, B2 no -, B3 na na", "PW1 human original B, PW2 human original A"
    )
    second = _turn({"Upset": 4, "Scared": None}, "B1 yes no, B2 no yes", "PW1 original human A, PW2 original human B")
    third = _turn({"nervous ": 6}, "B1 no no, B2 yes yes", "PW2 original human B, PW2 alternate human -")
    pairs = ("PW1 human original", "PW2 original human", "PW3 original human", "PW1 alternate human")
    asked = _turn({}, "B1 - -, B2 - -, B3 - -, B4 - -", " -, ".join((*pairs, "PW1 alternate original -")))
    rows: list[tuple[str, Json, Json]] = [
        ("P1", first, {"q1_lookingFor": [vent, calm], "q3_followUp_whatFeltOff": ["Too long", "Cold"], **misfit}),
        ("P1", second, {"q1_lookingFor": [calm, vent], "q3_followUp_whatFeltOff": ["Cold"], **misfit}),
        ("P2", third, {"q1_lookingFor": [vent], "fourBranchScores": {"perceiving": 2}, **fit}),
        ("P3", _turn({"Upset": 7, "Afraid": 3}), {"fourBranchScores": {"perceiving": 5}, **fit}),
        ("P9", asked, {}),
    ]
    conversations = []
    for index, (participant, turn, wide) in enumerate(rows):
        changes = {"participant_profile": {"participant_id": participant}, "conversationWideQuestions": wide}
        conversations.append(make_conversation(conversationId=f"c{index}", turns=[turn], **changes))
    return prior(conversations)[-1]


def test_prior_learns_the_most_frequent_answers(learned: Run) -> None:
    (turn,) = learned.turns
    # Observed, yes to no: B1 2:1, B2 1:2. Preferred: B1 0:3, B2 2:1, where one null falls back to the observed no.
    # B3 has only na and B4 was never asked: no.
    assert turn.em_binary_om_assessment == {"B1": "yes", "B2": "no", "B3": "no", "B4": "no"}
    assert turn.em_binary_human_prediction == {"B1": "no", "B2": "yes", "B3": "no", "B4": "no"}
    assert turn.em_binary_om_assessment_hp == turn.em_binary_om_assessment


def test_prior_learns_pairs_and_emotions(learned: Run) -> None:
    # PW1: original beat human 2:0, so B. PW2: human beat original 3:0, so B. PW3 was never asked: over all questions
    # human leads 3:2, so B. No winner is known between alternate and the others: human before alternate (B), and
    # alternate before original (A).
    assert learned.turns[0].em_pairwise_selections == {"0": "B", "1": "B", "2": "B", "3": "B", "4": "A"}
    # Two emotions in 3 of 4 turns; Upset 3 times, Nervous twice. Medians of 2, 4, 7 and, the lower one, of 5, 6.
    assert tags_of(learned.turns[0]) == {"Upset": 4, "Nervous": 5}


def test_prior_learns_the_whole_conversation(learned: Run) -> None:
    wide = post_of(learned).predicted_conversation_wide
    # One set twice, whatever its order; one other and an empty one once each.
    assert wide.q1_looking_for == ("To help me calm down or feel steadier", "To just listen or let me vent")
    # Twice each; the tie goes to the alphabet: "Mostly off..." before "Mostly well...".
    assert wide.q3_model_fit == "Mostly off-target or intrusive"
    assert wide.q3_follow_up_what_felt_off == ("Cold",)
    assert (wide.four_branch_scores.perceiving, wide.four_branch_scores.managing) == (2, 4)


@pytest.mark.slow
def test_prior_takes_the_pre_panas_for_the_post_panas(demo: Demo) -> None:
    for conversation, run in zip(demo, prior(demo), strict=True):
        guess = post_of(run).predicted_post_panas.items
        assert {word.lower(): rating for word, rating in guess.items()} == conversation.pre_panas.responses
    assert aggregates(score(demo, prior(demo)))[0]["panas_baseline_adjusted"] == 0


def test_prior_of_one_participant_is_the_default(make_conversation: MakeConversation) -> None:
    (run,) = prior([make_conversation()])
    assert set(run.turns[0].em_binary_om_assessment.values()) == {"no"}
    # original-alternate, alternate-human, human-original, original-human: the label order decides.
    assert run.turns[0].em_pairwise_selections == {"0": "B", "1": "B", "2": "A", "3": "B"}
    assert [turn.em_emotion_tags for turn in run.turns] == [(), (), ()]
    wide = post_of(run).predicted_conversation_wide
    assert (wide.q1_looking_for, wide.q2_emotion_clarity, wide.q3_model_fit) == ((), None, None)
    assert wide.four_branch_scores.perceiving == 4


def test_prior_tells_conversations_without_participant_apart(make_conversation: MakeConversation) -> None:
    turns = [_turn({"Proud": 3})]
    nameless = [make_conversation(conversationId=c, participant_profile=None, turns=turns) for c in ("a", "b")]
    assert [tags_of(run.turns[0]) for run in prior(nameless)] == [{"Proud": 3}] * 2


def test_prior_needs_two_folds(demo: Demo) -> None:
    with pytest.raises(ValueError, match="folds is 1; at least 2"):
        prior(demo, folds=1)


FOUND = {
    "": {},
    "I am AFRAID": {"Afraid": 4},
    "I'm so afraid": {"Afraid": 5},
    "I'm a bit afraid": {"Afraid": 3},
    "I'm not really afraid, but angry": {"Hostile": 4, "Irritable": 4},
    "I don\u2019t feel guilty": {},
    "Not that it matters to you or to me, I am proud": {"Proud": 4},
    "I can't sleep": {"Jittery": 4},
    "Afraid. Afraid, afraid, afraid, so afraid": {"Afraid": 7},
    "Proud, and then embarrassed and ashamed": {"Ashamed": 5, "Proud": 4},
}


@pytest.mark.parametrize("text", FOUND)
def test_emotions_are_found_by_their_words(text: str) -> None:
    assert find_emotions(text) == FOUND[text]


def test_the_lexicon_knows_every_emotion_and_every_question() -> None:
    codebook, words = load_codebook(), load_words()
    told = {emotion for emotions in (*words.entries.values(), *words.stems.values()) for emotion in emotions}
    assert told == {emotion.word for emotion in codebook.emotions.values()}
    for emotion in told:
        assert emotion in find_emotions(f"I feel {emotion.lower()}")
    assert OBSERVED.keys() == codebook.binary.keys()
    assert codebook.binary.keys() >= words.wanted | words.guidance
    assert all(len(entry.split()) <= 2 for entry in words.entries)


ROW = "My sister skipped the funeral and I am so angry and sad"
# By question: a reply that does it, and one that does not.
REPLIES = {
    "B1": ("That must be hard.", "Which day was it?"),
    "B3": ("Your sister skipped the funeral.", "Which day was it?"),
    "B4": ("You can be both at once.", "What a day."),
    "B6": ("You are ashamed of her.", "Perhaps you are ashamed of her."),
    "B7": ("It sounds like a heavy day.", "It was a heavy day."),
    "B11": ("You should call her.", "What a day."),
    "B13": ("Which day was it?", "It was a day."),
    "B14": ("You should have called.", "What a day."),
    "B19": ("That makes sense.", "Next."),
    "B206": ("It is important to communicate with individuals.", "What a day."),
    "B311": ("Bread needs salt.", "The funeral."),
    "B313": ("You should call her. Would you?", "Would you like to say more? You could call her."),
    "B502": ("She may see it otherwise.", "It was a day."),
    "B505": ("What would you tell her?", "Is it Monday?"),
}


@pytest.mark.parametrize("question", REPLIES)
def test_binary_rules(question: str) -> None:
    assert [OBSERVED[question](Exchange(ROW, reply)) for reply in REPLIES[question]] == [True, False]


def test_rules_that_look_beyond_the_reply() -> None:
    assert OBSERVED["B17"](Exchange("I want to die", "Call a crisis line."))
    assert not OBSERVED["B17"](Exchange(ROW, "Call a crisis line."))
    earlier = ("You could write your sister a letter.",)
    for question, reply in (
        ("B408", "I recommend that letter to your sister."),
        ("B16", "You're right, I misread that."),
    ):
        assert OBSERVED[question](Exchange(ROW, reply, earlier))
        assert not OBSERVED[question](Exchange(ROW, reply))


def test_understanding_is_wanted_always_and_guidance_when_asked_for() -> None:
    assert [prefers(question, Exchange(ROW, "")) for question in ("B19", "B14", "B11")] == [True, False, False]
    assert prefers("B11", Exchange("What should I do?", ""))


def test_lexicon_reads_a_conversation(make_conversation: MakeConversation) -> None:
    turn = _turn({}, "B13 - -, B999 - -", "PW1 original alternate -, PW1 alternate human -, PW1 original human -")
    turn |= {"userMessage": "My sister skipped the funeral, I am so angry.", "llmResponse": "Grief is common."}
    turn["annotations"]["alternateResponses"] = {"llmImproved": "Your sister skipped it?", "humanEdited": "Bread."}
    turns = [turn, {"turnNumber": 2, "userMessage": "Well. Monday it is."}]
    pre = {"responses": {"hostile": 7, "irritable": 2, "guilty": 3, "scared": 1, "proud": 4}}
    (run,) = lexicon([make_conversation(turns=turns, prePanas=pre)])
    # The second message has no emotion word and keeps the emotions of the first.
    assert [tags_of(turn) for turn in run.turns] == [{"Hostile": 5, "Irritable": 5}] * 2
    # Only the alternate shares content words with the message; of original and human neither does: A.
    assert run.turns[0].em_pairwise_selections == {"0": "B", "1": "A", "2": "A"}
    assert run.turns[0].em_binary_om_assessment == {"B13": "no", "B999": "no"}
    assert run.turns[0].em_drafted_response.startswith('It sounds like you feel hostile. "I am so angry"')
    # What was felt last rises by one, other negative affect falls by one, both within 1-7.
    after = {"Hostile": 7, "Irritable": 3, "Guilty": 2, "Scared": 1, "Proud": 4}
    assert post_of(run).predicted_post_panas.items == after
    assert post_of(run).predicted_conversation_wide.q1_looking_for == ("To just listen or let me vent",)


@pytest.mark.slow
def test_lexicon_beats_chance_on_the_demo(demo: Demo) -> None:
    [by_hand] = aggregates(score(demo, lexicon(demo)))
    [drawn] = aggregates(score(demo, chance(demo, seed=0)))
    for name in ("avg_emotion_va_score", "avg_binary_om_accuracy", "avg_binary_human_accuracy", "composite_score"):
        assert by_hand[name] > drawn[name] + 0.05, name
