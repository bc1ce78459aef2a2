"""Names of others within CSV and Markdown: no formula, no markup, and given back as they were."""

import csv
from io import StringIO
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt  # the parser of rich, which the library needs anyway

from attune_bench import Scores
from attune_bench.report.figures import save
from attune_bench.report.figures import scores as draw
from attune_data.export import from_csv_text, to_csv, to_csv_text, to_markdown
from attune_data.text import sanitize

FORMULAS = ["=1+1", "+a", "-a", "@SUM(1)", "\t=1", "\r=1", "=", "-", "--1", "+1-1", "-1e", "=cmd|' /C calc'!A0"]
FORMULAS += [" =1", "\uff1d1+1"]  # some spreadsheets leave out blanks, or take full-width signs
NOT_ONES = ["-1", "+2.5", "-1e-5", "-.5", "it's", "'quoted'", "a=b", "", " -1", "'-1"]
TEXTS = st.text(st.sampled_from("'=+-@\t\r\n1.ae,\" ") | st.characters(codec="utf-8"), max_size=8)


@pytest.mark.parametrize("text", [*FORMULAS, "NA"])
def test_a_formula_is_written_with_an_apostrophe(text: str) -> None:
    assert to_csv_text(text) == f"'{text}"
    assert to_csv_text(f"'{text}") == f"''{text}"


@pytest.mark.parametrize("text", NOT_ONES)
def test_what_is_no_formula_stays(text: str) -> None:
    assert to_csv_text(text) == from_csv_text(text) == text


@given(TEXTS)
def test_every_text_comes_back_and_no_cell_is_a_formula(text: str) -> None:
    cell = to_csv_text(text)
    assert from_csv_text(cell) == text
    assert not cell.startswith(tuple("=@\t\r\n"))
    if cell.startswith(("+", "-")):
        float(cell)


def test_every_text_of_a_frame_is_escaped_and_no_number() -> None:
    frame = pl.DataFrame(
        {"=head": ["=1", None], "value": [-1.5, 2.0], "band": ["-low", "@high"]},
        schema_overrides={"band": pl.Enum(["-low", "@high"])},
    )
    rows = list(csv.reader(StringIO(to_csv(frame))))
    assert rows == [["'=head", "value", "band"], ["'=1", "-1.5", "'-low"], ["", "2.0", "'@high"]]


def test_names_of_a_table_come_back_from_csv(tmp_path: Path) -> None:
    names = ["=1+1", "'=1+1", "''+a", "'tis", "@b", "-c", "-5", 'a,"b"']
    frame = pl.DataFrame(
        {
            "model": names,
            "unit": [f"+{name}" for name in names],
            "metric": ["=hit"] * len(names),
            "value": [-1.0 * place for place in range(len(names))],
            "=trait": [f"@{name}" for name in names],
        }
    )
    path = tmp_path / "table.csv"
    path.write_bytes(to_csv(frame).encode())
    expected, found = Scores.from_table(frame), Scores.from_table(path)
    assert found.values.equals(expected.values)
    assert found.units.equals(expected.units)
    assert found.models == tuple(sorted(names))
    rows = list(csv.DictReader(StringIO(found.report(format="csv", resamples=50))))
    assert {from_csv_text(row["model"]) for row in rows} == set(names)
    assert {row["metric"] for row in rows} == {"'=hit"}
    assert not any(cell.startswith(("=", "@")) for row in rows for cell in (*row, *row.values()))


MARKUP = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<!-- a -->",
    "<http://a.b>",
    "[a](http://a.b)",
    "![a](http://a.b)",
    "[a][b]",
    "[a]: http://a.b",
    "\\[a\\](b)",
    "a|b",
    "`a`",
    "*a* **b** _c_ __d__ ~~e~~",
    "\\*a*",
    "&lt;b&gt; &#60;",
    "# a",
    "> a",
    "- a",
    "a\nb\r\nc\u2028d",
    "\x1b[31mred",
]


@pytest.mark.parametrize("text", MARKUP)
def test_markdown_shows_text_as_it_is(text: str) -> None:
    check_shown(text)


@given(st.text(st.sampled_from("[]()<>!&;|`*_~\\#:ab/ -\n'\""), max_size=20))
def test_markdown_shows_every_text_as_it_is(text: str) -> None:
    check_shown(text)


def check_shown(text: str) -> None:
    """Check that a cell of a table is one text without markup, for a parser of Markdown."""
    table = f"| a | b |\n| --- | --- |\n| x {to_markdown(text)} x | y |\n"
    tokens = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).parse(table)
    cells = [token for token in tokens if token.type == "inline"]
    assert len(cells) == 4
    parts = cells[2].children or []
    assert {part.type for part in parts} <= {"text", "text_special"}
    assert "".join(part.content for part in parts) == f"x {sanitize(text)} x"
    paragraph = MarkdownIt("commonmark", {"html": True}).parse(to_markdown(f"{text.strip()} a"))
    assert [token.type for token in paragraph] == ["paragraph_open", "inline", "paragraph_close"]


@pytest.mark.slow
def test_a_report_and_a_figure_have_no_markup_of_a_name(tmp_path: Path) -> None:
    name = "</script><script>alert(1)</script>|[a](http://b.c)`*"
    rows = [(model, f"u{unit}", name, unit % 2) for model in (name, "b") for unit in range(6)]
    scores = Scores.from_table(pl.DataFrame(rows, schema=["model", "unit", "metric", "value"], orient="row"))
    text = scores.report(format="markdown", resamples=50)
    tokens = MarkdownIt("commonmark", {"html": True}).enable("table").parse(text)
    inner = {part.type for token in tokens for part in token.children or []}
    assert inner <= {"text", "text_special", "strong_open", "strong_close", "code_inline", "softbreak"}
    page = scores.report(format="html", resamples=50)
    assert page.count("<script>") == page.count("</script>") == 1
    save(draw(scores, resamples=50), tmp_path / "figure.html")
    assert "<script>alert(1)" not in (tmp_path / "figure.html").read_text()
