"""Reports: the aggregates of a file of scores as a table, Markdown, CSV or JSON. Nothing is recomputed."""

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from typing import Any, Literal

from attune_bench.aggregates import POOLED
from attune_bench.scores import Scores

__all__ = ["FORMATS", "Format", "report"]

Format = Literal["table", "markdown", "csv", "json"]
FORMATS: tuple[Format, ...] = ("table", "markdown", "csv", "json")

WIDTH = 100


@dataclass(frozen=True, slots=True)
class Line:
    """One metric of a report.

    `key` is the aggregate's name, or ``pooled.cell`` for a score from pooled counts; `coverage` names the task whose
    coverage is shown beside it; `short` is the heading where models are rows.
    """

    key: str
    label: str
    short: str
    coverage: str | None = None
    digits: int = 3


GROUPS: Mapping[str, tuple[Line, ...]] = {
    "Composite": (
        Line("composite_score", "Composite score (0-100)", "composite", digits=2),
        Line("emotion_blend", "  emotion blend", "emotion"),
        Line("evaluation_quality", "  evaluation quality", "evaluation"),
        Line("holistic", "  holistic", "holistic"),
        Line("equal_weight_composite", "Equal-weight composite (0-100)", "equal", digits=2),
    ),
    "Turn by turn": (
        Line("avg_emotion_f1", "Emotion F1", "emo F1"),
        Line("avg_emotion_va_score", "Emotion valence-arousal", "emo VA"),
        Line("avg_emotion_intensity_mae", "Emotion intensity MAE, lower is better", "int MAE"),
        Line("avg_binary_om_accuracy", "Binary OM accuracy", "OM acc", "binary_om"),
        Line("pooled_binary_om_metrics.mcc", "Binary OM MCC, pooled", "OM MCC", "binary_om"),
        Line("avg_binary_human_accuracy", "Binary HP accuracy", "HP acc", "binary_human"),
        Line("pooled_binary_human_metrics.mcc", "Binary HP MCC, pooled", "HP MCC", "binary_human"),
        Line("hp_perspective_gap", "Phrasing gap, HP observer - HP-facing", "phrasing", "binary_human_hp"),
        Line("avg_pairwise_accuracy", "Pairwise accuracy", "pair acc", "pairwise"),
        Line("avg_pairwise_kendall_tau", "Pairwise Kendall tau", "pair tau", "pairwise"),
        Line("avg_response_similarity", "Response similarity", "resp sim"),
        Line("avg_response_preference_alignment", "Response preference alignment", "resp pref"),
        Line("avg_draft_judge_score", "Draft judge score", "judge"),
        Line("avg_draft_binary_alignment", "Draft binary alignment", "draft bin"),
    ),
    "Conversation-wide": (
        Line("panas_normalized", "PANAS totals, 1 - MAE/60", "PANAS", "panas"),
        Line("panas_baseline_adjusted", "PANAS against no change", "PANAS adj", "panas"),
        Line("panas_item_mae", "PANAS item MAE, lower is better", "item MAE", "panas"),
        Line("q1_looking_for_score", "Q1 looking for", "Q1"),
        Line("q2_emotion_clarity_match", "Q2 emotion clarity", "Q2"),
        Line("q3_model_fit_match", "Q3 model fit", "Q3"),
        Line("q3_follow_up_score", "Q3 follow-up", "Q3 f-up"),
        Line("four_branch_normalized", "Four branches, 1 - MAE/6", "branches"),
    ),
}

_FOOTNOTE = (
    "Means over conversations; (in parentheses) coverage: predictions present of the questions that count. "
    "[n] where a mean rests on fewer conversations. - where undefined."
)


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
    """
    if format not in FORMATS:
        raise ValueError(f"unknown format {format!r}; expected one of {', '.join(FORMATS)}")
    rows = sorted(scores.aggregates, key=lambda row: -(row["composite_score"] or 0))
    if format == "json":
        return json.dumps({"metadata": _metadata(scores), "models": rows}, indent=2, ensure_ascii=False) + "\n"
    if format == "csv":
        return _csv(scores, rows)
    return _markdown(scores, rows) if format == "markdown" else _table(scores, rows)


def _metadata(scores: Scores) -> dict[str, Any]:
    known = {key: value for key, value in scores.metadata.items() if key != "issues"}
    return known | {"not_scored": len(scores.metadata.get("issues", []))}


def _csv(scores: Scores, rows: Sequence[Mapping[str, Any]]) -> str:
    flat = []
    for row in rows:
        counts = {f"{pooled}_{cell}": value for pooled in POOLED for cell, value in (row.get(pooled) or {}).items()}
        plain = {key: value for key, value in row.items() if key not in POOLED}
        flat.append({"protocol": scores.metadata["protocol"], **plain, **counts})
    buffer = StringIO()
    names = list(dict.fromkeys(name for row in flat for name in row))
    writer = csv.DictWriter(buffer, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(flat)
    return buffer.getvalue()


def _headline(scores: Scores) -> str:
    conversations = {record["conversationId"] for record in scores.records}
    participants = {record.get("participant_id") for record in scores.records} - {None}
    parts = [
        f"protocol {scores.metadata['protocol']}",
        f"n = {len(conversations)} conversations" + (f" by {len(participants)} participants" if participants else ""),
        f"attune-bench {scores.metadata.get('library_version', '(version not recorded)')}",
    ]
    if not_scored := len(scores.metadata.get("issues", [])):
        parts.append(f"{not_scored} runs not scored")
    if scores.metadata.get("synthetic"):
        parts.append("SYNTHETIC demonstration data")
    return ", ".join(parts)


def _cell(line: Line, row: Mapping[str, Any]) -> str:
    key, _, cell = line.key.partition(".")
    value = row.get(key)
    if cell and value is not None:
        value = value[cell]
    if value is None:
        return "-"
    text = f"{value:.{line.digits}f}"
    if line.coverage and (share := row.get(f"coverage_{line.coverage}")) is not None:
        text += f" ({_percent(share)})"
    n = row.get(f"{key}_n", row["n_conversations"])
    return text if n == row["n_conversations"] else f"{text} [{n}]"


def _percent(share: float) -> str:
    """Return a share in percent; 100% and 0% only where nothing, or everything, is missing."""
    rounded = round(100 * share)
    return f"{min(max(rounded, 1), 99) if 0 < share < 1 else rounded}%"


def printable(text: object) -> str:
    """Return text that cannot drive a terminal: control characters and surrogates become U+FFFD."""
    return "".join(character if character.isprintable() else "\ufffd" for character in str(text))


def _name(row: Mapping[str, Any]) -> str:
    return printable(f"{row['em_model']} [{row['mode']}]")


def _by_metric(lines: Sequence[Line], rows: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    return [[line.label, *(_cell(line, row) for row in rows)] for line in lines]


def _markdown(scores: Scores, rows: Sequence[Mapping[str, Any]]) -> str:
    """Return one table per group, models as columns up to five, else as rows."""
    blocks = [f"{_headline(scores)}"]
    for title, lines in GROUPS.items():
        if len(rows) <= 5:
            head = ["metric", *(_name(row) for row in rows)]
            body = _by_metric(lines, rows)
            if title == "Composite":
                body.append(["n conversations", *(str(row["n_conversations"]) for row in rows)])
        else:
            head = ["model", "n", *(line.short for line in lines)]
            body = [[_name(row), str(row["n_conversations"]), *(_cell(line, row) for line in lines)] for row in rows]
        table = [head, ["---", *("---:" for _ in head[1:])], *body]
        escaped = (" | ".join(cell.strip().replace("|", "\\|") for cell in cells) for cells in table)
        blocks.append(f"**{title}**\n\n" + "\n".join(f"| {cells} |" for cells in escaped))
    return "\n\n".join([*blocks, _FOOTNOTE]) + "\n"


def _table(scores: Scores, rows: Sequence[Mapping[str, Any]]) -> str:
    blocks = [_headline(scores)]
    columns = [max(len(_name(row)), 12) for row in rows]
    labels = max(len(line.label) for lines in GROUPS.values() for line in lines)
    if labels + sum(width + 2 for width in columns) <= WIDTH:
        head = ["", *(_name(row) for row in rows)]
        body = [["n conversations", *(str(row["n_conversations"]) for row in rows)]]
        for title, lines in GROUPS.items():
            body += [[""], [title.upper()], *_by_metric(lines, rows)]
        blocks.append(_grid(head, body))
    else:
        name_width = min(max(len(_name(row)) for row in rows), 32)
        for title, lines in GROUPS.items():
            blocks += [f"{title.upper()}{suffix}\n{grid}" for suffix, grid in _model_rows(lines, rows, name_width)]
    return "\n\n".join([*blocks, _wrapped(_FOOTNOTE)]) + "\n"


def _model_rows(lines: Sequence[Line], rows: Sequence[Mapping[str, Any]], name_width: int) -> list[tuple[str, str]]:
    """Return grids with models as rows, as many as the width asks for."""
    grids: list[tuple[str, str]] = []
    names = [_shortened(_name(row), name_width) for row in rows]
    left = list(lines)
    while left:
        taken: list[list[str]] = []
        width = name_width + 2 + max(len(str(row["n_conversations"])) for row in rows)
        while left:
            cells = [left[0].short, *(_cell(left[0], row) for row in rows)]
            width += 2 + max(map(len, cells))
            if width > WIDTH and taken:
                break
            taken.append(cells)
            left.pop(0)
        counts = [str(row["n_conversations"]) for row in rows]
        body = list(map(list, zip(names, counts, *(cells[1:] for cells in taken), strict=True)))
        grids.append((" (continued)" if grids else "", _grid(["", "n", *(cells[0] for cells in taken)], body)))
    return grids


def _shortened(name: str, width: int) -> str:
    """Shorten a name in its middle, so that provider and mode stay readable."""
    if len(name) <= width:
        return name
    head = (width - 1) // 2
    return f"{name[:head]}\u2026{name[-(width - 1 - head) :]}"


def _grid(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    full = [head, *body]
    widths = [max(len(cells[i]) for cells in full if i < len(cells)) for i in range(len(head))]
    lines = []
    for cells in full:
        # A heading has one cell only.
        padded = [cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=False)]
        aligned = [cells[0].ljust(widths[0]), *padded]
        lines.append("  ".join(aligned).rstrip())
    lines.insert(1, "-" * (sum(widths) + 2 * (len(widths) - 1)))
    return "\n".join(lines)


def _wrapped(text: str) -> str:
    import textwrap

    return textwrap.fill(text, WIDTH)
