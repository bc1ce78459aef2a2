"""On which scale the published calls asked and what an answer counted as, fact by fact, beside ours."""

import json
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

import pytest
from telling_conversation import ASKED, BOOK, CONVERSATION, MODES, STRATEGIES, WORDS, calls, request

from attune_bench.benchmarks.attunebench.task import AttuneBenchSettings, Strategy, assemble
from attune_data.record import Mode

Json = dict[str, Any]
BRANCHES = ["perceiving", "facilitating", "understanding", "managing"]


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
            assert str(leaf) in request(call), call.id
        assert ("null" in json.dumps(call.schema)) == (" or null" in request(call))


@pytest.mark.parametrize(("mode", "strategy"), list(product(MODES, STRATEGIES)))
def test_a_request_has_the_form_of_its_answer(mode: Mode, strategy: Strategy) -> None:
    for call in calls(mode, strategy).values():
        form = [line for line in request(call).splitlines() if line.startswith('{"')][-1]
        properties = call.schema["properties"]
        places = [form.index(f'"{name}": ') for name in properties]
        assert places == sorted(places)
        assert places[0] == 1
        for name, inner in properties.items():
            if inner["type"] == "object":
                first = next(iter(inner["properties"]))
                assert f'"{name}": {{"{first}": ' in form


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
