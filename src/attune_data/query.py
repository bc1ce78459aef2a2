"""Queries: subgroups of conversations by trait, by expression, by stratum, by participant.

Scenarios and episodes are asked for alike: their traits are the columns of the ``scenarios`` or ``episodes`` table, and
a scenario is drawn and split as a whole with all of its episodes, as a participant is with all of theirs.

What can be asked for is every column of the ``conversations`` table, ``diagnosis`` (a group of
``codebook/diagnoses.toml``, else an answer as given), ``diagnosis_group``, and what `attune_data.instruments` publishes
of a score: ``screen``, ``<score>_screen`` such as ``asrs_6_screen``, ``<score>_band`` such as ``promis_sleep_t_band``.
"""

import random
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Self

from attune_data._groups import Bins
from attune_data._matching import Match, Value, check_trait, cluster_name, matching, people, shares, strata
from attune_data._text import plural
from attune_data.issues import Issue, issues_frame

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Condition", "Queryable", "all_of", "either", "none_of"]

Condition = Value | Iterable[Value] | Match


def all_of(*values: Value) -> Match:
    """Match a conversation that has every one of these values of a trait.

    Examples
    --------
    >>> from attune_data import load
    >>> len(load("demo").where(diagnosis=all_of("AnxDep", "ADHD")))
    4
    """
    return Match("all", values)


def none_of(*values: Value) -> Match:
    """Match a conversation that has none of these values of a trait; one without an answer matches too.

    Of screens and bands it does not: who has no valid score is in no group. ``screen=none_of("asrs_6")`` is who is
    screen-negative.

    Examples
    --------
    >>> from attune_data import load
    >>> demo = load("demo")
    >>> len(demo.where(category=none_of("Health"))) + len(demo.where(category="Health"))
    40
    """
    return Match("none", values)


class Queryable(ABC):
    """What a collection and its tables are asked for alike."""

    _found: tuple[Issue, ...]
    _filters: tuple[str, ...]

    @property
    def found(self) -> tuple[Issue, ...]:
        """What loading noticed, as `Issue` objects."""
        return self._found

    @cached_property
    def issues(self) -> "pl.DataFrame":
        """What loading noticed, one row each: file, path, rule, severity, value, message, consequence."""
        return issues_frame(self._found)

    @abstractmethod
    def _traits(self) -> "pl.DataFrame":
        """Return the table of conversations."""

    @abstractmethod
    def _keep(self, rows: Sequence[int], label: str) -> Self:
        """Return the conversations at these positions."""

    @abstractmethod
    def _origin(self) -> "Queryable":
        """Return what this is a part of, or itself; its values are those that a query may name."""

    def where(self, **traits: Condition) -> Self:
        """Return the conversations with these values of these traits.

        Parameters
        ----------
        **traits
            Trait to a value, to a list of which any matches, to ``all_of(...)`` or to ``none_of(...)``. None is no
            answer. Text matches in any case and without outer blanks. ``diagnosis`` is a group of
            ``codebook/diagnoses.toml``, else an answer as it was given. ``screen`` is an instrument on which the
            participant is screen-positive; a T-score also takes bands, ``"moderate"`` or ``"moderate+"``. A score
            that is missing or outside its instrument's range is in no such group, nor in the opposite one.

        Raises
        ------
        ValueError
            Where no trait has this name, no conversation of the data that was loaded has this value, or nobody
            published such a screen or band.

        Examples
        --------
        >>> from attune_data import load
        >>> load("demo").where(diagnosis="adhd", category=["Family", "Health"])
        <Collection of 4 conversations, 2 participants, no issues; diagnosis=adhd, category=Family or Health>
        >>> load("demo").where(screen="who_5", promis_anxiety_t="mild+")
        <Collection of 6 conversations, 3 participants, no issues; screen=who_5, promis_anxiety_t=mild+>
        >>> load("demo").where(categroy="Health")
        Traceback (most recent call last):
        ValueError: no trait 'categroy'; did you mean 'category'?
        """
        kept = self
        for trait, condition in traits.items():
            match = _match(condition)
            rows = matching(kept._traits(), self._origin()._traits(), trait, match)
            kept = kept._keep(rows, f"{trait}={match}")
        return kept

    def filter(self, condition: "pl.Expr | str") -> Self:
        """Return the conversations for which a condition on their traits is true.

        Parameters
        ----------
        condition : polars expression or str
            On columns of the ``conversations`` table; a text is an SQL expression.

        Raises
        ------
        ValueError
            Where the text is not an SQL expression, or names a column that there is not.

        Examples
        --------
        >>> import polars as pl
        >>> from attune_data import load
        >>> demo = load("demo")
        >>> len(demo.filter("asrs_6 >= 4 and who_5 < 13")), len(demo.filter(pl.col("n_turns") > 5))
        (0, 10)
        """
        import polars as pl

        try:
            expression = pl.sql_expr(condition) if isinstance(condition, str) else condition
        except pl.exceptions.PolarsError as error:
            raise ValueError(f"not an SQL expression: {condition!r} ({error})") from None
        traits = self._traits()
        for name in expression.meta.root_names():
            check_trait(name, traits.columns)
        rows = traits.with_row_index("row").filter(expression)["row"].to_list()
        return self._keep(rows, f"filter {condition}")

    def stratify(self, trait: str, *, bins: Bins | None = None) -> dict[str, Self]:
        """Return a part for every value of a trait, or on each side of a cut; every conversation is in at least one.

        A conversation with several values (two diagnoses) is in the part of each. Those without an answer are in
        ``no answer``; of ``diagnosis_group``, no diagnosis is ``none`` and no answer is ``unknown``.

        Parameters
        ----------
        trait : str
            Column of the ``conversations`` table, ``diagnosis_group``, or a published grouping of a score:
            ``asrs_6_screen``, ``promis_sleep_t_band``.
        bins : {"median", "tertile"}, optional
            Split the numbers of a trait there instead. The cuts are those of the participants in this collection,
            each counting once, with the median of their conversations; tertiles interpolate linearly. A value equal to
            a cut is below it, ties together, so parts may be of unequal size and one with nothing in it is left out.

        Returns
        -------
        dict of str to part
            By the value as it was first spelt; sorted, no answer last. Diagnosis groups and bands in the codebook's
            order. Bins by their cut, ``"<= 8"`` and ``"> 8"``. A score outside its instrument's range is, in
            groupings and bins, no answer.

        Raises
        ------
        ValueError
            Where no trait has this name, or it holds no numbers to split.

        Examples
        --------
        >>> from attune_data import load
        >>> {name: len(part) for name, part in load("demo").stratify("diagnosis_group").items()}
        {'AnxDep': 10, 'ADHD': 8, 'ASD': 8, 'other': 2, 'none': 18}
        >>> {name: len(part) for name, part in load("demo").stratify("tipi_openness", bins="median").items()}
        {'<= 9.5': 20, '> 9.5': 17, 'no answer': 3}
        """
        found = strata(self._traits(), trait, bins)
        return {name: self._keep(rows, f"{trait}={name}") for name, rows in found.items()}

    def sample(self, participants: int, seed: int, *, by: str | None = None) -> Self:
        """Return all conversations of some participants, drawn at random without replacement.

        A conversation that names no participant counts as one of its own.

        Parameters
        ----------
        participants : int
            How many to draw.
        seed : int
            The same seed draws the same participants.
        by : str, optional
            A trait: each combination of its values that a participant has gets its share of the draw.

        Raises
        ------
        ValueError
            Where there are fewer participants.

        Examples
        --------
        >>> from attune_data import load
        >>> load("demo").sample(6, seed=1)
        <Collection of 8 conversations, 6 participants, no issues; sample of 6 participants, seed 1>
        """
        traits = self._traits()
        rows_of = people(traits)
        if not 0 <= participants <= len(rows_of):
            raise ValueError(f"cannot sample {participants} {cluster_name(traits)}s of {len(rows_of)}")
        values_of = {row: set[str]() for row in range(traits.height)}
        for name, rows in strata(traits, by).items() if by else ():
            for row in rows:
                values_of[row].add(name)
        cells: dict[tuple[str, ...], list[tuple[str, str]]] = {}
        for person, rows in rows_of.items():
            cells.setdefault(tuple(sorted(set().union(*(values_of[row] for row in rows)))), []).append(person)
        chance = random.Random(seed)  # noqa: S311  # sampling, nothing to guess
        share_of = zip(cells.values(), shares([len(cell) for cell in cells.values()], participants), strict=True)
        drawn = [person for cell, share in share_of for person in chance.sample(cell, share)]
        label = f"sample of {plural(participants, cluster_name(traits))}{f' by {by}' if by else ''}, seed {seed}"
        return self._keep(sorted(row for person in drawn for row in rows_of[person]), label)

    def split(self, *parts: float, seed: int) -> tuple[Self, ...]:
        """Return disjoint parts that together hold every conversation; a participant is whole in one of them.

        Parameters
        ----------
        *parts : float
            Share of the participants in each part, 1 in sum.
        seed : int
            The same seed gives the same parts.

        Raises
        ------
        ValueError
            Where a share is not positive or they do not sum to 1.

        Examples
        --------
        >>> from attune_data import load
        >>> train, test = load("demo").split(0.75, 0.25, seed=1)
        >>> len(train) + len(test)
        40
        """
        if not parts or min(parts) <= 0 or abs(sum(parts) - 1) > 1e-9:
            raise ValueError(f"the shares are {parts}; expected positive numbers that sum to 1, such as 0.8, 0.2")
        rows_of = people(self._traits())
        order = list(rows_of)
        random.Random(seed).shuffle(order)  # noqa: S311  # sampling, nothing to guess
        bounds = [0, *(round(share * len(order)) for share in accumulate(parts))]
        chosen = [sorted(row for person in order[a:b] for row in rows_of[person]) for a, b in pairwise(bounds)]
        return tuple(
            self._keep(rows, f"part {number} of {len(parts)}, seed {seed}")
            for number, rows in enumerate(chosen, start=1)
        )


def _match(condition: Condition) -> Match:
    if isinstance(condition, Match):
        return condition
    if condition is None or isinstance(condition, str | int | float):
        return Match("any", (condition,))
    return Match("any", tuple(condition))


def either(first: Sequence[str], second: Sequence[str]) -> tuple[str, ...]:
    """Return the label of what has come through one row of filters or the other."""
    return (" | ".join(f"({', '.join(filters) or 'all'})" for filters in (first, second)),)
