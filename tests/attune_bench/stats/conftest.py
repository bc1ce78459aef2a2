"""Builders of scores from a few numbers."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

import pytest

from attune_bench import Scores
from attune_bench.benchmarks.attunebench.scoring import scores_of as scores_of_records
from attune_bench.scores.table import ScoreTable

Build = Callable[..., Scores]


@pytest.fixture(scope="session")
def build(scores_of: Build) -> Build:
    """Return the function from composites per model to scores of conversations c0, c1, ... by a participant each.

    `people` names the participants of the conversations where they are others than P0, P1, ...
    """

    def scores(models: Mapping[str, Sequence[float | None]], people: Sequence[object] | None = None) -> Scores:
        table = {
            model: {f"c{i}": {"composite_score": value} for i, value in enumerate(values)}
            for model, values in models.items()
        }
        units = max(map(len, models.values()), default=0)
        return scores_of(table, people={f"c{i}": f"P{i if people is None else people[i]}" for i in range(units)})

    return scores


@pytest.fixture(scope="session")
def reordered() -> Callable[[ScoreTable, Iterable[int]], Scores]:
    """Return the function from scores of AttuneBench and an order of their records to scores of these records."""

    def scores(table: ScoreTable, order: Iterable[int]) -> Scores:
        assert table.detail is not None
        records = [table.detail[place] for place in order]
        made = scores_of_records(records, table.provenance)  # type: ignore[arg-type]  # they are its records
        return Scores.of(replace(made, metrics=table.metrics))

    return scores
