import csv
import json
import re
import unicodedata
from collections.abc import Callable
from io import StringIO
from itertools import pairwise
from math import nan
from typing import Any, NoReturn, get_args

import pytest

from attune_bench import Scores
from attune_bench._version import __version__
from attune_bench.report import FORMATS, GROUPS, Format, report
from attune_data.text import printable

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
ODD += ["\ud800", "back\\slash|", " "]
NAMES = {"plain": PLAIN, "long": LONG, "wide": WIDE, "odd": ODD}
SIZES = (1, 2, 3, 6, 11)
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


def _grids(text: str) -> list[list[str]]:
    """Return the grids of a table report: heading, rule, then the rows that hold cells."""
    lines = text.split("\n")
    rules = [i for i, line in enumerate(lines) if re.fullmatch(r"-{20,}", line)]
    end = next(i for i, line in enumerate(lines) if line.startswith(("Headings.", "Means over")))
    grids = []
    for start, after in pairwise([*rules, end + 1]):
        body = [line for line in lines[start + 1 : after - 1] if line and not TITLE.fullmatch(line)]
        grids.append([*lines[start - 1 : start + 1], *body])
    return grids


HEADLINE = re.compile(r"protocol documented, modes? default.*, n = 2 conversations by 2 participants, attune-bench ")
TITLE = re.compile(r"[A-Z -]+( \(continued\))?")


# Table.


@pytest.mark.parametrize("partial", [False, True], ids=["full", "partial"])
@pytest.mark.parametrize("modes", [("default",), ("default", "verbose_omniscient")], ids=["one-mode", "two-modes"])
@pytest.mark.parametrize("models", CASES)
class TestTable:
    @pytest.fixture
    def text(self, make_scores: Make, models: list[str], modes: tuple[str, ...], partial: bool) -> str:
        return report(make_scores(models, modes, **(PARTIAL if partial else {})))

    def test_is_never_wider_than_100_columns(self, text: str) -> None:
        assert [line for line in text.split("\n") if _width(line) > WIDTH] == []

    def test_columns_are_aligned(self, text: str) -> None:
        for grid in _grids(text):
            # The last column is set to the right and never empty: aligned rows end where the rule ends.
            assert [line for line in grid if _width(line) != _width(grid[1])] == []

    def test_every_model_is_in_every_grid(self, text: str, models: list[str], modes: tuple[str, ...]) -> None:
        grids = _grids(text)
        if grids[0][2].startswith("n conversations"):
            assert len(grids) == 1
            assert [name for name in map(printable, models) if grids[0][0].count(name) < len(modes)] == []
        else:
            assert [len(grid) - 2 for grid in grids] == [len(models) * len(modes)] * len(grids)
            # Scores are equal here, so rows differ in nothing but the name.
            assert [grid for grid in grids if len(set(grid)) != len(grid)] == []

    def test_modes_stay_readable(self, text: str, models: list[str], modes: tuple[str, ...]) -> None:
        shown = [text.count(f"[{mode}]") for mode in modes] if len(modes) > 1 else []
        assert [count for count in shown if count < len(models)] == []

    def test_says_what_the_numbers_rest_on(self, text: str, partial: bool) -> None:
        assert HEADLINE.match(" ".join(text.split()))
        assert all(re.search(r"^model +n |^n conversations ", "\n".join(grid), re.MULTILINE) for grid in _grids(text))
        assert ("99%)" if partial else "80%)") in text


@pytest.mark.parametrize("n", [2, 300])
@pytest.mark.parametrize("models", [2, 4, 5])
def test_cells_wider_than_their_heading_fit(make_record: Callable[..., Any], models: int, n: int) -> None:
    records = [
        make_record(em_model=f"m{model}", conversationId=str(i), avg_pairwise_kendall_tau=-1 / 3 if i else None)
        for model in range(models)
        for i in range(n)
    ]
    text = report(Scores.of(records, protocol="documented", synthetic=False))
    assert f"-0.333 (80%) [{n - 1}]" in text
    assert [line for line in text.split("\n") if _width(line) > WIDTH] == []


def test_synthetic_headline_fits(make_scores: Make) -> None:
    scores = make_scores(conversations=200, synthetic=True)
    scores.metadata["issues"] = [None] * 12  # type: ignore[list-item]  # only their number counts
    text = report(scores)
    assert "SYNTHETIC" in text
    assert "12 runs not scored" in " ".join(text.split())
    assert [line for line in text.split("\n") if _width(line) > WIDTH] == []


def test_table_of_the_worked_example(make_scores: Make) -> None:
    (grid,) = _grids(report(make_scores()))
    cells = dict(_split(line) for line in grid[2:])
    # Derived in test_scoring.py; coverage 4 of 5, 3 of 4, 2 of 12.
    assert cells == EXAMPLE_CELLS


def _split(line: str) -> tuple[str, str]:
    found = re.fullmatch(r" *(.+?)  +(\S.*)", line)
    assert found
    return found[1], found[2]


EXAMPLE_CELLS = {
    "n conversations": "2",
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


def test_models_are_ordered_by_composite(make_record: Callable[..., Any]) -> None:
    composites = {"low": 10.0, "high": 90.0, "none": None, "middle": 50.0}
    records = [make_record(em_model=name, composite_score=value) for name, value in composites.items()]
    text = report(Scores.of(records, protocol="documented", synthetic=False), format="markdown")
    head = next(line for line in text.split("\n") if line.startswith("| metric"))
    assert re.findall(r"high|middle|low|none", head) == ["high", "middle", "low", "none"]


# What stands beside a number.


@pytest.mark.parametrize("format_", TEXTS)
@pytest.mark.parametrize("value", [None, nan], ids=["null", "nan"])
def test_undefined_is_a_dash(make_scores: Make, format_: Format, value: float | None) -> None:
    scores = make_scores(avg_draft_judge_score=value, avg_pairwise_kendall_tau=value)
    text = report(scores, format=format_)
    rows = {label: cell for label, cell in _labelled(text) if "judge" in label or "tau" in label}
    assert rows == {"Draft judge score": "-", "Pairwise Kendall tau": "-"}


@pytest.mark.parametrize("format_", TEXTS)
def test_a_mean_over_fewer_conversations_shows_its_n(make_record: Callable[..., Any], format_: Format) -> None:
    records = [make_record(conversationId=str(i), avg_pairwise_kendall_tau=tau) for i, tau in enumerate((None, 0.5, 1))]
    cells = dict(_labelled(report(Scores.of(records, protocol="documented", synthetic=False), format=format_)))
    assert cells["Pairwise Kendall tau"] == "0.750 (80%) [2]"
    assert cells["Pairwise accuracy"] == "0.500 (80%)"
    assert cells["n conversations"] == "3"


def _labelled(text: str) -> list[tuple[str, str]]:
    """Return label and cell of every row of a report on one model."""
    if text.count("|"):
        return [(cells[1].strip(), cells[2].strip()) for line in text.split("\n") if len(cells := line.split("|")) == 4]
    return [_split(line) for grid in _grids(text) for line in grid[2:]]


@pytest.mark.parametrize(
    ("present", "expected", "shown"),
    [(200, 200, "100%"), (199, 200, "99%"), (99_999, 100_000, "99%"), (1, 1000, "1%"), (0, 5, "0%"), (1, 2, "50%")],
)
@pytest.mark.parametrize("format_", TEXTS)
def test_coverage_is_full_or_zero_only_where_it_is(
    make_scores: Make, format_: Format, present: int, expected: int, shown: str
) -> None:
    scores = make_scores(coverage={"pairwise": {"present": present, "expected": expected}})
    assert dict(_labelled(report(scores, format=format_)))["Pairwise accuracy"] == f"0.500 ({shown})"


@pytest.mark.parametrize("format_", FORMATS)
def test_synthetic_data_are_named(make_scores: Make, format_: Format) -> None:
    said, not_said = (report(make_scores(synthetic=value), format=format_) for value in (True, False))
    assert "synthetic" in said.lower()
    assert said != not_said
    if format_ in TEXTS:
        assert "SYNTHETIC" in said
        assert "synthetic" not in not_said.lower()


@pytest.mark.parametrize("format_", FORMATS)
def test_any_protocol_is_shown(make_record: Callable[..., Any], format_: Format) -> None:
    assert "released" in report(Scores.of([make_record()], protocol="released", synthetic=False), format=format_)


@pytest.mark.parametrize("format_", FORMATS)
def test_scores_without_coverage_and_with_bare_metadata(make_record: Callable[..., Any], format_: Format) -> None:
    record = make_record()
    del record["coverage"], record["participant_id"]
    scores = Scores.of([record], protocol="documented", synthetic=False)
    text = report(Scores({"protocol": "documented"}, scores.records, scores.aggregates), format=format_)
    assert "0.75" in text
    assert "%)" not in text


@pytest.mark.parametrize("format_", FORMATS)
def test_nothing_scored(format_: Format) -> None:
    assert (
        "documented" in report(Scores.of([], protocol="documented", synthetic=False), format=format_)
        or format_ == "csv"
    )


@pytest.mark.parametrize("format_", ["html", "", "TABLE"])
def test_an_unknown_format_is_refused(make_scores: Make, format_: Any) -> None:
    with pytest.raises(ValueError, match=r"unknown format .*table, markdown, csv, json"):
        report(make_scores(), format=format_)


def test_formats_are_those_of_the_type() -> None:
    assert get_args(Format) == FORMATS


# Markdown.


@pytest.mark.parametrize("models", CASES)
def test_markdown_tables_have_one_number_of_columns(make_scores: Make, models: list[str]) -> None:
    text = report(make_scores(models), format="markdown")
    tables = [block.split("\n") for block in text.split("\n\n") if block.startswith("|")]
    assert len(tables) == len(GROUPS)
    for table in tables:
        cells = [re.split(r"(?<!\\)\|", line) for line in table]
        assert {len(line) for line in cells} == {len(cells[0])}
        assert [cell.strip(" -:") for cell in cells[1]] == [""] * len(cells[0])
        across, down = len(cells[0]) - 3, len(cells) - 2
        assert len(models) == (across if cells[0][1].strip() == "metric" else down)
    assert "\x1b" not in text
    assert HEADLINE.match(text)


# CSV and JSON.


@pytest.mark.parametrize("models", CASES)
def test_csv_holds_every_aggregate(make_scores: Make, models: list[str]) -> None:
    scores = make_scores(models, ("default", "verbose"), avg_draft_judge_score=None)
    rows = list(csv.DictReader(StringIO(report(scores, format="csv"), newline=""), strict=True))
    by_name = {(row["em_model"], row["mode"]): row for row in rows}
    assert len(by_name) == len(rows) == 2 * len(models)
    for aggregate in scores.aggregates:
        row = by_name[aggregate["em_model"], aggregate["mode"]]
        assert (row["protocol"], row["avg_draft_judge_score"]) == ("documented", "")
        assert row["coverage_pairwise"] == "0.8"
        for name, value in aggregate.items():
            flat = {f"{name}_{cell}": v for cell, v in value.items()} if isinstance(value, dict) else {name: value}
            for column, number in flat.items():
                text = row[column]
                assert (float(text) if isinstance(number, int | float) else text or None) == number, column


def _refuse(constant: str) -> NoReturn:
    raise AssertionError(f"{constant} is no JSON")


@pytest.mark.parametrize("models", CASES)
def test_json_holds_metadata_and_aggregates(make_scores: Make, models: list[str]) -> None:
    scores = make_scores(models, synthetic=True)
    content = json.loads(report(scores, format="json"), parse_constant=_refuse)
    assert content["metadata"] == {
        "protocol": "documented",
        "library_version": __version__,
        "synthetic": True,
        "codebook": scores.metadata["codebook"],
        "not_scored": 0,
    }
    assert sorted(content["models"], key=lambda row: row["em_model"]) == list(scores.aggregates)


def test_json_is_strict_where_a_value_is_nan(make_scores: Make) -> None:
    content = json.loads(report(make_scores(avg_draft_judge_score=nan), format="json"), parse_constant=_refuse)
    assert content["models"][0]["avg_draft_judge_score"] in (None, "NaN")


# Text that could drive a terminal.


@pytest.mark.parametrize("text", ["\x1b[2J", "a\rb", "a\x00b", "\u202eltr", "a\x9bb", "\ud800"], ids=ascii)
def test_control_characters_are_replaced(make_scores: Make, text: str) -> None:
    shown = printable(text)
    assert shown.isprintable()
    assert len(shown) == len(text)
    for format_ in TEXTS:
        assert text not in report(make_scores([text]), format=format_)


@pytest.mark.parametrize("text", ["модель-é", "深度", "[red]x[/red]", "a b", "\U0001f600"])
def test_ordinary_text_stays(text: str) -> None:
    assert printable(text) == text


@pytest.mark.parametrize("format_", TEXTS)
def test_the_headline_of_a_strange_file_drives_no_terminal(make_record: Callable[..., Any], format_: Format) -> None:
    scores = Scores.of([make_record(mode="\x1b[2J")], protocol="\x1b[31m", synthetic=False)
    assert "\x1b" not in report(scores, format=format_)
