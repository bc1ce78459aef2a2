"""Asking a model the questions of the benchmark: the calls, their prompts, what the answers say, and whole runs."""

from attune_bench.benchmarks.attunebench.flow import planned_calls, run_conversation
from attune_bench.benchmarks.attunebench.running import run, run_sync
from attune_bench.benchmarks.attunebench.settings import Settings
from attune_bench.benchmarks.eibench.flow import run_episode
from attune_bench.benchmarks.eibench.running import run_episodes, run_episodes_sync
from attune_bench.benchmarks.eibench.settings import EpisodeSettings
from attune_bench.runner.calls import Call, CallFailedError, Complete
from attune_bench.runner.folder import RunError
from attune_bench.runner.jobs import Options, Outcome
from attune_bench.runner.prices import Price, PriceError, read_prices
from attune_bench.runner.providers import Endpoint, ProviderError, endpoint

__all__ = [
    "Call",
    "CallFailedError",
    "Complete",
    "Endpoint",
    "EpisodeSettings",
    "Options",
    "Outcome",
    "Price",
    "PriceError",
    "ProviderError",
    "RunError",
    "Settings",
    "endpoint",
    "planned_calls",
    "read_prices",
    "run",
    "run_conversation",
    "run_episode",
    "run_episodes",
    "run_episodes_sync",
    "run_sync",
]
