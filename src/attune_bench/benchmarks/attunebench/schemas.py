"""JSON schemas of the answers, in the strict form that structured output takes: every key named and required."""

from collections.abc import Iterable, Mapping
from typing import Any

from attune_data import Codebook
from attune_metrics.attunebench.response import JUDGE_DIMENSIONS

__all__ = ["TOTALS", "draft", "judge", "pairwise", "post", "reaction", "read", "read_hp"]

Schema = Mapping[str, Any]

TOTALS = {"positive": "totalPositiveAffect", "negative": "totalNegativeAffect"}
"""The PANAS totals by the affect that they sum."""

_TEXT: Schema = {"type": "string"}
_YES_NO: Schema = {"type": "string", "enum": ["yes", "no"]}


def _object(properties: Mapping[str, Schema]) -> Schema:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def _whole(low: int, high: int) -> Schema:
    # Not every server knows minimum and maximum.
    return {"type": "integer", "enum": list(range(low, high + 1))}


def _one_of(options: Iterable[str]) -> Schema:
    """Return one of the options, or any text where the codebook gives none."""
    given = list(options)
    return {"type": "string", "enum": given} if given else _TEXT


def _list(items: Schema, options: int) -> Schema:
    """Return a list; as a small model may write one for ever, of no more items than there are options, or ten."""
    return {"type": "array", "items": items, "maxItems": options or 10}


def _answers(questions: Iterable[str]) -> Schema:
    return _object(dict.fromkeys(questions, _object({"observed": _YES_NO, "preferred": _YES_NO})))


def _reasoning(verbose: bool) -> dict[str, Schema]:
    return {"reasoning": _TEXT} if verbose else {}


def draft(*, verbose: bool) -> Schema:
    """Return the schema of a drafted reply."""
    return _object({**_reasoning(verbose), "response": _TEXT})


def judge(questions: Iterable[str], *, rated: bool) -> Schema:
    """Return the schema of a judgement: ratings where there is something to rate against, and answers."""
    asked = list(questions)
    return _object(
        {
            **(dict.fromkeys(JUDGE_DIMENSIONS, _whole(1, 7)) if rated else {}),
            **({"answers": _object(dict.fromkeys(asked, _YES_NO))} if asked else {}),
        }
    )


def read(codebook: Codebook, questions: Iterable[str], *, verbose: bool) -> Schema:
    """Return the schema of emotion tags, and of answers where there are questions."""
    tag = _object(
        {"emotion": _one_of(emotion.word for emotion in codebook.emotions.values()), "intensity": _whole(1, 7)}
    )
    asked = list(questions)
    return _object(
        {
            **_reasoning(verbose),
            "emotions": _list(tag, len(codebook.emotions)),
            **({"answers": _answers(asked)} if asked else {}),
        }
    )


def read_hp(questions: Iterable[str]) -> Schema:
    """Return the schema of answers to the questions in the HP-facing phrasing."""
    return _object({"answers": _answers(questions)})


def pairwise(comparisons: int) -> Schema:
    """Return the schema of choices by the position of the comparison, from 0."""
    choice: Schema = {"type": "string", "enum": ["A", "B"]}
    return _object({"choices": _object(dict.fromkeys(map(str, range(comparisons)), choice))})


def post(codebook: Codebook, *, delta: bool) -> Schema:
    """Return the schema of what is predicted after the conversation; of the PANAS ratings, or their changes."""
    rating = _whole(-6, 6) if delta else _whole(1, 7)
    wide = {
        question.id: _list(_one_of(question.options), len(question.options))
        if question.multiple
        else _one_of(question.options)
        for question in codebook.conversation_wide.values()
    }
    return _object(
        {
            "panas": _object({emotion.word: rating for emotion in codebook.emotions.values()}),
            **wide,
            "fourBranchScores": _object(dict.fromkeys(codebook.branches, _whole(1, 7))),
        }
    )


def reaction() -> Schema:
    """Return the schema of what a simulated person answers: a reflection first, two changes, and the reply."""
    change = _whole(-10, 10)
    return _object(
        {
            "reflection": _TEXT,
            "anger_delta": change,
            "trust_delta": change,
            "reply": _TEXT,
            "continue": _YES_NO,
            "stop_reason": _TEXT,
        }
    )
