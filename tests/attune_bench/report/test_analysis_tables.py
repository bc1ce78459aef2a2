"""The tables of analyses, somebody else's too: whatever the columns of the frame, nothing of it is lost."""

import polars as pl
import pytest
from benchmark_scores import scores_named

from attune_bench.analyses.models import RANK_SHIFTS
from attune_bench.report.columns import Table
from attune_bench.report.tables import analysis_tables
from attune_bench.scores.columns import Analysis, FrameColumn, columns, share


def tables(frame: pl.DataFrame, **entry: object) -> list[Table]:
    """Return the tables of an analysis that gives this frame."""
    made = Analysis(function=lambda _: frame, title="Ours", note="A note.", **entry)  # type: ignore[arg-type]  # any
    return analysis_tables(scores_named("table"), "ours", made, frame)


def shown(table: Table) -> list[list[str]]:
    """Return the headings, then each row as text with what stands beside."""
    rows = [
        [f"{cell.text} {cell.small}".strip() for cell in (one.cell(row) for one in table.columns)] for row in table.rows
    ]
    return [[column.head for column in table.columns], *rows]


def test_a_frame_that_names_no_metric_and_no_condition_is_one_table() -> None:
    frame = pl.DataFrame({"skill": [0.5, 0.25], "low": [0.25, 0.125], "high": [0.75, 0.5]})
    [table] = tables(frame, estimate="skill")
    assert table.title == "Ours"
    assert shown(table) == [["skill"], ["0.500 [0.250, 0.750]"], ["0.250 [0.125, 0.500]"]]
    assert table.frame is frame


def test_an_interval_of_no_estimate_named_has_columns_of_its_own() -> None:
    [table] = tables(pl.DataFrame({"skill": [0.5], "low": [0.25], "high": [0.75]}))
    assert shown(table) == [["skill", "low", "high"], ["0.500", "0.250", "0.750"]]


def test_an_estimate_without_an_interval_and_a_size_without_clusters() -> None:
    [table] = tables(pl.DataFrame({"skill": [0.5], "low": [0.25], "n": [7]}), estimate="skill")
    assert shown(table) == [["skill", "low", "n"], ["0.500", "0.250", "7"]]


@pytest.mark.parametrize("column", ["task", "model", "group"])
def test_tables_are_made_by_what_the_analysis_says(column: str) -> None:
    frame = pl.DataFrame({column: ["a", "b"], "condition": ["plain"] * 2, "gap": [0.5, 0.25]})
    gap = FrameColumn("The gap.", head="difference", signed=True)
    made = tables(frame, by=(column,), columns={"gap": gap})
    assert [table.title for table in made] == ["Ours, a, condition plain", "Ours, b, condition plain"]
    assert [shown(table) for table in made] == [[["difference"], ["+0.500"]], [["difference"], ["+0.250"]]]
    [together] = tables(frame)
    assert together.title == "Ours, condition plain"
    assert shown(together)[0] == [column, "gap"]


def test_a_share_is_not_scaled_like_the_metric() -> None:
    scores = scores_named("emobench")
    frame = pl.DataFrame({"metric": [scores.primary], "value": [0.5], "same": [0.875], "coverage": [0.75]})
    declared = columns("metric value same coverage", same=share("A share."))
    entry = Analysis(function=lambda _: frame, title="Ours", note="A note.", columns=declared)
    [table] = analysis_tables(scores, "ours", entry, frame)
    assert shown(table) == [["value", "same", "coverage"], ["50.0", "0.875", "0.750"]]


def test_ranks_and_their_shifts_are_not_scaled_like_the_metric() -> None:
    scores = scores_named("emobench")
    frame = pl.DataFrame({"metric": [scores.primary], "rank_reference": [2.0], "rank": [1.5], "shift": [0.5]})
    entry = Analysis(function=lambda _: frame, title="Ours", note="A note.", columns=RANK_SHIFTS)
    [table] = analysis_tables(scores, "ours", entry, frame)
    assert shown(table) == [["rank reference", "rank", "shift"], ["2", "1.5", "+0.5"]]


def test_the_number_of_a_group_is_shown_where_there_are_several() -> None:
    # The only group has no number worth a column; a group of another kind has a name.
    for groups, heads in (([1, 1], ["model"]), ([1, 2], ["model", "group"]), (["a", "a"], ["model", "group"])):
        [table] = tables(pl.DataFrame({"model": ["m", "n"], "group": groups}))
        assert shown(table)[0] == heads
        assert table.frame is not None
        assert "group" in table.frame.columns
