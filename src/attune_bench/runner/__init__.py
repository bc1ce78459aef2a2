"""Asking a model the questions of the benchmark: the calls, their prompts, and what the answers say."""

from attune_bench.runner.calls import Call, CallFailedError, Complete
from attune_bench.runner.flow import planned_calls, run_conversation
from attune_bench.runner.settings import Settings

__all__ = ["Call", "CallFailedError", "Complete", "Settings", "planned_calls", "run_conversation"]
