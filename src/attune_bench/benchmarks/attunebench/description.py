"""What a set of conversations holds: counts by trait, of turns, of annotations and of issues."""

from collections import Counter
from collections.abc import Callable, Mapping
from math import nan
from statistics import median
from textwrap import fill
from typing import Any

from attune_bench.report.render import WIDTH
from attune_data import Collection, Conversation, Turn
from attune_data.matching import count_people
from attune_data.text import grid, plural, printable, shortened

__all__ = ["describe", "description_text"]

_TRAITS = {
    "category": "topic category",
    "diagnoses": "diagnosis, as answered",
    "diagnosis_group": "diagnosis group",
    "om_model": "original model",
    "attitude": "attitude to the topic",
}
_OVERLAPPING = ("diagnoses", "diagnosis_group")

_NAME_WIDTH = 56

_FOOTNOTE = (
    "With any: conversations that have at least one. Min, median, max: per conversation, those with none included. "
    "Rows of diagnoses overlap: a participant with two counts in both. "
    "So do participants elsewhere: one may hold conversations of different kinds."
)


def _in_turns(count: Callable[[Turn], int]) -> Callable[[Conversation], int]:
    return lambda conversation: sum(map(count, conversation.turns))


def _wide_answers(conversation: Conversation) -> int:
    wide = conversation.conversation_wide_questions
    return sum(map(bool, (wide.q1_looking_for, wide.q2_emotion_clarity, wide.q3_model_fit)))


def _branches(conversation: Conversation) -> int:
    scores = conversation.conversation_wide_questions.four_branch_scores
    return sum(getattr(scores, name) is not None for name in type(scores).model_fields)


def _rated(ratings: Mapping[str, int | None]) -> int:
    return sum(rating is not None for rating in ratings.values())


_COUNTED: Mapping[str, Callable[[Conversation], int]] = {
    "turns": lambda conversation: len(conversation.turns),
    "mood tags": _in_turns(lambda turn: len(turn.mood_shift_tags)),
    "binary judgements": _in_turns(lambda turn: len(turn.annotations.binary_judgements)),
    "pairwise comparisons": _in_turns(lambda turn: len(turn.annotations.pairwise_comparisons)),
    "alternate responses": _in_turns(lambda turn: bool(turn.annotations.alternate_responses.llm_improved)),
    "human responses": _in_turns(lambda turn: bool(turn.annotations.alternate_responses.human_edited)),
    "PANAS items before": lambda conversation: _rated(conversation.pre_panas.responses),
    "PANAS items after": lambda conversation: _rated(conversation.post_panas.responses),
    "Q1 to Q3 answers": _wide_answers,
    "branch ratings": _branches,
}


def describe(conversations: Collection[Conversation]) -> dict[str, Any]:
    """Count what a collection holds.

    Parameters
    ----------
    conversations : Collection of Conversation
        What `attune_data.load` gives, or a part of it.

    Returns
    -------
    dict
        ``conversations``, ``participants``, ``without_participant`` (conversations that name none), ``synthetic``;
        ``traits``: by trait and value the ``conversations`` and ``participants`` that have it, where somebody with
        two diagnoses counts in both; ``counts``: of turns and annotations the ``total``, the ``conversations`` with
        any, and ``min``, ``median``, ``max`` per conversation (nan where there is no conversation); ``issues`` by
        severity.

    Examples
    --------
    >>> from attune_data import load
    >>> counts = describe(load("demo"))
    >>> counts["conversations"], counts["traits"]["diagnosis_group"]["ADHD"]
    (40, {'conversations': 8, 'participants': 6})
    """
    issues = Counter(issue.severity for issue in conversations.found)
    return {
        "conversations": len(conversations),
        "participants": _participants(conversations),
        "without_participant": sum(conversation.participant_id is None for conversation in conversations),
        "synthetic": sum(conversation.synthetic for conversation in conversations),
        "traits": {
            trait: {
                name: {"conversations": len(part), "participants": _participants(part)}
                for name, part in conversations.stratify(trait).items()
            }
            for trait in _TRAITS
        },
        "counts": {name: _spread([count(item) for item in conversations]) for name, count in _COUNTED.items()},
        "issues": {severity: issues[severity] for severity in ("error", "warning", "note")},
    }


def _participants(conversations: Collection[Conversation]) -> int:
    return count_people(conversation.participant_id for conversation in conversations)


def _spread(values: list[int]) -> dict[str, float]:
    low, middle, high = (min(values), median(values), max(values)) if values else [nan] * 3
    with_any = sum(value > 0 for value in values)
    return {"total": sum(values), "conversations": with_any, "min": low, "median": middle, "max": high}


def description_text(counts: Mapping[str, Any]) -> str:
    """Return what `describe` gives as text of 100 columns at most.

    Examples
    --------
    >>> from attune_data import load
    >>> print(description_text(describe(load("demo"))).partition(",")[0])
    40 conversations by 24 participants
    """
    parts = [f"{plural(counts['conversations'], 'conversation')} by {plural(counts['participants'], 'participant')}"]
    if counts["without_participant"]:
        parts.append(f"{counts['without_participant']} without a participant")
    if counts["synthetic"]:
        parts.append(f"{counts['synthetic']} SYNTHETIC")
    issues = [plural(count, severity) for severity, count in counts["issues"].items() if count]
    blocks = [fill(", ".join([*parts, *(issues or ["no issues"])]), WIDTH)]
    rows = [
        [name, f"{row['total']}", f"{row['conversations']}", *(f"{row[part]:g}" for part in ("min", "median", "max"))]
        for name, row in counts["counts"].items()
    ]
    blocks.append(grid(["turns and annotations", "total", "with any", "min", "median", "max"], rows))
    for trait, values in counts["traits"].items():
        rows = [
            [shortened(printable(name), _NAME_WIDTH), f"{row['conversations']}", f"{row['participants']}"]
            for name, row in values.items()
        ]
        several = " (may have several)" if trait in _OVERLAPPING else ""
        blocks.append(grid([f"{_TRAITS[trait]}{several}", "conversations", "participants"], rows))
    blocks.append(fill(_FOOTNOTE, WIDTH))
    return "\n\n".join(blocks)
