"""Hashes of data, of results and of the codebook, by which a signature names what a number was made of."""

from collections.abc import Iterable
from functools import cache
from hashlib import sha256
from typing import Any

from pydantic_core import from_json

from attune_data.codebook import codebook_folder
from attune_data.collection import Kind
from attune_data.record import Record, canonical
from attune_metrics.signature import hash_digests, hash_records


def fingerprint(records: Iterable[Record]) -> str:
    """Return the hash of records, whatever their order and that of the keys in their files.

    Examples
    --------
    >>> from attune_data import load
    >>> conversations = load("demo")
    >>> fingerprint(conversations) == fingerprint(reversed(conversations))
    True
    """
    return hash_digests(map(digest, records))


def digest(record: Record) -> bytes:
    """Return the hash of a record, whatever the order of the keys in its file."""
    return sha256(record.canonical_json()).digest()


def results_fingerprint(results: Iterable[Record], kind: Kind[Any, Any]) -> str:
    """Return the hash of results, whatever their order: what was answered, to what, by whom, with which settings.

    When results were made, how long that took and what it cost, see `attune_data.Kind.unhashed`, changes no hash. The
    runner also notes the cost of each role of a benchmark, such as ``judge_cost``, in results that have no such field.

    Examples
    --------
    >>> from attune_data import load_runs
    >>> from attune_data.kinds import RUN
    >>> runs = load_runs("demo")
    >>> later = [run.model_copy(update={"run_timestamp": "2026-03-01", "api_cost": 0.5}) for run in runs]
    >>> results_fingerprint(later, RUN) == results_fingerprint(runs, RUN)
    True
    """
    return hash_digests(result_digests(result, kind)[0] for result in results)


def result_digests(result: Record, kind: Kind[Any, Any]) -> tuple[bytes, bytes]:
    """Return two hashes of a result: the one that a signature counts, as `results_fingerprint`, and that of everything.

    A result names its model, which a file may tell by its place alone.
    """
    content = from_json(result.to_line())
    costs = {key for key in result.model_extra or () if key.endswith("_cost")}
    unhashed = {key: content.pop(key) for key in (kind.unhashed | costs) & content.keys()}
    counted = sha256(canonical(content)).digest()
    return counted, sha256(counted + canonical(unhashed)).digest()


@cache
def codebook_hash() -> str:
    """Return the hash of the bundled codebook's files, whatever their line ends."""
    files = (file for file in codebook_folder().iterdir() if file.name.endswith(".toml"))
    return hash_records(canonical([file.name, file.read_text(encoding="utf-8")]) for file in files)
