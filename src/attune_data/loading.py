"""What every loader does alike: progress, errors, and the collection at the end."""

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Literal

from attune_data.collection import Collection
from attune_data.io.sources import Document
from attune_data.issues import Issue, LoadError
from attune_data.reading import AnyRecord, Kind

__all__ = ["OnError", "collect", "counted", "gc_paused", "strictness"]

OnError = Literal["report", "raise"]


def counted(found: Iterator[Document], progress: Callable[[int], object] | None) -> Iterator[Document]:
    """Yield the documents, telling `progress` how many were read."""
    for count, document in enumerate(found, start=1):
        yield document
        if progress:
            progress(count)


def strictness(on_error: str) -> bool:
    """Tell whether `on_error` asks for an error; raise where it is neither choice."""
    if on_error not in ("report", "raise"):
        raise ValueError(f"on_error is {on_error!r}; expected 'report' or 'raise'")
    return on_error == "raise"


def collect(
    kind: Kind[AnyRecord], records: Sequence[tuple[AnyRecord, Document]], found: Sequence[Issue], strict: bool
) -> Collection[AnyRecord]:
    """Return the records as a collection, or raise where one had to be left out and `strict` forbids it."""
    if strict and any(issue.severity == "error" for issue in found):
        raise LoadError(found)
    files = {record.id: document.name for record, document in records}
    return Collection([record for record, _ in records], found, files=files, kind=kind.model)


@contextmanager
def gc_paused() -> Iterator[None]:
    """Keep the cyclic collector off during a bulk load: it would rescan a growing heap that holds no garbage."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
