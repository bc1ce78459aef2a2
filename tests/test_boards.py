"""The page on published boards: what it says is what its script finds in the published answers."""

from pathlib import Path

import boards
import pytest

ROOT = Path(__file__).parents[1]


def test_published_means_follow_from_the_answers() -> None:
    # As published: 68.15, 61.25, 35.85; GPT-4's EU is the mean of 59.75 (en) and 54.12 (zh), 54.125 before rounding.
    sage = boards.sage().scores.summary(resamples=1)
    assert dict(sage.select("model", "value").iter_rows()) == pytest.approx(
        {"gpt-4.1": 68.15, "claude3.7-think": 61.25, "openai-o4mini": 35.85}
    )
    emobench = boards.emobench("EU", "").scores.summary(resamples=1)
    assert dict(emobench.select("model", "value").iter_rows())["gpt-4"] == pytest.approx((59.75 + 54.125) / 2)


def test_ranks_of_emobench_are_the_published_ones() -> None:
    for task in ("EU", "EA"):
        board = boards.emobench(task, "")
        ranks = board.scores.rank(resamples=1)
        assert dict(ranks.select("model", "rank").iter_rows()) == board.published


@pytest.mark.slow
def test_the_page_is_what_the_script_writes(tmp_path: Path) -> None:
    boards.main(tmp_path)
    assert (tmp_path / "boards.md").read_text(encoding="utf-8") == (ROOT / "docs" / "boards.md").read_text(
        encoding="utf-8"
    )
    figures = sorted(path.name for path in (tmp_path / "boards").iterdir())
    assert figures == sorted(path.name for path in (ROOT / "docs" / "boards").iterdir())
