"""A column is declared once: an analysis with one more column has it in its frame, in CSV, lists, text and pages."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from commands import QUICK, Call, csv_rows

from attune_bench import Scores
from attune_bench.analyses import ANALYSES
from attune_bench.cli import column_list
from attune_bench.cli import scores as commands
from attune_bench.report import html
from attune_bench.scores.columns import build_frame, share
from attune_bench.scores.table import ScoreTable
from attune_bench.stats.rank import RATINGS, ratings

# The declaration of the column, and in `widened` the line that computes it.
COLUMNS = RATINGS | {"decided": share("Share of the model's comparisons that are no ties.")}


def widened(scores: ScoreTable, **options: Any) -> pl.DataFrame:
    """Return the frame of `ratings` with one more column."""
    rows = []
    for row in ratings(scores, **options).iter_rows(named=True):
        decided = (row["wins"] + row["losses"]) / (row["wins"] + row["ties"] + row["losses"])
        rows.append((*row.values(), decided))
    return build_frame(COLUMNS, rows)


@pytest.fixture
def scores(monkeypatch: pytest.MonkeyPatch) -> Scores:
    """Scores of two models, a third of their units a tie; the widened analysis is registered in place of `ratings`."""
    known = {**ANALYSES, "ratings": replace(ANALYSES["ratings"], function=widened, columns=COLUMNS)}
    for module in (column_list, commands, html):
        monkeypatch.setattr(module, "ANALYSES", known)
    rows = {"model": ["a", "b"] * 9, "unit": [f"u{place // 2}" for place in range(18)], "metric": ["hit"] * 18}
    return Scores.from_table(pl.DataFrame({**rows, "value": [1.0, 0.0, 0.5, 0.5, 0.0, 1.0] * 3}))


def test_one_more_column_is_found_everywhere(scores: Scores, call: Call, tmp_path: Path) -> None:
    frame = widened(scores, resamples=200)
    assert frame.columns[-1] == "decided"
    assert frame.schema["decided"] == pl.Float64()
    assert frame["decided"].to_list() == [2 / 3, 2 / 3]
    file = tmp_path / "scores.parquet"
    scores.write(file)
    _, csv, _ = call("analyze", "ratings", "--scores", file, "--format", "csv", *QUICK)
    assert [float(row["decided"]) for row in csv_rows(csv)] == [2 / 3, 2 / 3]
    _, text, _ = call("analyze", "ratings", "--scores", file, *QUICK)
    assert "decided" in text
    assert "0.667" in text
    _, listed, _ = call("columns", "ratings")
    assert "decided: number, 0 to 1\n    Share of the model's comparisons that are no ties." in listed
    _, told, _ = call("columns", "decided", "--format", "json")
    assert [row["table"] for row in json.loads(told)["columns"]] == ["ratings"]
    page = scores.report(format="html", resamples=200)
    assert ">decided<" in page.partition("<h2>Ratings")[2].partition("<h2>")[0]
