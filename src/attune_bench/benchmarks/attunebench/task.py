"""AttuneBench as the runner sees it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attune_bench.benchmarks.attunebench.flow import assemble, planned_calls, run_conversation
from attune_bench.benchmarks.attunebench.settings import AttuneBenchSettings
from attune_bench.runner.task import Source, Task
from attune_data import Conversation

__all__ = ["TASK"]


def _fields(_conversation: Conversation, _settings: AttuneBenchSettings, source: Source) -> Mapping[str, Any]:
    """Return what a run file records of its run."""
    return {"source_file": source.file and Path(source.file).name, "provider": source.providers["model"]}


TASK: Task[Conversation, AttuneBenchSettings] = Task(
    name="attunebench",
    calls=planned_calls,
    assemble=assemble,
    play=run_conversation,
    unit="conversation",
    fields=_fields,
)
"""Conversations, and the run files that are made of them."""
