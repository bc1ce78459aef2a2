"""A benchmark as the runner sees it: what it asks about a unit, and what it makes of the answers."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from attune_bench.runner.answers import TRIES, AnswerFormat, check_answer_format
from attune_bench.runner.calls import WHERE_SET, Call, Complete, Decoding, IncompleteAnswerError, Role
from attune_bench.runner.file_names import unit_file_name
from attune_bench.runner.prompts import Prompts, load_prompts, read_prompts
from attune_bench.runner.providers import Endpoint
from attune_data.record import Record

__all__ = [
    "ModelSettings",
    "RunSettings",
    "Source",
    "Task",
    "Unit",
    "answer_format_of",
    "as_sent",
    "ask_planned",
    "condition_of",
    "recorded_settings",
]


class Unit(Protocol):
    """What is asked about, one file each: a conversation, a scenario, a question. Any record with an id is one."""

    @property
    def id(self) -> str:
        """The id; no two units of a run share one."""

    def to_json(self) -> bytes:
        """Return the content, on which the file depends."""


class RunSettings(Protocol):
    """What a run depends on apart from the units and the servers; of any benchmark a frozen dataclass.

    Where a benchmark has several conditions, an attribute ``condition`` names the one that the model is evaluated in.
    Where its calls have schemas, a field ``answer_format``, "schema" or "free", says whether they are sent; a run on a
    server that refuses them goes on with "free".
    """

    @property
    def model(self) -> str:
        """The evaluated model."""

    @property
    def decoding(self) -> Mapping[Role, Decoding]:
        """How responses are decoded, by the role of who is asked; the keys are all roles that are asked."""

    def provenance(self) -> dict[str, Any]:
        """Return what answers depend on apart from their requests, as JSON, such as the hash of the prompts."""


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """The settings of a benchmark that asks one model in one way.

    Parameters
    ----------
    model : str
        The evaluated model, as its provider names it.
    seed : int, optional
        Sent with every call.
    temperature : float, optional
        Sent with every call; None for the server's own.
    max_tokens : int, optional
        The most tokens of a response; None for the server's own limit.
    answer_format : {"schema", "free"}
        Whether calls are sent with the schema of their answer, see `AnswerFormat`.
    prompts : Prompts or path, optional
        The wording, or the folder of one's own; by default that which a class below names in ``bundled``, by package
        and version, as `attune_bench.runner.prompts.load_prompts` takes them.
    reasoning_effort, extra_body
        Sent with every call where set, see `Decoding`.

    Raises
    ------
    ValueError
        The temperature or the number of tokens is out of range, the answer format is unknown, or the templates or the
        further parameters cannot be used.

    Examples
    --------
    >>> ModelSettings("vendor/model").decoding
    {'model': Decoding(temperature=0.0, seed=None, max_tokens=4096, reasoning_effort=None, extra_body={})}
    """

    model: str
    seed: int | None = None
    temperature: float | None = 0.0
    max_tokens: int | None = 4096
    answer_format: AnswerFormat = "schema"
    prompts: Prompts | Path | None = None
    reasoning_effort: str | None = None
    extra_body: Mapping[str, Any] = field(default_factory=dict, hash=False)

    bundled: ClassVar[tuple[str, str] | None] = None

    def __post_init__(self) -> None:
        check_answer_format(self.answer_format)
        _ = self.decoding  # Checks what is sent.
        if self.bundled is None and self.prompts is not None:
            raise ValueError("prompts are given, and nothing is asked with templates")
        if self.bundled is not None and not isinstance(self.prompts, Prompts):
            object.__setattr__(self, "prompts", read_prompts(self.prompts, load_prompts(*self.bundled)))

    def render(self, name: str, **values: str) -> str:
        """Return a template of the wording, filled in; see `Prompts.render`."""
        assert isinstance(self.prompts, Prompts)  # noqa: S101 - a class without a wording asks for none
        return self.prompts.render(name, **values)

    @property
    def decoding(self) -> dict[Role, Decoding]:
        """How responses are decoded."""
        return {"model": Decoding(self.temperature, self.seed, self.max_tokens, self.reasoning_effort, self.extra_body)}

    def provenance(self) -> dict[str, Any]:
        """Return the settings, as JSON; of the wording its version and hash."""
        left_out = ("prompts", *WHERE_SET)
        told = {one.name: getattr(self, one.name) for one in fields(self) if one.name not in left_out}
        wording = self.prompts
        of_wording = (
            {"prompt_version": wording.version, "prompt_hash": wording.hash} if isinstance(wording, Prompts) else {}
        )
        return told | of_wording | self.decoding["model"].where_set()


def condition_of(settings: RunSettings) -> str | None:
    """Return the condition that settings name, None for a benchmark with one condition only."""
    condition: str | None = getattr(settings, "condition", None)
    return condition


def answer_format_of(settings: RunSettings) -> AnswerFormat:
    """Return whether the calls of settings are sent with their schemas; with them where the settings do not say it."""
    answer_format: AnswerFormat = getattr(settings, "answer_format", "schema")
    return answer_format


def as_sent(call: Call, settings: RunSettings) -> Call:
    """Return a call as it is sent: without its schema where answers are free."""
    return call.without_schema() if answer_format_of(settings) == "free" else call


def recorded_settings(settings: RunSettings) -> dict[str, Any]:
    """Return what a file says of settings: their provenance, and None for what is recorded only where it is set."""
    return dict.fromkeys(WHERE_SET) | settings.provenance()


U = TypeVar("U", bound=Unit)
S = TypeVar("S", bound=RunSettings)


@dataclass(frozen=True, slots=True)
class Source:
    """What a run knows of a unit apart from its content.

    Attributes
    ----------
    providers : mapping of str to str
        Who serves each role.
    file : str or None
        The file that the unit was loaded from.
    """

    providers: Mapping[Role, str]
    file: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Task(Generic[U, S]):
    """What a benchmark asks about a unit, and what it makes of the answers.

    A benchmark whose calls are known beforehand gives `calls` and `assemble`. One that is played, where a call depends
    on the answers before it, gives `calls` and `play`.

    Attributes
    ----------
    name : str
        Its name; a file that a task of another name made is made anew.
    calls : callable
        ``calls(unit, settings, answers)`` returns a sequence of `Call`. Where `answers` is None: every call that is
        planned, or each of the longest conversation that could be played; they give the number of calls, the cost to
        expect and the models that are asked. Where `answers` maps ids of calls to texts: the calls that can be made
        then; those that have an answer are ignored.
    assemble : callable, optional
        ``assemble(unit, answers, settings)`` returns the record that is made of the answers.
    play : callable, optional
        ``await play(unit, complete, settings)`` asks by `complete` and returns the record; by default all `calls` are
        made and their answers assembled.
    settings : callable
        ``settings(model, **options)`` returns the settings, or a list of them, of the options of a command line: those
        of `ModelSettings`, as far as given, and what the benchmark declares for itself.
    unit : str
        What a unit is called in messages.
    file_name : callable
        ``file_name(unit, settings)`` returns the name of the unit's file, which may be in a folder.
    folder : callable
        ``folder(output, settings)`` returns the folder of the files.
    fields : callable
        ``fields(unit, settings, source)`` returns fields that are added to the record, see `Source`.
    recorded : callable
        ``recorded(settings, source)`` returns what the file of a unit says of its settings, by name, as JSON; by
        default their provenance. A finished file that says otherwise is replaced only where that is wanted; a value
        that it does not say is not compared, but a mapping that it lacks differs.
    tries : callable
        ``tries(settings)`` returns how often an answer is asked for that cannot be read, by default as `TRIES` says.
    unusable : callable
        ``unusable(unit)`` returns in a sentence why nothing can be asked about a unit, which is left out of the run
        then; an empty text where it can.
    unit_settings : callable
        ``unit_settings(unit, settings)`` returns the settings of a unit, where they depend on it.
    results : callable, optional
        ``results(folder, units, settings, servers)`` returns a context that is entered before the first unit is run
        and left after the last, however the run ends; there the results of all units can be written. A task with
        results is run with one settings at a time.

    Raises
    ------
    ValueError
        Neither `assemble` nor `play` is given.

    Examples
    --------
    A benchmark of one question, and a model that says yes to everything:

    >>> class Question(Record):
    ...     id: str
    ...     text: str
    >>> def calls(question, settings, answers):
    ...     return [Call("answer", settings.model, "model", ({"role": "user", "content": question.text},))]
    >>> def assemble(question, answers, settings):
    ...     return Record(id=question.id, model=settings.model, says=answers["answer"])
    >>> task = Task(name="late", calls=calls, assemble=assemble, unit="question")
    >>> async def complete(call, attempt):
    ...     return "yes"
    >>> asyncio.run(task.make(Question(id="q1", text="Is it late?"), complete, ModelSettings("m"))).to_json()
    b'{"id":"q1","model":"m","says":"yes"}'
    """

    name: str
    calls: Callable[[U, S, Mapping[str, str] | None], Sequence[Call]]
    assemble: Callable[[U, Mapping[str, str], S], Record] | None = None
    play: Callable[[U, Complete, S], Awaitable[Record]] | None = None
    settings: Callable[..., Any] = ModelSettings
    unit: str = "unit"
    file_name: Callable[[U, S], str] = lambda unit, own: unit_file_name(unit.id, own.model, condition_of(own))
    folder: Callable[[Path, S], Path] = lambda output, _: output
    fields: Callable[[U, S, Source], Mapping[str, Any]] = lambda *_: {}
    recorded: Callable[[S, Source], Mapping[str, Any]] = lambda own, _: recorded_settings(own)
    tries: Callable[[S], int] = lambda own: TRIES[answer_format_of(own)]
    unusable: Callable[[U], str] = lambda _: ""
    unit_settings: Callable[[U, S], S] = lambda _, settings: settings
    results: Callable[[Path, Sequence[U], S, Mapping[Role, Endpoint]], AbstractContextManager[object]] | None = None

    def __post_init__(self) -> None:
        if self.assemble is None and self.play is None:
            raise ValueError(f"the task {self.name!r} has neither assemble nor play")

    def planned(self, unit: U, settings: S) -> list[Call]:
        """Return every call that is planned for a unit, as it is sent."""
        return [as_sent(call, settings) for call in self.calls(unit, self.unit_settings(unit, settings), None)]

    async def make(self, unit: U, complete: Complete, settings: S) -> Record:
        """Ask about a unit and return the record that is made of the answers."""
        if self.play is not None:
            return await self.play(unit, complete, settings)
        assert self.assemble is not None  # noqa: S101 - checked when the task was made
        answers = await ask_planned(lambda answers: self.calls(unit, settings, answers), complete)
        return self.assemble(unit, answers, settings)


async def ask_planned(plan: Callable[[Mapping[str, str]], Sequence[Call]], complete: Complete) -> dict[str, str]:
    """Make the calls that are planned, then those that follow from their answers, until none is left.

    Parameters
    ----------
    plan : callable
        Given the texts of the answers so far, by the id of their call, returns the calls that can be made; those that
        were made are ignored.
    complete : callable
        Makes a call, see `Complete`. Calls that are planned together are started together.

    Returns
    -------
    dict of str to str
        The texts of all answers by the id of their call; empty for an answer that ended early.

    Raises
    ------
    CallFailedError
        As `complete` raised it, that of the first call; every other call that could be made has then been made.

    Examples
    --------
    >>> def plan(answers):
    ...     asked = Call("q", "m", "model", ({"role": "user", "content": "Why?"},))
    ...     return [asked, asked.again()] if answers.get("q") == "" else [asked]
    >>> async def complete(call, attempt):
    ...     return "Because." if attempt else ""
    >>> asyncio.run(ask_planned(plan, complete))
    {'q': '', 'q#2': 'Because.'}
    """
    answers: dict[str, str] = {}
    failed: dict[str, BaseException] = {}
    while calls := [call for call in plan(answers) if call.id not in answers and call.id not in failed]:
        # Not a task group: where one call fails, the answers that others wait for are paid for.
        results = await asyncio.gather(*(complete(call, call.attempt) for call in calls), return_exceptions=True)
        for call, result in zip(calls, results, strict=True):
            if isinstance(result, IncompleteAnswerError):
                answers[call.id] = ""
            elif isinstance(result, BaseException):
                failed[call.id] = result
            else:
                answers[call.id] = result
    for error in failed.values():
        raise error
    return answers
