"""Predictors that need no model: what an evaluated model has to beat.

``chance`` draws every answer, ``prior`` gives the most frequent one, ``lexicon`` follows rules written by hand. Each
takes conversations and gives ordinary runs, which `attune_bench.benchmarks.attunebench.run_files.write_runs` writes and
`attune_bench.score` scores. Of the conversation that it predicts a baseline sees what an evaluated model sees:
messages, responses, which questions and comparisons are asked, and the PANAS before the conversation.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from attune_bench.benchmarks.attunebench.baselines._chance import chance
from attune_bench.benchmarks.attunebench.baselines._lexicon import lexicon
from attune_bench.benchmarks.attunebench.baselines._prior import prior
from attune_data import Runs

__all__ = ["BASELINES", "chance", "lexicon", "prior"]

BASELINES: Mapping[str, Callable[..., Runs]] = MappingProxyType({"chance": chance, "prior": prior, "lexicon": lexicon})
"""The baselines by name; each takes conversations, and options as keywords."""
