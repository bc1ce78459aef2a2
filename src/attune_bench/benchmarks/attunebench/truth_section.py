"""Other annotators on a page: the models' scores and ranks under each truth."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import polars as pl

from attune_bench.benchmarks.attunebench.annotators import PARTICIPANT
from attune_bench.benchmarks.attunebench.truth import above_ceiling
from attune_bench.report import drawing
from attune_bench.report.columns import Section, counts_units, in_words, label, number
from attune_bench.report.page_scores import PageScores
from attune_bench.report.sections import drawn_section
from attune_bench.scores.provenance import people_among
from attune_bench.scores.table import ScoreTable
from attune_data import Conversation, Run
from attune_data.collection import Collection
from attune_metrics.metric import MetricInputError

_REACH = 0.2  # beyond this distance from the ceiling the colour no longer changes


def truth_section(
    page: PageScores,
    data: Collection[Conversation] | None,
    results: Sequence[Run] | None,
    metric: str = "avg_pairwise_accuracy",
) -> Section:
    """Return the section on other annotators, of one metric."""
    entry, table = page.analyses["truth"], page.table
    title = f"{entry.title}: {label(table.metric(metric))}"
    needed = f"needs {in_words(table, entry.rows_need)}"
    if not people_among(table.models):
        return Section(title, left_out=needed)
    if data is None or results is None:
        return Section(title, left_out="needs the conversations and the run files (--data, --results)")
    if why := counts_units(table, page.chosen):
        return Section(title, left_out=why)
    try:
        frame = entry.function(table, data=data, results=results, metrics=[metric], **page.options)
    except MetricInputError:
        # Its text names a conversation, which a page does not.
        return Section(title, left_out="the conversations or run files are not all those that were scored")
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
    >>> row = {"metric": "avg_pairwise_accuracy", "truth": "participant", "model": "lab/m", "value": 0.7, "rank": 1.0,
    ...        "rank_low": 1.0, "rank_high": 2.0, "ceiling": 0.6, "n": 40, "clusters": 24}
    >>> truth_cells(score([], [], benchmark="attunebench"), pl.DataFrame([row])).rows[0]["shown"]
    '0.70, rank 1 [1, 2]'
    """
    rows: list[dict[str, Any]] = []
    for row in found.iter_rows(named=True):
        of = replace(table.metric(row["metric"]), digits=2)
        shown = number(row["value"], of)
        if row["rank"] is not None:
            shown += f", rank {row['rank']:g}"
            if row["rank_low"] is not None:
                shown += f" [{row['rank_low']:g}, {row['rank_high']:g}]"
        ceiling = "none" if row["ceiling"] is None else number(row["ceiling"], of)
        text = f"ceiling {ceiling}, {drawing.sizes(table, row)}"
        # Without a ceiling the cell has the colour of the middle.
        over = 0.0 if row["ceiling"] is None else row["value"] - row["ceiling"]
        rows.append({"model": row["model"], "truth": row["truth"], "over": over, "shown": shown, "text": text})
    lines = list(dict.fromkeys(row["model"] for row in rows))
    truths = sorted(dict.fromkeys(row["truth"] for row in rows), key=lambda name: (name != PARTICIPANT, name))
    return drawing.Cells(
        rows=rows, value="over", x=("truth", truths), y=("model", lines), middle=0, reach=_REACH
    )  # fmt: skip
