"""The fit of comparisons in twos: Bradley-Terry strengths with ties, terms of bias and a penalty, by one likelihood.

Conventions: comparisons
------------------------
A comparison shows the answers of two models, left and right, and has an outcome: 1 where left won, 0 where right did,
0.5 for a tie. It counts as often as its weight says. Comparisons that are not independent, such as those on one
scenario, share a cluster.

A term has a value for each comparison, as seen from the left side: it would be the negative of that if the sides were
swapped. A position is 1 where left was shown first, else -1; a length is the log ratio of the left length to the right
one; self-preference is 1 where left alone is of the judge's family, -1 where right alone is, else 0.

Model
-----
The log odds of left against right are ``eta = strength[left] - strength[right] + sum of coefficient * term`` [1]_. With
``Z = exp(eta / 2) + exp(-eta / 2) + nu``, left wins with probability ``exp(eta / 2) / Z``, right with
``exp(-eta / 2) / Z``, and they tie with ``nu / Z``, where nu is Davidson's tie parameter [2]_. Where ties are half a
win for each side, nu is 0. Strengths are natural logarithms of odds; only differences of strengths mean something, so
they have mean 0 within a group.

Groups
------
Finite strengths fit best only where every model beats every other one through a chain of wins [3]_; a tie is a win both
ways. The largest sets of models with such chains are the groups. Each group has its own strengths, ranks and centre:
models of different groups are not compared. A model alone in its group has no strength: the strength of a model that
won, or lost, every comparison would be infinite. A penalty makes all strengths finite, on one scale.

References
----------
.. [1] Bradley, Terry (1952), Rank analysis of incomplete block designs I, Biometrika 39, 324-345; Davidson, Beaver
   (1977), On extending the Bradley-Terry model to incorporate within-pair order effects, Biometrics 33, 693-702.
.. [2] Davidson (1970), On extending the Bradley-Terry model to accommodate ties, J. Am. Stat. Assoc. 65, 317-328.
.. [3] Ford (1957), Solution of a ranking problem from binary comparisons, Am. Math. Mon. 64, 28-33; Hunter (2004), MM
   algorithms for generalized Bradley-Terry models, Ann. Stat. 32, 384-406.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attune_metrics.metric import MetricInputError, check_list, check_mapping, check_number, check_positive
from attune_metrics.stats.bradley_terry import (
    COLLINEAR,
    STEP_ROUNDED,
    Cells,
    Comparisons,
    Counts,
    Indices,
    Likelihood,
    count_by_design,
    find_groups,
    information_left,
    maximize,
)
from attune_metrics.stats.sums import Floats, check_array, cluster_index, exponential, on_grid

Ties = Literal["half", "davidson"]


class Part(NamedTuple):
    """What is fitted at once: one group or, where groups share terms or a tie parameter, all of them.

    Attributes
    ----------
    models : array of int, shape (models,)
        The places of its models among all.
    likelihood : Likelihood
        Terms are divided by their `scales`.
    cells : Cells
    parameters : array, shape (parameters,)
        nan where no finite ones fit best; coefficients are multiplied by their `scales`.
    scales : array, shape (parameters,)
        Powers of two by which terms are between -1 and 1; 1 for other parameters.
    reason : str or None
        Why the parameters are nan, although chains of wins join each group.
    """

    models: Indices
    likelihood: Likelihood
    cells: Cells
    parameters: Floats
    scales: Floats
    reason: str | None


def fit_parts(
    data: Comparisons, groups: Sequence[Sequence[int]], names: Sequence[str], ties: Ties, penalty: float
) -> list[Part]:
    """Fit comparisons within groups of models, each model of several in one group; groups of one model are left out.

    Raises `MetricInputError` where one of the terms, of these `names`, cannot be estimated.
    """
    several = [group for group in groups if len(group) > 1]
    joint = names or ties == "davidson"
    found = []
    for part in [several] if joint and several else [[group] for group in several]:
        models = np.concatenate([np.asarray(group, dtype=np.intp) for group in part])
        number = np.full(max(map(max, groups)) + 1, -1)
        number[models] = np.repeat(np.arange(len(part)), [len(group) for group in part])
        place = np.zeros_like(number)
        place[models] = np.arange(len(models))
        within = (number[data.first] == number[data.second]) & (number[data.first] >= 0)
        own = data.of(within)
        _, exponents = np.frexp(np.abs(own.terms).max(axis=1, initial=0))
        scale = np.ldexp(1.0, exponents)
        own = own._replace(first=place[own.first], second=place[own.second], terms=own.terms / scale[:, np.newaxis])
        likelihood, cells = count_by_design(own, number[models], davidson=ties == "davidson", penalty=penalty)
        total = cells.total()
        _check_terms(likelihood, total, names)
        parameters = maximize(likelihood, total, likelihood.start)[0]
        scales = np.ones_like(parameters)
        scales[len(models) : len(models) + len(names)] = scale
        reason = None
        if np.isnan(parameters).any():
            others = [*(f"term {name!r}" for name in names), *(["the tie parameter"] if ties == "davidson" else [])]
            reason = f"no finite strengths fit best beside {' and '.join(others)}: some outcomes never vary"
        found.append(Part(models, likelihood, cells, parameters, scales, reason))
    return found


def _check_terms(likelihood: Likelihood, total: Counts, names: Sequence[str]) -> None:
    """Raise for the first term that the strengths and the terms before it determine."""
    models, start = len(likelihood.groups), likelihood.start[np.newaxis]
    curvature = likelihood.curvature(total, likelihood.chances(start)) if names else start
    for place, name in enumerate(names):
        values = likelihood.terms[place]
        if not values.any():
            raise MetricInputError(f"term {name!r} is 0 in every comparison that counts")
        varies = (np.maximum.reduceat(values, likelihood.starts) > np.minimum.reduceat(values, likelihood.starts)).any()
        if not varies and np.ptp(np.abs(values)) == 0:
            raise MetricInputError(
                f"term {name!r} has one value for each pair of models, so that it cannot be estimated beside the "
                "strengths; was each pair shown in one order only?"
            )
        if information_left(curvature, models, place + 1)[0] < COLLINEAR:
            others = f" and of {', '.join(map(repr, names[:place]))}" if place else ""
            raise MetricInputError(
                f"term {name!r} is a sum of constants of the two models{others}, so that it cannot be estimated beside "
                "the strengths; is there one judge only?"
            )


@dataclass(frozen=True, eq=False, slots=True)
class ComparisonFit:
    """The strengths that fit comparisons best.

    Attributes
    ----------
    labels : tuple of str or int
        The models, sorted.
    clusters : tuple
        The labels of the clusters, sorted.
    strengths : array, shape (models,)
        Natural logarithms of odds, 0 being the mean of the group; nan where `reasons` says why. With terms they are the
        strengths of answers whose terms are 0: with the bias removed.
    groups : array of int, shape (models,)
        The number of each model's group, from 1; a group that beat others comes before them. All 1 with a penalty.
    reasons : tuple of str or None
        For each model, why its strength is nan, or what limits its comparison with others.
    terms : dict of str to float
        The coefficient of each term, by which one unit of it raises the log odds of its side; nan where the strengths
        are.
    ties : {"half", "davidson"}
        How ties were treated.
    tie : float or None
        Davidson's nu, from 0: equal models tie in ``nu / (2 + nu)`` of comparisons. None with ties as half wins.
    penalty : float
        That of the fit, 0 for none.
    log_likelihood : float
        Of the comparisons within groups, without the penalty; at most 0.
    influence : array, shape (clusters, models)
        How fast each strength changes with the weight of each cluster: the infinitesimal jackknife [1]_. Each column
        sums to 0 up to rounding, so that ``strength + number of clusters * influence`` are pseudo-values with the
        strength as their mean; the root of the sum of squares is a standard error. nan where the strength is.
    term_influence : dict of str to array, shape (clusters,)
        The same of each coefficient.
    covariance : array, shape (models, models)
        Of the strengths, where comparisons are independent: the inverse of the curvature. nan where a strength is, and
        for models of different groups.

    References
    ----------
    .. [1] Jaeckel (1972), The infinitesimal jackknife, Bell Laboratories; Efron, Tibshirani (1993), An Introduction to
       the Bootstrap, section 21.3.
    """

    labels: tuple[str | int, ...]
    clusters: tuple[Any, ...]
    strengths: Floats
    groups: Indices
    reasons: tuple[str | None, ...]
    terms: dict[str, float]
    ties: Ties
    tie: float | None
    penalty: float
    log_likelihood: float
    influence: Floats
    term_influence: dict[str, Floats]
    covariance: Floats


def fit_comparisons(
    left: ArrayLike,
    right: ArrayLike,
    outcome: ArrayLike,
    *,
    clusters: Iterable[Hashable],
    weights: ArrayLike | None = None,
    ties: Ties = "half",
    terms: Mapping[str, ArrayLike] | None = None,
    penalty: float | None = None,
) -> ComparisonFit:
    """Fit strengths of models to comparisons in twos, the most likely ones, whatever the order of the comparisons.

    Parameters
    ----------
    left, right : array_like of str or int, shape (comparisons,)
        The labels of the two models of each comparison.
    outcome : array_like of float, shape (comparisons,)
        1 where the left one won, 0 where the right one did, 0.5 for a tie.
    clusters : iterable of str or int
        The label of each comparison's cluster; for independent comparisons the id of the comparison.
    weights : array_like of float, shape (comparisons,), optional
        How much each comparison counts, from 0; by default 1. A margin of victory counts if it is given as a weight.
    ties : {"half", "davidson"}
        A tie is half a win for each side, or has a probability of its own, with Davidson's parameter nu.
    terms : mapping of str to array_like of float, shape (comparisons,), optional
        What else may decide, by name: its value for the left side, which would be the negative if the sides were
        swapped, such as 1 where left was shown first and -1 where right was, or the log ratio of the two lengths.
    penalty : float, optional
        Above 0: ``penalty / 2 * sum of strength^2`` is subtracted from the log likelihood, a normal prior of mean 0 and
        variance ``1 / penalty``, which makes the strengths of unbeaten and unconnected models finite, and all strengths
        smaller. Without it those models have no strength.

    Returns
    -------
    ComparisonFit
        Where terms or ties have no finite parameters, all strengths are nan, and ``reasons`` says so.

    Raises
    ------
    MetricInputError
        If lengths differ, a label is no text or whole number, a model is compared with itself, an outcome, a weight or
        an option is out of range, or a term does not vary in a way that tells it from the strengths.
    ArithmeticError
        If the steps of the fit do not end.

    Examples
    --------
    Ada wins three of four comparisons, so that the strengths differ by log(3):

    >>> fit = fit_comparisons(["ada"] * 4, ["bob"] * 4, [1, 1, 1, 0], clusters=range(4))
    >>> fit.labels, fit.strengths.round(4).tolist()
    (('ada', 'bob'), [0.5493, -0.5493])

    In 8 comparisons of equal models the first one shown wins 3 of 4, the odds of being first are 3:

    >>> first = [1, 1, 1, 1, -1, -1, -1, -1]
    >>> outcome = [1, 1, 1, 0, 0, 0, 0, 1]
    >>> fit = fit_comparisons(["ada"] * 8, ["bob"] * 8, outcome, clusters=range(8), terms={"position": first})
    >>> round(fit.terms["position"], 4), fit.strengths.round(4).tolist()
    (1.0986, [0.0, 0.0])
    """
    given = clusters if isinstance(clusters, np.ndarray) else check_list(clusters, "clusters", "labels")
    index = cluster_index(given)
    named = dict(zip(index.tolist(), given.tolist() if isinstance(given, np.ndarray) else given, strict=True))
    labels, data = check_comparisons(left, right, outcome, index, weights, terms)
    prior = check_options(ties, penalty)
    models, size = len(labels), len(named)
    groups, reasons = group_models(data.wins(models), prior)
    names = [*(terms or {})]
    strengths, influence = np.full(models, np.nan), np.full((size, models), np.nan)
    coefficients = dict.fromkeys(names, float("nan"))
    term_influence = {name: np.full(size, np.nan) for name in names}
    tie = float("nan") if ties == "davidson" else None
    covariance = np.full((models, models), np.nan)
    likelihood_found = 0.0
    for part in fit_parts(data, groups, names, ties, prior):
        if part.reason:
            for place in part.models:
                reasons[place] = part.reason
            continue
        k = len(part.models)
        strengths[part.models] = part.parameters[:k]
        coefficients |= zip(names, (part.parameters / part.scales)[k:].tolist(), strict=False)
        if ties == "davidson":
            tie = float(exponential(part.parameters[-1:])[0])
        inverse = _inverse(part)
        moved = influence_of(part, size, inverse)
        influence[:, part.models] = moved[:, :k]
        term_influence |= zip(names, moved[:, k:].T, strict=False)
        covariance[np.ix_(part.models, part.models)] = _centred(inverse[:k, :k], part.likelihood)
        penalized = prior / 2 * (part.parameters[:k] ** 2).sum()
        likelihood_found += part.likelihood.objective(part.cells.total(), part.parameters[np.newaxis])[0] + penalized
    numbers = np.empty(models, dtype=np.intp)
    for number, group in enumerate(groups, 1):
        numbers[group] = number
    return ComparisonFit(
        tuple(labels), tuple(named[place] for place in range(size)), strengths, numbers, tuple(reasons), coefficients,
        ties, tie, prior, round(likelihood_found, 9), influence, term_influence, covariance,
    )  # fmt: skip


def group_models(wins: Floats, penalty: float) -> tuple[list[list[int]], list[str | None]]:
    """Return the groups of models, and for each model why it has no strength or what limits its comparison.

    With a penalty, all models with a comparison are in one group.
    """
    groups = find_groups(wins)
    reasons: list[str | None] = [None] * len(wins)
    if not penalty:
        for number, group in enumerate(groups, 1):
            within = f"compared within group {number} of {len(groups)} only" if len(groups) > 1 else None
            for place in group:
                reasons[place] = _why_alone(wins, place) if len(group) == 1 else within
        return groups, reasons
    compared = [group for group in groups if wins[group].any() or wins[:, group].any()]
    for group in compared if len(compared) > 1 else ():
        for place in group:
            chains = f"no chains of wins join all {len(compared)} groups"
            why = _why_alone(wins, place) if len(group) == 1 else chains
            reasons[place] = f"finite by the penalty alone: {why}"
    without = [group for group in groups if group not in compared]
    for [place] in without:
        reasons[place] = _why_alone(wins, place)
    joined = sorted(place for group in compared for place in group)
    return [joined, *without] if joined else without, reasons


def _inverse(part: Part) -> Floats:
    """Return the inverse of the curvature (parameters, parameters)."""
    chances = part.likelihood.chances(part.parameters[np.newaxis])
    [curvature] = part.likelihood.curvature(part.cells.total(), chances)
    rough = np.linalg.inv(curvature)
    found = on_grid(rough, STEP_ROUNDED)
    # As in `maximize`, the last digits of a library of linear algebra are made up for.
    rest = np.eye(len(rough)) - _product(curvature, found)
    return found + on_grid(_product(rough, rest), STEP_ROUNDED)


def _product(one: Floats, other: Floats) -> Floats:
    """Return the product of two matrices, by sums in one order."""
    found = np.zeros((len(one), other.shape[1]))
    for column, row in zip(one.T, other, strict=True):
        found += column[:, np.newaxis] * row
    return found


def influence_of(part: Part, clusters: int, inverse: Floats | None = None) -> Floats:
    """Return the influence (clusters, parameters) of each cluster: the inverse curvature times its gradient."""
    likelihood, cells = part.likelihood, part.cells
    design = cells.design()
    pair = likelihood.pair_of_design()[design]
    won, lost, tie = (chance[0, design] for chance in likelihood.chances(part.parameters[np.newaxis]))
    left, right, tied = cells.values
    surplus = left * (lost + tie / 2) - right * (won + tie / 2)
    gradient = np.zeros((clusters, len(part.parameters)))
    np.add.at(gradient, (cells.clusters, likelihood.first[pair]), surplus)
    np.subtract.at(gradient, (cells.clusters, likelihood.second[pair]), surplus)
    for place, term in enumerate(likelihood.terms, len(likelihood.groups)):
        np.add.at(gradient[:, place], cells.clusters, surplus * term[design])
    if likelihood.davidson:
        np.add.at(gradient[:, -1], cells.clusters, tied - (left + right) * tie)
    gradient -= gradient.mean(axis=0)  # as if each cluster had an equal share of the penalty
    found = _product(gradient, _inverse(part) if inverse is None else inverse)
    found /= part.scales
    return found


def _centred(covariance: Floats, likelihood: Likelihood) -> Floats:
    """Return the covariance of strengths that have mean 0 within groups, but for a penalty; nan between groups."""
    if likelihood.penalty:
        return covariance
    same = np.equal.outer(likelihood.groups, likelihood.groups)
    for group in np.unique(likelihood.groups):
        members = likelihood.groups == group
        covariance = covariance - np.outer(members, covariance[members].mean(axis=0))
        covariance = covariance - np.outer(covariance[:, members].mean(axis=1), members)
    return np.where(same, covariance, np.nan)


def _why_alone(wins: Floats, place: int) -> str:
    if not wins[:, place].any():
        return "won every comparison" if wins[place].any() else "no comparison counts"
    if not wins[place].any():
        return "lost every comparison"
    return "beat only models that never beat it, and lost only to models that it never beat"


class AnchorLine(NamedTuple):
    """The line that maps ratings to a scale on which anchors have given values: ``intercept + slope * rating``."""

    slope: float
    intercept: float


def anchor_line(ratings: Mapping[str, float], anchors: Mapping[str, float]) -> AnchorLine:
    """Return the line through one or two anchors; the ends of intervals are mapped by the same line.

    Parameters
    ----------
    ratings : mapping of str to float
        The rating of each model.
    anchors : mapping of str to float
        The values that one or two of the models shall have. With one, the line is a shift, of slope 1.

    Returns
    -------
    AnchorLine
        The slope is below 0 where the anchors turn the order of the ratings.

    Raises
    ------
    MetricInputError
        If there are no anchors, or more than two, an anchor has no rating or a value that is not finite, or both have
        the same rating.

    Examples
    --------
    >>> line = anchor_line({"top": 1561.3, "low": 991.8, "new": 1300}, {"top": 1500, "low": 200})
    >>> round(line.slope, 6), round(line.intercept + line.slope * 1300, 4)
    (2.282704, 903.5294)
    """
    check_mapping(ratings, "ratings", "of models to ratings")
    check_mapping(anchors, "anchors", "of one or two models to their values")
    if len(anchors) not in {1, 2}:
        raise MetricInputError(
            f"anchors has {len(anchors)} models; expected two, or one that shifts all ratings without a change of scale"
        )
    for name in anchors:
        if name not in ratings:
            raise MetricInputError(f"anchor {name!r} is not among the {len(ratings)} rated models")
        if not isfinite(ratings[name]):
            raise MetricInputError(f"anchor {name!r} has the rating {ratings[name]}; choose a model with a finite one")
        check_number(anchors[name], f"value of anchor {name!r}", -inf, inf)
    [one, *rest] = anchors
    slope = 1.0
    for other in rest:
        if ratings[one] == ratings[other]:
            raise MetricInputError(
                f"anchors {one!r} and {other!r} have the same rating, {ratings[one]:g}; choose two that differ"
            )
        slope = (anchors[other] - anchors[one]) / (ratings[other] - ratings[one])
    return AnchorLine(slope, anchors[one] - slope * ratings[one])


def anchored(ratings: Mapping[str, float], anchors: Mapping[str, float]) -> dict[str, float]:
    """Map ratings to a scale on which one or two models have given values; see `anchor_line`.

    Parameters
    ----------
    ratings : mapping of str to float
        The rating of each model, nan for a model without one.
    anchors : mapping of str to float
        The values that one or two of the models shall have.

    Returns
    -------
    dict of str to float
        ``intercept + slope * rating`` of each model; nan stays nan.

    Raises
    ------
    MetricInputError
        As `anchor_line`.

    Examples
    --------
    >>> anchored({"ada": 0.5, "bob": -0.5, "eve": 0.0}, {"ada": 1500, "bob": 500})
    {'ada': 1500.0, 'bob': 500.0, 'eve': 1000.0}
    """
    line = anchor_line(ratings, anchors)
    mapped = {name: line.intercept + line.slope * rating for name, rating in ratings.items()}
    return mapped | {name: float(value) for name, value in anchors.items()}  # exactly


def check_options(ties: str, penalty: float | None) -> float:
    """Return the penalty, 0 for None; raise for an unknown option."""
    if ties not in get_args(Ties):
        raise MetricInputError(f"unknown ties {ties!r}; expected half or davidson")
    hint = "None is no penalty, 1 a prior of standard deviation 1"
    return 0.0 if penalty is None else check_positive(penalty, "penalty", hint)


def check_comparisons(
    left: ArrayLike,
    right: ArrayLike,
    outcome: ArrayLike,
    clusters: Indices,
    weights: ArrayLike | None,
    terms: Mapping[str, ArrayLike] | None,
) -> tuple[list[Any], Comparisons]:
    """Return the sorted labels, and the comparisons of a weight above 0."""
    sides = [_check_labels(left, "left"), _check_labels(right, "right")]
    won = check_array(outcome, "outcome", "comparisons")
    weight = np.ones(len(won)) if weights is None else check_array(weights, "weights", "comparisons")
    values = _check_values(terms)
    sizes = {"left": len(sides[0]), "right": len(sides[1]), "outcome": len(won), "weights": len(weight)}
    sizes |= {f"term {name!r}": len(one) for name, one in values.items()}
    for name, size in sizes.items():
        if size != len(clusters):
            raise MetricInputError(f"{name} has {size} comparisons, clusters {len(clusters)}")
    for place in np.flatnonzero(~np.isin(won, (0, 0.5, 1)))[:1]:
        raise MetricInputError(f"outcome[{place}] is {won[place]:g}; expected 1, 0.5 or 0")
    for place in np.flatnonzero(~(np.isfinite(weight) & (weight >= 0)))[:1]:
        raise MetricInputError(f"weights[{place}] is {weight[place]:g}; expected a finite number from 0")
    if len(won) and len({one.dtype.kind == "U" for one in sides}) > 1:
        raise MetricInputError("left and right have labels of mixed types; use text for all")
    labels, places = np.unique(np.concatenate(sides), return_inverse=True)
    first, second = places.reshape(2, -1)
    for place in np.flatnonzero(first == second)[:1]:
        raise MetricInputError(f"comparison {place} is of {labels[first[place]].item()!r} with itself")
    half = np.where(won == 0.5, weight / 2, 0)
    counts = np.array([np.where(won == 1, weight, half), np.where(won == 0, weight, half), 2 * half])
    matrix = np.array([*values.values()]).reshape(len(values), len(won))
    return labels.tolist(), Comparisons(first, second, counts, clusters, matrix).of(weight > 0)


def _check_values(terms: Mapping[str, ArrayLike] | None) -> dict[str, Floats]:
    """Return the values of each term."""
    found = {}
    for name, given in check_mapping(terms or {}, "terms", "of names to values").items():
        values = check_array(given, f"term {name!r}", "comparisons")  # type: ignore[arg-type]
        for place in np.flatnonzero(~np.isfinite(values))[:1]:
            raise MetricInputError(f"term {name!r} is {values[place]:g} in comparison {place}; expected finite numbers")
        found[str(name)] = values
    return found


def _check_labels(labels: ArrayLike, name: str) -> NDArray[Any]:
    """Return labels as an array of texts or of whole numbers."""
    if not isinstance(labels, np.ndarray):
        given = check_list(labels, name, "labels, one for each comparison")
        kinds = {str if isinstance(label, str) else type(label) for label in given}
        if not (kinds <= {str} or all(issubclass(kind, int | np.integer) and kind is not bool for kind in kinds)):
            names = ", ".join(sorted(kind.__name__ for kind in kinds))
            raise MetricInputError(f"{name} has labels of the types {names}; expected texts, or whole numbers")
        labels = np.array(given, dtype=None if given else np.int64)
    if labels.ndim != 1 or labels.dtype.kind not in "Uiu":
        raise MetricInputError(f"{name} has shape {labels.shape} of {labels.dtype}; expected texts or whole numbers")
    return labels
