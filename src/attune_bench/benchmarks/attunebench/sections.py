"""The sections of a page that are this benchmark's own."""

from collections.abc import Mapping, Sequence
from functools import partial

import polars as pl

from attune_bench.benchmarks.attunebench import figures
from attune_bench.benchmarks.attunebench.analyses import ANALYSES
from attune_bench.benchmarks.attunebench.analyses.groups import ANY
from attune_bench.report.analysis import analysis_note, analysis_tables
from attune_bench.report.columns import Section, Table, with_note
from attune_bench.report.figures import scores as scores_figure
from attune_bench.report.pairs import comparison_parts
from attune_bench.report.section_parts import PageScores, drawn_section
from attune_bench.report.subgroups import lacking_units, subgroup_section
from attune_bench.report.suppression import hidden_strata, hides, withheld
from attune_bench.report.tables import label
from attune_bench.report.words import counts_units
from attune_bench.score_table import ScoreTable
from attune_bench.stats.summary import summary
from attune_bench.stats.traits import strata_of
from attune_data import Conversation, Run
from attune_data.attunebench.codebook import load_codebook
from attune_data.attunebench.profile import NO_DIAGNOSIS, UNKNOWN
from attune_data.collection import Collection
from attune_metrics.metric import MetricInputError

__all__ = ["sections"]

_PAIRWISE = "avg_pairwise_accuracy"
_DRIFTING = ("avg_binary_om_accuracy", "avg_emotion_va_score")
_VA = "avg_emotion_va_score"
_TASKS = {"binary_om": "what the original model did", "binary_human": "what the participant wanted"}
_TRAITS = ("diagnosis_group", "category")
_TERMS: Mapping[str, str] = {
    "OM": "original model: what the model that talked to the participant did, as the participant judged it",
    "HP": "human participant: what the participant wanted the model to do",
    "Emotion VA": "closeness of predicted to reported emotions by valence and arousal",
    "Pairwise": "which of two responses the participant preferred",
    "PANAS": "positive and negative affect after the conversation, predicted from that before it",
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
        _terms(),
        _pairwise(page),
        _gap(page),
        *(_drift(page, metric) for metric in _DRIFTING),
        _subgroups(page, data),
        _diagnoses(page, data),
        *_questions(page, data, results),
    ]


def _terms() -> Section:
    return Section("What the metrics are about", [tuple(f"{term}: {meaning}." for term, meaning in _TERMS.items())])


def _tables(page: PageScores, name: str, frame: pl.DataFrame) -> list[Table]:
    """Return the tables of one of our analyses."""
    entry = ANALYSES[name]
    tables = analysis_tables(page.table, name, entry, frame)
    return with_note(tables, analysis_note(page.table, entry, frame, page.chosen))


def _pairwise(page: PageScores) -> Section:
    table = page.table
    return drawn_section(
        page,
        "Pairwise accuracy",
        summary(table, **page.options, metrics=[_PAIRWISE]),
        "value",
        "The broken line is what random answers score on average on these data: half of the share of comparisons that "
        "have a winner, in each turn; a turn without comparisons counts 1. The paper's level of chance, 1/3, is a "
        "constant and not drawn.",
        partial(scores_figure, table, metric=_PAIRWISE),
        others=comparison_parts(page, _PAIRWISE),
    )


def _gap(page: PageScores) -> Section:
    entry = ANALYSES["perspective_gap"]
    frame = page.in_order(page.conceal(entry.function(page.table, **page.options)))
    return drawn_section(
        page,
        entry.title,
        frame,
        "gap",
        "How well each model tells what was done (OM) and what was wanted (HP), the widest gap on top.",
        partial(figures.perspective_gap, page.table),
        others=_tables(page, "perspective_gap", frame),
    )


def _drift(page: PageScores, metric: str) -> Section:
    entry, table = ANALYSES["turn_drift"], page.table
    title = f"{entry.title}: {label(table.metric(metric))}"
    if why := counts_units(table, page.chosen):
        return Section(title, left_out=why)
    if table.detail is None:
        return Section(title, left_out="needs the records of the runs, which these scores lack")
    frame = page.analysis("turn_drift", [metric])
    return drawn_section(
        page,
        title,
        frame,
        "drift",
        "By third of the conversation; at the right late minus early, with its interval.",
        partial(figures.turn_drift, table, metric=metric),
        others=_tables(page, "turn_drift", frame),
    )


def _subgroups(page: PageScores, data: Collection[Conversation] | None) -> Section:
    if data is None:
        return Section("Subgroups", left_out="need the conversations (--data)")
    return subgroup_section(
        page.table, _TRAITS, data=data, small_cells=page.small_cells, numbers=page.numbers, **page.options
    )


def _diagnoses(page: PageScores, data: Collection[Conversation] | None) -> Section:
    entry, table = ANALYSES["diagnosis_groups"], page.table
    title = f"{label(table.metric(_VA))} by diagnosis"
    if data is None or set(table.units["unit"]).isdisjoint(one.id for one in data):
        return Section(title, left_out="needs the conversations (--data)")
    frame = entry.function(table, data=data, **page.options, metrics=[_VA])
    if hides(table, small_cells=page.small_cells):
        frame = _without_few(table, frame, data)
    return drawn_section(
        page,
        title,
        frame,
        "difference",
        "Difference from participants without any diagnosis, with its interval; hollow: fewer than 20 participants.",
        partial(figures.diagnosis_groups, table, metric=_VA),
        rows_need=entry.rows_need,
    )


def _without_few(table: ScoreTable, frame: pl.DataFrame, data: Collection[Conversation]) -> pl.DataFrame:
    """Return the differences by diagnosis without those that tell of few; they have no complement but no diagnosis."""
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
    return withheld(frame, pl.lit(pl.Series(found, dtype=pl.Boolean)), "not shown")


def _questions(page: PageScores, data: Collection[Conversation] | None, results: Sequence[Run] | None) -> list[Section]:
    entry, title = ANALYSES["question_agreement"], ANALYSES["question_agreement"].title
    if data is None or results is None:
        return [Section(title, left_out="needs the conversations and the run files (--data, --results)")]
    if why := counts_units(page.table, page.chosen):
        return [Section(title, left_out=why)]
    try:
        frame = entry.function(page.table, data=data, results=results, **page.options)
    except MetricInputError:
        # Its text names a conversation, which a page does not.
        why = lacking_units(page.table, data).rstrip(".") or "the run files are not all those that were scored"
        return [Section(title, left_out=why)]
    return [*_drawn_questions(page, frame), _asked(frame)]


def _asked(frame: pl.DataFrame) -> Section:
    """Say what the questions of agreement by question ask."""
    asked = [one for one in load_codebook().binary.values() if one.id in frame["question"]]
    said = tuple(f"{one.id}, {one.category.replace('_', ' ')}: {one.observer_text}" for one in asked)
    return Section("Binary questions", [said] if said else (), left_out="none was asked")


def _drawn_questions(page: PageScores, frame: pl.DataFrame) -> list[Section]:
    entry = ANALYSES["question_agreement"]
    return [
        drawn_section(
            page,
            f"{entry.title}: {what}",
            frame.filter(task=task),
            "agreement",
            f"Share of turns on which a model answers as the participant: {what}.",
            partial(figures.question_cells, page.table, task=task, numbers=page.numbers),
            rows_need=entry.rows_need,
        )
        for task, what in _TASKS.items()
    ]
