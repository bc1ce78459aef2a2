"""What queries are made of: the answers of each conversation to a trait, matches on them, participants, shares."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Literal

from attune_data.attunebench.diagnoses import UNKNOWN, diagnosis_group_names
from attune_data.attunebench.groups import SCREEN, Bins, bin_rows, group_names, group_traits, groups, screen_trait
from attune_data.attunebench.instruments import instruments
from attune_data.text import listed, meant, printable

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "NO_ANSWER",
    "Key",
    "Match",
    "Value",
    "check_trait",
    "cluster_name",
    "count_people",
    "matching",
    "people",
    "shares",
    "strata",
    "text_key",
]

NO_ANSWER = "no answer"
_GROUPS = "diagnosis_groups"
_ALIASES = {"diagnosis": _GROUPS, "diagnosis_group": _GROUPS}
_LISTED = 12

Value = str | int | float | None
Key = str | int | float
"""A value as it is compared: text without outer blanks and case; ``no answer`` is none."""


@dataclass(frozen=True, slots=True)
class Match:
    """Values of a trait, and whether a conversation must have any, all or none of them."""

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
        """Tell whether the values wanted are among those given; None stands for no value at all."""
        there: set[Key | None] = {*given}
        found = wanted & (there or {None})
        return found == wanted if self.how == "all" else bool(found) == (self.how == "any")


def check_trait(trait: str, known: Sequence[str]) -> None:
    """Raise `ValueError` with the nearest name where there is no such trait."""
    if trait not in known:
        raise ValueError(f"no trait {trait!r}; {meant(trait, known)}")


def matching(traits: "pl.DataFrame", origin: "pl.DataFrame", trait: str, match: Match) -> list[int]:
    """Return the positions of the conversations that match; the values asked for must occur in `origin`."""
    check_trait(trait, [*_names(traits), *([SCREEN] if _GROUPS in traits.columns else [])])
    if trait == SCREEN:
        return _screened(traits, match)
    score = trait.removesuffix("_band")
    if score in instruments and instruments[score].bands and any(isinstance(value, str) for value in match.values):
        trait, match = f"{score}_band", _as_bands(score, match)
    answers = _answers(traits, trait)
    wanted = {_key(value) for value in match.values}
    column = _ALIASES.get(trait, trait)
    if column == _GROUPS:
        wanted = {UNKNOWN if key is None else key for key in wanted}
    grouped = group_names(trait)
    if not grouped and traits.schema[column].is_numeric():
        for value in match.values:
            if isinstance(value, str | bool):
                raise _no_number(trait, value)
    elif unmet := wanted.difference([None], *answers):
        known = {key: spelling for given in reversed(_answers(origin, trait)) for key, spelling in given.items()}
        named = diagnosis_group_names() if column == _GROUPS else grouped
        known |= {name.casefold(): name for name in named}
        for value in match.values:
            if _key(value) in unmet - known.keys():
                near = get_close_matches(str(_key(value)), map(str, known), n=1)
                hint = f"did you mean {known[near[0]]!r}?" if near else f"it holds {_spellings(known.values())}"
                unit = "conversation" if cluster_name(origin) == "participant" else "record"
                raise ValueError(f"no {unit} has {trait} {value!r}; {hint}")
    # Who is in no group is not in the other group either.
    outside = bool(grouped) and match.how == "none"
    return [row for row, given in enumerate(answers) if match.fits(wanted, given) and (given or not outside)]


def _no_number(trait: str, value: Value) -> ValueError:
    return ValueError(f'{trait} holds numbers, not {value!r}; for a range use filter("{trait} >= 10")')


def _screened(traits: "pl.DataFrame", match: Match) -> list[int]:
    """Return who is screen-positive on any or all instruments, or screen-negative on each of `none_of`."""
    side = "screen-negative" if match.how == "none" else "screen-positive"
    sides = [[group == side for group in groups(traits, screen_trait(value))] for value in match.values]
    every = any if match.how == "any" else all
    return [row for row in range(traits.height) if every(inside[row] for inside in sides)]


def _as_bands(trait: str, match: Match) -> Match:
    """Return the bands that texts such as ``moderate+`` select; None stays no answer."""
    names: list[Value] = []
    for value in match.values:
        if not isinstance(value, str | None):
            raise ValueError(f"{trait} is asked for by bands or by scores, not by both: {match}")
        if value is not None and any(character.isdigit() for character in value):
            raise _no_number(trait, value)
        bands = instruments[trait].parse_bands(value) if value and _key(value) else (None,)
        if match.how == "all" and len(bands) > 1:
            raise ValueError(f"all_of({value!r}) asks {trait} for several bands at once; leave all_of out")
        names += bands
    return Match(match.how, tuple(names))


def strata(traits: "pl.DataFrame", trait: str, bins: Bins | None = None) -> dict[str, list[int]]:
    """Return the positions of the conversations with each value of a trait, by its first spelling; or in each bin."""
    check_trait(trait, _names(traits))
    if bins is not None:
        return _binned(traits, trait, bins)
    column = _ALIASES.get(trait, trait)
    found: dict[Key, list[int]] = {}
    names: dict[Key, str] = {}
    for row, given in enumerate(_answers(traits, column)):
        for key, spelling in (given or {NO_ANSWER: NO_ANSWER}).items():
            found.setdefault(key, []).append(row)
            names.setdefault(key, str(spelling))
    if column == _GROUPS:
        order: list[Key] = [name.casefold() for name in diagnosis_group_names()]
    elif grouped := group_names(trait):
        order = [*grouped, NO_ANSWER]
    else:
        order = sorted(found, key=lambda key: (key == NO_ANSWER, isinstance(key, str), key))
    return {names[key]: found[key] for key in order if key in found}


def _binned(traits: "pl.DataFrame", trait: str, bins: Bins) -> dict[str, list[int]]:
    if trait not in traits.columns or not traits.schema[trait].is_numeric():
        raise ValueError(f"{trait} holds no numbers, which {bins!r} bins need; leave bins out")
    found = bin_rows(traits[trait].to_list(), list(people(traits).values()), trait, bins)
    rest = sorted(set(range(traits.height)).difference(*found.values()))
    return {**found, NO_ANSWER: rest} if rest else found


def people(traits: "pl.DataFrame") -> dict[tuple[str, str], list[int]]:
    """Return the positions of what belongs together: a participant's conversations, or a scenario's episodes.

    A conversation that names nobody is a participant of its own. The order does not depend on that of the rows.
    """
    if cluster_name(traits) == "participant":
        persons, units = [text_key(name) for name in traits["participant_id"]], traits["conversation_id"]
    else:
        persons, units = [None] * traits.height, traits["scenario_id"]
    found: dict[tuple[str, str], list[int]] = {}
    for row, (person, unit) in enumerate(zip(persons, units, strict=True)):
        found.setdefault((person, "") if person else ("", unit), []).append(row)
    return dict(sorted(found.items()))


def count_people(names: Iterable[str | None]) -> int:
    """Return how many participants there are by these names, compared as in queries; a blank one is none."""
    return len({text_key(name) for name in names} - {None})


def cluster_name(traits: "pl.DataFrame") -> str:
    """Return what is drawn and split as a whole: a participant, or a scenario where nobody takes part."""
    return "participant" if "participant_id" in traits.columns else "scenario"


def shares(sizes: Sequence[int], total: int) -> list[int]:
    """Return how many to draw of each cell: in proportion to its size, rounded by largest remainder."""
    everybody = sum(sizes) or 1
    whole = [size * total // everybody for size in sizes]
    by_remainder = sorted(range(len(sizes)), key=lambda cell: -(sizes[cell] * total % everybody))
    for cell in by_remainder[: total - sum(whole)]:
        whole[cell] += 1
    return whole


def _names(traits: "pl.DataFrame") -> list[str]:
    return [*traits.columns, *(_ALIASES if _GROUPS in traits.columns else ()), *group_traits(traits.columns)]


def _answers(traits: "pl.DataFrame", trait: str) -> list[dict[Key, Value]]:
    """Return each conversation's values of a trait, from the key they are compared by to the spelling."""
    if group_names(trait):
        return [{} if group is None else {group: group} for group in groups(traits, trait)]
    found = _column(traits, _ALIASES.get(trait, trait))
    if trait != "diagnosis":
        return found
    named = {name.casefold() for name in diagnosis_group_names()}
    return [
        {**given, **{key: answer for key, answer in raw.items() if key not in named}}
        for given, raw in zip(found, _column(traits, "diagnoses"), strict=True)
    ]


def _column(traits: "pl.DataFrame", name: str) -> list[dict[Key, Value]]:
    rows = traits[name].to_list()
    answers = [row or () for row in rows] if traits.schema[name].is_nested() else [(row,) for row in rows]
    spelt = {value: value.strip() if isinstance(value, str) else value for given in answers for value in given}
    keys = {value: _key(value) for value in spelt}
    # The first spelling of a row names its key.
    return [{key: spelt[value] for value in reversed(given) if (key := keys[value]) is not None} for given in answers]


def _key(value: Value) -> Key | None:
    return text_key(value) if isinstance(value, str) else value


def text_key(text: str | None) -> str | None:
    """Return a text as it is compared, None for no answer."""
    key = (text or "").strip().casefold()
    return None if key in ("", NO_ANSWER) else key


def _spellings(values: Iterable[Value]) -> str:
    return listed(sorted({printable(value) for value in values}), _LISTED) or "no value"
