"""The Pareto front against its definition, pair by pair; ties; refused input."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attune_metrics import MetricInputError
from attune_metrics.stats.pareto import pareto_front

MODELS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=8)


def by_definition(models: list[tuple[int, int]]) -> list[bool]:
    def beats(one: tuple[int, int], other: tuple[int, int]) -> bool:
        return one[0] >= other[0] and one[1] <= other[1] and one != other

    return [not any(beats(one, other) for one in models) for other in models]


@given(MODELS)
def test_the_front_is_what_no_pair_contradicts(models: list[tuple[int, int]]) -> None:
    scores, costs = zip(*models, strict=True)
    found = pareto_front(scores, costs)
    assert found.tolist() == by_definition(models)
    assert found.any()


def test_rows_are_fronts_of_their_own() -> None:
    scores, costs = np.array([[1.0, 2, 3], [3, 2, 1]]), np.array([[1.0, 2, 3], [1, 2, 3]])
    assert pareto_front(scores, costs).tolist() == [[True, True, True], [True, False, False]]
    assert pareto_front(np.empty((0,)), np.empty((0,))).tolist() == []


@pytest.mark.parametrize(
    ("scores", "costs", "said"),
    [([1, 2], [1], "expected one cost a score"), (1, 1, "expected one"), ([np.nan], [1], "leave out models without a")],
)
def test_what_is_refused(scores: object, costs: object, said: str) -> None:
    with pytest.raises(MetricInputError, match=said):
        pareto_front(scores, costs)  # type: ignore[arg-type]
