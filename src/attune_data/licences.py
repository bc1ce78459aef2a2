"""Licences: which one records are under, by what they state or as data of a benchmark, and what it allows.

What each licence demands is in ``codebook/publishing.toml``, with the canary that stands in where data have none.
"""

import functools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field

from attune_data.codebook import OWN_NAME, Entry, Items, Named, RefersTo, Text, UniqueSet, codebook_folder, read_toml
from attune_data.collection import Collection
from attune_data.issues import PublishError, shown
from attune_data.record import Record, is_generated
from attune_data.text import did_you_mean

_LICENCE_KEY, _CANARY_KEY = re.compile("(data)?licen[cs]e"), re.compile(".*canary.*")
_WITHOUT_KEYS = {str, int, float, bool, type(None)}
"""Types of nearly all values of a record."""

Demand = Literal["notice", "attribution", "non-commercial", "share-alike", "no-derivatives", "permission"]
Reference = Annotated[Text, RefersTo("licences")]


class Licence(Entry):
    """A licence, named by its id on the Hugging Face Hub.

    Examples
    --------
    >>> known = licences()
    >>> known["cc-by-4.0"].allows(known["cc-by-nc-4.0"]), known["cc-by-nc-4.0"].allows(known["mit"])
    (True, False)
    """

    id: str = Field(alias=OWN_NAME)
    title: Text = Field(description="Its full name.")
    url: str = Field(pattern=r"^https?://\S+$", description="Where its text is.")
    demands: UniqueSet[Demand] = Field(description="What it asks of whoever passes the data on.")
    also: Items[Reference] = Field((), description="Other licences that share-alike data may be passed on under.")
    spelling: Text | None = Field(None, description="How SPDX writes the id, where that differs.")

    def allows(self, other: "Licence") -> bool:
        """Tell whether data under this licence, and tables made from them, may be published under another licence."""
        if self.demands & {"no-derivatives", "permission"}:
            return False
        if "share-alike" in self.demands:
            return other.id in (self.id, *self.also)
        return self.demands <= other.demands


class Benchmark(Entry):
    """The owner of the data of a kind of record, where the record itself does not say."""

    name: str = Field(alias=OWN_NAME)
    records: Items[Text] = Field(description="The classes of its records.")
    licence_id: Reference = Field(alias="licence", description="The licence of its data, a name in `licences`.")
    attribution: Text = Field(description="What the licence asks a publisher to say.")

    @property
    def licence(self) -> Licence:
        """The licence of its data."""
        return licences()[self.licence_id]


@dataclass(frozen=True, slots=True)
class Canary:
    """The texts by which a model can be found to have seen the data, and whether they come from the records."""

    texts: tuple[str, ...]
    is_own: bool


class Publishing(Entry):
    """The file ``codebook/publishing.toml``: licences, the owners of the data of each benchmark, the canary."""

    canary: Text = Field(description="The text by which a model can be found to have seen data without a canary.")
    benchmarks: Named[Benchmark] = Field(
        description="By name, the owner of records that neither state a licence nor say that they were generated."
    )
    licences: Named[Licence] = Field(description="The licences by their id on the Hugging Face Hub.")


@functools.cache
def _codebook() -> Publishing:
    return read_toml(codebook_folder() / "publishing.toml", Publishing)


def licences() -> Mapping[str, Licence]:
    """Return every licence of the codebook by its id.

    Examples
    --------
    >>> sorted(licences()["cc-by-nc-4.0"].demands)
    ['attribution', 'non-commercial', 'notice']
    """
    return _codebook().licences


def find_licence(text: str) -> Licence | None:
    """Return the licence that an id, a title or an address names, in any letter case, or None.

    Examples
    --------
    >>> [found.id for found in map(find_licence, ["CC BY-NC 4.0", "MIT License", "ODbL-1.0"]) if found]
    ['cc-by-nc-4.0', 'mit', 'odbl']
    >>> find_licence("http://creativecommons.org/licenses/by/4.0/legalcode").id
    'cc-by-4.0'
    >>> find_licence("free")
    """
    return _by_name().get(_folded(text))


@functools.cache
def _by_name() -> dict[str, Licence]:
    known = licences().values()
    return {_folded(name): one for one in known for name in (one.id, one.title, one.url, one.spelling or one.id)}


def _folded(text: str) -> str:
    """Return a licence's id, title or address in the one form in which they are compared."""
    folded = re.sub(r"^https?://(www\.)?|/(legalcode|deed)(\.\w+)?/?$", "", text.strip().casefold())
    return re.sub(r"-licen[cs]e$", "", re.sub(r"[\s_-]+", "-", folded.rstrip("/")))


def permitted(
    records: Collection[Any], licence: str, *, needs_licence: bool = False
) -> tuple[Licence, tuple[Benchmark, ...]]:
    """Return the licence that records are to be published under, and the benchmarks that they are known to be of.

    A record is under the licence that it states under the key ``licence`` or ``license`` (or ``data_licence``,
    ``data_license``), at any depth. One that states none and does not say of itself that it was generated is under that
    of its benchmark: AttuneBench for a conversation, EIBench for a scenario or an episode, SAGE for its dialogues,
    EmoBench for items and predictions, EQ-Bench for questions and answers. A run that states none has no known licence
    and may be published under any.

    Parameters
    ----------
    records : Collection
        The records to publish.
    licence : str
        As for `find_licence`.
    needs_licence : bool
        Whether to refuse a record that was not generated and has no known licence.

    Raises
    ------
    PublishError
        This licence, or one that a record states, is not in the codebook, a record's licence does not allow it, or is
        not known and has to be.
    """
    wanted = find_licence(str(licence))
    if wanted is None:
        name = _folded(str(licence))
        versions = [one for one in licences() if re.fullmatch(rf"{re.escape(name)}-[\d.]+", one)]
        raise PublishError(f"unknown licence {shown(licence)}; {did_you_mean(name, versions[-1:] or licences())}")
    sources: dict[tuple[Licence, Benchmark | None], None] = {}
    for record in records:
        try:
            for source in _sources(record, needs_licence=needs_licence):
                if source not in sources:
                    _check(*source, wanted)
                    sources[source] = None
        except PublishError as error:
            file = records.files.get(record.id)
            raise PublishError(f"{f'{file}: ' if file else ''}record {shown(record.id)}: {error}") from None
    return wanted, tuple(benchmark for _, benchmark in sources if benchmark)


def _check(own: Licence, benchmark: Benchmark | None, wanted: Licence) -> None:
    if "no-derivatives" in own.demands:
        raise PublishError(f"{own.id} allows nothing but the unchanged work, and a publication is made from it")
    if "permission" in own.demands:
        of = f"the data of {benchmark.name} have" if benchmark else "it has"
        raise PublishError(
            f"{of} no stated licence, so publishing needs the author's permission; with it, let each record state"
            ' the licence that it may be published under: "licence": "..."'
        )
    if not own.allows(wanted):
        said, mend = "it is under", ""
        if benchmark:
            said = f"it states no licence, so it is taken to be of {benchmark.name}, which is under"
            mend = '; if the data are your own, let each record state its licence: "licence": "..."'
        raise PublishError(
            f"{said} {own.id}, which does not allow publishing under {wanted.id!r}; for this record"
            f" licence={own.id!r} would be accepted{mend}"
        )


def refusal(record: Record, *, needs_licence: bool = False) -> str:
    """Return why a record's texts may be passed on under no licence, by the rule of `permitted`.

    Texts whose owner states no licence are no refusal: a page of a user's own copy has them, and says so.

    Parameters
    ----------
    record : record
        Of any kind.
    needs_licence : bool
        As for `permitted`.

    Returns
    -------
    str
        Empty where they may be passed on under some licence.

    Examples
    --------
    >>> from attune_data import load_scenarios
    >>> scenario = load_scenarios("demo")[0]
    >>> refusal(scenario), refusal(scenario.model_copy(update={"licence": "cc-by-nd-4.0"}))
    ('', 'cc-by-nd-4.0 allows nothing but the unchanged work')
    """
    try:
        under = [licence for licence, _ in _sources(record, needs_licence=needs_licence)]
    except PublishError as error:
        return str(error)
    closed = [own.id for own in under if "no-derivatives" in own.demands]
    if closed:
        return f"{closed[0]} allows nothing but the unchanged work"
    under = [own for own in under if "permission" not in own.demands]
    fits_all = any(all(own.allows(other) for own in under) for other in licences().values())
    return "" if fits_all else f"no one licence fits both {' and '.join(own.id for own in under)}"


def _sources(record: Record, *, needs_licence: bool) -> list[tuple[Licence, Benchmark | None]]:
    """Return the licences that a record states, else the licence of its benchmark; raise if unknown or missing."""
    stated = _stated(record)
    found: list[tuple[Licence, Benchmark | None]] = [(one.licence, one) for one in _benchmarks(record, stated)]
    for item in stated:
        licence = find_licence(item) if isinstance(item, str) else None
        if licence is None:
            raise PublishError(
                f"it states the licence {shown(item)}, which is not in the codebook; use an id of "
                f"{', '.join(licences())}"
            )
        found.append((licence, None))
    if needs_licence and not found and not is_generated(record):
        raise PublishError(
            'it states no licence, and none is known of such records; let each state its licence: "licence": "..."'
        )
    return found


def _benchmarks(record: Record, stated: Sequence[Any]) -> list[Benchmark]:
    """Return the benchmark of a record that states no licence and was not generated; one benchmark, or none."""
    if stated or is_generated(record):
        return []
    return [one for one in _codebook().benchmarks.values() if type(record).__name__ in one.records]


def _stated(record: Record) -> list[Any]:
    return [item for value in _notes(record, _LICENCE_KEY) for item in _items(value)]


def credits_of(records: Iterable[Record]) -> list[str]:
    """Return what publishers of records have to say of the benchmarks that these are known to be of.

    Examples
    --------
    >>> from attune_data import load_scenarios
    >>> demo = load_scenarios("demo")
    >>> credits_of(demo), len(credits_of([demo[0].model_copy(update={"licence": None, "synthetic": None})]))
    ([], 1)
    """
    known = (one for record in records for one in _benchmarks(record, _stated(record)))
    return list(dict.fromkeys(f"{one.name}, {one.licence.title}: {one.attribution}" for one in known))


def named_licences(records: Iterable[Record]) -> list[str]:
    """Return the licences that records state, each once, and the licence of the benchmark where a record states none.

    Examples
    --------
    >>> from attune_data import load_scenarios
    >>> demo = load_scenarios("demo")
    >>> named_licences(demo)
    ['CC BY 4.0']
    >>> named_licences([demo[0].model_copy(update={"licence": None, "synthetic": None})])
    ['Creative Commons Attribution-NonCommercial 4.0, the licence of EIBench']
    """
    found: dict[str, None] = {}
    for record in records:
        stated = _stated(record)
        found |= dict.fromkeys(item if isinstance(item, str) else shown(item) for item in stated)
        found |= {_of_benchmark(one): None for one in _benchmarks(record, stated)}
    return list(found)


def _of_benchmark(one: Benchmark) -> str:
    if "permission" in one.licence.demands:
        return f"none stated by {one.name}, so that they may not be passed on without its author's permission"
    return f"{one.licence.title}, the licence of {one.name}"


def canary(records: Sequence[Record]) -> Canary:
    """Return the canaries that records have under a key with ``canary`` in it, else the fixed one of the codebook.

    Examples
    --------
    >>> from attune_data import load
    >>> canary(load("demo")).is_own
    False
    """
    values = (item for record in records for value in _notes(record, _CANARY_KEY) for item in _items(value))
    found = tuple(dict.fromkeys(item for item in values if isinstance(item, str)))
    return Canary(found or (_codebook().canary,), bool(found))


def _notes(record: Record, wanted: re.Pattern[str]) -> Iterator[Any]:
    """Yield the values under keys with letters that match: of a record, then of the values in it, at any depth."""
    parts: list[Any] = [record]
    while parts:
        part = parts.pop()
        if not isinstance(part, (dict, list, tuple)):  # in this order, as asking for a record takes longest
            if not isinstance(part, Record):
                continue
            part = vars(part) | part.model_extra if part.model_extra else vars(part)
        if isinstance(part, dict):
            for key in _matching(tuple(part), wanted):
                yield part[key]
            part = part.values()
        if not _WITHOUT_KEYS.issuperset(map(type, part)):
            parts += [value for value in part if type(value) not in _WITHOUT_KEYS][::-1]


@functools.lru_cache(maxsize=2**12)
def _matching(keys: tuple[str, ...], wanted: re.Pattern[str]) -> list[str]:
    return [key for key in keys if wanted.fullmatch(re.sub(r"[^a-z]", "", key.casefold()))]


def _items(value: Any) -> list[Any]:
    """Return the values of a list or a single value; nothing for null and blank texts."""
    items = value if isinstance(value, list | tuple) else [value]
    return [item for item in items if item is not None and not (isinstance(item, str) and not item.strip())]
