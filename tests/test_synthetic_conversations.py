"""The generator: the same bytes for the same seed, valid records, believable texts, planted effects that show."""

import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from synthetic.conversations import ARCS, conversations
from synthetic.participants import PERSONAS, Effects

from attune_data import Conversation, load, load_codebook

TEXTS = ("user", "veiled", "original", "improved", "human")


@cache
def arcs() -> dict[str, dict[str, Any]]:
    return {path.stem: tomllib.loads(path.read_text(encoding="utf-8")) for path in sorted(ARCS.glob("*.toml"))}


def arc_of(conversation: Conversation) -> str:
    return str((conversation.metadata.model_extra or {})["synthetic"]["arc"])


def diagnosed(conversation: Conversation) -> bool:
    return conversation.participant_profile.demographics.diagnoses != ("None of the above",)


def mean(values: Iterable[float]) -> float:
    numbers = list(values)
    return sum(numbers) / len(numbers)


# --- The demonstration data -------------------------------------------------------------------------------------------


def test_demo_is_40_conversations_by_24_participants_without_an_issue() -> None:
    demo = load("demo", on_error="raise")
    assert len(demo) == 40
    assert len({conversation.participant_id for conversation in demo}) == 24
    assert demo.issues.is_empty()
    assert all(conversation.synthetic for conversation in demo)
    assert set(Counter(map(arc_of, demo)).values()) == {2}


def test_demo_is_diverse() -> None:
    people = {c.participant_id: c.participant_profile.demographics for c in load("demo")}.values()
    assert len({person.gender for person in people}) >= 2
    assert len({person.age_range for person in people}) >= 5
    assert len({person.country for person in people}) >= 4
    healthy = sum(person.diagnoses == ("None of the above",) for person in people)
    assert 8 <= healthy <= 16
    diagnoses = {name for person in people for name in person.diagnoses}
    assert {"Anxiety disorder", "Depression", "ADHD", "Autism spectrum disorder"} <= diagnoses


def test_demo_texts_are_filled_and_the_two_tellings_of_a_story_differ() -> None:
    told = defaultdict(set)
    for conversation in load("demo"):
        for turn in conversation.turns:
            alternates = turn.annotations.alternate_responses
            for text in (turn.user_message, turn.llm_response, alternates.llm_improved, alternates.human_edited):
                assert text
                assert text == text.strip()
                assert not re.search(r"[{}]", text)
        told[arc_of(conversation)].add(tuple(turn.user_message for turn in conversation.turns))
    assert {len(tellings) for tellings in told.values()} == {2}


def test_every_demo_participant_tells_stories_of_one_persona() -> None:
    told = defaultdict(set)
    for conversation in load("demo"):
        told[conversation.participant_id].add(arc_of(conversation))
    for stories in told.values():
        assert any(stories <= set(persona.arcs) for persona in PERSONAS)


# --- The stories ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", arcs())
def test_arc_is_complete(name: str) -> None:
    arc, codebook = arcs()[name], load_codebook()
    assert arc.keys() == {
        "id", "category", "subtopic", "attitude", "looking_for", "felt_off", "slots", "turns",
    }  # fmt: skip
    assert arc["id"] == name
    assert set(arc["looking_for"]) <= set(codebook.q1_options)
    assert len(arc["felt_off"]) == 3
    assert all(len(choices) == 4 for choices in arc["slots"].values())
    assert 4 <= len(arc["turns"]) <= 6
    for turn in arc["turns"]:
        assert turn.keys() == {*TEXTS, "emotions", "shows", "na"}
        assert all(turn[text].strip() for text in TEXTS)
        assert {word.lower() for word in turn["emotions"]} <= codebook.emotions.keys()
        assert all(word.istitle() and 1 <= value <= 7 for word, value in turn["emotions"].items())
        assert len(turn["emotions"]) <= 3
        assert set(turn["shows"]) | set(turn["na"]) <= codebook.binary.keys()
        assert not set(turn["shows"]) & set(turn["na"])
    used = {slot for turn in arc["turns"] for text in TEXTS for slot in re.findall(r"\{(.*?)\}", turn[text])}
    assert used == arc["slots"].keys()


def test_stories_cover_many_topics_and_every_story_has_a_teller() -> None:
    stories = arcs()
    assert len(stories) >= 12
    assert len({arc["category"] for arc in stories.values()}) >= 6
    assert Counter(arc for persona in PERSONAS for arc in persona.arcs) == Counter(list(stories))


# --- Conversations ----------------------------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others() -> None:
    first, again, other = (conversations(12, seed=seed) for seed in (7, 7, 8))
    assert [c.to_json() for c in first] == [c.to_json() for c in again]
    assert not {c.id for c in first} & {c.id for c in other}


@pytest.mark.slow
def test_generated_conversations_load_without_an_issue(tmp_path: Path) -> None:
    generated = conversations(200, seed=4, turns=(1, 9))
    for number, conversation in enumerate(generated):
        (tmp_path / f"conversation_{number:03}.json").write_bytes(conversation.to_json(indent=2))
    loaded = load(tmp_path, on_error="raise")
    assert loaded.issues.is_empty()
    assert list(loaded) == list(generated)


def test_traits_stay_with_the_participant_and_no_story_is_told_twice() -> None:
    profiles, stories = defaultdict(set), defaultdict(list)
    for conversation in conversations(60, participants=5, seed=2):
        profile = conversation.participant_profile.model_dump(exclude={"conversation_topic_attitude"})
        profiles[conversation.participant_id].add(repr(profile))
        stories[conversation.participant_id].append(arc_of(conversation))
    assert len(profiles) == 5
    assert {len(found) for found in profiles.values()} == {1}
    assert all(len(set(found)) == len(found) == 12 for found in stories.values())


@pytest.mark.slow
def test_screening_scores_are_in_range_and_sometimes_missing() -> None:
    highest = {"who_5": 25, "asrs_6": 6, "aq_10": 10, "promis_anxiety": 20, "promis_depression": 20, "promis_sleep": 20}
    people = conversations(400, participants=400, seed=1)
    scores = [person.participant_profile.computed_scores.model_dump(exclude_unset=True) for person in people]
    for name, high in highest.items():
        values = [score[name] for score in scores if name in score]
        assert len(values) < 400
        low = 4 if name.startswith("promis") else 0
        assert low <= min(values) <= max(values) <= high
    tipi = [value for score in scores for name, value in score.items() if name.startswith("tipi")]
    assert 2 <= min(tipi) <= max(tipi) <= 14
    with_adhd = [
        person.participant_profile.computed_scores.asrs_6 or 0
        for person in people
        if "ADHD" in person.participant_profile.demographics.diagnoses
    ]
    assert mean(with_adhd) > mean(score.get("asrs_6", 0) for score in scores) + 1


def test_turns_are_padded_from_the_same_category() -> None:
    long = conversations(6, seed=0, turns=30)
    assert {len(conversation.turns) for conversation in long} == {30}
    assert [turn.turn_number for turn in long[0].turns] == list(range(1, 31))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n": 3, "participants": 4}, "3 conversations by 4 participants"),
        ({"n": 41, "participants": 2}, "41 conversations by 2 participants"),
        ({"n": 0}, "0 conversations"),
        ({"n": 5, "turns": 0}, "turns is 0"),
        ({"n": 5, "turns": (4, 2)}, "turns is"),
    ],
)
def test_impossible_requests_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        conversations(**arguments)


def test_parameters_outside_their_range_are_refused() -> None:
    with pytest.raises(ValueError, match=r"clarity is 1\.5; expected 0 to 1"):
        Effects(clarity=1.5)
    with pytest.raises(ValueError, match="preference_strength is nan"):
        Effects(preference_strength=float("nan"))


# --- Planted effects show ---------------------------------------------------------------------------------------------


@cache
def generate(**effects: float) -> list[Conversation]:
    return list(conversations(150, seed=11, effects=Effects(**effects)))


def arc_agreement(conversation: Conversation) -> float:
    """Return the Jaccard index of the tags with the emotions that the story means, mean over turns."""
    did_you_mean = [set(turn["emotions"]) for turn in arcs()[arc_of(conversation)]["turns"]]
    tagged = [{tag.emotion for tag in turn.mood_shift_tags} for turn in conversation.turns]
    return mean(len(a & b) / len(a | b) if a | b else 1.0 for a, b in zip(did_you_mean, tagged, strict=True))


def named_share(conversations: Iterable[Conversation]) -> float:
    """Return the share of turns whose message names its feelings."""
    return mean(
        len(shared_words(turn.user_message, story["user"])) > len(shared_words(turn.user_message, story["veiled"]))
        for conversation in conversations
        for turn, story in zip(conversation.turns, arcs()[arc_of(conversation)]["turns"], strict=True)
    )


def shared_words(message: str, template: str) -> set[str]:
    return set(message.split()) & set(template.split())


def observed_share(conversations: Iterable[Conversation]) -> float:
    """Return the share of asked questions whose answer is what the story's reply shows."""
    return mean(
        (judgement.observed_behavior == "yes") == (judgement.question_id in story["shows"])
        for conversation in conversations
        for turn, story in zip(conversation.turns, arcs()[arc_of(conversation)]["turns"], strict=True)
        for judgement in turn.annotations.binary_judgements
        if judgement.observed_behavior in {"yes", "no"}
    )


def human_share(conversations: Iterable[Conversation]) -> float:
    """Return how often the human's own response wins against the original."""
    return mean(
        {"A": comparison.response_a, "B": comparison.response_b}[comparison.winner or "A"] == "human"
        for conversation in conversations
        for turn in conversation.turns
        for comparison in turn.annotations.pairwise_comparisons
        if {comparison.response_a, comparison.response_b} == {"human", "original"}
    )


def panas_change(conversations: Iterable[Conversation]) -> float:
    return mean(
        abs(conversation.post_panas.responses[word] - rating)  # type: ignore[operator]
        for conversation in conversations
        for word, rating in conversation.pre_panas.responses.items()
    )


@pytest.mark.parametrize(
    ("measure", "low", "high"),
    [
        (lambda cs: mean(map(arc_agreement, cs)), {"clarity": 0.2}, {"clarity": 0.9}),
        pytest.param(named_share, {"clarity": 0.2}, {"clarity": 0.9}, marks=pytest.mark.slow),
        pytest.param(
            lambda cs: mean(map(diagnosed, cs)),
            {"diagnosis_rate": 0.1},
            {"diagnosis_rate": 0.7},
            marks=pytest.mark.slow,
        ),
        pytest.param(observed_share, {"label_noise": 0.3}, {"label_noise": 0.0}, marks=pytest.mark.slow),
        pytest.param(human_share, {"preference_strength": 0.0}, {"preference_strength": 5.0}, marks=pytest.mark.slow),
        (panas_change, {"panas_shift": 0.0}, {"panas_shift": 1.0}),
    ],
)
def test_an_effect_moves_what_it_should(
    measure: Callable[[list[Conversation]], float], low: dict[str, float], high: dict[str, float]
) -> None:
    assert measure(generate(**high)) > measure(generate(**low)) + 0.15


@pytest.mark.slow
def test_extreme_effects_are_exact() -> None:
    clear = generate(clarity=1.0, clarity_loss_diagnosed=-1.0, diagnosis_rate=1.0, null_rate=0.0)
    assert mean(map(arc_agreement, clear)) == 1.0
    assert named_share(clear) == 1.0
    exact = generate(label_noise=0.0, null_rate=0.0, preference_strength=1000.0)
    assert observed_share(exact) == 1.0
    assert human_share(exact) == 1.0


@pytest.mark.slow
def test_diagnosed_participants_are_harder_to_read_when_planted() -> None:
    conversations = generate(clarity_loss_diagnosed=0.5, diagnosis_rate=0.5)
    groups = [[c for c in conversations if diagnosed(c) is group] for group in (False, True)]
    for measure in (lambda cs: mean(map(arc_agreement, cs)), named_share):
        none, some = map(measure, groups)
        assert none > some + 0.15
    flat = generate(clarity_loss_diagnosed=0.0, diagnosis_rate=0.5)
    none, some = (named_share(c for c in flat if diagnosed(c) is group) for group in (False, True))
    assert abs(none - some) < 0.1


@pytest.mark.slow
def test_label_noise_can_differ_by_group() -> None:
    conversations = generate(label_noise=0.05, label_noise_diagnosed=0.25, diagnosis_rate=0.5)
    none, some = (observed_share(c for c in conversations if diagnosed(c) is group) for group in (False, True))
    assert none - some == pytest.approx(0.25, abs=0.05)


def test_nulls_and_na_come_at_the_rate_that_was_asked_for() -> None:
    conversations = generate(null_rate=0.2, null_winner_rate=0.3, na_rate=0.0, clarity=1.0, clarity_loss_diagnosed=0.0)
    turns = [turn for conversation in conversations for turn in conversation.turns]
    answers = [judgement.observed_behavior for turn in turns for judgement in turn.annotations.binary_judgements]
    winners = [comparison.winner for turn in turns for comparison in turn.annotations.pairwise_comparisons]
    assert mean(answer is None for answer in answers) == pytest.approx(0.2, abs=0.02)
    assert mean(winner is None for winner in winners) == pytest.approx(0.3, abs=0.02)
    assert "na" not in answers
    assert all(12 <= len(turn.annotations.binary_judgements) <= 18 for turn in turns)


@pytest.mark.slow
def test_first_words_about_the_whole_follow_the_annotation() -> None:
    codebook = load_codebook()
    ratings = defaultdict(list)
    for conversation in generate():
        wide = conversation.conversation_wide_questions
        negative = wide.q3_model_fit in codebook.q3_negative
        assert bool(wide.q3_follow_up_what_felt_off) is negative
        ratings[wide.q3_model_fit].append(wide.four_branch_scores.perceiving or 0)
    means = [mean(ratings[option]) for option in codebook.q3_options]
    assert means == sorted(means, reverse=True)
