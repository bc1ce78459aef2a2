"""The tasks that Inspect finds, by the entry point of the distribution."""

# ruff: noqa: E402 - a missing extra is named before its modules are imported

from attune_data.references import require

require("inspect_ai", "inspect")

from inspect_ai import Task, task  # type: ignore[import-not-found]  # it is an extra

from attune_bench.adapters.inspect_ai import unit_task
from attune_bench.benchmarks.attunebench.task import MAX_TOKENS as ATTUNEBENCH_MAX_TOKENS
from attune_bench.benchmarks.eibench.task import MAX_TOKENS as EIBENCH_MAX_TOKENS
from attune_bench.benchmarks.eibench.task import TEMPERATURE


@task  # type: ignore[untyped-decorator]
def attunebench(
    source: str = "demo",
    mode: str = "default",
    protocol: str = "documented",
    panas_strategy: str = "absolute",
    answer_format: str = "schema",
    temperature: float | str | None = 0.0,
    max_tokens: int = ATTUNEBENCH_MAX_TOKENS,
    seed: int | None = None,
) -> Task:
    """AttuneBench: predictions of what participants annotated in their conversations with a model.

    A model role ``judge`` judges the drafts.
    """
    asked = {
        "modes": [mode],
        "panas_strategy": panas_strategy,
        "answer_format": answer_format,
        "temperature": temperature,
        "max_tokens": max_tokens,
        "seed": seed,
    }
    return unit_task("attunebench", source, asked, protocol=protocol)


@task  # type: ignore[untyped-decorator]
def eibench(
    source: str = "demo",
    max_rounds: int = 8,
    judge_all: bool = False,
    language: str | None = None,
    answer_format: str = "schema",
    temperature: float | str | None = TEMPERATURE,
    simulator_temperature: float | str | None = TEMPERATURE,
    max_tokens: int = EIBENCH_MAX_TOKENS,
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
