"""The report as text, Markdown, CSV and JSON: fitting, aligned, complete, and safe for a terminal."""

import csv
import json
import re
import unicodedata
from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from math import isfinite
from pathlib import Path
from typing import Any, NoReturn, get_args

import polars as pl
import pytest
from commands import Call
from slow_cases import slow_except

from attune_bench import Scores
from attune_bench.report.columns import number
from attune_bench.report.document import FORMATS, Format
from attune_bench.report.tables import model_frame
from attune_data.text import sanitize
from attune_metrics.catalog import CATALOG

Json = dict[str, Any]
Make = Callable[..., Scores]
TEXTS: tuple[Format, ...] = ("table", "markdown")
WIDTH = 100

PLAIN = [f"vendor/m{i}" for i in range(11)]
LONG = [f"some-provider/a-model-with-a-long-name-{i}-of-many-2026-thinking-enabled" for i in range(11)]
WIDE = [f"深度求索模型编号{i}号的预览版" for i in range(11)]
ODD = [
    "модель-é",
    "a|b",
    "line\nbreak\ttab",
    "\x1b[31mred\x1b[0m",
    "[red]x[/red]",
    "**bold**",
    "e\u0301\u0301",
    "\u202eltr",
]
ODD += ["back\\slash|", " "]
NAMES = {"plain": PLAIN, "long": LONG, "wide": WIDE, "odd": ODD}
SIZES = (1, 3, 11)
CASES = [pytest.param(names[:n], id=f"{kind}-{n}") for kind, names in NAMES.items() for n in SIZES]
# Partial coverage and means that rest on fewer conversations make the cells wide.
PARTIAL: Json = {
    "coverage": {
        task: {"present": 199, "expected": 200}
        for task in ("binary_om", "binary_human", "binary_om_hp", "binary_human_hp", "pairwise", "panas")
    }
}


def _width(text: str) -> int:
    """Return how many columns a terminal gives to a text."""
    wide = {"W": 2, "F": 2}
    return sum(0 if unicodedata.combining(c) else wide.get(unicodedata.east_asian_width(c), 1) for c in text)


def report(scores: Scores, **given: Any) -> str:
    return scores.report(resamples=20, **given)


def _grids(text: str) -> list[tuple[str, list[str]]]:
    """Return the grids of a text: title and heading, then the rows, each with what is wrapped of its name."""
    found = []
    for block in text.split("\n\n"):
        lines = block.split("\n")
        for place in [place for place, line in enumerate(lines) if re.fullmatch(r"-{15,}", line)]:
            rows: list[str] = []
            for line in lines[place + 1 :]:
                # The last column is set to the right: a row ends where the rule ends. Footnotes have no heading.
                if _width(line) == len(lines[place]):
                    rows.append(line)
                else:
                    rows[-1] += line
            found.append(("\n".join(lines[:place]), rows))
    return found


HEADLINE = re.compile(r"AttuneBench, protocol documented, modes? default.*, n = 2 conversations, attune-bench ")


def _long(text: str) -> list[str]:
    """Return the lines that are too wide; a signature is one word, which is never broken."""
    return [line for line in text.split("\n") if _width(line) > WIDTH and not line.startswith("attune:")]


# Table.


@pytest.mark.parametrize(
    ("modes", "partial"),
    [
        pytest.param(("default",), False, id="one-mode-full"),
        pytest.param(("default",), True, id="one-mode-partial", marks=pytest.mark.slow),
        pytest.param(("default", "verbose_omniscient"), False, id="two-modes-full", marks=pytest.mark.slow),
        pytest.param(("default", "verbose_omniscient"), True, id="two-modes-partial"),
    ],
)
@pytest.mark.parametrize("models", CASES)
def test_a_table_fits_is_aligned_and_has_every_model(
    make_scores: Make, models: list[str], modes: tuple[str, ...], partial: bool
) -> None:
    text = report(make_scores(models, modes, **(PARTIAL if partial else {})))
    assert _long(text) == []
    groups = len(models) * len(modes)
    (head, board), *grids = _grids(text)
    assert len(board) == groups
    # Scores are equal here, so rows differ in nothing but the name.
    assert len(set(board)) == len(board)
    of_models = [rows for heads, rows in grids if not re.search("^metric", heads, re.MULTILINE)]
    assert of_models or groups <= 5
    assert [len(rows) for rows in of_models] == [groups] * len(of_models)
    if len(modes) > 1:
        assert [sum(f"[{mode}]" in row for row in board) for mode in modes] == [len(models)] * len(modes)

    # What the numbers rest on.
    assert HEADLINE.search(" ".join(text.split()))
    assert "n" in head.split()
    assert ("99%)" if partial else "80%)") in text


@pytest.mark.parametrize("n", [2, 300])
@pytest.mark.parametrize(
    "models", [2, pytest.param(4, marks=pytest.mark.slow), pytest.param(5, marks=pytest.mark.slow)]
)
def test_cells_wider_than_their_heading_fit(scores_of: Make, models: int, n: int) -> None:
    units = {f"c{i}": {"avg_pairwise_kendall_tau": -1 / 3 if i else None} for i in range(n)}
    text = report(scores_of({f"m{model}": units for model in range(models)}))
    assert f"-0.333 (80%) [{n - 1}]" in text
    assert _long(text) == []


def test_synthetic_headline_fits(make_scores: Make) -> None:
    scores = make_scores(conversations=200, synthetic=True)
    issues = tuple([None] * 12)  # only their number counts
    text = report(replace(scores, provenance=scores.provenance.model_copy(update={"issues": issues})))
    assert "SYNTHETIC" in text
    assert "12 results not scored" in " ".join(text.split())
    assert _long(text) == []


def test_table_of_the_worked_example(make_scores: Make) -> None:
    cells = _labelled(report(make_scores()))
    # Derived in test_scoring.py; coverage 4 of 5, 3 of 4, 2 of 12.
    assert cells == EXAMPLE_CELLS


def _split(line: str) -> tuple[str, str]:
    found = re.fullmatch(r" *(.+?)  +(\S.*)", line)
    assert found
    return found[1], found[2]


EXAMPLE_CELLS = {
    "Composite": "64.69",
    "Emotion blend": "0.741",
    "Evaluation quality": "0.660",
    "Holistic": "0.540",
    "Equal-weight composite": "62.39",
    "Emotion F1": "0.722",
    "Emotion VA": "0.760",
    "Emotion intensity MAE, lower is better": "2.000",
    "OM accuracy": "0.750 (80%)",
    "OM MCC, pooled": "-0.167 (80%)",
    "HP accuracy": "0.889 (75%)",
    "HP MCC, pooled": "0.577 (75%)",
    "Phrasing gap": "0.444 (75%)",
    "Pairwise accuracy": "0.500 (80%)",
    "Pairwise Kendall tau": "0.333 (80%)",
    "Response similarity": "0.583",
    "Preference alignment": "0.556",
    "Draft judge score": "0.583",
    "Draft binary alignment": "0.333",
    "PANAS normalized": "0.783 (17%)",
    "PANAS baseline-adjusted": "-0.300 (17%)",
    "PANAS item MAE, lower is better": "1.500 (17%)",
    "Q1 looking for": "0.667",
    "Q2 emotion clarity": "1.000",
    "Q3 model fit": "0.000",
    "Q3 what felt off": "0.667",
    "Four-branch normalized": "0.750",
}


def test_models_are_ordered_by_composite(scores_of: Make) -> None:
    composites = {"low": 10.0, "high": 90.0, "none": None, "middle": 50.0}
    text = report(
        scores_of({name: {"c1": {"composite_score": v}} for name, v in composites.items()}), format="markdown"
    )
    head = next(line for line in text.split("\n") if line.startswith("| metric"))
    assert re.findall(r"high|middle|low|none", head) == ["high", "middle", "low", "none"]


# What is said beside a number.


@pytest.mark.parametrize("format_", TEXTS)
def test_undefined_is_a_dash(make_scores: Make, format_: Format) -> None:
    scores = make_scores(avg_draft_judge_score=None, avg_pairwise_kendall_tau=None)
    cells = _labelled(report(scores, format=format_))
    rows = {label: cell for label, cell in cells.items() if "judge" in label or "tau" in label}
    assert rows == {"Draft judge score": "-", "Pairwise Kendall tau": "-"}


@pytest.mark.parametrize("format_", TEXTS)
def test_a_mean_over_fewer_conversations_shows_its_n(scores_of: Make, format_: Format) -> None:
    units = {str(i): {"avg_pairwise_kendall_tau": tau} for i, tau in enumerate((None, 0.5, 1))}
    cells = _labelled(report(scores_of({"m": units}), format=format_))
    assert cells["Pairwise Kendall tau"] == "0.750 (80%) [2]"
    assert cells["Pairwise accuracy"] == "0.500 (80%)"


def _labelled(text: str) -> dict[str, str]:
    """Return label and cell of every row of metrics of a report on one model."""
    if "| --- |" in text:
        rows = [(cells[1].strip(), cells[2].strip()) for line in text.split("\n") if len(cells := line.split("|")) == 4]
    else:
        grids = [rows for head, rows in _grids(text) if re.search("^metric", head, re.MULTILINE)]
        rows = [_split(line) for grid in grids for line in grid]
    rows = [(label, cell) for label, cell in rows if label not in {"metric", "---"}]
    assert len(dict(rows)) == len(rows)
    return dict(rows)


@pytest.mark.parametrize(
    ("present", "expected", "shown"),
    [(200, 200, "100%"), (199, 200, "99%"), (99_999, 100_000, "99%"), (1, 1000, "1%"), (0, 5, "0%"), (1, 2, "50%")],
)
@pytest.mark.parametrize("format_", TEXTS)
def test_coverage_is_full_or_zero_only_where_it_is(
    make_scores: Make, format_: Format, present: int, expected: int, shown: str
) -> None:
    scores = make_scores(coverage={"pairwise": {"present": present, "expected": expected}})
    assert _labelled(report(scores, format=format_))["Pairwise accuracy"] == f"0.500 ({shown})"


@pytest.mark.parametrize("format_", ["table", "markdown", "json"])
def test_synthetic_data_are_named(make_scores: Make, format_: Format) -> None:
    said, not_said = (report(make_scores(synthetic=value), format=format_) for value in (True, False))
    assert "SYNTHETIC" in said
    assert "SYNTHETIC" not in not_said


@pytest.mark.parametrize("format_", FORMATS)
def test_any_protocol_is_shown(make_scores: Make, format_: Format) -> None:
    scores = make_scores()
    released = replace(scores, provenance=scores.provenance.model_copy(update={"protocol": "released"}))
    assert "released" in report(released, format=format_)


@pytest.mark.parametrize("format_", FORMATS)
def test_scores_without_coverage(make_scores: Make, format_: Format) -> None:
    text = report(make_scores(coverage={}), format=format_)
    assert "0.75" in text
    assert "80%" not in text


@pytest.mark.parametrize("format_", ["", "TABLE", "htm"])
def test_an_unknown_format_is_refused(make_scores: Make, format_: Any) -> None:
    with pytest.raises(ValueError, match=r"unknown format .*table, markdown, latex, csv, json"):
        report(make_scores(), format=format_)


def test_formats_are_those_of_the_type() -> None:
    assert get_args(Format) == FORMATS


# Markdown.


@pytest.mark.parametrize("models", CASES)
def test_markdown_tables_have_one_number_of_columns(make_scores: Make, models: list[str]) -> None:
    text = report(make_scores(models), format="markdown")
    tables = [block.split("\n") for block in text.split("\n\n") if block.startswith("|")]
    assert len(tables) > 2
    for table in tables:
        cells = [re.split(r"(?<!\\)\|", line) for line in table]
        assert {len(line) for line in cells} == {len(cells[0])}
        assert [cell.strip(" -:") for cell in cells[1]] == [""] * len(cells[0])
        across, down = len(cells[0]) - 3, len(cells) - 2
        assert len(models) == (across if cells[0][1].strip() == "metric" else down)
    assert "\x1b" not in text
    assert HEADLINE.search(text)


# CSV and JSON.


def _refuse(constant: str) -> NoReturn:
    raise AssertionError(f"{constant} is no JSON")


@pytest.mark.parametrize("models", slow_except([PLAIN[:1], *NAMES.values()], PLAIN[:1], ODD), ids=["one", *NAMES])
def test_csv_and_json_have_every_metric_of_every_model(make_scores: Make, models: list[str]) -> None:
    models = [name for name in models if name.isprintable()]
    scores = make_scores(models, ("default", "verbose"), avg_draft_judge_score=None)
    expected = model_frame(scores).rename({"condition": "mode"}).to_dicts()
    assert len(expected) == 2 * len(models)
    content = json.loads(report(scores, format="json"), parse_constant=_refuse)
    assert content["models"] == expected
    assert content["metadata"]["protocol"] == "documented"
    assert content["metadata"]["benchmark"] == "attunebench"
    rows = list(csv.DictReader(StringIO(report(scores, format="csv"), newline=""), strict=True))
    summary = scores.summary(resamples=20).rename({"condition": "mode"}).to_dicts()
    assert len(summary) == len(expected) * len(scores.metrics)
    values = {(row["model"], row["mode"]): row for row in expected}
    signature = scores.sign(resamples=20)
    for row, known in zip(rows, summary, strict=True):
        of_model = values[known["model"], known["mode"]]
        assert (known["value"], known["n"]) == (of_model[row["metric"]], of_model[f"{row['metric']}_n"])
        assert row.pop("signature") == signature
        assert [*row] == [*known]
        for column, value in known.items():
            assert (float(row[column]) if isinstance(value, int | float) else row[column] or None) == value, column


def test_json_has_the_interval_of_the_main_metric(make_scores: Make) -> None:
    content = json.loads(report(make_scores(conversations=6), format="json"))
    [row] = content["summary"]
    assert (row["metric"], row["n"], row["value"]) == ("composite_score", 6, 64.69)


# Text that could drive a terminal.


@pytest.mark.parametrize("text", ["\x1b[2J", "a\rb", "a\x00b", "\u202eltr", "a\x9bb"], ids=ascii)
def test_control_characters_are_replaced(make_scores: Make, text: str) -> None:
    shown = sanitize(text)
    assert shown.isprintable()
    assert len(shown) == len(text)
    for format_ in TEXTS:
        assert text not in report(make_scores([text]), format=format_)


@pytest.mark.parametrize("text", ["модель-é", "深度", "[red]x[/red]", "a b", "\U0001f600"])
def test_ordinary_text_stays(text: str) -> None:
    assert sanitize(text) == text


@pytest.mark.parametrize("format_", TEXTS)
def test_the_headline_of_a_strange_file_drives_no_terminal(make_scores: Make, format_: Format) -> None:
    scores = make_scores(modes=["\x1b[2J"])
    strange = replace(scores, provenance=scores.provenance.model_copy(update={"protocol": "\x1b[31m"}))
    assert "\x1b" not in report(strange, format=format_)


@pytest.mark.parametrize("name", ["least coverage", "coverage", "metrics"])
def test_any_name_of_a_metric_is_a_column_of_the_board(name: str) -> None:
    rows = [("a", "q1", name, 0.25), ("a", "q2", name, 0.75), ("b", "q1", name, 0.5)]
    frame = pl.DataFrame(rows, schema=["model", "unit", "metric", "value"], orient="row")
    lines = Scores.from_table(frame).report(resamples=5).splitlines()
    assert next(line.split() for line in lines if line.startswith("a  "))[:3] == ["a", "0.500", "2"]


def test_a_share_of_nearly_all_is_not_all() -> None:
    rows = [("a", f"q{place}", "hit", 1.0 if place else None) for place in range(3000)]
    scores = Scores.from_table(pl.DataFrame(rows, schema=["model", "unit", "metric", "value"], orient="row"))
    held = scores.provenance.model_copy(update={"expected": 3000})
    # 2999 of 3000 are 99.97%.
    lines = replace(scores, provenance=held).report(resamples=5).splitlines()
    assert next(line.split() for line in lines if line.startswith("a  "))[-2:] == ["99%", "[1]"]


ONE_COLUMN = {name: metric for name, metric in CATALOG.items() if not metric.terms}
# Of metrics that are reported alike one: the last of each family, statistic, range, scale and number of digits.
ONE_OF_EACH = {
    (one.family, one.statistic, one.low, one.high, one.scale, one.digits): name for name, one in ONE_COLUMN.items()
}


@pytest.mark.parametrize("name", slow_except(ONE_COLUMN, *ONE_OF_EACH.values()))
def test_every_metric_of_the_catalogue_that_takes_one_column_is_reported(name: str) -> None:
    metric = CATALOG[name]
    low = metric.low if isfinite(metric.low) else 0.0
    rows = [("a", "q1", name, low), ("a", "q2", name, None), ("b", "q1", name, low)]
    frame = pl.DataFrame(rows, schema=["model", "unit", "metric", "value"], orient="row")
    scores = replace(Scores.from_table(frame), metrics={name: metric})
    assert scores.summary(resamples=5).select("value", "n").rows() == [(low, 1)] * 2
    assert number(low, metric) in scores.report(resamples=5)


def test_own_nouns_have_their_plurals(call: Call, tmp_path: Path) -> None:
    rows = [("a", f"q{unit}", f"p{unit % 4}", "x", unit % 3) for unit in range(12)]
    rows += [("b", unit, person, "x", value * 2) for _, unit, person, _, value in rows]
    table = tmp_path / "results.csv"
    pl.DataFrame(rows, ["model", "unit", "cluster", "metric", "value"], orient="row").write_csv(table)
    table.with_suffix(".toml").write_text('unit = "reply"\ncluster = "person"\ncondition = "query"\n', encoding="utf-8")
    said = ""
    for words in (("report",), ("compare",), ("plan", "--difference", 0.1), ("rank",)):
        status, out, _ = call(*words, "--scores", table, *([] if words[0] == "plan" else ["--resamples", 40]))
        assert status == 0
        said += out
    assert "12 replies by 4 people" in said
    assert not re.search(r"replys|persons", said)
