"""The page on published boards: what it says is what its script finds in the published numbers."""

import re
from pathlib import Path

import boards
import boards_judged
import boards_published
import boards_separation
import numpy as np
import polars as pl
import pytest
from judges_of_counselling import Moved
from page_data import lay_out

from attune_bench.analyses import separation
from attune_metrics.sage import round_half_up

PAGE = Path(__file__).parents[1] / "docs" / "boards.md"


@pytest.fixture(scope="module")
def text() -> str:
    return PAGE.read_text(encoding="utf-8")


@pytest.mark.slow
def test_published_means_follow_from_the_answers() -> None:
    # As published: 68.15, 61.25, 35.85; GPT-4's EU is the mean of 59.75 (en) and 54.12 (zh), 54.125 before rounding.
    sage = boards_published.sage().scores.summary(resamples=1)
    assert dict(sage.select("model", "value").iter_rows()) == pytest.approx(
        {"gpt-4.1": 68.15, "claude3.7-think": 61.25, "openai-o4mini": 35.85}
    )
    emobench = boards_published.emobench("EU", "").scores.summary(resamples=1)
    assert dict(emobench.select("model", "value").iter_rows())["gpt-4"] == pytest.approx((59.75 + 54.125) / 2)


@pytest.mark.slow
def test_ranks_of_emobench_are_the_published_ones() -> None:
    for task in ("EU", "EA"):
        board = boards_published.emobench(task, "")
        ranks = board.scores.rank(resamples=1)
        assert dict(ranks.select("model", "rank").iter_rows()) == board.ranks


def test_every_model_of_sage_is_listed(text: str) -> None:
    board = boards_published.sage()
    known = board.scores.summary(resamples=1)
    assert {model: round_half_up(value) for model, value in known.select("model", "value").iter_rows()} == {
        model: board.published[model] for model in known["model"]
    }
    [own] = re.findall(r"### SAGE, model by model\n(.*?)\n### ", text, re.DOTALL)
    rows = [line.split(" | ") for line in own.splitlines() if re.match(r"\| [0-9]", line)]
    assert [row[1] for row in rows] == sorted(board.published, key=lambda model: -board.published[model])
    assert {row[1] for row in rows if row[3] != "-"} == set(known["model"])
    assert len(rows) == 18


def test_numbers_of_eqbench3_say_what_its_section_says(text: str) -> None:
    found = boards_judged.eqbench3()
    assert {year: (one.overlapping, one.models) for year, one in found["boards"].items()} == {
        "2025": (26, 32),
        "2026": (70, 79),
    }
    # As found by another program, from the boards themselves.
    assert found["rubric"]["2026"] == pytest.approx(0.98, abs=0.005)
    assert found["means"] == pytest.approx((72.6, 49.6), abs=0.05)
    assert found["agreement"] == pytest.approx({"rubric": 0.9146, "rating": 0.9512}, abs=1e-4)
    assert found["moved"]["rating"] == ("gemini-2.5-flash-preview", 17, 10)
    assert found["ranks"].height == 32
    (rated, rated_off), (abilities, abilities_off) = found["ratings"], found["abilities"]
    assert (rated, abilities) == (32, 352)
    assert rated_off < 0.22
    assert abilities_off < 0.005 + 1e-9
    assert boards.eqbench3_section() in text
    assert f"- **EQ-Bench 3.** {boards.eqbench3_sentence(found)}\n" in text


def test_intervals_that_overlap_are_counted() -> None:
    # The first overlaps none, the second touches the third, the last none.
    found = boards_judged.overlaps([(9, 10), (6, 8), (5, 6), (1, 2)])
    assert found == boards_judged.Overlaps(models=4, alone=2, overlapping=1, met=0.5, half=0.5)
    sentence = boards.eqbench4_sentence(found)
    assert sentence.startswith("2 of 3 neighbours have intervals that do not overlap, and half of an interval is 0 ")
    assert sentence.endswith("intervals that overlap no other: 2.")


@pytest.mark.slow
def test_eqbench4_is_read_from_a_copy_and_its_published_numbers_are_on_the_page(tmp_path: Path, text: str) -> None:
    lay_out("eqbench4.md", tmp_path)
    found, _ = boards_judged.eqbench4(str(tmp_path / "eqbench4" / "eqbench4_data.js"))
    assert found.models > 1
    assert f"- **EQ-Bench 4.** {boards.eqbench4_sentence(boards_judged.EQBENCH4)}\n" in text
    assert boards.eqbench4_section(boards_judged.EQBENCH4, is_drawn=False) in text
    assert "boards/eqbench-4.svg" in boards.eqbench4_section(found, is_drawn=True)


def test_what_judges_of_counselling_move_is_said_as_found() -> None:
    # As `test_judges_of_counselling` finds it, with the judges in another order.
    rows = (("o4-mini", 4, 3, 39), ("gpt-4o", 4, 3, 38), ("gemini", 4, 4, 41), ("claude", 3, 6, 41))
    judges = [Moved(name, 0.9, "Claude-3.5-Haiku", 7, *found) for name, *found in rows]
    assert boards.mentalalign_sentence(judges) == (
        "Of the 38 to 41 pairs of responders that experts and a judge both tell apart, a judge orders 3 to 6 the other "
        "way round, and moves Claude-3.5-Haiku, rank 7 by experts, to ranks 3 to 4."
    )
    means = {"people": {"a": 3.19, "b": 4.0}, "one": {"a": 3.888, "b": 4.9}, "other": {"a": 4.2402, "b": 4.8}}
    said = "The a, not on the published board, has 3.19 by experts and 3.89 to 4.24 by judges."
    assert said in boards.mentalalign_more(judges, means)


def test_a_board_of_one_real_rank_is_said_in_the_singular() -> None:
    found = boards_published.Found(
        pl.DataFrame({"model": [*"ab"]}),
        pl.DataFrame(),
        certain=1,
        neighbours=1,
        apart=1,
        apart_alone=1,
        half=0.25,
        smallest=3,
    )
    assert boards.sentence(found) == (
        "1 of 2 ranks is certain and 1 of 1 neighbours differs significantly; half of an interval is 0.25 points, and "
        "a comparison finds a lead of 3.0 points in 80% of cases."
    )


@pytest.mark.slow
def test_the_page_is_what_the_script_writes(tmp_path: Path, text: str) -> None:
    boards.main(tmp_path)
    assert (tmp_path / "boards.md").read_text(encoding="utf-8") == text
    figures = sorted(path.name for path in (tmp_path / "boards").iterdir())
    assert figures == sorted(path.name for path in (PAGE.parent / "boards").iterdir())
    # The numbers that are quoted, found before by other programs.
    for row in (
        "| 13 | 3 of 13 | 4 of 12 | 4.0 |",
        "| 86 | 1 of 86 | 1 of 85 | 4.0 |",
        "| 9 | 4 of 9 | 5 of 8 | 0.03 |",
    ):
        assert row in text
    assert "Of the 38 to 41 pairs of responders that experts and a judge both tell apart, a judge orders 3 to 6" in text
    assert "has 3.19 by experts and 3.89 to 4.24 by judges" in text


@pytest.mark.slow
def test_reliabilities_of_boards_are_cronbachs_alpha() -> None:
    # Models as persons and questions as items, from the answers alone.
    scores = boards_separation.emobench_metrics()
    found = dict(separation(scores, resamples=20).select("metric", "reliability").iter_rows())
    assert sorted(found) == ["EA", "EU", "EU cause", "EU emotion"]
    for metric, reliability in found.items():
        wide = scores.values.drop_nulls(metric).pivot("unit", index="model", values=metric).drop("model").to_numpy()
        assert wide.shape == (12, 200)
        alpha = 200 / 199 * (1 - wide.var(axis=0, ddof=1).sum() / wide.sum(axis=1).var(ddof=1))
        assert reliability == pytest.approx(alpha, abs=1e-12)


@pytest.mark.slow
def test_the_empathy_of_experts_and_of_judges_is_spearmans() -> None:
    # Means of three raters, whose alpha is by raters as items; Spearman's formula of 1904.
    dimensions = boards_separation.empathy()
    assert len(dimensions) == 21
    ratings = pl.read_parquet(boards_published.GOLDEN / "empathy" / "ratings.parquet")
    for one in dimensions[::5]:
        own = ratings.filter(dataset=one.data, dimension=one.name).pivot("rater", index="item", values="rating")
        sides = [own.select(names).to_numpy().T for names in (boards_separation.EXPERTS, boards_separation.JUDGES)]
        alphas = [1.5 * (1 - side.var(axis=1, ddof=1).sum() / side.sum(axis=0).var(ddof=1)) for side in sides]
        assert (one.reliability, one.of_judges) == pytest.approx(alphas, abs=1e-12)
        observed = np.corrcoef(sides[0].sum(axis=0), sides[1].sum(axis=0))[0, 1]
        assert one.corrected == pytest.approx(observed / np.sqrt(alphas[0] * alphas[1]), abs=1e-9)
    said = boards_separation.perceived(dimensions)
    assert said.startswith("16 of 36 pairs of dimensions of Perceived Empathy correlate 0.9 or more; *practical* ")
    alike = [one._replace(ratings=dimensions[0].ratings) for one in dimensions]
    assert boards_separation.perceived(alike).startswith("36 of 36 pairs")


@pytest.mark.slow
def test_the_section_on_separation_is_on_the_page(text: str) -> None:
    assert boards_separation.separation_section() in text
