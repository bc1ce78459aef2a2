"""The psychological instruments of the participants: range, direction, published cut-off or bands, source.

Screening is not diagnosis. A group is named after the screen ("screen-positive"), never after a condition; a score
that is missing or outside the instrument's range is in no group.
"""

import functools
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Literal

from attune_data.codebook import Named, codebook_folder

__all__ = ["Band", "CutOff", "Instrument", "Screen", "instruments"]

Screen = Literal["screen-positive", "screen-negative"]


@dataclass(frozen=True, slots=True)
class CutOff:
    """Where a screen is positive: ``from`` a score upwards, that score included, or ``below`` it.

    Examples
    --------
    >>> print(CutOff("below", 13))
    below 13
    """

    side: Literal["from", "below"]
    score: float

    def __str__(self) -> str:
        return f"{self.side} {self.score:g}"


@dataclass(frozen=True, slots=True)
class Band:
    """A published severity band: from its lowest score, `low`, to the next band."""

    name: str
    low: float


@dataclass(frozen=True, slots=True)
class Instrument:
    """One score of a psychological instrument, and what may be said about it.

    Attributes
    ----------
    name
        Its field in ``computed_scores``; ``panas_positive`` and ``panas_negative`` for the PANAS totals.
    title, measures
        The instrument and its version; what the score counts.
    low, high
        The lowest and the highest possible score.
    higher_is
        What a higher score stands for.
    if_outside
        The likely mistake behind a score outside the range.
    source
        Citations, one a line.
    cut_off
        Where the screen is positive; None where no cut-off is published.
    bands
        Severity bands, mildest first; empty where none are published.
    note
        What is easily taken wrong; may be empty.

    Examples
    --------
    >>> who_5 = instruments["who_5"]
    >>> who_5.low, who_5.high, who_5.higher_is, str(who_5.cut_off)
    (0, 25, 'better well-being', 'below 13')
    """

    name: str
    title: str
    measures: str
    low: float
    high: float
    higher_is: str
    if_outside: str
    source: str
    cut_off: CutOff | None = None
    bands: tuple[Band, ...] = ()
    note: str = ""

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
        return "screen-positive" if below == (self.cut_off.side == "below") else "screen-negative"

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
        self._band_names()
        if score is None or not self.low <= score <= self.high:
            return None
        return [band.name for band in self.bands if band.low <= score][-1]

    def at_least(self, band: str) -> tuple[str, ...]:
        """Return the names of a band and of all that are more severe.

        Parameters
        ----------
        band
            Name of a band; letter case and outer blanks do not matter.

        Returns
        -------
        tuple of str
            Mildest first.

        Raises
        ------
        ValueError
            The instrument has no such band, or none at all.

        Examples
        --------
        >>> instruments["promis_anxiety_t"].at_least("moderate")
        ('moderate', 'severe')
        """
        names = self._band_names()
        asked = band.strip().lower()
        if asked not in names:
            (near,) = get_close_matches(asked, names, n=1, cutoff=0)
            raise ValueError(f"{self.name} has no band {band!r}; the nearest is {near!r}")
        return names[names.index(asked) :]

    def parse_bands(self, text: str) -> tuple[str, ...]:
        """Return the names of the bands that a text selects: ``"moderate"`` one, ``"moderate+"`` that and above.

        Parameters
        ----------
        text
            Name of a band, with a final plus for the more severe ones too.

        Returns
        -------
        tuple of str
            Mildest first.

        Raises
        ------
        ValueError
            The instrument has no such band, or none at all.

        Examples
        --------
        >>> instruments["promis_sleep_t"].parse_bands("mild+")
        ('mild', 'moderate', 'severe')
        """
        name = text.strip()
        return self.at_least(name[:-1]) if name.endswith("+") else self.at_least(name)[:1]

    def _band_names(self) -> tuple[str, ...]:
        if not self.bands:
            instead = f"It has a cut-off ({self.cut_off}), see screen()." if self.cut_off else self.note
            raise ValueError(f"{self.name} has no published bands. {instead}")
        return tuple(band.name for band in self.bands)


class _Instruments(Mapping[str, Instrument]):
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


instruments: Mapping[str, Instrument] = _Instruments()
"""Every instrument by its field in ``computed_scores``."""


@functools.cache
def _bundled() -> Named[Instrument]:
    data = tomllib.loads((codebook_folder() / "instruments.toml").read_text(encoding="utf-8"))
    return Named({name: _instrument(name, row, data["sources"]) for name, row in data["instruments"].items()})


def _instrument(name: str, row: dict[str, Any], citations: Mapping[str, str]) -> Instrument:
    cut_off = [CutOff(side, score) for side, score in row.pop("cut_off", {}).items()]
    bands = tuple(Band(band, low) for band, low in row.pop("bands", {}).items())
    source = "\n".join(citations[key] for key in row.pop("sources"))
    return Instrument(name, **row, source=source, cut_off=cut_off[0] if cut_off else None, bands=bands)
