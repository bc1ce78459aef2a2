"""What a valid record can still get wrong: each finding is an issue, and none costs the record."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from attune_data import load_codebook, load_runs
from attune_metrics.attunebench.panas import Panas, panas_totals

Json = dict[str, Any]
Triple = tuple[str, str, str]
Read = Callable[[Any], tuple[Json, list[Triple]]]
Put = Callable[[Json, str, Any], Json]
Case = tuple[str, str, Any, list[Triple]]

ANNOTATIONS = "$.turns[0].annotations"
JUDGEMENTS = f"{ANNOTATIONS}.binaryJudgements"
COMPARISONS = f"{ANNOTATIONS}.pairwiseComparisons"
TAGS = "$.turns[0].moodShiftTags"
WIDE = "$.conversationWideQuestions"

RUN_TAGS = "$.turns[0].em_emotion_tags"
POST = "$.post_conversation"
RUN_PANAS = f"{POST}.predicted_post_panas"
RUN_WIDE = f"{POST}.predicted_conversation_wide"

POSITIVE_FIT = "Mostly well-matched"


def finds(name: str, path: str, value: Any, place: str, rule: str, severity: str = "warning") -> Case:
    """Return the case of a record with `value` at `path`, in which one rule finds one thing."""
    return name, path, value, [(place, rule, severity)]


def quiet(name: str, path: str, value: Any) -> Case:
    """Return the case of a record with `value` at `path`, in which no rule finds anything."""
    return name, path, value, []


def tag(emotion: str) -> Json:
    return {"emotion": emotion, "intensity": 3}


def judgement(question: str) -> Json:
    return {"questionId": question, "observedBehavior": "yes", "preferredBehavior": "no"}


def comparison(**changes: Any) -> Json:
    return {
        "questionId": "general",
        "responseA": "original",
        "responseB": "human",
        "winner": "B",
        **changes,
    }


def tag_cases(path: str) -> list[Case]:
    return [
        finds("word", path, [tag("Calm")], f"{path}[0].emotion", "unknown-emotion"),
        finds("second word", path, [tag("Proud"), tag("Calm")], f"{path}[1].emotion", "unknown-emotion"),
        finds("blank word", path, [tag(" ")], f"{path}[0].emotion", "unknown-emotion"),
        quiet("other letter case", path, [tag(" pROUD "), tag("HOSTILE")]),
        finds("repeated tag", path, [tag("Proud"), tag("Proud")], path, "repeated-tag"),
        finds("repeated in other case", path, [tag("Proud"), tag("proud ")], path, "repeated-tag"),
        quiet("no tags", path, []),
    ]


def wide_cases(path: str) -> list[Case]:
    q1, q2, q3 = f"{path}.q1_lookingFor", f"{path}.q2_emotionClarity", f"{path}.q3_modelFit"
    return [
        finds("Q1 option", q1, ["Other", "Tea"], q1, "unknown-option"),
        quiet("Q1 in other case, blank", q1, [" to just listen or let me VENT", " "]),
        quiet("Q1 empty", q1, []),
        finds("Q2 option", q2, "Foggy", q2, "unknown-option"),
        quiet("Q2 in other case", q2, " implied OR indirect "),
        finds("Q3 option", q3, "Splendid", q3, "unknown-option"),
        quiet("Q3 in other case", q3, "MOSTLY off-target or intrusive "),
        quiet("Q3 empty", q3, ""),
        finds(
            "best fit", q3, "very well-matched and adaptive ",
            f"{path}.q3_followUp_whatFeltOff", "follow-up-on-positive-fit",
        ),
        finds("good fit", q3, POSITIVE_FIT, f"{path}.q3_followUp_whatFeltOff", "follow-up-on-positive-fit"),
        quiet("mixed fit", q3, "Mixed, some good moments, some misses"),
        quiet("bad fit", q3, "Mostly off-target or intrusive"),
    ]  # fmt: skip


def panas_cases(path: str, items: str, word: str) -> list[Case]:
    positive, negative = f"{path}.totalPositiveAffect", f"{path}.totalNegativeAffect"
    return [
        finds("positive total", positive, 31, positive, "panas-total"),
        finds("negative total", negative, 11, negative, "panas-total"),
        finds("item against total", f"{path}.{items}.{word}", 7, positive, "panas-total"),
        quiet("null total", positive, None),
        quiet("null item", f"{path}.{items}.{word}", None),
        quiet("no items", f"{path}.{items}", {}),
        finds("word", f"{path}.{items}.calm", 3, f"{path}.{items}", "unknown-panas-word"),
    ]


def midpoint_cases() -> list[Case]:
    def panas(positive: int | None, negative: int | None, items: Json) -> Json:
        return {"totalPositiveAffect": positive, "totalNegativeAffect": negative, "items": items}

    both = dict.fromkeys((emotion.word for emotion in load_codebook().emotions.values()), 4)
    ten = {word: rating for word, rating in both.items() if load_codebook().emotions[word.lower()].affect == "positive"}
    # Ten items of 4 are 40; with one of 5 they are 41.
    return [
        finds("midpoint, both", RUN_PANAS, panas(40, 40, dict.fromkeys(both, 2)), RUN_PANAS, "midpoint-totals"),
        finds("midpoint, one", RUN_PANAS, panas(40, 40, both | {"Upset": 5}), RUN_PANAS, "midpoint-totals"),
        finds("midpoint, ten items", RUN_PANAS, panas(40, 40, ten | {"Proud": 5}), RUN_PANAS, "midpoint-totals"),
        quiet("midpoint is the sum", RUN_PANAS, panas(40, 40, both)),
        quiet("midpoint, nine items", RUN_PANAS, panas(40, 40, {**ten, "Proud": None, "Alert": 7})),
        # Without one of 4, and with two of 7: 7 x 4 + 2 x 7 = 42, so that the ten are 43 to 49.
        finds(
            "midpoint, too high", RUN_PANAS, panas(40, 40, {**ten, "Proud": None, "Alert": 7, "Active": 7}), RUN_PANAS,
            "midpoint-totals",
        ),
        # Nine items of 3 are 27, with a tenth at most 34.
        finds(
            "midpoint, too low", RUN_PANAS, panas(40, 40, dict.fromkeys(ten, 3) | {"Proud": None}), RUN_PANAS,
            "midpoint-totals",
        ),
        quiet("midpoint, no items", RUN_PANAS, panas(40, 40, {})),
        quiet("one total at the midpoint", RUN_PANAS, panas(40, None, both | {"Upset": 5})),
        finds(
            "another total", RUN_PANAS, panas(40, 41, both), f"{RUN_PANAS}.totalNegativeAffect", "panas-total",
        ),
    ]  # fmt: skip


def turn_cases(turn: Callable[[int], Json]) -> list[Case]:
    def turns(*numbers: int) -> list[Json]:
        return [turn(number) for number in numbers]

    path = "$.turns"
    return [
        finds("repeats", path, turns(1, 2, 2), path, "turn-number"),
        finds("skips", path, turns(1, 3), path, "turn-number"),
        finds("starts at 0", path, turns(0, 1), path, "turn-number"),
        finds("starts at 2", path, turns(2), path, "turn-number"),
        finds("negative", path, turns(-1, 1), path, "turn-number"),
        finds("out of order", path, turns(2, 1, 3), path, "turn-order", "note"),
        finds("none", path, [], path, "no-turns"),
        quiet("one", path, turns(1)),
        quiet("five", path, turns(1, 2, 3, 4, 5)),
    ]


CONVERSATION_CASES = [
    *tag_cases(TAGS),
    *wide_cases(WIDE),
    *panas_cases("$.prePanas", "responses", "proud"),
    *panas_cases("$.postPanas", "responses", "excited"),
    *turn_cases(lambda number: {"turnNumber": number}),
    finds("binary question", JUDGEMENTS, [judgement("B99")], JUDGEMENTS, "unknown-question"),
    quiet("binary question, extended", JUDGEMENTS, [judgement("B505"), judgement("B20")]),
    finds(
        "repeated question", JUDGEMENTS, [judgement("B1"), judgement("B2"), judgement("B1")],
        JUDGEMENTS, "repeated-question",
    ),
    finds("pairwise question", COMPARISONS, [comparison(questionId="PW99")], COMPARISONS, "unknown-question"),
    finds("null question", COMPARISONS, [comparison(questionId=None)], COMPARISONS, "unknown-question"),
    quiet("pairwise question without a text of ours", COMPARISONS, [comparison(questionId="PW16")]),
    quiet("custom question", COMPARISONS, [comparison(questionId="custom:anything")]),
    finds("no winner", COMPARISONS, [comparison(), comparison(winner=None)],
          COMPARISONS, "missing-winner", "note"),
    *(
        finds(f"{name} text of a label", path, gone, COMPARISONS, "label-without-text")
        for path in (
            "$.turns[0].llmResponse",
            f"{ANNOTATIONS}.alternateResponses.llmImproved",
            f"{ANNOTATIONS}.alternateResponses.humanEdited",
        )
        for name, gone in (("empty", ""), ("blank", " \n"), ("null", None))
    ),
]  # fmt: skip

RUN_CASES = [
    *tag_cases(RUN_TAGS),
    *wide_cases(RUN_WIDE),
    *panas_cases(RUN_PANAS, "items", "Proud"),
    *midpoint_cases(),
    *turn_cases(lambda number: {"turnNumber": number}),
    *(
        finds(f"question of {field}", f"$.turns[0].{field}.B99", "yes", f"$.turns[0].{field}",
              "unknown-question")
        for field in (
            "em_binary_om_assessment",
            "em_binary_human_prediction",
            "em_binary_om_assessment_hp",
            "em_binary_human_prediction_hp",
            "em_draft_binary_assessment",
        )
    ),
    finds("position", "$.turns[0].em_pairwise_selections.first", "A", "$.turns[0].em_pairwise_selections",
          "unknown-position"),
    quiet("position above 11", "$.turns[0].em_pairwise_selections.12", "A"),
    finds("null end", POST, None, POST, "incomplete-run"),
    finds("empty end", POST, {}, POST, "incomplete-run"),
]  # fmt: skip


def case_id(case: Case) -> str:
    name, path, _, issues = case
    return f"{path.removeprefix('$.')}, {name}: {'found' if issues else 'fine'}"


def check(case: Case, record: Json, read: Read, put: Put) -> None:
    _, path, value, issues = case
    put(record, path, value)
    before = json.loads(json.dumps(record))
    assert read(record) == (before, issues)


@pytest.mark.parametrize("case", CONVERSATION_CASES, ids=case_id)
def test_rule_of_conversations(case: Case, conversation: Json, read_conversation: Read, put: Put) -> None:
    check(case, conversation, read_conversation, put)


@pytest.mark.parametrize("case", RUN_CASES, ids=case_id)
def test_rule_of_runs(case: Case, run: Json, read_run: Read, put: Put) -> None:
    check(case, run, read_run, put)


def test_run_without_its_end_is_incomplete(run: Json, read_run: Read) -> None:
    del run["post_conversation"]
    assert read_run(run)[1] == [(POST, "incomplete-run", "warning")]


@pytest.mark.parametrize("follow_up", [[], None, [" ", ""]], ids=["empty", "null", "blank"])
def test_follow_up_that_says_nothing_is_fine_on_a_positive_fit(
    follow_up: list[str] | None, conversation: Json, read_conversation: Read, put: Put
) -> None:
    put(conversation, f"{WIDE}.q3_modelFit", POSITIVE_FIT)
    put(conversation, f"{WIDE}.q3_followUp_whatFeltOff", follow_up)
    assert read_conversation(conversation)[1] == []


def test_label_without_a_text_is_fine_where_it_is_not_compared(
    conversation: Json, read_conversation: Read, put: Put
) -> None:
    put(conversation, f"{ANNOTATIONS}.alternateResponses", None)
    put(conversation, COMPARISONS, [])
    assert read_conversation(conversation)[1] == []


def test_rules_also_look_at_a_record_that_was_mended(conversation: Json, read_conversation: Read, put: Put) -> None:
    put(conversation, TAGS, [{"emotion": "Calm", "intensity": "mild"}])
    put(conversation, "$.prePanas", {"totalPositiveAffect": "12", "responses": {"calm": 3}})
    assert [issue[1] for issue in read_conversation(conversation)[1]] == [
        "number-as-text",
        "old-spelling",
        "unknown-panas-word",
        "unknown-emotion",
    ]


def test_every_finding_of_every_turn_is_listed(conversation: Json, read_conversation: Read, put: Put) -> None:
    for turn in (0, 1):
        put(conversation, f"$.turns[{turn}].moodShiftTags", [tag("Calm"), tag("Bored"), tag("Calm")])
    warnings = [path for path, rule, _ in read_conversation(conversation)[1] if rule == "unknown-emotion"]
    assert warnings == [f"$.turns[{turn}].moodShiftTags[{place}].emotion" for turn in (0, 1) for place in range(3)]


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("$.prePanas.totalPositiveAffect", 31, ["31", "add up to 30"]),
        (COMPARISONS, [comparison(winner=None), comparison()], ["1 of 2"]),
        (TAGS, [tag("Calm")], ["calm", "20 PANAS words"]),
        ("$.turns", [{"turnNumber": 1}, {"turnNumber": 3}], ["[1, 3]", "skip"]),
        (JUDGEMENTS, [judgement("B99")], ["B99", "codebook"]),
    ],
    ids=["total", "winner", "emotion", "turn numbers", "question"],
)
def test_issue_names_the_value_and_the_mistake(
    path: str,
    value: Any,
    words: list[str],
    conversation: Json,
    load_conversation: Callable[[Any], Any],
    put: Put,
) -> None:
    issue = load_conversation(put(conversation, path, value)).found[0]
    assert [word for word in words if word.lower() not in str(issue).lower()] == []


def test_a_midpoint_issue_says_what_each_protocol_measures(
    run: Json, put: Put, save: Callable[[Any, str], Any]
) -> None:
    items = dict.fromkeys((emotion.word for emotion in load_codebook().emotions.values()), 2)
    panas = {"totalPositiveAffect": 40, "totalNegativeAffect": 40, "items": items}
    runs = load_runs(save(put(run, RUN_PANAS, panas), "run.json"))
    [issue] = runs.found
    # Ten items of 2 are 20.
    assert all(text in str(issue.value) for text in ("positive items", "negative items", "20"))
    assert "?" not in issue.message
    other = panas | {"items": dict.fromkeys(items, 3)}
    [another] = load_runs(save(put(run, RUN_PANAS, other), "other.json")).found
    assert (another.message, another.value != issue.value) == (issue.message, True)
    assert issue.consequence == (
        "kept; protocol released measures the midpoint, not the model; protocol documented uses the items of an affect "
        "where all ten are there"
    )
    form = Panas(items, 40, 40)
    measured = [panas_totals(form, protocol=name).positive for name in ("released", "documented")]
    assert measured == [40, 20]
    short = Panas({word: rating for word, rating in items.items() if word != "Proud"}, 40, 40)
    assert panas_totals(short, protocol="documented").positive == 40
