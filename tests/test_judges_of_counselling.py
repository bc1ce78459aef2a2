"""Ratings of counselling by experts and judges: published numbers, what judges miss, and what correcting them does."""

import re
from functools import cache
from pathlib import Path

import judges_of_counselling as counselling
import polars as pl
import pytest
from judges_of_counselling import ATTRIBUTES, JUDGES, PEOPLE, SIZES, TOGETHER

from attune_bench.stats.rank import tiers

PAGE = Path(__file__).parents[1] / "docs" / "judges.md"


@cache
def ratings() -> pl.DataFrame:
    return pl.read_parquet(counselling.FOLDER / "ratings.parquet").with_columns(pl.col("value").cast(pl.Float64))


def off_by(given: pl.DataFrame) -> dict[tuple[str, str], float]:
    """Return how far the means of people's ratings are above the published ones, by responder and attribute."""
    rows = given.filter(rater=PEOPLE).group_by("responder", "dimension").agg(pl.col("value").mean())
    found = {(responder, attribute): mean for responder, attribute, mean in rows.iter_rows()}
    table = pl.read_csv(counselling.FOLDER / "published.csv")
    return {
        (row["responder"], attribute): found[row["responder"], attribute] - row[attribute]
        for row in table.iter_rows(named=True)
        for attribute in ATTRIBUTES
    }


def test_62_of_63_published_means_follow_from_the_ratings() -> None:
    off = off_by(ratings())
    assert len(off) == 63
    assert sum(abs(one) <= 0.005 + 1e-9 for one in off.values()) == 57
    wrong = {key: one for key, one in off.items() if abs(one) > 0.01}
    # 2.76 in the file, 3.07 in print; the average printed beside it, 3.64, follows from 2.76.
    assert wrong == {("Qwen-3-4B", "guidance"): pytest.approx(2.762 - 3.07, abs=0.001)}
    average = counselling.means(ratings()).filter(responder="Qwen-3-4B")[PEOPLE].item()
    assert average == pytest.approx(counselling.published()["Qwen-3-4B"], abs=0.005)
    assert average + (3.07 - 2.762) / 7 > 3.68


def test_published_means_count_zeros_and_sixes_as_they_are() -> None:
    within = ratings().filter(pl.col("value").is_between(1, 5))
    assert sum(abs(one) <= 0.01 for one in off_by(within).values()) == 49
    clipped = ratings().with_columns(pl.col("value").clip(1, 5))
    assert sum(abs(one) <= 0.01 for one in off_by(clipped).values()) == 53
    # Of two models in the order of people: as published a tie at 4.20, and without zeros none.
    means = [dict(counselling.means(one).select("responder", PEOPLE).iter_rows()) for one in (ratings(), within)]
    assert [round(one["Qwen-2.5-7B"], 2) for one in means] == [4.2, 4.29]
    assert [round(one["DeepSeek-LLaMA-8B"], 2) for one in means] == [4.2, 4.2]


def test_zeros_are_whole_answers() -> None:
    zeros = ratings().filter(value=0)
    assert zeros["rater"].unique().to_list() == [PEOPLE]
    of_answers = zeros.group_by("responder", "item").len()
    assert (of_answers.height, of_answers["len"].unique().to_list()) == (33, [7])
    judged = ratings().join(of_answers, on=["responder", "item"]).filter(pl.col("rater") != PEOPLE)
    assert (judged.height, judged.filter(value=1).height) == (924, 770)
    # What leaving them out moves.
    within = off_by(ratings().filter(pl.col("value").is_between(1, 5)))
    moved = {key: abs(one - within[key]) for key, one in off_by(ratings()).items()}
    assert max(moved.values()) == pytest.approx(0.0966, abs=1e-4)
    text = " ".join(PAGE.read_text(encoding="utf-8").split())
    assert "231 zeros and 8 sixes. The zeros are 33 answers with 0 on every attribute; of the judges' 924" in text
    assert "moves published means by up to 0.10, and the correlations for safety to 0.13 to 0.21" in text


@pytest.mark.slow
def test_ratings_outside_of_the_scale_are_issues() -> None:
    scores = counselling.scores()
    assert ratings().height == 349_521
    assert dict(scores.issues["value"].value_counts().iter_rows()) == {"0.0": 231, "6.0": 8}
    [said] = [note for note in scores.provenance.notes if "left out" in note]
    assert said.startswith("the table: 239 ratings of 349,521 left out, outside of the scale: row 229544 (0 of")
    assert scores.values["safety"].drop_nulls().is_between(1, 5).all()


def test_judges_are_lenient_most_to_the_weakest() -> None:
    table = {row["responder"]: row for row in counselling.means(ratings()).iter_rows(named=True)}
    expected = {
        "human therapist": (3.19, 3.89, 4.24),
        "Qwen-3-4B": (3.64, 3.78, 4.19),
        "DeepSeek-Qwen-7B": (4.17, 4.03, 4.62),
        "GPT-4o": (4.76, 4.81, 4.97),
    }
    for responder, (people, low, high) in expected.items():
        own = [table[responder][judge] for judge in JUDGES]
        assert (round(table[responder][PEOPLE], 2), round(min(own), 2), round(max(own), 2)) == (people, low, high)
    text = " ".join(PAGE.read_text(encoding="utf-8").split())
    assert "the therapist has 3.19 by experts and 3.89 to 4.24 by judges, GPT-4o 4.76 and 4.81 to 4.97" in text


def test_judges_hardly_see_safety() -> None:
    expected = {
        "guidance": (0.48, 0.55), "informativeness": (0.46, 0.52), "helpfulness": (0.44, 0.51), "empathy": (0.36, 0.41),
        "understanding": (0.19, 0.27), "relevance": (0.15, 0.22), "safety": (0.16, 0.25),
    }  # fmt: skip
    found = {row.pop("attribute"): row.values() for row in counselling.correlations(ratings()).iter_rows(named=True)}
    assert {name: (round(min(own), 2), round(max(own), 2)) for name, own in found.items()} == expected
    text = " ".join(PAGE.read_text(encoding="utf-8").split())
    assert "(Spearman) by 0.48 to 0.55 for guidance, and by 0.16 to 0.25 for safety" in text
    # A part of this is the answers that experts gave 0.
    within = ratings().filter(pl.col("value").is_between(1, 5))
    safety = counselling.correlations(within).filter(attribute="safety").select(JUDGES).row(0)
    assert (round(min(safety), 2), round(max(safety), 2)) == (0.13, 0.21)


@pytest.mark.slow
def test_a_judge_in_the_place_of_people_moves_ranks() -> None:
    found = {judge: counselling.moved(judge) for judge in JUDGES}
    moves = {judge: (one.responder, one.by_people, one.by_judge) for judge, one in found.items()}
    assert moves == {
        "claude": ("Claude-3.5-Haiku", 7, 3),
        **dict.fromkeys(("gemini", "gpt-4o", "o4-mini"), ("Claude-3.5-Haiku", 7, 4)),
    }
    assert [(one.reversed_pairs, one.pairs) for one in found.values()] == [(6, 41), (4, 41), (3, 38), (3, 39)]
    models, _ = tiers(counselling.overall(PEOPLE))
    assert models["tier"].to_list() == [1, 2, 2, 3, 4, 5, 5, 5, 6, 7]


def test_how_often_intervals_should_cover_these_contexts() -> None:
    # Of people alone the variance is smaller by the share drawn: 1.96 / sqrt(0.9) and 1.96 / sqrt(0.8) of the normal.
    assert counselling.expected_coverage(100, 0) == pytest.approx(0.9612, abs=5e-5)
    assert counselling.expected_coverage(200, 0) == pytest.approx(0.9716, abs=5e-5)
    # A judge that explains half: (0.5 + 0.05) / (0.5 * 0.9) = 1.2222.
    assert counselling.expected_coverage(100, 0.5) == pytest.approx(0.9698, abs=5e-5)


@pytest.mark.slow
def test_correcting_judges_by_100_ratings() -> None:
    found = counselling.frame(counselling.draws(100, 35, population=True))
    table = counselling.summary(found, "judge")
    assert {*table["judge"]} == {*JUDGES, TOGETHER}
    for row in table.iter_rows(named=True):
        # The judge is off by several times as much as people's 100 ratings; corrected it is off by no more than these.
        if row["judge"] != TOGETHER:
            assert row["judge_distance"] > 4 * row["people_distance"]
            assert row["judge_off"] > 0.2
        assert row["distance"] < 1.05 * row["people_distance"]
        assert abs(row["off"]) < 0.02
        assert 0.92 < row["covered"] < 0.98
        assert 0.9 < row["width"] < 0.99


def test_what_the_page_says_of_the_draws_follows_from_its_table() -> None:
    text = PAGE.read_text(encoding="utf-8").partition("### Judges of counselling")[2]
    number = r"([-+]?[0-9.]+)%?"
    row = (
        rf"^ +(\d+)  (claude|gemini|gpt-4o|o4-mini|all four) +(?:-|{number})"
        + rf" +{number}" * 2
        + rf" +(?:-|{number})"
    )
    rows = re.findall(row + rf" +{number}" * 7 + "$", text, re.MULTILINE)
    assert [one[:2] for one in rows] == [(str(size), one) for size in SIZES for one in (*JUDGES, TOGETHER)]
    columns = [[float(cell) for cell in column if cell] for column in list(zip(*rows, strict=True))[2:]]
    judge, people, corrected, too_kind, bias, covered, expected, by_people, by_both, width, none = columns
    assert (min(judge), max(judge), min(too_kind), max(too_kind)) == (0.33, 0.64, 0.23, 0.64)
    assert max(map(abs, bias)) == 0.004
    assert all(both < alone for both, alone in zip(corrected, people, strict=True))
    assert all(one > 95 for one in expected)
    assert max(other - one for one, other in zip(covered, expected, strict=True)) == pytest.approx(1.3)
    assert max(other - one for one, other in zip(covered[5:], expected[5:], strict=True)) < 0.75
    assert (min(by_people), max(by_people), min(by_both), max(by_both)) == (95.0, 96.2, 94.7, 95.7)
    assert (min(width), max(width)) == (0.95, 0.98)
    assert [round(100 / one**2) for one in (max(width), min(width))] == [104, 111]
    assert max(none[len(JUDGES) :: 1 + len(JUDGES)]) < 1
    assert re.findall(r"shortest interval by one judge: (\S+)", text) == ["1.05", "1.03", "1.02"]
    assert re.findall(r"interval by the best judge: (\S+)", text) == ["1.01", "1.00", "1.00"]
    assert "1.00 to 1.01 times as wide as by the best judge" in text
    of_attributes = re.findall(rf"^({'|'.join(ATTRIBUTES)})" + rf" +{number}" * 6 + "$", text, re.MULTILINE)
    r = {name: float(cells[3]) for name, *cells in of_attributes}
    assert ({*r}, min(r.values()), max(r.values())) == ({*ATTRIBUTES}, 0.19, 0.31)
    for said in ("worth 104 to 111 ratings", "cover 95.0 to 96.2%, and corrected ones 94.7 to 95.7%", "at most 0.004"):
        assert said in text


@pytest.mark.slow
def test_100_ratings_turn_round_what_judges_turned() -> None:
    found = counselling.turned("human therapist", "Qwen-3-4B", "guidance", 100, 60)
    assert round(found.people, 2) == -0.39
    assert (round(min(found.judges.values()), 2), round(max(found.judges.values()), 2)) == (0.16, 0.79)
    # Of 500 draws 444, 89%.
    assert (0.8 < found.below / 60 < 0.98, found.above) == (True, 0)
    text = PAGE.read_text(encoding="utf-8")
    assert (
        "put the therapist above Qwen-3-4B, by 0.16 to 0.79 points; experts put the therapist below it, by 0.39" in text
    )
    assert "is below 0 in 61, 89 and 99% of 500 draws, and above 0 in none" in text
