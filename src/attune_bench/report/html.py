"""The HTML report: one file to forward, which needs no network, no script to be read, and no other file."""

import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from attune_bench.benchmarks.attunebench import analyses
from attune_bench.report import figures
from attune_bench.report._cells import number_cell, p_cell, score_cell, sizes_cell
from attune_bench.report._disclosure import few_groups, hidden_strata, open_groups, without_groups
from attune_bench.report._drawing import PROFILED
from attune_bench.report._page import Cell, element, figure, joined, page, section, table
from attune_bench.report.text import CALLS_NOTE, call_table, headline
from attune_bench.stats.comparison import FEWEST, told_apart
from attune_bench.stats.series import Sampling
from attune_bench.stats.signing import fingerprint, sign
from attune_bench.stats.subgroups import FEW, conversation_ids
from attune_data.display.html import Html
from attune_data.text import plural
from attune_metrics.errors import MetricInputError

if TYPE_CHECKING:
    import polars as pl

    from attune_bench.report._drawing import Figure
    from attune_bench.scores import Scores
    from attune_data import Collection, Conversation
    from attune_data.attunebench.run import Run

__all__ = ["html_report"]

_HEADLINE = (
    "composite_score", "avg_emotion_f1", "avg_emotion_va_score", "avg_binary_om_accuracy", "avg_binary_human_accuracy",
    "avg_pairwise_accuracy", "panas_baseline_adjusted", "four_branch_normalized",
)  # fmt: skip
_DRIFT = ("avg_binary_om_accuracy", "avg_emotion_va_score")
_TASKS = {"binary_om": "what the original model did", "binary_human": "what the participant wanted"}

_TRAITS = {"diagnosis_group": "Diagnosis group", "category": "Category"}

_LIMITS = (
    "Scores measure agreement with what the participant reported, not the emotional intelligence of a model: "
    "a self-report can be incomplete, and a model can agree with it for other reasons than understanding.",
    "An interval says how far a score would move with other participants, drawn alike. It says nothing of other "
    "topics, other languages or other populations, nor of a model that answers otherwise when asked again.",
    "A prediction that is missing counts as the benchmark defines it; a score with little coverage can mislead. "
    "Differences between subgroups are observed, not caused: groups differ in more than the trait that names them.",
    "For research. It is no clinical instrument, and says nothing of any single person.",
)


class _Report:
    """The sections as they come, what was left out and why, and what all of them ask for."""

    def __init__(self, scores: "Scores", small_cells: bool) -> None:
        self.modes = sorted({row["mode"] for row in scores.aggregates}, key=lambda mode: (mode != "default", mode))
        self.small_cells = small_cells
        self.sections: list[Html] = []
        self.left_out: list[str] = []

    def add(self, title: str, *parts: Html) -> None:
        self.sections.append(section(title, *parts))


def html_report(
    scores: "Scores",
    *,
    data: "Collection[Conversation] | None" = None,
    runs: "Iterable[Run] | None" = None,
    resamples: int = 10_000,
    seed: int = 0,
    small_cells: bool = False,
) -> str:
    """Return a report of scores as a page of HTML.

    Parameters
    ----------
    scores : Scores
        What `attune_bench.score` or `Scores.read` gives.
    data : Collection of Conversation, optional
        The conversations that were scored: for subgroups.
    runs : iterable of Run, optional
        The runs that were scored: with `data`, for agreement by question.
    resamples, seed : int
        As for `attune_bench.stats.series.Settings`.
    small_cells : bool
        Whether to show values that rest on fewer than 5 participants or would give such values away, models run on
        fewer than 5, and single conversations.

    Returns
    -------
    str
        A page that makes no request. What was not given is left out, and named at its end.

    Raises
    ------
    ImportError
        Where the extra ``plots`` is not installed.
    ValueError
        Where there is no score, no model was run on 5 participants and `small_cells` is not set, or an option is out
        of range.

    Examples
    --------
    >>> from attune_data import load, load_runs
    >>> from attune_bench import score
    >>> scores = score(load("demo"), load_runs("demo"))
    >>> page = html_report(scores, resamples=200)
    >>> page.startswith("<!DOCTYPE html>"), page.count("<svg") > 2
    (True, True)
    """
    if not scores.records:
        raise ValueError("there is no score to report")
    options: Sampling = {"resamples": resamples, "seed": seed}
    few = [] if small_cells else few_groups(scores)
    if few:
        scores = without_groups(scores, few)
        if not scores.records:
            raise ValueError(
                f"every model was run on fewer than {FEWEST} participants, whose values are not shown; "
                "show them with small_cells=True (--small-cells)"
            )
    report = _Report(scores, small_cells)
    why = f"run on fewer than {FEWEST} participants"
    report.left_out += [f"{model} [{mode}]: {why} (--small-cells)" for model, mode in few]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        _analyses(report, scores, data, None if runs is None else list(runs), options)
    question = None if data is None else f"subgroups of data {fingerprint(data)}"
    _methods(report, scores, options, question, list(dict.fromkeys(str(warning.message) for warning in caught)))
    title = "AttuneBench scores"
    top = [element("h1", title), element("p", headline(scores), class_="quiet")]
    if scores.metadata.get("synthetic"):
        top.append(element("p", "SYNTHETIC demonstration data: no score here is of a real person.", class_="notice"))
    if few:
        top.append(element("p", f"Models {why} are not shown; the end of the page names them.", class_="notice"))
    return page(title, *top, *report.sections)


def _analyses(
    report: _Report,
    scores: "Scores",
    data: "Collection[Conversation] | None",
    runs: "Sequence[Run] | None",
    options: Sampling,
) -> None:
    summary = scores.summary(**options)
    _scores(report, summary)
    _calls(report, scores)
    _comparisons(report, scores, options)
    _within(report, scores, options)
    _between(report, scores, options)
    if report.small_cells:
        frame = analyses.conversation_difficulty(scores)
        _drawn(report, "Difficulty of conversations", "A point is a conversation.", frame, "sd",
               figures.conversation_difficulty)  # fmt: skip
    else:
        report.left_out.append("Difficulty of conversations: shows single conversations (--small-cells)")
    if data is None:
        report.left_out.append("Subgroups: need the conversations (--data)")
    else:
        _subgroups(report, scores, data, options)
    if data is None or runs is None:
        report.left_out.append("Agreement by question: needs the conversations and the run files (--data, --results)")
    else:
        _questions(report, scores, data, runs, options)


def _enough(report: _Report, frame: "pl.DataFrame") -> "pl.DataFrame":
    """Return the rows of a frame that may be shown."""
    if report.small_cells or "participants" not in frame.columns:
        return frame
    return frame.filter(frame["participants"] >= FEWEST)


def _drawn(
    report: _Report, title: str, caption: str, frame: "pl.DataFrame", value: str, draw: "Callable[..., Figure]",
    *, rows_need: str = "scores of at least one model",
) -> None:  # fmt: skip
    """Add a section of one figure for each mode that has something to draw, or why there is none."""
    defined = frame.drop_nulls(value)
    shown = _enough(report, defined)
    found = [
        figure(draw(shown, mode=mode), f"{caption} Mode {mode}." if len(report.modes) > 1 else caption)
        for mode in report.modes
        if not shown.filter(mode=mode).is_empty()
    ]
    if found:
        report.add(title, *found)
    elif not defined.is_empty():
        report.left_out.append(f"{title}: fewer than {FEWEST} participants (--small-cells)")
    elif not frame.is_empty():
        report.left_out.append(f"{title}: no value is defined")
    else:
        report.left_out.append(f"{title}: needs {rows_need}")


def _scores(report: _Report, summary: "pl.DataFrame") -> None:
    import polars as pl

    if not report.small_cells:
        enough = pl.col("participants") >= FEWEST
        summary = summary.with_columns(pl.when(enough).then(pl.col(end)) for end in ("value", "low", "high"))
    rows = {(row["model"], row["mode"], row["metric"]): row for row in summary.iter_rows(named=True)}
    groups = sorted({(model, mode) for model, mode, _ in rows},
                    key=lambda group: -(rows[*group, "composite_score"]["value"] or 0))  # fmt: skip
    body: list[list[str | Cell]] = []
    for model, mode in groups:
        composite, pairs = rows[model, mode, "composite_score"], rows[model, mode, "avg_pairwise_accuracy"]
        covered = [
            row["coverage"] for metric in _HEADLINE if (row := rows[model, mode, metric])["coverage"] is not None
        ]
        least = min(covered, default=None)
        body.append(
            [
                f"{model} [{mode}]" if len(report.modes) > 1 else model,
                *(score_cell(rows[model, mode, metric], "value", metric) for metric in _HEADLINE),
                sizes_cell(composite if composite["n"] else pairs),
                Cell("-" if least is None else f"{100 * least:.1f}%", value=None if least is None else round(least, 3)),
            ]
        )
    head = ["model", *map(figures.label, _HEADLINE), "n (participants)", "least coverage"]
    note = (
        "Means over conversations with 95% intervals. The composite runs from 0 to 100, PANAS baseline-adjusted from "
        "-1 to 1, the others from 0 to 1. OM: what the original model did. HP: what the human participant wanted. "
        "Coverage: predictions present of the questions that count, the lowest of all tasks."
    )
    report.add("Scores", table(head, body, sortable=True), element("p", note, class_="quiet"))
    _drawn(report, "Composite", "Composite with 95% intervals.",
           summary.filter(metric="composite_score"), "value", figures.scores)  # fmt: skip
    _drawn(report, "Pairwise accuracy", "Pairwise accuracy with 95% intervals; the broken line is chance, 1/3.",
           summary.filter(metric="avg_pairwise_accuracy"), "value",
           partial(figures.scores, metric="avg_pairwise_accuracy"))  # fmt: skip
    profiles = [
        figure(figures.profile(summary, model, mode=mode), f"{model} [{mode}]" if len(report.modes) > 1 else model)
        for model, mode in groups
        if any(rows[model, mode, metric]["value"] is not None for metric in PROFILED)
    ]
    note = "Scores from 0 to 1, higher is better. Points: the model, with 95% intervals. Ticks: the other models."
    report.add("Profiles", element("p", note, class_="quiet"), element("div", *profiles, class_="grid"))


def _calls(report: _Report, scores: "Scores") -> None:
    modes = {row["mode"] for row in scores.aggregates}
    names = [f"{row['em_model']} [{row['mode']}]" if len(modes) > 1 else row["em_model"] for row in scores.aggregates]
    head, body = call_table(scores.aggregates, names)
    if body:
        cells: list[list[str | Cell]] = [[name, *map(Cell, counts)] for name, *counts in body]
        report.add("Calls", table(head, cells), element("p", CALLS_NOTE, class_="quiet"))


def _comparisons(report: _Report, scores: "Scores", options: Sampling) -> None:
    frame = _enough(report, scores.compare_all(**options, metrics=["composite_score", "avg_pairwise_accuracy"]))
    if frame.is_empty():
        report.left_out.append("Comparisons: no mode has two models")
        return
    parts = []
    for count in told_apart(frame).iter_rows(named=True):
        metric, mode = count["metric"], count["mode"]
        rows = [row for row in frame.iter_rows(named=True) if (row["metric"], row["mode"]) == (metric, mode)]
        heading = figures.label(metric) + (f", mode {mode}" if len(report.modes) > 1 else "")
        said = (
            f"Told apart (Holm-corrected p < 0.05, a family of {plural(count['family'], 'test')}): "
            f"{count['told_apart']} of {plural(count['pairs'], 'pair')}. "
            f"By an uncorrected interval that excludes 0: {count['interval_excludes_0']}."
        )
        body: list[list[str | Cell]] = [
            [row["model_a"], row["model_b"], score_cell(row, "difference", metric), p_cell(row["p"]),
             p_cell(row["p_holm"]), number_cell(row["detectable"], metric), sizes_cell(row)]
            for row in rows
        ]  # fmt: skip
        head = ["A", "B", "A minus B", "p", "Holm p", "detectable", "n (participants)"]
        parts.append(joined(element("h3", heading), element("p", said), table(head, body, sortable=True)))
    note = "Detectable: the smallest true difference found with 80% power at an uncorrected 0.05."
    report.add("Comparisons", *parts, element("p", note, class_="quiet"))


def _within(report: _Report, scores: "Scores", options: Sampling) -> None:
    _drawn(report, "Perspective gap",
           "How well a model sees what was done (OM) and what was wanted (HP); the widest gap on top.",
           analyses.perspective_gap(scores, **options), "gap", figures.perspective_gap)  # fmt: skip
    drift = analyses.turn_drift(scores, **options, metrics=_DRIFT)
    for metric in _DRIFT:
        _drawn(report, f"Turn drift: {figures.label(metric)}",
               "By third of the conversation; at the right late minus early with its 95% interval.",
               drift.filter(metric=metric), "drift", partial(figures.turn_drift, metric=metric))  # fmt: skip


def _between(report: _Report, scores: "Scores", options: Sampling) -> None:
    _drawn(report, "Win rates",
           "Share of conversations in which the model of the row is nearer to the participant's preferences than that "
           "of the column; ties count half.", analyses.win_rates(scores, **options), "rate", figures.win_rates,
           rows_need=analyses.ANALYSES["win_rates"].rows_need)  # fmt: skip
    _drawn(report, "Metrics across models", "Spearman's correlation over models.",
           analyses.metric_correlation(scores, **options), "rho", figures.metric_correlation,
           rows_need=analyses.ANALYSES["metric_correlation"].rows_need)  # fmt: skip
    if len(report.modes) > 1:
        frame = _enough(report, analyses.mode_differences(scores, **options))
        pairs = list(dict.fromkeys(frame.select("mode", "reference").iter_rows()))
        charts = [
            figure(figures.mode_differences(frame, mode, reference=reference), f"Mode {mode} minus mode {reference}.")
            for mode, reference in pairs
            if not frame.filter(mode=mode, reference=reference)["difference"].is_null().all()
        ]
        if charts:
            report.add("Differences between modes", *charts)
    else:
        report.left_out.append("Differences between modes: need scores in at least two modes")


def _subgroups(report: _Report, scores: "Scores", data: "Collection[Conversation]", options: Sampling) -> None:
    import polars as pl

    strata = {trait: {name: conversation_ids(part) for name, part in data.stratify(trait).items()} for trait in _TRAITS}
    hidden = set() if report.small_cells else hidden_strata(scores, strata, conversation_ids(data))
    parts = []
    for trait, title in _TRAITS.items():
        frame = scores.by(trait, data=data, compare=True, **options, metrics=["composite_score"])
        body: list[list[str | Cell]] = []
        for row in frame.iter_rows(named=True):
            name = f"{row['stratum']}: {row['model']}" + (f" [{row['mode']}]" if len(report.modes) > 1 else "")
            value, difference, p = (
                score_cell(row, "value", "composite_score"),
                score_cell(row, "difference", "composite_score", ends=("difference_low", "difference_high")),
                p_cell(row["p_holm"]),
            )
            at = trait, row["model"], row["mode"]
            if (*at, row["stratum"]) in hidden:
                few = row["participants"] < FEWEST
                why = f"fewer than {FEWEST} participants" if few else "not shown, as a smaller group would follow"
                body.append([name, Cell("-"), Cell("-"), Cell("-"), Cell(why)])
            elif (*at, None) in hidden:
                body.append([name, value, Cell("-"), Cell("-"), sizes_cell(row)])
            else:
                body.append([name, value, difference, p, sizes_cell(row)])
        head = ["stratum: model", "composite", "difference from the others", "Holm p", "n (participants)"]
        parts += [element("h3", title), table(head, body, sortable=True)]
    note = (
        "A conversation with two diagnoses is in both strata: strata overlap. Differences are unpaired, corrected for "
        f"the strata of a trait, for each model apart. few: fewer than {FEW} participants."
    )
    if not report.small_cells:
        note += f" Values of fewer than {FEWEST} participants are not shown, nor others from which they would follow."
    if lacking := _lacking(scores, data):
        note += f" {lacking}."
    report.add("Subgroups", *parts, element("p", note, class_="quiet"))
    groups = analyses.diagnosis_groups(scores, data=data, **options, metrics=["avg_emotion_va_score"])
    if not report.small_cells:
        open_to = open_groups(scores, strata["diagnosis_group"])
        rows = zip(*(groups[key] for key in ("model", "mode", "group")), strict=True)
        may = pl.Series([row in open_to for row in rows], dtype=pl.Boolean)
        # A row that is hidden stays, with nothing to draw, as one of too few participants.
        groups = groups.with_columns(participants=pl.when(may & groups["low"].is_not_null()).then("participants"))
    caption = f"Difference from participants without any diagnosis, with 95% intervals; hollow: fewer than {FEW}."
    _drawn(report, "Emotion VA by diagnosis", caption, groups, "difference",
           partial(figures.diagnosis_groups, metric="avg_emotion_va_score"),
           rows_need=analyses.ANALYSES["diagnosis_groups"].rows_need)  # fmt: skip


def _lacking(scores: "Scores", data: "Collection[Conversation]") -> str:
    """Say how many scored conversations the data lack; nothing where it holds all."""
    scored = {record["conversationId"] for record in scores.records}
    lacking = len(scored.difference(conversation_ids(data)))
    return f"The data lack {lacking} of {plural(len(scored), 'scored conversation')}" if lacking else ""


def _questions(
    report: _Report, scores: "Scores", data: "Collection[Conversation]", runs: "Sequence[Run]", options: Sampling
) -> None:
    try:
        frame = analyses.question_agreement(scores, data=data, runs=runs, **options)
    except MetricInputError:
        # Its text names a conversation, which a page does not.
        why = _lacking(scores, data) or "The run files are not all those that were scored"
        report.left_out.append(f"Agreement by question: {why}")
        return
    for task, what in _TASKS.items():
        _drawn(report, f"Agreement by question: {what}", "Share of turns on which a model answers as the participant.",
               frame.filter(task=task), "agreement", partial(figures.question_agreement, task=task),
               rows_need=analyses.ANALYSES["question_agreement"].rows_need)  # fmt: skip


def _methods(report: _Report, scores: "Scores", options: Sampling, question: str | None, warned: Sequence[str]) -> None:
    metadata = scores.metadata
    signature = sign(scores, question=question, **options, metrics=_HEADLINE)
    said = (
        f"Predictions were scored by the {metadata['protocol']} protocol of AttuneBench, conversation by conversation. "
        f"Intervals are 95% expanded-percentile bootstrap intervals of {options['resamples']:,} resamples, seed "
        f"{options['seed']}; participants are drawn, each with all conversations. Two models are compared on the "
        "conversations that both were run on, by exchanging them within participants; p-values are corrected by Holm's "
        "method over all pairs of a metric in a mode, or over the strata of a trait. n counts conversations, in "
        "parentheses participants. Where there are fewer than 5 participants, or nothing varies, there is no interval."
    )
    quoted = element("p", Html("Signature, to be quoted with the numbers: "), element("code", signature))
    report.add("Methods", element("p", said), *(element("p", f"Warning: {text}.") for text in warned), quoted)
    report.add("Limits", element("ul", *(element("li", limit) for limit in _LIMITS)))
    if report.left_out:
        report.add("Not in this report", element("ul", *(element("li", text) for text in report.left_out)))
