"""Hypothesis strategies of conversations and runs that load without an issue."""

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from attune_data.attunebench.codebook import load_codebook
from attune_data.attunebench.profile import instruments
from attune_data.attunebench.records import (
    ANSWER_FIELDS,
    AlternateResponses,
    Annotations,
    BinaryJudgement,
    ComputedScores,
    ConversationData,
    ConversationWideQuestions,
    JudgeScores,
    Metadata,
    MoodShiftTag,
    PairwiseComparison,
    Panas,
    ParticipantProfile,
    PostConversation,
    PredictedConversationWide,
    PredictedPanas,
    RunTurn,
    Turn,
)
from attune_data.attunebench.show import Run
from attune_data.record import Record
from attune_data.testing import Json, filled, from_model

_LABELS = ("original", "alternate", "human")
_POSITIONS = tuple(str(position) for position in range(12))


def conversation_documents() -> st.SearchStrategy[Json]:
    """Return a strategy of conversations, of one to three turns."""
    profile = from_model(ParticipantProfile, {"computed_scores": st.none() | _scores()})
    return from_model(
        ConversationData,
        {
            "metadata": st.none() | from_model(Metadata),
            "participant_profile": st.none() | profile,
            "pre_panas": st.none() | _panas(Panas, "responses", str.lower),
            "post_panas": st.none() | _panas(Panas, "responses", str.lower),
            "conversation_wide_questions": st.none() | _wide(ConversationWideQuestions),
            "turns": _numbered(_turn()),
        },
    )


def run_documents() -> st.SearchStrategy[Json]:
    """Return a strategy of complete runs, of one to three turns."""
    post = from_model(
        PostConversation,
        {
            "predicted_post_panas": st.none() | _panas(PredictedPanas, "items", str.title),
            "predicted_conversation_wide": st.none() | _wide(PredictedConversationWide),
        },
    )
    mode = st.sampled_from(["default", "verbose", "omniscient", "verbose_omniscient"])
    return from_model(Run, {"mode": mode, "turns": _numbered(_run_turn()), "post_conversation": post})


def _numbered(turns: st.SearchStrategy[Json]) -> st.SearchStrategy[list[Json]]:
    """Return one to three turns, numbered from 1."""
    return st.lists(turns, min_size=1, max_size=3).map(
        lambda drawn: [{**turn, "turnNumber": number} for number, turn in enumerate(drawn, start=1)]
    )


def _tags() -> st.SearchStrategy[list[Json]]:
    words = st.sampled_from([emotion.word for emotion in load_codebook().emotions.values()])
    return st.lists(from_model(MoodShiftTag, {"emotion": words}), max_size=3, unique_by=lambda tag: tag["emotion"])


@st.composite
def _turn(draw: st.DrawFn) -> Json:
    book = load_codebook()
    judgement = from_model(BinaryJudgement, {"question_id": st.sampled_from(list(book.binary))})
    known = list(book.pairwise)
    asked = st.sampled_from(known) | filled.map(lambda text: f"custom:{text}")
    annotations = {
        "binary_judgements": st.lists(judgement, max_size=3, unique_by=lambda item: item["questionId"]),
        "selected_pairwise_questions": st.lists(st.sampled_from(known), max_size=3, unique=True),
        "alternate_responses": from_model(AlternateResponses, {"llm_improved": filled, "human_edited": filled}),
        "pairwise_comparisons": st.lists(_comparison(asked), max_size=3),
    }
    fields = {
        "turn_number": st.just(1),
        "llm_response": filled,
        "mood_shift_tags": st.none() | _tags(),
        "annotations": st.none() | from_model(Annotations, annotations),
    }
    return draw(from_model(Turn, fields))


@st.composite
def _comparison(draw: st.DrawFn, asked: st.SearchStrategy[str]) -> Json:
    first, second = draw(st.permutations(_LABELS))[:2]
    winner = st.sampled_from(["A", "B"])
    fields = {"question_id": asked, "response_a": st.just(first), "response_b": st.just(second), "winner": winner}
    return draw(from_model(PairwiseComparison, fields))


@st.composite
def _panas(draw: st.DrawFn, model: type[Record], items: str, case: Callable[[str], str]) -> Json:
    """Draw ratings of some or all words; a total is the sum of its ten items where all ten are rated."""
    emotions = load_codebook().emotions
    rated = draw(st.sets(st.sampled_from(sorted(emotions)), max_size=3) | st.just(set(emotions)))
    ratings = {word: draw(st.integers(1, 7)) for word in sorted(rated)}
    form: Json = {items: {case(word): rating for word, rating in ratings.items()}}
    for affect in ("positive", "negative"):
        own = [ratings.get(word) for word, emotion in emotions.items() if emotion.affect == affect]
        known = [rating for rating in own if rating is not None]
        total = st.just(sum(known)) if len(known) == len(own) else st.integers(10, 70)
        form[f"total_{affect}_affect"] = draw(st.none() | total)
    return draw(from_model(model, {name: st.just(value) for name, value in form.items()}))


@st.composite
def _wide(draw: st.DrawFn, model: type[Record]) -> Json:
    book = load_codebook()
    fit = draw(st.none() | st.sampled_from(book.q3_options))
    felt_off = st.lists(filled, max_size=2) if fit in book.q3_negative else st.just([])
    fields = {
        "q1_looking_for": st.lists(st.sampled_from(book.q1_options), max_size=2),
        "q2_emotion_clarity": st.none() | st.sampled_from(book.q2_options),
        "q3_model_fit": st.just(fit),
        "q3_follow_up_what_felt_off": felt_off,
    }
    return draw(from_model(model, fields))


def _scores() -> st.SearchStrategy[Json]:
    """Return scores within the ranges of their instruments."""
    fields: dict[str, st.SearchStrategy[Any]] = {}
    for name in ComputedScores.model_fields:
        one = instruments[name]
        if float(one.low).is_integer() and not name.endswith("_t"):
            fields[name] = st.none() | st.integers(int(one.low), int(one.high))
        else:
            fields[name] = st.none() | st.floats(one.low, one.high).map(lambda score: round(score, 1))
    return from_model(ComputedScores, fields)


def _run_turn() -> st.SearchStrategy[Json]:
    questions = st.sampled_from(list(load_codebook().binary))
    answers = st.none() | st.dictionaries(questions, st.sampled_from(["yes", "no", "na", None]), max_size=3)
    rating = st.none() | st.integers(1, 7) | st.floats(1, 7)
    choices = st.dictionaries(st.sampled_from(_POSITIONS), st.sampled_from(["A", "B", None]), max_size=3)
    fields = {
        "turn_number": st.just(1),
        "em_emotion_tags": _tags(),
        "em_pairwise_selections": choices,
        "em_draft_judge_scores": st.none() | from_model(JudgeScores, dict.fromkeys(JudgeScores.model_fields, rating)),
        **dict.fromkeys(ANSWER_FIELDS, answers),
    }
    return from_model(RunTurn, fields)
