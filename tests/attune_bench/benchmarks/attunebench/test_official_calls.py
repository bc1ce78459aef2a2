"""What the published runs showed, asked and counted, fact by fact, beside what our calls show, ask and count.

A fact is one row of a table: the call, and what its request shows or does not show, where it is in the thread, which
answers its schema takes, or what an answer counts as. The words are ours; the facts are those of the published calls.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any, get_args

import pytest

from attune_bench.benchmarks.attunebench.flow import assemble, planned_calls
from attune_bench.benchmarks.attunebench.settings import AttuneBenchSettings, Strategy
from attune_bench.runner import Call
from attune_data import Conversation, load_codebook
from attune_data.record import Mode

Json = dict[str, Any]

MODES = get_args(Mode)
VERBOSE, OMNISCIENT = ("verbose", "verbose_omniscient"), ("omniscient", "verbose_omniscient")
STRATEGIES = get_args(Strategy)
BOOK = load_codebook()
WORDS = [emotion.word for emotion in BOOK.emotions.values()]
BRANCHES = ["perceiving", "facilitating", "understanding", "managing"]

# In the order of the file: not that of the codebook, and two that do not apply.
JUDGED = {"B501": ("no", "yes"), "B5": ("na", "na"), "B11": ("yes", "no"), "B1": ("yes", None), "B16": ("na", None)}
ASKED, SKIPPED = ["B501", "B11", "B1"], "B5, B16"
PAIRS = [("general", "original", "human"), ("PW1", "alternate", "original"), ("custom:Warmer?", "human", "alternate")]
PROFILE = {
    "schema_version": "2.0",
    "participant_id": "A-PARTICIPANT",
    "profile_type": "",
    "demographics": {"country": "A-COUNTRY", "diagnoses": ["A-DIAGNOSIS"], "education": None, "own": "AN-OWN-KEY"},
    "computed_scores": {"who_5": 13},
    "conversation_topic_attitude": "AN-ATTITUDE",
    "responses": [{"q7": "A-RESPONSE", "participant_id": "A-PARTICIPANT"}],
    "notes": [],
}


def _turn(number: int) -> Json:
    return {
        "turnNumber": number,
        "userMessage": f"MESSAGE-{number}",
        "llmResponse": f"REPLY-{number}",
        "annotations": {
            "binaryJudgements": [
                {"questionId": name, "observedBehavior": observed, "preferredBehavior": preferred}
                for name, (observed, preferred) in JUDGED.items()
            ],
            # In turn 3 nothing was edited.
            "alternateResponses": {
                "llmImproved": f"IMPROVED-{number}",
                "humanEdited": f"EDITED-{number}" if number < 3 else "",
            },
            "pairwiseComparisons": [
                {"questionId": question, "responseA": a, "responseB": b, "winner": "B"} for question, a, b in PAIRS
            ],
        },
    }


def _items(positive: int, negative: int) -> dict[str, int]:
    return {word: positive if emotion.affect == "positive" else negative for word, emotion in BOOK.emotions.items()}


CONVERSATION = Conversation.model_validate(
    {
        "conversationId": "c1",
        "participant_profile": PROFILE,
        "prePanas": {"totalPositiveAffect": 30, "totalNegativeAffect": 20, "responses": _items(3, 2)},
        "turns": [_turn(1), _turn(2), _turn(3)],
    }
)


@cache
def calls(mode: Mode, strategy: Strategy) -> Mapping[str, Call]:
    settings = AttuneBenchSettings("vendor/model", mode, ("judge",), strategy)
    return {call.id: call for call in planned_calls(CONVERSATION, settings)}


def _request(call: Call) -> str:
    return call.messages[-1]["content"]


# Where a call is.

TURN_1 = ["turn-1/draft", "note", "turn-1/read", "note"]
TURN_2 = ["turn-2/draft", "note", "turn-2/read", "note"]
TURN_3 = ["turn-3/draft", "note", "turn-3/read", "note"]
THREADS = {
    "turn-2/draft": [*TURN_1],
    "turn-2/read": [*TURN_1, *TURN_2[:2]],
    "turn-2/read-hp": [*TURN_1, *TURN_2],
    "turn-2/pairwise": [*TURN_1, *TURN_2],
    "turn-3/draft": [*TURN_1, *TURN_2],
    "post": [*TURN_1, *TURN_2, *TURN_3],
    "turn-2/judge/judge": [],
}


@pytest.mark.parametrize(("name", "before"), THREADS.items())
@pytest.mark.parametrize(("mode", "strategy"), list(product(MODES, STRATEGIES)))
def test_a_call_comes_after(name: str, before: list[str], mode: Mode, strategy: Strategy) -> None:
    known = calls(mode, strategy)
    kinds = {_request(call): call.id for call in known.values()} | {"(Answer received. It is not shown.)": "note"}
    first, *others = known[name].messages
    assert first["role"] == "system"
    assert [kinds[message["content"]] for message in others] == [*before, name]
    assert [message["role"] for message in others] == ["user", "assistant"] * (len(before) // 2) + ["user"]


# What a request shows and asks.


@dataclass(frozen=True)
class Fact:
    """What the published call shows or says, in the words of ours; `system` where it is in the system message."""

    fact: str
    call: str
    shown: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    modes: tuple[str, ...] = MODES
    strategies: tuple[str, ...] = STRATEGIES
    system: bool = False
    only_in_modes: bool = False


TWO_ANSWERS = ("did the OM actually exhibit the behaviour? Answer factually",)
FACTS = [
    Fact("the role of an expert", "post", ("an expert in emotional intelligence",), system=True),
    Fact("turn by turn, up to three steps", "post", ("one turn at a time", "up to three steps"), system=True),
    Fact("JSON only", "post", ("one JSON object", "nothing before it and nothing after it"), system=True),
    Fact(
        "a trace justifies draft, emotions and judgement, and cites the text",
        "post",
        ("reasoning trace", "justifies your draft, the emotions that you name and your judgement", "cites the words"),
        modes=VERBOSE,
        system=True,
        only_in_modes=True,
    ),
    Fact(
        "profile, PANAS and topic attitude will be shown",
        "post",
        ("you are shown the HP's profile", "PANAS from before the conversation", "attitude to its topic"),
        modes=OMNISCIENT,
        system=True,
        only_in_modes=True,
    ),
    Fact("the HP's message", "turn-1/draft", ("MESSAGE-1",), ("REPLY-1", "IMPROVED-1", "EDITED-1")),
    Fact("as if it were the OM", "turn-1/draft", ("the reply that you would give to the HP if you were the OM",)),
    Fact("before the OM's reply", "turn-1/draft", ("You have not seen the OM's reply yet",)),
    Fact("emotions come later", "turn-1/draft", ("Do not predict the HP's emotions yet",)),
    Fact(
        "in omniscient modes the whole profile, unknown keys and responses too",
        "turn-1/draft",
        ("A-COUNTRY", "A-DIAGNOSIS", "AN-OWN-KEY", '"who_5": 13', "A-RESPONSE", '"schema_version": "2.0"'),
        modes=OMNISCIENT,
        only_in_modes=True,
    ),
    Fact("the topic attitude", "turn-1/draft", ("AN-ATTITUDE",), modes=OMNISCIENT, only_in_modes=True),
    Fact(
        "the PANAS totals",
        "turn-1/draft",
        ("positive feelings add up to 30, those of the negative feelings to 20",),
        modes=OMNISCIENT,
        only_in_modes=True,
    ),
    Fact("no PANAS items", "turn-1/draft", hidden=("proud", "Proud")),
    Fact("no empty key, and not who it is", "turn-1/draft", hidden=("education", "profile_type", "notes", "A-PARTI")),
    Fact("the profile on the first turn only", "turn-2/draft", ("MESSAGE-2",), ("A-COUNTRY", "add up to")),
    Fact("the key of a draft", "turn-1/draft", ('{"drafted_response": string',)),
    Fact(
        "and its trace",
        "turn-1/draft",
        ('"response_reasoning": string}', "`response_reasoning` is your reasoning trace", "Cite the words"),
        modes=VERBOSE,
        only_in_modes=True,
    ),
    Fact("message and reply", "turn-2/read", ("MESSAGE-2", "REPLY-2"), ("IMPROVED-2", "EDITED-2", "MESSAGE-1")),
    Fact("emotions that the HP is experiencing", "turn-2/read", ("emotions that the HP is experiencing",)),
    Fact("only the 20 words", "turn-2/read", (f"Use only these words, each at most once: {', '.join(WORDS)}.",)),
    Fact("an empty list without a clear shift", "turn-2/read", ("an empty list where", "no clear shift")),
    Fact("intensity 1-7 or null", "turn-2/read", ("an integer from 1 (slight) to 7 (extreme), or null",)),
    Fact("(a) factually", "turn-2/read", TWO_ANSWERS),
    Fact(
        "(b) yes or no to this question, from state and needs",
        "turn-2/read",
        ("by the HP's state and needs", "Would the HP have answered yes or no to this question?"),
    ),
    Fact(
        "how the two differ",
        "turn-2/read",
        ("differ where the behaviour occurred and was unwanted, or was wanted and did not occur",),
    ),
    Fact("observer phrasing", "turn-2/read", (BOOK.binary["B11"].observer_text,), (BOOK.binary["B11"].text,)),
    Fact("ids to skip", "turn-2/read", (f"Skip the questions that do not apply to this turn: {SKIPPED}.",)),
    Fact("skipped questions are not asked", "turn-2/read", hidden=("- B5:", "- B16:")),
    Fact(
        "the trace",
        "turn-2/read",
        ('"emotion_reasoning": string', "why you name these emotions and judge the reply", "Cite the words"),
        modes=VERBOSE,
        only_in_modes=True,
    ),
    Fact("the HP's wording", "turn-2/read-hp", (BOOK.binary["B11"].text,), (BOOK.binary["B11"].observer_text,)),
    Fact("(a) as in the review", "turn-2/read-hp", TWO_ANSWERS),
    Fact("(b) this exact question", "turn-2/read-hp", ("how did the HP answer this exact question? Predict",)),
    Fact(
        "an example, unwanted advice",
        "turn-2/read-hp",
        ('It gave advice, and the HP did not want any: `observed` is "yes" and `preferred` is "no".',),
    ),
    Fact("message, reply, alternates", "turn-2/pairwise", ("MESSAGE-2", "REPLY-2", "IMPROVED-2", "EDITED-2")),
    Fact(
        "under masks",
        "turn-2/pairwise",
        (" original>>>\nREPLY-2", " alternate1>>>\nIMPROVED-2", " alternate2>>>\nEDITED-2"),
        ("human", "llmImproved", "humanEdited"),
    ),
    Fact("A and B differ", "turn-2/pairwise", ("Which reply is A and which is B differs from one question to the",)),
    Fact("which the HP chose", "turn-2/pairwise", ("Which reply did the HP choose in each comparison, A or B?",)),
    Fact(
        "an expert evaluator", "turn-2/judge/judge", ("expert evaluator of replies in emotional support",), system=True
    ),
    Fact("JSON only", "turn-2/judge/judge", ("one JSON object",), system=True),
    Fact(
        "this turn's message, draft and reference only",
        "turn-2/judge/judge",
        ("MESSAGE-2", " draft>>>", " reference>>>\nEDITED-2"),
        ("MESSAGE-1", "REPLY-1", "EDITED-1", "REPLY-2", "IMPROVED-2", "A-COUNTRY"),
    ),
    Fact(
        "ratings relative to the reference",
        "turn-2/judge/judge",
        ("relative to the reference", "from 1 (a very poor match) to 7 (an excellent match)"),
    ),
    Fact("quality and intent", "turn-2/judge/judge", ("overall quality of the draft", "the intent of the reference")),
    Fact("as effective", "turn-2/judge/judge", ("as effective as the reference",)),
    Fact("tone", "turn-2/judge/judge", ("in warmth, formality, directness and empathy",)),
    Fact("the questions of the draft", "turn-2/judge/judge", ("does the draft exhibit the behaviour", "- B501: ")),
    Fact(
        "no reference, no ratings",
        "turn-3/judge/judge",
        ("does the draft exhibit the behaviour",),
        ("reference", "overall_score", "from 1"),
    ),
    Fact(
        "totals before the conversation",
        "post",
        ("positive feelings add up to 30, those of the negative feelings to 20",),
        strategies=("absolute", "delta"),
    ),
    Fact("all 20 items", "post", (f"each of the 20 feelings: {', '.join(WORDS)}.",)),
    Fact("no item from before, no total", "post", hidden=("add up to", "30", "20,"), strategies=("blind_delta",)),
    Fact(
        "1-7", "post", ("rating of each feeling after the conversation, an integer from 1",), strategies=("absolute",)
    ),
    Fact("change", "post", ("feeling changed, an integer from -6 to 6",), strategies=("delta", "blind_delta")),
    Fact("Q1: any of the options", "post", (f"Give a list of any of {json.dumps(BOOK.q1_options)}",)),
    Fact(
        "Q2: how clearly the model understood their emotions",
        "post",
        (f"how clearly did the OM understand the HP's emotions? Give one of {json.dumps(BOOK.q2_options)}",),
    ),
    Fact("Q3: overall fit", "post", (f"needed, overall? Give one of {json.dumps(BOOK.q3_options)}",)),
    Fact(
        "the follow-up, after a mixed or off-target fit",
        "post",
        (f'only after "{BOOK.q3_negative[0]}" or "{BOOK.q3_negative[1]}"', "in any other case an empty list"),
    ),
    Fact("perceiving", "post", ("ability to identify the HP's current emotional state",)),
    Fact("facilitating", "post", ("state and the context into account when it reasons and crafts replies",)),
    Fact("understanding", "post", ("grasp how emotions combine, how they change, and how they could develop",)),
    Fact("managing", "post", ("convey emotion clearly and fittingly, in a manner that seems thoughtful",)),
    Fact("branches 1-7", "post", ("integers from 1 (very badly) to 7 (very well)",)),
]


@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: f"{fact.call}: {fact.fact}")
def test_a_request_says(fact: Fact) -> None:
    for mode, strategy in product(MODES, STRATEGIES):
        call = calls(mode, strategy)[fact.call]
        said = call.messages[0]["content"] if fact.system else _request(call)
        if mode in fact.modes and strategy in fact.strategies:
            assert [text for text in fact.shown if text not in said] == []
            assert [text for text in fact.hidden if text in said] == []
        elif fact.only_in_modes:
            assert [text for text in fact.shown if text in said] == []


def test_what_the_three_strategies_ask_is_all_that_they_change() -> None:
    for mode in MODES:
        first, *others = [[call for name, call in calls(mode, each).items() if name != "post"] for each in STRATEGIES]
        assert all(first == other for other in others)
        assert len({_request(calls(mode, strategy)["post"]) for strategy in STRATEGIES}) == 3


@pytest.mark.parametrize("name", ["turn-2/read", "turn-2/read-hp", "turn-2/judge/judge"])
def test_questions_are_in_the_order_of_the_file(name: str) -> None:
    call = calls("default", "absolute")[name]
    lines = [line for line in _request(call).splitlines() if line.startswith("- B")]
    assert [line.split(":")[0].removeprefix("- ") for line in lines] == ASKED
    assert list(call.schema["properties"]["answers"]["properties"]) == ASKED


def test_a_comparison_shows_question_labels_and_texts() -> None:
    _, *shown = _request(calls("default", "absolute")["turn-2/pairwise"]).split("### Comparison ")
    questions = [BOOK.pairwise["general"].text, BOOK.pairwise["PW1"].text, '"Warmer?"']
    labels = {"original": "original", "alternate": "alternate1", "human": "alternate2"}
    texts = {"original": "REPLY-2", "alternate": "IMPROVED-2", "human": "EDITED-2"}
    for place, (part, question, (_, a, b)) in enumerate(zip(shown, questions, PAIRS, strict=True)):
        lines = part.splitlines()
        # Number, question, and of each side its label and, between two marks, its text.
        assert lines[:5:2] == [str(place), question, f"A is `{labels[a]}`:"]
        assert (lines[7], lines[10], lines[13]) == (texts[a], f"B is `{labels[b]}`:", texts[b])


# On which scale.

YES_NO = ["yes", "no"]
ONE_TO_SEVEN = [1, 2, 3, 4, 5, 6, 7]
DIMENSIONS = ["overall_score", "emotional_appropriateness", "helpfulness", "tone_match"]
SCALES: list[tuple[str, str, Strategy, str, object]] = [
    *(
        (name, mode, "absolute", "", keys)
        for name, mode, keys in [
            ("turn-2/draft", "default", ["drafted_response"]),
            ("turn-2/draft", "verbose", ["drafted_response", "response_reasoning"]),
            ("turn-2/read", "default", ["emotions", "answers"]),
            ("turn-2/read", "verbose", ["emotions", "emotion_reasoning", "answers"]),
            ("turn-2/judge/judge", "default", [*DIMENSIONS, "answers"]),
            ("turn-3/judge/judge", "default", ["answers"]),
        ]
    ),
    ("turn-2/read", "default", "absolute", "emotions/items/emotion", WORDS),
    ("turn-2/read", "default", "absolute", "emotions/items/intensity", [*ONE_TO_SEVEN, None]),
    ("turn-2/read", "default", "absolute", "answers/B11/observed", YES_NO),
    ("turn-2/read", "default", "absolute", "answers/B11/preferred", YES_NO),
    ("turn-2/read-hp", "default", "absolute", "answers", ASKED),
    ("turn-2/read-hp", "default", "absolute", "answers/B1", ["observed", "preferred"]),
    ("turn-2/read-hp", "default", "absolute", "answers/B1/observed", YES_NO),
    ("turn-2/pairwise", "default", "absolute", "choices", ["0", "1", "2"]),
    ("turn-2/pairwise", "default", "absolute", "choices/2", ["A", "B"]),
    *(("turn-2/judge/judge", "default", "absolute", name, ONE_TO_SEVEN) for name in DIMENSIONS),
    ("turn-2/judge/judge", "default", "absolute", "answers/B1", YES_NO),
    ("post", "default", "absolute", "panas", WORDS),
    ("post", "default", "absolute", "panas/Upset", ONE_TO_SEVEN),
    ("post", "default", "delta", "panas/Upset", list(range(-6, 7))),
    ("post", "default", "blind_delta", "panas/Upset", list(range(-6, 7))),
    ("post", "default", "absolute", "q1_lookingFor/items", list(BOOK.q1_options)),
    ("post", "default", "absolute", "q2_emotionClarity", list(BOOK.q2_options)),
    ("post", "default", "absolute", "q3_modelFit", list(BOOK.q3_options)),
    ("post", "default", "absolute", "fourBranchScores", BRANCHES),
    ("post", "default", "absolute", "fourBranchScores/managing", ONE_TO_SEVEN),
]


@pytest.mark.parametrize(("name", "mode", "strategy", "path", "scale"), SCALES)
def test_a_schema_takes(name: str, mode: Mode, strategy: Strategy, path: str, scale: object) -> None:
    schema: Any = calls(mode, strategy)[name].schema
    for step in filter(None, path.split("/")):
        schema = schema["items"] if step == "items" else schema["properties"][step]
    assert list(schema["enum"] if "enum" in schema else schema["properties"]) == scale


def _leaves(schema: Mapping[str, Any]) -> Iterator[object]:
    """Yield the keys and the values that a schema takes."""
    if schema.get("type") == "array":
        yield from _leaves(schema["items"])
    for name, inner in schema.get("properties", {}).items():
        yield name
        yield from _leaves(inner)
    options = [option for option in schema.get("enum", []) if option is not None]
    # Of a range of numbers a request names the ends.
    yield from (options[0], options[-1]) if options and isinstance(options[0], int) else options


@pytest.mark.parametrize(("mode", "strategy"), list(product(MODES, STRATEGIES)))
def test_a_request_says_in_words_all_that_its_schema_enforces(mode: Mode, strategy: Strategy) -> None:
    for call in calls(mode, strategy).values():
        for leaf in _leaves(call.schema):
            assert str(leaf) in _request(call), call.id
        assert ("null" in json.dumps(call.schema)) == (" or null" in _request(call))


# What an answer counts as.

PANAS = dict.fromkeys(WORDS, 3) | {"Upset": 5}
ALL_ONE = dict.fromkeys(WORDS, 1)
COUNTS: list[tuple[str, Strategy, str, Json, str, object]] = [
    (
        "the draft",
        "absolute",
        "turn-2/draft",
        {"drafted_response": "I see.", "response_reasoning": "As they say so."},
        "turns/1",
        {"em_drafted_response": "I see.", "response_reasoning": "As they say so."},
    ),
    (
        "words outside the 20 are dropped, neutral means none",
        "absolute",
        "turn-2/read",
        {"emotions": [{"emotion": "upset", "intensity": 3}, {"emotion": "Sad"}, {"emotion": "neutral"}]},
        "turns/1/em_emotion_tags",
        [{"emotion": "Upset", "intensity": 3}],
    ),
    (
        "intensities are rounded, clamped, or null",
        "absolute",
        "turn-2/read",
        {
            "emotions": [
                {"emotion": "Upset", "intensity": 4.6},
                {"emotion": "Guilty", "intensity": 9},
                {"emotion": "Scared", "intensity": 0},
                {"emotion": "Afraid", "intensity": None},
            ]
        },
        "turns/1/em_emotion_tags",
        [
            {"emotion": "Upset", "intensity": 5},
            {"emotion": "Guilty", "intensity": 7},
            {"emotion": "Scared", "intensity": 1},
            {"emotion": "Afraid", "intensity": None},
        ],
    ),
    ("nothing felt", "absolute", "turn-2/read", {"emotions": []}, "turns/1/em_emotion_tags", []),
    (
        "(a) is of the OM, (b) of the HP",
        "absolute",
        "turn-2/read",
        {"answers": {"B11": {"observed": "yes", "preferred": "no"}}},
        "turns/1",
        {"em_binary_om_assessment": {"B11": "yes"}, "em_binary_human_prediction": {"B11": "no"}},
    ),
    (
        "a skipped question is not answered",
        "absolute",
        "turn-2/read",
        {"answers": {"B5": {"observed": "yes", "preferred": "no"}, "B1": {"observed": "no", "preferred": "no"}}},
        "turns/1/em_binary_om_assessment",
        {"B1": "no"},
    ),
    (
        "the same in the HP's phrasing",
        "absolute",
        "turn-2/read-hp",
        {"answers": {"B11": {"observed": "yes", "preferred": "no"}}},
        "turns/1",
        {"em_binary_om_assessment_hp": {"B11": "yes"}, "em_binary_human_prediction_hp": {"B11": "no"}},
    ),
    (
        "a letter, a mask, a label of its own",
        "absolute",
        "turn-2/pairwise",
        {"choices": {"0": "B", "1": "original", "2": "human"}},
        "turns/1/em_pairwise_selections",
        {"0": "B", "1": "B", "2": "A"},
    ),
    (
        "a mask of neither side is no answer",
        "absolute",
        "turn-2/pairwise",
        {"choices": {"0": "alternate1", "1": "alternate1", "2": "alternate1"}},
        "turns/1/em_pairwise_selections",
        {"1": "A", "2": "B"},
    ),
    # 10 x 3; 9 x 3 + 5.
    (
        "totals are sums of items",
        "absolute",
        "post",
        {"panas": PANAS},
        "post_conversation/predicted_post_panas",
        {"totalPositiveAffect": 30, "totalNegativeAffect": 32, "items": PANAS},
    ),
    (
        "a total that the model names is not used",
        "absolute",
        "post",
        {"panas": {**PANAS, "totalPositiveAffect": 40, "totalNegativeAffect": 40}},
        "post_conversation/predicted_post_panas",
        {"totalPositiveAffect": 30, "totalNegativeAffect": 32, "items": PANAS},
    ),
    (
        "no total without all ten items, never the midpoint",
        "absolute",
        "post",
        {"panas": {"Upset": 5, "totalNegativeAffect": 40}},
        "post_conversation/predicted_post_panas",
        {"items": {"Upset": 5}},
    ),
    # Each item before is 3 or 2, each change 1.
    *(
        (
            "a change is added to the item before",
            strategy,
            "post",
            {"panas": ALL_ONE},
            "post_conversation/predicted_post_panas",
            {
                "totalPositiveAffect": 40,
                "totalNegativeAffect": 30,
                "items": {word: 4 if BOOK.emotions[word.lower()].affect == "positive" else 3 for word in WORDS},
            },
        )
        for strategy in ("delta", "blind_delta")
    ),
]


@pytest.mark.parametrize(("fact", "strategy", "name", "answer", "path", "counted"), COUNTS)
def test_an_answer_counts_as(
    fact: str, strategy: Strategy, name: str, answer: Json, path: str, counted: object
) -> None:
    settings = AttuneBenchSettings("vendor/model", panas_strategy=strategy)
    found = json.loads(assemble(CONVERSATION, {name: json.dumps(answer)}, settings).to_json())
    for step in path.split("/"):
        found = found[int(step)] if step.isdigit() else found[step]
    if isinstance(counted, dict) and isinstance(found, dict):
        others = {"turnNumber", "pairwise_assignment"}
        found = {key: value for key, value in found.items() if key not in others}
    assert found == counted, fact
