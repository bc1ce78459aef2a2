"""What a run is given and what it gives: its jobs, how they are done, and what came of them."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from attune_bench.runner.calls import Complete, Role
from attune_bench.runner.client import Sampling
from attune_bench.runner.meter import Meter
from attune_bench.runner.prices import Price
from attune_data.record import Record

__all__ = ["Job", "Options", "Outcome", "Skipped", "Watch"]

Watch: TypeAlias = Callable[[Meter], object]


@dataclass(frozen=True, slots=True)
class Options:
    """How a run is made; none of it changes an answer, apart from `max_tokens`.

    Attributes
    ----------
    concurrency : int
        The most calls under way at once, over all conversations and endpoints.
    call_timeout : float
        Seconds for one try of a call.
    max_tokens : int
        The most tokens of an answer.
    max_cost : float, optional
        US dollars that the calls of the folder, earlier runs included, may cost at most; needs `prices`.
    prices : mapping of str to Price
        By the name of the model.
    command : str
        The command line that repeats the run, for the file of what was skipped; without keys.

    Raises
    ------
    ValueError
        A number is not positive.

    Examples
    --------
    >>> Options(concurrency=32).call_timeout
    120.0
    """

    concurrency: int = 8
    call_timeout: float = 120.0
    max_tokens: int = 4096
    max_cost: float | None = None
    prices: Mapping[str, Price] = field(default_factory=dict)
    command: str = ""

    def __post_init__(self) -> None:
        for name in ("concurrency", "call_timeout", "max_tokens"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} is {getattr(self, name)}; expected a positive number")


@dataclass(frozen=True, slots=True)
class Skipped:
    """A conversation without a result, and why; of an episode the id is that of its scenario, and there is no mode."""

    conversation_id: str
    model: str
    mode: str | None
    reason: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a run.

    Attributes
    ----------
    finished : int
        Files that are there now.
    earlier : int
        Of these, those that were there before.
    replaced : int
        Of these, those in whose place another result was: of other settings, or of what has changed since.
    skipped : tuple of Skipped
        What failed or was not begun, in order.
    stopped : str or None
        Why the run stopped before its end.
    meter : Meter
        Calls, tokens and costs.
    unread : int
        Answers that could not be read, and are missing, in all files that are there now.
    unread_in : int
        Of these files, those that miss an answer.
    """

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
    """One conversation, and the file that is made of the answers about it.

    Attributes
    ----------
    conversation_id : str
        The conversation, or the scenario of one.
    model : str
        The evaluated model.
    mode : str or None
        The mode, where there are several.
    name : str
        Name of the file, which may be in a folder.
    provenance : mapping
        What each answer depends on beside the request, the sampling and the provider, as JSON.
    depends_on : mapping
        What the result depends on beside all that, as JSON.
    sampling : mapping of str to Sampling
        By the role of who is asked.
    models : tuple of str
        Who is asked.
    calls : int
        How many calls are planned.
    make : callable
        Asks, and returns the record to write.
    """

    conversation_id: str
    model: str
    mode: str | None
    name: str
    provenance: Mapping[str, Any]
    depends_on: Mapping[str, Any]
    sampling: Mapping[Role, Sampling]
    models: tuple[str, ...]
    calls: int
    make: Callable[[Complete], Awaitable[Record]]
