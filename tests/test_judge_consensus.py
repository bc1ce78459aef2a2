"""What docs/judges.md says of simulated judges without people, with fewer simulations."""

import judge_consensus as benchmark
import numpy as np
import pytest


@pytest.mark.slow
@pytest.mark.parametrize(("judges", "units", "size"), [(3, 50, 3), (6, 200, 5)])
def test_intervals_cover_where_the_model_holds(judges: int, units: int, size: int) -> None:
    results = [one for one in benchmark.simulated(judges, units, size, 40) if one.found.reason is None]
    means = [one.found.means[0] for one in results]
    true = benchmark.true_mean(size)
    assert np.mean([one.low <= true <= one.high for one in means]) >= 0.85
    assert np.mean([one.estimate for one in means]) == pytest.approx(true, abs=0.06)
    assert len(results) >= 37


@pytest.mark.slow
def test_what_breaks_the_model_breaks_the_numbers() -> None:
    lenient = [*benchmark.simulated(6, 200, 5, 15, benchmark.lenient_to_the_weakest)]
    true = benchmark.true_mean(5)
    assert not any(one.found.means[0].low <= true for one in lenient)
    apart = [*benchmark.simulated(6, 200, 5, 15)]
    alike = [*benchmark.simulated(6, 200, 5, 15, benchmark.shared)]
    for results, least, most in ((apart, 0, 3), (alike, 12, 15)):
        largest = [max(one.found.pairs, key=lambda pair: pair.excess) for one in results]
        assert least <= sum((pair.one, pair.other) == (0, 1) and pair.p_holm < 0.05 for pair in largest) <= most

    def error(results: list[benchmark.Result]) -> float:
        return float(np.mean([np.square(one.found.unit_levels - one.levels).mean() for one in results]))

    assert error(alike) > error(apart)
    # Judges that share errors look more accurate than they are, as the note below the tables says.
    four = [*benchmark.simulated(4, 200, 5, 10, benchmark.shared)]
    true_accuracy = np.mean([(one.ratings[:, 0] == one.levels).mean() for one in four])
    assert np.mean([one.found.judges[0].accuracy for one in four]) > true_accuracy + 0.04
