"""AttuneBench as a task of Inspect."""

# ruff: noqa: E402 - a missing extra is named before its modules are imported

from attune_data.references import require

require("inspect_ai", "inspect")

from inspect_ai import Task, task  # type: ignore[import-not-found]  # it is an extra

from attune_bench.adapters.inspect_ai import unit_task
from attune_bench.benchmarks.attunebench.task import MAX_TOKENS

__all__ = ["attunebench"]


@task  # type: ignore[untyped-decorator]
def attunebench(
    source: str = "demo",
    mode: str = "default",
    protocol: str = "documented",
    panas_strategy: str = "absolute",
    answer_format: str = "schema",
    temperature: float | str | None = 0.0,
    max_tokens: int = MAX_TOKENS,
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
