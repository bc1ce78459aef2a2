"""Queries: records chosen by traits or by a condition, split in strata, in parts and in clusters.

Subgroups of conversations are chosen by trait, by expression, by stratum or by participant.

Other records are queried in the same way: the traits of scenarios and episodes are the columns of the ``scenarios`` or
``episodes`` table. A scenario is drawn and split together with all its episodes, as a participant is with all their
conversations.

A query may name every column of the table of its records, and the further traits that the class of the table defines:
for conversations ``diagnosis`` (a group of ``codebook/diagnoses.toml``, or else the answer as given) and
``diagnosis_group``.
"""

import random
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property
from itertools import accumulate, pairwise
from math import inf, isnan
from statistics import median
from typing import TYPE_CHECKING, Any, Literal, Self

from attune_data.conditions import no_column, sql_condition, unquoted_text
from attune_data.issues import Issue, IssueReport, issues_frame
from attune_data.record import panics_as_errors
from attune_data.text import did_you_mean, listed, plural, pluralize, sanitize

if TYPE_CHECKING:
    import polars as pl

Bins = Literal["median", "tertile"]
_PARTS = {"median": 2, "tertile": 3}


def bin_rows(values: Sequence[float | None], clusters: Sequence[Sequence[int]], bins: Bins) -> dict[str, list[int]]:
    """Return the positions of the rows in each bin, cut at the median or at the tertiles, lowest bin first.

    Parameters
    ----------
    values : sequence of float or None
        The number of each row; None is in no bin.
    clusters : sequence of sequences of int
        The positions of the rows of each cluster. For the cuts, a cluster counts once, with the median of its rows.
    bins : {"median", "tertile"}
        Where to cut; tertiles interpolate linearly.

    Returns
    -------
    dict of str to list of int
        The positions by the name of the bin, such as ``<= 8``. A value equal to a cut is in the lower bin; a bin
        without rows is left out.

    Raises
    ------
    ValueError
        Where `bins` is neither choice.

    Examples
    --------
    >>> bin_rows([4, 6, 8, 8, None], [[0], [1], [2, 3], [4]], "median")
    {'<= 6': [0, 1], '> 6': [2, 3]}
    """
    if bins not in _PARTS:
        raise ValueError(f"bins is {bins!r}; expected 'median' or 'tertile'")
    given = [[value for row in rows if (value := values[row]) is not None] for rows in clusters]
    ordered = sorted(median(own) for own in given if own)
    parts = _PARTS[bins]
    cuts = [_quantile(ordered, part, parts) for part in range(1, parts)] if ordered else []
    found: dict[str, list[int]] = {}
    for low, high in pairwise([-inf, *cuts, inf]):
        rows = [row for row, value in enumerate(values) if value is not None and low < value <= high]
        if rows:
            sides = [f"> {low:.12g}"] if low > -inf else []
            found[", ".join([*sides, f"<= {high:.12g}"] if high < inf else sides)] = rows
    return found


def _quantile(ordered: Sequence[float], part: int, parts: int) -> float:
    """Return a quantile by linear interpolation; between two equal values the quantile is exactly that value."""
    below, rest = divmod(part * (len(ordered) - 1), parts)
    low, high = ordered[below], ordered[min(below + 1, len(ordered) - 1)]
    return low + (high - low) * rest / parts


@dataclass(frozen=True, slots=True)
class Trait:
    """A trait that cannot be queried by its column alone.

    Attributes
    ----------
    column : str
        The column it is read from.
    also : str, optional
        Another column. Its values may be queried too, except values that are in `values`.
    values : tuple
        All possible values, in order. A query may name a value that no row has.
    missing : str, optional
        Which of the values means no answer.
    labels : mapping
        The names of values in strata, if a name differs from the text of the value.
    is_group : bool
        Whether the values are groups of a score, such as a screen. A row without a value is then in no group and in no
        opposite group, so `none_of` leaves it out too.
    low, high : float
        The range of a number. If numbers are split into bins, a number outside the range counts as no answer.

    Examples
    --------
    >>> Trait("asrs_6_screen", values=(True, False), labels={True: "screen-positive"}, is_group=True).also is None
    True
    """

    column: str
    also: str | None = None
    values: tuple[str | bool, ...] = ()
    missing: str | None = None
    labels: Mapping[str | bool, str] = field(default_factory=dict)
    is_group: bool = False
    low: float = -inf
    high: float = inf


@dataclass(frozen=True, slots=True)
class Unit:
    """The unit of some tables: a row of the first table, and the clusters in which rows are drawn and split.

    Attributes
    ----------
    noun : str
        What a row is, for instance ``conversation``.
    keys : tuple of str
        The columns that identify a row; other tables have some of these columns.
    cluster : str
        The cluster in which rows are drawn, for instance ``participant``.
    own : str
        The column of the cluster of a row for which `named_by` gives no name.
    named_by : str, optional
        The column that names the cluster. Letter case and outer blanks do not matter; a blank name is no name.
    duplicate_rule : str
        The rule of the issue about a row that differs from the row with the same keys in another table.
    """

    noun: str
    keys: tuple[str, ...]
    cluster: str
    own: str
    named_by: str | None = None
    duplicate_rule: str = "duplicate-record"


NO_ANSWER = "no answer"
_LISTED = 12

Value = str | int | float | None
Key = str | int | float
"""The form in which values are compared: text in lower case without outer blanks; ``no answer`` and nan are none."""


class CliValue(str):
    """A text from a command line, read as a number for a column of numbers, as true or false for a column of these.

    Examples
    --------
    >>> from attune_data import load
    >>> len(load("demo").where(n_turns=CliValue("5"), asrs_6_screen=CliValue("true")))
    3
    """

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Match:
    """Values of a trait, and whether a row must have any, all or none of them."""

    how: Literal["any", "all", "none"]
    values: tuple[Value, ...]

    def __post_init__(self) -> None:
        for value in self.values:
            if not isinstance(value, str | int | float | None):
                raise TypeError(
                    f"a trait is compared with text, numbers or None, not with {value!r}; "
                    "several go as ['a', 'b'], all_of('a', 'b') or none_of('a', 'b')"
                )

    def __str__(self) -> str:
        names = [NO_ANSWER if value is None else str(value) for value in self.values[:_LISTED]]
        if more := len(self.values) - len(names):
            names.append(f"{more} more")
        return " or ".join(names) if self.how == "any" else f"{self.how}_of({', '.join(names)})"

    def fits(self, wanted: set[Key | None], given: Iterable[Key]) -> bool:
        """Tell whether the given values match the wanted ones, as `how` says; None means no value at all."""
        own: set[Key | None] = {*given}
        found = wanted & (own or {None})
        return found == wanted if self.how == "all" else bool(found) == (self.how == "any")


@dataclass(frozen=True, slots=True)
class Traits:
    """A table with one row for each unit, and the descriptions that a query of its rows needs.

    Attributes
    ----------
    frame : polars.DataFrame
        The table.
    unit : Unit
        What a row is.
    special : mapping of str to Trait
        The traits that are not just a column, or go by another name.
    """

    frame: "pl.DataFrame"
    unit: Unit
    special: Mapping[str, Trait]

    @property
    def names(self) -> list[str]:
        """Every name that may be asked for."""
        return list(dict.fromkeys((*self.frame.columns, *self.special)))

    def trait(self, name: str) -> Trait:
        """Return the description of a trait.

        Raises
        ------
        ValueError
            If there is no trait with this name; the message suggests the nearest name.
        """
        if name not in self.special and name not in self.frame.columns:
            held = holders(self, name)
            hint = f"it is a value of {' and of '.join(held)}" if held else did_you_mean(name, self.names)
            raise ValueError(f"no trait {name!r}; {hint}")
        return self.special.get(name) or Trait(name)

    def is_numeric(self, trait: Trait) -> bool:
        """Tell whether a trait's column is numeric."""
        return self.frame.schema[trait.column].is_numeric()

    def read(self, trait: Trait, value: Value) -> Value:
        """Return a `CliValue` as a number or a truth value if the trait's column has these; other values unchanged."""
        import polars as pl

        if not isinstance(value, CliValue):
            return value
        if self.is_numeric(trait):
            for number in (int, float):
                with suppress(ValueError):
                    return number(value)
        if self.frame.schema[trait.column] == pl.Boolean:
            return {"true": True, "false": False}.get(value.strip().casefold(), value)
        return value

    def clusters(self) -> dict[tuple[str, str], list[int]]:
        """Return the positions of the rows of each cluster: a participant's conversations, or a scenario's episodes.

        The order does not depend on the order of the rows.
        """
        unit, height = self.unit, self.frame.height
        names = [text_key(name) for name in self.frame[unit.named_by]] if unit.named_by else [None] * height
        found: dict[tuple[str, str], list[int]] = {}
        for row, (name, own) in enumerate(zip(names, self.frame[unit.own], strict=True)):
            found.setdefault((name, "") if name else ("", own), []).append(row)
        return dict(sorted(found.items()))


def matching(traits: Traits, origin: Traits, name: str, match: Match) -> list[int]:
    """Return the positions of the rows that match; the values asked for must be in `origin` or `Trait.values`."""
    trait = traits.trait(name)
    match = replace(match, values=tuple(traits.read(trait, value) for value in match.values))
    answers = _answers(traits, trait)
    labelled = {text_key(label): value for value, label in trait.labels.items()}
    wanted = {labelled.get(key, key) if isinstance(key, str) else key for key in map(_key, match.values)}
    if trait.missing is not None:
        wanted = {trait.missing if key is None else key for key in wanted}
    if traits.is_numeric(trait):
        for value in match.values:
            if isinstance(value, str | bool) and _key(value) is not None:
                special = traits.special.items()
                groups = [other for other, one in special if one.is_group and other.startswith(f"{name}_")]
                hint = f"; its groups are in {' and '.join(groups)}" if groups else ""
                message = f'{name} is a number, not {value!r}; for a range use filter("{name} >= 10"){hint}'
                raise ValueError(message)
    elif unmet := wanted.difference([None], *answers):
        known = {key: spelling for given in reversed(_answers(origin, trait)) for key, spelling in given.items()}
        known |= {_compared(value): trait.labels.get(value, value) for value in trait.values}
        for value in match.values:
            if _key(value) in unmet - known.keys():
                named = {str(_key(spelling)): spelling for spelling in known.values()}
                near = get_close_matches(str(_key(value)), named, n=1)
                hint = f"did you mean {named[near[0]]!r}?" if near else f"expected one of {_spellings(known.values())}"
                if held := holders(origin, value):
                    hint = f"it is a value of {' and of '.join(held)}"
                raise ValueError(f"no {traits.unit.noun} has {name} {value!r}; {hint}")
    outside = trait.is_group and match.how == "none"
    return [row for row, given in enumerate(answers) if match.fits(wanted, given) and (given or not outside)]


def holders(traits: Traits, value: Value) -> list[str]:
    """Return the first two traits that have a text among their values."""
    if not isinstance(value, str) or (key := text_key(value)) is None:
        return []
    found: dict[str, str] = {}
    for name in (*traits.special, *traits.frame.columns):
        trait = traits.trait(name)
        held = (key in map(_compared, trait.values)) or any(key in given for given in _column(traits, trait.column))
        if held:
            found.setdefault(trait.column, name)
    return list(found.values())[:2]


def strata(traits: Traits, name: str, bins: Bins | None = None) -> dict[str, list[int]]:
    """Return the positions of the rows for each value of a trait (named by its first spelling), or for each bin.

    The values True and False are named ``true`` and ``false``, as in CSV.
    """
    import polars as pl

    trait = traits.trait(name)
    if bins is not None:
        return _binned(traits, trait, name, bins)
    found: dict[Key, list[int]] = {}
    names: dict[Key, str] = {}
    for row, given in enumerate(_column(traits, trait.column)):
        for key, spelling in (given or {NO_ANSWER: NO_ANSWER}).items():
            found.setdefault(key, []).append(row)
            names.setdefault(key, str(spelling).lower() if isinstance(spelling, bool) else str(spelling))
    if trait.values:
        order: list[Key] = [*map(_compared, trait.values), NO_ANSWER]
        names |= {_compared(value): label for value, label in trait.labels.items()}
    elif isinstance(dtype := traits.frame.schema[trait.column], pl.Enum):
        order = [*map(_compared, dtype.categories), NO_ANSWER]
    else:
        order = sorted(found, key=lambda key: (key == NO_ANSWER, isinstance(key, str), key))
    return {names[key]: found[key] for key in order if key in found}


def _binned(traits: Traits, trait: Trait, name: str, bins: Bins) -> dict[str, list[int]]:
    if not traits.is_numeric(trait):
        raise ValueError(f"{name} is not a number, which {bins!r} bins need; leave bins out")
    given = traits.frame[trait.column].to_list()
    values = [value if value is not None and trait.low <= value <= trait.high else None for value in given]
    found = bin_rows(values, list(traits.clusters().values()), bins)
    rest = sorted(set(range(len(values))).difference(*found.values()))
    return {**found, NO_ANSWER: rest} if rest else found


def count_people(names: Iterable[str | None]) -> int:
    """Return how many different participants these names mean, compared as in queries; a blank name means nobody."""
    return len({text_key(name) for name in names} - {None})


def spelled_alike(names: Iterable[str | None]) -> list[str | None]:
    """Return participants' names as outputs write them: as given, without outer blanks, None for a blank name.

    Names that are equal when compared (see `text_key`) are all written like the first of them in sorted order.

    Examples
    --------
    >>> spelled_alike(["S1", " s1", "", None, "s2"])
    ['S1', 'S1', None, None, 's2']
    """
    given = [(text_key(name), (name or "").strip()) for name in names]
    first = dict(sorted(given, key=lambda one: one[1], reverse=True))
    return [first[key] if key else None for key, _ in given]


def shares(sizes: Sequence[int], total: int) -> list[int]:
    """Return how many to draw from each cell, in proportion to its size, rounded by the largest remainder."""
    everybody = sum(sizes) or 1
    whole = [size * total // everybody for size in sizes]
    by_remainder = sorted(range(len(sizes)), key=lambda cell: -(sizes[cell] * total % everybody))
    for cell in by_remainder[: total - sum(whole)]:
        whole[cell] += 1
    return whole


def _answers(traits: Traits, trait: Trait) -> list[dict[Key, Value]]:
    """Return each row's values of a trait, as a dict from the key by which a value is compared to its spelling."""
    found = _column(traits, trait.column)
    if trait.also is None:
        return found
    known = set(map(_compared, trait.values))
    return [
        {**given, **{key: answer for key, answer in others.items() if key not in known}}
        for given, others in zip(found, _column(traits, trait.also), strict=True)
    ]


def _column(traits: Traits, name: str) -> list[dict[Key, Value]]:
    rows = traits.frame[name].to_list()
    answers = [row or () for row in rows] if traits.frame.schema[name].is_nested() else [(row,) for row in rows]
    spelt = {value: value.strip() if isinstance(value, str) else value for given in answers for value in given}
    keys = {value: _key(value) for value in spelt}
    # If a row has several spellings with the same key, the first is kept.
    return [{key: spelt[value] for value in reversed(given) if (key := keys[value]) is not None} for given in answers]


def _key(value: Value) -> Key | None:
    if isinstance(value, str):
        return text_key(value)
    return None if isinstance(value, float) and isnan(value) else value


def _compared(value: str | bool) -> Key:
    """Return a value of a closed list as it is compared."""
    return value.strip().casefold() if isinstance(value, str) else value


def text_key(text: str | None) -> str | None:
    """Return a text as it is compared, None for no answer."""
    key = (text or "").strip().casefold()
    return None if key in ("", NO_ANSWER) else key


def _spellings(values: Iterable[Value]) -> str:
    return listed(sorted({sanitize(value) for value in values}), _LISTED) or "none"


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

    For screens and bands it does not match: without a valid score a conversation is in no group.

    Examples
    --------
    >>> from attune_data import load
    >>> demo = load("demo")
    >>> len(demo.where(category=none_of("Health"))) + len(demo.where(category="Health"))
    40
    """
    return Match("none", values)


class Queryable(ABC):
    """The queries that a collection and its tables have in common."""

    _found: tuple[Issue, ...]
    _filters: tuple[str, ...]
    _root: Self | None

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
        """Return the table that queries read, one row a unit, with the description of its traits."""

    def _traits(self) -> "pl.DataFrame":
        return self._table().frame

    @abstractmethod
    def _keep(self, rows: Sequence[int], *labels: str) -> Self:
        """Return the units at these positions, which are in order."""

    def _origin(self) -> Self:
        """Return the whole that this is a part of, or this itself; a query may name the values of the whole."""
        return self if self._root is None else self._root

    @abstractmethod
    def __or__(self, other: Self) -> Self:
        """Return the units of both."""

    def _common_origin(self, other: Self) -> Self | None:
        """Return the whole that both are parts of (joined, if these are two); None if neither is a part."""
        mine, theirs = self._origin(), other._origin()
        if mine is theirs:
            return mine
        return None if mine is self and theirs is other else mine | theirs

    @property
    def unit_ids(self) -> list[str]:
        """The id of each unit, in order: the id of a conversation, or of the scenario of an episode.

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
        """The queries that led to this part, as one line without control characters; a long line is cut."""
        text = sanitize(" ".join(", ".join(self._filters).split()))
        return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the attributes that are computed from it on demand."""
        cached = [name for name in vars(self) if isinstance(getattr(type(self), name, None), cached_property)]
        return {name: value for name, value in vars(self).items() if name not in cached}

    def where(self, **traits: Condition) -> Self:
        """Return the conversations with these values of these traits.

        Parameters
        ----------
        **traits
            For each trait a value, a list (any of its values matches), ``all_of(...)`` or ``none_of(...)``. None and
            the text ``no answer`` mean no answer. Letter case and outer blanks of text do not matter. ``diagnosis`` is
            a group of ``codebook/diagnoses.toml``, else an answer as it was given. Published screens and bands of a
            score are columns too: ``asrs_6_screen=True`` chooses the screen-positive conversations. A score that is
            missing or outside its instrument's range is in no such group, and not in the opposite group either.

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
        own, whole = self._table(), self._origin()._table()
        matches = {trait: _match(condition) for trait, condition in traits.items()}
        rows = set(range(own.frame.height))
        for trait, match in matches.items():
            rows &= set(matching(own, whole, trait, match))
        return self._keep(sorted(rows), *(f"{trait}={match}" for trait, match in matches.items()))

    def filter(self, condition: "pl.Expr | str") -> Self:
        """Return the conversations for which a condition on their traits is true.

        Parameters
        ----------
        condition : polars expression or str
            On columns of the ``conversations`` table, and no others. It gives true, false or null; null counts as
            false. Bands are ordered: ``"promis_anxiety_t_band >= 'moderate'"``. A text is an SQL expression of
            comparisons, ``AND``, ``OR``, ``NOT``, ``IN``, ``BETWEEN``, ``LIKE``, ``IS NULL``, ``CASE``, arithmetic and
            `attune_data.conditions.FUNCTIONS`, of at most 100,000 characters, 200 operators and keywords, and 20 nested
            parentheses.

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
            if isinstance(condition, str) and (instead := unquoted_text(condition, traits)):
                raise ValueError(f"the condition {condition!s:.200} does not fit its columns: {instead}")
            expected = f"expected one answer, true or false, for each {table.unit.noun}"
            raise ValueError(f"the condition {condition!s:.200} does not fit its columns: {reason}; {expected}")
        return self._keep(answers.fill_null(value=False).arg_true().to_list(), f"filter {condition}")

    def stratify(self, trait: str, *, bins: Bins | None = None) -> dict[str, Self]:
        """Return one part for each value of a trait, or for each bin; every conversation is in at least one part.

        A conversation with several values (two diagnoses) is in the part of each value. Conversations without an answer
        are in the part ``no answer``; for ``diagnosis_group``, conversations with no diagnosis are in ``none`` and
        those without an answer in ``unknown``.

        Parameters
        ----------
        trait : str
            Column of the ``conversations`` table, or ``diagnosis_group``.
        bins : {"median", "tertile"}, optional
            Split a numeric trait at its median or tertiles instead. The cuts are computed from the participants in this
            collection; each participant counts once, with the median of their conversations, and tertiles interpolate
            linearly. A value equal to a cut is in the lower part, so that equal values stay together. Parts may
            therefore differ in size; an empty part is left out.

        Returns
        -------
        dict of str to part
            The parts, named by the value as it was first spelt and sorted by it, with no answer last. Diagnosis groups,
            bands and other closed lists are in the codebook's order; screens are named ``screen-positive`` and
            ``screen-negative``, and bins by their cut, ``"<= 8"`` and ``"> 8"``. In screens, bands and bins, a score
            outside its instrument's range counts as no answer.

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

        Names of participants are compared as in `where`: letter case and outer blanks do not matter. A conversation
        that names no participant counts as a participant of its own.

        Parameters
        ----------
        participants : int
            How many to draw.
        seed : int
            The same seed draws the same participants, in whichever order the conversations are.
        by : str, optional
            A trait by which the draw is stratified: participants with the same combination of values form a group, and
            each group gets its share of the draw.

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
            raise ValueError(
                f"cannot sample {participants!r} {pluralize(cluster)} of {len(rows_of)}; expected a whole number"
            )
        of_value = {name: set(rows) for name, rows in strata(traits, by).items()} if by else {}
        cells: dict[tuple[str, ...], list[tuple[str, str]]] = {}
        for person, rows in rows_of.items():
            values = tuple(sorted(name for name, own in of_value.items() if not own.isdisjoint(rows)))
            cells.setdefault(values, []).append(person)
        chance = random.Random(seed)  # noqa: S311  # sampling, nothing to guess
        share_of = zip(cells.values(), shares([len(cell) for cell in cells.values()], participants), strict=True)
        drawn = [person for cell, share in share_of for person in chance.sample(cell, share)]
        label = f"sample of {plural(participants, cluster)}{f' by {by}' if by else ''}, seed {seed}"
        return self._keep(sorted(row for person in drawn for row in rows_of[person]), label)

    def split(self, *parts: float, seed: int) -> tuple[Self, ...]:
        """Return disjoint parts that together have every conversation; no participant is in two of them.

        Names of participants are compared as in `sample`.

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
    """Return the label of records that passed the first or the second series of filters."""
    return (" | ".join(f"({', '.join(filters) or 'all'})" for filters in (first, second)),)
