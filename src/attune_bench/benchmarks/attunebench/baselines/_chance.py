"""The chance baseline: every answer is drawn."""

from collections.abc import Iterable
from random import Random

from attune_bench.benchmarks.attunebench.model_view import Seen, SeenTurn, predicted_panas, see
from attune_bench.group_settings import CHANCE_BASELINE
from attune_data import Codebook, Conversation, Run, Runs, RunTurn, load_codebook
from attune_data.attunebench.records import (
    Answers,
    FourBranchScores,
    MoodShiftTag,
    PostConversation,
    PredictedConversationWide,
)

__all__ = ["chance"]


def chance(conversations: Iterable[Conversation], *, seed: int = 0) -> Runs:
    """Draw every answer at random.

    Yes or no, A or B and ratings of 1-7 with equal probability; 0 to 3 emotions a turn; each Q1 option with
    probability 1/2; as a draft half of the message's words. The two phrasings of a binary question are drawn apart.
    `attune_bench.chance` says what such answers score on average.

    Parameters
    ----------
    conversations : iterable of Conversation
        What to predict.
    seed : int
        The draws of a conversation depend on the seed and its id alone, not on the other conversations.

    Returns
    -------
    Runs
        One per conversation, in order; ``em_model`` is ``baseline/chance``.

    Examples
    --------
    >>> from attune_data import load
    >>> conversations = load("demo")
    >>> chance(conversations, seed=1)[0] == chance(conversations[:1], seed=1)[0]
    True
    """
    codebook = load_codebook()
    return Runs([_run(see(conversation), codebook, seed) for conversation in conversations])


def _run(seen: Seen, codebook: Codebook, seed: int) -> Run:
    rng = Random(f"{seed}/{seen.id}")  # noqa: S311 - seeded by text: the same in every process
    words = [emotion.word for emotion in codebook.emotions.values()]
    turns = [_turn(turn, words, rng) for turn in seen.turns]
    wide = PredictedConversationWide(
        q1_looking_for=tuple(option for option in codebook.q1_options if rng.random() < 0.5),
        q2_emotion_clarity=rng.choice(codebook.q2_options),
        q3_model_fit=rng.choice(codebook.q3_options),
        four_branch_scores=FourBranchScores.model_validate({name: rng.randint(1, 7) for name in codebook.branches}),
    )
    post = PostConversation(
        panas_strategy="absolute",
        predicted_post_panas=predicted_panas({word: rng.randint(1, 7) for word in words}),
        predicted_conversation_wide=wide,
    )
    return Run(
        conversation_id=seen.id,
        em_model=CHANCE_BASELINE,
        mode="default",
        turns=tuple(turns),
        post_conversation=post,
    )


def _turn(turn: SeenTurn, words: list[str], rng: Random) -> RunTurn:
    def answers() -> Answers:
        return {question: rng.choice(("yes", "no")) for question in turn.questions}

    emotions = rng.sample(words, rng.randint(0, 3))
    message = turn.message.split()
    return RunTurn(
        turn_number=turn.number,
        em_emotion_tags=tuple(MoodShiftTag(emotion=word, intensity=rng.randint(1, 7)) for word in emotions),
        em_drafted_response=" ".join(rng.sample(message, (len(message) + 1) // 2)),
        em_binary_om_assessment=answers(),
        em_binary_human_prediction=answers(),
        em_binary_om_assessment_hp=answers(),
        em_binary_human_prediction_hp=answers(),
        em_pairwise_selections={str(position): rng.choice(("A", "B")) for position in range(len(turn.pairs))},
    )
