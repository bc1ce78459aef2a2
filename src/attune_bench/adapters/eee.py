"""Scores and samples as records of Every Eval Ever, the exchange format of the EvalEval coalition (schema 0.3.0).

A record is a model in one condition: every metric with its interval, the number of units and of clusters, the protocol
and the signature; each subgroup is a further result with its own numbers. A value that rests on few people or is
undefined is left out; each record counts the results that it lacks.

Samples are written beside a record of scores: a line for each result and unit, with the texts. The texts are whole
records, so samples are made only if the hashes show that these records were scored, and if every licence allows it.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from math import isfinite
from pathlib import Path
from typing import Any, Literal
from uuid import UUID

import polars as pl
from typing_extensions import Unpack

from attune_bench.benchmarks import benchmark_in_use
from attune_bench.report.columns import INTERVALS, drawn, weight_words
from attune_bench.report.privacy import Stratum, hides, shown_strata, shown_summary
from attune_bench.runner.calls import model_folder, safe_name
from attune_bench.scores.parts import CHANCE
from attune_bench.scores.provenance import kind_of_group, setting_text
from attune_bench.scores.records import ScoredRecords
from attune_bench.scores.table import ScoreTable, metrics_per_unit, term_columns
from attune_bench.stats.options import AnalysisKeywords, AnalysisOptions, interval_method
from attune_bench.stats.signing import sign
from attune_data.collection import Collection, Messages
from attune_data.issues import PublishError
from attune_data.licences import canary, permitted
from attune_data.query import Queryable
from attune_data.record import is_generated
from attune_data.text import pluralize
from attune_metrics.metric import Metric, MetricInputError

SCHEMA_VERSION = "0.3.0"
Record = dict[str, Any]
Relationship = Literal["first_party", "third_party", "collaborative", "other"]
"""The relationship of the evaluators to the makers of the models."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Publisher:
    """Who publishes scores.

    Attributes
    ----------
    organization : str
        The name of the publisher.
    relationship : {"first_party", "third_party", "collaborative", "other"}
        The relationship of the evaluators to the makers of the models.
    dataset : str
        The data set on the Hugging Face Hub, ``owner/name``; empty if it is not on the Hub.
    retrieved : int
        When the records are made, in seconds since 1970.
    """

    organization: str
    relationship: Relationship = "third_party"
    dataset: str = ""
    retrieved: int = 0


def eee_records(
    table: ScoreTable,
    publisher: Publisher,
    *,
    by: Sequence[str] = (),
    data: Queryable | None = None,
    small_cells: bool = False,
    **options: Unpack[AnalysisKeywords],
) -> dict[str, Record]:
    """Return a record of each model and condition.

    Parameters
    ----------
    table : ScoreTable
        The scores.
    publisher : Publisher
        Who publishes them.
    by : sequence of str
        Traits; each stratum is a further result.
    data : Collection or Tables, optional
        The units' records, for traits; by default the traits that the scores have of their units.
    small_cells : bool
        Whether to keep values that rest on few people or reveal such values.
    **options
        ``metrics`` (by default all that have a value for each unit), ``resamples``, ``seed``, ``level``, ``unit``,
        ``interval``; see `AnalysisOptions`.

    Returns
    -------
    dict of str to dict
        By path in a repository of such records, ``data/<benchmark>/<developer>/<model>/<uuid>.json``: JSON that the
        schema of aggregates accepts. Equal input gives equal records.

    Raises
    ------
    MetricInputError
        Where an option is wrong, the units have no such trait, or `publisher` has no name.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_data import load, load_runs
    >>> records = eee_records(score(load("demo"), load_runs("demo")), Publisher(organization="Lab"), resamples=200)
    >>> [path.rpartition("/")[0] for path in records]
    ['data/attunebench/synthetic/attentive', 'data/attunebench/synthetic/hasty']
    """
    if not publisher.organization.strip():
        raise MetricInputError("the organization is empty; name who publishes the scores")
    every = [name for name, metric in table.metrics.items() if metric.level == "unit" and metric.group]
    options["metrics"] = list(AnalysisOptions(**options).names(table, every or None))
    whole = shown_summary(table, small_cells=small_cells, **options)
    every_unit = Stratum("", "", table.units["unit"].to_list(), whole)
    parts = [every_unit, *shown_strata(table, by, data=data, small_cells=small_cells, **options)]
    records = {}
    for group in table.groups:
        record = _Maker(table, publisher, options, *group).record(parts)
        model = group[0] if "/" in group[0] else f"unknown/{group[0]}"
        folder = f"data/{safe_name([_collection(table)], '')}/{model_folder(model)}"
        records[f"{folder}/{_unique(record)}.json"] = record
    return records


def _unique(record: Record) -> UUID:
    """Return an id that equal records share, in the form of version 4: the store takes no other."""
    return UUID(bytes=sha256(json.dumps(record, sort_keys=True).encode()).digest()[:16], version=4)


@dataclass(frozen=True, slots=True)
class _Maker:
    """Makes the record of a model and condition."""

    table: ScoreTable
    publisher: Publisher
    keywords: AnalysisKeywords
    model: str
    condition: str | None

    def record(self, parts: Sequence[Stratum]) -> Record:
        """Return the record."""
        held, publisher = self.table.provenance, self.publisher
        name = _collection(self.table) + (f"-{self.condition}" if self.condition else "")
        found, lacking = [], 0
        for part in parts:
            own = part.rows.filter(pl.col("model") == self.model, pl.col("condition").eq_missing(self.condition))
            for row in own.iter_rows(named=True):
                if row["value"] is None:
                    lacking += 1
                else:
                    found.append(self._result(row, part))
        about = {
            "protocol": held.protocol,
            "synthetic_data": "yes" if held.synthetic else None,
            "data_hash": held.data,
            "results_hash": held.runs,
            "results_without_a_value": str(lacking),
            **{f"choice_{choice}": option for choice, option in held.variant.items()},
        }
        return {
            "schema_version": SCHEMA_VERSION,
            "evaluation_id": f"{name}/{self.model}/{publisher.retrieved}",
            "retrieved_timestamp": str(publisher.retrieved),
            "source_metadata": {
                "source_name": held.title,
                "source_type": "evaluation_run",
                "source_organization_name": publisher.organization,
                "evaluator_relationship": publisher.relationship,
                "additional_details": as_texts(about),
            },
            "eval_library": {"name": "attune-bench", "version": held.library_version},
            "model_info": _model(self.model, self._setting("provider")),
            "evaluation_results": found,
        }

    def _result(self, row: Mapping[str, Any], part: Stratum) -> Record:
        trait, stratum = part.trait, part.name
        metric, held = self.table.metrics[row["metric"]], self.table.provenance
        subgroup = f", {trait} = {stratum}" if trait else ""
        own: Any = {**self.keywords, "metrics": [metric.name]}
        options = AnalysisOptions(**self.keywords)
        made = interval_method(metric, options, self.table, n=row["n"], clusters=row["clusters"])
        details = {
            pluralize(held.cluster): row["clusters"],
            "coverage": row.get("coverage"),
            "no_interval_because": row["reason"],
            held.condition: self.condition,
            **({"subgroup_trait": trait, "subgroup_value": stratum} if trait else {}),
            "signature": sign(self.table, within=part.units if trait else None, models=[self.model], **own),
        }
        uncertainty: Record = {"num_samples": row["n"]}
        if row["low"] is not None:
            uncertainty["confidence_interval"] = {
                "lower": row["low"],
                "upper": row["high"],
                "confidence_level": options.level,
                "method": self._method(made, row["value"], options),
            }
            if made in INTERVALS:
                uncertainty["num_bootstrap_samples"] = options.resamples
        return {
            "evaluation_result_id": "/".join(filter(None, (metric.name, trait, stratum))),
            "evaluation_name": f"{held.title}: {metric.label}{subgroup}",
            "source_data": self._source(),
            "metric_config": _metric(metric),
            "score_details": {"score": row["value"], "details": as_texts(details), "uncertainty": uncertainty},
            "generation_config": self._generation(),
        }

    def _method(self, made: str, value: float, options: AnalysisOptions) -> str:
        """Describe the method of an interval that `attune_bench.stats.options.interval_method` names."""
        over = pluralize(drawn(self.table, options))
        if made == "wilson":
            return "Wilson"
        if made == "t":
            return f"Student's t over {over}; {weight_words(self.table, options)}"
        if made == "logit-t":
            return ("Clopper-Pearson" if value in {0, 1} else "Student's t on the logit scale") + f" over {over}"
        return f"bootstrap over {over} ({INTERVALS[made]})"

    def _source(self) -> Record:
        source: Record = {"dataset_name": self.table.provenance.title, "source_type": "other"}
        if dataset := self.publisher.dataset:
            source |= {"source_type": "hf_dataset", "hf_repo": dataset, "samples_number": self.table.units.height}
        return source

    def _generation(self) -> Record:
        settings = self.table.settings.get((self.model, self.condition), {})
        temperature, tokens = self._setting("temperature"), self._setting("max_tokens")
        known: Record = {"temperature": temperature} if isinstance(temperature, float | int) else {}
        if isinstance(tokens, int):
            known["max_tokens"] = tokens
        every = {name: ", ".join(map(setting_text, values)) for name, values in settings.items()}
        return {"generation_args": known, "additional_details": every}

    def _setting(self, name: str) -> Any:
        """Return a setting that all runs share, else None."""
        values = self.table.settings.get((self.model, self.condition), {}).get(name, ())
        return values[0] if len(values) == 1 else None


def _model(model: str, provider: str | float | None) -> Record:
    developer, slash, _ = model.partition("/")
    kind = kind_of_group(model)
    return {
        "name": model,
        "id": model,
        **({"developer": developer} if slash else {}),
        **({"inference_platform": provider} if isinstance(provider, str) else {}),
        "additional_details": {
            "deployment_type": "unknown",
            "model_availability": "unknown",
            **({} if kind == "model" else {"kind": kind}),
        },
    }


def _metric(metric: Metric) -> Record:
    def bound(value: float) -> float | str:
        return value if abs(value) < float("inf") else "Infinity" if value > 0 else "-Infinity"

    return {
        "metric_id": metric.name,
        "metric_name": metric.label,
        "lower_is_better": metric.higher_is_better is False,
        "score_type": "continuous",
        "min_score": bound(metric.low),
        "max_score": bound(metric.high),
        "additional_details": as_texts(
            {
                "statistic": metric.statistic,
                "definition": metric.source,
                "scale": None if metric.scale == 1 else f"reports show {metric.scale:g} times the score",
                "direction": "neither is better" if metric.higher_is_better is None else None,
                "depends_on": ", ".join(metric.depends_on),
            }
        ),
    }


def _collection(table: ScoreTable) -> str:
    return table.provenance.benchmark or table.provenance.title


def as_texts(details: Mapping[str, Any]) -> dict[str, str]:
    """Return the known details as texts, the only values that the format takes."""
    return {name: str(value) for name, value in details.items() if value not in (None, "")}


class Samples:
    """The samples of scores, made of records that are checked first.

    Parameters
    ----------
    table : ScoreTable
        The scores.
    results : Collection
        The results that were scored.
    data : Collection, optional
        What they were scored against, of a benchmark that has data.
    licence : str
        The licence of the samples, as for `attune_data.licences.permitted`. Only a result may lack its own licence.
    small_cells : bool
        Whether to make samples of people: each sample shows a single person. Generated records do not need it.

    Raises
    ------
    MetricInputError
        The scores are means over repeats, or name no benchmark, or a benchmark without `row`; data are missing, or are
        given although the benchmark has none; the records are not the records that were scored.
    PublishError
        A licence does not allow it or is unknown, or the records are of people and `small_cells` is not set.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_bench.adapters.eee import Publisher, eee_records
    >>> from attune_data import load, load_runs
    >>> data, results = load("demo"), load_runs("demo")
    >>> scores = score(data, results)
    >>> samples = Samples(scores, results=results, data=data, licence="cc-by-4.0")
    >>> records = eee_records(scores, Publisher(organization="Lab"), metrics=["composite_score"], resamples=200)
    >>> lines = [line for record in records.values() for line in samples.lines(record)]
    >>> len(lines), lines[0]["model_id"], lines[0]["evaluation_result_id"], lines[0]["messages"][0]["role"]
    (80, 'synthetic/attentive', 'composite_score', 'user')
    """

    def __init__(
        self,
        table: ScoreTable,
        *,
        results: Collection[Any],
        data: Collection[Any] | None = None,
        licence: str,
        small_cells: bool = False,
    ) -> None:
        self._table = table
        self._records = ScoredRecords(
            table, benchmark=benchmark_in_use(table.provenance.benchmark), results=results, data=data, use="samples"
        )
        # Results of a benchmark without data are its data.
        chosen, sources = permitted(results, licence, needs_licence=data is None)
        if data is not None:
            sources += permitted(data, licence, needs_licence=True)[1]
        credit = dict.fromkeys(f"{one.name}, {one.licence.title}: {one.attribution}" for one in sources)
        given = results if data is None else data
        scored = set(table.units["unit"])
        shown = results if data is None else [one for one in data if one.id in scored]
        if hides(table, small_cells=small_cells) and not all(map(is_generated, shown)):
            raise PublishError(
                f"a sample shows a single {table.provenance.unit} of a person; with small_cells=True (--small-cells) "
                "samples are written"
            )
        self._terms = as_texts(
            {
                "samples_licence": chosen.id,
                "samples_attribution": "; ".join(credit),
                "samples_request": given.kind.request if sources else None,
                "samples_canary": "; ".join(canary(given).texts),
            }
        )
        self._synthetic = "yes" if table.provenance.synthetic else None
        self._about = {row["unit"]: row for row in table.units.iter_rows(named=True)}

    def lines(self, record: Record) -> Iterator[Record]:
        """Yield the samples of a record, unit by unit: one for each result of all units that has a value of the unit.

        Parameters
        ----------
        record : dict
            What `attune_bench.adapters.eee.eee_records` gives of these scores.

        Yields
        ------
        dict
            JSON that the schema of samples accepts.
        """
        own = metrics_per_unit(self._table)
        whole = [one for one in record["evaluation_results"] if "subgroup_trait" not in one["score_details"]["details"]]
        results = [
            (one, self._table.metrics[name]) for one in whole if (name := one["metric_config"]["metric_id"]) in own
        ]
        if not results:
            return
        model = record["model_info"]["name"]
        condition = whole[0]["score_details"]["details"].get(self._table.provenance.condition, "")
        rows = self._table.values.filter(pl.col("model") == model, pl.col("condition").fill_null("") == condition)
        for row in rows.iter_rows(named=True):
            values = [(one, metric, row[term_columns(metric)[0]]) for one, metric in results]
            defined = [(one, metric, value) for one, metric, value in values if value is not None and isfinite(value)]
            if not defined:
                continue
            texts, turns = self._texts(row)
            for one, metric, value in defined:
                yield {
                    "schema_version": SCHEMA_VERSION,
                    "evaluation_id": record["evaluation_id"],
                    "model_id": record["model_info"]["id"],
                    "evaluation_name": one["evaluation_name"],
                    "evaluation_result_id": one["evaluation_result_id"],
                    "sample_id": row["unit"],
                    **texts,
                    "answer_attribution": [],
                    "evaluation": {"score": value, "is_correct": value == _best(metric), "num_turns": turns or None},
                    "metadata": self._metadata(row, metric),
                }

    def write(self, records: Mapping[str, Record], folder: Path) -> dict[str, Record]:
        """Write the samples of records into a folder, a line at a time.

        Parameters
        ----------
        records : mapping of str to dict
            What `attune_bench.adapters.eee.eee_records` gives of these scores.
        folder : path
            Where their paths begin; the samples of ``<uuid>.json`` are in ``<uuid>_samples.jsonl``.

        Returns
        -------
        dict of str to dict
            The records, each with the path, the hash, the number and the licence of its samples. A record without
            samples is unchanged and has no file of samples.
        """
        return {path: self._written(path, record, folder) for path, record in records.items()}

    def _written(self, path: str, record: Record, folder: Path) -> Record:
        name, checksum, lines = f"{path.removesuffix('.json')}_samples.jsonl", sha256(), 0
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("wb") as file:
            for sample in self.lines(record):
                line = json.dumps(sample, allow_nan=False).encode() + b"\n"
                checksum.update(line)
                file.write(line)
                lines += 1
        if not lines:
            target.unlink()
            return record
        source = record["source_metadata"]
        return {
            **record,
            "source_metadata": {**source, "additional_details": {**source["additional_details"], **self._terms}},
            "detailed_evaluation_results": {
                "format": "jsonl",
                "file_path": name,
                "hash_algorithm": "sha256",
                "checksum": checksum.hexdigest(),
                "total_rows": lines,
            },
        }

    def _texts(self, row: Mapping[str, Any]) -> tuple[Record, int]:
        """Return the texts of a row of the scores, with the reference record, and the number of its messages."""
        held = self._records
        result = held.results[row["model"], row["condition"], row["unit"]]
        given = held.units.get(row["unit"])
        reference = [] if given is None else [given.to_json().decode()]
        answer = result.to_json().decode()
        messages: Messages | None = None
        if held.made.messages is not None:
            messages = held.made.messages(result)
        elif held.given is not None and held.given.messages is not None:
            messages = [*held.given.messages(given), ("assistant", answer)]
        if messages is None:
            raw, turns = "".join(reference), 1
            said: Record = {"interaction_type": "single_turn", "output": {"raw": [answer]}}
        else:
            # What the model begins with is no input.
            raw, turns = next((text for role, text in messages[:1] if role == "user"), ""), len(messages)
            numbered = [{"turn_idx": at, "role": role, "content": text} for at, (role, text) in enumerate(messages)]
            said = {"interaction_type": "multi_turn", "messages": numbered}
        source = {"raw": raw, "reference": reference}
        # As the coalition's own converters hash.
        hashed = sha256(json.dumps(source, sort_keys=True, separators=(",", ":")).encode())
        return {"sample_hash": hashed.hexdigest(), "input": source, **said}, turns

    def _metadata(self, row: Mapping[str, Any], metric: Metric) -> dict[str, str]:
        """Return the cluster, the condition and the traits of a row, its chance level, and whether it is synthetic."""
        held, about = self._table.provenance, self._about[row["unit"]]
        traits = {name: about[name] for name in self._table.traits}
        chance = about.get(f"{CHANCE}{metric.name}")
        named = {held.cluster: about["cluster"], held.condition: row["condition"]}
        return as_texts({**traits, **named, "chance": chance, "synthetic_data": self._synthetic})


def _best(metric: Metric) -> float | None:
    """Return the best value that a metric can have, None where neither direction is better."""
    return {True: metric.high, False: metric.low, None: None}[metric.higher_is_better]
