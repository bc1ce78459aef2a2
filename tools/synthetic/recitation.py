"""Models that recite a planted share of participants' messages, and continue the others in words of their own."""

from collections.abc import Iterable, Mapping
from random import Random
from typing import NamedTuple

from attune_data import Conversation, Run
from attune_metrics.attunebench.continuation import halves

_WORDS = (
    *"i you we they my your it that this what when how because and but so then now still never really".split(),
    *"feel think want know tell call leave stay work home sister friend boss mother money week night day".split(),
    *"tired angry alone better worse maybe again always nothing everything someone about after before with".split(),
)
_OFTEN = [(place / len(_WORDS)) ** 0.5 for place in range(1, len(_WORDS) + 1)]
ALIKE = 0.2


def sentence(random: Random, size: int) -> str:
    """Return so many words, the first ones of the list more often, as in a language."""
    return " ".join(random.choices(_WORDS, cum_weights=_OFTEN, k=size))


class Reciter:
    """A model that has memorized a share of the messages, some participants' more than others'.

    Parameters
    ----------
    memorized : float
        The share, on average over participants; two messages of one participant correlate 0.2 in being memorized.
    random : Random
        The random numbers.
    slips : float
        Share of the words of a recited message that are replaced.
    """

    def __init__(self, memorized: float, random: Random, *, slips: float = 0.0) -> None:
        self._memorized, self._random, self._slips = memorized, random, slips
        self._shares: dict[str | None, float] = {}

    def continued(self, person: str | None, end: str) -> str:
        """Return how the model continues the first half of a person's message that ends so."""
        random, mean, scale = self._random, self._memorized, 1 / ALIKE - 1
        if person not in self._shares:
            is_fixed = mean in {0.0, 1.0}
            self._shares[person] = mean if is_fixed else random.betavariate(mean * scale, (1 - mean) * scale)
        words = end.split()
        if random.random() >= self._shares[person]:
            return sentence(random, len(words))
        return " ".join(sentence(random, 1) if random.random() < self._slips else word for word in words)


class RecitedHalf(NamedTuple):
    """The person of a message, and pairs of a second half and a continuation: original, shuffled, paraphrased."""

    person: str
    pairs: tuple[tuple[str, str], ...]


def recited_halves(participants: int, memorized: float, random: Random, *, slips: float = 0.0) -> list[RecitedHalf]:
    """Return the probes of so many participants, of 5, 10 or 15 messages each, see `Reciter`."""
    model = Reciter(memorized, random, slips=slips)
    found = []
    for place in range(participants):
        for _ in range(random.choice([5, 10, 15])):
            size = random.randint(6, 40)
            end, other, paraphrase = (sentence(random, size) for _ in range(3))
            said = model.continued(str(place), end)
            pairs = (end, said), (other, said), (paraphrase, sentence(random, size))
            found.append(RecitedHalf(str(place), pairs))
    return found


def recite(
    runs: Iterable[Run],
    conversations: Mapping[str, Conversation],
    *,
    memorized: float = 0.0,
    paraphrased: bool = False,
    seed: int = 0,
) -> list[Run]:
    """Return the runs of one model with a continuation of every message that can be cut in half.

    Parameters
    ----------
    runs : iterable of Run
        The runs.
    conversations : mapping of str to Conversation
        By id.
    memorized : float
        Share of the messages that are recited, see `Reciter`.
    paraphrased : bool
        Whether there are also continuations of paraphrases, which are never recited.
    seed : int
        Of the random numbers.
    """
    random = Random(seed)
    model = Reciter(memorized, random)
    found = []
    for run in runs:
        conversation = conversations[run.conversation_id]
        cuts = {turn.turn_number: halves(turn.user_message or "") for turn in conversation.turns}
        turns = []
        for turn in run.turns:
            fields: dict[str, str] = {}
            if cut := cuts.get(turn.turn_number):
                fields["em_continuation"] = model.continued(conversation.participant_id, cut.end)
                if paraphrased:
                    size = len(cut.end.split())
                    fields["em_paraphrase_continuation"] = sentence(random, size)
                    fields["paraphrase_end"] = sentence(random, size)
            turns.append(turn.model_copy(update=fields))
        found.append(run.model_copy(update={"turns": tuple(turns)}))
    return found
