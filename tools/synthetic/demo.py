"""The demonstration data that is generated; ``make demo-data`` writes its files into the package again.

What is not generated is hand-written: the scenarios of EIBench, the items of EmoBench, all of EQ-Bench v2, and the
situations of EQ-Bench 3.
"""

import bz2
from collections.abc import Iterable, Mapping
from pathlib import Path

from attune_data import load_records, load_scenarios
from attune_data.kinds import ITEM, SITUATION
from attune_data.record import Record
from synthetic.comparisons import comparisons
from synthetic.conversations import conversations
from synthetic.judged import Player, transcripts, verdicts
from synthetic.predictions import answers_of
from synthetic.roleplays import MODELS, entries, roleplays
from synthetic.runs import SimulatedModel, runs
from synthetic.spirals import chatlogs
from synthetic.talks import dialogues, episodes

PACKAGE = Path(__file__).parents[2] / "src" / "attune_data"

_ATTENTIVE = SimulatedModel(
    "synthetic/attentive",
    emotion=0.65,
    binary_om=0.75,
    binary_human=0.65,
    pairwise=0.6,
    response=0.6,
    panas=0.55,
    wide=0.6,
    unclear_loss=0.2,
)
# It leaves some answers out, and prefers A in pairwise choices, whatever is shown as A.
_HASTY = SimulatedModel(
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
)


_PLAYERS = (
    Player("synthetic/attentive", skill=14.5, warmth=13, sentences=3),
    Player("synthetic/wordy", skill=13.5, warmth=16, sentences=8),
    Player("synthetic/hasty", skill=8, warmth=8, sentences=0),
)


_ROLEPLAYERS = {**MODELS, **{f"synthetic/model-{name}": 5 + 0.25 * place for place, name in enumerate("abcdefg")}}


def demo_records() -> Mapping[str, Iterable[Record]]:
    """Generate the records of each file, by its path below `attune_data`: in all of them the first model is better.

    AttuneBench has 40 conversations by 24 participants, each of the 20 stories told by two of them.
    """
    told = conversations(40, participants=24, seed=3)
    items = load_records("demo", ITEM)
    situations = load_records("demo", SITUATION)
    played = transcripts(situations, _PLAYERS, seed=5)
    return {
        "attunebench/demo.jsonl.bz2": told,
        "attunebench/demo_runs.jsonl.bz2": runs(told, [_ATTENTIVE, _HASTY], seed=3),
        "eibench/demo_episodes.jsonl.bz2": episodes(load_scenarios("demo"), seed=11),
        "sage/demo_dialogues.jsonl": dialogues(seed=3),
        "emobench/demo_predictions.jsonl.bz2": [
            *answers_of(items, "synthetic/attentive", 0.75, seed=2),
            *answers_of(items, "synthetic/hasty", 0.4, seed=2),
        ],
        "eqbench3/demo_transcripts.jsonl": played,
        "eqbench3/demo_verdicts.jsonl": verdicts(situations, played, _PLAYERS, seed=5),
        "eqbench4/demo_roleplays.jsonl": roleplays(seed=1),
        "eqbench4/demo_entries.jsonl": entries(roleplays(_ROLEPLAYERS, seed=1)),
        "comparisons/demo.jsonl.bz2": comparisons(seed=4),
        "spiralbench/demo_chatlogs.jsonl": chatlogs({"synthetic/attentive": 0.75, "synthetic/hasty": 0.3}, seed=6),
    }


def demo_files() -> dict[str, bytes]:
    """Return what each file has, by its path below `attune_data`: a record a line."""
    return {path: b"".join(record.to_line() + b"\n" for record in records) for path, records in demo_records().items()}


if __name__ == "__main__":
    for path, data in demo_files().items():
        # Files that are much smaller by it than in a wheel, which compresses each by deflate.
        packed = bz2.compress(data) if path.endswith(".bz2") else data
        (PACKAGE / path).write_bytes(packed)
