"""The page on published boards: what it says is what its script finds in the published answers."""

import re
from pathlib import Path

import boards
import pytest

from attune_bench.analyses import separation
from attune_metrics.sage import round_half_up

PAGE = Path(__file__).parents[1] / "docs" / "boards.md"


@pytest.mark.slow
def test_published_means_follow_from_the_answers() -> None:
    # As published: 68.15, 61.25, 35.85; GPT-4's EU is the mean of 59.75 (en) and 54.12 (zh), 54.125 before rounding.
    sage = boards.sage().scores.summary(resamples=1)
    assert dict(sage.select("model", "value").iter_rows()) == pytest.approx(
        {"gpt-4.1": 68.15, "claude3.7-think": 61.25, "openai-o4mini": 35.85}
    )
    emobench = boards.emobench("EU", "").scores.summary(resamples=1)
    assert dict(emobench.select("model", "value").iter_rows())["gpt-4"] == pytest.approx((59.75 + 54.125) / 2)


@pytest.mark.slow
def test_ranks_of_emobench_are_the_published_ones() -> None:
    for task in ("EU", "EA"):
        board = boards.emobench(task, "")
        ranks = board.scores.rank(resamples=1)
        assert dict(ranks.select("model", "rank").iter_rows()) == board.ranks


def test_every_model_of_sage_is_listed() -> None:
    board = boards.sage()
    known = board.scores.summary(resamples=1)
    assert {model: round_half_up(value) for model, value in known.select("model", "value").iter_rows()} == {
        model: board.published[model] for model in known["model"]
    }
    [(_, text)] = re.findall(r"## (SAGE)\n(.*?)\n## ", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    rows = [line.split(" | ") for line in text.splitlines() if re.match(r"\| [0-9]", line)]
    assert [row[1] for row in rows] == sorted(board.published, key=lambda model: -board.published[model])
    assert {row[1] for row in rows if row[3] != "-"} == set(known["model"])
    assert len(rows) == 18


def test_numbers_of_eqbench3_say_what_its_section_says() -> None:
    found = boards.eqbench3()
    assert {year: (one["overlapping"], one["models"]) for year, one in found["boards"].items()} == {
        "2025": (26, 32),
        "2026": (70, 79),
    }
    # As found by another program, from the boards themselves.
    assert found["boards"]["2026"]["rubric"] == pytest.approx(0.98, abs=0.005)
    assert found["means"] == pytest.approx((72.6, 49.6), abs=0.05)
    assert found["agreement"] == pytest.approx({"rubric": 0.9146, "rating": 0.9512}, abs=1e-4)
    assert found["moved"]["rating"] == ("gemini-2.5-flash-preview", 17, 10)
    assert found["both"] == 32
    (rated, rated_off), (abilities, abilities_off) = found["ratings"], found["abilities"]
    assert (rated, abilities) == (32, 352)
    assert rated_off < 0.22
    assert abilities_off < 0.005 + 1e-9
    assert boards.eqbench3_section() in PAGE.read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_page_is_what_the_script_writes(tmp_path: Path) -> None:
    boards.main(tmp_path)
    assert (tmp_path / "boards.md").read_text(encoding="utf-8") == PAGE.read_text(encoding="utf-8")
    figures = sorted(path.name for path in (tmp_path / "boards").iterdir())
    assert figures == sorted(path.name for path in (PAGE.parent / "boards").iterdir())


def test_reliabilities_of_boards_are_cronbachs_alpha() -> None:
    # Models as persons and questions as items, from the answers alone.
    scores = boards.emobench_metrics()
    found = dict(separation(scores, resamples=20).select("metric", "reliability").iter_rows())
    assert sorted(found) == ["EA", "EU", "EU cause", "EU emotion"]
    for metric, reliability in found.items():
        wide = scores.values.drop_nulls(metric).pivot("unit", index="model", values=metric).drop("model").to_numpy()
        assert wide.shape == (12, 200)
        alpha = 200 / 199 * (1 - wide.var(axis=0, ddof=1).sum() / wide.sum(axis=1).var(ddof=1))
        assert reliability == pytest.approx(alpha, abs=1e-12)
    assert len(boards.empathy()) == 21


@pytest.mark.slow
def test_the_section_on_separation_is_on_the_page() -> None:
    assert boards.separation_section() in PAGE.read_text(encoding="utf-8")
