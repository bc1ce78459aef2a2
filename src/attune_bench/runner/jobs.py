"""What a run is given and what it gives: its jobs, its options and its outcome."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from attune_bench.runner.calls import Complete, Decoding, Response, Role
from attune_bench.runner.meter import Meter
from attune_bench.runner.prices import Price
from attune_data.record import Record

__all__ = ["Job", "RunOptions", "RunOutcome", "Skipped", "Watch"]

Watch: TypeAlias = Callable[[Meter], object]


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How a run is made; no option changes what is asked.

    Attributes
    ----------
    concurrency : int
        The most calls under way at once, over all units and endpoints.
    call_timeout : float
        Seconds for one try of a call.
    max_cost : float, optional
        US dollars that the calls of the folder, earlier runs included, may cost at most; needs `prices`.
    prices : mapping of str to Price
        By the name of the model.
    command : str
        The command line that repeats the run, for the file of what was skipped; without keys.
    replace : bool
        Whether finished results of other settings in the folder are replaced; if not, they are a `ReplaceError`.

    Raises
    ------
    ValueError
        A number is not positive.

    Examples
    --------
    >>> RunOptions(concurrency=32).call_timeout
    120.0
    """

    concurrency: int = 8
    call_timeout: float = 120.0
    max_cost: float | None = None
    prices: Mapping[str, Price] = field(default_factory=dict)
    command: str = ""
    replace: bool = False

    def __post_init__(self) -> None:
        for name in ("concurrency", "call_timeout"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} is {getattr(self, name)}; expected a positive number")


@dataclass(frozen=True, slots=True)
class Skipped:
    """A unit without a result, and why; `condition` is None where a benchmark has one condition only."""

    unit_id: str
    model: str
    condition: str | None
    repeat: int
    reason: str


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """What came of a run.

    Attributes
    ----------
    folder : Path
        Where the files are.
    finished : int
        Files that are complete now.
    earlier : int
        Of these, those that were complete before.
    replaced : int
        Of these, those that replaced another result: of other settings, or of what has changed since.
    skipped : tuple of Skipped
        What failed or was not begun, in order.
    stopped : str or None
        Why the run stopped before its end.
    meter : Meter
        Calls, tokens and costs.
    unread : int
        Answers that could not be read, and are missing, in all files that are complete now.
    unread_in : int
        Of these files, those that miss an answer.
    """

    folder: Path
    finished: int
    earlier: int
    replaced: int
    skipped: tuple[Skipped, ...]
    stopped: str | None
    meter: Meter
    unread: int
    unread_in: int


@dataclass(frozen=True, slots=True)
class Job:
    """One unit: what is asked about it, and the file that is made of the answers.

    Attributes
    ----------
    unit_id : str
        The unit: a conversation, a scenario, a question.
    model : str
        The evaluated model.
    condition : str or None
        The condition that the model is evaluated in, for a benchmark that has several.
    repeat : int
        Which time the model is asked, from 1.
    file_name : str
        Name of the file, which may be in a folder.
    decoding : mapping of str to Decoding
        By the role of who is asked.
    models : tuple of str
        Who is asked.
    calls : int
        How many calls are planned.
    cache_inputs : mapping
        Extra inputs to the cache key of each response, which contains the request, the decoding and the provider.
    file_inputs : mapping
        Everything that the file depends on, as JSON.
    recorded : mapping
        What the file says of the settings it was made with, by which a file of other settings is recognised.
    make : callable
        Asks, and returns the record to write.
    asked_once : bool
        Whether no answer is asked for again, so that one that broke off in an error leaves the unit unfinished.
    """

    unit_id: str
    model: str
    condition: str | None
    repeat: int
    file_name: str
    decoding: Mapping[Role, Decoding]
    models: tuple[str, ...]
    calls: int
    cache_inputs: Mapping[str, Any]
    file_inputs: Mapping[str, Any]
    recorded: Mapping[str, Any]
    make: Callable[[Complete], Awaitable[Record]]
    asked_once: bool = False

    def fails_for(self, response: Response, attempt: int) -> bool:
        """Tell whether a response leaves the unit unfinished: it broke off in an error and is not asked for again.

        What was filtered or cut off would be so again; what broke off may not, in a later run.
        """
        return response.finish_reason == "error" and (attempt > 0 or self.asked_once)
