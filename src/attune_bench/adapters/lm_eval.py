"""Tasks of lm-evaluation-harness: benchmarks with calls that are known beforehand.

A document is a unit, with one request for each of its calls, so that ``--limit`` counts units. The harness asks once,
without the schemas of answers: an unparseable answer is not asked for again. There are no judges. ``--include_path``
takes the folder ``lm_eval_tasks`` beside this module; ``--metadata`` gives

- ``source``, the data, by default ``demo``;
- ``mode``, and the other options of ``attune-bench run`` for the benchmark, such as ``panas_strategy``;
- ``protocol``, and the other options of ``attune-bench score`` for the benchmark, except ``similarity``.
"""

# ruff: noqa: E402 - a missing extra is named before its modules are imported

import logging
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from functools import cached_property, partial
from math import nan
from typing import Any

from attune_data.references import require

require("lm_eval", "lm-eval")

from lm_eval.api.instance import Instance  # type: ignore[import-not-found]  # it is an extra
from lm_eval.api.task import ConfigurableTask  # type: ignore[import-not-found]

from attune_bench._version import __version__
from attune_bench.adapters.units import BenchmarkUnits
from attune_bench.benchmarks import benchmark_named
from attune_bench.runner.calls import Call
from attune_bench.runner.task import RunSettings
from attune_bench.scores.benchmark import Benchmark, Option, Verb
from attune_bench.stats.summary import summary
from attune_data.record import Record
from attune_data.text import did_you_mean

_PROVIDER = "lm-eval"
_MOST_TOKENS = ("max_gen_toks", "max_tokens", "max_new_tokens")  # what the harness's models call it


class _UnitValue(float):
    """The score of a unit on a metric, nan if undefined, with the id of the unit and the result that was scored."""

    def __new__(cls, value: float, unit: str, record: Record) -> "_UnitValue":  # noqa: ARG004 - of __init__
        return super().__new__(cls, value)

    def __init__(self, value: float, unit: str, record: Record) -> None:  # noqa: ARG002 - of __new__
        self.unit, self.record = unit, record

    def __reduce__(self) -> tuple[Any, ...]:  # The processes of a large run send their values to the first.
        return _UnitValue, (float(self), self.unit, self.record)


class UnitTask(ConfigurableTask):  # type: ignore[misc]  # The base class is of an extra.
    """A benchmark as a task: the configuration of the task names it under ``benchmark``.

    Raises
    ------
    ValueError
        An option is unknown, changes nothing that is reported, or asks for judges or for several modes.
    SourceError
        The data cannot be read.
    """

    VERSION = __version__

    def __init__(self, config: Mapping[str, Any]) -> None:
        of_task = {
            "output_type": "generate_until",
            "test_split": "test",
            "num_fewshot": 0,
            "metric_list": [],
            "generation_kwargs": {"until": [], "do_sample": False, "temperature": 0.0, "max_gen_toks": 4096},
        }
        given = {name: value for name, value in config.items() if name not in ("class", "benchmark")}
        self.benchmark: str = config["benchmark"]
        self._given: Mapping[str, Any] = given.get("metadata") or {}
        super().__init__(config=of_task | given)

    def download(self, *_: Any, **__: Any) -> None:
        """Load the units."""
        datasets = require("datasets", "lm-eval")
        entry = benchmark_named(self.benchmark)
        _check_names(entry, self._given)
        self._scoring = _options(entry, "score", self._given)
        self._of = of = BenchmarkUnits(self.benchmark, str(self._given.get("source", "demo")))
        if of.synthetic:
            said = "%s: the data are invented; name yours with --metadata source=..."
            logging.getLogger(__name__).warning(said, self.benchmark)
        documents = [{"unit": unit, "cluster": of.cluster(unit)} for unit in of.units]
        self.dataset = {"test": datasets.Dataset.from_list(documents)}
        self._empty = of.score({}, **self._scoring)
        # By reported name: a metric, and an end of its interval or its coverage.
        self._reported = {
            f"{metric}_{end}" if end else metric: (metric, end)
            for metric in self._empty.headline
            if not self._empty.metric(metric).depends_on  # nobody judges
            for end in ("", "low", "high", "coverage")
        }

    @cached_property
    def settings(self) -> RunSettings:
        """How the model is asked, as results record it."""
        sent = self.config.generation_kwargs
        model = self._given.get("model") or self._given.get("pretrained") or _PROVIDER
        settings = self._of.settings(
            str(model),
            temperature=sent.get("temperature"),
            max_tokens=int(next(sent[name] for name in _MOST_TOKENS if name in sent)),
            # The harness sends requests that differ in their schema alone with the schema of the first.
            answer_format="free",
            **_options(self._of.benchmark, "run", self._given),
        )
        if {*settings.decoding} != {"model"}:
            raise ValueError(f"{self.benchmark}: only the evaluated model is asked here, no judges")
        return settings

    def doc_to_text(self, doc: Mapping[str, str], doc_to_text: Any = None) -> str:  # noqa: ARG002 - of the base class
        """Return the id of the unit."""
        return doc["unit"]

    def doc_to_target(self, doc: Mapping[str, str], doc_to_target: Any = None) -> str:  # noqa: ARG002
        """Return nothing, as no one text is right."""
        return ""

    def build_all_requests(self, *, cache_requests: bool = False, **options: Any) -> None:  # noqa: ARG002
        """Build the requests, always anew: the harness caches them by the name of the task, whatever the data."""
        self._summaries: dict[tuple[str, ...], dict[str, dict[str, Any]]] = {}
        super().build_all_requests(**options)

    def fewshot_context(
        self,
        doc: Mapping[str, str],
        num_fewshot: int,  # noqa: ARG002
        system_instruction: str | None = None,
        apply_chat_template: bool = False,
        fewshot_as_multiturn: bool = False,  # noqa: ARG002
        chat_template: Callable[..., Any] | None = None,
        **_: Any,
    ) -> list[Any]:
        """Return the requests about a unit: as chat, or as a text for the model to continue."""
        if system_instruction:
            raise ValueError(f"{self.benchmark} has instructions of its own; leave out the system instruction")
        threads = [[dict(message) for message in call.messages] for call in self._calls(doc)]
        return [chat_template(one) if apply_chat_template and chat_template else _as_text(one) for one in threads]

    def construct_requests(self, doc: Mapping[str, str], ctx: Sequence[Any], **options: Any) -> list[Any]:
        """Return a request for each call about a unit."""
        sent, metadata = self.config.generation_kwargs, options["metadata"]
        return [
            Instance("generate_until", doc, (context, dict(sent)), place, metadata=metadata)
            for place, context in enumerate(ctx)
        ]

    def process_results(self, doc: Mapping[str, str], results: Sequence[str | None]) -> dict[str, float]:
        """Return what a unit scores, by metric."""
        unit, settings, task = doc["unit"], self.settings, self._of.task
        if task.assemble is None:
            raise ValueError(f"{self.benchmark} is played: its calls are not known beforehand")
        answers = {call.id: text or "" for call, text in zip(self._calls(doc), results, strict=True)}
        record = task.assemble(self._of.units[unit], answers, settings)
        record = self._of.with_fields(record, unit, settings, _PROVIDER)
        values = self._of.values(unit, record, **self._scoring)
        return {
            name: _UnitValue(nan if end else values[metric], unit, record)
            for name, (metric, end) in self._reported.items()
        }

    def aggregation(self) -> dict[str, Callable[[Sequence[Any]], float]]:
        """Return by metric the function that aggregates the values of units."""
        return {name: partial(self._aggregate, *of) for name, of in self._reported.items()}

    def higher_is_better(self) -> dict[str, bool | None]:
        """Return by metric whether a higher value is better."""
        return {
            name: end == "coverage" or self._empty.metric(metric).higher_is_better
            for name, (metric, end) in self._reported.items()
        }

    def _calls(self, doc: Mapping[str, str]) -> list[Call]:
        return self._of.task.planned(self._of.units[doc["unit"]], self.settings)

    def _aggregate(self, metric: str, end: str, values: Sequence[_UnitValue]) -> float:
        """Return the number that is reported for all units that were asked about."""
        asked = tuple(value.unit for value in values)
        if asked not in self._summaries:
            scores = self._of.score({value.unit: value.record for value in values}, **self._scoring)
            rows = summary(scores, metrics=list(scores.headline)).iter_rows(named=True)
            self._summaries[asked] = {row["metric"]: row for row in rows}
        row = self._summaries[asked][metric]
        found = row[end or "value"]
        if found is None and end == "coverage":
            return float(row["n"] / len(asked))
        return nan if found is None else found


_OTHER = ("model", "pretrained", "config_source", "tokenizer")
"""Arguments of models that come with the metadata and have names like options."""


def _check_names(benchmark: Benchmark, given: Mapping[str, Any]) -> None:
    """Raise a ValueError at an option that changes nothing that is reported, and at a misspelled option.

    Other names are arguments of the model.
    """
    if "similarity" in given:
        raise ValueError("metadata: leave out similarity: its columns are not among the metrics that are reported here")
    known = ["source", *(name for option in benchmark.options for name in _names(option))]
    for name in given:
        if name not in known and name not in _OTHER and get_close_matches(name, known, n=1, cutoff=0.8):
            raise ValueError(f"metadata: no {name!r}; {did_you_mean(name, known)}")


def _names(option: Option) -> tuple[str, ...]:
    """Return the names of an option: its name, and the singular if it takes several values."""
    return (option.name, option.name.removesuffix("s")) if option.multiple else (option.name,)


def _options(benchmark: Benchmark, verb: Verb, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the given options of a command, by name."""
    found: dict[str, Any] = {}
    for option in benchmark.options:
        values = [given[name] for name in _names(option) if name in given] if verb in option.verbs else []
        for value in values:
            if option.multiple:
                found[option.name] = [value] if isinstance(value, str) else value
            else:
                found[option.name] = option.kind(value) if isinstance(value, str) else value
    return found


def _as_text(thread: Sequence[Mapping[str, str]]) -> str:
    """Return a thread as a text for a model to continue."""
    if len(thread) == 1:
        return thread[0]["content"]
    return "\n\n".join([*(f"{message['role']}: {message['content']}" for message in thread), "assistant:"])
