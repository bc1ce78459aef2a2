"""What queries are made of: the values that each row has of a trait, matches on them, clusters, shares."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from difflib import get_close_matches
from math import isnan
from typing import TYPE_CHECKING, Literal

from attune_data.bins import Bins, bin_rows
from attune_data.text import listed, meant, printable
from attune_data.traits import Trait, Unit

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "NO_ANSWER",
    "Key",
    "Match",
    "Traits",
    "Value",
    "Written",
    "count_people",
    "matching",
    "shares",
    "spelled_alike",
    "strata",
    "text_key",
]

NO_ANSWER = "no answer"
_LISTED = 12

Value = str | int | float | None
Key = str | int | float
"""A value as it is compared: text without outer blanks and case; ``no answer`` and nan are none."""


class Written(str):
    """A value as it is written on a command line: of a column of numbers a number, of true and false either.

    Examples
    --------
    >>> from attune_data import load
    >>> len(load("demo").where(n_turns=Written("5"), asrs_6_screen=Written("true")))
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
        """Tell whether the values wanted are among those given; None means no value at all."""
        own: set[Key | None] = {*given}
        found = wanted & (own or {None})
        return found == wanted if self.how == "all" else bool(found) == (self.how == "any")


@dataclass(frozen=True, slots=True)
class Traits:
    """A table with one row a unit, and what is to be known to ask for its rows.

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
        """Return what is known of a trait.

        Raises
        ------
        ValueError
            Where there is none of this name; says the nearest.
        """
        if name not in self.special and name not in self.frame.columns:
            held = holders(self, name)
            hint = f"it is a value of {' and of '.join(held)}" if held else meant(name, self.names)
            raise ValueError(f"no trait {name!r}; {hint}")
        return self.special.get(name) or Trait(name)

    def is_numeric(self, trait: Trait) -> bool:
        """Tell whether a trait's column is numeric."""
        return self.frame.schema[trait.column].is_numeric()

    def read(self, trait: Trait, value: Value) -> Value:
        """Return a value that is `Written` as a number or truth, where its column has these; others as they are."""
        import polars as pl

        if not isinstance(value, Written):
            return value
        if self.is_numeric(trait):
            for number in (int, float):
                with suppress(ValueError):
                    return number(value)
        if self.frame.schema[trait.column] == pl.Boolean:
            return {"true": True, "false": False}.get(value.strip().casefold(), value)
        return value

    def clusters(self) -> dict[tuple[str, str], list[int]]:
        """Return the positions of what belongs together: a participant's conversations, or a scenario's episodes.

        The order does not depend on that of the rows.
        """
        unit, height = self.unit, self.frame.height
        names = [text_key(name) for name in self.frame[unit.named_by]] if unit.named_by else [None] * height
        found: dict[tuple[str, str], list[int]] = {}
        for row, (name, own) in enumerate(zip(names, self.frame[unit.own], strict=True)):
            found.setdefault((name, "") if name else ("", own), []).append(row)
        return dict(sorted(found.items()))


def matching(traits: Traits, origin: Traits, name: str, match: Match) -> list[int]:
    """Return the positions of the rows that match; the values asked for must occur in `origin`, or be known."""
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
                raise ValueError(_no_number(traits, name, value))
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


def _no_number(traits: Traits, name: str, value: Value) -> str:
    groups = [other for other, trait in traits.special.items() if trait.is_group and other.startswith(f"{name}_")]
    hint = f"; its groups are in {' and '.join(groups)}" if groups else ""
    return f'{name} is a number, not {value!r}; for a range use filter("{name} >= 10"){hint}'


def strata(traits: Traits, name: str, bins: Bins | None = None) -> dict[str, list[int]]:
    """Return the positions of the rows with each value of a trait, by its first spelling; or in each bin.

    Yes and no are ``true`` and ``false``, as in CSV.
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
    """Return how many participants there are by these names, compared as in queries; a blank one is none."""
    return len({text_key(name) for name in names} - {None})


def spelled_alike(names: Iterable[str | None]) -> list[str | None]:
    """Return names of participants as they are written out: as given, without outer blanks, None for a blank one.

    Names that are compared as one, see `text_key`, are written as the first of them in sorted order.

    Examples
    --------
    >>> spelled_alike(["S1", " s1", "", None, "s2"])
    ['S1', 'S1', None, None, 's2']
    """
    given = [(text_key(name), (name or "").strip()) for name in names]
    first = dict(sorted(given, key=lambda one: one[1], reverse=True))
    return [first[key] if key else None for key, _ in given]


def shares(sizes: Sequence[int], total: int) -> list[int]:
    """Return how many to draw of each cell: in proportion to its size, rounded by largest remainder."""
    everybody = sum(sizes) or 1
    whole = [size * total // everybody for size in sizes]
    by_remainder = sorted(range(len(sizes)), key=lambda cell: -(sizes[cell] * total % everybody))
    for cell in by_remainder[: total - sum(whole)]:
        whole[cell] += 1
    return whole


def _answers(traits: Traits, trait: Trait) -> list[dict[Key, Value]]:
    """Return each row's values of a trait, from the key they are compared by to the spelling."""
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
    # The first spelling of a row names its key.
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
    return listed(sorted({printable(value) for value in values}), _LISTED) or "none"
