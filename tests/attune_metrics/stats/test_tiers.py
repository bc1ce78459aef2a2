"""Tiers of a ranking, from matrices small enough to cut by hand."""

from itertools import product

import numpy as np
import pytest

from attune_metrics.metric import MetricInputError
from attune_metrics.stats.ranking import tier_spans, tiers


def matrix(models: int, *told: tuple[int, int]) -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
    found = np.zeros((models, models), dtype=np.bool_)
    for one, other in told:
        found[one, other] = found[other, one] = True
    return found


def test_a_tier_ends_before_the_first_that_differs_significantly_from_its_best() -> None:
    # 0 differs from 2 and 3 but not from 4: 4 stands below 2, so that it is in the tier of 2.
    significant = matrix(5, (0, 2), (0, 3))
    assert tiers(significant).tolist() == [1, 1, 2, 2, 2]
    # 4 differs from none: its tiers are all. 0 from 2 and 3, yet not from 4, which is in tier 2.
    assert tier_spans(significant).tolist() == [[1, 2], [1, 2], [1, 2], [1, 2], [1, 2]]


def test_members_of_a_tier_can_differ_significantly() -> None:
    assert tiers(matrix(3, (1, 2))).tolist() == [1, 1, 1]


def test_models_that_all_differ_are_tiers_of_their_own() -> None:
    significant = ~np.eye(4, dtype=np.bool_)
    assert tiers(significant).tolist() == [1, 2, 3, 4]
    assert tier_spans(significant).tolist() == [[1, 1], [2, 2], [3, 3], [4, 4]]


def test_one_model_and_none() -> None:
    assert tiers(matrix(1)).tolist() == [1]
    assert tiers([]).tolist() == []
    assert tier_spans([]).shape == (0, 2)


@pytest.mark.parametrize("bits", [*product((False, True), repeat=6)])
def test_any_four_models(bits: tuple[bool, ...]) -> None:
    pairs = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    significant = matrix(4, *(pair for pair, bit in zip(pairs, bits, strict=True) if bit))
    found = tiers(significant)
    assert found[0] == 1
    assert set(np.diff(found)) <= {0, 1}
    for tier in set(found):
        best, *others = np.flatnonzero(found == tier)
        assert not significant[best, others].any()
        # The next tier begins with a model that differs from the best of this tier.
        assert tier == found[-1] or significant[best, others[-1] + 1 if others else best + 1]
    for own, (first, last) in zip(found, tier_spans(significant), strict=True):
        assert first <= own <= last


@pytest.mark.parametrize(
    ("significant", "message"),
    [
        ([[False, True]], r"shape \(1, 2\)"),
        ([[0.0]], "float64; expected booleans"),
        ([[False, True], [False, False]], r"significant\[0, 1\] differs from significant\[1, 0\]"),
        ([[True]], r"significant\[0, 0\] is True"),
    ],
)
def test_what_is_no_such_matrix(significant: list[list[bool]], message: str) -> None:
    with pytest.raises(MetricInputError, match=message):
        tiers(significant)
