"""Agreement of raters: published values, the definitions in exact fractions, an independent tool, invariances."""

import warnings
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import permutations, product
from math import isnan, nan
from typing import Any, get_args

import krippendorff
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from attune_metrics import MetricInputError, UndefinedMetricWarning
from attune_metrics.stats.agreement import KappaWeights, MeasurementLevel, cohen_kappa, fleiss_kappa, krippendorff_alpha

LEVELS: tuple[MeasurementLevel, ...] = get_args(MeasurementLevel)
quick = settings(deadline=None)
sides = st.integers(1, 9).flatmap(
    lambda n: st.tuples(*[st.lists(st.integers(1, 4), min_size=n, max_size=n) for _ in range(2)])
)
tables = st.tuples(st.integers(1, 6), st.integers(2, 4)).flatmap(
    lambda shape: st.lists(
        st.lists(st.integers(1, 4), min_size=shape[1], max_size=shape[1]), min_size=shape[0], max_size=shape[0]
    )
)
gaps = st.lists(st.lists(st.none() | st.integers(0, 4), min_size=3, max_size=3), min_size=1, max_size=6)

# Fleiss (1971), table 1, as in the worked example of 14 raters, 10 subjects and 5 categories that textbooks and
# Wikipedia ("Fleiss' kappa") share: how many raters chose each category.
FLEISS = [
    [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
]  # fmt: skip
# Krippendorff (2011), Computing Krippendorff's Alpha-Reliability, section C: four observers, twelve units.
OBSERVERS = np.array([
    [1, 2, 3, 3, 2, 1, 4, 1, 2, nan, nan, nan],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, nan, 3],
    [nan, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, nan],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, nan],
]).T  # fmt: skip


def value(measure: Callable[..., float], *args: Any, **options: Any) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        return measure(*args, **options)


def close(one: float, other: float) -> bool:
    return one == pytest.approx(other, abs=1e-12, nan_ok=True)


def beyond_chance(observed: Sequence[Fraction | int], expected: Sequence[Fraction | int]) -> float:
    # One minus the ratio of two means.
    chance = Fraction(sum(expected))
    return float(1 - Fraction(sum(observed)) / len(observed) / chance * len(expected)) if chance else nan


# Published values.


def test_fleiss_1971() -> None:
    ratings = np.array([np.repeat(range(5), row) for row in FLEISS])
    # Published to three digits (0.210); statsmodels 0.15.0 gives 0.20993070442195522.
    assert fleiss_kappa(ratings) == pytest.approx(0.2099307044219552, abs=1e-12)


@pytest.mark.parametrize(
    ("level", "alpha"),
    # Published to three digits (0.743, 0.815, 0.849, 0.797); krippendorff 0.9.0 gives the rest.
    [
        ("nominal", 0.743421052631579), ("ordinal", 0.8153875037548814),
        ("interval", 0.8491071428571428), ("ratio", 0.7974027747116121),
    ],
)  # fmt: skip
def test_krippendorff_2011(level: MeasurementLevel, alpha: float) -> None:
    assert krippendorff_alpha(OBSERVERS, level=level) == pytest.approx(alpha, abs=1e-12)


def test_cohen() -> None:
    # Table [[20, 5], [10, 15]] of two raters: observed agreement 0.7, expected 0.5 * 0.6 + 0.5 * 0.4 = 0.5.
    one = ["yes"] * 25 + ["no"] * 25
    other = ["yes"] * 20 + ["no"] * 5 + ["yes"] * 10 + ["no"] * 15
    assert cohen_kappa(one, other) == pytest.approx(0.4, abs=1e-12)
    # scikit-learn 1.9.1, cohen_kappa_score.
    pair = [1, 2, 3, 4, 5, 1, 2, 3, 3, 2, 4, 5], [1, 2, 3, 3, 5, 2, 2, 4, 3, 1, 4, 4]
    assert cohen_kappa(*pair) == pytest.approx(0.4736842105263158, abs=1e-12)
    assert cohen_kappa(*pair, weights="linear") == pytest.approx(0.7087378640776698, abs=1e-12)
    assert cohen_kappa(*pair, weights="quadratic") == pytest.approx(0.8706896551724138, abs=1e-12)


def test_cohen_by_value_and_by_rank() -> None:
    # Numbers: observed 4**2 / 4 = 4; expected (0 + 1 + 16 + 0) + (1 + 0 + 9 + 1) + 2 (16 + 9 + 0 + 16) = 110, over 16.
    # Ranks 1, 2, 3 for 1, 2, 5: observed 4 / 4 = 1; (0 + 1 + 4 + 0) + (1 + 0 + 1 + 1) + 2 (4 + 1 + 0 + 4) = 26.
    pair = [1, 2, 5, 5], [1, 2, 5, 1]
    assert cohen_kappa(*pair, weights="quadratic") == pytest.approx(1 - 4 * 16 / 110, abs=1e-12)
    assert cohen_kappa(*pair, weights="quadratic", by="rank") == pytest.approx(1 - 16 / 26, abs=1e-12)
    # Linear: 4 / 4 over (0 + 1 + 4 + 0 + 1 + 0 + 3 + 1 + 2 (4 + 3 + 0 + 4)) / 16; 2 / 4 over (0 + 1 + 2 + 0 + 1 + 0 + 1
    # + 1 + 2 (2 + 1 + 0 + 2)) / 16.
    assert cohen_kappa(*pair, weights="linear") == pytest.approx(1 - 16 / 32, abs=1e-12)
    assert cohen_kappa(*pair, weights="linear", by="rank") == pytest.approx(1 - 8 / 16, abs=1e-12)


# The definitions.


@given(sides)
@quick
def test_cohen_by_definition(pair: tuple[list[int], list[int]]) -> None:
    one, other = pair
    distances: dict[KappaWeights | None, Callable[[int, int], int]] = {
        None: lambda a, b: int(a != b),
        "linear": lambda a, b: abs(a - b),
        "quadratic": lambda a, b: (a - b) ** 2,
    }
    for weights, distance in distances.items():
        expected = beyond_chance(list(map(distance, one, other)), [distance(a, b) for a, b in product(one, other)])
        assert close(value(cohen_kappa, one, other, weights=weights), expected)
        if weights:
            # Ranks are those of any increasing transform.
            ranks = [[sorted({*one, *other}).index(rating) for rating in side] for side in pair]
            grown = ([rating**3 / 7 for rating in side] for side in pair)
            expected = value(cohen_kappa, *ranks, weights=weights)
            assert close(value(cohen_kappa, *grown, weights=weights, by="rank"), expected)


@given(tables)
@quick
def test_fleiss_by_definition(ratings: list[list[int]]) -> None:
    observed = [a != b for row in ratings for a, b in permutations(row, 2)]
    everything = [rating for row in ratings for rating in row]
    assert close(
        value(fleiss_kappa, ratings), beyond_chance(observed, [a != b for a, b in product(everything, repeat=2)])
    )


@given(gaps)
@quick
def test_alpha_by_definition(ratings: list[list[int | None]]) -> None:
    rows = [row for row in ([a for a in row if a is not None] for row in ratings) if len(row) > 1]
    everything = [rating for row in rows for rating in row]
    distances: dict[MeasurementLevel, Callable[[int, int], Fraction]] = {
        "nominal": lambda a, b: Fraction(a != b),
        "ordinal": lambda a, b: (
            sum((Fraction(min(a, b) <= c <= max(a, b)) for c in everything), Fraction(0))
            - Fraction(everything.count(a) + everything.count(b), 2)
        ) ** 2,
        "interval": lambda a, b: Fraction((a - b) ** 2),
        "ratio": lambda a, b: Fraction(a - b, a + b) ** 2 if a + b else Fraction(0),
    }  # fmt: skip
    for level, distance in distances.items():
        # Every rating is one observation: its mean distance from the others of its unit, and from all others.
        observed = [distance(a, b) / (len(row) - 1) for row in rows for a, b in permutations(row, 2)]
        expected = [distance(a, b) for a, b in permutations(everything, 2)]
        chance = sum(expected, Fraction(0)) / max(len(everything) - 1, 1)
        alpha = float(1 - sum(observed, Fraction(0)) / chance) if chance else nan
        assert close(value(krippendorff_alpha, ratings, level=level), alpha)


@given(st.integers(0, 2**32 - 1), st.sampled_from(LEVELS), st.integers(2, 30), st.integers(2, 6), st.integers(2, 8))
@quick
def test_alpha_is_that_of_krippendorff(
    seed: int, level: MeasurementLevel, units: int, raters: int, values: int
) -> None:
    random = np.random.default_rng(seed)
    ratings = random.integers(0, values, size=(units, raters)) * 0.7 + 0.1
    ratings[random.random(ratings.shape) < 0.3] = nan
    pairable = ratings[(~np.isnan(ratings)).sum(axis=1) > 1]
    if len(np.unique(pairable[~np.isnan(pairable)])) < 2:
        assert isnan(value(krippendorff_alpha, ratings, level=level))
    else:
        theirs = krippendorff.alpha(reliability_data=ratings.T, level_of_measurement=level)
        assert close(krippendorff_alpha(ratings, level=level), float(theirs))


# Invariances and bounds.


def measures(ratings: NDArray[np.float64]) -> list[float]:
    return [
        *(value(krippendorff_alpha, ratings, level=level) for level in LEVELS),
        *(value(cohen_kappa, *ratings.T[:2], weights=weights) for weights in (None, "linear", "quadratic")),
        value(fleiss_kappa, ratings),
    ]


def all_close(one: Sequence[float], other: Sequence[float]) -> bool:
    return all(map(close, one, other))


@given(tables, st.randoms())
@quick
def test_invariances(table: list[list[int]], random: Any) -> None:
    ratings = np.array(table, dtype=float)
    found = measures(ratings)
    assert all(isnan(one) or one <= 1 for one in found)
    # Swapped raters: the first two are Cohen's.
    assert all_close(found, measures(ratings[:, [1, 0, *range(2, ratings.shape[1])]]))
    order = random.sample(range(len(ratings)), len(ratings))
    # To the last bit; nan is equal to nan.
    assert str(found) == str(measures(ratings[order]))
    # Other names for nominal categories; an increasing transform of ordinal ones; other units of interval and ratio.
    names = dict(zip(range(1, 5), random.sample(["", "a", "b", "yes"], 4), strict=True))
    text = [[names[rating] for rating in row] for row in table]
    assert close(value(krippendorff_alpha, text, level="nominal"), found[0])
    assert close(value(cohen_kappa, *list(zip(*text, strict=True))[:2]), found[4])
    assert close(value(fleiss_kappa, text), found[7])
    assert close(value(krippendorff_alpha, np.exp(ratings), level="ordinal"), found[1])
    assert close(value(krippendorff_alpha, 5 - 3 * ratings, level="interval"), found[2])
    assert close(value(krippendorff_alpha, ratings * 8, level="ratio"), found[3])
    assert all_close(measures(ratings * 2 + 3)[5:7], found[5:7])


@given(st.lists(st.floats(0.1, 5), min_size=2, max_size=6, unique=True), st.integers(2, 4))
@quick
def test_perfect_agreement_is_exactly_one(values: list[float], raters: int) -> None:
    assert measures(np.repeat(np.array(values)[:, np.newaxis], raters, axis=1)) == [1] * 8


def test_levels_differ() -> None:
    assert len({round(krippendorff_alpha(OBSERVERS, level=level), 3) for level in LEVELS}) == 4


@pytest.mark.parametrize("ratings", [np.empty((0, 3)), [[2, 2], [2, 2]], [[nan, nan]], [[nan, 1], [2, nan]]])
@pytest.mark.parametrize("level", LEVELS)
def test_undefined_alpha(ratings: Any, level: MeasurementLevel) -> None:
    with pytest.warns(UndefinedMetricWarning, match="^undefined: krippendorff_alpha; it needs units"):
        assert isnan(krippendorff_alpha(ratings, level=level))


def test_undefined_kappa() -> None:
    for one, other in (([], []), (["a", "a"], ["a", "a"])):
        with pytest.warns(UndefinedMetricWarning, match="^undefined: cohen_kappa; it needs"):
            assert isnan(cohen_kappa(one, other))
    for ratings in (np.empty((0, 3)), [[1], [2]], [[1, 1], [1, 1]], [[nan], [nan]]):
        with pytest.warns(UndefinedMetricWarning, match="^undefined: fleiss_kappa; it needs"):
            assert isnan(fleiss_kappa(ratings))
    # Two raters of one category each do differ: chance would differ as much.
    assert cohen_kappa(["a", "a"], ["b", "b"]) == 0


def test_fleiss_takes_ratings_by_different_raters() -> None:
    assert fleiss_kappa([[1, 1, None], [None, 1, 2], [2, None, 2]]) == fleiss_kappa([[1, 1], [1, 2], [2, 2]])


def unknown(option: str) -> Any:
    return option


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cohen_kappa([1, 2], [1]), r"reference has shape \(2,\), predicted \(1,\)"),
        (lambda: cohen_kappa([[1, 2]], [[1, 2]]), r"reference has shape \(1, 2\); expected one rating for each unit"),
        (lambda: cohen_kappa("ab", "ab"), r"reference has shape \(\)"),
        (lambda: cohen_kappa([1, 2], [1, None]), "unit 1 lacks a rating; leave it out on both sides"),
        (lambda: cohen_kappa(["a"], ["b"], weights="linear"), "'a' is a text; linear weighting needs numbers"),
        (
            lambda: cohen_kappa([1], [1], weights=unknown("cubic")),
            "unknown weights 'cubic'; known: linear, quadratic, ",
        ),
        (
            lambda: cohen_kappa([1], [1], weights="linear", by=unknown("ranks")),
            "unknown by 'ranks'; known: value, rank",
        ),
        (lambda: cohen_kappa([1], [1], by="rank"), "by='rank' says how weights .* there are no weights; give them too"),
        (lambda: cohen_kappa(["a"], [2]), "texts and numbers are mixed, such as 'a' and 2"),
        (
            lambda: fleiss_kappa([[1, 2], [1, None]]),
            "unit 1 has 1 ratings and unit 0 has 2; .* krippendorff_alpha ",
        ),
        (lambda: fleiss_kappa([1, 2]), r"ratings has shape \(2,\); expected \(units, raters\)"),
        (lambda: krippendorff_alpha([[1, 2], [1]], level="nominal"), "rows of unequal length; fill up with nan"),
        (
            lambda: krippendorff_alpha([[1, 2]], level=unknown("metric")),
            "unknown level 'metric'; known: nominal, ",
        ),
        (lambda: krippendorff_alpha([["a", None]], level="ordinal"), "'a' is a text; the ordinal level needs numbers"),
        (lambda: krippendorff_alpha([[1, -2]], level="ratio"), "rating -2 is negative; a ratio scale starts at 0"),
        (lambda: krippendorff_alpha([[1, float("inf")]], level="interval"), "inf is infinite; a missing rating is nan"),
        (lambda: krippendorff_alpha([[b"a", b"a"]], level="nominal"), "ratings value b'a' is not a number"),
    ],
)
def test_malformed(call: Callable[[], float], message: str) -> None:
    with pytest.raises(MetricInputError, match=message):
        call()


def test_the_level_has_no_default() -> None:
    with pytest.raises(TypeError, match="level"):
        krippendorff_alpha([[1, 2]])  # type: ignore[call-arg]
