"""Queries: subgroups of conversations by trait, by expression, by stratum, by participant.

Other records are asked for alike: the traits of scenarios and episodes are the columns of the ``scenarios`` or
``episodes`` table, and a scenario is drawn and split as a whole with all of its episodes, as a participant is with all
of theirs.

What can be asked for is every column of that table, and what its class says of further traits: of conversations
``diagnosis`` (a group of ``codebook/diagnoses.toml``, else an answer as given) and ``diagnosis_group``.
"""

import random
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, Self

from attune_data.bins import Bins
from attune_data.conditions import no_column, sql_condition
from attune_data.display.issues import IssueReport
from attune_data.issues import Issue, issues_frame
from attune_data.matching import Match, Traits, Value, matching, shares, strata
from attune_data.panics import panics_as_errors
from attune_data.text import plural, printable

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Condition", "Queryable", "all_of", "either", "none_of"]

Condition = Value | Iterable[Value] | Match

_LONGEST = 300


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

    Of screens and bands it does not: who has no valid score is in no group.

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

    def __dir__(self) -> list[str]:
        """Return the names that a notebook offers: the public ones."""
        return [name for name in super().__dir__() if not name.startswith("_") or name.startswith("__")]

    @property
    def found(self) -> tuple[Issue, ...]:
        """What loading noticed, as `Issue` objects."""
        return self._found

    @cached_property
    def issues(self) -> "pl.DataFrame":
        """What loading noticed, one row each: file, path, rule, severity, value, message, consequence."""
        return issues_frame(self._found)

    def issue_report(self) -> IssueReport:
        """Return what loading noticed as whole messages by rule, for a terminal and a notebook.

        Examples
        --------
        >>> from attune_data import load
        >>> load("demo").issue_report()
        no issues
        """
        return IssueReport(self._found)

    @abstractmethod
    def _table(self) -> Traits:
        """Return the table that is asked, one row a unit, and what is known of its traits."""

    def _traits(self) -> "pl.DataFrame":
        return self._table().frame

    @abstractmethod
    def _keep(self, rows: Sequence[int], *labels: str) -> Self:
        """Return the units at these positions, which are in order."""

    @abstractmethod
    def _origin(self) -> Self:
        """Return what this is a part of, or itself; its values are those that a query may name."""

    @abstractmethod
    def __or__(self, other: Self) -> Self:
        """Return the units of both."""

    def _common_origin(self, other: Self) -> Self | None:
        """Return what both are parts of; None where neither is a part."""
        mine, theirs = self._origin(), other._origin()
        if mine is theirs:
            return mine
        return None if mine is self and theirs is other else mine | theirs

    @property
    def unit_ids(self) -> list[str]:
        """The id of each unit, in order: of a conversation, or of the scenario that an episode is of.

        Examples
        --------
        >>> from attune_data import load_scenarios
        >>> load_scenarios("demo").where(scene="charm").unit_ids[:2]
        ['demo_charm_01', 'demo_charm_02']
        """
        table = self._table()
        ids: list[str] = table.frame[table.unit.own].to_list()
        return ids

    @property
    def asked(self) -> str:
        """What was asked for to come here: one line that cannot drive a terminal, cut where it is long."""
        text = printable(" ".join(", ".join(self._filters).split()))
        return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."

    def __getstate__(self) -> dict[str, Any]:
        """Return all but what is made from the rest when it is asked for."""
        return {name: value for name, value in vars(self).items() if not _is_cached(type(self), name)}

    def where(self, **traits: Condition) -> Self:
        """Return the conversations with these values of these traits.

        Parameters
        ----------
        **traits
            Trait to a value, to a list (any of it matches), to ``all_of(...)`` or to ``none_of(...)``. None is no
            answer, and so is the text ``no answer``. Text matches in any case and without outer blanks. ``diagnosis``
            is a group of ``codebook/diagnoses.toml``, else an answer as it was given. Published screens and bands of a
            score are columns too: ``asrs_6_screen=True`` is who is screen-positive, and a score that is missing or
            outside its instrument's range is in no such group, nor in the opposite one.

        Raises
        ------
        ValueError
            Where no trait has this name, or no conversation of the data that was loaded has this value.
        TypeError
            Where a value is neither text, a number nor None.

        Examples
        --------
        >>> from attune_data import load
        >>> load("demo").where(diagnosis="adhd", category=["Family", "Health"])
        <Collection of 4 conversations, 2 participants, no issues; diagnosis=adhd, category=Family or Health>
        >>> load("demo").where(who_5_screen=True, promis_anxiety_t_band="mild")
        <Collection of 1 conversation, 1 participant, no issues; who_5_screen=True, promis_anxiety_t_band=mild>
        >>> load("demo").where(categroy="Health")
        Traceback (most recent call last):
        ValueError: no trait 'categroy'; did you mean 'category'?
        """
        own = self._table()
        matches = {trait: _match(condition) for trait, condition in traits.items()}
        rows = set(range(own.frame.height))
        for trait, match in matches.items():
            rows &= set(matching(own, self._origin()._table(), trait, match))
        return self._keep(sorted(rows), *(f"{trait}={match}" for trait, match in matches.items()))

    def filter(self, condition: "pl.Expr | str") -> Self:
        """Return the conversations for which a condition on their traits is true.

        Parameters
        ----------
        condition : polars expression or str
            On columns of the ``conversations`` table, and no others. It gives true, false or, which counts as false,
            null. Bands are in order: ``"promis_anxiety_t_band >= 'moderate'"``. A text is an SQL expression of
            comparisons, ``AND``, ``OR``, ``NOT``, ``IN``, ``BETWEEN``, ``LIKE``, ``IS NULL``, ``CASE``, arithmetic and
            `attune_data.conditions.FUNCTIONS`, of at most 100,000 characters, 200 operators and keywords, and 20
            parentheses within each other.

        Raises
        ------
        ValueError
            Where the text is not such an expression, names an unknown column, compares a column with a value of
            another type, or gives anything but one answer, true or false, for each conversation.
        TypeError
            Where the condition is neither an expression nor text.

        Examples
        --------
        >>> import polars as pl
        >>> from attune_data import load
        >>> demo = load("demo")
        >>> len(demo.filter("promis_anxiety_t >= 60 and who_5 < 13")), len(demo.filter(pl.col("n_turns") > 5))
        (5, 10)
        """
        import polars as pl

        table = self._table()
        traits = table.frame
        asked = {name: trait.column for name, trait in table.special.items()}
        expression = sql_condition(condition, traits.columns, asked) if isinstance(condition, str) else condition
        if not isinstance(expression, pl.Expr):
            raise TypeError(f"a condition is a polars expression or an SQL text, not {type(condition).__name__}")
        for name in expression.meta.root_names():
            if name not in traits.columns:
                raise ValueError(no_column(name, traits.columns, asked))
        try:
            # Unlike select, this refuses an answer of another length; unlike filter, it gives positions.
            with panics_as_errors():
                answers = traits.with_columns(condition=expression)["condition"]
            reason = "" if answers.dtype == pl.Boolean else f"it gives {answers.dtype}"
        except pl.exceptions.PolarsError as error:
            reason = str(error).partition("\n")[0][:200]
        if reason:
            expected = f"expected one answer, true or false, for each {table.unit.noun}"
            raise ValueError(f"the condition {condition!s:.200} does not fit its columns: {reason}; {expected}")
        return self._keep(answers.fill_null(value=False).arg_true().to_list(), f"filter {condition}")

    def stratify(self, trait: str, *, bins: Bins | None = None) -> dict[str, Self]:
        """Return a part for every value of a trait, or on each side of a cut; every conversation is in at least one.

        A conversation with several values (two diagnoses) is in the part of each. Those without an answer are in
        ``no answer``; of ``diagnosis_group``, no diagnosis is ``none`` and no answer is ``unknown``.

        Parameters
        ----------
        trait : str
            Column of the ``conversations`` table, or ``diagnosis_group``.
        bins : {"median", "tertile"}, optional
            Split the numbers of a trait there instead. The cuts are those of the participants in this collection,
            each counting once, with the median of their conversations; tertiles interpolate linearly. A value equal to
            a cut is below it, ties together, so parts may be of unequal size and one with nothing in it is left out.

        Returns
        -------
        dict of str to part
            By the value as it was first spelt; sorted, no answer last. Diagnosis groups, bands and other closed lists
            in the codebook's order, screens as ``screen-positive`` and ``screen-negative``. Bins by their cut,
            ``"<= 8"`` and ``"> 8"``. A score outside its instrument's range is, in screens, bands and bins, no answer.

        Raises
        ------
        ValueError
            Where no trait has this name, or `bins` is asked of a trait that is not a number.

        Examples
        --------
        >>> from attune_data import load
        >>> {name: len(part) for name, part in load("demo").stratify("diagnosis_group").items()}
        {'AnxDep': 10, 'ADHD': 8, 'ASD': 8, 'other': 2, 'none': 18}
        >>> {name: len(part) for name, part in load("demo").stratify("tipi_openness", bins="median").items()}
        {'<= 9.5': 20, '> 9.5': 17, 'no answer': 3}
        """
        found = strata(self._table(), trait, bins)
        return {name: self._keep(rows, f"{trait}={name}") for name, rows in found.items()}

    def sample(self, participants: int, seed: int, *, by: str | None = None) -> Self:
        """Return all conversations of some participants, drawn at random without replacement.

        Participants are told apart as in `where`, in any case and without outer blanks; a conversation that names none
        counts as one of its own.

        Parameters
        ----------
        participants : int
            How many to draw.
        seed : int
            The same seed draws the same participants, in whichever order the conversations are.
        by : str, optional
            A trait: each combination of its values that a participant has gets its share of the draw.

        Raises
        ------
        ValueError
            Where there are fewer participants, or `participants` is not a whole number.

        Examples
        --------
        >>> from attune_data import load
        >>> load("demo").sample(6, seed=1)
        <Collection of 8 conversations, 6 participants, no issues; sample of 6 participants, seed 1>
        """
        traits = self._table()
        rows_of, cluster = traits.clusters(), traits.unit.cluster
        is_count = hasattr(participants, "__index__") and not isinstance(participants, bool)
        if not is_count or participants not in range(len(rows_of) + 1):
            raise ValueError(f"cannot sample {participants!r} {cluster}s of {len(rows_of)}; expected a whole number")
        values_of = {row: set[str]() for row in range(traits.frame.height)}
        for name, rows in strata(traits, by).items() if by else ():
            for row in rows:
                values_of[row].add(name)
        cells: dict[tuple[str, ...], list[tuple[str, str]]] = {}
        for person, rows in rows_of.items():
            cells.setdefault(tuple(sorted(set().union(*(values_of[row] for row in rows)))), []).append(person)
        chance = random.Random(seed)  # noqa: S311  # sampling, nothing to guess
        share_of = zip(cells.values(), shares([len(cell) for cell in cells.values()], participants), strict=True)
        drawn = [person for cell, share in share_of for person in chance.sample(cell, share)]
        label = f"sample of {plural(participants, cluster)}{f' by {by}' if by else ''}, seed {seed}"
        return self._keep(sorted(row for person in drawn for row in rows_of[person]), label)

    def split(self, *parts: float, seed: int) -> tuple[Self, ...]:
        """Return disjoint parts that together are every conversation; no participant is in two of them.

        Participants are told apart as in `sample`.

        Parameters
        ----------
        *parts : float
            Share of the participants in each part, 1 in sum.
        seed : int
            The same seed gives the same parts, in whichever order the conversations are.

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
        try:
            valid = min(parts, default=0) > 0 and abs(sum(parts) - 1) <= 1e-9
        except TypeError:
            valid = False
        if not valid:
            example = "expected positive numbers that sum to 1, such as split(0.8, 0.2, seed=1)"
            raise ValueError(f"the shares are {parts}; {example}")
        rows_of = self._table().clusters()
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
    if isinstance(condition, str) or not isinstance(condition, Iterable):
        return Match("any", (condition,))
    return Match("any", tuple(condition))


def either(first: Sequence[str], second: Sequence[str]) -> tuple[str, ...]:
    """Return the label of what has come through one row of filters or the other."""
    return (" | ".join(f"({', '.join(filters) or 'all'})" for filters in (first, second)),)


def _is_cached(kind: type, name: str) -> bool:
    return isinstance(getattr(kind, name, None), cached_property)
