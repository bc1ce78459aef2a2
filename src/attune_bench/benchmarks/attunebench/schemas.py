"""JSON schemas of the answers."""

from collections.abc import Iterable

from attune_bench.runner.schemas import (
    TEXT,
    YES_NO,
    Schema,
    choice_schema,
    integer_schema,
    list_schema,
    object_schema,
)
from attune_data import Codebook
from attune_metrics.attunebench.preferences import JUDGE_DIMENSIONS

__all__ = ["TOTALS", "draft", "judge", "pairwise", "post", "read", "read_hp"]

TOTALS = {"positive": "totalPositiveAffect", "negative": "totalNegativeAffect"}
"""The PANAS totals by the affect that they sum."""


def _answers(questions: Iterable[str]) -> Schema:
    return object_schema(dict.fromkeys(questions, object_schema({"observed": YES_NO, "preferred": YES_NO})))


_INTENSITY: Schema = {"type": ["integer", "null"], "enum": [*range(1, 8), None]}


def draft(*, verbose: bool) -> Schema:
    """Return the schema of a drafted reply."""
    return object_schema({"drafted_response": TEXT, **({"response_reasoning": TEXT} if verbose else {})})


def judge(questions: Iterable[str], *, rated: bool) -> Schema:
    """Return the schema of a judgement: ratings where there is something to rate against, and answers."""
    asked = list(questions)
    return object_schema(
        {
            **(dict.fromkeys(JUDGE_DIMENSIONS, integer_schema(1, 7)) if rated else {}),
            **({"answers": object_schema(dict.fromkeys(asked, YES_NO))} if asked else {}),
        }
    )


def read(codebook: Codebook, questions: Iterable[str], *, verbose: bool) -> Schema:
    """Return the schema of emotion tags, and of answers where there are questions."""
    tag = object_schema(
        {
            "emotion": choice_schema(emotion.word for emotion in codebook.emotions.values()),
            "intensity": _INTENSITY,
        }
    )
    asked = list(questions)
    return object_schema(
        {
            "emotions": list_schema(tag, len(codebook.emotions)),
            **({"emotion_reasoning": TEXT} if verbose else {}),
            **({"answers": _answers(asked)} if asked else {}),
        }
    )


def read_hp(questions: Iterable[str]) -> Schema:
    """Return the schema of answers to the questions in the HP-facing phrasing."""
    return object_schema({"answers": _answers(questions)})


def pairwise(comparisons: int) -> Schema:
    """Return the schema of choices by the position of the comparison, from 0."""
    choice: Schema = {"type": "string", "enum": ["A", "B"]}
    return object_schema({"choices": object_schema(dict.fromkeys(map(str, range(comparisons)), choice))})


def post(codebook: Codebook, *, delta: bool) -> Schema:
    """Return the schema of what is predicted after the conversation; of the PANAS ratings, or their changes."""
    rating = integer_schema(-6, 6) if delta else integer_schema(1, 7)
    wide = {
        question.id: list_schema(choice_schema(question.options), len(question.options))
        if question.multiple
        else choice_schema(question.options)
        for question in codebook.conversation_wide.values()
    }
    return object_schema(
        {
            "panas": object_schema({emotion.word: rating for emotion in codebook.emotions.values()}),
            **wide,
            "fourBranchScores": object_schema(dict.fromkeys(codebook.branches, integer_schema(1, 7))),
        }
    )
