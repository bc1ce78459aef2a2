"""The table of one draw on the page of judges is what the benchmark prints, and the correction does what it is for."""

from pathlib import Path

import judges_of_empathy
import numpy as np

PAGE = Path(__file__).parents[1] / "docs" / "judges.md"


def test_the_page_has_the_table_of_one_draw() -> None:
    table = "\n".join(judges_of_empathy.one_draw("Lend an Ear", "gpt"))
    assert f"```text\n{table}\n```" in PAGE.read_text(encoding="utf-8")


def test_corrected_judges_are_nearer_to_all_experts_than_judges_or_few_experts() -> None:
    off = []
    for place, one in enumerate(judges_of_empathy.rated()):
        found = judges_of_empathy.corrected(one, place)
        estimates = found.judge.estimate, found.people.estimate, found.corrected.estimate
        off.append([abs(estimate - one.experts.mean()) for estimate in estimates])
        # All 50 are scored, 30 rated, and the judge's mean is of all.
        assert (found.judge.n, found.corrected.n) == (50, judges_of_empathy.LABELS)
        assert found.judge.estimate == one.scores.mean()
    judge, people, corrected = np.mean(off, axis=0)
    assert len(off) == 63
    assert corrected < 0.85 * people < people < 0.2 * judge
