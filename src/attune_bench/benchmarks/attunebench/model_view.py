"""What a predictor may see of a conversation. The participant's answers have no place in these records."""

from collections.abc import Mapping
from dataclasses import dataclass

from attune_data import Conversation, Turn, load_codebook
from attune_data.attunebench.records import BinaryJudgement, PredictedPanas
from attune_metrics.attunebench.panas import Panas, panas_totals
from attune_metrics.attunebench.questions import hp_reference, om_reference

__all__ = ["MASKS", "Pair", "Seen", "SeenTurn", "predicted_panas", "see"]

MASKS = {"original": "original", "alternate": "alternate1", "human": "alternate2"}
"""What a predictor is told of the label of a response: not who wrote it."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A comparison that is asked: the pairwise question and which response stands as A and as B."""

    question: str | None
    a: str | None
    b: str | None


@dataclass(frozen=True, slots=True)
class SeenTurn:
    """One turn: texts, and what is asked about them; `responses` by label, the original among them.

    Of the binary `questions` those that apply are `applicable`.
    """

    number: int
    message: str
    responses: Mapping[str, str]
    questions: tuple[str, ...]
    applicable: tuple[str, ...]
    pairs: tuple[Pair, ...]

    @property
    def reply(self) -> str:
        """What the original model answered."""
        return self.responses["original"]


@dataclass(frozen=True, slots=True)
class Seen:
    """One conversation: its turns, and the PANAS before it (items by title-case word)."""

    id: str
    turns: tuple[SeenTurn, ...]
    pre_items: Mapping[str, int]
    pre_totals: tuple[int | None, int | None]


def see(conversation: Conversation) -> Seen:
    """Take from a conversation what a predictor may see; turns in order, of those with one number the last."""
    emotions = load_codebook().emotions
    pre = conversation.pre_panas
    turns = {turn.turn_number: turn for turn in conversation.turns}
    return Seen(
        conversation.id,
        tuple(_see_turn(turns[number]) for number in sorted(turns)),
        {
            emotions[word.lower()].word: rating
            for word, rating in pre.responses.items()
            if word.lower() in emotions and rating is not None
        },
        (pre.total_positive_affect, pre.total_negative_affect),
    )


def _see_turn(turn: Turn) -> SeenTurn:
    annotations = turn.annotations
    judgements = {judgement.question_id: judgement for judgement in annotations.binary_judgements}
    return SeenTurn(
        turn.turn_number,
        turn.user_message,
        turn.responses,
        tuple(judgements),
        tuple(question for question, judgement in judgements.items() if _applies(judgement)),
        tuple(Pair(c.question_id, c.response_a, c.response_b) for c in annotations.pairwise_comparisons),
    )


def _applies(judgement: BinaryJudgement) -> bool:
    """Tell whether a question applies: not where one of its two truths is na and neither is yes or no."""
    observed = om_reference(judgement.observed_behavior, judgement.llm_value)
    truths = {observed, hp_reference(judgement.preferred_behavior, judgement.observed_behavior)}
    return "na" not in truths or not truths.isdisjoint(("yes", "no"))


def predicted_panas(items: Mapping[str, int], totals: tuple[int | None, int | None] = (None, None)) -> PredictedPanas:
    """Return predicted items with their totals; `totals` stand in where fewer than ten items of an affect are there."""
    counted = panas_totals(Panas(items, *totals))
    positive, negative = (None if total is None else int(total) for total in (counted.positive, counted.negative))
    return PredictedPanas(total_positive_affect=positive, total_negative_affect=negative, items=dict(items))
