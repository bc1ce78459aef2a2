"""Conversations of a model with a simulated person: who is asked how, what was said aloud, the folder of the results.

A benchmark writes how its conversation goes as a generator, `Steps`: it yields each call with the number of the
attempt, takes the text of the answer, and returns what came of it.

The folder of the results
-------------------------
In the output folder each model has a folder of its own: its name with ``_`` for ``/``. There one JSONL file has the
complete episodes of the scenarios in their order, and hidden files have the cache and the episodes, by which a run goes
on where it was stopped. The results are also written where a run is interrupted; after a kill the same call writes
them. A folder takes one configuration.
"""

import json
import re
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path
from typing import Any, Generic, Literal, NamedTuple, Protocol, TypeAlias, TypeVar

from pydantic import ValidationError

from attune_bench.runner.cache import RunError, cache_key, read_json
from attune_bench.runner.calls import (
    WHERE_SET,
    Call,
    Complete,
    Decoding,
    Endpoint,
    IncompleteAnswerError,
    Role,
    safe_name,
)
from attune_bench.runner.task import ModelSettings, Source, Task, Unit
from attune_bench.scores.provenance import fingerprint, is_hash_of
from attune_data.io.documents import write_whole
from attune_data.record import Record
from attune_data.text import without_surrogates

MAX_TOKENS = 8192
TEMPERATURE = 0.7

Language = Literal["en", "zh"]

_CHINESE = re.compile("[\u3400-\u9fff]")


@dataclass(frozen=True, slots=True)
class EpisodeSettings(ModelSettings):
    """Who talks with whom, and how; a benchmark's own class names its bundled wording in ``bundled``.

    Parameters
    ----------
    model : str
        The evaluated model, as its provider names it.
    simulator : str
        The model that plays the person.
    max_rounds : int
        The most rounds of a conversation.
    language : {"en", "zh"}, optional
        Language of our instructions; by default Chinese where the scenario has Chinese characters, else English.
    temperature, simulator_temperature : float, optional
        Sent with the calls of each; None for the server's own.
    max_tokens : int, optional
        The most tokens of a response; None for the server's own limit, where the simulator keeps `MAX_TOKENS`.
    **others
        As of `attune_bench.runner.ModelSettings`; `answer_format` is the format of the simulator's answers.

    Raises
    ------
    ValueError
        An empty name, an unknown language or answer format, a number of rounds, a temperature or a number of tokens out
        of range, or templates or further parameters that cannot be used.
    """

    simulator: str
    _: KW_ONLY
    max_rounds: int = 8
    language: Language | None = None
    temperature: float | None = TEMPERATURE
    simulator_temperature: float | None = TEMPERATURE
    max_tokens: int | None = MAX_TOKENS

    def __post_init__(self) -> None:
        if not (self.model and self.simulator):
            raise ValueError("the name of the model or of the simulator is empty")
        if self.max_rounds < 1:
            raise ValueError(f"max_rounds is {self.max_rounds}; expected a positive number")
        of_model = self.of_model  # Checks the parameters of requests.
        try:
            replace(of_model, temperature=self.simulator_temperature)
        except ValueError as error:
            raise ValueError(f"simulator_{error}") from None
        if self.language not in (None, "en", "zh"):
            raise ValueError(f"language is {self.language!r}; expected 'en' or 'zh'")
        ModelSettings.__post_init__(self)

    def language_for(self, texts: Iterable[str]) -> Language:
        """Return the language of the instructions for a scenario with these texts."""
        return self.language or ("zh" if any(map(_CHINESE.search, texts)) else "en")

    @property
    def decoding(self) -> dict[Role, Decoding]:
        """How responses are decoded, by the role of who is asked."""
        of_simulator = replace(self.of_model.for_other_role(MAX_TOKENS), temperature=self.simulator_temperature)
        return {"model": self.of_model, "simulator": of_simulator}

    def provenance(self) -> dict[str, Any]:
        """Return all of it, the wording by version and hash, as JSON."""
        return ModelSettings.provenance(self) | {"language": self.language or "of the scenario"}

    def recorded(self) -> dict[str, Any]:
        """Return what every episode records of the settings, but for the model."""
        return {
            "simulator": self.simulator,
            "prompt_version": self.wording.version,
            "max_rounds": self.max_rounds,
            "seed": self.seed,
            "temperature": self.temperature,
            "answer_format": self.answer_format,
            **({"max_tokens": None} if self.max_tokens is None else {}),
            **self.of_model.where_set(),
        }


T = TypeVar("T")
R = TypeVar("R", bound=Record)
R_co = TypeVar("R_co", bound=Record, covariant=True)
Steps: TypeAlias = Generator[tuple[Call, int], str, T]
"""A conversation on its way, see above. `IncompleteAnswerError` is thrown into it where an answer ended early."""

TRIES = 3
"""How often an answer of the simulator that can be read is asked for at most."""


class Conversation(Protocol[R_co]):
    """The state of a conversation on its way."""

    def play(self) -> Steps[str]:
        """Play the rounds; return what ended them."""

    def record(self, ended_by: str, error: str | None = None) -> R_co:
        """Return the record of what was played; one with an error has no score."""


async def run_conversation(conversation: Conversation[R], complete: Complete) -> R:
    """Make the calls of a conversation one after another, and return its record.

    Raises
    ------
    CallFailedError
        As `complete` raised it; there is no record then. Where the conversation does not go on without an answer that
        ended early, the record has the error.
    """
    steps = conversation.play()
    try:
        call, attempt = next(steps)
        while True:
            try:
                answer = await complete(call, attempt)
            except IncompleteAnswerError as error:
                call, attempt = steps.throw(error)
            else:
                call, attempt = steps.send(answer)
    except StopIteration as end:
        return conversation.record(end.value)
    except IncompleteAnswerError as error:
        return conversation.record("error", str(error))


def calls_of(steps: Steps[Any], answer: str) -> list[Call]:
    """Return the calls of a conversation in which both sides always say `answer`, each with its number as `pending`."""
    calls: list[Call] = []
    with suppress(StopIteration):
        call, _ = next(steps)
        while True:
            calls.append(replace(call, pending=len(calls)))
            call, _ = steps.send(answer)
    return calls


def reply_to(call: Call) -> Steps[str]:
    """Ask the model for its reply, and once more where the reply ended early."""
    try:
        answer: str = yield call, 0
    except IncompleteAnswerError:
        try:
            answer = yield call, 1
        except IncompleteAnswerError as error:  # Nothing is said, and it is no silence either: the episode fails.
            raise IncompleteAnswerError(f"two replies of the model {call.model} ended early; {error}") from None
    said: str = without_surrogates(answer)
    return said.strip()


def read_reply_to(call: Call, read: Callable[[str], T | None]) -> Steps[tuple[T | None, int, str]]:
    """Ask the simulator until `read` gives something, three times at most, with the same request.

    Returns what was read, None where no answer could be read; the number of the attempt; and the last answer.
    """
    answer = ""
    for attempt in range(TRIES):
        try:
            answer = yield call, attempt
        except IncompleteAnswerError:
            continue
        if (found := read(answer)) is not None:
            return found, attempt, answer
    return None, TRIES, answer


SILENCE = "..."
"""The words of an utterance that has nothing but white space or tags."""

_OPENED = re.compile(r"<think(?:ing)?>", re.IGNORECASE)
_CLOSED = re.compile(r"</think(?:ing)?>", re.IGNORECASE)
# As some models close it: </think >, </thinki>. No bracket within, so that a search costs linear time.
_CLOSED_SOMEHOW = re.compile(r"</think[^<>]*>", re.IGNORECASE)
_TAG = re.compile(r"</?think[^<>]*>", re.IGNORECASE)


class Output(NamedTuple):
    """An output of the model: the words said aloud, empty for none, and the thinking before and between them."""

    words: str
    thinking: str


def read_output(text: str) -> Output:
    """Separate what the model says aloud from what it thinks.

    Parameters
    ----------
    text : str
        What the model wrote.

    Returns
    -------
    Output
        Without white space at the ends. The words are empty where there is nothing but thinking between proper tags,
        and ``...`` where there are tags and nothing else.

    Examples
    --------
    >>> read_output("<think>He is hurt.</think> Tell me more.")
    Output(words='Tell me more.', thinking='He is hurt.')
    >>> read_output("He is hurt.</think>Tell me more.").words
    'He is hurt.Tell me more.'
    """
    rest, thoughts = without_thinking(text)
    _, others = _split(rest, _CLOSED_SOMEHOW)
    return Output(visible(rest.strip()), "\n".join(thought.strip() for thought in (*thoughts, *others)))


def visible(text: str) -> str:
    """Return a text without thinking and tags; ``...`` where nothing else is in it, empty where it is empty.

    Examples
    --------
    >>> visible("I see. <think>What now?</thinki>"), visible("<think>"), visible("")
    ('I see.', '...', '')
    """
    said, _ = _split(text, _CLOSED_SOMEHOW)
    return text and (_TAG.sub("", said).strip() or SILENCE)


def without_thinking(text: str) -> tuple[str, list[str]]:
    """Return the text outside of proper pairs of tags, and the thoughts within them."""
    return _split(text, _CLOSED)


def _split(text: str, closed: re.Pattern[str]) -> tuple[str, list[str]]:
    outside, thoughts, place = [], [], 0
    while (begin := _OPENED.search(text, place)) and (end := closed.search(text, begin.end())):
        outside.append(text[place : begin.start()])
        thoughts.append(text[begin.end() : end.start()])
        place = end.end()
    return "".join([*outside, text[place:]]), thoughts


U = TypeVar("U", bound=Unit)
ES = TypeVar("ES", bound=EpisodeSettings)

# Hidden from loading, which reads the results.
_EPISODES = "_episodes"
_CONFIGURATION = "_configuration.json"
_SUMMARY = "summary.json"
# Models are compared where all else is the same.
OF_THE_MODEL = ("model", "temperature", "model_provider", *WHERE_SET)


@dataclass(frozen=True, slots=True)
class EpisodeFolder(Generic[R]):
    """The folder of a model's episodes: what a benchmark's `attune_bench.runner.Task` is given of it.

    Attributes
    ----------
    record : type
        The class of an episode.
    results : str
        The name of the results, in which ``{model}`` is the name of the folder.
    summary : callable, optional
        ``summary(scenarios, episodes)`` returns what is written beside them.
    """

    record: type[R]
    results: str
    summary: Callable[[Sequence[Any], Sequence[R]], Mapping[str, Any]] | None = None

    def folder(self, output: Path, settings: EpisodeSettings) -> Path:
        """Return the folder of a model."""
        return output / safe_name(settings.model.split("/"), settings.model)

    def file_name(self, scenario: Any, _settings: EpisodeSettings) -> str:
        """Return the name of the file of an episode, in the folder."""
        return f"{_EPISODES}/{safe_name([scenario.id], scenario.id)}.json"

    def fields(self, scenario: Any, settings: EpisodeSettings, source: Source) -> Mapping[str, Any]:
        """Return what an episode records of its run."""
        return {
            "config_hash": _config_hash(_configuration(settings, source.providers)),
            "scenario_hash": fingerprint([scenario]),
            "prompt_hash": settings.wording.hash,
            "provider": source.providers["model"],
            "simulator_provider": source.providers["simulator"],
        }

    def task(
        self,
        name: str,
        unit: str,
        settings: type[ES],
        begin: Callable[[U, ES], Conversation[R]],
        *,
        unusable: Callable[[U], str],
        answers_read: Callable[[Mapping[str, Any]], Iterable[bool]],
        answer: str,
        repeatable: bool = True,
    ) -> Task[U, ES]:
        """Return how a benchmark is run whose conversations `begin` begins.

        `answer` is one that both sides can give; the longest conversation has it as every answer. The others are as of
        `attune_bench.runner.Task`.
        """
        return Task(
            name=name,
            calls=lambda one, own, _: [] if unusable(one) else calls_of(begin(one, own).play(), answer),
            play=lambda one, complete, own: run_conversation(begin(one, own), complete),
            tries=lambda _: TRIES,
            answers_read=answers_read,
            unusable=unusable,
            settings=lambda model, *, simulator_model, **options: settings(model, simulator_model, **options),
            unit=unit,
            file_name=self.file_name,
            folder=self.folder,
            fields=self.fields,
            recorded=lambda *_: {},  # A folder takes one configuration.
            results=self.kept,
            repeatable=repeatable,
        )

    @contextmanager
    def kept(
        self, folder: Path, scenarios: Sequence[Any], settings: EpisodeSettings, servers: Mapping[Role, Endpoint]
    ) -> Iterator[None]:
        """Refuse a folder of another configuration; write the results of the complete episodes in the end."""
        configuration = _configuration(settings, {role: server.provider for role, server in servers.items()})
        results = folder / self.results.format(model=self.folder(folder, settings).name)
        _check_configuration(folder, configuration, results)
        content: dict[str, Any] = {"config_hash": _config_hash(configuration), "configuration": configuration}
        write_whole(folder / _CONFIGURATION, [json.dumps(content, indent=2, ensure_ascii=False).encode() + b"\n"])
        try:
            yield
        finally:
            hashes = (content["config_hash"], _config_hash_with_seed(configuration))
            paths = {folder / self.file_name(one, settings): one for one in scenarios}
            made = [found for path, one in paths.items() if (found := self._complete(path, one, hashes)) is not None]
            self._write(results, scenarios, made)

    def _write(self, results: Path, scenarios: Sequence[Any], made: Sequence[tuple[bytes, R]]) -> None:
        summary = results.with_name(_SUMMARY)
        if not made:
            # Results of other scenarios, or of an older content or format of these, do not stay.
            for path in (results, summary):
                path.unlink(missing_ok=True)
            return
        write_whole(results, [line for line, _ in made])
        if self.summary is not None:
            told = self.summary(scenarios, [episode for _, episode in made])
            write_whole(summary, [json.dumps(told, indent=2, ensure_ascii=False, allow_nan=False).encode() + b"\n"])

    def _complete(self, path: Path, scenario: Any, hashes: tuple[str, str]) -> tuple[bytes, R] | None:
        """Return an episode and its line, None where it is missing, or of an older content of scenario or settings."""
        try:
            made: dict[str, Any] = read_json(path)
            is_same = is_hash_of(made["scenario_hash"], [scenario])
            if not is_same or made.get("config_hash", hashes[0]) not in hashes:
                return None
            made = {without_surrogates(key): value for key, value in made.items()}
            if "config_hash" in made:
                made["config_hash"] = hashes[0]
            del made["run_key"]
        except (FileNotFoundError, ValueError, TypeError, KeyError, RecursionError):
            return None
        # As texts, since NaN differs from itself.
        texts = ((key, json.dumps(value), json.dumps(without_surrogates(value))) for key, value in made.items())
        wrong = [f"{key}: half of a surrogate pair" for key, text, clean in texts if text != clean]
        try:
            if not wrong:
                line = json.dumps(made, ensure_ascii=False).encode() + b"\n"
                return line, self.record.model_validate_json(line)
        except ValidationError as error:
            wrong = [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()]
        raise RunError(f"{path} is no episode ({wrong[0]}); remove it, and the same command makes it again")


def _configuration(settings: EpisodeSettings, providers: Mapping[Role, str]) -> dict[str, Any]:
    return settings.provenance() | {f"{role}_provider": provider for role, provider in providers.items()}


def _config_hash(configuration: Mapping[str, Any]) -> str:
    # Another seed is another draw of the same configuration, as of every repeat.
    return _config_hash_with_seed({**configuration, "seed": None})


def _config_hash_with_seed(configuration: Mapping[str, Any]) -> str:
    """Return what episodes of version 0.1.0 record."""
    return cache_key(**{name: value for name, value in configuration.items() if name not in OF_THE_MODEL})


def _check_configuration(folder: Path, configuration: Mapping[str, Any], results: Path) -> None:
    if not (folder / _EPISODES).is_dir():
        if results.exists():
            raise RunError(f"{results} was not written by this runner; choose another folder")
        return
    path = folder / _CONFIGURATION
    try:
        before = read_json(path)["configuration"]
        asked = {**dict.fromkeys(WHERE_SET), **configuration}
        differ = {name: (before.get(name), now) for name, now in asked.items() if before.get(name) != now}
    except (FileNotFoundError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise RunError(f"{path} does not say how the episodes of its folder were made; choose another folder") from None
    if differ:
        said = ", ".join(f"{name} {then!r}, here {now!r}" for name, (then, now) in differ.items())
        raise RunError(f"{folder} contains episodes of another configuration ({said}); choose another folder")
