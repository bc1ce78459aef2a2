"""Alpha and omega: a published example, planted loadings, a second derivation, what has no interval, coverage."""

from math import isnan, nan

import numpy as np
import pytest
from synthetic.annotators import forms

from attune_metrics.metric import MetricInputError
from attune_metrics.stats.consistency import internal_consistency, one_factor

Array = np.ndarray[tuple[int, ...], np.dtype[np.float64]]

# Attitudes in 30 departments (Chatterjee, Price 1977, Regression Analysis by Example): the data set `attitude` of R.
ATTITUDE = np.array(
    """43 51 30 39 61 92 45  63 64 51 54 63 73 47  71 70 68 69 76 86 48  61 63 45 47 54 84 35  81 78 56 66 71 83 47
    43 55 49 44 54 49 34  58 67 42 56 66 68 35  71 75 50 55 70 66 41  72 82 72 67 71 83 31  67 61 45 47 62 80 41
    64 53 53 58 58 67 34  67 60 47 39 59 74 41  69 62 57 42 55 63 25  68 83 83 45 59 77 35  77 77 54 72 79 77 46
    81 90 50 72 60 54 36  74 85 64 69 79 79 63  65 60 65 75 55 80 60  65 70 46 57 75 85 46  50 58 68 54 64 78 52
    50 40 33 34 43 64 33  64 61 52 62 66 80 41  53 66 52 50 63 80 37  40 37 42 58 50 57 49  63 54 42 48 66 75 33
    66 77 66 63 88 76 72  78 75 58 74 80 78 49  48 57 44 45 51 83 38  85 85 71 71 77 74 55  82 82 39 59 64 78 39
    """.split(),
    dtype=float,
).reshape(30, 7)


def test_alpha_of_a_published_example() -> None:
    """The manual of the R package psych has alpha of the attitudes, and alpha without each item."""
    assert round(internal_consistency(ATTITUDE, range(30)).alpha.estimate, 2) == 0.84
    without = [internal_consistency(np.delete(ATTITUDE, item, axis=1), range(30)).alpha.estimate for item in range(7)]
    assert [round(one, 2) for one in without] == [0.81, 0.80, 0.83, 0.80, 0.80, 0.86, 0.84]


def _principal_axes(correlations: Array) -> Array:
    """Return the loadings by iterated principal axes, which reach the minimum of minres by another way."""
    shared = 1 - 1 / np.diag(np.linalg.inv(correlations))
    loadings = np.zeros(len(shared))
    for _ in range(3000):
        levels, axes = np.linalg.eigh(correlations - np.diag(1 - shared))
        loadings = axes[:, -1] * np.sqrt(levels[-1])
        shared = loadings**2
    return loadings


def test_both_agree_with_a_second_derivation() -> None:
    found = internal_consistency(ATTITUDE, range(30))
    scale = ATTITUDE.std(axis=0, ddof=1)
    raw = _principal_axes(np.corrcoef(ATTITUDE, rowvar=False)) * scale
    expected = raw.sum() ** 2 / (raw.sum() ** 2 + (scale**2 - raw**2).sum())
    assert found.omega.estimate == pytest.approx(expected, abs=1e-9)
    # The mean covariance of two items, over the mean of all covariances.
    covariances = np.cov(ATTITUDE, rowvar=False)
    assert found.alpha.estimate == pytest.approx(
        covariances[~np.eye(7, dtype=bool)].mean() / covariances.mean(), abs=1e-9
    )


def test_a_loading_stops_at_one() -> None:
    """The product of two correlations over the third would be a loading of 1.13."""
    found = one_factor([[1, 0.8, 0.8], [0.8, 1, 0.5], [0.8, 0.5, 1]])
    assert found.tolist() == pytest.approx([1, 0.7514, 0.7514], abs=1e-4)
    assert found[0] == 1
    # Given a loading of 1, l minimises 2 (0.8 - l)^2 + (0.5 - l^2)^2: 2 l^3 + l - 1.6 = 0.
    assert 2 * found[1] ** 3 + found[1] - 1.6 == pytest.approx(0, abs=1e-9)


def test_equal_loadings_give_equal_numbers() -> None:
    generator = np.random.default_rng(1)
    normal = np.linalg.qr(generator.normal(size=(60, 6)))[0]
    normal -= normal.mean(axis=0)
    normal = np.linalg.qr(normal)[0]  # uncorrelated columns with a mean of 0
    forms = normal[:, :1] + normal[:, 1:] * 0.8
    found = internal_consistency(forms, range(60))
    assert found.alpha.estimate == pytest.approx(25 / (25 + 5 * 0.64), abs=1e-9)
    assert found.omega.estimate == pytest.approx(found.alpha.estimate, abs=1e-9)
    assert found.alpha.low < found.alpha.estimate < found.alpha.high < 1


def test_incomplete_forms_do_not_count_and_persons_are_clusters() -> None:
    more = np.vstack([ATTITUDE, ATTITUDE[0]])
    more[-1, 2] = nan
    alone = internal_consistency(ATTITUDE, range(30))
    assert internal_consistency(more, range(31)) == alone
    twice = internal_consistency(np.repeat(ATTITUDE, 2, axis=0), np.repeat(range(30), 2))
    assert (twice.alpha.n, twice.alpha.clusters) == (60, 30)
    assert twice.alpha.low == pytest.approx(alone.alpha.low, abs=1e-9)


def test_an_item_that_everybody_answers_alike() -> None:
    forms = ATTITUDE.copy()
    forms[:, 3] = 50
    found = internal_consistency(forms, range(30))
    assert [isnan(one) for one in found.loadings] == [place == 3 for place in range(7)]
    rest = internal_consistency(np.delete(forms, 3, axis=1), range(30))
    assert found.omega.estimate == pytest.approx(rest.omega.estimate, abs=1e-9)
    assert found.alpha.estimate == pytest.approx(rest.alpha.estimate * 5 / 6 * 7 / 6, abs=1e-9)


@pytest.mark.parametrize(
    ("forms", "reason"),
    [
        (np.zeros((0, 3)), "fewer than two forms"),
        (np.ones((20, 3)), "the sum of the items does not vary"),
        (np.outer(np.arange(20.0), [1, 1, 1]), "without some cluster the value is 1 or undefined"),
    ],
)
def test_what_has_no_interval(forms: Array, reason: str) -> None:
    found = internal_consistency(forms, range(len(forms)))
    assert found.alpha.reason == found.omega.reason == reason
    assert isnan(found.alpha.low)
    assert isnan(found.omega.high)


def test_few_people_have_no_interval() -> None:
    nine, ten = (internal_consistency(ATTITUDE[:number], range(number)) for number in (9, 10))
    assert nine.alpha.reason == "fewer than 10 clusters"
    assert (ten.alpha.reason, ten.omega.reason) == (None, "fewer than 20 clusters")


@pytest.mark.parametrize(
    ("forms", "clusters", "message"),
    [
        ([[1, 2], [2, 3]], ["a", "b"], "expected \\(answers, items\\) with three items or more"),
        ([[1, 2, 3]], ["a", "b"], "shape \\(1, 3\\) for 2 labels"),
        ([[1, 2, float("inf")]], ["a"], "an item is infinite"),
    ],
)
def test_what_is_refused(forms: list[list[float]], clusters: list[str], message: str) -> None:
    with pytest.raises(MetricInputError, match=message):
        internal_consistency(forms, clusters)
    with pytest.raises(MetricInputError, match="symmetric matrices"):
        one_factor([[1, 0.5, 0.2], [0.1, 1, 0.3], [0.2, 0.3, 1]])


@pytest.mark.slow
def test_intervals_of_participants_with_two_forms_cover() -> None:
    generator = np.random.default_rng(3)
    loadings = np.linspace(0.4, 0.8, 10)
    common, rest = loadings.sum() ** 2, (1 - loadings**2).sum()
    covered = np.zeros(2)
    for _ in range(400):
        found = internal_consistency(*forms(generator, loadings, persons=25))
        alpha = 10 / 9 * (1 - 10 / (common + rest))
        covered += [
            found.alpha.low <= alpha <= found.alpha.high,
            found.omega.low <= common / (common + rest) <= found.omega.high,
        ]
    assert (covered / 400 >= 0.91).all()
