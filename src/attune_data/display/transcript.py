"""One record of any kind as text."""

from attune_data.kinds import kind_of
from attune_data.record import Record
from attune_data.text import columns_of_terminal

__all__ = ["show"]


def show(record: Record, *, columns: int | None = None) -> str:
    """Return one record as text that is safe to print: who said what, and what was noted about it.

    Parameters
    ----------
    record : Conversation, Run, Scenario, Episode or SageDialogue
        What to show.
    columns : int, optional
        How wide the text may be; by default as wide as the terminal, 100 at most.

    Raises
    ------
    TypeError
        Where the record is of no kind of the library.

    Examples
    --------
    >>> from attune_data import load_scenarios
    >>> print(show(load_scenarios("demo")[0], columns=60).partition("  anger")[0].rstrip())
    Scenario demo_support_01 (synthetic)
      title         After the night shift
      scene         support
    """
    return kind_of(record).transcript(record, columns_of_terminal() if columns is None else columns)
