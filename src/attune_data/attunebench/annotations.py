"""What the annotations of a conversation say, in words, for its transcripts."""

from collections import Counter
from collections.abc import Iterator, Sequence

from attune_data.attunebench.codebook import load_codebook
from attune_data.attunebench.diagnoses import diagnosis_groups
from attune_data.attunebench.parts import (
    BinaryJudgement,
    ConversationData,
    ConversationWideQuestions,
    MoodShiftTag,
    PairwiseComparison,
    Panas,
    Turn,
)
from attune_data.attunebench.run_parts import PredictedConversationWide

__all__ = [
    "JUDGED",
    "RESPONSES",
    "TELLING",
    "affects",
    "answers_given",
    "asked",
    "choices",
    "facts",
    "felt",
    "judged",
    "preferred",
    "question_text",
    "questions_of",
    "topic",
]

JUDGED = {
    "unwanted": "done, though not wanted",
    "missed": "wanted, but not done",
    "as wanted": "wanted and done",
    "avoided": "neither wanted nor done",
    "n/a": "not applicable",
}
"""What the two answers to a question say together: did the response do it, did the participant want it."""

TELLING = ("unwanted", "missed")
"""Where what the response did and what the participant wanted differ."""

_JUDGED: dict[tuple[str | None, str | None], str] = dict(
    zip([("yes", "no"), ("no", "yes"), ("yes", "yes"), ("no", "no"), ("na", "na")], JUDGED, strict=True)
)

RESPONSES = {
    "original": "what the model answered",
    "alternate": "the answer as a model improved it",
    "human": "the answer as the participant edited it",
}
"""The responses that were compared, by label."""


def topic(conversation: ConversationData) -> str:
    """Return the topic as ``category: subtopic``; empty where the file does not say."""
    metadata = conversation.metadata
    return metadata.text or ": ".join(filter(None, (metadata.category, metadata.subtopic)))


def facts(conversation: ConversationData) -> dict[str, str]:
    """Return what is known of the conversation and the participant, by heading; what is not known is left out."""
    profile = conversation.participant_profile
    person = profile.demographics
    english = person.english_proficiency and f"English: {person.english_proficiency}"
    about = [profile.participant_id, person.age_range, person.gender, person.country, person.education]
    groups = f" ({', '.join(diagnosis_groups(person.diagnoses))})" if person.diagnoses else ""
    scores = profile.computed_scores
    given = {name: getattr(scores, name) for name in type(scores).model_fields}
    found = {
        "topic": topic(conversation),
        "attitude": profile.conversation_topic_attitude,
        "model": conversation.metadata.model,
        "participant": ", ".join(filter(None, [*about, *person.work_edu_background, english])),
        "diagnoses": ", ".join(person.diagnoses) + groups,
        "screening": ", ".join(f"{name} {score}" for name, score in given.items() if score is not None),
    }
    return {heading: value for heading, value in found.items() if value}


def felt(tags: Sequence[MoodShiftTag]) -> list[str]:
    """Return each emotion with its intensity of 1-7, where one was given."""
    return [tag.emotion if tag.intensity is None else f"{tag.emotion} {tag.intensity}" for tag in tags]


def judged(turn: Turn) -> dict[str, list[BinaryJudgement]]:
    """Return the judgements of a turn by what they say, `JUDGED` first, then what any other two answers say."""
    found: dict[str, list[BinaryJudgement]] = {name: [] for name in JUDGED}
    for judgement in turn.annotations.binary_judgements:
        answers = (judgement.observed_behavior, judgement.preferred_behavior)
        name = _JUDGED.get(answers, f"observed {answers[0] or '-'}, preferred {answers[1] or '-'}")
        found.setdefault(name, []).append(judgement)
    return {name: judgements for name, judgements in found.items() if judgements}


def asked(judgement: BinaryJudgement) -> str:
    """Return the id of the question, with a model's answer where the file has one."""
    model = f" (a model said {judgement.llm_value})" if judgement.llm_value else ""
    return f"{judgement.question_id}{model}"


def preferred(turn: Turn) -> list[tuple[str, int]]:
    """Return how often each response of a turn was chosen, most often first."""
    comparisons = turn.annotations.pairwise_comparisons
    compared = [label for pair in comparisons for label in (pair.response_a, pair.response_b) if label]
    wins: Counter[str] = Counter(dict.fromkeys(compared, 0))
    wins.update(label for pair in comparisons if (label := _winner(pair)))
    return wins.most_common()


def choices(turn: Turn) -> dict[str, list[str]]:
    """Return every choice between two responses of a turn in words, by question."""
    found: dict[str, list[str]] = {}
    for pair in turn.annotations.pairwise_comparisons:
        first, second = pair.response_a or "A", pair.response_b or "B"
        if pair.winner is None:
            said = f"no choice of {first} and {second}"
        else:
            said = f"{first} over {second}" if pair.winner == "A" else f"{second} over {first}"
        found.setdefault(pair.question_id or "no question", []).append(said)
    for name in turn.annotations.selected_pairwise_questions:
        found.setdefault(name, ["no comparison"])
    return found


def _winner(pair: PairwiseComparison) -> str | None:
    return {"A": pair.response_a, "B": pair.response_b, None: None}[pair.winner]


def affects(conversation: ConversationData) -> Iterator[tuple[str, str, list[tuple[str, str]]]]:
    """Yield positive and negative affect, then other items: a name, the recorded total, and item with rating.

    Totals and ratings are those before and after the conversation, with an arrow between.
    """
    before, after = conversation.pre_panas, conversation.post_panas
    items = dict.fromkeys([*before.responses, *after.responses])
    for affect in ("positive", "negative", "other"):
        words = [word for word in items if _affect_of(word) == affect]
        totals = [_total(panas, affect) for panas in (before, after)] if affect != "other" else []
        total = _change(*totals) if any(value is not None for value in totals) else ""
        if words or total:
            ratings = [(word, _change(before.responses.get(word), after.responses.get(word))) for word in words]
            yield affect, total, ratings


def _affect_of(word: str) -> str:
    emotions = load_codebook().emotions
    return emotions[word].affect if word in emotions else "other"


def _total(panas: Panas, affect: str) -> int | None:
    total: int | None = getattr(panas, f"total_{affect}_affect")
    return total


def _change(before: int | None, after: int | None) -> str:
    return "->".join("-" if value is None else str(value) for value in (before, after))


def answers_given(wide: ConversationWideQuestions | PredictedConversationWide) -> Iterator[tuple[str, str]]:
    """Yield each answer about the whole conversation, after its question in short."""
    branches = wide.four_branch_scores
    given = {name: getattr(branches, name) for name in type(branches).model_fields}
    answers = {
        "looking for": "; ".join(wide.q1_looking_for),
        "clarity": wide.q2_emotion_clarity,
        "model fit": wide.q3_model_fit,
        "felt off": "; ".join(wide.q3_follow_up_what_felt_off),
        "branches": ", ".join(f"{name} {score}" for name, score in given.items() if score is not None),
    }
    for question, answer in answers.items():
        if answer:
            yield question, answer


def questions_of(conversation: ConversationData) -> dict[str, str]:
    """Return the questions about single turns that were asked in a conversation, by id, with their texts."""
    turns = [turn.annotations for turn in conversation.turns]
    ids = {judgement.question_id for turn in turns for judgement in turn.binary_judgements}
    ids |= {pair.question_id or "" for turn in turns for pair in turn.pairwise_comparisons}
    book = load_codebook()
    return {name: text for name in (*book.binary, *book.pairwise) if name in ids and (text := question_text(name))}


def question_text(name: str) -> str:
    """Return the text of a question about a turn; empty where the codebook has none."""
    book = load_codebook()
    if name in book.binary:
        return book.binary[name].text
    return (book.pairwise[name].text or "") if name in book.pairwise else ""
