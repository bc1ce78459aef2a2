"""The kinds of record of the library, each defined beside its records, and of installed packages."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from attune_data.collection import ForeignFile, Kind
from attune_data.record import Record
from attune_data.references import EntryPoints, resolve
from attune_data.text import columns_of_terminal

if TYPE_CHECKING:
    from attune_data.attunebench.kinds import CONVERSATION, RUN
    from attune_data.comparisons import COMPARISON
    from attune_data.eibench.kinds import EPISODE, SCENARIO
    from attune_data.emobench import ITEM, PREDICTION
    from attune_data.eqbench import ANSWER, QUESTION
    from attune_data.eqbench3 import SITUATION, TRANSCRIPT, VERDICT
    from attune_data.eqbench4 import ENTRY, ROLEPLAY
    from attune_data.sage import DIALOGUE, PROFILE
    from attune_data.spiralbench import CHATLOG

    KINDS: tuple[Kind[Any, Any], ...]
    """Every kind of the library."""

__all__ = [
    "ANSWER",
    "CHATLOG",
    "COMPARISON",
    "CONVERSATION",
    "DIALOGUE",
    "ENTRY",
    "EPISODE",
    "INSTALLED",
    "ITEM",
    "KINDS",
    "PREDICTION",
    "PROFILE",
    "QUESTION",
    "ROLEPLAY",
    "RUN",
    "SCENARIO",
    "SITUATION",
    "TRANSCRIPT",
    "VERDICT",
    "all_kinds",
    "kind_of",
    "kind_of_document",
    "other_file",
    "show",
]

_NAMES = {
    "attunebench.kinds": "CONVERSATION RUN",
    "eibench.kinds": "SCENARIO EPISODE",
    "sage": "PROFILE DIALOGUE",
    "emobench": "ITEM PREDICTION",
    "eqbench": "QUESTION ANSWER",
    "eqbench3": "SITUATION TRANSCRIPT VERDICT",
    "eqbench4": "ROLEPLAY ENTRY",
    "comparisons": "COMPARISON",
    "spiralbench": "CHATLOG",
}
_HOMES = {name: f"attune_data.{module}:{name}" for module, names in _NAMES.items() for name in names.split()}

INSTALLED: EntryPoints[Kind[Any, Any]] = EntryPoints("attune_data.kinds", Kind, set(map(str.lower, _HOMES)))
"""The kinds of installed packages."""


@cache
def _kinds() -> tuple[Kind[Any, Any], ...]:
    return tuple(map(resolve, _HOMES.values()))


def __getattr__(name: str) -> Any:
    """Import a kind when it is first used, as one that reads records of a benchmark needs no other's."""
    if name == "KINDS":
        return _kinds()
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return resolve(_HOMES[name])


def __dir__() -> list[str]:
    """Return the names that a notebook offers, the names of kinds that are not imported yet too."""
    return [*globals(), "KINDS", *_HOMES]


def all_kinds() -> Iterator[Kind[Any, Any]]:
    """Yield the kinds of the library, then the kinds of installed packages, which are imported only then.

    A package that cannot be imported costs a warning, and its kinds are left out.
    """
    yield from _kinds()
    yield from INSTALLED.loaded.values()


def kind_of(record: Record) -> Kind[Any, Any]:
    """Return the kind of a record.

    Raises
    ------
    TypeError
        If the record is of no kind of the library or of an installed package.

    Examples
    --------
    >>> from attune_data import load_scenarios
    >>> kind_of(load_scenarios("demo")[0])
    <Kind scenario>
    """
    for kind in all_kinds():
        if isinstance(record, kind.model):
            return kind
    known = ", ".join(kind.model.__name__ for kind in all_kinds())
    raise TypeError(f"{type(record).__name__} is of no known kind; expected one of {known}")


def kind_of_document(
    document: Mapping[str, Any], kinds: Sequence[Kind[Any, Any]] | None = None
) -> Kind[Any, Any] | None:
    """Return the kind of record that a JSON object is; None if its keys fit no kind.

    If several kinds fit, the kind with most fields among its keys is returned. By default `kinds` are all kinds.

    Examples
    --------
    >>> kind_of_document({"profile_id": "s1", "model": "m"}), kind_of_document({"a": 1})
    (<Kind episode>, None)
    """
    fitting = [kind for kind in (all_kinds() if kinds is None else kinds) if kind.reads(document)]
    return max(fitting, key=lambda kind: len(_names(kind).intersection(document)), default=None)


def _names(kind: Kind[Any, Any]) -> set[str]:
    """Return the keys of a document of a kind, as files spell them."""
    return {info.alias or name for name, info in kind.model.model_fields.items()} | kind.keys


def other_file(document: Mapping[str, Any]) -> ForeignFile | None:
    """Return what a JSON object is that lies beside records and is none, where its keys tell.

    Examples
    --------
    >>> other_file({"conversations": {}, "aggregates": {}}).noun
    'a file of scores'
    """
    return next((file for kind in all_kinds() for file in kind.other_files if file.keys <= document.keys()), None)


def show(
    record: Record, results: Record | Iterable[Record] = (), *, columns: int | None = None, turn: int | None = None
) -> str:
    """Return one record as text that is safe to print: who said what, and what was noted about it.

    Parameters
    ----------
    record : Conversation, Run, Scenario, Episode or any other
        What to show.
    results : record or iterable of record, optional
        The results of models, such as `Runs`: each prediction beside what the participant annotated, each episode
        below its scenario. Results of other records are passed over.
    columns : int, optional
        How wide the text may be; by default as wide as the terminal, 100 at most.
    turn : int, optional
        The number of the one turn to show; by default the whole record.

    Raises
    ------
    TypeError
        Where a record is of no kind of the library.
    ValueError
        Where `results` are given, and none is of the record, or the record has no turn of this number.

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
    if not given:
        return kind.transcript(record, wide, turn=turn)
    return kind.with_results(record, kind_of(given[0]), given, wide, turn=turn)
