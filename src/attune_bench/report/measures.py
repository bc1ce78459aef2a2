"""What a benchmark's records say, measured: a value of each record, and families of measures that a page shows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from attune_bench.scores.table import ScoreTable


class Place(NamedTuple):
    """The place of a measure in a figure of lines: its line, and its position from left to right."""

    line: str
    position: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """Measures of one question, which a page shows in one section and corrects for each other.

    Attributes
    ----------
    title : str
        The heading.
    metrics : sequence of str
        The measures, from the top.
    about : str
        What a value is, in a sentence.
    axis : str
        What the axis of the figure says.
    pairs : mapping of str to (str, str)
        For a measure that is a difference within each record, the two measures that it is the first minus the second
        of. Their values are shown beside it, and it is tested against 0.
    ends : (str, str)
        What the first and the second of such two measures are called.
    headings : (str, str)
        The headings of the first measures, and of the differences, where two groups are compared.
    noun : str
        What a measure of the family is called, such as ``question``.
    places : mapping of str to Place
        For measures that are drawn as lines, such as shares by turn.
    position : str
        What a position is called, such as ``turn``.
    middle : float, optional
        The value that says nothing, such as half of the comparisons, as values are stored.
    trait : str
        The trait that the measures are values of: a group chosen by this trait is not compared by them.
    counts : bool
        Whether a measure is 1 for a record with a property and else 0, so that a value tells how many records have it.
    """

    title: str
    metrics: Sequence[str]
    about: str
    axis: str
    pairs: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    ends: tuple[str, str] = ("", "")
    headings: tuple[str, str] = ("", "")
    noun: str = "measure"
    places: Mapping[str, Place] = field(default_factory=dict)
    position: str = "position"
    middle: float | None = None
    trait: str = ""
    counts: bool = False


@dataclass(frozen=True, slots=True)
class Measures:
    """The measures of some records.

    Attributes
    ----------
    table : ScoreTable
        Scores of one model, the people themselves: a unit is a record, its cluster the person.
    families : tuple of Family
        The families of the measures, in the order of a page.
    """

    table: ScoreTable
    families: tuple[Family, ...]
