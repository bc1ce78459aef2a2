"""The psychological instruments of the participants: range, direction, published cut-off or bands, source.

Screening is not diagnosis. A group is named after the screen ("screen-positive"), never after a condition; a score
that is missing or outside the instrument's range is in no group.
"""

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, ClassVar, Literal, Self

from pydantic import ConfigDict, Field, WithJsonSchema, model_validator

from attune_data.attunebench.parts import ComputedScores
from attune_data.codebook import codebook_folder, read_toml
from attune_data.entries import OWN_NAME, Entry, Finding, Items, Keys, Named, Number, RefersTo, Text, refuse

__all__ = ["Band", "CutOff", "Instrument", "Instruments", "instruments"]

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
    note: str = Field("", description="What is easily mistaken.")

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
        if not self.bands:
            instead = f"It has a cut-off ({self.cut_off}), see screen()." if self.cut_off else self.note
            raise ValueError(f"{self.name} has no published bands. {instead}")
        if score is None or not self.low <= score <= self.high:
            return None
        return [band.name for band in self.bands if band.low <= score][-1]


_NAMES = (*ComputedScores.model_fields, "panas_positive", "panas_negative")


class Instruments(Entry):
    """The file ``codebook/instruments.toml``: every instrument, and the citations."""

    instruments: Annotated[Named[Instrument], Keys(_NAMES)] = Field(
        description="The instruments by their field in `computed_scores`, and those of the PANAS totals."
    )
    sources: Named[Text] = Field(description="The citations by name.")


class _Bundled(Mapping[str, Instrument]):
    """The instruments of the codebook, which is read at the first look."""

    def __getitem__(self, name: str) -> Instrument:
        return _bundled()[name]

    def __contains__(self, name: object) -> bool:
        return name in _bundled()

    def __iter__(self) -> Iterator[str]:
        return iter(_bundled())

    def __len__(self) -> int:
        return len(_bundled())

    def __repr__(self) -> str:
        return f"instruments({', '.join(self)})"


instruments: Mapping[str, Instrument] = _Bundled()
"""Every instrument by its field in ``computed_scores``."""


@functools.cache
def _bundled() -> Named[Instrument]:
    book = read_toml(codebook_folder() / "instruments.toml", Instruments)
    cited = {
        name: one.model_copy(update={"sources": tuple(book.sources[key] for key in one.sources)})
        for name, one in book.instruments.items()
    }
    return Named(cited)
