"""A benchmark as the runner sees it: its calls about a unit, how answers are read, and the record made of them.

Answers
-------
The JSON object in a text, the attempt that could be read, and the attempt to make next.

The JSON object is the whole answer, a fenced block, or the text from the first brace to the last, line breaks
within strings allowed. Reasoning before it is ignored; of several objects that differ, none counts. Nothing is
guessed.
"""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import KW_ONLY, dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar, Generic, Literal, NamedTuple, Protocol, TypeVar

from attune_bench.runner.calls import (
    WHERE_SET,
    Call,
    Complete,
    Decoding,
    Endpoint,
    IncompleteAnswerError,
    Role,
    attempt_id,
    unit_file_name,
)
from attune_bench.runner.prompts import Prompts, load_prompts, read_prompts
from attune_data.record import Record
from attune_data.text import without_surrogates

AnswerFormat = Literal["schema", "free"]
"""Whether the schema of an answer is sent with its call, or left out.

Whether the server holds to a schema that was sent is not checked; the parse outcomes under ``calls`` show it.
"""

TRIES: Mapping[AnswerFormat, int] = {"schema": 2, "free": 3}
"""How often an answer that can be read is asked for at most; freely as often as AttuneBench's published runs did."""

Fields = dict[str, Any]
Reader = Callable[[Fields], tuple[Fields, int]]
"""Reads the JSON object of an answer: the fields of a record, none where it is of no use, and how many values were
dropped."""

_FENCED = re.compile(r"```[^\n`]*\n(.*?)```", re.DOTALL)
_BEGUN = re.compile(r'\{\s*+"')
_MOST_DIGITS = 300


class Found(NamedTuple):
    """A JSON object found in an answer; `repaired` unless it was the whole answer."""

    value: dict[str, Any]
    repaired: bool


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read from the answers to a call.

    Attributes
    ----------
    fields : dict
        Fields of a record; empty where no answer could be read.
    outcome : {"parsed", "repaired", "retried", "failed"}
        Whether the answer was the JSON object, contained it, came only when it was asked for again, or did not come.
    dropped : int
        Values that could not be read.
    """

    fields: Fields
    outcome: Literal["parsed", "repaired", "retried", "failed"]
    dropped: int


def check_answer_format(name: str) -> None:
    """Raise a ValueError where a setting is no `AnswerFormat`.

    Examples
    --------
    >>> check_answer_format("json")
    Traceback (most recent call last):
        ...
    ValueError: answer_format is 'json'; expected one of schema, free
    """
    if name not in TRIES:
        raise ValueError(f"answer_format is {name!r}; expected one of {', '.join(TRIES)}")


def read_answer(answers: Mapping[str, str], call_id: str, read: Reader) -> Reading:
    """Read the answer to a call: the first attempt that can be read.

    Parameters
    ----------
    answers : mapping of str to str
        Texts by the id of the call; further attempts under `attempt_id`.
    call_id : str
        Id of the call.
    read : callable
        Reads the JSON object of an answer, see `Reader`.

    Returns
    -------
    Reading
        What was read; without fields, and with the outcome ``failed``, where the answer is missing or unreadable.

    Examples
    --------
    >>> answers = {"q": "Perhaps.", "q#2": '{"answer": "yes"}'}
    >>> read_answer(answers, "q", lambda said: (said, 0))
    Reading(fields={'answer': 'yes'}, outcome='retried', dropped=0)
    """
    attempt, dropped = 0, 0
    while (text := answers.get(attempt_id(call_id, attempt))) is not None:
        fields, dropped, repaired = _read(text, read)
        if fields:
            return Reading(fields, "retried" if attempt else "repaired" if repaired else "parsed", dropped)
        attempt += 1
    return Reading({}, "failed", dropped)


def call_to_make(
    call: Call, answers: Mapping[str, str], read: Reader, *, note: str = "", tries: int = 2
) -> Call | None:
    r"""Return the call that is to be made for an answer that can be read.

    Parameters
    ----------
    call : Call
        The call of the first attempt.
    answers : mapping of str to str
        Texts by the id of the call.
    read : callable
        Reads the JSON object of an answer, see `Reader`.
    note : str
        The text below the request when it is made again.
    tries : int
        How often the call is made at most; of the answer format of the settings, see `TRIES`.

    Returns
    -------
    Call or None
        The call itself, or the next attempt at it where the last answer cannot be read; None where an answer can be
        read or no try is left.

    Examples
    --------
    >>> call = Call("q", "m", "model", ({"role": "user", "content": "Yes or no?"},))
    >>> read = lambda said: (said, 0)
    >>> [call_to_make(call, answers, read) for answers in ({"q": '{"answer": "no"}'}, {"q": "No", "q#2": "No"})]
    [None, None]
    >>> call_to_make(call, {"q": "No"}, read, note="Answer in JSON.").messages[-1]["content"]
    'Yes or no?\n\nAnswer in JSON.'
    """
    for _ in range(tries):
        if call.id not in answers:
            return call
        if _read(answers[call.id], read)[0]:
            return None
        call = call.again(note)
    return None


def _read(text: str, read: Reader) -> tuple[Fields, int, bool]:
    """Return the fields of an answer, how many values were dropped, and whether it was repaired."""
    found = find_object(text)
    if found is None or not found.value:
        return {}, 0, False
    return *read(found.value), found.repaired


def find_object(answer: str) -> Found | None:
    """Find the JSON object in an answer.

    Parameters
    ----------
    answer : str
        Whatever a model wrote.

    Returns
    -------
    Found or None
        None where the answer contains no such object, or several that differ; nothing is raised, whatever the text.

    Examples
    --------
    >>> find_object('Sure! {"response": "I see."} Anything else?')
    Found(value={'response': 'I see.'}, repaired=True)
    >>> find_object("I see.") is None
    True
    """
    for strict in (True, False):
        whole = _parse(answer, strict=strict)
        if isinstance(whole, dict):
            return Found(whole, repaired=not strict)
    said = _without_reasoning(answer)
    found = [_parse(block) for block in _FENCED.findall(said)]
    fenced = any(isinstance(value, dict) and value for value in found)
    # Apart from a fenced object another may be meant; a fence without one may be a part of the answer's text.
    rest = _FENCED.sub("", said) if fenced else said
    found.append(_parse(rest[rest.find("{") : rest.rfind("}") + 1]))
    objects = [value for value in found if isinstance(value, dict) and value]
    if not objects or any(value != objects[0] for value in objects[1:]):
        return None
    return Found(objects[0], repaired=True)


def _without_reasoning(answer: str) -> str:
    """Leave out the reasoning that a server left in an answer: what it drafts and rejects is not the answer.

    It may lack the tag that opens it, which some servers put into the prompt; without the tag that closes it, it is
    the whole answer. A tag behind what begins an object is taken for text of the answer.
    """
    opened = answer.find("<think>")
    if opened >= 0 and _BEGUN.search(answer, 0, opened):
        return answer
    _, closed, after = answer.rpartition("</think>")
    return after if closed or opened < 0 else ""


def _parse(candidate: str, *, strict: bool = False) -> Any:
    try:
        value = _DECODERS[strict].decode(candidate.strip().removeprefix("\ufeff"))
        # Only an escape can add halves of surrogate pairs to an ASCII text.
        return value if candidate.isascii() and "\\u" not in candidate else without_surrogates(value)
    except (ValueError, RecursionError):
        return None


def _whole(digits: str) -> float:
    """Read an integer; one with more digits than Python converts is out of every range anyway."""
    return int(digits) if len(digits) <= _MOST_DIGITS else float(digits)


# Not strict: line breaks and other control characters within strings.
_DECODERS = {strict: json.JSONDecoder(strict=strict, parse_int=_whole) for strict in (True, False)}

_MAX_TOKENS = 4096


class Unit(Protocol):
    """The subject of one file: a conversation, a scenario, a question. Any record with an id is a unit."""

    @property
    def id(self) -> str:
        """The id; no two units of a run share one."""

    def to_json(self) -> bytes:
        """Return the content, on which the file depends."""


class RunSettings(Protocol):
    """What a run depends on apart from the units and the servers; of any benchmark a frozen dataclass.

    Where a benchmark has several conditions, an attribute ``condition`` names the one that the model is evaluated in.
    Where its calls have schemas, a field ``answer_format``, "schema" or "free", says whether they are sent.
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
        Sent with the calls of the model where set, see `Decoding`.

    Notes
    -----
    A class below that asks other models too names their roles in ``roles``, and has for each a field with the names
    of its models: ``judge_model`` for the role ``judge``, a text or a tuple of texts.

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
    _: KW_ONLY
    seed: int | None = None
    temperature: float | None = 0.0
    max_tokens: int | None = _MAX_TOKENS
    answer_format: AnswerFormat = "schema"
    prompts: Prompts | Path | None = None
    reasoning_effort: str | None = None
    extra_body: Mapping[str, Any] = field(default_factory=dict, hash=False)

    bundled: ClassVar[tuple[str, str] | None] = None
    roles: ClassVar[tuple[Role, ...]] = ()

    def __post_init__(self) -> None:
        check_answer_format(self.answer_format)
        _ = self.decoding  # Checks the parameters of requests.
        if self.bundled is None and self.prompts is not None:
            raise ValueError("prompts are given, and nothing is asked with templates")
        if self.bundled is not None and not isinstance(self.prompts, Prompts):
            object.__setattr__(self, "prompts", read_prompts(self.prompts, load_prompts(*self.bundled)))

    def render(self, name: str, **values: str) -> str:
        """Return a template of the wording, filled in; see `Prompts.render`."""
        return self.wording.render(name, **values)

    @property
    def wording(self) -> Prompts:
        """The wording, of a class that has one."""
        assert isinstance(self.prompts, Prompts)  # noqa: S101 - a class without a wording asks for none
        return self.prompts

    @property
    def decoding(self) -> dict[Role, Decoding]:
        """How responses are decoded, by role: of the model, and of each role that a model is named for."""
        own, named = self.of_model, self.models_in_roles()
        others = {role: own.for_other_role(_MAX_TOKENS) for role in self.roles if named[f"{role}_model"]}
        return {"model": own} | others

    @property
    def of_model(self) -> Decoding:
        """How responses of the model are decoded."""
        return Decoding(self.temperature, self.seed, self.max_tokens, self.reasoning_effort, self.extra_body)

    def models_in_roles(self) -> dict[str, list[str]]:
        """Return the models of each role in `roles`, by the name of its field, as JSON.

        A task records them as fields of its results, so that results of other judges are not replaced unasked.
        """
        named = {f"{role}_model": getattr(self, f"{role}_model") for role in self.roles}
        return {name: [models] if isinstance(models, str) else list(models or ()) for name, models in named.items()}

    def provenance(self) -> dict[str, Any]:
        """Return the settings of the model, as JSON; of the wording its version and hash.

        Models in other roles are not among them: other judges change no answer of the model, which is not paid again.
        """
        return settings_as_json(self, *self.models_in_roles()) | self.decoding["model"].where_set()


def settings_as_json(settings: Any, *left_out: str) -> dict[str, Any]:
    """Return the fields of a dataclass of `RunSettings`, but for `WHERE_SET`; of the wording its version and hash."""
    names = [one.name for one in fields(settings) if one.name not in ("prompts", *WHERE_SET, *left_out)]
    told: dict[str, Any] = {name: getattr(settings, name) for name in names}
    if isinstance(settings.prompts, Prompts):
        told |= {"prompt_version": settings.prompts.version, "prompt_hash": settings.prompts.hash}
    return told


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
    """Return the settings that a file records: their provenance, None for each of `WHERE_SET` that is not set."""
    others = settings.models_in_roles() if isinstance(settings, ModelSettings) else {}
    return dict.fromkeys(WHERE_SET) | settings.provenance() | others


def parse_outcomes(result: Mapping[str, Any]) -> Iterator[bool]:
    """Yield for each call under ``calls`` of a result whether its answer could be read; see `Reading`.

    Examples
    --------
    >>> list(parse_outcomes({"calls": {"draft": {"outcome": "failed"}, "panas": {"outcome": "retried"}}}))
    [False, True]
    """
    calls = result.get("calls")
    for call in calls.values() if isinstance(calls, Mapping) else ():
        if isinstance(call, Mapping) and "outcome" in call:
            yield call["outcome"] != "failed"


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
    """The calls of a benchmark about a unit, and the record that it makes of the answers.

    A benchmark that knows its calls beforehand gives `calls` and `assemble`. A played benchmark, where a call depends
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
    answers_read : callable
        ``answers_read(result)`` yields for each answer of a finished result, as JSON, whether it could be read; by
        default `parse_outcomes`. A run ends with an error if none of its answers could be read.
    unusable : callable
        ``unusable(unit)`` returns in a sentence why nothing can be asked about a unit, which is left out of the run
        then; an empty text where it can.
    unit_settings : callable
        ``unit_settings(unit, settings)`` returns the settings of a unit, where they depend on it.
    results : callable, optional
        ``results(folder, units, settings, servers)`` returns a context that is entered before the first unit is run
        and left after the last, however the run ends; there the results of all units can be written. A task with
        results is run with one settings at a time.
    repeatable : bool
        Whether its results have a field ``repeat``. If not, `run` refuses ``repeats`` above 1.

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
    answers_read: Callable[[Mapping[str, Any]], Iterable[bool]] = parse_outcomes
    unusable: Callable[[U], str] = lambda _: ""
    unit_settings: Callable[[U, S], S] = lambda _, settings: settings
    results: Callable[[Path, Sequence[U], S, Mapping[Role, Endpoint]], AbstractContextManager[object]] | None = None
    repeatable: bool = True

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
        The error of the first call that failed; every other call that could be made has been made.

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
