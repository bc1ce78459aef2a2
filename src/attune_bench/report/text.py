"""Reports: the aggregates of a file of scores as a table, Markdown, CSV or JSON. Nothing is recomputed."""

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from math import isnan
from textwrap import fill
from typing import Any, Literal

from attune_bench.benchmarks.attunebench.aggregates import POOLED
from attune_bench.benchmarks.attunebench.records import COUNTS, OUTCOMES, null
from attune_bench.scores import Scores
from attune_data.matching import count_people
from attune_data.text import grid, printable, shortened, width
from attune_metrics.catalog import CATALOG

__all__ = [
    "CALLS_NOTE",
    "FORMATS",
    "GROUPS",
    "WIDTH",
    "Format",
    "Line",
    "call_table",
    "escaped",
    "headline",
    "markdown_table",
    "report",
]

Format = Literal["table", "markdown", "csv", "json"]
FORMATS: tuple[Format, ...] = ("table", "markdown", "csv", "json")

WIDTH = 100
_NAME_WIDTH = 32
_MOST_COLUMNS = 5


@dataclass(frozen=True, slots=True)
class Line:
    """One metric of a report.

    `metric` is its name in the catalog, `short` the heading where models are rows; `coverage` names the tasks whose
    coverage, the lowest of them, is shown beside it. `key` is the aggregate's name where it is not the metric's, with
    ``.cell`` for a score from pooled counts.
    """

    metric: str
    short: str
    coverage: tuple[str, ...] = ()
    key: str = ""
    digits: int = 3

    @property
    def label(self) -> str:
        """The catalog's label, with the direction where lower values are better."""
        metric = CATALOG[self.metric]
        pooled = ", pooled" if "." in self.key else ""
        return f"{metric.label}{pooled}{', lower is better' if metric.higher_is_better is False else ''}"


def _averaged(metric: str, short: str, *coverage: str) -> Line:
    return Line(metric, short, coverage, key=f"avg_{metric}")


def _pooled(task: str, short: str) -> Line:
    return Line(f"binary_{task}_mcc", short, (f"binary_{task}",), key=f"pooled_binary_{task}_metrics.mcc")


GROUPS: Mapping[str, tuple[Line, ...]] = {
    "Composite": (
        Line("composite_score", "composite", digits=2),
        Line("emotion_blend", "emotion"),
        Line("evaluation_quality", "evaluation"),
        Line("holistic", "holistic"),
        Line("equal_weight_composite", "equal", digits=2),
    ),
    "Turn by turn": (
        _averaged("emotion_f1", "emo F1"),
        _averaged("emotion_va_score", "emo VA"),
        _averaged("emotion_intensity_mae", "int MAE"),
        _averaged("binary_om_accuracy", "OM acc", "binary_om"),
        _pooled("om", "OM MCC"),
        _averaged("binary_human_accuracy", "HP acc", "binary_human"),
        _pooled("human", "HP MCC"),
        Line("hp_perspective_gap", "phrasing", ("binary_human", "binary_human_hp")),
        _averaged("pairwise_accuracy", "pair acc", "pairwise"),
        _averaged("pairwise_kendall_tau", "pair tau", "pairwise"),
        _averaged("response_similarity", "resp sim"),
        _averaged("response_preference_alignment", "resp pref"),
        _averaged("draft_judge_score", "judge"),
        _averaged("draft_binary_alignment", "draft bin"),
    ),
    "Conversation-wide": (
        Line("panas_normalized", "PANAS", ("panas",)),
        Line("panas_baseline_adjusted", "PANAS adj", ("panas",)),
        Line("panas_item_mae", "item MAE", ("panas",)),
        Line("q1_looking_for_score", "Q1"),
        Line("q2_emotion_clarity_match", "Q2"),
        Line("q3_model_fit_match", "Q3"),
        Line("q3_follow_up_score", "Q3 off"),
        Line("four_branch_normalized", "branches"),
    ),
}

_FOOTNOTE = (
    "Means over conversations, from 0 to 1 but for the composites (0-100), MAE, MCC and tau. "
    "(In parentheses) coverage: predictions present of the questions that count. "
    "[n] where a mean rests on fewer conversations. - where undefined. "
    "OM: what the original model did. HP: what the human participant wanted. "
    "VA: partial credit by distance in valence and arousal. "
    "Phrasing gap: HP accuracy asked as an observer minus asked as the participant. "
    "PANAS: mood after the conversation; baseline-adjusted: against predicting no change."
)
CALLS_NOTE = (
    "Calls: how answers were read, those of judges included: parsed at first, repaired (the text of the answer was "
    "mended), retried (read when asked again) or failed (not read; what it was asked for is missing)."
)
_HEADINGS = [f"{line.short}: {line.label}" for lines in GROUPS.values() for line in lines]
_SHORT_NOTE = f"Headings. {'; '.join(_HEADINGS)}."


def report(scores: Scores, *, format: Format = "table") -> str:  # noqa: A002
    """Return a report of scores as text.

    Parameters
    ----------
    scores : Scores
        What `attune_bench.score` or `Scores.read` gives.
    format : {"table", "markdown", "csv", "json"}
        ``"table"`` keeps to 100 columns: models are columns where they fit, else rows. ``"csv"`` has one row per
        model and mode and every aggregate as a column; ``"json"`` the same under ``models``, with the metadata.

    Returns
    -------
    str
        Number of conversations, coverage and protocol are always part of it.

    Raises
    ------
    ValueError
        Where there is no such format.

    Examples
    --------
    >>> from attune_data import load, load_runs
    >>> from attune_bench import score
    >>> scores = score(load("demo"), load_runs("demo"))
    >>> report(scores, format="markdown").partition(", attune-bench")[0]
    'protocol documented, mode default, n = 40 conversations by 24 participants'
    """
    if format not in FORMATS:
        raise ValueError(f"unknown format {format!r}; expected one of {', '.join(FORMATS)}")
    rows = sorted(scores.aggregates, key=lambda row: -(null(row.get("composite_score")) or 0))
    if format == "json":
        return json.dumps(_strict({"metadata": _metadata(scores), "models": rows}), indent=2) + "\n"
    if format == "csv":
        return _csv(scores, rows)
    return _markdown(scores, rows) if format == "markdown" else _table(scores, rows)


def _metadata(scores: Scores) -> dict[str, Any]:
    known = {key: value for key, value in scores.metadata.items() if key != "issues"}
    return known | {"not_scored": len(scores.metadata.get("issues", []))}


def _strict(value: Any) -> Any:
    """Return a value that strict JSON can hold: nan is the text that `Scores.read` turns back."""
    if isinstance(value, Mapping):
        return {key: _strict(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_strict(item) for item in value]
    return "NaN" if isinstance(value, float) and isnan(value) else value


def _csv(scores: Scores, rows: Sequence[Mapping[str, Any]]) -> str:
    flat = []
    for row in rows:
        plain = {key: value for key, value in row.items() if key not in POOLED}
        counts = {f"{pooled}_{cell}": (row.get(pooled) or {}).get(cell) for pooled in POOLED for cell in COUNTS}
        flat.append({**_metadata(scores), **plain, **counts})
    buffer = StringIO()
    names = list(dict.fromkeys(name for row in flat for name in row))
    writer = csv.DictWriter(buffer, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(flat)
    return buffer.getvalue()


def headline(scores: Scores) -> str:
    """Return what has to be said of all the numbers: protocol, modes, n, version."""
    conversations = {record["conversationId"] for record in scores.records}
    participants = count_people(record.get("participant_id") for record in scores.records)
    modes = sorted({row["mode"] for row in scores.aggregates})
    parts = [
        f"protocol {scores.metadata['protocol']}",
        f"mode{'s' if len(modes) > 1 else ''} {', '.join(modes) or '-'}",
        f"n = {len(conversations)} conversations" + (f" by {participants} participants" if participants else ""),
        f"attune-bench {scores.metadata.get('library_version', '(version not recorded)')}",
    ]
    if not_scored := len(scores.metadata.get("issues", [])):
        parts.append(f"{not_scored} runs not scored")
    if scores.metadata.get("synthetic"):
        parts.append("SYNTHETIC demonstration data")
    return printable(", ".join(parts))


def _cell(line: Line, row: Mapping[str, Any]) -> str:
    key, _, cell = (line.key or line.metric).partition(".")
    found = row.get(key)
    value = null(found[cell] if cell and found is not None else found)
    if value is None:
        return "-"
    # Adding 0 turns a rounded -0.0 into 0.0.
    text = f"{round(value, line.digits) + 0.0:.{line.digits}f}"
    shares = [share for task in line.coverage if (share := row.get(f"coverage_{task}")) is not None]
    if shares:
        text += f" ({_percent(min(shares))})"
    n = row.get(f"{key}_n", row["n_conversations"])
    return text if n == row["n_conversations"] else f"{text} [{n}]"


def _percent(share: float) -> str:
    """Return a share in percent; 100% and 0% only where nothing, or everything, is missing."""
    rounded = round(100 * share)
    return f"{min(max(rounded, 1), 99) if 0 < share < 1 else rounded}%"


def _names(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Name each row by its model, and by its mode where there are several; one mode stands in the headline."""
    several = len({row["mode"] for row in rows}) > 1
    return [printable(f"{row['em_model']} [{row['mode']}]" if several else row["em_model"]) for row in rows]


def _by_metric(lines: Sequence[Line], rows: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    return [[line.label, *(_cell(line, row) for row in rows)] for line in lines]


def _by_model(
    lines: Sequence[Line], rows: Sequence[Mapping[str, Any]], names: Sequence[str]
) -> tuple[list[str], list[list[str]]]:
    """Return the heading and the rows of a table with models as rows."""
    body = [
        [name, str(row["n_conversations"]), *(_cell(line, row) for line in lines)]
        for name, row in zip(names, rows, strict=True)
    ]
    return ["model", "n", *(line.short for line in lines)], body


def _counts(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    return ["n conversations", *(str(row["n_conversations"]) for row in rows)]


def call_table(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """Return the heading and the rows of a table of how answers were read, of the models whose run files say so."""
    body = []
    for name, row in zip(names, rows, strict=True):
        if n := row.get("calls_n"):
            counts = [row[f"calls_{outcome}"] for outcome in OUTCOMES]
            total = f"{sum(counts)}" if n == row["n_conversations"] else f"{sum(counts)} [{n}]"
            body.append([name, total, *map(str, counts)])
    return ["model", "calls", *OUTCOMES], body


def _markdown(scores: Scores, rows: Sequence[Mapping[str, Any]]) -> str:
    """Return one table per group, models as columns up to five, else as rows."""
    blocks, names, notes = [headline(scores)], _names(rows), list[str]()
    for title, lines in GROUPS.items():
        if len(rows) <= _MOST_COLUMNS:
            head, body = ["metric", *names], _by_metric(lines, rows)
            if title == "Composite":
                body.append(_counts(rows))
        else:
            (head, body), notes = _by_model(lines, rows, names), [_SHORT_NOTE]
        blocks.append(markdown_table(title, head, body))
    head, body = call_table(rows, names)
    if body:
        blocks.append(markdown_table("Calls", head, body))
        notes = [*notes, CALLS_NOTE]
    return "\n\n".join([*blocks, *notes, _FOOTNOTE]) + "\n"


def markdown_table(title: str, head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    """Return a table under its title in Markdown, its first column aligned left, the others right."""
    table = [head, ["---", *("---:" for _ in head[1:])], *body]
    return "\n".join([f"**{escaped(title)}**", "", *(f"| {' | '.join(map(escaped, cells))} |" for cells in table)])


def escaped(text: str) -> str:
    """Return text that ends no cell of a table in Markdown."""
    return text.replace("|", "\\|")


def _table(scores: Scores, rows: Sequence[Mapping[str, Any]]) -> str:
    """Return one grid with models as columns where it fits, else grids with models as rows."""
    blocks, names = [fill(headline(scores), WIDTH)], _names(rows)
    body = [_counts(rows)]
    for title, lines in GROUPS.items():
        body += [[""], [title.upper()], *_by_metric(lines, rows)]
    table = grid(["", *names], body)
    if max(map(width, table.splitlines())) <= WIDTH:
        blocks.append(table)
    else:
        if any(width(name) > _NAME_WIDTH for name in names):
            # Long names may differ only where they are cut, so each gets a number.
            blocks.append("\n".join(fill(f"{number}. {name}", WIDTH) for number, name in enumerate(names, start=1)))
            names = [shortened(f"{number}. {name}", _NAME_WIDTH) for number, name in enumerate(names, start=1)]
        for title, lines in GROUPS.items():
            head, body = _by_model(lines, rows, names)
            parts = [grid(*part) for part in _fitting(head, body)]
            suffixes = ["", *[" (continued)"] * (len(parts) - 1)]
            blocks += [f"{title.upper()}{suffix}\n{part}" for suffix, part in zip(suffixes, parts, strict=True)]
        blocks.append(fill(_SHORT_NOTE, WIDTH))
    head, body = call_table(rows, [shortened(name, _NAME_WIDTH) for name in names])
    if body:
        blocks += [grid(head, body), fill(CALLS_NOTE, WIDTH)]
    return "\n\n".join([*blocks, fill(_FOOTNOTE, WIDTH)]) + "\n"


def _fitting(head: list[str], body: list[list[str]]) -> Iterator[tuple[list[str], list[list[str]]]]:
    """Cut a table between columns into tables that fit, each with the first two columns, model and n."""
    widths = [2 + max(width(cells[i]) for cells in [head, *body]) for i in range(len(head))]
    first = 2
    while first < len(head):
        last, taken = first + 1, sum(widths[:2]) + widths[first]
        while last < len(head) and taken + widths[last] - 2 <= WIDTH:
            taken += widths[last]
            last += 1
        yield [*head[:2], *head[first:last]], [[*cells[:2], *cells[first:last]] for cells in body]
        first = last
