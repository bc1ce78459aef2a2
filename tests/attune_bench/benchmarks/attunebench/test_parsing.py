"""What is read from an answer: lenient about its form, nothing guessed, nothing raised."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attune_bench.benchmarks.attunebench import parsing
from attune_bench.benchmarks.attunebench.baselines import Pair
from attune_bench.benchmarks.attunebench.parsing import Tally
from attune_bench.runner import find_object
from attune_data import RunTurn, load_codebook
from attune_data.attunebench.records import PostConversation

Json = dict[str, Any]

CODEBOOK = load_codebook()
WORDS = [emotion.word for emotion in CODEBOOK.emotions.values()]
ASKED = ("B1", "B7")


def emotions(answer: Json) -> tuple[Json, int]:
    tally = Tally()
    return parsing.read_emotions(answer, tally, ASKED, CODEBOOK), tally.dropped


def post(answer: Json, strategy: str = "absolute", pre: Json | None = None) -> tuple[Json, int]:
    tally = Tally()
    fields = parsing.read_post(answer, tally, CODEBOOK, strategy=strategy, pre_items=pre or {})
    return fields, tally.dropped


# Drafts.


@pytest.mark.parametrize(
    ("answer", "fields"),
    [
        ({"drafted_response": "I see."}, {"em_drafted_response": "I see."}),
        (
            {"response_reasoning": "Why.", "drafted_response": "I see."},
            {"em_drafted_response": "I see.", "response_reasoning": "Why."},
        ),
        ({"drafted_response": "I see.", "response_reasoning": None}, {"em_drafted_response": "I see."}),
        ({"drafted_response": "I see.", "response_reasoning": ["a"]}, {"em_drafted_response": "I see."}),
        ({"response_reasoning": "Why."}, {}),
        ({"drafted_response": " \n"}, {}),
        ({"drafted_response": None}, {}),
        ({"drafted_response": ["I see."]}, {}),
        ({"drafted_response": {"text": "I see."}}, {}),
        ({"drafted_response": True}, {}),
    ],
)
def test_drafts(answer: Json, fields: Json) -> None:
    assert parsing.read_draft(answer, Tally()) == fields


# Emotions and questions.


@pytest.mark.parametrize(
    ("said", "tags", "dropped"),
    [
        ([{"emotion": "Proud", "intensity": 5}], [("Proud", 5)], 0),
        ([{"emotion": " proud ", "intensity": "5"}], [("Proud", 5)], 0),
        ([{"emotion": "UPSET", "intensity": "intense"}], [("Upset", 6)], 0),
        ([{"emotion": "Upset", "intensity": 9}, {"emotion": "Alert", "intensity": 0}], [("Upset", 7), ("Alert", 1)], 0),
        ([{"emotion": "Upset", "intensity": 4.6}], [("Upset", 5)], 0),
        ([{"emotion": "Upset"}, {"emotion": "Alert", "intensity": None}], [("Upset", None), ("Alert", None)], 0),
        ([{"emotion": "Upset", "intensity": "very"}], [("Upset", None)], 1),
        ([{"emotion": "Upset", "intensity": True}], [("Upset", None)], 1),
        ([{"emotion": "Upset", "intensity": float("nan")}], [("Upset", None)], 1),
        ([{"emotion": "Happy", "intensity": 5}, {"emotion": "Proud", "intensity": 5}], [("Proud", 5)], 1),
        ([{"emotion": "Happy"}, {"emotion": "Sad"}], [], 2),
        (["Proud", "neutral"], [("Proud", None)], 0),
        ([{"emotion": "Neutral", "intensity": 1}], [], 0),
        ([{"emotion": "no change"}], [], 0),
        ("Neutral", [], 0),
        ("No change ", [], 0),
        ("none", [], 0),
        ([{"emotion": "None"}, "stable", "No clear  shift", {"emotion": "no emotion", "intensity": None}], [], 0),
        ("Proud", [("Proud", None)], 0),
        ([], [], 0),
        ([None, 3, {"word": "Proud"}, {"emotion": 3}, ["Proud"]], [], 5),
    ],
)
def test_emotions(said: Any, tags: list[tuple[str, int | None]], dropped: int) -> None:
    expected = [{"emotion": word, "intensity": intensity} for word, intensity in tags]
    assert emotions({"emotions": said}) == ({"em_emotion_tags": expected}, dropped)


@pytest.mark.parametrize(("said", "dropped"), [(None, 0), (3, 1), ({"Proud": 5}, 1), (True, 1)])
def test_no_list_of_emotions_is_no_answer(said: Any, dropped: int) -> None:
    assert emotions({"emotions": said, "emotion_reasoning": "x"}) == ({}, dropped)


@pytest.mark.parametrize(
    ("said", "observed", "preferred", "dropped"),
    [
        ({"B1": {"observed": "yes", "preferred": "no"}}, {"B1": "yes"}, {"B1": "no"}, 0),
        ({" b1": {"observed": True, "preferred": "N/A"}}, {"B1": "yes"}, {"B1": "na"}, 0),
        ({"B1": {"observed": "Y", "preferred": 0}}, {"B1": "yes"}, {"B1": "no"}, 0),
        ({"B1": {"observed": "maybe", "preferred": "no"}}, None, {"B1": "no"}, 1),
        ({"B1": {"observed": None}, "B7": {"preferred": "YES"}}, None, {"B7": "yes"}, 0),
        ({"B1": "yes", "B7": {"observed": "no"}}, {"B7": "no"}, None, 1),
        ({"B1": {"observed": "yes"}, "b1": {"observed": "no"}}, {"B1": "yes"}, None, 0),
        ({"b1": {"observed": "no"}, "B1": {"observed": "yes"}}, {"B1": "yes"}, None, 0),
        ({"B2": {"observed": "no"}, "B7": {"observed": "no"}}, {"B7": "no"}, None, 1),
        ({"B1": None}, None, None, 0),
        (["yes", "no"], None, None, 1),
        ("yes", None, None, 1),
        ({}, None, None, 0),
    ],
)
def test_questions(said: Any, observed: Json | None, preferred: Json | None, dropped: int) -> None:
    tally = Tally()
    fields = parsing.read_questions({"answers": said}, tally, ASKED, "_hp")
    expected = {"em_binary_om_assessment_hp": observed, "em_binary_human_prediction_hp": preferred}
    assert fields == {name: answers for name, answers in expected.items() if answers}
    assert tally.dropped == dropped


def test_answers_beside_the_key_they_belong_under() -> None:
    fields, dropped = emotions({"emotions": [], "B1": {"observed": "yes", "preferred": "no"}, "note": 1})
    assert fields["em_binary_om_assessment"] == {"B1": "yes"}
    assert dropped == 0


# Comparisons.


@pytest.mark.parametrize(
    ("said", "pair", "choice"),
    [
        ("A", ("original", "human"), "A"),
        ("b", ("original", "human"), "B"),
        ("response_2", ("original", "human"), "B"),
        ("original", ("original", "human"), "A"),
        ("alternate2", ("original", "human"), "B"),
        (" Human ", ("original", "human"), "B"),
        ("humanEdited", ("original", "human"), "B"),
        ("alternate1", ("alternate", "original"), "A"),
        ("alternate", ("original", "alternate"), "B"),
        ("llmImproved", ("original", "alternate"), "B"),
        # The label of neither side, of both sides, and of no response.
        ("alternate1", ("original", "human"), None),
        ("original", ("original", "original"), None),
        ("alternate2", ("original", None), None),
        ("unknown", (None, "original"), None),
        ("neither", ("original", "human"), None),
        ("A or B", ("original", "human"), None),
        (["A"], ("original", "human"), None),
    ],
)
def test_comparisons(said: Any, pair: tuple[str | None, str | None], choice: str | None) -> None:
    tally = Tally()
    pairs = [Pair("general", "human", "alternate"), Pair("general", *pair)]
    fields = parsing.read_pairwise({"choices": {"0": "A", "1": said}}, tally, pairs)
    assert fields == {"em_pairwise_selections": {"0": "A"} | ({"1": choice} if choice else {})}
    assert tally.dropped == (choice is None)


# Judges.


def test_judgements() -> None:
    answer = {"overall_score": "6", "helpfulness": 9, "tone_match": 4.5, "answers": {"B1": "yes", "B7": "dunno"}}
    fields, dropped = parsing.Judgement(tuple(ASKED), rated=True).read(answer)
    scores = {"overall_score": 6, "helpfulness": 7, "tone_match": 4.5}
    assert fields == {"em_draft_judge_scores": scores, "em_draft_binary_assessment": {"B1": "yes"}}
    assert dropped == 1
    assert parsing.Judgement((), rated=False).read(answer) == ({}, 0)


@pytest.mark.parametrize(
    ("votes", "merged"),
    [
        (["yes"], "yes"),
        (["no", "no", "yes"], "no"),
        (["no", "yes"], "yes"),
        (["no", "yes", "na"], "yes"),
        (["no", "na", "na"], "no"),
        (["na", "na"], "na"),
    ],
)
def test_majority(votes: list[str], merged: str) -> None:
    by_judge = {f"judge {n}": {"em_draft_binary_assessment": {"B1": vote}} for n, vote in enumerate(votes)}
    fields = parsing.merge_judgements(by_judge)
    assert fields["em_draft_binary_assessment"] == {"B1": merged}
    assert len(fields["em_draft_binary_assessment_by_model"]) == len(votes)


def test_no_judge_gave_anything() -> None:
    assert parsing.merge_judgements({}) == parsing.merge_judgements({"one": {}}) == {}


# After the conversation.


def test_totals_are_summed_only_from_ten_items() -> None:
    # Ten positive items of 4 make 40; nine negative ones make no total.
    fields, dropped = post({"panas": {**dict.fromkeys(WORDS[:10], 4), **dict.fromkeys(WORDS[10:19], 2)}})
    assert fields["predicted_post_panas"]["totalPositiveAffect"] == 40
    assert "totalNegativeAffect" not in fields["predicted_post_panas"]
    assert len(fields["predicted_post_panas"]["items"]) == 19
    assert dropped == 0


def test_a_total_that_the_model_names_is_not_used() -> None:
    fields, dropped = post({"panas": {**dict.fromkeys(WORDS, 4), "totalPositiveAffect": 45, "totalNegativeAffect": 40}})
    panas = fields["predicted_post_panas"]
    # Ten items of 4.
    assert (panas["totalPositiveAffect"], panas["totalNegativeAffect"]) == (40, 40)
    assert dropped == 2
    fields, _ = post({"panas": {**dict.fromkeys(WORDS[:9], 4), "totalPositiveAffect": 45}, "totalPositiveAffect": 45})
    assert fields == {"predicted_post_panas": {"items": dict.fromkeys(WORDS[:9], 4)}}
    assert post({"panas": {"totalPositiveAffect": 40, "totalNegativeAffect": 40}})[0] == {}


def test_an_integer_of_any_length_costs_no_other_answer() -> None:
    digits = "9" * 5000
    found = find_object(f'{{"panas": {{"Proud": {digits}, "Upset": -{digits}, "Alert": 3}}, "note": {digits}}}')
    assert found is not None
    # Out of range like any other number too large, hence clamped.
    assert post(found.value)[0]["predicted_post_panas"]["items"] == {"Proud": 7, "Upset": 1, "Alert": 3}


@pytest.mark.parametrize("literal", ["NaN", "Infinity", "-Infinity", "1e999", "9" * 5000])
def test_what_is_no_finite_number_is_no_text(literal: str) -> None:
    found = find_object(
        f'{{"drafted_response": {literal}, "q1_lookingFor": [{literal}], "q2_emotionClarity": {literal}}}'
    )
    assert found is not None
    tally = Tally()
    assert parsing.read_draft(found.value, tally) == {}
    assert tally.dropped == 1
    assert post(found.value) == ({"predicted_conversation_wide": {"q1_lookingFor": []}}, 2)


def test_items_are_clamped_rounded_and_dropped() -> None:
    said = {"proud": 9, "ALERT": "3", "Inspired": 2.6, "Strong": None, "Upset": "high", "Happy": 5, "Guilty": -1e400}
    fields, dropped = post({"panas": said})
    assert fields == {"predicted_post_panas": {"items": {"Proud": 7, "Alert": 3, "Inspired": 3, "Guilty": 1}}}
    assert dropped == 2


@pytest.mark.parametrize("strategy", ["delta", "blind_delta"])
def test_changes_are_added_to_the_ratings_before(strategy: str) -> None:
    said = {"Proud": 2, "Alert": "-3", "Upset": 9, "Guilty": 1, "Scared": "up", "totalPositiveAffect": 30}
    fields, dropped = post({"panas": said}, strategy, {"Proud": 3, "Alert": 2, "Upset": 4, "Scared": 2})
    # 3 + 2; 2 - 3 clamped to 1; 9 clamped to 6, 4 + 6 clamped to 7; Guilty has no rating before, Scared no change.
    assert fields == {
        "predicted_panas_delta": {"Proud": 2, "Alert": -3, "Upset": 6, "Guilty": 1},
        "predicted_post_panas": {"items": {"Proud": 5, "Alert": 1, "Upset": 7}},
    }
    # The change "up", and the total.
    assert dropped == 2


def test_totals_of_changes() -> None:
    # Positive: ten of 3 + 1 = 40; negative: ten of 2 - 1 = 10.
    said = {**dict.fromkeys(WORDS[:10], 1), **dict.fromkeys(WORDS[10:], -1)}
    pre = {**dict.fromkeys(WORDS[:10], 3), **dict.fromkeys(WORDS[10:], 2)}
    fields, _ = post({"panas": said}, "delta", pre)
    panas = fields["predicted_post_panas"]
    assert (panas["totalPositiveAffect"], panas["totalNegativeAffect"]) == (40, 10)


def test_questions_about_the_conversation() -> None:
    fields, dropped = post(
        {
            "q1_lookingFor": ["to just LISTEN or  let me vent", " ", "A hug", 3, None],
            "q2_emotionClarity": " implied OR indirect ",
            "q3_modelFit": "Fine",
            "q3_followUp_whatFeltOff": "Too long",
            "fourBranchScores": {"Perceiving": "8", "managing": 2.5, "understanding": "well", "other": 3},
        }
    )
    assert fields == {
        "predicted_conversation_wide": {
            "q1_lookingFor": ["To just listen or let me vent", "A hug", "3"],
            "q2_emotionClarity": "Implied or indirect",
            "q3_modelFit": "Fine",
            "q3_followUp_whatFeltOff": ["Too long"],
            "fourBranchScores": {"perceiving": 7, "managing": 2},
        }
    }
    # The null goal, the branch rated "well", the branch that is none.
    assert dropped == 3


def test_an_answer_without_anything_is_of_no_use() -> None:
    nothing: Json = {"panas": {}, "q1_lookingFor": None, "q2_emotionClarity": " ", "fourBranchScores": []}
    assert post(nothing) == ({}, 1)


# Whatever is answered.

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(["yes", "A", "neutral", "Proud", "7", "1e999", "Infinity", "\ud800"]),
)
KEYS = st.one_of(
    st.text(max_size=4),
    st.sampled_from(
        """
        drafted_response response_reasoning emotion_reasoning
        emotions emotion intensity answers B1 B7 observed preferred choices 0 11 overall_score
        panas Proud upset totalPositiveAffect q1_lookingFor q2_emotionClarity q3_modelFit q3_followUp_whatFeltOff
        fourBranchScores perceiving""".split()
    ),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(KEYS, inner, max_size=6)),
    max_leaves=20,
)
READERS: list[Callable[[Json, Tally], Json]] = [
    parsing.read_draft,
    lambda answer, tally: parsing.read_emotions(answer, tally, ASKED, CODEBOOK),
    lambda answer, tally: parsing.read_questions(answer, tally, ASKED, "_hp"),
    lambda answer, tally: parsing.read_pairwise(answer, tally, [Pair("general", "original", "human")] * 12),
    lambda answer, _: parsing.merge_judgements({"judge": parsing.Judgement(tuple(ASKED), rated=True).read(answer)[0]}),
]


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(st.dictionaries(KEYS, VALUES, max_size=6))
def test_whatever_is_answered_makes_a_valid_record(answer: Json) -> None:
    found = find_object(json.dumps(answer))
    assert found is not None
    for read in READERS:
        fields = read(found.value, Tally())
        turn = RunTurn.model_validate({"turnNumber": 1, **fields})
        assert RunTurn.model_validate_json(turn.to_json()) == turn
        assert not turn.model_extra
    for strategy in CODEBOOK.panas_strategies:
        fields, _ = post(found.value, strategy, dict.fromkeys(WORDS[:15], 4))
        after = PostConversation.model_validate(fields)
        assert PostConversation.model_validate_json(after.to_json()) == after
        assert not after.model_extra


@settings(max_examples=20, deadline=None)
@given(
    st.text(max_size=40),
    st.dictionaries(KEYS, VALUES, max_size=4).map(json.dumps),
    st.text(max_size=40),
    st.integers(0),
)
def test_no_text_raises(before: str, answer: str, after: str, cut: int) -> None:
    for text in (before, before + answer + after, answer[: cut % (len(answer) + 1)] + after):
        found = find_object(text)
        assert found is None or isinstance(found.value, dict)
