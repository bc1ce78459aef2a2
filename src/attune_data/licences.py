"""Under which licence records may be published: what they state, what their benchmark is known to be under."""

import functools
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Protocol

from attune_data.codebook import codebook_folder
from attune_data.issues import PublishError, shown
from attune_data.record import Record

__all__ = ["Benchmark", "Canary", "Licence", "canary", "find_licence", "licences", "named_licences", "permitted"]


class Records(Protocol):
    """Records, and the file that each came from by its id, as a collection has them."""

    @property
    def files(self) -> Mapping[str, str]: ...
    def __iter__(self) -> Iterator[Any]: ...


_LICENCE_KEYS = {"licence", "license", "datalicence", "datalicense"}


@dataclass(frozen=True, slots=True)
class Licence:
    """A licence of ``codebook/publishing.toml``, which says what the fields mean; `id` is the Hub's.

    Examples
    --------
    >>> known = licences()
    >>> known["cc-by-4.0"].allows(known["cc-by-nc-4.0"]), known["cc-by-nc-4.0"].allows(known["mit"])
    (True, False)
    """

    id: str
    title: str
    url: str
    demands: frozenset[str]
    also: tuple[str, ...]

    def allows(self, other: "Licence") -> bool:
        """Tell whether what is under this licence may be published, with tables made of it, under another."""
        if "no-derivatives" in self.demands:
            return False
        if "share-alike" in self.demands:
            return other.id in (self.id, *self.also)
        return self.demands <= other.demands


@dataclass(frozen=True, slots=True)
class Benchmark:
    """Whose data a kind of record is, where the record itself does not say."""

    name: str
    records: tuple[str, ...]
    licence: Licence
    attribution: str


@dataclass(frozen=True, slots=True)
class Canary:
    """The texts by which a model can be found to have seen the data, and whether the records hold them."""

    texts: tuple[str, ...]
    is_own: bool


def licences() -> Mapping[str, Licence]:
    """Return every licence of the codebook by its id.

    Examples
    --------
    >>> sorted(licences()["cc-by-nc-4.0"].demands)
    ['attribution', 'non-commercial', 'notice']
    """
    return _codebook()[0]


def find_licence(text: str) -> Licence | None:
    """Return the licence that an id, a title or an address stands for, in any letter case, or None.

    Examples
    --------
    >>> [found.id for found in map(find_licence, ["CC BY-NC 4.0", "MIT License", "ODbL-1.0"]) if found]
    ['cc-by-nc-4.0', 'mit', 'odbl']
    >>> find_licence("http://creativecommons.org/licenses/by/4.0/legalcode").id
    'cc-by-4.0'
    >>> find_licence("free")
    """
    return _codebook()[1].get(_folded(text))


def permitted(records: Records, licence: str) -> tuple[Licence, tuple[Benchmark, ...]]:
    """Return the licence that records are to be published under, and the benchmarks that they are known to be of.

    A record is under the licence that it states under the key ``licence`` or ``license`` (or ``data_licence``,
    ``data_license``), at any depth. One that states none and does not say of itself that it was generated is under that
    of its benchmark: AttuneBench for a conversation, EIBench for a scenario or an episode, SAGE for its dialogues. A
    run that states none has no known licence and may be published under any.

    Parameters
    ----------
    records : Collection
        What is to be published.
    licence : str
        As for `find_licence`.

    Raises
    ------
    PublishError
        Where this licence or one that a record states is not in the codebook, or that of a record does not allow it.
    """
    wanted = find_licence(str(licence))
    if wanted is None:
        versions = [name for name in licences() if re.fullmatch(re.escape(_folded(str(licence))) + r"-[\d.]+", name)]
        near = versions[-1:] or get_close_matches(str(licence).casefold(), licences(), n=1, cutoff=0.4)
        hint = f"; did you mean {near[0]!r}?" if near else "."
        raise PublishError(f"unknown licence {shown(licence)}{hint} Known are: {', '.join(licences())}")
    # One of each kind is enough to judge by, and to name.
    sources: dict[Licence | Benchmark, Record] = {}
    for record in records:
        for source in _sources(record, records):
            sources.setdefault(source, record)
    _refuse(records, sources, wanted)
    return wanted, tuple(source for source in sources if isinstance(source, Benchmark))


def _refuse(records: Records, sources: Mapping[Licence | Benchmark, Record], wanted: Licence) -> None:
    under = {source: source.licence if isinstance(source, Benchmark) else source for source in sources}
    for source, own in under.items():
        if own.allows(wanted):
            continue
        place = _place(records, sources[source])
        if "no-derivatives" in own.demands:
            raise PublishError(
                f"{place}: {own.id} allows nothing but the unchanged work, so these tables of it not at all"
            )
        fitting = [other.id for other in licences().values() if all(each.allows(other) for each in under.values())]
        accepted = "no one licence fits all of the records"
        if fitting:
            accepted = f"licence={own.id if own.id in fitting else fitting[0]!r} would be accepted"
        said = "it is under"
        if isinstance(source, Benchmark):
            said = f"it states no licence, so it is taken to be of {source.name}, which is under"
            accepted += '; if the data are your own, let each record state its licence: "licence": "..."'
        raise PublishError(f"{place}: {said} {own.id}, which does not allow publishing under {wanted.id!r}; {accepted}")


def _sources(record: Record, records: Records) -> Iterator[Licence | Benchmark]:
    """Yield what tells a record's licence."""
    stated = _stated(record)
    for item in stated:
        found = find_licence(item) if isinstance(item, str) else None
        if found is None:
            raise PublishError(
                f"{_place(records, record)}: it states the licence {shown(item)}, of which nothing is known here;"
                f" use an id of {', '.join(licences())}"
            )
        yield found
    if not stated and not getattr(record, "synthetic", False):
        yield from (benchmark for benchmark in _codebook()[2] if type(record).__name__ in benchmark.records)


def _stated(record: Record) -> list[Any]:
    return [item for key, value in _notes(record) if key in _LICENCE_KEYS for item in _items(value)]


def named_licences(records: Iterable[Record]) -> list[str]:
    """Return what records state as their licence, each once, and that of their benchmark where one states none.

    Examples
    --------
    >>> from attune_data import load_scenarios
    >>> demo = load_scenarios("demo")
    >>> named_licences(demo)
    ['CC BY 4.0']
    >>> named_licences([demo[0].model_copy(update={"licence": None, "synthetic": None})])
    ['Creative Commons Attribution-NonCommercial 4.0, that of EIBench']
    """
    found: dict[str, None] = {}
    for record in records:
        stated = [item if isinstance(item, str) else shown(item) for item in _stated(record)]
        known = [] if stated or getattr(record, "synthetic", False) else _codebook()[2]
        of_benchmark = [
            f"{benchmark.licence.title}, that of {benchmark.name}"
            for benchmark in known
            if type(record).__name__ in benchmark.records
        ]
        found |= dict.fromkeys([*stated, *of_benchmark])
    return list(found)


def canary(records: Sequence[Record]) -> Canary:
    """Return the canaries that records hold under a key with ``canary`` in it, else the fixed one of the codebook.

    Examples
    --------
    >>> from attune_data import load
    >>> canary(load("demo")).is_own
    False
    """
    values = (item for record in records for key, value in _notes(record) if "canary" in key for item in _items(value))
    found = tuple(dict.fromkeys(item for item in values if isinstance(item, str)))
    return Canary(found or (_codebook()[3],), bool(found))


def _notes(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield every key, letters only, with its value: of a record, then of what is in it, at any depth."""
    if isinstance(value, Record):
        value = dict(value)
    if isinstance(value, dict):
        yield from ((_letters(key), item) for key, item in value.items())
        value = value.values()
    elif not isinstance(value, list | tuple):
        return
    for item in value:
        yield from _notes(item)


@functools.lru_cache(maxsize=2**12)
def _letters(key: str) -> str:
    return re.sub(r"[^a-z]", "", key.casefold())


def _items(value: Any) -> list[Any]:
    """Return the values of a list or a single value; nothing for null and blank texts."""
    items = value if isinstance(value, list | tuple) else [value]
    return [item for item in items if item is not None and not (isinstance(item, str) and not item.strip())]


def _place(records: Records, record: Any) -> str:
    file = records.files.get(record.id)
    return f"{file}: record {shown(record.id)}" if file else f"record {shown(record.id)}"


def _folded(text: str) -> str:
    """Return a licence's id, title or address in the one form in which they are compared."""
    folded = re.sub(r"^https?://(www\.)?|/(legalcode|deed)(\.\w+)?/?$", "", text.strip().casefold())
    return re.sub(r"-licen[cs]e$", "", re.sub(r"[\s_-]+", "-", folded.rstrip("/")))


@functools.cache
def _codebook() -> tuple[dict[str, Licence], dict[str, Licence], tuple[Benchmark, ...], str]:
    """Return the licences by id and by every spelling, the benchmarks, the fixed canary."""
    data = tomllib.loads((codebook_folder() / "publishing.toml").read_text(encoding="utf-8"))
    known: dict[str, Licence] = {}
    spellings: dict[str, Licence] = {}
    for name, row in data["licences"].items():
        known[name] = Licence(name, row["title"], row["url"], frozenset(row["demands"]), tuple(row.get("also", ())))
        spellings |= {
            _folded(text): known[name] for text in (name, row["title"], row["url"], row.get("spelling", name))
        }
    benchmarks = tuple(
        Benchmark(name, tuple(row["records"]), known[row["licence"]], row["attribution"])
        for name, row in data["benchmarks"].items()
    )
    return known, spellings, benchmarks, data["canary"]
