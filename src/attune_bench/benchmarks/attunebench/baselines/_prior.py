"""The prior baseline: the most frequent answer of other participants."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import median_low
from typing import Any

from attune_bench.benchmarks.attunebench.model_view import Pair, Seen, SeenTurn, predicted_panas, see
from attune_data import Conversation, Run, Runs, RunTurn, Turn, load_codebook
from attune_data.attunebench.records import (
    Answers,
    FourBranchScores,
    MoodShiftTag,
    PostConversation,
    PredictedConversationWide,
)
from attune_data.query import text_key
from attune_metrics.attunebench.questions import hp_reference, om_reference

__all__ = ["prior"]

# How often each answer was given, by what was asked.
_Counts = Mapping[tuple[Any, ...], Counter[Any]]

_LABELS = ("human", "alternate", "original")  # of two labels never compared, or tied, the earlier one wins
_DRAFT = "I'm sorry, that sounds really hard. It makes sense that you feel this way. What is on your mind the most?"


def prior(conversations: Iterable[Conversation], *, folds: int = 10) -> Runs:
    """Answer every question as most participants answered it, whatever the conversation says.

    Participants, in order of their id, are dealt into folds, and a fold is predicted from all others: per question
    the most frequent answer; per pairwise question and pair of labels the label that won more often, or else the one
    that did over all questions; per turn number the most frequent number of emotions, and as many of the most
    frequent words with their median intensity; the most frequent Q1 set, Q2, Q3 and, if that Q3 is negative, felt-off
    text; median branches. The guess of the post-PANAS is the conversation's own pre-PANAS, and the draft is the same
    sentence everywhere. Ties go to the first in alphabetical order.

    Where the other folds say nothing: "no", the label order human, alternate, original, no emotion, Q1-Q3 empty,
    branches 4.

    Parameters
    ----------
    conversations : iterable of Conversation
        What to predict and, in the other folds, to learn from. One without a participant's id is taken as the only
        one of its participant.
    folds : int
        At least 2. With fewer participants than folds each participant is a fold; of one participant alone nothing
        can be learned.

    Returns
    -------
    Runs
        One per conversation, in order; ``em_model`` is ``baseline/prior``.

    Raises
    ------
    ValueError
        If there are fewer than 2 folds.

    Examples
    --------
    >>> from attune_data import load
    >>> conversations = load("demo")
    >>> post = prior(conversations)[0].post_conversation
    >>> post.predicted_post_panas.items["Proud"] == conversations[0].pre_panas.responses["proud"]
    True
    """
    if folds < 2:
        raise ValueError(f"folds is {folds}; at least 2 are needed to learn from the others")
    records = list(conversations)
    fold_of = _deal(records, folds)
    counted = {
        fold: _count([record for record, other in zip(records, fold_of, strict=True) if other != fold])
        for fold in set(fold_of)
    }
    return Runs([_run(see(record), counted[fold]) for record, fold in zip(records, fold_of, strict=True)])


def _deal(records: Sequence[Conversation], folds: int) -> list[int]:
    """Return the fold of each conversation."""
    # A conversation id never joins the cluster of a participant who happens to have the same id.
    clusters = [(person, "") if (person := text_key(record.participant_id)) else ("", record.id) for record in records]
    place = {cluster: position for position, cluster in enumerate(sorted(set(clusters)))}
    return [place[cluster] % folds for cluster in clusters]


def _count(records: Iterable[Conversation]) -> _Counts:
    counts: defaultdict[tuple[Any, ...], Counter[Any]] = defaultdict(Counter)
    for record in records:
        for turn in {turn.turn_number: turn for turn in record.turns}.values():
            _count_turn(turn, counts)
        wide = record.conversation_wide_questions
        counts["q1",][tuple(sorted({goal.strip() for goal in wide.q1_looking_for} - {""}))] += 1
        counts["q2",][(wide.q2_emotion_clarity or "").strip()] += 1
        counts["q3",][(wide.q3_model_fit or "").strip()] += 1
        counts["felt off",].update({text.strip() for text in wide.q3_follow_up_what_felt_off} - {""})
        for name in FourBranchScores.model_fields:
            if (rating := getattr(wide.four_branch_scores, name)) is not None:
                counts["branch", name][rating] += 1
    return counts


def _count_turn(turn: Turn, counts: defaultdict[tuple[Any, ...], Counter[Any]]) -> None:
    number = turn.turn_number
    known = load_codebook().emotions
    given = [(tag.emotion.strip().lower(), tag.intensity) for tag in turn.mood_shift_tags]
    tags = {known[word].word: intensity for word, intensity in given if word in known}
    for key in (("size", number), ("size",)):
        counts[key][len(tags)] += 1
    for key in (("emotion", number), ("emotion",)):
        counts[key].update(tags.keys())
    for word, intensity in tags.items():
        if intensity is not None:
            counts["intensity", word][intensity] += 1
    for question, judgement in {j.question_id: j for j in turn.annotations.binary_judgements}.items():
        observed = om_reference(judgement.observed_behavior, judgement.llm_value)
        preferred = hp_reference(judgement.preferred_behavior, judgement.observed_behavior)
        for kind, answer in (("observed", observed), ("preferred", preferred)):
            if answer in ("yes", "no"):  # no other answer is scored
                counts[kind, question][answer] += 1
    for comparison in turn.annotations.pairwise_comparisons:
        winner = {"A": comparison.response_a, "B": comparison.response_b, None: None}[comparison.winner]
        if winner is not None:
            labels = frozenset((comparison.response_a, comparison.response_b))
            counts[comparison.question_id, labels][_LABELS.index(winner)] += 1
            counts[labels,][_LABELS.index(winner)] += 1


def _top(counts: _Counts, *keys: tuple[Any, ...], n: int = 1) -> list[Any]:
    """Return the n most frequent answers under the first of the keys that has any."""
    there = next((counts[key] for key in keys if counts.get(key)), Counter[Any]())
    return sorted(there, key=lambda answer: (-there[answer], answer))[:n]


def _median(counts: _Counts, *key: str) -> int | None:
    return median_low(counts[key].elements()) if key in counts else None


def _run(seen: Seen, counts: _Counts) -> Run:
    (goals,) = _top(counts, ("q1",)) or [()]
    (clarity,) = _top(counts, ("q2",)) or [None]
    (fit,) = _top(counts, ("q3",)) or [None]
    negative = (fit or "").lower() in {option.lower() for option in load_codebook().q3_negative}
    wide = PredictedConversationWide(
        q1_looking_for=goals,
        q2_emotion_clarity=clarity or None,
        q3_model_fit=fit or None,
        q3_follow_up_what_felt_off=tuple(_top(counts, ("felt off",))) if negative else (),
        four_branch_scores=FourBranchScores.model_validate(
            {name: _median(counts, "branch", name) or 4 for name in FourBranchScores.model_fields}
        ),
    )
    post = PostConversation(
        panas_strategy="absolute",
        predicted_post_panas=predicted_panas(seen.pre_items, seen.pre_totals),
        predicted_conversation_wide=wide,
    )
    return Run(
        conversation_id=seen.id,
        em_model="baseline/prior",
        mode="default",
        turns=tuple(_turn(turn, counts) for turn in seen.turns),
        post_conversation=post,
    )


def _turn(turn: SeenTurn, counts: _Counts) -> RunTurn:
    (size,) = _top(counts, ("size", turn.number), ("size",)) or [0]
    words = _top(counts, ("emotion", turn.number), ("emotion",), n=size)
    observed, preferred = _answers(turn, "observed", counts), _answers(turn, "preferred", counts)
    return RunTurn(
        turn_number=turn.number,
        em_emotion_tags=tuple(
            MoodShiftTag(emotion=word, intensity=_median(counts, "intensity", word)) for word in words
        ),
        em_drafted_response=_DRAFT,
        em_binary_om_assessment=observed,
        em_binary_human_prediction=preferred,
        em_binary_om_assessment_hp=observed,
        em_binary_human_prediction_hp=preferred,
        em_pairwise_selections={
            str(position): "B" if pair.b == _winner(pair, counts) else "A" for position, pair in enumerate(turn.pairs)
        },
    )


def _answers(turn: SeenTurn, kind: str, counts: _Counts) -> Answers:
    return {question: (_top(counts, (kind, question)) or ["no"])[0] for question in turn.questions}


def _winner(pair: Pair, counts: _Counts) -> str:
    labels = frozenset((pair.a, pair.b))
    ranks = _top(counts, (pair.question, labels), (labels,)) or [_LABELS.index(label) for label in labels if label]
    return _LABELS[min(ranks, default=0)]
