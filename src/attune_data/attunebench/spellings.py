"""Older spellings of AttuneBench files: what each field of a conversation and of a run may also look like."""

from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any, get_args

from attune_data.attunebench.records import ANSWER_FIELDS, FourBranchScores, PostConversation, RunTurn, Turn
from attune_data.attunebench.show import Conversation, Run
from attune_data.record import Mode, Strategy
from attune_data.repair import (
    Fix,
    IssueCollector,
    closed,
    each,
    fix_of,
    keep,
    number,
    record,
    rename,
    text,
    texts,
    values,
)

ANSWERS = {
    **dict.fromkeys(("true", "yes", "y", "1"), "yes"),
    **dict.fromkeys(("false", "no", "n", "0"), "no"),
    **dict.fromkeys(("na", "n/a", "not_applicable"), "na"),
}
WINNERS = {"a": "A", "b": "B", "response_1": "A", "response_2": "B"}
LABELS = {
    "original": "original",
    **dict.fromkeys(("alternate", "alternate1", "llmimproved"), "alternate"),
    **dict.fromkeys(("human", "alternate2", "humanedited"), "human"),
}
MODES = {mode: mode for mode in get_args(Mode)}
STRATEGIES = {strategy: strategy for strategy in get_args(Strategy)}
INTENSITIES = {"mild": 2, "moderate": 4, "intense": 6}
# Typed out, since recognising an old file must not need the codebook; a test compares the two.
PANAS_WORDS = frozenset(
    (
        "proud", "alert", "inspired", "determined", "attentive", "active", "excited", "strong",
        "enthusiastic", "interested",
        "irritable", "ashamed", "nervous", "jittery", "distressed", "afraid", "upset", "guilty", "scared", "hostile",
    )
)  # fmt: skip

_TITLE_CASE = frozenset(map(str.title, PANAS_WORDS))


def words(fix: Fix, case: Callable[[str], str]) -> Fix:
    """Fix an object keyed by PANAS words: the words' case, then every value."""

    def fix_all(value: Any, path: str, findings: IssueCollector) -> Any:
        if not isinstance(value, dict):
            return values(fix)(value, path, findings)
        renames = {key: case(key.strip()) for key in value if key.strip().lower() in PANAS_WORDS}
        return values(fix)(rename(value, renames, path, findings), path, findings)

    return fix_all


def _panas(items: str, case: Callable[[str], str], *, clamps_always: bool) -> Fix:
    """Fix a PANAS object; its items may be directly in it instead of under the key `items`."""
    total = number(10, 70, clamps_always=clamps_always)
    fixes = {
        "totalPositiveAffect": total,
        "totalNegativeAffect": total,
        items: words(number(1, 7, clamps_always=clamps_always), case),
    }

    def fix(value: Any, path: str, findings: IssueCollector) -> Any:
        if not isinstance(value, dict):
            return record(fixes)(value, path, findings)
        direct = {key: item for key, item in value.items() if key.strip().lower() in PANAS_WORDS}
        moved = {key: item for key, item in value.items() if key not in direct}
        if direct and items in moved:
            message = f"PANAS items both under {items!r} and beside it"
            findings.add(path, "two-spellings", "warning", direct, message, f"ignored, {items!r} is there too")
        elif direct:
            message = f"PANAS items belong under {items!r}"
            findings.add(path, "old-spelling", "note", direct, message, "moved there")
            moved[items] = direct
        return record(fixes)(moved, path, findings)

    return fix


def _intensity(clamps_always: bool) -> Fix:
    fix_number = number(1, 7, clamps_always=clamps_always)

    def fix(value: Any, path: str, findings: IssueCollector) -> Any:
        if isinstance(value, str):
            key = value.strip().lower()
            if key in ("", "none", *INTENSITIES):
                known = INTENSITIES.get(key)
                consequence = "read as null" if known is None else f"read as {known}"
                findings.add(path, "old-spelling", "note", value, "intensity is a number of 1-7 or null", consequence)
                return known
        return fix_number(value, path, findings)

    return fix


def _tags(*, clamps_always: bool) -> Fix:
    fix_tag = record({"emotion": text, "intensity": _intensity(clamps_always)})

    def fix(value: Any, path: str, findings: IssueCollector) -> Any:
        if isinstance(value, str):
            findings.add(
                path, "bare-string", "note", value, "a tag is an object", "read as an emotion without intensity"
            )
            value = {"emotion": value}
        return fix_tag(value, path, findings)

    return each(fix, required="emotion")


PREDICTED_TAGS = _tags(clamps_always=True)
ANSWER = closed(ANSWERS, "yes, no or na")
WINNER = closed(WINNERS, "A or B")
LABEL = closed(LABELS, "original, alternate or human")
CLAMPED = number(1, 7, clamps_always=True)

JUDGEMENT_KEYS = {
    **dict.fromkeys(("did_occur", "humanValue", "actualValue"), "observedBehavior"),
    **dict.fromkeys(("should_occur", "humanPreference"), "preferredBehavior"),
}
COMPARISON_KEYS = {"response_1": "responseA", "response_2": "responseB"}
ALTERNATE_KEYS = {"alternate1": "llmImproved", "alternate2": "humanEdited"}
WIDE_KEYS = {"Q1": "q1_lookingFor", "Q2": "q2_emotionClarity", "Q3": "q3_modelFit"}

_JUDGEMENT = record(
    {"questionId": text, "observedBehavior": ANSWER, "preferredBehavior": ANSWER, "llmValue": ANSWER}, JUDGEMENT_KEYS
)
_COMPARISON = record({"questionId": text, "responseA": LABEL, "responseB": LABEL, "winner": WINNER}, COMPARISON_KEYS)


def _comparison(value: Any, path: str, findings: IssueCollector) -> Any:
    """Fix a comparison; any other value becomes an empty comparison, since predictions are keyed by position."""
    return _COMPARISON(value, path, findings) or {}


_ANNOTATIONS = record(
    {
        "binaryJudgements": each(_JUDGEMENT, required="questionId"),
        "alternateResponses": record({"llmImproved": text, "humanEdited": text}, ALTERNATE_KEYS),
        "pairwiseComparisons": each(_comparison),
        "selectedPairwiseQuestions": texts,
    }
)


def _wide(*, clamps_always: bool) -> Fix:
    rating = number(1, 7, clamps_always=clamps_always)
    fixes = {
        **dict.fromkeys(("q1_lookingFor", "q3_followUp_whatFeltOff"), texts),
        **dict.fromkeys(("q2_emotionClarity", "q3_modelFit"), text),
        "fourBranchScores": record(dict.fromkeys(FourBranchScores.model_fields, rating)),
    }
    return record(fixes, WIDE_KEYS)


fix_conversation: Fix = fix_of(
    Conversation,
    {
        Conversation: {
            **dict.fromkeys(("prePanas", "postPanas"), _panas("responses", str.lower, clamps_always=False)),
            "conversationWideQuestions": _wide(clamps_always=False),
        },
        Turn: {"moodShiftTags": _tags(clamps_always=False), "annotations": _ANNOTATIONS},
    },
)

fix_run: Fix = fix_of(
    Run,
    {
        Run: {"mode": closed(MODES, f"one of {', '.join(MODES)}", default="default"), "repeat": keep},
        RunTurn: {
            "em_emotion_tags": PREDICTED_TAGS,
            **dict.fromkeys(ANSWER_FIELDS, values(ANSWER)),
            "em_pairwise_selections": values(WINNER),
            "pairwise_assignment": values(values(LABEL)),
        },
        PostConversation: {
            "panas_strategy": closed(STRATEGIES, f"one of {', '.join(STRATEGIES)}"),
            "predicted_post_panas": _panas("items", str.title, clamps_always=True),
            "predicted_conversation_wide": _wide(clamps_always=True),
        },
    },
)


def _panas_moved(extra: Mapping[str, Any] | None, items: Mapping[str, Any], current: frozenset[str]) -> bool:
    """Tell whether items are beside their object, or under words in another letter case."""
    if current.issuperset(items) and not extra:
        return False
    strange = [key for key in items if key not in current]
    return any(key.strip().lower() in PANAS_WORDS for key in (*(extra or ()), *strange))


_extra = attrgetter("__pydantic_extra__")


def _any_key(extra: Mapping[str, Any] | None, old: Mapping[str, str]) -> bool:
    return bool(extra) and not old.keys().isdisjoint(extra or ())


def conversation_is_old(conversation: Conversation) -> bool:
    """Tell whether a valid conversation has a key in an older spelling, which it keeps as an extra, or may be a run."""
    # A run is a valid conversation with extra keys; the second stage tells whether it is meant to be one.
    if "em_model" in (conversation.model_extra or ()):
        return True
    wide = conversation.conversation_wide_questions
    if _any_key(wide.model_extra, WIDE_KEYS):
        return True
    for panas in (conversation.pre_panas, conversation.post_panas):
        if _panas_moved(panas.model_extra, panas.responses, PANAS_WORDS):
            return True
    for turn in conversation.turns:
        annotations = turn.annotations
        if _any_key(_extra(annotations.alternate_responses), ALTERNATE_KEYS):
            return True
        # Extras are rare, so most turns are done with two passes at the speed of C.
        judged, compared = annotations.binary_judgements, annotations.pairwise_comparisons
        if any(map(_extra, judged)) and any(_any_key(one.model_extra, JUDGEMENT_KEYS) for one in judged):
            return True
        if any(map(_extra, compared)) and any(_any_key(one.model_extra, COMPARISON_KEYS) for one in compared):
            return True
    return False


def run_is_old(run: Run) -> bool:
    """Tell whether a valid run still has a key in an older spelling, which it keeps as an extra."""
    post = run.post_conversation
    if post is None:
        return False
    panas = post.predicted_post_panas
    return _any_key(post.predicted_conversation_wide.model_extra, WIDE_KEYS) or _panas_moved(
        panas.model_extra, panas.items, _TITLE_CASE
    )
