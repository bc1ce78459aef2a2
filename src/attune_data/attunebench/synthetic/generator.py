"""Synthetic conversations and runs with known effects, to demonstrate and to test with.

Hand-written stories (the arcs) give the texts; a latent model gives the annotations: participants with traits and
diagnoses, emotions that move over the turns, what the original model did, what the participant wanted, and label noise.
Every effect is a parameter, so that an analysis can be checked by recovering what was planted. ``python -m
attune_data.attunebench.synthetic.generator conversations > demo.jsonl`` and ``python -m
attune_data.attunebench.synthetic.generator runs > demo_runs.jsonl`` write the embedded demonstration data again.
"""

import sys
from collections.abc import Iterable, Sequence

from attune_data.attunebench.conversation import Conversation
from attune_data.attunebench.run import Run
from attune_data.attunebench.synthetic.effects import Effects
from attune_data.attunebench.synthetic.people import PERSONAS, draw_participant
from attune_data.attunebench.synthetic.runs import SimulatedModel, runs
from attune_data.attunebench.synthetic.story import Writer, load_arcs

__all__ = ["Effects", "SimulatedModel", "conversations", "demo", "demo_runs", "runs"]

_DEMO_SEED = 3

_DEMO_MODELS = (
    SimulatedModel(
        "synthetic/attentive",
        emotion=0.65,
        binary_om=0.75,
        binary_human=0.65,
        pairwise=0.6,
        response=0.6,
        panas=0.55,
        wide=0.6,
        unclear_loss=0.2,
    ),
    SimulatedModel(
        "synthetic/hasty",
        emotion=0.35,
        binary_om=0.45,
        binary_human=0.35,
        pairwise=0.35,
        response=0.25,
        panas=0.25,
        wide=0.25,
        unclear_loss=0.2,
        position_bias=0.3,
        missing=0.05,
    ),
)


def conversations(
    n: int,
    *,
    participants: int | None = None,
    seed: int = 0,
    effects: Effects | None = None,
    turns: int | tuple[int, int] | None = None,
) -> list[Conversation]:
    """Generate annotated conversations.

    Parameters
    ----------
    n : int
        Number of conversations.
    participants : int, optional
        Number of participants, each with at least one conversation and at most one about each story; 0.6 `n` by
        default. Up to that many conversations a participant, a profile fits all of its stories; beyond, stories of
        others follow.
    seed : int
        The same seed and arguments give the same conversations.
    effects : Effects, optional
        What is planted; ``Effects()`` by default.
    turns : int or (int, int), optional
        Number of turns, or bounds between which it is drawn; by default the story's own, 4 to 6. Past the end of its
        story a conversation goes on with the turns of other stories of the same category, again and again: the text
        is not coherent then, which is enough to measure speed.

    Returns
    -------
    list of Conversation
        ``metadata.synthetic`` of each has its arc, its latent clarity and the seed.

    Raises
    ------
    ValueError
        Where there are too few or too many conversations for the participants, or `turns` is below 1.

    Examples
    --------
    >>> generated = conversations(10, seed=1)
    >>> len({conversation.participant_id for conversation in generated})
    6
    >>> generated[0].synthetic
    True
    """
    count = max(1, round(0.6 * n)) if participants is None else participants
    if not 1 <= count <= n <= count * len(load_arcs()):
        raise ValueError(
            f"{n} conversations by {count} participants; expected 1 to {len(load_arcs())} conversations a participant"
        )
    bounds = (turns, turns) if isinstance(turns, int) else turns
    if bounds is not None and not 1 <= bounds[0] <= bounds[1]:
        raise ValueError(f"turns is {turns!r}; expected a number from 1, or (low, high)")
    chosen = Effects() if effects is None else effects
    people = [draw_participant(number, seed, chosen) for number in range(count)]
    return [
        Writer(people[number], load_arcs()[arc], chosen, seed, index).conversation(bounds)
        for index, (number, arc) in enumerate(_assignments(n, count))
    ]


def demo() -> list[Conversation]:
    """Generate the embedded demonstration conversations: 40 by 24 participants.

    Each of the 20 stories appears twice, told by two people.

    Examples
    --------
    >>> from attune_data import load
    >>> demo()[0] == load("demo")[0]
    True
    """
    return conversations(40, participants=24, seed=_DEMO_SEED)


def demo_runs() -> list[Run]:
    """Generate the embedded demonstration runs: two simulated models on each conversation of `demo`.

    ``synthetic/attentive`` is clearly the better one; ``synthetic/hasty`` leaves some answers out and prefers A in
    pairwise choices, whatever is shown as A.

    Examples
    --------
    >>> from attune_data import load_runs
    >>> demo_runs()[0] == load_runs("demo")[0]
    True
    """
    return runs(demo(), _DEMO_MODELS, seed=_DEMO_SEED)


def _assignments(n: int, count: int) -> list[tuple[int, str]]:
    """Say which participant tells which story: in rounds, own stories first, no story twice."""

    def stories(number: int) -> list[str]:
        own = PERSONAS[number % len(PERSONAS)].arcs
        # Those who share a persona begin with different stories of it.
        turn = number // len(PERSONAS) % len(own)
        others = [arc for arc in load_arcs() if arc not in own]
        start = number % len(others)
        return [*own[turn:], *own[:turn], *others[start:], *others[:start]]

    told = [stories(number) for number in range(count)]
    own = [len(PERSONAS[number % len(PERSONAS)].arcs) for number in range(count)]
    ranked = sorted(
        (place >= own[number], place, number) for number in range(count) for place in range(len(told[number]))
    )
    # Everybody's first story is an own one, so the first `count` cover all participants.
    return [(number, told[number][place]) for _, place, number in ranked[:n]]


def _main(arguments: Sequence[str]) -> int:
    records: Iterable[Conversation | Run]
    match arguments:
        case ["conversations"]:
            records = demo()
        case ["runs"]:
            records = demo_runs()
        case _:
            sys.stderr.write("usage: python -m attune_data.attunebench.synthetic.generator conversations|runs\n")
            return 2
    for record in records:
        sys.stdout.buffer.write(record.to_json() + b"\n")
    return 0


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
