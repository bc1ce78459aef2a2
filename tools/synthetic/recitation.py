"""Runs with probes: models that recite a planted share of participants' messages, and continue the others in words."""

from collections.abc import Iterable, Mapping
from random import Random

from attune_data import Conversation, Run
from attune_metrics.attunebench.continuation import halves

_WORDS = (
    *"i you we they my your it that this what when how because and but so then now still never really".split(),
    *"feel think want know tell call leave stay work home sister friend boss mother money week night day".split(),
    *"tired angry alone better worse maybe again always nothing everything someone about after before with".split(),
)


def sentence(random: Random, size: int) -> str:
    """Return so many words, the first ones of the list more often, as in a language."""
    return " ".join(_WORDS[int(len(_WORDS) * random.random() ** 2)] for _ in range(size))


def recite(
    runs: Iterable[Run],
    conversations: Mapping[str, Conversation],
    *,
    memorized: float = 0.0,
    spread: float = 0.2,
    slips: float = 0.0,
    paraphrased: bool = False,
    seed: int = 0,
) -> list[Run]:
    """Return the runs with a continuation of every message that can be cut in half.

    Parameters
    ----------
    runs : iterable of Run
        The runs of one model.
    conversations : mapping of str to Conversation
        By id.
    memorized : float
        Share of the messages that are recited, on average over participants.
    spread : float
        Correlation of two messages of one participant in being recited.
    slips : float
        Share of the words of a recited message that are replaced.
    paraphrased : bool
        Whether there are also continuations of paraphrases, which are never recited.
    seed : int
        Of the random numbers.
    """
    random = Random(seed)
    share: dict[str | None, float] = {}
    found = []
    for run in runs:
        conversation = conversations[run.conversation_id]
        person = conversation.participant_id
        if person not in share:
            scale = 1 / spread - 1
            is_fixed = memorized in {0.0, 1.0}
            share[person] = memorized if is_fixed else random.betavariate(memorized * scale, (1 - memorized) * scale)
        ends = {turn.turn_number: halves(turn.user_message or "") for turn in conversation.turns}
        turns = []
        for turn in run.turns:
            cut = ends.get(turn.turn_number)
            if cut is None:
                turns.append(turn)
                continue
            size = len(cut.end.split())
            said = sentence(random, size)
            if random.random() < share[person]:
                said = " ".join(sentence(random, 1) if random.random() < slips else word for word in cut.end.split())
            fields = {"em_continuation": said}
            if paraphrased:
                fields |= {
                    "em_paraphrase_continuation": sentence(random, size),
                    "paraphrase_end": sentence(random, size),
                }
            turns.append(turn.model_copy(update=fields))
        found.append(run.model_copy(update={"turns": tuple(turns)}))
    return found
