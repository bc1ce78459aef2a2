"""A table of ratings by several raters through the commands, as its owner would use it; no benchmark is named."""

import re
from pathlib import Path

import polars as pl
import pytest
from commands import QUICK, Call, csv_rows

SHIFTS = {"ann": {"model": 0, "counsellor": 1}, "gpt": {"model": 2, "counsellor": 1}}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Return a table in which ann prefers the counsellor and gpt the model, on each of 24 items."""
    rows = [
        (f"q{item:02}", responder, rater, "warmth", 1 + item % 3 + shift, ("work", "home")[item % 2])
        for item in range(24)
        for rater, shifts in SHIFTS.items()
        for responder, shift in shifts.items()
    ]
    columns = ["item", "responder", "rater", "dimension", "rating", "topic"]
    path = tmp_path / "ratings.csv"
    pl.DataFrame(rows, schema=columns, orient="row").write_csv(path)
    path.with_suffix(".toml").write_text("[metrics.warmth]\nlow = 1\nhigh = 5\n", encoding="utf-8")
    return path


def test_compare_and_rank_are_within_a_rater(call: Call, table: Path) -> None:
    status, out, err = call("compare", table, *QUICK)
    assert (status, err) == (0, "")
    assert "warmth, rater ann: 1 of 1 pairs differ" in " ".join(out.split())
    assert "warmth, rater gpt: 1 of 1 pairs differ" in " ".join(out.split())
    rows = csv_rows(call("rank", table, "--format", "csv", *QUICK)[1])
    assert [(row["rater"], row["model"], row["rank"]) for row in rows] == [
        ("ann", "counsellor", "1.0"), ("ann", "model", "2.0"), ("gpt", "model", "1.0"), ("gpt", "counsellor", "2.0"),
    ]  # fmt: skip


def test_subset_and_columns(call: Call, table: Path) -> None:
    rows = csv_rows(call("subset", table, "--by", "topic", "--format", "csv", *QUICK)[1])
    assert {(row["stratum"], row["rater"], row["n"]) for row in rows} == {
        (topic, rater, "12") for topic in ("work", "home") for rater in SHIFTS
    }
    other = table.with_name("other.csv")
    pl.read_csv(table).rename({"rater": "annotator"}).write_csv(other)
    assert call("rank", other, *QUICK)[0] != 0
    status, out, _ = call("rank", other, "--columns", "rater=annotator", *QUICK)
    assert status == 0
    assert "Ranks by warmth, rater gpt" in out


@pytest.mark.slow
def test_the_page_ranks_by_each_rater(call: Call, table: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert call("report", table, "--html", page, *QUICK)[0] == 0
    text = page.read_text(encoding="utf-8")
    assert "Which model has the highest warmth depends on the rater" in text
    assert "Ranking by warmth, rater ann" in text
    assert "Ranking by warmth, rater gpt" in text
    assert "counsellor</bdi></strong> for ann; <strong><bdi>model</bdi></strong> for gpt</h1>" in text
    assert text.count("A rank orders models by value alone") == 1
    of_ann, of_gpt = re.findall(r'<span class="plot" aria-hidden="true">.*?</span></span>', text)
    assert of_ann == of_gpt  # one axis
    assert "Judge and people" not in text


@pytest.mark.slow
def test_the_page_sets_judges_beside_people(call: Call, table: Path, tmp_path: Path) -> None:
    # gpt rates the model 2 above ann and the counsellor like ann, of which 1 is taken off each second item.
    other, less = table.with_name("other.csv"), (pl.col("rater") == "gpt") & (pl.col("topic") == "home")
    people = pl.read_csv(table).with_columns(pl.col("rater").replace("ann", "people"), pl.col("rating") - less)
    people.write_csv(other)
    page = tmp_path / "page.html"

    def text_of(source: Path) -> str:
        assert call("report", source, "--html", page, *QUICK)[0] == 0
        return page.read_text(encoding="utf-8")

    text = text_of(other)
    assert "<h3>gpt rates warmth higher than people</h3>" in text
    assert "+0.500" in text.partition('<section id="judge-and-people"')[2].partition("</section>")[0]
    assert text.index("Ranking by warmth, rater people") < text.index("Ranking by warmth, rater gpt")
    assert "Rater gpt minus people" in text
    assert "n: answers that both rated, and in parentheses the items that these are of" in text
    other.with_suffix(".toml").write_text('reference = "gpt"\n', encoding="utf-8")
    assert "<h3>people rates warmth lower than gpt</h3>" in text_of(other)


@pytest.mark.slow
def test_a_figure_shows_one_rater(call: Call, table: Path, tmp_path: Path) -> None:
    figure = tmp_path / "ranks.svg"
    _, _, err = call("figure", table, "-o", figure)
    assert "a figure shows one rater; choose one of ann, gpt with --condition" in err
    assert call("figure", table, "--condition", "gpt", "-o", figure)[0] == 0
    assert figure.exists()


def test_judge_agree_reads_the_same_table(call: Call, table: Path) -> None:
    more = pl.read_csv(table).filter(rater="ann").with_columns(rater=pl.lit("bob"))
    pl.concat([pl.read_csv(table), more]).write_csv(table)
    status, out, err = call("judge", "agree", table, "--expert", "ann", "bob", "--judge", "gpt", *QUICK)
    assert (status, err) == (0, "")
    # 24 items, the answers of two responders to each.
    assert "48 (24)" in out
