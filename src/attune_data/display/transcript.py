"""One record of any kind as text, alone or with what models made of it."""

from collections.abc import Iterable, Sequence
from typing import Any

from attune_data.collection import Kind
from attune_data.display import parts_text, titled
from attune_data.kinds import kind_of
from attune_data.record import Record
from attune_data.text import columns_of_terminal, plural, ruled

__all__ = ["show", "with_results"]


def show(record: Record, results: Record | Iterable[Record] = (), *, columns: int | None = None) -> str:
    """Return one record as text that is safe to print: who said what, and what was noted about it.

    Parameters
    ----------
    record : Conversation, Run, Scenario, Episode or any other
        What to show.
    results : record or iterable of record, optional
        What models made of it, such as `Runs`: each prediction beside what the participant annotated, each episode
        below its scenario. Those of other records are passed over.
    columns : int, optional
        How wide the text may be; by default as wide as the terminal, 100 at most.

    Raises
    ------
    TypeError
        Where a record is of no kind of the library.
    ValueError
        Where `results` are given, and none is of the record.

    Examples
    --------
    >>> from attune_data import load_episodes, load_scenarios
    >>> scenario = load_scenarios("demo")[0]
    >>> print(show(scenario, columns=60).partition("  scene")[0].rstrip())
    Scenario demo_support_01 (synthetic)
      title         After the night shift
    >>> "Episode demo_support_01/synthetic/attentive" in show(scenario, load_episodes("demo"), columns=80)
    True
    """
    kind, wide = kind_of(record), columns_of_terminal() if columns is None else columns
    given = [results] if isinstance(results, Record) else list(results)
    return with_results(kind, record, kind_of(given[0]), given, wide) if given else kind.transcript(record, wide)


def with_results(kind: Kind[Any, Any], record: Any, made: Kind[Any, Any], results: Sequence[Any], columns: int) -> str:
    """Return a record as text with what models made of it, which is of the kind `made`.

    Raises
    ------
    ValueError
        Where no result is of the record.
    """
    of = made.of
    if of is None:
        raise ValueError(f"{made.plural} do not say which {kind.noun} they are of; Kind(of=...) of theirs would")
    own = [one for one in results if isinstance(one, made.model) and of(one) == record.id]
    if not own:
        raise ValueError(f"none of {plural(len(results), made.noun, made.plural)} is of the {kind.noun} {record.id!r}")
    if kind.beside is None:
        below = (f"{ruled(made.noun.upper(), columns)}\n\n{made.transcript(one, columns)}" for one in own)
        return "\n\n".join([kind.transcript(record, columns), *below])
    names = [one.id.removeprefix(f"{record.id}/") for one in own]
    first, *_ = kind.parts(record)
    parts = [first, *kind.beside(record, own)]
    return parts_text(titled(kind.noun, record), parts, columns, reference=kind.reference, names=names)
