"""Which values a page must not show, so that none of a few participants follows from the others."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from attune_bench.analyses.groups import ANY
from attune_bench.comparison import FEWEST
from attune_bench.series import ScoreSeries
from attune_data._matching import NO_ANSWER
from attune_data.diagnoses import NO_DIAGNOSIS, UNKNOWN

if TYPE_CHECKING:
    from attune_bench.scores import Scores

__all__ = ["few_groups", "hidden_strata", "open_groups", "withheld", "without_groups"]

Mask: TypeAlias = NDArray[np.bool_]
Strata: TypeAlias = Mapping[str, Sequence[str]]
Name = TypeVar("Name", bound=str)


def withheld(parts: Mapping[Name, Mask], public: Sequence[Mask], count: Callable[[Mask], int]) -> set[Name]:
    """Return the parts whose means must be hidden: those of few participants, and others that would give them away.

    Parameters
    ----------
    parts : mapping of name to array of bool, shape (units,)
        What could be shown.
    public : sequence of array of bool, shape (units,)
        What is shown in any case; the first holds all units that have a value.
    count : callable
        Gives the number of participants of a mask.

    Examples
    --------
    Of six participants' mean and that of the first five, that of the sixth follows:

    >>> whole = np.ones(6, dtype=np.bool_)
    >>> five = np.arange(6) < 5
    >>> sorted(withheld({"five": five, "one": ~five}, [whole], lambda mask: int(mask.sum())))
    ['five', 'one']
    """
    shown = [name for name in parts if count(parts[name]) >= FEWEST]
    shown.sort(key=lambda name: (count(parts[name]), name))

    def follow(names: Sequence[Name]) -> bool:
        return _few_follow([*public, *(parts[name] for name in names)], count)

    while shown and follow(shown):
        # The smallest that mends it alone; where none does, the smallest of all, and on.
        enough = (name for name in shown if not follow([other for other in shown if other != name]))
        shown.remove(next(enough, shown[0]))
    return set(parts) - set(shown)


def _few_follow(known: Sequence[Mask], count: Callable[[Mask], int]) -> bool:
    """Return whether the means of sets of units, with their sizes, tell anything of fewer than 5 participants alone.

    A mean and a size are a sum. Sums can be added with any weights; what remains is of a few participants where the
    weights of all other units come to 0.
    """
    patterns, kind = np.unique(np.array(known, dtype=np.float64), axis=1, return_inverse=True)
    kinds = kind.ravel()
    rank = np.linalg.matrix_rank(patterns)
    everywhere = patterns.any(axis=0)
    unions: list[list[int]] = [[]]
    for place in np.flatnonzero(everywhere).tolist():
        unions += [[*union, place] for union in unions if count(np.isin(kinds, [*union, place])) < FEWEST]
    return any(np.linalg.matrix_rank(np.delete(patterns, union, axis=1)) < rank for union in unions if union)


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
            if _few_follow([*public, known], series.count):
                hidden.add((trait, model, mode, None))
            else:
                public.append(known)
            away = withheld(masks, public, series.count)
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
        away = withheld(masks, [whole, without], series.count)
        found |= {(model, mode, name) for name in masks if name not in away}
    return found
