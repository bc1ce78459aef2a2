"""Participants: their psychological instruments with ranges, cut-offs and sources, their diagnoses, their traits.

Screening is not diagnosis. A group is named after the screen ("screen-positive"), never after a condition; a score
that is missing or outside the instrument's range is in no group.

Traits of a conversation that follow from others: published screens and bands of scores, groups of diagnoses.

A score that is missing or outside its instrument's range is in no group.
"""

import functools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, ClassVar, Literal, Self

from pydantic import AfterValidator, ConfigDict, Field, WithJsonSchema, model_validator

from attune_data.attunebench.records import ComputedScores
from attune_data.codebook import (
    ABSENT,
    OWN_NAME,
    Entry,
    Finding,
    Items,
    Keys,
    Named,
    Number,
    RefersTo,
    Text,
    codebook_folder,
    read_toml,
    refuse,
)
from attune_data.columns import Column
from attune_data.query import Trait

Screen = Literal["screen-positive", "screen-negative"]


Limit = Annotated[Number | None, WithJsonSchema({"type": "number"})]


class CutOff(Entry):
    """Where a screen is positive: ``from`` a score upwards, that score included, or ``below`` it.

    Examples
    --------
    >>> print(CutOff(below=13))
    below 13
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(json_schema_extra={"minProperties": 1, "maxProperties": 1})

    from_: Limit = Field(None, alias="from", description="The lowest score of a positive screen.")
    below: Limit = Field(None, description="The score below which a screen is positive.")

    @model_validator(mode="after")
    def _one_side(self) -> Self:
        if (self.from_ is None) == (self.below is None):
            refuse([((), self.model_dump(by_alias=True, exclude_none=True), "expected either 'from' or 'below'")])
        return self

    @property
    def score(self) -> float:
        """The score where one side ends."""
        return next(score for score in (self.from_, self.below) if score is not None)

    def __str__(self) -> str:
        return f"{'from' if self.below is None else 'below'} {self.score:g}"


@dataclass(frozen=True, slots=True)
class Band:
    """A published severity band: from its lowest score, `low`, to the next band."""

    name: str
    low: float


class Instrument(Entry):
    """One score of a psychological instrument, and what may be said about it.

    Examples
    --------
    >>> who_5 = instruments["who_5"]
    >>> who_5.low, who_5.high, who_5.higher_is, str(who_5.cut_off)
    (0, 25, 'better well-being', 'below 13')
    """

    name: str = Field(
        alias=OWN_NAME,
        description="Its field in `computed_scores`; `panas_positive` and `panas_negative` for the PANAS totals.",
    )
    title: Text = Field(description="The instrument and its version.")
    measures: Text = Field(description="What the score counts.")
    low: Number = Field(description="The lowest possible score.")
    high: Number = Field(description="The highest possible score.")
    higher_is: Text = Field(description="What a higher score means.")
    if_outside: Text = Field(description="The likely mistake behind a score outside the range, as a question.")
    sources: Items[Annotated[Text, RefersTo("sources")]] = Field(description="Names in `sources`.")
    cut_off: CutOff | None = Field(None, description="Where the screen is positive; absent where none is published.")
    lowest: Named[Number] = Field(
        Named({}), alias="bands", description="Published severity bands, mildest first, each with its lowest score."
    )
    note: str = Field("", description="A likely misreading of the score.")

    @property
    def source(self) -> str:
        """The citations, one a line."""
        return "\n".join(self.sources)

    @property
    def bands(self) -> tuple[Band, ...]:
        """The severity bands, mildest first; empty where none are published."""
        return tuple(Band(name, low) for name, low in self.lowest.items())

    @model_validator(mode="after")
    def _limits_are_in_order(self) -> Self:
        low, high = self.low, self.high
        found: list[Finding] = []
        if not low < high:
            found.append((("high",), high, f"not above low, {low:g}; are the two exchanged?"))
        if self.cut_off is not None and not low < self.cut_off.score <= high:
            found.append((("cut_off",), str(self.cut_off), f"nobody is on one side of it within {low:g}-{high:g}"))
        if self.bands and self.bands[0].low != low:
            found.append((("bands", self.bands[0].name), self.bands[0].low, f"the first band starts at low, {low:g}"))
        for one, following in pairwise(self.bands):
            if not one.low < following.low <= high:
                message = f"not above {one.name!r}, {one.low:g}, and up to high, {high:g}; bands go from mild to severe"
                found.append((("bands", following.name), following.low, message))
        refuse(found)
        return self

    def screen(self, score: float | None) -> Screen | None:
        """Return the side of the published cut-off that a score is on.

        Parameters
        ----------
        score
            The participant's score.

        Returns
        -------
        {"screen-positive", "screen-negative"} or None
            None where the score is missing or outside the instrument's range.

        Raises
        ------
        ValueError
            The instrument has no published cut-off.

        Examples
        --------
        >>> instruments["asrs_6"].screen(4)
        'screen-positive'
        >>> instruments["asrs_6"].screen(18) is None
        True
        """
        if self.cut_off is None:
            instead = "It has bands, see band()." if self.bands else self.note
            raise ValueError(f"{self.name} has no published cut-off. {instead}")
        if score is None or not self.low <= score <= self.high:
            return None
        below = score < self.cut_off.score
        return "screen-positive" if below == (self.cut_off.below is not None) else "screen-negative"

    def band(self, score: float | None) -> str | None:
        """Return the name of the published severity band that a score is in.

        Parameters
        ----------
        score
            The participant's score.

        Returns
        -------
        str or None
            None where the score is missing or outside the instrument's range.

        Raises
        ------
        ValueError
            The instrument has no published bands.

        Examples
        --------
        >>> instruments["promis_anxiety_t"].band(61.4)
        'moderate'
        """
        if not self.lowest:
            instead = f"It has a cut-off ({self.cut_off}), see screen()." if self.cut_off else self.note
            raise ValueError(f"{self.name} has no published bands. {instead}")
        if score is None or not self.low <= score <= self.high:
            return None
        return [name for name, low in self.lowest.items() if low <= score][-1]


_NAMES = (*ComputedScores.model_fields, "panas_positive", "panas_negative")


class Instruments(Entry):
    """The file ``codebook/instruments.toml``: every instrument, and the citations."""

    instruments: Annotated[Named[Instrument], Keys(_NAMES)] = Field(
        description="The instruments by their field in `computed_scores`, and the instruments of the PANAS totals."
    )
    sources: Named[Text] = Field(description="The citations by name.")


class _Bundled(Mapping[str, Instrument]):
    """The instruments of the codebook, which is read at the first look."""

    def __getitem__(self, name: str) -> Instrument:
        return _bundled_instruments()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(_bundled_instruments())

    def __len__(self) -> int:
        return len(_bundled_instruments())

    def __repr__(self) -> str:
        return f"instruments({', '.join(self)})"


instruments: Mapping[str, Instrument] = _Bundled()
"""Every instrument by its field in ``computed_scores``."""


@functools.cache
def _bundled_instruments() -> Named[Instrument]:
    book = read_toml(codebook_folder() / "instruments.toml", Instruments)
    cited = {
        name: one.model_copy(update={"sources": tuple(book.sources[key] for key in one.sources)})
        for name, one in book.instruments.items()
    }
    return Named(cited)


OTHER = "other"
NO_DIAGNOSIS = "none"
UNKNOWN = "unknown"


def _lower(text: str) -> str:
    if text != text.casefold():
        refuse([((), text, f"answers are compared in lower case; write {text.casefold()!r}")])
    return text


Lower = Annotated[Text, AfterValidator(_lower)]


class DiagnosisGroup(Entry):
    """What an answer has in it that belongs to a group of diagnoses, in lower case."""

    stems: Items[Lower] = Field(description="Parts of an answer, found anywhere in it.")
    words: Items[Lower] = Field(description="Whole words of an answer.")

    @model_validator(mode="after")
    def _is_not_empty(self) -> Self:
        if not self.stems and not self.words:
            refuse([(("stems",), self.stems, "neither stems nor words; no answer fits such a group")])
        return self

    @functools.cached_property
    def pattern(self) -> re.Pattern[str]:
        """The expression that finds the group in an answer in lower case."""
        words = (rf"\b{re.escape(word)}\b" for word in self.words)
        return re.compile("|".join([*map(re.escape, self.stems), *words]))


def _unlike_ours(groups: Named[DiagnosisGroup]) -> Named[DiagnosisGroup]:
    ours = (OTHER, NO_DIAGNOSIS, UNKNOWN)
    refuse(((name,), ABSENT, "the library has a group of this name") for name in groups if name in ours)
    return groups


class Diagnoses(Entry):
    """The file ``codebook/diagnoses.toml``: the groups of self-reported diagnoses."""

    none: Text = Field(description="The answer that means no diagnosis, in any letter case.")
    groups: Annotated[Named[DiagnosisGroup], AfterValidator(_unlike_ours)] = Field(
        description="The groups by name; an answer that fits several is in each."
    )


def diagnosis_groups(raw: Iterable[str]) -> tuple[str, ...]:
    """Return the groups of one participant's answers, in the order of `diagnosis_group_names`.

    Parameters
    ----------
    raw : iterable of str
        The answers as ``demographics.diagnoses`` has them.

    Returns
    -------
    tuple of str
        Every group of ``codebook/diagnoses.toml`` that an answer fits, and ``other`` where one fits none;
        ``("none",)`` where the only answer is `None of the above`; ``("unknown",)`` without an answer.

    Examples
    --------
    >>> diagnosis_groups(["Generalised anxiety", "Attention Deficit Disorder", "Migraine"])
    ('AnxDep', 'ADHD', 'other')
    >>> diagnosis_groups(["None of the above"]), diagnosis_groups([])
    (('none',), ('unknown',))
    """
    return _groups(tuple(raw))


@functools.cache
def _groups(raw: tuple[str, ...]) -> tuple[str, ...]:
    book = _bundled_diagnoses()
    answers = {answer.strip().casefold() for answer in raw} - {""}
    if not answers:
        return (UNKNOWN,)
    named = answers - {book.none.casefold()}
    if not named:
        return (NO_DIAGNOSIS,)
    fitting = [{name for name, group in book.groups.items() if group.pattern.search(answer)} for answer in named]
    found = set().union(*fitting)
    return (*(name for name in book.groups if name in found), *([] if all(fitting) else [OTHER]))


def diagnosis_group_names() -> tuple[str, ...]:
    """Return the name of every group: the groups of the codebook, then ``other``, ``none`` and ``unknown``.

    Examples
    --------
    >>> diagnosis_group_names()
    ('AnxDep', 'ADHD', 'ASD', 'other', 'none', 'unknown')
    """
    return (*_bundled_diagnoses().groups, OTHER, NO_DIAGNOSIS, UNKNOWN)


def diagnosis_groups_text() -> str:
    """Return which self-reported diagnoses each group has.

    Examples
    --------
    >>> diagnosis_groups_text().partition(";")[0]
    "Groups of the diagnoses: AnxDep, an answer with 'anxi' or 'depress'"
    """
    groups = _bundled_diagnoses().groups
    parts = {name: " or ".join(map(repr, [*one.stems, *one.words])) for name, one in groups.items()}
    said = [f"{name}, an answer with {part}" for name, part in parts.items()]
    said += [f"{OTHER}, an answer in no other group", f"{NO_DIAGNOSIS}, no diagnosis", f"{UNKNOWN}, no answer"]
    return f"Groups of the diagnoses: {'; '.join(said)}."


@functools.cache
def _bundled_diagnoses() -> Diagnoses:
    return read_toml(codebook_folder() / "diagnoses.toml", Diagnoses)


_SIDES: dict[str | bool, str] = {True: "screen-positive", False: "screen-negative"}


def _scores() -> Iterable[Instrument]:
    return (instruments[name] for name in ComputedScores.model_fields)


def group_columns(traits: Mapping[str, Sequence[float | None]]) -> dict[str, Sequence[str | bool | None]]:
    """Return the screens, true where positive, and the bands of scores; null where a score is in no group."""
    found: dict[str, Sequence[str | bool | None]] = {}
    for one in _scores():
        if one.cut_off:
            sides = map(one.screen, traits[one.name])
            found[f"{one.name}_screen"] = [side and side == _SIDES[True] for side in sides]
        if one.bands:
            found[f"{one.name}_band"] = list(map(one.band, traits[one.name]))
    return found


def score_meanings(columns: Mapping[str, Column]) -> dict[str, Column]:
    """Return the columns of scores of instruments with the range of the instrument and its full name."""
    return {
        one.name: columns[one.name]._replace(
            low=one.low, high=one.high, source=f"{columns[one.name].source}; {one.title}, in codebook/instruments.toml"
        )
        for one in _scores()
    }


def group_meanings() -> dict[str, Column]:
    """Return the columns of screens, then of bands.

    Examples
    --------
    >>> list(group_meanings())[:4]
    ['who_5_screen', 'asrs_6_screen', 'aq_10_screen', 'promis_anxiety_t_band']
    """
    import polars as pl

    screens, bands = {}, {}
    for one in _scores():
        source = f"computed of {one.name} with its {{}} in codebook/instruments.toml"
        if one.cut_off:
            text = f"Whether {one.name} is screen-positive, {one.cut_off}; screening is not diagnosis."
            screens[f"{one.name}_screen"] = Column(text, null=True, source=source.format("cut-off"), kind=bool)
        if one.bands:
            kind = pl.Enum([band.name for band in one.bands])
            text = f"Published band of {one.name}."
            bands[f"{one.name}_band"] = Column(text, null=True, source=source.format("bands"), kind=kind)
    return screens | bands


@functools.cache
def conversation_traits() -> Mapping[str, Trait]:
    """Return the traits of the ``conversations`` table that are not just a column, by the name they are asked for.

    Examples
    --------
    >>> conversation_traits()["diagnosis"].values[:3]
    ('AnxDep', 'ADHD', 'ASD')
    """
    groups = Trait("diagnosis_groups", values=diagnosis_group_names(), missing=UNKNOWN)
    found = {
        "diagnosis": Trait("diagnosis_groups", also="diagnoses", values=groups.values, missing=UNKNOWN),
        "diagnosis_group": groups,
        "diagnosis_groups": groups,
    }
    for one in _scores():
        found[one.name] = Trait(one.name, low=one.low, high=one.high)
        if one.cut_off:
            name = f"{one.name}_screen"
            found[name] = Trait(name, values=(True, False), labels=_SIDES, is_group=True)
        if one.bands:
            name = f"{one.name}_band"
            found[name] = Trait(name, values=tuple(band.name for band in one.bands), is_group=True)
    return found
