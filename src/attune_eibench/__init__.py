"""EIBench for verifiers, which finds an environment by the name of a package: ``vf-eval attune-eibench``."""

from attune_bench.adapters.verifiers import TurnHarness
from attune_bench.benchmarks.eibench.verifiers_env import EpisodeEnv, ScenarioTaskset

__all__ = ["EpisodeEnv", "ScenarioTaskset", "TurnHarness"]
