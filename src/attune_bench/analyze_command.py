"""The command `attune-bench analyze`."""

import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attune_bench._usage import UsageError, catching, emit
from attune_bench.report import Format
from attune_bench.stats_commands import standing, table_metadata
from attune_data.text import meant

if TYPE_CHECKING:
    import polars as pl

    from attune_bench.benchmarks.attunebench.analyses import Analysis
    from attune_bench.scores import Scores
    from attune_bench.stats.series import Options
    from attune_bench.stats_tables import Column, Section, StatsTable

__all__ = ["analyze"]

Row = Mapping[str, Any]

_OPTIONS = {"data": "--data", "runs": "--results"}
_HEADS = {
    **dict.fromkeys(("model_a", "metric_a"), "A"),
    **dict.fromkeys(("model_b", "metric_b"), "B"),
    "p_holm": "Holm",
    "value_none": "none",
    "value_reference": "reference",
}
_SIGNED = frozenset(("gap", "drift", "difference", "rho", "shift"))


def analyze(
    *name: str,
    scores: Path,
    data: str | None = None,
    results: str | None = None,
    format: Format = "table",  # noqa: A002
    resamples: int = 10_000,
    seed: int = 0,
) -> None:
    """Do the analyses of the AttuneBench paper, each with its uncertainty.

    JSON: a key for each analysis, with the rows of its table under rows and its signature and notes under metadata;
    under left_out what each analysis that was not done needs.

    Parameters
    ----------
    name
        perspective_gap, phrasing_gap, turn_drift, diagnosis_groups, metric_correlation, mode_differences, rank_shifts,
        win_rates, question_agreement, branch_errors, variance_split, conversation_difficulty; all of them where none
        is named.
    scores
        What `attune-bench score` wrote.
    data
        Conversations: a folder, a .json or a .jsonl file, an archive, hf://owner/name, or demo.
    results
        Run files: a folder, a .json or a .jsonl file, an archive, hf://owner/name, or demo.
    format
        table, in 100 columns; markdown, for a paper; csv, of one analysis; json, every column.
    resamples
        How many resamples, and random exchanges.
    seed
        The same seed gives the same numbers.
    """
    from attune_bench.benchmarks.attunebench.analyses import ANALYSES
    from attune_bench.scores import Scores
    from attune_bench.stats_tables import render

    for asked in name:
        if asked not in ANALYSES:
            raise UsageError(f"no analysis {asked!r}; {meant(asked, ANALYSES)}")
    given = {"data": data, "runs": results}
    lacking = {
        key: " and ".join(_OPTIONS[need] for need in analysis.needs if given[need] is None)
        for key, analysis in ANALYSES.items()
        if (not name or key in name) and any(given[need] is None for need in analysis.needs)
    }
    if name and lacking:
        raise UsageError("; ".join(f"{key} needs {needs}" for key, needs in lacking.items()))
    chosen = [key for key in (dict.fromkeys(name) or ANALYSES) if key not in lacking]
    if format == "csv" and len(chosen) != 1:
        raise UsageError(f"--format csv is of one analysis; name one of {', '.join(chosen)}")
    read = Scores.read(scores)
    inputs = _inputs(given, needed={need for key in chosen for need in ANALYSES[key].needs})
    tables = {key: _table(key, ANALYSES[key], read, inputs, resamples=resamples, seed=seed) for key in chosen}
    left_out = {key: f"needs {needs}" for key, needs in lacking.items()}
    if format == "json":
        parts = {key: json.loads(render(table, format=format)) for key, table in tables.items()}
        emit(json.dumps({**parts, "left_out": left_out}, indent=2))
        return
    blocks = []
    for key, table in tables.items():
        title = ANALYSES[key].title
        heading = {"table": f"{title.upper()}\n\n", "markdown": f"## {title}\n\n"}.get(format, "")
        blocks.append(heading + render(table, format=format))
    if left_out:
        blocks.append("Left out: " + "; ".join(f"{key} {needs}" for key, needs in left_out.items()) + ".")
    emit("\n\n".join(blocks))


def _inputs(given: Mapping[str, str | None], *, needed: set[str]) -> dict[str, Any]:
    from attune_data import load, load_runs

    loaders: Mapping[str, Callable[[str], Any]] = {"data": load, "runs": load_runs}
    return {need: loaders[need](source) for need, source in given.items() if need in needed and source is not None}


def _table(
    key: str, analysis: "Analysis", scores: "Scores", inputs: Mapping[str, Any], *, resamples: int, seed: int
) -> "StatsTable":
    from attune_bench.stats.signing import sign
    from attune_bench.stats_tables import StatsTable

    needs = {need: inputs[need] for need in analysis.needs}
    frame, warnings = catching(lambda: analysis.function(scores, **needs, resamples=resamples, seed=seed))
    options: Options = {"metrics": analysis.metrics, "resamples": resamples, "seed": seed}
    nothing = [] if frame.height else [f"Nothing to show: this needs {analysis.rows_need}."]
    return StatsTable(
        key="rows",
        frame=frame,
        columns=_columns(frame),
        sections=_sections(frame),
        notes=[*(nothing or [analysis.note]), *standing(scores), *dict.fromkeys(warnings)],
        signature=sign(scores, question=f"analyze {key}", **options),
        metadata=table_metadata(scores),
    )


def _sections(frame: "pl.DataFrame") -> "list[Section]":
    from attune_bench.stats_tables import Section

    parts = _parts(frame)
    if not frame.height:
        return []
    sections = []
    for values, rows in frame.group_by(parts, maintain_order=True):
        said = dict(zip(parts, values, strict=True))
        title = [str(said[name]) for name in ("task", "metric", "model") if name in said]
        title.append(f"mode {said['mode']}" + (f" against {said['reference']}" if "reference" in said else ""))
        if "p_holm" in frame.columns:
            title.append(f"family of {rows['p'].count()}")
        # Every frame has a reason but one whose numbers are always there.
        sections.append(Section(", ".join(title), [{"reason": None, **row} for row in rows.to_dicts()]))
    return sections


def _parts(frame: "pl.DataFrame") -> list[str]:
    """Return what a section's heading says instead of a column; the model where its groups are the rows."""
    names = ["mode", "reference", "metric", "task", *(["model"] if "group" in frame.columns else [])]
    return [name for name in names if name in frame.columns]


def _columns(frame: "pl.DataFrame") -> "list[Column]":
    """Return the columns of a frame as text: both ends of an interval in one, as are conversations and participants."""
    from attune_bench.stats_tables import Column, sizes

    columns = []
    hidden = {*_parts(frame), "reason", *(["participants"] if "n" in frame.columns else [])}
    signed = not _SIGNED.isdisjoint(frame.columns)
    for name, kind in frame.schema.items():
        head = _HEADS.get(name, name.replace("_", " "))
        if name in hidden or name.endswith("high"):
            continue
        if name.endswith("low"):
            columns.append(Column("95% interval", partial(_ends, name=name, signed=signed)))
        elif name in {"p", "p_holm"}:
            columns.append(Column(head, partial(_p, name=name)))
        elif name == "n":
            columns.append(Column(head, sizes))
        elif kind.is_float():
            columns.append(Column(head, partial(_number, name=name, signed=name in _SIGNED)))
        else:
            columns.append(Column(head, partial(_text, name=name), is_name=name.startswith(("model", "metric"))))
    return columns


def _metric(row: Row, name: str) -> str:
    """Return the metric in whose unit a column is; a share has none."""
    return "" if name.startswith("share") else row.get("metric", "")


def _ends(row: Row, *, name: str, signed: bool) -> str:
    from attune_bench.stats_tables import interval

    return interval(row[name], row[name.replace("low", "high")], _metric(row, name), signed=signed)


def _number(row: Row, *, name: str, signed: bool) -> str:
    from attune_bench.stats_tables import number

    return number(row[name], _metric(row, name), signed=signed)


def _p(row: Row, *, name: str) -> str:
    from attune_bench.stats_tables import p_value

    return p_value(row[name])


def _text(row: Row, *, name: str) -> str:
    return str(row[name])
