"""The likelihood of comparisons in twos, counted by pair and cluster, and its maximum.

`attune_metrics.stats.pairwise` has the model and its conventions.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attune_metrics.metric import MetricInputError, warn_undefined
from attune_metrics.stats.sums import Floats, Streamed, Weights, check_array, exponential, on_grid

Indices = NDArray[np.intp]

STEP_ROUNDED = 53 - 24  # bits of the largest value of a step that do not count
_NO_TIES = -1000.0  # log of a tie parameter of 0
_SEPARATED = 30.0  # log odds of a comparison beyond which no finite parameters fit best: a chance below 1e-13
COLLINEAR = 1e-9  # share of a term's information that the strengths and other terms leave
_AT_ONCE = 2**17  # numbers that are worked on at one time


class Chances(NamedTuple):
    """The probabilities of the three outcomes, each of shape (fits, designs)."""

    left: Floats
    right: Floats
    tie: Floats


class Counts(NamedTuple):
    """Sums of weights by who won, each of shape (fits, designs); a tie is half for left and half for right."""

    left: Floats
    right: Floats
    tied: Floats


@dataclass(frozen=True, eq=False, slots=True)
class Likelihood:
    """The log likelihood of comparisons, which are counted by design: one pair of models, one value of each term.

    Many fits, such as those of resamples, are computed at the same time. Parameters have the shape (fits, parameters):
    the strengths, the coefficients of the terms and, with Davidson's ties, log nu.

    Attributes
    ----------
    first, second : array of int, shape (pairs,)
        The places of the models of each pair, the first below the second; left is the first.
    starts : array of int, shape (pairs,)
        The first design of each pair.
    sizes : array of int, shape (pairs,)
        The number of designs of each pair.
    terms : array, shape (terms, designs)
        The value of each term.
    groups : array of int, shape (models,)
        The group of each model; strengths have mean 0 within each.
    davidson : bool
        Whether nu is a parameter; else it is 0.
    penalty : float
        Subtracted is ``penalty / 2 * sum of strength^2``.
    """

    first: Indices
    second: Indices
    starts: Indices
    sizes: Indices
    terms: Floats
    groups: Indices
    davidson: bool
    penalty: float

    @property
    def start(self) -> Floats:
        """Parameters (parameters,) to start from: 0, so that nu is 1."""
        return np.zeros(len(self.groups) + len(self.terms) + self.davidson)

    def pair_of_design(self) -> Indices:
        """Return the pair of each design."""
        return np.repeat(np.arange(len(self.first)), self.sizes)

    def log_odds(self, parameters: Floats) -> Floats:
        """``eta = strength[left] - strength[right] + sum of coefficient * term``, shape (fits, designs)."""
        models = len(self.groups)
        eta: Floats = parameters[:, self.first] - parameters[:, self.second]
        if eta.shape[1] < self.terms.shape[1]:
            eta = np.repeat(eta, self.sizes, axis=1)
        for place, term in enumerate(self.terms, models):
            eta += parameters[:, place, np.newaxis] * term
        return eta

    def chances(self, parameters: Floats) -> Chances:
        """``exp(eta / 2) / Z``, ``exp(-eta / 2) / Z`` and ``nu / Z``."""
        eta = self.log_odds(parameters)
        root = exponential(-np.abs(eta) / 2)
        nu = exponential(parameters[:, -1:]) if self.davidson else np.zeros((len(eta), 1))
        square, tie, is_left = root * root, nu * root, eta >= 0
        ahead = 1 / (1 + square + tie)  # of the side with the higher odds
        behind = square * ahead
        return Chances(np.where(is_left, ahead, behind), np.where(is_left, behind, ahead), tie * ahead)

    def objective(self, counts: Counts, parameters: Floats) -> Floats:
        """``sum of (left - right) / 2 * eta + tied * log nu - n log Z``, less the penalty, shape (fits,)."""
        eta, chances = self.log_odds(parameters), self.chances(parameters)
        n = counts.left + counts.right
        log_z = np.abs(eta) / 2 - np.log(np.maximum(chances.left, chances.right))
        value: Floats = ((counts.left - counts.right) / 2 * eta - n * log_z).sum(axis=1)
        if self.davidson:
            value += (counts.tied * parameters[:, -1:]).sum(axis=1)
        strengths = parameters[:, : len(self.groups)]
        value -= self.penalty / 2 * (strengths * strengths).sum(axis=1)
        return value

    def gradient(self, counts: Counts, chances: Chances) -> Floats:
        """Slope of `objective` without the penalty: what happened less what was expected, shape (fits, parameters)."""
        share_left, share_right = chances.left + chances.tie / 2, chances.right + chances.tie / 2
        surplus = counts.left * share_right - counts.right * share_left
        parts = [self._by_model(surplus)]
        parts += [(surplus * term).sum(axis=1, keepdims=True) for term in self.terms]
        if self.davidson:
            n = counts.left + counts.right
            parts.append((counts.tied - n * chances.tie).sum(axis=1, keepdims=True))
        return np.concatenate(parts, axis=1)

    def curvature(self, counts: Counts, chances: Chances) -> Floats:
        """Minus the Hessian of `objective`: variances of what is summed in `gradient`.

        It has the shape (fits, parameters, parameters). It is made regular: for each group, the constant vector, along
        which nothing changes, is added.
        """
        n = counts.left + counts.right
        won, lost, tie = chances
        models, size = len(self.groups), len(self.start)
        variance = n * (won * lost + tie * (won + lost) / 4)  # of the half by which a win raises the log odds
        found = np.zeros((len(n), size, size))
        between = self._square(variance, both=True)
        diagonal = np.arange(models)
        total = between.sum(axis=2)
        of_strengths = found[:, :models, :models]
        constant = total.mean(axis=1)[:, np.newaxis, np.newaxis] / models
        np.subtract(constant * np.equal.outer(self.groups, self.groups), between, out=of_strengths)
        of_strengths[:, diagonal, diagonal] += total + self.penalty
        for place, term in enumerate(self.terms, models):
            found[:, place, :models] = self._by_model(variance * term)
            for other, other_term in enumerate(self.terms[: place - models + 1], models):
                found[:, place, other] = (variance * (term * other_term)).sum(axis=1)
        if self.davidson:
            together = n * (lost - won) / 2 * tie  # covariance of a win's half and a tie
            found[:, -1, :models] = self._by_model(together)
            for place, term in enumerate(self.terms, models):
                found[:, -1, place] = (together * term).sum(axis=1)
            of_ties = (n * tie * (won + lost)).sum(axis=1)
            found[:, -1, -1] = np.where(of_ties > 0, of_ties, 1)  # where nu is 0 it is no parameter
        found[:, :models, models:] = found[:, models:, :models].transpose(0, 2, 1)
        upper = np.triu_indices(size - models, 1)
        found[:, upper[0] + models, upper[1] + models] = found[:, upper[1] + models, upper[0] + models]
        return found

    def slope(self, counts: Counts, chances: Chances, parameters: Floats) -> Floats:
        """`gradient` less the slope of the penalty."""
        found = self.gradient(counts, chances)
        models = len(self.groups)
        found[:, :models] -= self.penalty * parameters[:, :models]
        return found

    def wins(self, counts: Counts) -> Floats:
        """Return the wins (fits, models, models) of one model over the other, a tie half for each."""
        return self._square(counts.left) + self._square(counts.right).transpose(0, 2, 1)

    def _square(self, values: Floats, *, both: bool = False) -> Floats:
        """Return sums over designs (fits, models, models), above the diagonal, or on both sides of it."""
        models = len(self.groups)
        found = np.zeros((len(values), models * models))
        of_pairs = values if len(self.starts) == values.shape[1] else np.add.reduceat(values, self.starts, axis=1)
        found[:, self.first * models + self.second] = of_pairs
        if both:
            found[:, self.second * models + self.first] = of_pairs
        return found.reshape(len(values), models, models)

    def _by_model(self, values: Floats) -> Floats:
        """Return sums over designs (fits, models), of a model's as the first less those as the second."""
        square = self._square(values)
        difference: Floats = square.sum(axis=2) - square.sum(axis=1)
        return difference


def maximize(likelihood: Likelihood, counts: Counts, start: Floats) -> Floats:
    """Return the most likely parameters (fits, parameters), nan where no finite ones fit best.

    Newton's method, from the parameters `start` (parameters,). Each step d is shortened to ``log(1 + r) / r`` of
    itself, r being how far it moves the log weights of two outcomes of a comparison apart, so that it never overshoots
    [1]_. It ends when no parameter moves by 1e-10; as a step squares the error, only rounding is left.

    Without a penalty, the wins must join each group by chains. Of terms and ties no such rule is checked: there are no
    finite parameters where some comparison's log odds, or log nu, pass 30.

    References
    ----------
    .. [1] Sun, Tran-Dinh (2019), Generalized self-concordant functions, Math. Program. 178, 145-213.
    """
    models = len(likelihood.groups)
    members = np.equal.outer(likelihood.groups, likelihood.groups)
    members = members / members.sum(axis=1)
    bounded = likelihood.davidson or len(likelihood.terms) > 0
    found: Floats = np.tile(start, (len(counts.left), 1))
    if likelihood.davidson:
        found[~counts.tied.any(axis=1), -1] = _NO_TIES
    if len(likelihood.terms):
        curvature = likelihood.curvature(counts, likelihood.chances(found))
        found[information_left(curvature, models, len(likelihood.terms)) < COLLINEAR] = np.nan
    active = np.flatnonzero(~np.isnan(found).any(axis=1))
    for _ in range(1000):
        if not len(active):
            return found
        now = found[active]
        own = Counts(*(part[active] for part in counts)) if len(active) < len(found) else counts
        chances = likelihood.chances(now)
        slope, curvature = likelihood.slope(own, chances, now), likelihood.curvature(own, chances)
        step = np.asarray(np.linalg.solve(curvature, slope[..., np.newaxis])[..., 0], dtype=np.float64)
        reach = np.abs(likelihood.log_odds(step)).max(axis=1, initial=0)
        if likelihood.davidson:
            reach = np.maximum(reach, reach / 2 + np.abs(step[:, -1]))
        step *= np.divide(np.log1p(reach), reach, out=np.ones_like(reach), where=reach > 0)[:, np.newaxis]
        # Libraries of linear algebra differ in the last digits of a step. Without these all processors take equal
        # steps, and the next step makes up for them.
        step = on_grid(step.T, STEP_ROUNDED).T
        step[:, :models] -= (step[:, np.newaxis, :models] * members).sum(axis=2)
        now += step
        if bounded:
            far = np.abs(likelihood.log_odds(now)).max(axis=1) > _SEPARATED
            far |= likelihood.davidson & (now[:, -1] > _SEPARATED)
            now[far] = np.nan
        found[active] = now
        active = active[(np.abs(step) >= 1e-10).any(axis=1) & ~np.isnan(now[:, 0])]
    raise ArithmeticError("the fit of comparisons did not converge in 1000 steps")


def information_left(curvature: Floats, models: int, terms: int) -> Floats:
    """Return the least share (fits,) of a term's information that strengths and other terms leave, 0 to 1."""
    of_strengths, crossed = curvature[:, :models, :models], curvature[:, :models, models : models + terms]
    own = curvature[:, models : models + terms, models : models + terms]
    left = own - crossed.transpose(0, 2, 1) @ np.linalg.solve(of_strengths, crossed)
    scale = np.sqrt(own.diagonal(axis1=1, axis2=2))
    scale = np.where(scale > 0, scale, np.inf)
    least: Floats = np.linalg.eigvalsh(left / (scale[:, :, np.newaxis] * scale[:, np.newaxis]))[:, 0]
    return least


class Comparisons(NamedTuple):
    """Checked comparisons that count: models by place, weights by who won, clusters and terms by place.

    Attributes
    ----------
    first, second : array of int, shape (comparisons,)
    counts : array, shape (3, comparisons)
        As `Counts`.
    clusters : array of int, shape (comparisons,)
    terms : array, shape (terms, comparisons)
    """

    first: Indices
    second: Indices
    counts: Floats
    clusters: Indices
    terms: Floats

    def of(self, chosen: NDArray[Any]) -> "Comparisons":
        """Return the comparisons that `chosen` indexes."""
        return Comparisons(
            self.first[chosen], self.second[chosen], self.counts[:, chosen], self.clusters[chosen],
            self.terms[:, chosen],
        )  # fmt: skip

    def wins(self, models: int) -> Floats:
        """Return sums of weights (models, models) of wins of one model over the other, a tie half for each."""
        found = np.zeros((models, models))
        for one, other, values in ((self.first, self.second, 0), (self.second, self.first, 1)):
            order = np.argsort(self.counts[values], kind="stable")
            np.add.at(found, (one[order], other[order]), self.counts[values, order])
        return found

    def ties(self, models: int) -> Floats:
        """Return sums of weights (models,) of the ties of each model."""
        order = np.argsort(self.counts[2], kind="stable")
        found = np.zeros(models)
        for one in (self.first, self.second):
            np.add.at(found, one[order], self.counts[2, order])
        return found


@dataclass(frozen=True, eq=False, slots=True)
class Cells:
    """Comparisons counted by design and cluster, in the order of these, so that the order of comparisons is lost.

    Attributes
    ----------
    values : array, shape (3, cells)
        As `Counts`.
    clusters : array of int, shape (cells,)
    sizes : array of int, shape (cells,)
        The number of comparisons.
    starts : array of int, shape (designs,)
        The first cell of each design.
    """

    values: Floats
    clusters: Indices
    sizes: Indices
    starts: Indices

    def design(self) -> Indices:
        """Return the design of each cell."""
        return np.repeat(np.arange(len(self.starts)), np.diff(self.starts, append=len(self.clusters)))

    def total(self) -> Counts:
        """Return the counts of all clusters, those of one fit."""
        return Counts(*np.add.reduceat(self.values[:, np.newaxis], self.starts, axis=2))

    def drawn(self, weights: NDArray[np.uint8]) -> Counts:
        """Return the counts where each cluster counts as often as `weights` (fits, clusters) says."""
        from scipy.sparse import csr_array

        often, found = np.ascontiguousarray(weights.T, dtype=np.float64), list[Floats]()
        for part in self.values:
            place = np.flatnonzero(part)  # of most comparisons one outcome occurs
            ends = np.searchsorted(place, np.append(self.starts, len(part)))
            by_design = csr_array((part[place], self.clusters[place], ends), shape=(len(self.starts), len(often)))
            found.append(np.ascontiguousarray((by_design @ often).T))
        return Counts(*found)


def count_by_design(
    data: Comparisons, groups: Indices, *, davidson: bool = False, penalty: float = 0
) -> tuple[Likelihood, Cells]:
    """Count comparisons, of which there is one at least, by design and cluster.

    A design's first model is the one with the lower place: where left is the other one, the sides are swapped.
    """
    swapped = data.first > data.second
    first, second = np.where(swapped, [data.second, data.first], [data.first, data.second])
    left, right, tied = data.counts
    values = np.array([np.where(swapped, right, left), np.where(swapped, left, right), tied])
    terms = np.where(swapped, -data.terms, data.terms)
    # Last by size, so that sums are added in an order of their own.
    order = np.lexsort((*values, data.clusters, *terms[::-1], second, first))
    first, second, clusters, terms = first[order], second[order], data.clusters[order], terms[:, order]
    new_pair = _changes(first) | _changes(second)
    new_design = np.logical_or.reduce([_changes(term) for term in terms], initial=False) | new_pair
    cells = np.flatnonzero(new_design | _changes(clusters))
    designs, pairs = np.flatnonzero(new_design), np.flatnonzero(new_pair)
    starts = np.searchsorted(designs, pairs)
    likelihood = Likelihood(
        first[pairs], second[pairs], starts, np.diff(starts, append=len(designs)), terms[:, designs], groups,
        davidson, penalty,
    )  # fmt: skip
    added = np.add.reduceat(values[:, order], cells, axis=1)
    sizes = np.diff(cells, append=len(order))
    return likelihood, Cells(added, clusters[cells], sizes, np.searchsorted(cells, designs))


def _changes(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Return whether each value differs from the one before it."""
    return np.concatenate([[True], values[1:] != values[:-1]])


def drawn_blocks(weights: Weights, cells: int) -> Iterator[tuple[slice, NDArray[np.uint8]]]:
    """Yield `weights` in blocks of so few rows that each has about a hundred thousand `cells`."""
    step, first = max(1, _AT_ONCE // max(cells, 1)), 0
    for part in weights.draw() if isinstance(weights, Streamed) else [weights]:
        for start in range(0, len(part), step):
            block = part[start : start + step]
            yield slice(first, first + len(block)), block
            first += len(block)


def chains(wins: Floats) -> NDArray[np.bool_]:
    """Return whether each item beats each other one through a chain of wins (..., items, items)."""
    k = wins.shape[-1]
    chain: NDArray[np.bool_] = np.eye(k, dtype=bool) | (wins > 0)
    for middle in range(k):
        chain |= chain[..., middle, np.newaxis] & chain[..., np.newaxis, middle, :]
    return chain


def find_groups(wins: Floats) -> list[list[int]]:
    """Return the sets of items that beat each other through chains of wins; one that beat others is before them."""
    chain = chains(wins)
    groups = {tuple(np.flatnonzero(row & chain[:, place]).tolist()) for place, row in enumerate(chain)}
    return [[*group] for group in sorted(groups, key=lambda group: (-chain[group[0]].sum(), group))]


def bradley_terry(wins: ArrayLike) -> Floats:
    """Bradley-Terry strengths: the most likely ones where i beats j with ``1 / (1 + exp(strength[j] - strength[i]))``.

    Parameters
    ----------
    wins : array_like, shape (items, items)
        ``wins[i, j]`` is how often i beat j, a tie being half a win for each; the diagonal is not used.

    Returns
    -------
    array, shape (items,)
        Log strengths, higher is better, with mean 0: only their differences mean something. All nan, with
        `UndefinedMetricWarning` and the reason, if no finite strengths fit best, that is, if some items never lost to
        the others, or were never compared with them [1]_.

    Raises
    ------
    MetricInputError
        If `wins` is not square, or a number of wins is negative, infinite or missing.
    ArithmeticError
        If the steps of the fit do not end.

    References
    ----------
    .. [1] Ford (1957), Solution of a ranking problem from binary comparisons, Am. Math. Mon. 64, 28-33.

    Examples
    --------
    >>> bradley_terry([[0, 3], [1, 0]]).round(4).tolist()  # The difference is log(3).
    [0.5493, -0.5493]
    """
    won = _check_wins(wins)
    if len(groups := find_groups(won)) > 1:
        top = np.array(groups[0])
        others = "were never compared with" if not np.delete(won[top], top, axis=1).any() else "never lost to"
        warn_undefined("bradley_terry", f"items {groups[0]} {others} the others")
        return np.full(len(won), np.nan)
    if len(won) < 2:
        return np.zeros(len(won))
    first, second = np.nonzero(np.triu(won + won.T))
    counts = np.array([won[first, second], won[second, first], np.zeros(len(first))])
    data = Comparisons(first, second, counts, np.zeros_like(first), np.zeros((0, len(first))))
    likelihood, cells = count_by_design(data, np.zeros(len(won), dtype=np.intp))
    strengths: Floats = maximize(likelihood, cells.total(), likelihood.start)[0]
    return strengths


def _check_wins(wins: ArrayLike) -> Floats:
    won = check_array(wins, "wins", "items", "items")
    if won.shape[0] != won.shape[1]:
        raise MetricInputError(f"wins has shape {won.shape}; expected one row and one column for each item")
    np.fill_diagonal(won, 0)
    if wrong := np.argwhere(~np.isfinite(won) | (won < 0)).tolist():
        row, column = wrong[0]
        raise MetricInputError(f"wins[{row}, {column}] is {won[row, column]:g}; expected a count from 0")
    return won
