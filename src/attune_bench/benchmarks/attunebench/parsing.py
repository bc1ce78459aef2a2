"""Schemas of answers, and readers that are lenient about the form of an answer and strict about its values.

The values of the JSON object are read as loading reads a run file: older spellings are translated, values out of range
clamped, values that are no answer dropped and counted. Nothing is guessed.

A reader takes the object and a `Tally` and returns the fields of a run file that it gives; none at all means that
the answer was of no use.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from attune_bench.benchmarks.attunebench.baselines import Pair
from attune_bench.runner.calls import TEXT, YES_NO, Schema, choice_schema, integer_schema, list_schema, object_schema
from attune_bench.runner.task import Fields
from attune_data import Codebook
from attune_data.attunebench.spellings import ANSWER, CLAMPED, LABEL, PREDICTED_TAGS, WINNER
from attune_data.repair import Fix, IssueCollector, number, text, texts
from attune_metrics.attunebench.preferences import JUDGE_DIMENSIONS

TOTALS = {"positive": "totalPositiveAffect", "negative": "totalNegativeAffect"}
"""The PANAS totals by the affect that they sum."""


def _answers(questions: Iterable[str]) -> Schema:
    return object_schema(dict.fromkeys(questions, object_schema({"observed": YES_NO, "preferred": YES_NO})))


_INTENSITY: Schema = {"type": ["integer", "null"], "enum": [*range(1, 8), None]}


def draft(*, verbose: bool) -> Schema:
    """Return the schema of a drafted reply."""
    return object_schema({"drafted_response": TEXT, **({"response_reasoning": TEXT} if verbose else {})})


def read(codebook: Codebook, questions: Iterable[str], *, verbose: bool) -> Schema:
    """Return the schema of emotion tags, and of answers where there are questions."""
    word, asked = choice_schema(emotion.word for emotion in codebook.emotions.values()), list(questions)
    tags = list_schema(object_schema({"emotion": word, "intensity": _INTENSITY}), len(codebook.emotions))
    reasons = {"emotion_reasoning": TEXT} if verbose else {}
    return object_schema({"emotions": tags, **reasons, **({"answers": _answers(asked)} if asked else {})})


def read_hp(questions: Iterable[str]) -> Schema:
    """Return the schema of answers to the questions in the HP-facing phrasing."""
    return object_schema({"answers": _answers(questions)})


def pairwise(comparisons: int) -> Schema:
    """Return the schema of choices by the position of the comparison, from 0."""
    choice: Schema = {"type": "string", "enum": ["A", "B"]}
    return object_schema({"choices": object_schema(dict.fromkeys(map(str, range(comparisons)), choice))})


def post(codebook: Codebook, *, delta: bool) -> Schema:
    """Return the schema of the predictions after the conversation, with PANAS ratings or their changes."""
    rating = integer_schema(-6, 6) if delta else integer_schema(1, 7)
    wide = {
        question.id: list_schema(choice_schema(question.options), len(question.options))
        if question.multiple
        else choice_schema(question.options)
        for question in codebook.conversation_wide.values()
    }
    panas = object_schema({emotion.word: rating for emotion in codebook.emotions.values()})
    branches = object_schema(dict.fromkeys(codebook.branches, integer_schema(1, 7)))
    return object_schema({"panas": panas, **wide, "fourBranchScores": branches})


Json = Mapping[str, Any]

_JUDGED = number(1, 7, whole=False, clamps_always=True)
_DELTA = number(-6, 6, clamps_always=True)
_NEUTRAL = frozenset(("neutral", "none", "stable", "no change", "no shift", "no clear shift", "no emotion"))


class Tally(IssueCollector):
    """Counts the values that had to be dropped."""

    def __init__(self) -> None:
        super().__init__("")
        self.dropped: int = 0

    def add(self, path: str, rule: str, *rest: object) -> None:  # noqa: ARG002 - only the number of reports is kept
        """Count a value that was no answer."""
        self.dropped += rule == "unknown-value"


# Readers, one for each kind of call.


def read_draft(answer: Json, tally: Tally) -> Fields:
    """Read a drafted reply."""
    fields = read_text(answer, "drafted_response", "em_drafted_response", tally)
    return fields and fields | read_text(answer, "response_reasoning", "response_reasoning", tally)


def read_emotions(answer: Json, tally: Tally, questions: Iterable[str], codebook: Codebook) -> Fields:
    """Read emotion tags and the answers to the questions in the observer phrasing."""
    fields = read_questions(answer, tally, questions)
    tags = answer.get("emotions")
    if isinstance(tags, str) and _is_neutral(tags):
        tags = []
    tags = PREDICTED_TAGS(tags, "", tally)
    if tags is not None:
        known = {word: emotion.word for word, emotion in codebook.emotions.items()}
        named = [(tag, tag["emotion"].strip().lower()) for tag in tags]
        tally.dropped += sum(word not in known and not _is_neutral(word) for _, word in named)
        fields["em_emotion_tags"] = [
            {"emotion": known[word], "intensity": tag.get("intensity")} for tag, word in named if word in known
        ]
    return fields and fields | read_text(answer, "emotion_reasoning", "emotion_reasoning", tally)


def read_questions(answer: Json, tally: Tally, questions: Iterable[str], suffix: str = "") -> Fields:
    """Read two answers to each question; the names of their fields end in `suffix`."""
    given = _entries(answer, "answers", questions, tally)
    pairs = {question: pair for question, pair in given.items() if isinstance(pair, dict)}
    tally.dropped += len(given) - len(pairs)
    fields: Fields = {}
    for side, field in (("observed", "em_binary_om_assessment"), ("preferred", "em_binary_human_prediction")):
        answers = {question: ANSWER(pair.get(side), "", tally) for question, pair in pairs.items()}
        fields |= _present({field + suffix: _present(answers)})
    return fields


def read_pairwise(answer: Json, tally: Tally, pairs: Sequence[Pair]) -> Fields:
    """Read the choices by the position of the comparison; the label of one of its two responses is that response."""
    given = _entries(answer, "choices", map(str, range(len(pairs))), tally)
    of_labels = Tally()  # What is no label may be a winner.
    choices = {place: _choice(said, pairs[int(place)], of_labels, tally) for place, said in given.items()}
    return _present({"em_pairwise_selections": _present(choices)})


def _choice(said: Any, pair: Pair, of_labels: Tally, tally: Tally) -> str | None:
    label = LABEL(said, "", of_labels)
    sides = [side for side, own in (("A", pair.a), ("B", pair.b)) if label and own == label]
    choice: str | None = sides[0] if len(sides) == 1 else WINNER(said, "", tally)
    return choice


@dataclass(frozen=True, slots=True)
class Judgement:
    """A judge's answer about a draft.

    Attributes
    ----------
    questions : tuple of str
        The questions that are asked about the draft.
    rated : bool
        Whether the draft is rated, against a response that the participant edited.
    """

    questions: tuple[str, ...]
    rated: bool

    @property
    def schema(self) -> Schema:
        """The JSON schema of the answer."""
        ratings = dict.fromkeys(JUDGE_DIMENSIONS, integer_schema(1, 7)) if self.rated else {}
        answers = object_schema(dict.fromkeys(self.questions, YES_NO))
        return object_schema(ratings | ({"answers": answers} if self.questions else {}))

    def read(self, said: Fields) -> tuple[Fields, int]:
        """Return the ratings and the answers to the questions, and how many values were dropped."""
        tally = Tally()
        ratings = {name: said[name] for name in JUDGE_DIMENSIONS if self.rated and name in said}
        answers = _entries(said, "answers", self.questions, tally) if self.questions else {}
        fields = {
            "em_draft_judge_scores": _fixed(ratings, _JUDGED, tally),
            "em_draft_binary_assessment": _fixed(answers, ANSWER, tally),
        }
        return _present(fields), tally.dropped


def merge_judgements(by_judge: Mapping[str, Fields]) -> Fields:
    """Merge what judges said of one draft: mean ratings; answers by majority, a tie being yes.

    Parameters
    ----------
    by_judge : mapping of str to dict
        What `Judgement.read` gave of each judge.

    Returns
    -------
    dict
        Fields of a turn: the merged values, and each judge's own.

    Examples
    --------
    >>> said = [{"em_draft_binary_assessment": {"B1": answer}} for answer in ("yes", "no")]
    >>> merge_judgements(dict(zip(("one", "two"), said)))["em_draft_binary_assessment"]
    {'B1': 'yes'}
    """
    fields: Fields = {}
    for field, merge in (("em_draft_judge_scores", fmean), ("em_draft_binary_assessment", _majority)):
        by_model = {judge: said[field] for judge, said in by_judge.items() if field in said}
        values: dict[str, list[Any]] = {}
        for said in by_model.values():
            for name, value in said.items():
                values.setdefault(name, []).append(value)
        if values:
            fields[field] = {name: merge(each) for name, each in values.items()}
            fields[f"{field}_by_model"] = by_model
    return fields


def read_post(answer: Json, tally: Tally, codebook: Codebook, *, strategy: str, pre_items: Mapping[str, int]) -> Fields:
    """Read the predictions after the conversation.

    Of a change the item is the rating before it plus the change, clamped to 1-7; without a rating before, no item.
    A total is the sum of its ten items, and absent where one is missing; a total that the model names is not used.
    """
    affects = {emotion.word: emotion.affect for emotion in codebook.emotions.values()}
    given = _entries(answer, "panas", affects, tally)
    fields: Fields = {}
    if strategy == "absolute":
        items = _fixed(given, CLAMPED, tally)
    else:
        delta = _fixed(given, _DELTA, tally)
        fields |= _present({"predicted_panas_delta": delta})
        items = {word: min(max(pre_items[word] + delta[word], 1), 7) for word in delta if word in pre_items}
    words = {affect: [word for word in affects if affects[word] == affect] for affect in TOTALS}
    totals = {
        name: sum(items[word] for word in words[affect])
        for affect, name in TOTALS.items()
        if items.keys() >= set(words[affect])
    }
    fields |= _present({"predicted_post_panas": totals | _present({"items": items})})
    return fields | _present({"predicted_conversation_wide": _wide(answer, tally, codebook)})


def _wide(answer: Json, tally: Tally, codebook: Codebook) -> Fields:
    fields: Fields = {}
    for question in codebook.conversation_wide.values():
        options = {_folded(option): option for option in question.options}
        said = (texts if question.multiple else text)(answer.get(question.id), "", tally)
        # Text that is no option is kept as loading keeps it, and scored as it stands.
        if isinstance(said, str) and said.strip():
            fields[question.id] = options.get(_folded(said), said)
        elif isinstance(said, list):
            fields[question.id] = [options.get(_folded(item), item) for item in said if item.strip()]
    branches = _entries(answer, "fourBranchScores", codebook.branches, tally)
    return fields | _present({"fourBranchScores": _fixed(branches, CLAMPED, tally)})


# Parts of answers.


def _entries(answer: Json, key: str, known: Iterable[str], tally: Tally) -> Fields:
    """Return the entries of an object, or of the answer itself where it has none, by their known names.

    Letter case and white space of a name do not matter. An entry of another name is dropped.
    """
    names = {name: _folded(name) for name in known}
    inner = answer.get(key)
    given = inner if isinstance(inner, dict) else answer
    folded = {_folded(name): value for name, value in given.items()}
    if isinstance(inner, dict):
        tally.dropped += len(folded.keys() - set(names.values()))
    elif inner is not None:
        tally.dropped += 1
    # Of two spellings of one name that which was asked for counts.
    entries = {name: given.get(name, folded.get(other)) for name, other in names.items()}
    return {name: value for name, value in entries.items() if value is not None}


def _fixed(given: Fields, fix: Fix, tally: Tally) -> Fields:
    return _present({name: fix(value, "", tally) for name, value in given.items()})


def read_text(answer: Json, key: str, field: str, tally: Tally) -> Fields:
    """Read a text of an answer into a field; no field where the text is missing or blank."""
    said = text(answer.get(key), "", tally)
    return {field: said} if said and said.strip() else {}


def _present(values: Mapping[str, Any]) -> Fields:
    """Leave out null and empty values."""
    return {name: value for name, value in values.items() if value is not None and value != {}}


def _folded(name: str) -> str:
    return " ".join(name.split()).casefold()


def _is_neutral(word: str) -> bool:
    return _folded(word) in _NEUTRAL


def _majority(answers: list[str]) -> str:
    yes, no = answers.count("yes"), answers.count("no")
    if yes or no:
        return "yes" if yes >= no else "no"
    return "na"
