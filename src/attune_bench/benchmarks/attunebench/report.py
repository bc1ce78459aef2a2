"""AttuneBench on a page: sections and figures."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import inf
from statistics import fmean
from typing import Any

import polars as pl

from attune_bench.benchmarks.attunebench.analyses import ANALYSES, ANY
from attune_bench.benchmarks.attunebench.annotators import PARTICIPANT
from attune_bench.benchmarks.attunebench.branches import METRICS_OF_BRANCHES, WHOLE, above_random
from attune_bench.benchmarks.attunebench.contamination import TEXTS, reproduced_shown
from attune_bench.benchmarks.attunebench.following import mismatch_section, misread_section
from attune_bench.benchmarks.attunebench.truth import above_ceiling
from attune_bench.report import drawing
from attune_bench.report.columns import (
    UNDEFINED,
    Cell,
    Column,
    Folded,
    Section,
    Table,
    counts_units,
    in_words,
    interval,
    interval_words,
    label,
    number,
    p_value,
    text_column,
    with_note,
    words_under,
)
from attune_bench.report.figures import estimate, score_plot
from attune_bench.report.findings import models_of, not_counted, of_chance, of_differences
from attune_bench.report.page_scores import PageScores
from attune_bench.report.plots import Look, PlotRow, RowPlot, axis_of, dumbbell, key_of
from attune_bench.report.privacy import hidden_strata, hides, suppressed
from attune_bench.report.sections import comparison_parts, drawn_section, lacking_units, subgroup_section
from attune_bench.report.tables import analysis_note, analysis_tables
from attune_bench.scores.provenance import people_among
from attune_bench.scores.table import ScoreTable
from attune_bench.stats.options import FEW, MIN_CLUSTERS
from attune_bench.stats.subgroups import strata_of
from attune_bench.stats.summary import chance_under, summary
from attune_data import Conversation, Run
from attune_data.attunebench.codebook import load_codebook
from attune_data.attunebench.profile import NO_DIAGNOSIS, UNKNOWN
from attune_data.attunebench.show import topic
from attune_data.collection import Collection
from attune_data.display import facts_html
from attune_data.issues import Html
from attune_metrics.metric import Metric, MetricInputError


def transcript(conversation: Conversation, _runs: Mapping[str, Run]) -> Iterator[Html]:
    """Yield what a page shows once of a conversation: not who the participant is."""
    yield facts_html([("topic", topic(conversation)), ("original model", conversation.metadata.model or "")])


_PAIRWISE = "avg_pairwise_accuracy"
_DRIFTING = ("avg_binary_om_accuracy", "avg_emotion_va_score")
_VA = "avg_emotion_va_score"
_TASKS = {"binary_om": "what the original model did", "binary_human": "what the participant wanted"}
_TRAITS = ("diagnosis_group", "category")
_TERMS: Mapping[str, str] = {
    "Composite": "weighted mean of 49% OM accuracy, HP accuracy and pairwise accuracy, 27% the PANAS, the answers "
    "about the whole conversation and the four branches, and 24% the emotions of the turns",
    "OM": "original model: what the model that talked to the participant did, as the participant judged it",
    "HP": "human participant: what the participant wanted the model to do",
    "Emotion VA": "closeness of predicted to reported emotions by valence and arousal",
    "Pairwise": "which of two responses the participant preferred",
    "PANAS": "positive and negative affect after the conversation, predicted from the affect before it",
    "Four-branch": "the participant's ratings of the original model: perceiving, facilitating, understanding, managing",
}


def sections(
    page: PageScores, *, data: Collection[Conversation] | None = None, results: Sequence[Run] | None = None
) -> list[Section]:
    """Return this benchmark's own sections of a page.

    Parameters
    ----------
    page : PageScores
        Scores of this benchmark, and how they are analysed.
    data : Collection of Conversation, optional
        The conversations that were scored: for subgroups, and with `results` for agreement by question.
    results : sequence of Run, optional
        The runs that were scored.
    """
    return [
        Section("What the metrics are about", [tuple(f"{term}: {meaning}." for term, meaning in _TERMS.items())]),
        _pairwise(page),
        _branches(page),
        _gap(page),
        *_drift(page),
        misread_section(page),
        mismatch_section(page, data),
        _subgroups(page, data),
        _diagnoses(page, data),
        *_questions(page, data, results),
        _truth(page, data, results),
        _contamination(page, data, results),
    ]


def _numbers(page: PageScores, name: str, frame: pl.DataFrame) -> Folded:
    """Return the numbers of one of our analyses."""
    entry = ANALYSES[name]
    tables = analysis_tables(page.table, name, entry, frame)
    return Folded("All numbers", with_note(tables, analysis_note(page.table, entry, frame, page.chosen)))


def _pairwise(page: PageScores) -> Section:
    table = page.table
    metric = table.metrics[_PAIRWISE]
    caption = (
        "The broken line is what random answers score on average on these data: half of the share of comparisons that "
        "have a winner, in each turn; a turn without comparisons counts 1. The paper's level of chance, 1/3, is a "
        "constant and not drawn."
    )
    return drawn_section(
        page, "Pairwise accuracy", summary(table, **page.options, metrics=[_PAIRWISE]), "value", caption,
        lambda rows: score_plot(table, rows, _PAIRWISE), others=comparison_parts(page, _PAIRWISE),
        finding=lambda rows: of_chance(metric, rows, chance_under(table, rows["condition"][0]).get(_PAIRWISE)),
    )  # fmt: skip


def _branches(page: PageScores) -> Section:
    entry = ANALYSES["branches"]
    if why := counts_units(page.table, page.chosen):
        return Section(entry.title, left_out=why)
    frame = page.in_order(page.hide_small_cells(entry.function(page.table, **page.options))).filter(part=WHOLE)
    caption = (
        "Share of the way from random answers (0) to a perfect score (1), the mean over the metrics of the branch, "
        f"with {interval_words(page.table, page.chosen)}."
    )
    return drawn_section(
        page, entry.title, frame, "share", caption, partial(branch_cells, page.table, numbers=page.numbers),
        finding=lambda rows: above_random(page.table, rows).rstrip(".") + not_counted(rows),
    )  # fmt: skip


def _gap(page: PageScores) -> Section:
    entry = ANALYSES["perspective_gap"]
    frame = page.in_order(page.hide_small_cells(entry.function(page.table, **page.options)))
    caption = "How well each model tells what was done (OM) and what was wanted (HP), the widest gap on top."
    said = (
        ("tells", "tell"), "what was done (OM) significantly better than what was wanted (HP)",
        "what was wanted (HP) significantly better than what was done (OM)",
        "No model tells what was done (OM) significantly better or worse than what was wanted (HP)",
    )  # fmt: skip
    return drawn_section(
        page, entry.title, frame, "gap", caption, partial(perspective_gap, page.table),
        finding=lambda rows: of_differences(models_of(rows).iter_rows(named=True), "gap", *said) + not_counted(rows),
        others=[_numbers(page, "perspective_gap", frame)],
    )  # fmt: skip


def _drift(page: PageScores) -> list[Section]:
    entry, table = ANALYSES["turn_drift"], page.table
    titles = {metric: f"{entry.title}: {label(table.metric(metric))}" for metric in _DRIFTING}
    why = counts_units(table, page.chosen)
    if table.detail is None:
        why = why or "needs the records of the runs, which these scores lack"
    if why:
        return [Section(title, left_out=why) for title in titles.values()]
    frame = page.analysis("turn_drift", _DRIFTING)
    caption = "By third of the conversation; at the right late minus early, with its interval."
    said = (
        ("has", "have"), "significantly higher values late than early", "significantly lower values late than early",
        "No model drifts significantly from the early to the late third",
    )  # fmt: skip

    def of_metric(metric: str, own: pl.DataFrame) -> Section:
        return drawn_section(
            page, titles[metric], own, "drift", caption, partial(turn_drift, table, metric=metric),
            finding=lambda rows: of_differences(models_of(rows).iter_rows(named=True), "drift", *said)
            + not_counted(rows),
            others=[_numbers(page, "turn_drift", own)],
        )  # fmt: skip

    return [of_metric(metric, frame.filter(metric=metric)) for metric in _DRIFTING]


def _subgroups(page: PageScores, data: Collection[Conversation] | None) -> Section:
    if data is None:
        return Section("Subgroups", left_out="need the conversations (--data)")
    return subgroup_section(page, _TRAITS, data=data)


def _diagnoses(page: PageScores, data: Collection[Conversation] | None) -> Section:
    entry, table = ANALYSES["diagnosis_groups"], page.table
    title = f"{label(table.metric(_VA))} by diagnosis"
    if data is None or set(table.units["unit"]).isdisjoint(one.id for one in data):
        return Section(title, left_out="needs the conversations (--data)")
    frame = entry.function(table, data=data, **page.options, metrics=[_VA])
    if hides(table, small_cells=page.small_cells):
        frame = _without_few(table, frame, data)
    caption = (
        "Difference from participants without any diagnosis, with its interval; hollow: fewer than 20 participants."
    )
    said = (
        ("is", "are"), "significantly above 0", "significantly below 0",
        "No difference from participants without a diagnosis is significant", "difference",
    )  # fmt: skip
    return drawn_section(
        page, title, frame, "difference", caption, partial(diagnosis_groups, table, metric=_VA),
        finding=lambda rows: of_differences(rows.iter_rows(named=True), "difference", *said),
        rows_need=entry.rows_need,
    )  # fmt: skip


def _without_few(table: ScoreTable, frame: pl.DataFrame, data: Collection[Conversation]) -> pl.DataFrame:
    """Suppress differences by diagnosis that rest on few people; each is compared with people without a diagnosis."""
    strata = {name: units for name, units in strata_of(data, "diagnosis_group").items() if name != UNKNOWN}
    diagnosed = {unit for name, units in strata.items() if name != NO_DIAGNOSIS for unit in units}
    hidden = hidden_strata(table, _VA, {"groups": (strata, ()), "diagnosed": ({ANY: diagnosed}, ())})
    rows = frame.select("model", "condition", "group").rows()
    found = [
        not hidden[model, condition].isdisjoint(
            {("diagnosed" if group == ANY else "groups", group, False), ("groups", NO_DIAGNOSIS, False)}
        )
        for model, condition, group in rows
    ]
    return suppressed(frame, pl.lit(pl.Series(found, dtype=pl.Boolean)), "not shown")


def _of_runs(
    page: PageScores, name: str, data: Collection[Conversation] | None, results: Sequence[Run] | None, **options: Any
) -> pl.DataFrame | str:
    """Return what an analysis of conversations and runs gives, or why a page has no section on it."""
    if data is None or results is None:
        return "needs the conversations and the run files (--data, --results)"
    if why := counts_units(page.table, page.chosen):
        return why
    try:
        return ANALYSES[name].function(page.table, data=data, results=results, **options, **page.options)
    except MetricInputError:
        # Its text names a conversation, which a page does not.
        return lacking_units(page.table, data).rstrip(".") or "the run files are not all those that were scored"


def _questions(page: PageScores, data: Collection[Conversation] | None, results: Sequence[Run] | None) -> list[Section]:
    entry = ANALYSES["question_agreement"]
    frame = _of_runs(page, "question_agreement", data, results)
    if isinstance(frame, str):
        return [Section(entry.title, left_out=frame)]
    frame = page.hide_small_cells(frame)
    tables = [one for condition in page.table.conditions if (one := _question_table(page, frame, condition)).rows]
    if not tables:
        return [Section(entry.title, left_out=f"needs {in_words(page.table, entry.rows_need)}")]
    return [Section(entry.title, with_note(tables, _question_note(frame)))]


def _truth(page: PageScores, data: Collection[Conversation] | None, results: Sequence[Run] | None) -> Section:
    """Return the section on other annotators: the models' scores and ranks under each truth."""
    entry, table = ANALYSES["truth"], page.table
    title = f"{entry.title}: {label(table.metric(_PAIRWISE))}"
    if not people_among(table.models):
        return Section(title, left_out=f"needs {in_words(table, entry.rows_need)}")
    frame = _of_runs(page, "truth", data, results, metrics=[_PAIRWISE])
    if isinstance(frame, str):
        return Section(title, left_out=frame)
    caption = (
        "Columns: whose answers are right. Each cell: the mean score, and for models the rank with its "
        f"{100 * page.chosen.level:g}% interval. Blue: above the best other annotator (the ceiling), orange: below; "
        "the participant's second answers, human/self, set no ceiling. On the conversations that every annotator "
        "answered in full."
    )
    return drawn_section(
        page, title, frame, "value", caption, partial(truth_cells, table), rows_need=entry.rows_need,
        finding=lambda rows: above_ceiling(table, rows).rstrip("."),
    )  # fmt: skip


def _contamination(page: PageScores, data: Collection[Conversation] | None, results: Sequence[Run] | None) -> Section:
    entry = ANALYSES["contamination"]
    is_probed = results is None or any(turn.em_continuation for run in results for turn in run.turns)
    if data is not None and not is_probed:
        return Section(entry.title, left_out=f"needs {entry.rows_need}")
    frame = _of_runs(page, "contamination", data, results)
    if isinstance(frame, str):
        return Section(entry.title, left_out=frame)
    frame = page.in_order(page.hide_small_cells(frame))
    caption = (
        "Share of messages whose second half a model gives back when it is shown the first, with its "
        f"{100 * page.chosen.level:g}% interval by formula; controls: second halves of other participants' messages "
        "(shuffled), and paraphrases."
    )
    return drawn_section(
        page, entry.title, frame, "reproduced", caption, partial(contamination_cells, page.table, numbers=page.numbers),
        rows_need=entry.rows_need, finding=lambda rows: reproduced_shown(page.table, rows).rstrip("."),
    )  # fmt: skip


def _question_table(page: PageScores, frame: pl.DataFrame, condition: str | None) -> Table:
    """Return the questions, each with the models' agreement on what was done and on what was wanted."""
    asked = load_codebook().binary
    known = models_of(frame).filter(pl.col("condition").eq_missing(pl.lit(condition))).drop_nulls("agreement")
    found: dict[str, dict[str, dict[str, float]]] = {}
    for question, task, model, value in known.select("question", "task", "model", "agreement").rows():
        if task in _TASKS:
            found.setdefault(question, {}).setdefault(task, {})[model] = value
    rows = []
    for question, by_task in found.items():
        om, hp = (by_task.get(task, {}) for task in _TASKS)
        both = {model: om[model] - hp[model] for model in om if model in hp}
        entry = asked.get(question)
        rows.append({
            "question": f"{question} {entry.observer_text if entry else ''}".rstrip(),
            "about": entry.category.replace("_", " ") if entry else None,
            "om": om, "hp": hp, "gap": both,
        })  # fmt: skip
    columns = [
        text_column("question", "question", is_name=True),
        text_column("about", "about"),
        _mean_column("OM", "om"),
        _mean_column("HP", "hp"),
        _mean_column("gap", "gap", signed=True),
    ]
    return Table("questions", words_under(page.table, condition).removeprefix(", "), columns, rows)


def _mean_column(head: str, key: str, *, signed: bool = False) -> Column:
    """Return a column of the mean over models, with the lowest and the highest of several."""

    def cell(row: Mapping[str, Any]) -> Cell:
        values = list(row[key].values())
        if not values:
            return Cell(UNDEFINED)
        text = number(fmean(values), drawing.RATIO, signed=signed)
        ends = interval(min(values), max(values), drawing.RATIO, signed=signed) if len(values) > 1 else ""
        return Cell(text, ends.strip("[]").replace(", ", " to "), float(text))

    return Column(head, cell)


def _question_note(frame: pl.DataFrame) -> str:
    models = models_of(frame)["model"].n_unique()
    of = f"mean of {models} models, below it the lowest and the highest" if models > 1 else "of one model"
    return (
        f"Share of turns on which a model answers as the participant, {of}. OM: {_TASKS['binary_om']}. "
        f"HP: {_TASKS['binary_human']}. gap: OM minus HP. A missing answer counts as no."
    )


def branch_cells(
    table: ScoreTable, profiles: pl.DataFrame, *, numbers: Mapping[tuple[str, str | None], int] | None = None
) -> drawing.Cells:
    """Return the share of every model in the four branches, with its interval; the last row is the best person's.

    Parameters
    ----------
    table : ScoreTable
        The scores.
    profiles : polars.DataFrame
        What `attune_bench.benchmarks.attunebench.branches.branches` gives, of one condition.
    numbers : mapping, optional
        As for `attune_bench.report.drawing.numbered`.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_bench.benchmarks.attunebench.branches import branches
    >>> from attune_data import load, load_runs
    >>> given = score(load("demo"), load_runs("demo"))
    >>> branch_cells(given, branches(given, resamples=200)).rows[0]["shown"]
    '0.46 [0.40, 0.54]'
    """
    rows = [row for row in drawing.rows_of(profiles, "share") if row["part"] == WHOLE]
    models = drawing.numbered(table, rows, "model", numbers=numbers)
    for row in rows:
        row["shown"] = drawing.shown(row, "share", _TWO_DIGITS)
        row["text"] = f"{row['model']}, {row['branch']}: {row['shown']}, {drawing.sizes(table, row)}"
    best = {row["branch"]: row["ceiling"] for row in rows if row["ceiling"] is not None}
    for branch, ceiling in best.items():
        shown = number(ceiling, _TWO_DIGITS)
        text = f"{_BEST}, {branch}: {shown}"
        rows.append({"model": _BEST, "branch": branch, "share": ceiling, "shown": shown, "text": text})
    lines = [*models, *([_BEST] if best else [])]
    given = {row["branch"] for row in rows}
    return drawing.Cells(
        rows=rows, value="share", x=("branch", [branch for branch in METRICS_OF_BRANCHES if branch in given]),
        y=("model", lines), middle=0, reach=1, numbers=models,
    )  # fmt: skip


_TWO_DIGITS = replace(drawing.RATIO, digits=2)
_BEST = "ceiling: best person"
_SIZES = {
    "": f"{FEW} participants or more",
    "few": f"fewer than {FEW} participants",
    "too few": f"fewer than {MIN_CLUSTERS} participants, no interval",
}


def perspective_gap(table: ScoreTable, gaps: pl.DataFrame) -> RowPlot:
    """Return how well each model tells what was done (OM) and what was wanted (HP), the widest gap on top.

    Parameters
    ----------
    table : ScoreTable
        The scores.
    gaps : polars.DataFrame
        What `attune_bench.benchmarks.attunebench.analyses.perspective_gap` gives, of one condition.

    Raises
    ------
    ValueError
        As `attune_bench.report.figures.scores`.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_bench.benchmarks.attunebench import analyses
    >>> from attune_data import load, load_runs
    >>> given = score(load("demo"), load_runs("demo"))
    >>> [row.name for row in perspective_gap(given, analyses.perspective_gap(given, resamples=200)).rows]
    ['synthetic/attentive', 'synthetic/hasty']
    """
    rows = sorted(drawing.rows_of(gaps, "gap"), key=lambda row: (-abs(row["gap"]), row["model"]))
    for row in rows:
        om, hp = (number(row[kind], drawing.RATIO) for kind in ("om", "hp"))
        row["text"] = f"{row['model']}: OM {om}, HP {hp}, gap {drawing.tested(table, row, 'gap', drawing.RATIO)}"
    kinds = {"om": "OM: what the model did", "hp": "HP: what was wanted"}
    axis = axis_of([row[kind] for row in rows for kind in kinds], _SHARE, "accuracy")
    marks = [dumbbell([row[kind] for kind in kinds], _ENDS, row["text"], row["model"]) for row in rows]
    found = [PlotRow(name=row["model"], marks=[own]) for row, own in zip(rows, marks, strict=True)]
    return RowPlot(
        rows=found, axes=[axis], key=key_of(kinds.values(), _ENDS), numbers=drawing.numbered(table, rows, "model")
    )


_SHARE = replace(drawing.RATIO, low=0, high=1)
_THIRDS = ("circle", drawing.SKY, False), ("circle", drawing.MUTED, True), ("diamond", drawing.ORANGE, False)
_ENDS = _THIRDS[::2]


def contamination_cells(
    table: ScoreTable, found: pl.DataFrame, *, numbers: Mapping[tuple[str, str | None], int] | None = None
) -> drawing.Cells:
    """Return the share of messages that each model reproduces, with its interval, beside the shares of the controls.

    Parameters
    ----------
    table : ScoreTable
        The scores.
    found : polars.DataFrame
        What `attune_bench.benchmarks.attunebench.contamination.contamination` gives, of one condition.
    numbers : mapping, optional
        As for `attune_bench.report.drawing.numbered`.
    """
    rows = drawing.rows_of(found, "reproduced")
    models = drawing.numbered(table, rows, "model", numbers=numbers)
    for row in rows:
        row["of"], row["shown"] = row["text"], drawing.shown(row, "reproduced", drawing.RATIO)
        test = "" if row["p_holm"] is None else f"Holm p {p_value(row['p_holm'])}, "
        row["text"] = f"{row['model']}, {row['of']}: {row['shown']}, {test}{drawing.sizes(table, row)}"
    given = {row["of"] for row in rows}
    return drawing.Cells(
        rows=rows, value="reproduced", x=("of", [name for name in TEXTS if name in given]), y=("model", [*models]),
        middle=0, reach=1, numbers=models,
    )  # fmt: skip


def truth_cells(table: ScoreTable, found: pl.DataFrame) -> drawing.Cells:
    """Return the score of every model and person against every truth, with the ranks of models.

    Parameters
    ----------
    table : ScoreTable
        The scores.
    found : polars.DataFrame
        What `attune_bench.benchmarks.attunebench.truth.truth` gives, of one metric and condition.

    Examples
    --------
    >>> from attune_bench import score
    >>> row = {"condition": None, "metric": "avg_pairwise_accuracy", "truth": "participant", "model": "lab/m",
    ...        "value": 0.7, "rank": 1.0, "rank_low": 1.0, "rank_high": 2.0, "ceiling": 0.6, "n": 40, "clusters": 24}
    >>> truth_cells(score([], [], benchmark="attunebench"), pl.DataFrame([row])).rows[0]["shown"]
    '0.70, rank 1 [1, 2]'
    """
    rows: list[dict[str, Any]] = []
    for row in drawing.rows_of(found, "value"):
        of = replace(table.metric(row["metric"]), digits=2)
        shown = number(row["value"], of)
        if row["rank"] is not None:
            shown += f", rank {row['rank']:g}"
            if row["rank_low"] is not None:
                shown += f" [{row['rank_low']:g}, {row['rank_high']:g}]"
        ceiling = "none" if row["ceiling"] is None else number(row["ceiling"], of)
        text = f"{row['model']}, {row['truth']}: {shown}, ceiling {ceiling}, {drawing.sizes(table, row)}"
        # Without a ceiling the cell has the colour of the middle.
        over = 0.0 if row["ceiling"] is None else row["value"] - row["ceiling"]
        rows.append({"model": row["model"], "truth": row["truth"], "over": over, "shown": shown, "text": text})
    lines = list(dict.fromkeys(row["model"] for row in rows))
    truths = sorted(dict.fromkeys(row["truth"] for row in rows), key=lambda name: (name != PARTICIPANT, name))
    return drawing.Cells(
        rows=rows, value="over", x=("truth", truths), y=("model", lines), middle=0, reach=_REACH
    )  # fmt: skip


_REACH = 0.2  # beyond this distance from the ceiling the colour no longer changes


def turn_drift(table: ScoreTable, drift: pl.DataFrame, metric: str) -> RowPlot:
    """Return a metric in the thirds of conversations, and beside it how far it drifts from the first to the last.

    Parameters
    ----------
    table : ScoreTable
        The scores.
    drift : polars.DataFrame
        What `attune_bench.benchmarks.attunebench.analyses.turn_drift` gives, of one condition.
    metric : str
        The metric that is drawn.

    Raises
    ------
    ValueError
        As `attune_bench.report.figures.scores`.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_bench.benchmarks.attunebench import analyses
    >>> from attune_data import load, load_runs
    >>> given = score(load("demo"), load_runs("demo"))
    >>> found = analyses.turn_drift(given, metrics=["avg_emotion_va_score"], resamples=200)
    >>> [axis.title for axis in turn_drift(given, found, "avg_emotion_va_score").axes]
    ['Emotion VA', 'late minus early']
    """
    of = table.metric(metric)
    rows = drawing.best_first(drawing.rows_of(drift, "drift", metric=metric), "drift", of)
    for row in rows:
        thirds = ", ".join(f"{third} {number(row[third], of)}" for third in ("early", "middle", "late"))
        row["text"] = f"{row['model']}: {thirds}; drift {drawing.tested(table, row, 'drift', of)}"
    kinds = {"early": "early third", "middle": "middle", "late": "late"}
    axes = [
        axis_of([row[kind] for row in rows for kind in kinds], of, label(of)),
        axis_of([0, *(row[end] for row in rows for end in ("drift", "low", "high"))], _difference(of),
                "late minus early"),
    ]  # fmt: skip
    rows = drawing.scaled(rows, of, "early", "middle", "late", "drift", "low", "high")
    marks = [dumbbell([row[kind] for kind in kinds], _THIRDS, row["text"], row["model"]) for row in rows]
    found = [
        PlotRow(name=row["model"], marks=[own, [estimate(row, "drift")]]) for row, own in zip(rows, marks, strict=True)
    ]
    key = key_of(kinds.values(), _THIRDS)
    return RowPlot(rows=found, axes=axes, lines={"": 0}, key=key, numbers=drawing.numbered(table, rows, "model"))


def _difference(metric: Metric) -> Metric:
    """Return a metric of the same scale without a range."""
    return replace(metric, low=-inf, high=inf)


def diagnosis_groups(table: ScoreTable, groups: pl.DataFrame, metric: str) -> RowPlot:
    """Return how a metric differs between conversations of participants with a diagnosis and without any.

    A point is hollow if it rests on few participants, and a cross if they are too few for an interval.

    Parameters
    ----------
    table : ScoreTable
        The scores.
    groups : polars.DataFrame
        What `attune_bench.benchmarks.attunebench.analyses.diagnosis_groups` gives, of one condition.
    metric : str
        The metric that is drawn.

    Raises
    ------
    ValueError
        As `attune_bench.report.figures.scores`.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_bench.benchmarks.attunebench import analyses
    >>> from attune_data import load, load_runs
    >>> conversations = load("demo")
    >>> given = score(conversations, load_runs("demo"))
    >>> chosen = ["avg_emotion_va_score"]
    >>> found = analyses.diagnosis_groups(given, data=conversations, metrics=chosen, resamples=1000)
    >>> [row.name for row in diagnosis_groups(given, found, *chosen).rows][:3]
    ['any', 'synthetic/attentive', 'synthetic/hasty']
    """
    of = table.metric(metric)
    rows = drawing.rows_of(groups, "value_none", metric=metric)
    for row in rows:
        row["text"] = (
            f"{row['model']}, {row['group']}: {number(row['value_none'], of)} without a diagnosis; difference "
            f"{drawing.tested(table, row, 'difference', of)}"
        )
    title = f"{label(of)}: difference from no diagnosis"
    axis = axis_of([0, *(row[end] for row in rows for end in ("difference", "low", "high"))], _difference(of), title)
    rows = drawing.scaled(rows, of, "difference", "low", "high")
    found = []
    for group in drawing.unique(rows, "group"):
        found.append(PlotRow(name=group))
        of_group = sorted((row for row in rows if row["group"] == group), key=lambda row: row["model"])
        found += [
            PlotRow(name=row["model"], marks=[[estimate(row, "difference", _MARKS[row["mark"]])]])
            for row in of_group
            if row["difference"] is not None
        ]
    kinds = [kind for kind in _SIZES if kind in {row["mark"] for row in rows}]
    key = key_of(*zip(*((_SIZES[kind], _MARKS[kind]) for kind in kinds), strict=True)) if kinds != [""] else []
    return RowPlot(rows=found, axes=[axis], lines={"": 0}, key=key, numbers=drawing.numbered(table, rows, "model"))


_MARKS: Mapping[str, Look] = {
    "": ("circle", drawing.SKY, False), "few": ("circle", drawing.SKY, True), "too few": ("cross", drawing.SKY, False),
}  # fmt: skip
