"""EIBench as a task of Inspect."""

# ruff: noqa: E402 - a missing extra is named before its modules are imported

from attune_data.references import require

require("inspect_ai", "inspect")

from inspect_ai import Task, task  # type: ignore[import-not-found]  # it is an extra

from attune_bench.adapters.inspect_ai import unit_task
from attune_bench.benchmarks.eibench.task import MAX_TOKENS, TEMPERATURE

__all__ = ["eibench"]


@task  # type: ignore[untyped-decorator]
def eibench(
    source: str = "demo",
    max_rounds: int = 8,
    judge_all: bool = False,
    language: str | None = None,
    answer_format: str = "schema",
    temperature: float | str | None = TEMPERATURE,
    simulator_temperature: float | str | None = TEMPERATURE,
    max_tokens: int = MAX_TOKENS,
    seed: int | None = None,
) -> Task:
    """EIBench: conversations with simulated people, scored by where they led.

    The model role ``simulator`` plays the people.
    """
    asked = {
        "max_rounds": max_rounds,
        "judge_all": judge_all,
        "language": language,
        "answer_format": answer_format,
        "temperature": temperature,
        "simulator_temperature": simulator_temperature,
        "max_tokens": max_tokens,
        "seed": seed,
    }
    return unit_task("eibench", source, asked)
