"""Older spellings, one by one: what is read in their place, and the issue that says so."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from attune_data import Collection, Conversation, LoadError, Run, load, load_runs

Json = dict[str, Any]
Triple = tuple[str, str, str]
Read = Callable[[Any], tuple[Json, list[Triple]]]
Put = Callable[[Json, str, Any], Json]
Pick = Callable[[Any, str], Any]
Case = tuple[str, Any, Any, list[Triple]]

OLD = ("old-spelling", "note")
TEXT = ("number-as-text", "note")
BARE = ("bare-string", "note")
UNKNOWN = ("unknown-value", "warning")
ROUNDED = ("fraction", "warning")
WHOLE = ("fraction", "note")
RANGE = ("out-of-range", "warning")

JUDGEMENT = "$.turns[0].annotations.binaryJudgements[0]"
OBSERVED = f"{JUDGEMENT}.observedBehavior"
ALTERNATES = "$.turns[0].annotations.alternateResponses"
COMPARISON = "$.turns[0].annotations.pairwiseComparisons[0]"
TAG = "$.turns[0].moodShiftTags[0].intensity"
WIDE = "$.conversationWideQuestions"
SCORES = "$.participant_profile.computed_scores"

RUN_ANSWER = "$.turns[0].em_binary_om_assessment.B1"
RUN_TAG = "$.turns[0].em_emotion_tags[0].intensity"
SELECTION = "$.turns[0].em_pairwise_selections.0"
POST = "$.post_conversation"
RUN_PANAS = f"{POST}.predicted_post_panas"
RUN_WIDE = f"{POST}.predicted_conversation_wide"

ANSWERS: list[tuple[Any, str | None]] = [
    *((spelling, "yes") for spelling in (True, 1, "1", "true", "True", "YES", "y", " yes ")),
    *((spelling, "no") for spelling in (False, 0, "0", "false", "FALSE", "No", "n")),
    *((spelling, "na") for spelling in ("NA", "n/a", "N/A", "not_applicable", "Not_Applicable")),
]
INTENSITIES: list[tuple[str, int | None]] = [
    ("mild", 2), ("moderate", 4), ("intense", 6), ("Intense", 6), ("", None), ("None", None), ("none", None),
]  # fmt: skip


def one(path: str, given: Any, expected: Any, issue: tuple[str, str]) -> Case:
    """Return the case of one value that is read as another, with one issue at its own path."""
    return path, given, expected, [(path, *issue)]


def numbers(path: str) -> Iterator[Case]:
    """Yield what an integer may look like that has its place at `path` and 1-7 as its range."""
    yield one(path, "4", 4, TEXT)
    yield one(path, " 5 ", 5, TEXT)
    yield one(path, 2.5, 2, ROUNDED)
    yield one(path, 3.5, 4, ROUNDED)
    yield one(path, 6.4, 6, ROUNDED)
    yield one(path, 3.0, 3, WHOLE)
    yield path, "2.5", 2, [(path, *TEXT), (path, *ROUNDED)]
    yield one(path, "plenty", None, UNKNOWN)
    yield one(path, True, None, UNKNOWN)
    yield one(path, [3], None, UNKNOWN)


def closed_sets() -> Iterator[Case]:
    for spelling, meaning in ANSWERS:
        yield one(OBSERVED, spelling, meaning, OLD)
    for label, meaning in (("alternate1", "alternate"), ("llmImproved", "alternate")):
        yield one(f"{COMPARISON}.responseB", label, meaning, OLD)
    for label in ("alternate2", "humanEdited"):
        yield one(f"{COMPARISON}.responseA", label, "human", OLD)
    for winner, meaning in (("a", "A"), ("b", "B"), ("response_1", "A"), ("response_2", "B")):
        yield one(f"{COMPARISON}.winner", winner, meaning, OLD)
    for intensity, number in INTENSITIES:
        yield one(TAG, intensity, number, OLD)
    yield one(OBSERVED, "perhaps", None, UNKNOWN)
    yield one(OBSERVED, 2, None, UNKNOWN)
    yield one(f"{JUDGEMENT}.preferredBehavior", "T", None, UNKNOWN)
    yield one(TAG, "very", None, UNKNOWN)


CONVERSATION_CASES = [
    *closed_sets(),
    *numbers(TAG),
    *numbers(f"{WIDE}.fourBranchScores.managing"),
    one(f"{SCORES}.who_5", "14", 14, TEXT),
    one(f"{SCORES}.asrs_6", 2.5, 2, ROUNDED),
    one(f"{SCORES}.promis_anxiety_t", "57.5", 57.5, TEXT),
    one("$.turns[0].turnNumber", "1", 1, TEXT),
    one("$.turns[0].turnNumber", 1.0, 1, WHOLE),
    one("$.prePanas.totalPositiveAffect", "30", 30, TEXT),
    one("$.prePanas.responses.proud", "3", 3, TEXT),
    one("$.prePanas.totalNegativeAffect", 20.5, 20, ROUNDED),
    one(f"{WIDE}.q1_lookingFor", "Other", ["Other"], BARE),
    one(f"{WIDE}.q3_followUp_whatFeltOff", "It hurried.", ["It hurried."], BARE),
    one("$.participant_profile.demographics.diagnoses", "ADHD", ["ADHD"], BARE),
    one("$.participant_profile.demographics.work_edu_background", "Retail", ["Retail"], BARE),
    one("$.turns[0].annotations.selectedPairwiseQuestions", "PW7", ["PW7"], BARE),
]

RUN_CASES = [
    *(one(RUN_ANSWER, spelling, meaning, OLD) for spelling, meaning in ANSWERS),
    *(one(f"$.turns[0].em_binary_{kind}.B1", True, "yes", OLD)
      for kind in ("om_assessment_hp", "human_prediction", "human_prediction_hp")),
    one("$.turns[0].em_draft_binary_assessment.B1", "n/a", "na", OLD),
    *(one(SELECTION, winner, meaning, OLD)
      for winner, meaning in (("a", "A"), ("b", "B"), ("response_1", "A"), ("response_2", "B"))),
    *(one("$.turns[0].pairwise_assignment.0.A", label, meaning, OLD)
      for label, meaning in (("alternate1", "alternate"), ("llmImproved", "alternate"),
                             ("alternate2", "human"), ("humanEdited", "human"))),
    *(one(RUN_TAG, spelling, number, OLD) for spelling, number in INTENSITIES),
    *numbers(RUN_TAG),
    *numbers(f"{RUN_WIDE}.fourBranchScores.managing"),
    one(RUN_ANSWER, "perhaps", None, UNKNOWN),
    one(SELECTION, "C", None, UNKNOWN),
    one("$.turns[0].turnNumber", "1", 1, TEXT),
    one("$.duration_seconds", "12.5", 12.5, TEXT),
    one("$.api_cost", "0.25", 0.25, TEXT),
    one("$.turns[0].em_draft_judge_scores.overall_score", "5", 5, TEXT),
    one(f"{RUN_PANAS}.items.Proud", "3", 3, TEXT),
    one(f"{RUN_PANAS}.totalPositiveAffect", "30", 30, TEXT),
    one(f"{RUN_WIDE}.q1_lookingFor", "Other", ["Other"], BARE),
    one(f"{RUN_WIDE}.q3_followUp_whatFeltOff", "It rushed.", ["It rushed."], BARE),
    one(f"{POST}.panas_strategy", "Delta", "delta", OLD),
    one(f"{POST}.panas_strategy", "guess", None, UNKNOWN),
    one("$.mode", None, "default", UNKNOWN),
    one("$.mode", "sideways", "default", UNKNOWN),
    one("$.mode", "Verbose", "verbose", OLD),
]  # fmt: skip


def case_id(case: Case) -> str:
    path, given, expected, _ = case
    return f"{path.removeprefix('$.')}: {json.dumps(given)} -> {json.dumps(expected)}"


def is_place(issue: Triple, expected: Triple) -> bool:
    """Tell whether an issue is the expected one, or one of a key inside the expected place."""
    return issue[0].startswith(expected[0]) and issue[1:] == expected[1:]


def check(case: Case, record: Json, read: Read, put: Put, pick: Pick) -> None:
    path, given, expected, issues = case
    wanted = put(json.loads(json.dumps(record)), path, expected)
    written, found = read(put(record, path, given))
    assert written == wanted
    assert type(pick(written, path)) is type(expected)
    # What the new value contradicts (a total that is no sum) is the business of the rules.
    found = [issue for issue in found if issue[1] not in ("panas-total", "turn-number")]
    assert len(found) == len(issues)
    assert all(map(is_place, found, issues)), found


@pytest.mark.parametrize("case", CONVERSATION_CASES, ids=case_id)
def test_older_value_of_a_conversation(
    case: Case, conversation: Json, read_conversation: Read, put: Put, pick: Pick
) -> None:
    check(case, conversation, read_conversation, put, pick)


@pytest.mark.parametrize("case", RUN_CASES, ids=case_id)
def test_older_value_of_a_run(case: Case, run: Json, read_run: Read, put: Put, pick: Pick) -> None:
    check(case, run, read_run, put, pick)


def test_label_that_is_none_of_the_three_is_null(
    conversation: Json, read_conversation: Read, put: Put, pick: Pick
) -> None:
    written, found = read_conversation(put(conversation, f"{COMPARISON}.responseA", "robot"))
    assert pick(written, f"{COMPARISON}.responseA") is None
    assert (f"{COMPARISON}.responseA", *UNKNOWN) in found


def test_missing_mode_is_default_and_stays_absent(run: Json, load_run: Callable[[Any], Any]) -> None:
    del run["mode"]
    loaded = load_run(run)
    assert loaded[0].mode == "default"
    assert [(issue.path, issue.rule, issue.severity) for issue in loaded.found] == [("$", "missing-mode", "note")]
    assert json.loads(loaded[0].to_json()) == run


# Keys: where, the older key, the current one, a value that is valid under both.
KEY_CASES = [
    (JUDGEMENT, "did_occur", "observedBehavior", "no"),
    (JUDGEMENT, "humanValue", "observedBehavior", "no"),
    (JUDGEMENT, "actualValue", "observedBehavior", "no"),
    (JUDGEMENT, "should_occur", "preferredBehavior", "yes"),
    (JUDGEMENT, "humanPreference", "preferredBehavior", "yes"),
    (ALTERNATES, "alternate1", "llmImproved", "Improved."),
    (ALTERNATES, "alternate2", "humanEdited", "Edited."),
    (COMPARISON, "response_1", "responseA", "human"),
    (COMPARISON, "response_2", "responseB", "human"),
    (WIDE, "Q1", "q1_lookingFor", ["To just listen or let me vent"]),
    (WIDE, "Q2", "q2_emotionClarity", "Clear and explicitly stated"),
    (WIDE, "Q3", "q3_modelFit", "Mostly off-target or intrusive"),
    ("$.prePanas.responses", "Proud", "proud", 3),
    ("$.prePanas.responses", "HOSTILE", "hostile", 2),
]
RUN_KEY_CASES = [
    (RUN_WIDE, "Q1", "q1_lookingFor", ["To just listen or let me vent"]),
    (RUN_WIDE, "Q2", "q2_emotionClarity", "Clear and explicitly stated"),
    (RUN_WIDE, "Q3", "q3_modelFit", "Mixed, some good moments, some misses"),
    (f"{RUN_PANAS}.items", "proud", "Proud", 3),
    (f"{RUN_PANAS}.items", "HOSTILE", "Hostile", 3),
]
KEYS = ("place", "old", "current", "value")


def key_id(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def check_key(record: Json, read: Read, pick: Pick, place: str, old: str, current: str, value: Any) -> None:
    del pick(record, place)[current]
    pick(record, place)[old] = value
    written, found = read(record)
    assert pick(written, place)[current] == value
    assert old not in pick(written, place)
    assert found == [(f"{place}.{old}", *OLD)]


@pytest.mark.parametrize(KEYS, KEY_CASES, ids=key_id)
def test_older_key_of_a_conversation(
    place: str, old: str, current: str, value: Any, conversation: Json, read_conversation: Read, pick: Pick
) -> None:
    check_key(conversation, read_conversation, pick, place, old, current, value)


@pytest.mark.parametrize(KEYS, RUN_KEY_CASES, ids=key_id)
def test_older_key_of_a_run(
    place: str, old: str, current: str, value: Any, run: Json, read_run: Read, pick: Pick
) -> None:
    check_key(run, read_run, pick, place, old, current, value)


def check_both_keys(record: Json, read: Read, pick: Pick, place: str, old: str, value: Any) -> None:
    before = json.loads(json.dumps(record))
    pick(record, place)[old] = value
    assert read(record) == (before, [(f"{place}.{old}", "two-spellings", "warning")])


@pytest.mark.parametrize(KEYS, KEY_CASES, ids=key_id)
def test_current_key_wins_in_a_conversation(
    place: str, old: str, current: str, value: Any, conversation: Json, read_conversation: Read, pick: Pick
) -> None:
    assert current in pick(conversation, place)
    check_both_keys(conversation, read_conversation, pick, place, old, value)


@pytest.mark.parametrize(KEYS, RUN_KEY_CASES, ids=key_id)
def test_current_key_wins_in_a_run(
    place: str, old: str, current: str, value: Any, run: Json, read_run: Read, pick: Pick
) -> None:
    assert current in pick(run, place)
    check_both_keys(run, read_run, pick, place, old, value)


def test_of_two_older_keys_one_counts_and_the_other_is_an_issue(
    conversation: Json, read_conversation: Read, put: Put, pick: Pick
) -> None:
    judgement = {"questionId": "B1", "humanValue": "no", "did_occur": "yes"}
    written, found = read_conversation(put(conversation, JUDGEMENT, judgement))
    assert pick(written, JUDGEMENT) == {"questionId": "B1", "observedBehavior": "yes"}
    assert found == [
        (f"{JUDGEMENT}.did_occur", *OLD),
        (f"{JUDGEMENT}.humanValue", "two-spellings", "warning"),
    ]


def test_llm_value_is_a_field_of_its_own(conversation: Json, read_conversation: Read, put: Put) -> None:
    put(conversation, f"{JUDGEMENT}.llmValue", "no")
    assert read_conversation(conversation) == (conversation, [])


@pytest.mark.parametrize("case", [str.lower, str.title, str.upper])
def test_panas_items_directly_in_the_object(
    case: Callable[[str], str], conversation: Json, read_conversation: Read
) -> None:
    wanted = json.loads(json.dumps(conversation))
    ratings = conversation["postPanas"].pop("responses")
    conversation["postPanas"].update({case(word): rating for word, rating in ratings.items()})
    written, found = read_conversation(conversation)
    assert written == wanted
    assert found[0] == ("$.postPanas", *OLD)
    assert {issue[1:] for issue in found} == {OLD}
    assert len(found) == 1 + (0 if case is str.lower else 20)


def test_panas_items_directly_in_the_object_of_a_run(run: Json, read_run: Read, pick: Pick) -> None:
    wanted = json.loads(json.dumps(run))
    panas = pick(run, RUN_PANAS)
    panas.update(panas.pop("items"))
    assert read_run(run) == (wanted, [(RUN_PANAS, *OLD)])


@pytest.mark.parametrize("other", [7, "7"])
def test_panas_responses_win_over_items_beside_them(other: Any, conversation: Json, read_conversation: Read) -> None:
    wanted = json.loads(json.dumps(conversation))
    conversation["prePanas"]["Proud"] = other
    assert read_conversation(conversation) == (wanted, [("$.prePanas", "two-spellings", "warning")])


RANGED = [
    ("$.prePanas.totalPositiveAffect", 10, 70),
    ("$.postPanas.totalNegativeAffect", 10, 70),
    ("$.prePanas.responses.upset", 1, 7),
    (TAG, 1, 7),
    *((f"{WIDE}.fourBranchScores.{branch}", 1, 7)
      for branch in ("perceiving", "facilitating", "understanding", "managing")),
]  # fmt: skip
RUN_RANGED = [
    (f"{RUN_PANAS}.totalPositiveAffect", 10, 70),
    (f"{RUN_PANAS}.totalNegativeAffect", 10, 70),
    (f"{RUN_PANAS}.items.Upset", 1, 7),
    (RUN_TAG, 1, 7),
    (f"{RUN_WIDE}.fourBranchScores.managing", 1, 7),
]


def clamps(low: int, high: int) -> list[tuple[Any, int]]:
    outside: list[tuple[Any, int]] = [(low - 1, low), (high + 1, high), (str(high + 5), high), (-3.0, low)]
    return [*outside, (10**400, high), (low - 0.6, low)]


def check_clamped(source: Path, given: Any, path: str, loaded: Collection[Any]) -> None:
    issues = [issue for issue in loaded.found if issue.rule == "out-of-range"]
    assert [(issue.path, issue.severity) for issue in issues] == [(path, "warning")]
    assert issues[0].file == source.name
    assert str(given)[:70] in issues[0].value


@pytest.mark.parametrize(("path", "low", "high"), RANGED)
def test_ground_truth_outside_its_range_is_clamped_or_rejected(
    path: str, low: int, high: int, conversation: Json, save: Callable[[Any, str], Path], put: Put, pick: Pick
) -> None:
    for given, clamped in clamps(low, high):
        source = save(put(conversation, path, given), "conversation_1.json")
        loaded: Collection[Conversation] = load(source)
        assert pick(json.loads(loaded[0].to_json()), path) == clamped
        check_clamped(source, given, path, loaded)
        with pytest.raises(LoadError, match=f"outside {low}-{high}") as raised:
            load(source, on_error="raise")
        assert [issue.path for issue in raised.value.issues if issue.severity == "error"] == [path]


@pytest.mark.parametrize(("path", "low", "high"), RUN_RANGED)
def test_prediction_outside_its_range_is_clamped_even_when_raising(
    path: str, low: int, high: int, run: Json, save: Callable[[Any, str], Path], put: Put, pick: Pick
) -> None:
    for given, clamped in clamps(low, high):
        source = save(put(run, path, given), "run_1.json")
        loaded: Collection[Run] = load_runs(source, on_error="raise")
        assert pick(json.loads(loaded[0].to_json()), path) == clamped
        check_clamped(source, given, path, loaded)


def test_what_was_mended_is_written_in_current_spelling(conversation: Json, read_conversation: Read) -> None:
    for turn in conversation["turns"]:
        turn["annotations"]["binaryJudgements"] = [{"questionId": "B1", "did_occur": True}]
        turn["moodShiftTags"] = [{"emotion": "Proud", "intensity": "mild"}]
    conversation["prePanas"] = {"Proud": "3", "totalPositiveAffect": "30"}
    written, found = read_conversation(conversation)
    assert found
    assert read_conversation(written) == (written, [])
