"""A tidy frame of runs by themselves: what was run, and how. `run_tables` has what was predicted."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, ClassVar

from attune_data.attunebench.run import Run
from attune_data.columns import dtypes_of, frame_of, values_of
from attune_data.frames import Frames, Schema
from attune_data.meanings import Column, columns_of
from attune_data.traits import Unit

if TYPE_CHECKING:
    import polars as pl

__all__ = ["RunList", "run_list_builder"]

_EXTRA = {
    "provider": Column("Who served the model, as the run file says.", null=True, source="provider"),
    "prompt_version": Column("Version of the prompts, as the run file says.", null=True, source="prompt_version"),
}
_COUNTED = {
    "n_turns": Column("Number of turns with predictions."),
    "complete": Column("Whether the predictions after the last turn are there."),
}


class RunList(Frames):
    """Runs as one tidy frame; `RunTables`, which ``runs.joined(conversations)`` gives, has their predictions.

    Examples
    --------
    >>> from attune_data import load_runs
    >>> runs = load_runs("demo")
    >>> runs.where(em_model="synthetic/hasty", complete=True)
    <Collection of 40 runs, no issues; em_model=synthetic/hasty, complete=True>
    >>> runs.tables.runs.select("conversation_id", "em_model", "mode").n_unique()
    80
    """

    names: ClassVar[tuple[str, ...]] = ("runs",)
    unit: ClassVar[Unit] = Unit(
        "run",
        ("conversation_id", "em_model", "mode", "repeat"),
        "conversation",
        own="conversation_id",
        duplicate_rule="duplicate-run",
    )

    @cached_property
    def runs(self) -> "pl.DataFrame":
        """One row a run: conversation, model, mode, when and how it was made."""
        return self._build("runs")

    @classmethod
    def schemas(cls) -> Mapping[str, Schema]:
        """Return the columns of the table and their dtypes."""
        return _schemas()

    @classmethod
    def meanings(cls) -> Mapping[str, Mapping[str, Column]]:
        """Return what every column of the table means."""
        return {"runs": {**columns_of(Run), **_EXTRA, **_COUNTED}}


@cache
def _schemas() -> dict[str, Schema]:
    import polars as pl

    own = {"n_turns": pl.Int64(), "complete": pl.Boolean()}
    return {"runs": {**dtypes_of(Run), **dict.fromkeys(_EXTRA, pl.String()), **own}}


def run_list_builder(runs: Sequence[Run]) -> "Callable[[str], pl.DataFrame]":
    """Return the function from the name of a table to its frame, for `RunList`."""
    return partial(_frame, runs)


def _frame(runs: Sequence[Run], name: str) -> "pl.DataFrame":
    extras = [run.model_extra or {} for run in runs]
    columns = {
        **values_of(Run, runs),
        **{key: [value if isinstance(value := extra.get(key), str) else None for extra in extras] for key in _EXTRA},
        "n_turns": [len(run.turns) for run in runs],
        "complete": [run.complete for run in runs],
    }
    return frame_of(columns, RunList.schemas()[name])
