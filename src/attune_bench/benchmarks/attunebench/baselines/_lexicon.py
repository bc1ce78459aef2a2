"""The lexicon baseline: rules written by hand, read off the words of message and reply."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean
from typing import Literal

from attune_bench.benchmarks.attunebench.baselines._emotions import find_emotions
from attune_bench.benchmarks.attunebench.baselines._questions import OBSERVED, Exchange, content_words, prefers
from attune_bench.benchmarks.attunebench.model_view import Pair, Seen, SeenTurn, predicted_panas, see
from attune_data import Codebook, Conversation, Run, Runs, RunTurn, load_codebook
from attune_data.attunebench.records import (
    Answers,
    FourBranchScores,
    MoodShiftTag,
    PostConversation,
    PredictedConversationWide,
)

__all__ = ["lexicon"]

_MOST_TAGS = 3
_LONGEST_QUOTE = 12  # words


def lexicon(conversations: Iterable[Conversation]) -> Runs:
    """Answer by an emotion lexicon and simple rules, for English.

    Emotions are those whose words the message holds, three at most; a message without any keeps those of the turn
    before. A rule per binary question reads the original reply; what the person would have wanted does not
    depend on the reply: to be understood, and guidance when they ask for it. Of two responses the one wins that shares
    more of its content words with the message (Jaccard; A if equal). The post-PANAS is the pre-PANAS with the items of
    the last emotions raised by one and the other negative items lowered by one.

    Parameters
    ----------
    conversations : iterable of Conversation
        What to predict.

    Returns
    -------
    Runs
        One per conversation, in order; ``em_model`` is ``baseline/lexicon``.

    Examples
    --------
    >>> from attune_data import load
    >>> run = lexicon(load("demo"))[0]
    >>> run.em_model, run.complete
    ('baseline/lexicon', True)
    """
    codebook = load_codebook()
    return Runs([_run(see(conversation), codebook) for conversation in conversations])


def _run(seen: Seen, codebook: Codebook) -> Run:
    exchanges = [
        Exchange(turn.message, turn.reply, tuple(earlier.reply for earlier in seen.turns[:position]))
        for position, turn in enumerate(seen.turns)
    ]
    tagged: list[dict[str, int]] = []
    for exchange in exchanges:
        found = dict(list(exchange.felt.items())[:_MOST_TAGS])
        tagged.append(found or (tagged[-1] if tagged else {}))
    last = tagged[-1] if tagged else {}
    post = PostConversation(
        panas_strategy="absolute",
        predicted_post_panas=predicted_panas(_shifted(seen.pre_items, last, codebook), seen.pre_totals),
        predicted_conversation_wide=_wide(exchanges, codebook),
    )
    return Run(
        conversation_id=seen.id,
        em_model="baseline/lexicon",
        mode="default",
        turns=tuple(map(_turn, seen.turns, exchanges, tagged)),
        post_conversation=post,
    )


def _turn(turn: SeenTurn, exchange: Exchange, emotions: Mapping[str, int]) -> RunTurn:
    observed: Answers = {
        question: "yes" if question in OBSERVED and OBSERVED[question](exchange) else "no"
        for question in turn.questions
    }
    preferred: Answers = {question: "yes" if prefers(question, exchange) else "no" for question in turn.questions}
    return RunTurn(
        turn_number=turn.number,
        em_emotion_tags=tuple(MoodShiftTag(emotion=word, intensity=value) for word, value in emotions.items()),
        em_drafted_response=_draft(turn.message, emotions),
        em_binary_om_assessment=observed,
        em_binary_human_prediction=preferred,
        em_binary_om_assessment_hp=observed,
        em_binary_human_prediction_hp=preferred,
        em_pairwise_selections=_choices(turn),
    )


def _choices(turn: SeenTurn) -> dict[str, Literal["A", "B"] | None]:
    message = content_words(turn.message)
    likeness = {label: _likeness(message, content_words(text)) for label, text in turn.responses.items()}

    def choice(pair: Pair) -> Literal["A", "B"]:
        return "B" if likeness.get(pair.b or "", 0) > likeness.get(pair.a or "", 0) else "A"

    return {str(position): choice(pair) for position, pair in enumerate(turn.pairs)}


def _likeness(first: frozenset[str], second: frozenset[str]) -> float:
    return len(first & second) / len(first | second) if first and second else 0.0


def _draft(message: str, emotions: Mapping[str, int]) -> str:
    """Return a reply that names the strongest emotion and quotes the clause that tells most of it."""
    clauses = [clause.strip() for clause in re.split(r"[.,;:!?\n]+", message) if clause.strip()]
    feeling = f"It sounds like you feel {next(iter(emotions)).lower()}." if emotions else "I hear you."
    if not clauses:
        return feeling
    clause = max(clauses, key=lambda text: sum(find_emotions(text).values()))
    clause = " ".join(clause.split()[:_LONGEST_QUOTE])
    return f'{feeling} "{clause}", that is a lot. I\'m here, tell me more if you like. What is the hardest part of it?'


def _shifted(pre: Mapping[str, int], last: Mapping[str, int], codebook: Codebook) -> dict[str, int]:
    """Return the items after the conversation: what was felt last rises by one, any other negative affect falls."""

    def shift(word: str) -> int:
        return 1 if word in last else -(codebook.emotions[word.lower()].affect == "negative")

    return {word: min(max(rating + shift(word), 1), 7) for word, rating in pre.items()}


def _wide(exchanges: Sequence[Exchange], codebook: Codebook) -> PredictedConversationWide:
    vent, sort_out, decide, urgent, _, calm, _ = codebook.q1_options
    explicit, implied, mixed, _ = codebook.q2_options

    def share(test: Callable[[Exchange], bool]) -> float:
        return fmean(map(test, exchanges)) if exchanges else 0.0

    def has_mixed_feelings(exchange: Exchange) -> bool:
        return len({codebook.emotions[word.lower()].affect for word in exchange.felt}) > 1

    mixed_share = share(has_mixed_feelings)
    seeks_advice = share(lambda e: e.told("asking_for_advice")) > 0
    is_afraid = share(lambda e: "Scared" in e.felt or "Afraid" in e.felt) > 0
    goals = {
        vent: not seeks_advice,
        sort_out: mixed_share > 0,
        decide: seeks_advice,
        urgent: share(lambda e: e.told("risk")) > 0,
        calm: is_afraid,
    }
    clarity = mixed if mixed_share > 0.5 else explicit if share(lambda e: bool(e.felt)) > 0.5 else implied
    fitting = share(OBSERVED["B8"])
    fit = codebook.q3_options[sum(fitting <= step for step in (0.75, 0.5, 0.25))]
    felt_off = "It gave advice before it listened" if share(OBSERVED["B313"]) > 0.5 else "It missed what I said"
    branches = {"perceiving": "B1", "facilitating": "B8", "understanding": "B15", "managing": "B19"}
    return PredictedConversationWide(
        q1_looking_for=tuple(goal for goal, wanted in goals.items() if wanted),
        q2_emotion_clarity=clarity,
        q3_model_fit=fit,
        q3_follow_up_what_felt_off=(felt_off,) if fit in codebook.q3_negative else (),
        four_branch_scores=FourBranchScores.model_validate(
            {name: round(1 + 6 * share(OBSERVED[question])) for name, question in branches.items()}
        ),
    )
