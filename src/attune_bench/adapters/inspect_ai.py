"""Tasks of Inspect: ``inspect eval attune_bench/attunebench --model PROVIDER/MODEL -T source=...``.

A sample is a unit. The library's own runner makes the calls, reads the answers, asks again and scores. Judges and
simulated people are model roles: ``--model-role judge=...``, ``--model-role simulator=...``. Options of the task set
the temperature and the like (``-T temperature=0.7``), which are sent and recorded; an evaluation's own options of the
same name are refused, and its other options of generation are recorded in the result.

A sample has a value for each metric of the board, nan if undefined; `board` aggregates them. The store of a sample has
the result; its metadata has tables of the predictions beside the reference.
"""

# ruff: noqa: E402 - a missing extra is named before its modules are imported

import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from math import isnan, nan
from typing import Any, ClassVar

from attune_data.references import require

require("inspect_ai", "inspect")

import polars as pl
from inspect_ai import Task, task  # type: ignore[import-not-found]  # it is an extra
from inspect_ai.dataset import MemoryDataset, Sample  # type: ignore[import-not-found]
from inspect_ai.model import (  # type: ignore[import-not-found]
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    GenerateConfig,
    Model,
    ModelOutput,
    ResponseSchema,
    get_model,
    model_roles,
)
from inspect_ai.model._generate_config import active_generate_config  # type: ignore[import-not-found]
from inspect_ai.scorer import SampleScore, Score, Scorer, metric, scorer  # type: ignore[import-not-found]
from inspect_ai.solver import Solver, TaskState, solver  # type: ignore[import-not-found]
from inspect_ai.util import JSONSchema  # type: ignore[import-not-found]
from pydantic import ConfigDict

from attune_bench._version import __version__
from attune_bench.adapters.units import BenchmarkUnits
from attune_bench.benchmarks.attunebench.task import MAX_TOKENS as ATTUNEBENCH_MAX_TOKENS
from attune_bench.runner.calls import Call, CallFailedError, Complete, IncompleteAnswerError
from attune_bench.runner.episodes import MAX_TOKENS as EIBENCH_MAX_TOKENS
from attune_bench.runner.episodes import TEMPERATURE
from attune_bench.runner.task import RunSettings, as_sent
from attune_bench.scores.benchmark import temperature
from attune_bench.scores.tables_in import score_table
from attune_bench.stats.summary import summary
from attune_data import show
from attune_data.issues import IssueLog
from attune_data.loading import collect
from attune_data.record import Record
from attune_data.references import resolve
from attune_metrics.stats.sums import clustered_standard_error

_PROVIDER = "inspect"
_MESSAGES = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}
_ENDED_EARLY = ("max_tokens", "model_length", "content_filter")
_RESULT, _QUESTIONS = "result", "questions"
_OF_TASK = ("temperature", "max_tokens", "seed", "system_message", "response_schema")
_OF_CONNECTIONS = (
    "adaptive_connections",
    "attempt_timeout",
    "batch",
    "cache",
    "cache_prompt",
    "fail_on_refusal",
    "max_connections",
    "max_retries",
    "max_tool_output",
    "timeout",
)


class _Schema(JSONSchema):  # type: ignore[misc]  # The base class is of an extra.
    """A schema with every keyword; Inspect's own schema leaves out unknown keywords, such as maxItems."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="allow")

    items: "_Schema | None" = None
    properties: "dict[str, _Schema] | None" = None
    anyOf: "list[_Schema] | None" = None  # noqa: N815 - of JSON Schema


@solver  # type: ignore[untyped-decorator]
def play(benchmark: str, source: str, asked: dict[str, Any]) -> Solver:
    """Ask everything about a unit, and keep the result in the sample's store.

    Parameters
    ----------
    benchmark, source : str
        The name of the benchmark, and its data.
    asked : dict of str to Any
        The settings, as the benchmark's task takes them.
    """

    async def solve(state: TaskState, _generate: object) -> TaskState:
        of = _units(benchmark, source)
        unit = of.units[str(state.sample_id)]
        beyond = _generation()
        roles = _roles()
        settings = _settings(of, asked, roles)
        own = of.task.unit_settings(unit, settings)
        record = await of.task.make(unit, _complete(settings, roles), own)
        record = of.with_fields(record, unit.id, own, _PROVIDER)
        record = record.model_copy(update={"generation": beyond} if beyond else {})
        state.store.set(_RESULT, json.loads(record.to_json()))
        state.output = ModelOutput.from_content(settings.model, show(record, columns=100))
        state.metadata |= _beside(of, unit, record)
        return state

    return solve


@metric  # type: ignore[untyped-decorator]
def board() -> Callable[[list[SampleScore]], dict[str, float]]:
    """Return each metric over samples: its mean, standard error, interval and coverage.

    For the metric ``m`` the result has ``m``, the mean over the samples in which it is defined; ``m_stderr``, its
    standard error by clusters, as Inspect's own ``stderr``; ``m_low`` and ``m_high``, the 95% interval of
    `attune_bench.Scores.summary`, nan with fewer than 5 clusters; ``m_coverage``, the coverage of that summary: the
    share of questions that have a prediction, or, if the metric asks no questions, the share of samples in which it is
    defined. The key ``cluster`` of a sample's metadata names its cluster; a sample without the key is its own cluster.
    With several epochs, coverage counts the first, because Inspect keeps the metadata of the first.
    """

    def over_samples(scores: list[SampleScore]) -> dict[str, float]:
        scored = [one for one in scores if isinstance(one.score.value, Mapping)]
        if not scored:
            return {}
        values = {name: [float(one.score.value[name]) for one in scored] for name in scored[0].score.value}
        units = [str(one.sample_id) for one in scored]
        named = [(one.sample_metadata or {}).get("cluster") for one in scored]
        clusters = [unit if name is None else str(name) for unit, name in zip(units, named, strict=True)]
        table = pl.DataFrame({"model": ["model"] * len(scored), "unit": units, "cluster": clusters, **values})
        rows = table.unpivot(list(values), index=["model", "unit", "cluster"], variable_name="metric")
        found: dict[str, float] = {}
        for row in summary(score_table(rows.fill_nan(None))).iter_rows(named=True):
            name = row["metric"]
            known = [(value, own) for value, own in zip(values[name], clusters, strict=True) if not isnan(value)]
            error = clustered_standard_error(*zip(*known, strict=True)) if row["clusters"] > 1 else None
            of_metric = {"": row["value"], "_stderr": error, "_low": row["low"], "_high": row["high"]}
            found |= {f"{name}{end}": nan if value is None else value for end, value in of_metric.items()}
            found[f"{name}_coverage"] = _coverage(name, scored, row["n"] / len(scores))
        return found

    return over_samples


def _coverage(name: str, scored: list[SampleScore], defined: float) -> float:
    """Return the coverage of a metric; `defined`, the share of samples that define it, if it asks no questions."""
    answered: dict[str, tuple[int, int]] = {}
    for one in scored:
        for asked, (present, expected) in (one.score.metadata or {}).get(_QUESTIONS, {}).get(name, {}).items():
            before, of = answered.get(asked, (0, 0))
            answered[asked] = before + present, of + expected
    return min((present / expected for present, expected in answered.values()), default=defined)


@scorer(metrics=[board()])  # type: ignore[untyped-decorator]
def unit_scores(benchmark: str, source: str, options: dict[str, Any] | None = None) -> Scorer:
    """Score the result in the sample's store on every metric of the benchmark's board.

    Parameters
    ----------
    benchmark, source : str
        The name of the benchmark, and its data.
    options : dict of str to Any, optional
        What the benchmark's own scoring takes, such as ``protocol``.
    """

    async def scored(state: TaskState, _target: object) -> Score:
        of = _units(benchmark, source)
        result = state.store.get(_RESULT)
        if result is None:
            return Score.unscored(reason="scoring_failed", explanation="no result: the sample was not finished")
        record = resolve(of.benchmark.results).model.model_validate(result)
        values, questions = of.values_and_questions(str(state.sample_id), record, **(options or {}))
        return Score(value=values, answer=show(record, columns=100), metadata={_QUESTIONS: questions})

    return scored


def unit_task(benchmark: str, source: str, asked: dict[str, Any], **options: Any) -> Task:
    """Return a benchmark as a task.

    Parameters
    ----------
    benchmark, source : str
        The name of the benchmark, and its data.
    asked : dict of str to Any
        The settings, as the benchmark's task takes them; a temperature may be ``server``, the server's own.
    **options
        What the benchmark's own scoring takes, such as ``protocol``.

    Raises
    ------
    ValueError
        A setting or an option is unknown or out of range.
    SourceError
        The data cannot be read.
    """
    asked = {
        name: temperature(str(value)) if name.endswith("temperature") and value is not None else value
        for name, value in asked.items()
    }
    of = _units(benchmark, source)
    of.check(options)
    others = {option.name: "model" for option in of.benchmark.options if option.required}
    of.settings("model", **asked, **others)  # Checks them.
    samples = [
        Sample(
            input=show(unit, columns=100),
            id=unit.id,
            metadata={"cluster": of.cluster(unit.id), "synthetic": unit.synthetic},
        )
        for unit in of.units.values()
    ]
    return Task(
        dataset=MemoryDataset(samples, name=source),
        solver=play(benchmark, source, asked),
        scorer=unit_scores(benchmark, source, options),
        version=__version__,
    )


@lru_cache(maxsize=4)
def _units(benchmark: str, source: str) -> BenchmarkUnits:
    return BenchmarkUnits(benchmark, source)


def _generation() -> dict[str, Any]:
    """Return the options of generation that an evaluation sets and the task does not.

    Raises
    ------
    ValueError
        The evaluation sets an option of the task: results would not record it.
    """
    given = active_generate_config().model_dump(mode="json", exclude_none=True)
    if wrong := ", ".join(name for name in _OF_TASK if name in given):
        raise ValueError(f"{wrong}: results record what the task is given; use its options, such as -T seed=1")
    return {name: value for name, value in given.items() if name not in _OF_CONNECTIONS}


def _settings(of: BenchmarkUnits, asked: Mapping[str, Any], roles: Mapping[str, list[Model]]) -> RunSettings:
    """Return the settings of an evaluation: the options of its task, and the models that it names."""
    named: dict[str, Any] = {}
    for option in of.benchmark.options:
        role = option.name.removesuffix("_model")
        if option.name == f"{role}_model" and role in roles:
            models = [str(model) for model in roles[role]]
            named[option.name] = models if option.multiple else models[0]
        elif option.name == f"{role}_model" and option.required:
            raise ValueError(f"{of.benchmark.title} needs a {role}: --model-role {role}=PROVIDER/MODEL")
    return of.settings(str(get_model()), **asked, **named)


def _roles() -> dict[str, list[Model]]:
    found = {role: models if isinstance(models, list) else [models] for role, models in model_roles().items()}
    return {role: [get_model(model) for model in models] for role, models in found.items()}


def _complete(settings: RunSettings, roles: Mapping[str, list[Model]]) -> Complete:
    """Return the function that makes a call by Inspect's models."""
    others = {(role, str(model)): model for role, models in roles.items() for model in models}

    async def complete(call: Call, attempt: int) -> str:
        decoding = settings.decoding[call.role].of_attempt(attempt + call.sample)
        sent = as_sent(call, settings)
        schema = _Schema.model_validate(sent.schema) if sent.schema else None
        config = GenerateConfig(
            temperature=decoding.temperature,
            max_tokens=decoding.max_tokens,
            seed=decoding.seed,
            response_schema=schema and ResponseSchema(name=call.schema_name, json_schema=schema, strict=True),
        )
        model = get_model() if call.role == "model" else others[call.role, call.model]
        messages = [_MESSAGES[message["role"]](content=message["content"]) for message in sent.messages]
        output = await model.generate(messages, config=config)
        if output.stop_reason in _ENDED_EARLY:
            raise IncompleteAnswerError(f"{call.id}: the answer ended early ({output.stop_reason})")
        if output.error:
            raise CallFailedError(f"{call.id}: {output.error}")
        completion: str = output.completion
        return completion if call.schema else _with_thinking(output.message.content)

    return complete


def _with_thinking(content: Any) -> str:
    """Return the words of a model with its thinking in tags, which Inspect removes."""
    if isinstance(content, str):
        return content
    said = []
    for part in content:
        if part.type == "reasoning" and not part.redacted:
            said.append(f"<think>{part.reasoning}</think>")
        elif part.type == "text":
            said.append(part.text)
    return "".join(said)


def _beside(of: BenchmarkUnits, unit: Any, record: Record) -> dict[str, Any]:
    """Return the predictions beside the reference, by table, if results are predictions."""
    kind = resolve(of.benchmark.results)
    joined = getattr(kind.collection, "joined", None)
    if joined is None:
        return {}
    tables = collect("the sample", kind, [(record, unit.id)], IssueLog()).joined([unit])
    return {name: getattr(tables, name).drop(kind.columns, strict=False).to_dicts() for name in tables.names}


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
