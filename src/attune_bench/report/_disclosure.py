"""Which values a page must not show, so that none of a few participants follows from the others."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from attune_bench.benchmarks.attunebench.analyses.groups import ANY
from attune_bench.stats.comparison import FEWEST
from attune_bench.stats.series import ScoreSeries
from attune_data.attunebench.diagnoses import NO_DIAGNOSIS, UNKNOWN
from attune_data.matching import NO_ANSWER
from attune_metrics.stats.arrays import Floats
from attune_metrics.stats.sums import cluster_index

if TYPE_CHECKING:
    from attune_bench.scores import Scores

__all__ = ["few_groups", "hidden_strata", "open_groups", "withheld", "without_groups"]

Mask: TypeAlias = NDArray[np.bool_]
Strata: TypeAlias = Mapping[str, Sequence[str]]
Name = TypeVar("Name", bound=str)

_ZERO = 1e-9  # far above the rounding of weights, which are about 1


def withheld(parts: Mapping[Name, Mask], public: Sequence[Mask], people: Sequence[Hashable]) -> set[Name]:
    """Return the parts whose means must be hidden: those of few participants, and others that would give them away.

    Parameters
    ----------
    parts : mapping of name to array of bool, shape (units,)
        What could be shown.
    public : sequence of array of bool, shape (units,)
        What is shown in any case; the first holds all units that have a value.
    people : sequence of hashable, length units
        The participant of each unit.

    Examples
    --------
    Of six participants' mean and that of the first five, that of the sixth follows:

    >>> whole = np.ones(6, dtype=np.bool_)
    >>> five = np.arange(6) < 5
    >>> sorted(withheld({"five": five, "one": ~five}, [whole], range(6)))
    ['five', 'one']
    """
    sizes = {name: len({people[unit] for unit in np.flatnonzero(part).tolist()}) for name, part in parts.items()}
    shown = sorted((name for name in parts if sizes[name] >= FEWEST), key=lambda name: (sizes[name], name))

    def follow(names: Sequence[Name]) -> bool:
        return _few_follow([*public, *(parts[name] for name in names)], people)

    while shown and follow(shown):
        # The smallest that mends it alone; where none does, the smallest of all, and on.
        enough = (name for name in shown if not follow([other for other in shown if other != name]))
        shown.remove(next(enough, shown[0]))
    return set(parts) - set(shown)


def _few_follow(known: Sequence[Mask], people: Sequence[Hashable]) -> bool:
    """Return whether the means of sets of units, with their sizes, tell anything of fewer than 5 participants alone.

    A mean and a size are a sum. Sums can be added with any weights; what remains is of a few participants where the
    weights of all other units come to 0.
    """
    # Units that are in the same sets have the same weight in any sum: they are of one kind.
    kinds, kind_of = np.unique(np.array(known, dtype=np.float64), axis=1, return_inverse=True)
    person_of = cluster_index(people)
    there = np.zeros((max(person_of, default=-1) + 1, kinds.shape[1]), dtype=np.bool_)
    there[person_of, kind_of.ravel()] = True
    # Five of a kind are as many as more are.
    there &= there.cumsum(axis=0) <= FEWEST
    directions, rank, _ = _basis(kinds.T)
    return _tells_of_few(directions[:, :rank].T, there)


def _tells_of_few(sums: Floats, there: Mask) -> bool:
    """Return whether the weights of any sum of these are other than 0 for fewer than 5 participants alone.

    `sums` holds the weights of independent sums (sums, kinds), `there` who has units of each kind (people, kinds).
    Whoever the few were, of five parts of the participants they would have no one in one: they are looked for among
    the sums in which all of that part have weight 0. No sum is left of most parts where each holds as many
    participants of independent weights as there are sums.
    """
    if not len(sums):
        return False
    persons, their_kinds = np.nonzero(there & (np.abs(sums).max(axis=0) > _ZERO))
    left, chosen = np.arange(len(persons)), list[int]()
    for _ in range(FEWEST):
        _, rank, order = _basis(sums[:, their_kinds[left]])
        chosen += persons[left[order[:rank]]].tolist()
        left = np.delete(left, order[:rank])
    people = list(dict.fromkeys([*chosen, *persons[left].tolist()]))
    if len(people) < FEWEST:
        return True
    size = min(len(sums), len(people) // FEWEST)
    ends = [*range(0, FEWEST * size, size), len(people)]
    for start, end in pairwise(ends):
        directions, rank, _ = _basis(sums[:, there[people[start:end]].any(axis=0)])
        if _tells_of_few(directions[:, rank:].T @ sums, there):
            return True
    return False


def _basis(columns: Floats) -> tuple[Floats, int, list[int]]:
    """Return orthogonal directions, how many of the first span the columns, and which columns do, first in an order."""
    from scipy.linalg import qr

    directions, triangle, order = qr(columns, pivoting=True)
    rank = int((np.abs(np.diag(triangle)) > _ZERO).sum())
    return np.asarray(directions, dtype=np.float64), rank, order.tolist()


def few_groups(scores: "Scores") -> list[tuple[str, str]]:
    """Return the models and modes of fewer than 5 participants."""
    series = ScoreSeries(scores)
    return [group for group, there in zip(series.groups, series.scored, strict=True) if series.count(there) < FEWEST]


def without_groups(scores: "Scores", groups: Sequence[tuple[str, str]]) -> "Scores":
    return replace(
        scores,
        records=[record for record in scores.records if (record["em_model"], record["mode"]) not in groups],
        aggregates=[row for row in scores.aggregates if (row["em_model"], row["mode"]) not in groups],
    )


def hidden_strata(
    scores: "Scores", traits: Mapping[str, Strata], everyone: Sequence[str]
) -> set[tuple[str, str, str, str | None]]:
    """Return trait, model, mode and stratum of the composites not to show; None where no difference may be."""
    series = ScoreSeries(scores)
    hidden: set[tuple[str, str, str, str | None]] = set()
    for (model, mode), (values,) in zip(series.groups, series.values("composite_score"), strict=True):
        whole = ~np.isnan(values)
        public = [whole]
        for trait, strata in traits.items():
            masks = {name: whole & np.isin(series.units, units) for name, units in strata.items()}
            unknown = [masks[name] for name in (NO_ANSWER, UNKNOWN) if name in masks]
            known = whole & np.isin(series.units, everyone) & ~np.any([~whole, *unknown], axis=0)
            if _few_follow([*public, known], series.participants):
                hidden.add((trait, model, mode, None))
            else:
                public.append(known)
            away = withheld(masks, public, series.participants)
            hidden |= {(trait, model, mode, name) for name in away}
            public += [mask for name, mask in masks.items() if name not in away]
    return hidden


def open_groups(scores: "Scores", strata: Strata) -> set[tuple[str, str, str]]:
    """Return model, mode and group of the differences by diagnosis that may be drawn."""
    series = ScoreSeries(scores)
    found: set[tuple[str, str, str]] = set()
    for (model, mode), (values,) in zip(series.groups, series.values("avg_emotion_va_score"), strict=True):
        whole = ~np.isnan(values)
        masks = {name: whole & np.isin(series.units, units) for name, units in strata.items() if name != UNKNOWN}
        without = masks.pop(NO_DIAGNOSIS, ~whole & whole)
        masks[ANY] = np.any([~whole & whole, *masks.values()], axis=0)
        away = withheld(masks, [whole, without], series.participants)
        found |= {(model, mode, name) for name in masks if name not in away}
    return found
