"""EQ-Bench 3: the rubric score of a task, and ratings of models whose answers a judge compared in twos.

Conventions
-----------
A task is a model's answers in one scenario and iteration. A judge gives a task criteria from 0 to 20, of which six
count and the others describe a style. In a comparison the judge reads the tasks of two models and gives plus signs to
the better side of each criterion; each pair of tasks is compared in both orders [1]_.

The published ratings add up the plus signs of both orders, turn the difference into a number of games that one side
won, and update the ratings of both sides after each game, as TrueSkill does [2]_, in the order of the file: the same
comparisons in another order give other ratings.

References
----------
.. [1] Paech (2025), EQ-Bench 3, repository EQ-bench/eqbench3.
.. [2] Herbrich, Minka, Graepel (2007), TrueSkill: a Bayesian skill rating system, NIPS 19, 569-576.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial, reduce
from math import ceil, exp, fsum, inf, nan, pi, sqrt
from numbers import Real
from types import MappingProxyType
from typing import Literal, NamedTuple

from attune_metrics.metric import Metric, MetricInputError, check_mapping, check_number, check_whole, warn_undefined

Rubric = Literal["standard", "analysis"]
"""The rubric of a scenario: ``analysis``, or ``standard`` for a role-play and for drafting a message."""

CRITERIA: Mapping[Rubric, tuple[str, ...]] = MappingProxyType(
    {
        "standard": (
            "demonstrated_empathy", "pragmatic_ei", "depth_of_insight", "social_dexterity", "emotional_reasoning",
            "message_tailoring",
        ),
        "analysis": (
            "depth_of_insight", "emotional_reasoning", "theory_of_mind", "subtext_identification",
            "intellectual_grounding", "correctness",
        ),
    }
)  # fmt: skip
"""The criteria of each rubric that count for the score."""

STYLE: tuple[str, ...] = (
    "boundary_setting", "safety_conscious", "moralising", "sycophantic", "compliant", "challenging", "warmth",
    "validating", "analytical", "reactive", "conversational", "humanlike",
)  # fmt: skip
"""The criteria of the standard rubric that describe a style: more is not better, and they never count."""

ABILITIES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "humanlike": ("conversational", "humanlike"),
        "safe": ("safety_conscious",),
        "assertive": ("boundary_setting", "challenging"),
        "social_iq": ("social_dexterity", "message_tailoring"),
        "warm": ("warmth", "validating"),
        "analytical": ("analytical",),
        "insightful": ("depth_of_insight",),
        "empathy": ("demonstrated_empathy",),
        "compliant": ("compliant",),
        "moral": ("moralising",),
        "pragmatic": ("pragmatic_ei",),
    }
)
"""The abilities of the published board, each the mean of its criteria."""

# As published, a standard task counts a criterion of the analysis rubric too where the judge gave it.
_COUNTING: Mapping[str, frozenset[str]] = {
    "standard": frozenset((*CRITERIA["standard"], *CRITERIA["analysis"])),
    "analysis": frozenset(CRITERIA["analysis"]),
}
ANCHORS: Mapping[str, float] = MappingProxyType({"o3": 1500, "meta-llama/llama-3.2-1b-instruct": 200})
"""The models of the published board that have a fixed rating."""

SATURATION = 30
"""Plus signs of difference from which on a side wins all games; 80 are possible."""
_BINS, _BINS_OF_SIGMA = 20, 5
_WINDOW = 16
_MU, _SIGMA, _BETA = 1200.0, 350 / 3, 350 / 6
_DRAW_MARGIN = 3.101774665236693e-06  # what `trueskill` 0.4.5 makes of a probability of 0
_TAIL = (
    -1.26551223, 1.00002368, 0.37409196, 0.09678418, -0.18628806, 0.27886807, -1.13520398, 1.48851587, -0.82215223,
    0.17087277,
)  # fmt: skip


def eqbench3_task_score(scores: Mapping[str, float], *, rubric: Rubric) -> float:
    """Return the score of a task: the mean of its criteria that count for its rubric.

    Parameters
    ----------
    scores : mapping of str to float
        The judge's score of each criterion, 0 to 20; the published code takes other numbers too. Criteria of style, and
        other keys, change nothing.
    rubric : {"standard", "analysis"}
        The rubric of the scenario.

    Returns
    -------
    float
        0 to 20, higher is better; boards show it times 5. nan, with `UndefinedMetricWarning`, where no criterion that
        counts has a number.

    Raises
    ------
    MetricInputError
        If the scores are no mapping, a score that counts is infinite, or there is no such rubric.

    Examples
    --------
    >>> eqbench3_task_score({"demonstrated_empathy": 12, "pragmatic_ei": 10, "warmth": 20}, rubric="standard")
    11.0
    """
    if rubric not in _COUNTING:
        raise MetricInputError(f"unknown rubric {rubric!r}; expected {' or '.join(_COUNTING)}")
    given = check_mapping(scores, "scores", "of criteria to numbers")
    counting = [
        check_number(value, str(name), -inf, inf)
        for name, value in given.items()
        if name in _COUNTING[rubric] and not isinstance(value, bool) and isinstance(value, Real)
    ]
    if not counting:
        warn_undefined("eqbench3_task_score", f"no criterion of the {rubric} rubric has a number")
        return nan
    return fsum(counting) / len(counting)


def ability_scores(criteria: Mapping[str, float]) -> dict[str, float]:
    """Return the abilities of the published board from a model's means of criteria; nan where a criterion is missing.

    Examples
    --------
    >>> ability_scores({"boundary_setting": 15.04, "challenging": 12.96})["assertive"]
    14.0
    """
    return {
        ability: fsum(criteria.get(name, nan) for name in names) / len(names) for ability, names in ABILITIES.items()
    }


def win_fraction(first: int, second: int) -> float:
    """Return the fraction that the first side wins: 0.5 for a tie, 1 from 30 plus signs of difference on.

    Parameters
    ----------
    first, second : int
        Plus signs of both sides, of both orders together; 0 or more.

    Returns
    -------
    float
        0 to 1.

    Raises
    ------
    MetricInputError
        If a number of plus signs is not a whole number from 0 on.

    Examples
    --------
    >>> round(win_fraction(14, 1), 6), win_fraction(3, 3), win_fraction(0, 45)
    (0.716667, 0.5, 0.0)
    """
    difference = check_whole(first, "first", 0) - check_whole(second, "second", 0)
    margin = min(abs(difference) / SATURATION, 1.0) / 2.0 + 0.5
    return margin if difference >= 0 else 1.0 - margin


def pseudo_games(fraction: float, bins: int = _BINS) -> int:
    """Return how many games a fraction stands for: positive where the first side wins them, else negative.

    Parameters
    ----------
    fraction : float
        From `win_fraction`, 0 to 1.
    bins : int
        The largest number of games, 20 as published for ratings, 5 for their sigma; 1 or more.

    Returns
    -------
    int
        ``-bins`` to ``bins``; 0 stands for one drawn game. Rounded up in floating point as in the published code, so
        that differences of 3, 9 and 18 plus signs make 3, 7 and 13 games of 20, not 2, 6 and 12.

    Raises
    ------
    MetricInputError
        If the fraction or the number of bins is out of range.

    Examples
    --------
    >>> pseudo_games(win_fraction(14, 1)), pseudo_games(win_fraction(0, 1)), pseudo_games(0.5)
    (9, -1, 0)
    """
    check_number(fraction, "fraction", 0, 1)
    check_whole(bins, "bins", 1)
    margin = fraction - 0.5
    if abs(margin) < 1e-9:
        return 0
    games = max(1, min(bins, ceil(abs(margin) / (0.5 / bins))))
    return games if margin > 0 else -games


class PlusCounts(NamedTuple):
    """The plus signs of one comparison, as they count.

    Attributes
    ----------
    test, other : str
        The models of both sides.
    scenario, iteration : str
        Which of their tasks.
    plus_test, plus_other : int or None
        Plus signs for each, of analysis 1 for the side with more and 0 for the other; None where a file has none.
    fraction : float, optional
        What `test` wins, 0 to 1, as a file states it; it counts where plus signs are missing.
    """

    test: str
    other: str
    scenario: str
    iteration: str
    plus_test: int | None
    plus_other: int | None
    fraction: float | None = None


class JudgedPair(NamedTuple):
    """The comparisons of two tasks together: what `first` wins against `second`, 0 to 1. Names are in sorted order."""

    first: str
    second: str
    fraction: float


class Rated(NamedTuple):
    """What TrueSkill knows of a model: mean and standard deviation."""

    mu: float
    sigma: float


def judged_pairs(comparisons: Iterable[PlusCounts]) -> list[JudgedPair]:
    """Return the pairs of tasks that were compared, in the order in which they first come, both orders added up.

    Where plus signs are missing in one of the comparisons of a pair, the mean of their fractions counts; as published,
    of two comparisons with the same `test` the first one alone does.

    Raises
    ------
    MetricInputError
        If a model is compared with itself, a number of plus signs is not a whole number from 0 on, a fraction is not
        from 0 to 1, or a pair has neither.

    Examples
    --------
    >>> judged_pairs([PlusCounts("b", "a", "9", "1", 15, 0), PlusCounts("b", "a", "9", "1", 0, 0)])
    [JudgedPair(first='a', second='b', fraction=0.25)]
    """
    groups: dict[tuple[str, str, str, str], list[PlusCounts]] = {}
    for one in comparisons:
        if one.test == one.other:
            raise MetricInputError(f"{one.test!r} is compared with itself in scenario {one.scenario!r}")
        first, second = sorted((one.test, one.other))
        groups.setdefault((first, second, one.scenario, one.iteration), []).append(one)
    return [JudgedPair(first, second, _won_by(first, group)) for (first, second, *_), group in groups.items()]


def _won_by(first: str, group: Sequence[PlusCounts]) -> float:
    """Return the fraction that a model wins in all comparisons of a pair of tasks."""
    totals = [0, 0]
    for one in group:
        if one.plus_test is None or one.plus_other is None:
            return _mean_fraction(first, group)
        place = int(first != one.test)
        totals[place] += one.plus_test
        totals[1 - place] += one.plus_other
    return win_fraction(*totals)


def _mean_fraction(first: str, group: Sequence[PlusCounts]) -> float:
    known = [(one.test, check_number(one.fraction, "fraction", 0, 1)) for one in group if one.fraction is not None]
    if not known:
        one = group[0]
        raise MetricInputError(
            f"{one.test!r} and {one.other!r}, scenario {one.scenario!r}: neither pluses nor fractions"
        )
    if len(group) == 2 and len({test for test, _ in known}) == 1:
        known = known[:1]
    return fsum(fraction if test == first else 1.0 - fraction for test, fraction in known) / len(known)


def trueskill_ratings(pairs: Iterable[JudgedPair], *, bins: int = _BINS) -> dict[str, Rated]:
    """Rate models by the games of pairs, each game updating both ratings at once.

    Every model starts at 1200 with a sigma of 350 / 3; beta is 350 / 6, and ratings do not drift. Numbers are those of
    the package ``trueskill`` 0.4.5 with a draw probability of 0. Its draw margin is so small that its approximation of
    the normal distribution fails where ratings are equal: a drawn game of equals raises their sigma from 116.7 to
    134.2, and the exact value is 90.4.

    Parameters
    ----------
    pairs : iterable of JudgedPair
        From `judged_pairs`; the order of the pairs changes the ratings.
    bins : int
        As for `pseudo_games`.

    Returns
    -------
    dict of str to Rated
        By model, in the order in which the models first come.

    Raises
    ------
    MetricInputError
        As `pseudo_games`.

    Examples
    --------
    >>> ratings = trueskill_ratings([JudgedPair("a", "b", win_fraction(1, 0))])
    >>> {model: (round(one.mu, 2), round(one.sigma, 2)) for model, one in ratings.items()}
    {'a': (1258.87, 100.72), 'b': (1141.13, 100.72)}
    """
    ratings: dict[str, Rated] = {}
    start = Rated(_MU, _SIGMA)
    for first, second, fraction in pairs:
        games = pseudo_games(fraction, bins)
        one, other = ratings.get(first, start), ratings.get(second, start)
        if games == 0:
            one, other = _drawn(one, other)
        for _ in range(games):
            one, other = _won(one, other)
        for _ in range(-games):
            other, one = _won(other, one)
        ratings[first], ratings[second] = one, other
    return ratings


def _won(winner: Rated, loser: Rated) -> tuple[Rated, Rated]:
    scale = sqrt(2 * _BETA**2 + winner.sigma**2 + loser.sigma**2)
    t = (winner.mu - loser.mu - _DRAW_MARGIN) / scale
    below = _normal_below(t)
    v = _normal_density(t) / below if below else -t
    return _moved(winner, v, v * (v + t), scale), _moved(loser, -v, v * (v + t), scale)


def _drawn(one: Rated, other: Rated) -> tuple[Rated, Rated]:
    scale = sqrt(2 * _BETA**2 + one.sigma**2 + other.sigma**2)
    apart = abs(one.mu - other.mu)
    high, low = (_DRAW_MARGIN - apart) / scale, (-_DRAW_MARGIN - apart) / scale
    within = _normal_below(high) - _normal_below(low)
    v = (_normal_density(low) - _normal_density(high)) / within
    w = v**2 + (high * _normal_density(high) - low * _normal_density(low)) / within
    v = v if one.mu >= other.mu else -v
    return _moved(one, v, w, scale), _moved(other, -v, w, scale)


def _moved(rated: Rated, v: float, w: float, scale: float) -> Rated:
    share = rated.sigma**2 / scale
    return Rated(rated.mu + share * v, rated.sigma * sqrt(1 - share / scale * w))


def _normal_density(x: float) -> float:
    return exp(-x * x / 2) / sqrt(2 * pi)


def _normal_below(x: float) -> float:
    """Return the probability of a value below x, with the error of 1e-7 that `trueskill` 0.4.5 has."""
    z = abs(x) / sqrt(2)
    t = 1 / (1 + z / 2)
    tail = t * exp(-z * z + reduce(lambda total, one: total * t + one, reversed(_TAIL))) / 2
    return 1 - tail if x > 0 else tail


def anchored_ratings(ratings: Mapping[str, float], anchors: Mapping[str, float] = ANCHORS) -> dict[str, float]:
    """Move ratings onto the line through two anchors; unchanged where fewer than two anchors are rated.

    Parameters
    ----------
    ratings : mapping of str to float
        The rating of each model.
    anchors : mapping of str to float
        The rating that anchors get; the first two that are rated count.

    Returns
    -------
    dict of str to float
        A new rating of any model moves all of them, as the ratings of the anchors move.

    Examples
    --------
    >>> raw = {"o3": 1561.3, "meta-llama/llama-3.2-1b-instruct": 991.8, "mine": 1300.0}
    >>> {model: round(one, 4) for model, one in anchored_ratings(raw).items()}
    {'o3': 1500.0, 'meta-llama/llama-3.2-1b-instruct': 200.0, 'mine': 903.5294}
    """
    rated = [(ratings[model], target) for model, target in anchors.items() if model in ratings]
    if len(rated) < 2:
        return dict(ratings)
    (high, to_high), (low, to_low) = rated[:2]
    scale = (to_high - to_low) / (high - low) if abs(high - low) >= 1e-6 else 1.0
    return {model: scale * one + (to_high - scale * high) for model, one in ratings.items()}


class PublishedRating(NamedTuple):
    """A rating as the published file has it, rounded to two digits.

    Attributes
    ----------
    elo, elo_norm : float
        Mean of TrueSkill, and on the line of the anchors.
    sigma : float
        Standard deviation, of games in fewer bins.
    ci_low, ci_high, ci_low_norm, ci_high_norm : float
        ``elo -+ 1.96 sigma``, raw and on the line of the anchors. The published code calls it a guess: it says nothing
        of other scenarios or judges.
    """

    elo: float
    elo_norm: float
    sigma: float
    ci_low: float
    ci_high: float
    ci_low_norm: float
    ci_high_norm: float


def published_ratings(
    comparisons: Sequence[PlusCounts], *, anchors: Mapping[str, float] = ANCHORS, window: int = _WINDOW
) -> dict[str, PublishedRating]:
    """Rate models by the published protocol.

    All comparisons give a first ladder of the models; then only pairs of models at most `window` ranks apart count.
    Means are of 20 games at most a pair, standard deviations of 5.

    Parameters
    ----------
    comparisons : sequence of PlusCounts
        In the order of the file, which changes the ratings.
    anchors : mapping of str to float
        As for `anchored_ratings`.
    window : int
        The largest difference of ranks, 1 or more.

    Returns
    -------
    dict of str to PublishedRating
        By model, the best first.

    Raises
    ------
    MetricInputError
        As `judged_pairs`, and if the window is no whole number from 1.

    Examples
    --------
    >>> published_ratings([PlusCounts("a", "b", "9", "1", 1, 0)])["a"]
    PublishedRating(elo=1258.87, elo_norm=1258.87, sigma=100.72, ci_low=1061.46, ci_high=1456.29, ci_low_norm=1061.46, \
ci_high_norm=1456.29)
    """
    check_whole(window, "window", 1)
    pairs = judged_pairs(comparisons)
    rough = trueskill_ratings(pairs)
    ladder = {model: rank for rank, model in enumerate(sorted(rough, key=lambda model: (rough[model].mu, model)))}
    near = [pair for pair in pairs if abs(ladder[pair.first] - ladder[pair.second]) <= window]
    rated, fewer = trueskill_ratings(near), trueskill_ratings(near, bins=_BINS_OF_SIGMA)
    means = {model: one.mu for model, one in rated.items()}
    norm = anchored_ratings(means, anchors)
    rounded: dict[str, tuple[float, ...]] = {}
    for model, mu in means.items():
        half = 1.96 * fewer[model].sigma
        rounded[model] = tuple(round(one, 2) for one in (mu, fewer[model].sigma, mu - half, mu + half))
    # As published, the ends of intervals go onto the line of the rounded ratings.
    fixed = {model: elo for model, (elo, *_) in rounded.items()}
    found = {}
    for model, (elo, sigma, low, high) in rounded.items():
        ends = anchored_ratings({**fixed, "\0low": low, "\0high": high}, anchors)
        low_norm, high_norm = round(ends["\0low"], 2), round(ends["\0high"], 2)
        found[model] = PublishedRating(elo, round(norm[model], 2), sigma, low, high, low_norm, high_norm)
    return dict(sorted(found.items(), key=lambda item: -item[1].elo))


_SOURCE = "EQ-Bench 3, repository EQ-bench/eqbench3"
_criterion = partial(Metric, low=0, high=20, digits=1, nullable=True, family="eqbench3")
_COUNTING_NAMES = tuple(dict.fromkeys((*CRITERIA["standard"], *CRITERIA["analysis"])))


def _label(name: str) -> str:
    return name.replace("_", " ").capitalize().replace(" ei", " EI")


METRICS: tuple[Metric, ...] = (
    Metric(
        "eqbench3_rubric", "Rubric", low=0, high=20, scale=5, digits=1, nullable=True, family="eqbench3",
        source=f"Mean of the criteria that count, from eqbench3_task_score; {_SOURCE}",
    ),
    *(
        _criterion(f"eqbench3_{name}", _label(name), source=f"Score by the judge; {_SOURCE}")
        for name in _COUNTING_NAMES
    ),
    *(
        _criterion(
            f"eqbench3_{name}", _label(name), higher_is_better=None, source=f"Style as the judge sees it; {_SOURCE}"
        )
        for name in STYLE
    ),
)  # fmt: skip
"""The catalogue's entries of this module."""
