"""AttuneBench as the runner sees it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from attune_bench.benchmarks.attunebench.flow import assemble, planned_calls, run_conversation
from attune_bench.benchmarks.attunebench.settings import AttuneBenchSettings, Strategy, bundled_prompts
from attune_bench.runner.prompts import read_prompts
from attune_bench.runner.task import Source, Task, recorded_settings
from attune_data import Conversation, load_codebook
from attune_data.record import Mode

__all__ = ["TASK", "settings_of"]


def settings_of(
    model: str,
    *,
    modes: Sequence[str] = ("default",),
    judge_model: Sequence[str] = (),
    panas_strategy: Strategy = "absolute",
    codebook: Path | None = None,
    prompts: Path | None = None,
    **decoding: Any,
) -> list[AttuneBenchSettings]:
    """Return the settings of each mode that a command line names.

    `codebook` is a data set's own, as a file, and `prompts` a wording of one's own, as a folder.

    Examples
    --------
    >>> [settings.mode for settings in settings_of("vendor/model", modes=["all"])]
    ['default', 'verbose', 'omniscient', 'verbose_omniscient']
    """
    shared = {"codebook": load_codebook(codebook), "prompts": read_prompts(prompts, bundled_prompts()), **decoding}
    return [
        AttuneBenchSettings(model, mode, tuple(judge_model), panas_strategy, **shared)
        for mode in get_args(Mode)
        if "all" in modes or mode in modes
    ]


def _fields(_conversation: Conversation, settings: AttuneBenchSettings, source: Source) -> Mapping[str, Any]:
    """Return what a run file records of its run."""
    return {
        "source_file": source.file and Path(source.file).name,
        "provider": source.providers["model"],
        "panas_strategy": settings.panas_strategy,
        "judge_models": list(settings.judges),
    }


def _recorded(settings: AttuneBenchSettings, source: Source) -> Mapping[str, Any]:
    """Return what a run file says of its settings."""
    return recorded_settings(settings) | {
        "em_model": settings.model,  # Names that differ in "/" and "_" only have one file name.
        "judge_settings": None,  # A rejudged run has them.
        "provider": source.providers["model"],
        "panas_strategy": settings.panas_strategy,
        "judge_models": list(settings.judges),
    }


TASK: Task[Conversation, AttuneBenchSettings] = Task(
    name="attunebench",
    calls=planned_calls,
    assemble=assemble,
    play=run_conversation,
    settings=settings_of,
    unit="conversation",
    fields=_fields,
    recorded=_recorded,
)
"""Conversations, and the run files that are made of them."""
