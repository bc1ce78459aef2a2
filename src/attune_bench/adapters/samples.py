"""What other harnesses log of each sample, as a table that `attune_bench.Scores.from_table` takes."""

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from math import isnan
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from attune_data.issues import SourceError
from attune_data.references import require
from attune_data.text import did_you_mean, listed
from attune_metrics.metric import MetricInputError

_LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0, "yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
"""Values of Inspect's scorers: C correct, P partial, I incorrect, N no answer."""

_COLUMNS = ("model", "condition", "unit", "metric", "value", "cluster", "repeat", "task")


class SampleTable(NamedTuple):
    """Per-sample results of a harness.

    Attributes
    ----------
    frame : polars.DataFrame
        ``model, condition, unit, metric, value``, and where asked for ``cluster`` and traits.
    metrics : dict of str to dict
        The harness's description of each metric.
    about : dict of str to str
        The names of the table, of a unit, of a cluster and of a condition.
    """

    frame: pl.DataFrame
    metrics: dict[str, dict[str, Any]]
    about: dict[str, str]


class _Row(NamedTuple):
    """One sample: its task, model, condition and unit, its value on each metric, its cluster and traits, its epoch."""

    task: str
    model: str
    condition: str | None
    unit: str
    values: Mapping[str, float | None]
    fields: Mapping[str, str | None]
    epoch: int = 1


def lm_eval_samples(
    path: str | os.PathLike[str], *, cluster: str | None = None, traits: Sequence[str] = ()
) -> SampleTable:
    """Read the samples that ``lm_eval --log_samples --output_path`` wrote.

    Parameters
    ----------
    path : str or path-like
        The folder, or one file ``samples_<task>_<date>.jsonl``. If a model and task have several files, the latest
        counts.
    cluster : str, optional
        The field of a document that names its cluster: documents of one cluster are not independent. ``a.b`` is the
        field ``b`` of the field ``a``.
    traits : sequence of str
        Fields of a document by which results can be split.

    Returns
    -------
    SampleTable
        A unit is a document; with several tasks its task stands before its number. A condition is a filter, if there
        are several. Metrics without numeric values are left out.

    Raises
    ------
    SourceError
        The file does not exist, or is not a file of samples.
    MetricInputError
        A document lacks a field, or no metric has a number.
    """
    _check_traits(traits)
    latest: dict[tuple[str, str], tuple[Path, dict[str, Any]]] = {}
    for file in sorted(_files(Path(path), "samples_*.jsonl"), key=lambda file: file.stem.rpartition("_")[2]):
        task, _, date = file.stem.removeprefix("samples_").rpartition("_")
        if not task:
            raise SourceError(f"{file} is no file of samples; lm_eval calls them samples_<task>_<date>.jsonl")
        about = file.with_name(f"results_{date}.json")
        results = _json(about, about.read_bytes()) if about.is_file() else {}
        latest[str(results.get("model_name") or file.parent.name), task] = file, results
    rows: list[_Row] = []
    better: dict[str, bool | None] = {}
    for (model, task), (file, results) in latest.items():
        for name, up in results.get("higher_is_better", {}).get(task, {}).items():
            # If tasks disagree, neither direction is better.
            better[name] = up if better.get(name, up) == up else None
        with file.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                place = f"{file}, line {number}"
                sample = _json(place, line)
                if not {"doc_id", "doc", "metrics"} <= sample.keys():
                    raise SourceError(f"{place}: no sample of lm_eval: it lacks doc_id, doc or metrics")
                values = {name: sample.get(name) for name in sample["metrics"]}
                numbers = {name: float(value) for name, value in values.items() if isinstance(value, int | float)}
                fields = _fields(sample["doc"], cluster, traits, place)
                rows.append(_Row(task, model, sample.get("filter"), str(sample["doc_id"]), numbers, fields))
    return _table(rows, {name: {"higher_is_better": up} for name, up in better.items()}, "document", "filter", cluster)


def inspect_samples(
    path: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    cluster: str | None = None,
    traits: Sequence[str] = (),
) -> SampleTable:
    """Read the samples of Inspect's logs.

    Parameters
    ----------
    path : str or path-like, or iterable of these
        A log, ``.eval`` or ``.json``, or a folder of logs. If a model, task and arguments have several logs, the latest
        counts.
    cluster : str, optional
        The key of a sample's metadata that names its cluster: samples of one cluster are not independent. ``a.b`` is
        the key ``b`` of the key ``a``.
    traits : sequence of str
        Keys of a sample's metadata by which results can be split.

    Returns
    -------
    SampleTable
        A unit is a sample; with several tasks its task stands before its id. A condition lists the arguments of a task,
        and the models of its roles, that differ between logs. A metric is a scorer, or a key of its values; C is 1,
        P 0.5, I and N 0, as in Inspect. Epochs are repeats.

    Raises
    ------
    SourceError
        The log does not exist, or is not finished.
    MetricInputError
        A sample lacks a key, or has a score that is not a number.
    ImportError
        Without Inspect, which the extra ``inspect`` installs.
    """
    _check_traits(traits)
    logs = require("inspect_ai.log", "inspect")
    given = [Path(path)] if isinstance(path, str | os.PathLike) else [Path(one) for one in path]
    # The name of a log in a folder begins with a time; other files, such as a list of logs, do not.
    files = [
        file
        for one in given
        for file in _files(one, "*.eval", "*.json")
        if file == one or re.match(r"\d{4}-\d{2}-\d{2}T", file.name)
    ]
    headers = {file: logs.read_eval_log(str(file), header_only=True) for file in files}
    for file, header in headers.items():
        if header.status != "success":
            raise SourceError(f"{file} is not finished ({header.status}); finish it: inspect eval-retry {file}")
    conditions = _conditions({file: (one.eval.task, _arguments(one.eval)) for file, one in headers.items()})
    latest = {
        (one.eval.task, one.eval.model, conditions[file]): file
        for file, one in sorted(headers.items(), key=lambda item: str(item[1].eval.created))
    }
    rows: list[_Row] = []
    for (task, model, condition), file in latest.items():
        for sample in logs.read_eval_log_samples(str(file), all_samples_required=False):
            place, unit = f"{file}, sample {sample.id}", str(sample.id)
            values, fields = _numbers(sample.scores or {}, place), _fields(sample.metadata, cluster, traits, place)
            rows.append(_Row(task, model, condition, unit, values, fields, sample.epoch))
    return _table(rows, {}, "sample", "arguments", cluster)


def _files(path: Path, *patterns: str) -> list[Path]:
    if path.is_file():
        return [path]
    found = sorted(file for pattern in patterns for file in path.rglob(pattern))
    if not found:
        raise SourceError(f"{path} has no {' or '.join(patterns)}" if path.is_dir() else f"{path} does not exist")
    return found


def _arguments(made: Any) -> dict[str, Any]:
    """Return the arguments of the task of an evaluation, and the models of its roles."""
    roles = {role: _models(config) for role, config in (made.model_roles or {}).items()}
    return {**made.task_args, **roles}


def _models(config: Any) -> str:
    each = config if isinstance(config, list) else [config]
    return ", ".join(str(getattr(one, "model", one)) for one in each)


def _check_traits(traits: Sequence[str]) -> None:
    """Raise a MetricInputError if a trait has the name of a column of the table."""
    for trait in traits:
        if trait in _COLUMNS:
            raise MetricInputError(f"trait {trait!r}: the table has a column of that name; choose another field")


def _json(place: object, text: bytes) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError as error:
        raise SourceError(f"{place} is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise SourceError(f"{place} is no JSON object")
    return found


def _fields(about: Any, cluster: str | None, traits: Sequence[str], place: str) -> dict[str, str | None]:
    """Return the cluster and the traits of a sample, as texts."""
    found = {} if cluster is None else {"cluster": _field(about, cluster, place)}
    return found | {trait: _field(about, trait, place) for trait in traits}


def _field(about: Any, name: str, place: str) -> str | None:
    for part in name.split("."):
        if not isinstance(about, Mapping) or part not in about:
            known = did_you_mean(part, list(about)) if isinstance(about, Mapping) else "it has none"
            raise MetricInputError(f"{place}: no field {name!r}; {known}")
        about = about[part]
    return None if about is None else str(about)


def _numbers(scores: Mapping[str, Any], place: str) -> dict[str, float | None]:
    """Return the scores of a sample as numbers, one for each scorer, or for each key of its values."""
    found: dict[str, float | None] = {}
    for each_own, score in scores.items():
        value = score.value
        if isinstance(value, Mapping):
            each = {(name if len(scores) == 1 else f"{each_own}.{name}"): one for name, one in value.items()}
        elif isinstance(value, float) and isnan(value):
            each = {}  # Inspect's sign for a sample that was not scored.
        else:
            each = {each_own: value}
        found |= {name: _number(one, f"{place}: {name}") for name, one in each.items()}
    return found


def _number(value: Any, place: str) -> float | None:
    if value is None:
        return None
    try:
        return _LETTERS[value] if isinstance(value, str) and value in _LETTERS else float(value)
    except (TypeError, ValueError):
        raise MetricInputError(f"{place} is {value!r:.60}; expected a number, or C, P, I or N") from None


def _conditions(logs: Mapping[Path, tuple[str, Mapping[str, Any]]]) -> dict[Path, str | None]:
    """Return the arguments of each log that differ between the logs of its task; None if none differ."""
    found: dict[Path, str | None] = {}
    for task in dict.fromkeys(task for task, _ in logs.values()):
        own = {file: arguments for file, (of, arguments) in logs.items() if of == task}
        names = sorted({name for arguments in own.values() for name in arguments})
        differ = [name for name in names if len({repr(arguments.get(name)) for arguments in own.values()}) > 1]
        for file, arguments in own.items():
            found[file] = ", ".join(f"{name}={arguments.get(name)}" for name in differ) or None
    return found


def _table(
    rows: Sequence[_Row], metrics: Mapping[str, dict[str, Any]], unit: str, condition: str, cluster: str | None
) -> SampleTable:
    tasks = list(dict.fromkeys(row.task for row in rows))
    has_epochs = any(row.epoch > 1 for row in rows)
    several = {task: len({row.condition for row in rows if row.task == task}) > 1 for task in tasks}
    found = [
        {
            "model": row.model,
            "condition": row.condition if several[row.task] else None,
            "unit": row.unit if len(tasks) == 1 else f"{row.task}/{row.unit}",
            "metric": name,
            "value": value,
            **row.fields,
            **({"repeat": str(row.epoch)} if has_epochs else {}),
            **({} if len(tasks) == 1 else {"task": row.task}),
        }
        for row in rows
        for name, value in row.values.items()
    ]
    frame = pl.DataFrame(found, infer_schema_length=None)
    known = set(frame.filter(pl.col("value").is_not_nan())["metric"]) if found else set()
    if not known:
        raise MetricInputError(f"no sample of {listed(tasks, 5)} has a number")
    frame = frame.filter(pl.col("metric").is_in(known))
    about = {"title": ", ".join(tasks), "unit": unit, "condition": condition}
    if cluster is not None:
        about["cluster"] = cluster.rpartition(".")[2]
    described = {name: {"label": name, **metrics.get(name, {})} for name in frame["metric"].unique(maintain_order=True)}
    return SampleTable(frame, described, about)
