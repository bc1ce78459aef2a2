"""Scores as records of Every Eval Ever, the exchange format of the EvalEval coalition (schema 0.3.0).

A record is a model in one condition: every metric with its interval, the number of units and of clusters, the protocol
and the signature; subgroups as results of their own, with their own numbers. What a page would not show of few people
is left out, and so is a value that is not defined; each record says how many results it lacks.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Literal
from uuid import UUID

import polars as pl
from typing_extensions import Unpack

from attune_bench.group_settings import kind_of_group, setting_text
from attune_bench.report.shown import Stratum, shown_strata, shown_summary
from attune_bench.report.words import INTERVALS, drawn, weight_words
from attune_bench.runner.file_names import model_folder, safe_name
from attune_bench.score_table import ScoreTable
from attune_bench.stats.intervals import interval_method
from attune_bench.stats.options import AnalysisKeywords, AnalysisOptions
from attune_bench.stats.signing import sign
from attune_data.query import Queryable
from attune_metrics.metric import Metric, MetricInputError

__all__ = ["Publisher", "Relationship", "eee_records"]

SCHEMA_VERSION = "0.3.0"
Record = dict[str, Any]
Relationship = Literal["first_party", "third_party", "collaborative", "other"]
"""That of whoever evaluated to the makers of the models."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Publisher:
    """Who publishes scores.

    Attributes
    ----------
    organization : str
        Its name.
    relationship : {"first_party", "third_party", "collaborative", "other"}
        That of whoever evaluated to the models.
    dataset : str
        The data set on the Hugging Face Hub, ``owner/name``; empty where it is not there.
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
        Traits whose strata are results of their own.
    data : Collection or Tables, optional
        The units' records, for traits; by default the traits that the scores have of their units.
    small_cells : bool
        Whether to keep values that rest on few people, or would give such values away.
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
            f"{held.cluster}s": row["clusters"],
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
        """Return what an interval is, as `attune_bench.stats.intervals.interval_method` names it."""
        over = f"{drawn(self.table, options)}s"
        if made == "wilson":
            return "Wilson"
        if made == "t":
            return f"Student's t over {over}; {weight_words(self.table, options)}"
        if made == "logit-t":
            return ("Clopper-Pearson" if value in {0, 1} else "Student's t on the logit scale") + f" over {over}"
        return f"bootstrap over {over} ({INTERVALS[made]})"

    def _source(self) -> Record:
        held, dataset = self.table.provenance, self.publisher.dataset
        named = {"dataset_name": held.title}
        if dataset:
            return {**named, "source_type": "hf_dataset", "hf_repo": dataset, "samples_number": self.table.units.height}
        return {**named, "source_type": "other"}

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
                "rests_on": ", ".join(metric.rests_on),
            }
        ),
    }


def _collection(table: ScoreTable) -> str:
    return table.provenance.benchmark or table.provenance.title


def as_texts(details: Mapping[str, Any]) -> dict[str, str]:
    """Return details as texts, the only values that the format takes, without those that are not known."""
    return {name: str(value) for name, value in details.items() if value not in (None, "")}
