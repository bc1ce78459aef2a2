"""Scoring results while they are read: none is kept, and several processes may score them."""

import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import count, groupby
from operator import itemgetter, or_
from pathlib import Path
from typing import Any

from attune_bench.benchmarks import benchmark_named
from attune_bench.scores.benchmark import Benchmark, Streaming
from attune_bench.scores.parts import ScoredRow, ScoreLists
from attune_bench.scores.provenance import digest, result_digests
from attune_bench.verbs.workers import Workers, processors
from attune_data.collection import Collection, Kind
from attune_data.io.documents import Document
from attune_data.io.sources import Source, is_dataset
from attune_data.issues import Issue, IssueLog
from attune_data.loading import Reader, collect, documents_of, load_records, records_of
from attune_data.record import Record, gc_paused
from attune_data.references import resolve

MOST_JOBS = 64
_PART = 128
_PART_BYTES = 2**22
_WORTH_PROCESSES = 2**24
"""Scoring so many bytes of results takes longer than starting other processes."""
_MOST_UNPACKED = 256  # in about 0.3 MB each
_WORTH_PACKING = 2**28
"""Details of so many bytes of results would be most of the memory; of fewer, packing them costs more than it saves."""

Progress = Callable[[int], object]


class PackedRecords(Mapping[str, Any]):
    """Records by id; all but the first few hundred in a tenth of the memory, each unpacked when it is asked for.

    Examples
    --------
    >>> from attune_data import Conversation, load
    >>> packed = PackedRecords(Conversation)
    >>> first = load("demo")[0]
    >>> hashed = packed.add(first)
    >>> packed[first.id] == first, packed.digest(first.id) == hashed, len(packed)
    (True, True, 1)
    """

    def __init__(self, model: type[Record]) -> None:
        self._model = model
        self._records: dict[str, Record | bytes] = {}
        self._digests: dict[str, str] = {}

    def add(self, record: Any) -> str:
        """Add a record, unless there is one with its id; return its hash as hexadecimal digits."""
        made = digest(record).hex()
        if record.id not in self._records:
            self._records[record.id] = record if len(self._records) < _MOST_UNPACKED else _packed(record)
            self._digests[record.id] = made
        return made

    def digest(self, key: str) -> str:
        """Return the hash of a record, without unpacking it."""
        return self._digests[key]

    def __getstate__(self) -> dict[str, Any]:
        """Return the records as another process gets them: as bytes, a few hundred of them not compressed."""
        packed = {key: one if isinstance(one, bytes) else _packed(one, 0) for key, one in self._records.items()}
        return {"_model": self._model, "_records": packed, "_digests": self._digests}

    def __getitem__(self, key: str) -> Any:
        found = self._records[key]
        if not isinstance(found, bytes):
            return found
        return self._model.model_validate_json(zlib.decompress(found), by_alias=True, by_name=False)

    def __contains__(self, key: object) -> bool:
        return key in self._records

    def __iter__(self) -> Iterator[str]:
        return iter(self._records)

    def __len__(self) -> int:
        return len(self._records)


def _packed(record: Record, level: int = 1) -> bytes:
    return zlib.compress(record.to_line(), level)


@dataclass(frozen=True, slots=True)
class Part:
    """What was found in some documents: of each its name, its issues, and its record without the content, if any.

    `own` counts the documents of the kind of results, `scored` has the columns of the scores of the records, `about`
    what scores keep of the data that the records are of, where no part before said so.
    """

    read: list[tuple[str, list[Issue], Record | None]]
    own: int
    scored: dict[str, list[Any]]
    about: dict[str, Any] = field(default_factory=dict)


class PartScorer:
    """Reads and scores documents of a benchmark's results.

    Parameters
    ----------
    benchmark : Benchmark
        One that has `Streaming`.
    data : mapping of str to Record
        What the results are of, by id.
    options : mapping
        What the benchmark's own scoring takes.
    packs : bool
        Whether a call compresses ``detail``.
    """

    def __init__(
        self, benchmark: Benchmark, data: Mapping[str, Any], options: Mapping[str, Any], *, packs: bool = True
    ) -> None:
        streaming = _streaming(benchmark)
        self.kind: Kind[Any, Any] = resolve(benchmark.results)
        self._data, self._packs = data, packs
        self.scorer: Any = resolve(streaming.scorer)(data, **options)
        self._kept, self._join = resolve(streaming.kept_result), streaming.join

    def __call__(self, found: tuple[int, list[Document]]) -> tuple[int, Part]:
        """Return the content of documents of a source, with the number of the source."""
        place, documents = found
        part = self.read(documents)
        scored = zip(part.scored["unit"], part.scored["problem"], strict=True)
        known = self.scorer.known.keys()  # what an earlier part of this process said
        units = [unit for unit, problem in scored if problem is None and unit not in known]
        part = replace(part, about={unit: self.scorer.about(unit) for unit in units})
        if self._packs:
            part.scored["detail"] = [text and zlib.compress(text.encode(), 1) for text in part.scored["detail"]]
        return place, part

    def read(self, documents: Sequence[Document]) -> Part:
        """Return the content of documents."""
        own = 0
        read: list[tuple[str, list[Issue], Record | None]] = []

        def results() -> Iterator[tuple[Record, str]]:
            nonlocal own
            for document in documents:
                reader = Reader(self.kind)
                record = reader.read(document)
                own += reader.own
                if record is None:
                    read.append((document.name, [*reader.issues], None))
                    continue
                counted, whole = result_digests(record, self.kind)
                read.append((document.name, [*reader.issues], self._kept(record, whole.hex())))
                yield record, counted.hex()

        with gc_paused():
            # One result after the other, as what was just read is still in the processor's cache.
            scored = self.scorer.score(results())
        return Part(read, own, scored)

    def digest(self, unit: str) -> str | None:
        """Return the hash of a record of the data as hexadecimal digits; None where there is no such record."""
        if unit not in self._data:
            return None
        return self._data.digest(unit) if isinstance(self._data, PackedRecords) else digest(self._data[unit]).hex()

    def join(self, results: Collection[Any], scored: Mapping[int, ScoredRow]) -> ScoreLists:
        """Return the scores of the results that count; `scored` has the columns of each and its row, by its `id`."""
        rows = [scored[id(record)] for record in results]
        joined: ScoreLists = resolve(self._join)(self.scorer, results, rows, self.digest)
        return joined


def part_scorer(benchmark: str, data: Mapping[str, Any], options: Mapping[str, Any], packs: bool = True) -> PartScorer:
    """Return a `PartScorer` of the benchmark of a name, in whatever process."""
    return PartScorer(benchmark_named(benchmark), data, options, packs=packs)


def _streaming(benchmark: Benchmark) -> Streaming:
    if benchmark.streaming is None:
        raise ValueError(f"{benchmark.title} does not score its results one by one")
    for kind in (resolve(benchmark.data), resolve(benchmark.results)):
        if kind.place is not None or kind.check_all is not None:
            raise ValueError(f"{kind.plural} need their files' places or each other; none can be scored by itself")
    return benchmark.streaming


@dataclass(frozen=True, slots=True)
class Streamed:
    """Scores, and what was read for them: records without their content, and every issue."""

    scores: ScoreLists
    data: Collection[Any]
    results: Collection[Any]


def stream(
    benchmark: str,
    data: Source,
    results: Sequence[Source],
    *,
    jobs: int | None = None,
    check: Callable[[Kind[Any, Any], Sequence[Any], Collection[Any]], object],
    progress: tuple[Progress, Progress],
    **options: Any,
) -> Streamed:
    """Score the results in sources against data, of a benchmark that has `Streaming`.

    Parameters
    ----------
    benchmark : str
        The benchmark: a name in the registry, or ``module:NAME`` of a benchmark outside the library.
    data : str, path-like or datasets.Dataset
        Where the reference is.
    results : sequence of such
        Where the results are.
    jobs : int, optional
        How many processes score; by default as many as there are processors, where there is enough to do.
    check : callable
        Is given a kind, its sources and what was read of them, before that is scored; may raise.
    progress : tuple of callable
        Called with the number of records read so far, of data and of results.
    **options
        What the benchmark's own scoring takes.
    """
    chosen = benchmark_named(benchmark)
    kind, of_data = resolve(chosen.results), resolve(chosen.data)
    size = sum(map(_size, results))
    own_jobs = processors() if size >= _WORTH_PROCESSES else 1
    with Workers[Any, Any](min(jobs or own_jobs, MOST_JOBS), "attune_bench.verbs.streaming:part_scorer") as workers:
        packed = PackedRecords(of_data.model)
        given = pack(data, chosen, packed, progress[0])
        check(of_data, [data], given)
        # A data set elsewhere is of any size.
        arguments = (benchmark, packed, options, not 0 < size < _WORTH_PACKING)
        work = part_scorer(*arguments)
        scored: dict[int, ScoredRow] = {}
        parts = workers.map(work, arguments, _tasks(kind, results, progress[1]))
        made = [_collected(results[place], kind, found, scored, work) for place, found in groupby(parts, itemgetter(0))]
    joined = reduce(or_, made)
    check(kind, results, joined)
    return Streamed(work.join(joined, scored), given, joined)


def _size(source: Source) -> int:
    """Return the bytes of a source, as far as they can be told without reading it."""
    if is_dataset(source):
        return 0
    path = Path(os.fspath(source))
    with suppress(OSError):
        return _size_of_folder(path) if path.is_dir() else path.stat().st_size
    return 0


def _size_of_folder(folder: str | Path) -> int:
    size = 0
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with suppress(OSError):
                is_folder = entry.is_dir(follow_symlinks=False)
                size += _size_of_folder(entry.path) if is_folder else entry.stat().st_size
    return size


def pack(source: Source, benchmark: Benchmark, packed: PackedRecords, progress: Progress) -> Collection[Any]:
    """Read the data of a benchmark into `packed`; return the rest of the source that is kept."""
    streaming = _streaming(benchmark)
    kind, kept = resolve(benchmark.data), resolve(streaming.kept_data)
    reader = Reader(kind)

    def found() -> Iterator[tuple[Record, str]]:
        for record, document in records_of(source, reader, progress=progress):
            yield kept(record, packed.add(record)), document.name

    collection: Collection[Any] = collect(source, kind, found(), reader.issues)
    return collection


def _tasks(kind: Kind[Any, Any], sources: Sequence[Source], progress: Progress) -> Iterator[tuple[int, list[Document]]]:
    """Yield some documents at a time, with the number of their source."""
    done = 0
    for place, source in enumerate(sources):
        yield place, []  # Of a source without any, too, something is to be said.
        for part in _in_parts(documents_of(source, kind)):
            done += len(part)
            progress(done)
            yield place, part


def _in_parts(found: Iterable[Document]) -> Iterator[list[Document]]:
    part: list[Document] = []
    size = 0
    for document in found:
        part.append(document)
        size += len(document.data)
        if len(part) == _PART or size > _PART_BYTES:
            yield part
            part, size = [], 0
    if part:
        yield part


def _collected(
    source: Source,
    kind: Kind[Any, Any],
    parts: Iterable[tuple[int, Part]],
    scored: dict[int, ScoredRow],
    work: PartScorer,
) -> Collection[Any]:
    """Return the collection of the results that a source keeps; add where each is scored, by its `id`."""
    log, own = IssueLog(), 0

    def found() -> Iterator[tuple[Record, str]]:
        nonlocal own
        for _, part in parts:
            own += part.own
            places = count()
            work.scorer.known |= part.about
            for name, issues, record in part.read:
                log.extend(issues)
                if record is not None:
                    scored[id(record)] = (part.scored, next(places))
                    yield record, name

    collection: Collection[Any] = collect(source, kind, found(), log)
    # Where no document is of this kind, loading says which kind it is.
    return collection if own else load_records(source, kind)
