"""What a table says of the traits that it is asked for by, beyond their columns."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf

__all__ = ["Trait", "Unit"]


@dataclass(frozen=True, slots=True)
class Trait:
    """A trait whose column alone does not say how it is asked for.

    Attributes
    ----------
    column : str
        The column it is read from.
    also : str, optional
        A column whose values may be asked for too, where they are none of `values`.
    values : tuple
        Every value that there can be, in order; one that no row has may be asked for all the same.
    missing : str, optional
        Which of the values means no answer.
    labels : mapping
        What strata call a value, where that is not its text.
    is_group : bool
        Whether a row without a value is in no group, nor in the opposite one: `none_of` leaves it out too.
    low, high : float
        The range of a number; outside it, it counts as no answer where numbers are split.

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
    """What a row of the first of some tables is, and what is drawn and split as a whole.

    Attributes
    ----------
    noun : str
        What a row is, for instance ``conversation``.
    keys : tuple of str
        The columns that tell rows apart; other tables have those of them that they need.
    cluster : str
        What is drawn as a whole, for instance ``participant``.
    own : str
        The column of what is a cluster of its own where nothing else is named.
    named_by : str, optional
        The column that names the cluster, in any letter case and with outer blanks; a blank one names none.
    duplicate_rule : str
        The rule of the issue that reports a row that differs in another table with the same keys.
    """

    noun: str
    keys: tuple[str, ...]
    cluster: str
    own: str
    named_by: str | None = None
    duplicate_rule: str = "duplicate-record"
