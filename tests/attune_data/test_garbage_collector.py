"""The garbage collector is off only inside a bulk load, and afterwards as it was before, however the load ends."""

import gc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from attune_data import LoadError, SourceError, load, load_runs, load_tables, loading
from attune_data.attunebench import loading as tables_loading
from attune_data.attunebench.tables import build_table
from attune_data.io.documents import Document
from attune_data.io.sources import documents
from attune_data.loading import Reader

Json = dict[str, Any]
Save = Callable[[Any, str], Path]
Loader = Callable[..., Any]

every_loader = pytest.mark.parametrize("loader", [load, load_runs, load_tables])


@pytest.fixture(params=[True, False], ids=["on before", "off before"])
def collector(request: pytest.FixtureRequest) -> Iterator[bool]:
    """Set the collector on or off, and put it back afterwards."""
    was_on = gc.isenabled()
    (gc.enable if request.param else gc.disable)()
    yield request.param
    (gc.enable if was_on else gc.disable)()


@pytest.fixture
def source(conversation: Json, run: Json, save: Save) -> Callable[[Loader], Path]:
    """Return the function that writes three records for a loader and returns their folder."""

    def write(loader: Loader) -> Path:
        record = run if loader is load_runs else conversation
        paths = [save({**record, "conversationId": name}, f"{name}.json") for name in "abc"]
        return paths[0].parent

    return write


@every_loader
def test_it_is_off_while_records_are_read_and_then_as_before(
    loader: Loader, collector: bool, source: Callable[[Loader], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[bool] = []
    read = Reader.read

    def watched(reader: Reader[Any], document: Document) -> Any:
        seen.append(gc.isenabled())
        return read(reader, document)

    monkeypatch.setattr(Reader, "read", watched)
    assert loader(source(loader)).found == ()
    assert seen == [False] * 3
    assert gc.isenabled() is collector


def test_only_new_objects_are_scanned_meanwhile(collector: bool) -> None:
    scanned: set[int] = set()

    def watch(_: str, info: dict[str, int]) -> None:
        if not gc.isenabled():
            scanned.add(info["generation"])

    gc.callbacks.append(watch)
    try:
        load("demo")
    finally:
        gc.callbacks.remove(watch)
    assert scanned == ({0} if collector else set())


@pytest.mark.parametrize("loader", [load, load_runs])
def test_it_is_off_while_progress_is_told(loader: Loader, collector: bool, source: Callable[[Loader], Path]) -> None:
    seen: list[bool] = []
    loader(source(loader), progress=lambda _: seen.append(gc.isenabled()))
    assert seen == [False] * 3
    assert gc.isenabled() is collector


@pytest.mark.parametrize("loader", [load, load_runs])
@pytest.mark.parametrize("content", [b"{}", b"{", None], ids=["a record error", "no JSON", "no file"])
def test_it_is_as_before_after_an_error_of_the_source(
    loader: Loader, content: bytes | None, collector: bool, save: Save, tmp_path: Path
) -> None:
    source = tmp_path / "none.json" if content is None else save(content, "1.json")
    with pytest.raises((LoadError, SourceError), match=r"none\.json|1 error"):
        loader(source, on_error="raise")
    assert gc.isenabled() is collector


def test_it_is_as_before_after_tables_of_no_file(collector: bool, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no such file"):
        load_tables(tmp_path / "none.json")
    assert gc.isenabled() is collector


@every_loader
@pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("place", ["the source", "the record"])
def test_it_is_as_before_after_a_failure_in_the_middle_and_the_source_is_let_go(
    place: str,
    error: type[BaseException],
    loader: Loader,
    collector: bool,
    source: Callable[[Loader], Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    let_go: list[bool] = []

    def watched(*args: Any, **kwargs: Any) -> Iterator[Document]:
        try:
            for count, document in enumerate(documents(*args, **kwargs)):
                if place == "the source" and count == 1:
                    raise error
                yield document
        finally:
            let_go.append(gc.isenabled())

    whole = Reader.read

    def read(reader: Reader[Any], document: Document) -> Any:
        if place == "the record" and document.name == "b.json":
            raise error
        return whole(reader, document)

    monkeypatch.setattr(loading, "documents", watched)
    monkeypatch.setattr(Reader, "read", read)
    with pytest.raises(error) as raised:
        loader(source(loader))
    assert gc.isenabled() is collector
    raised.value.__traceback__ = None  # It alone still holds the abandoned generator.
    del raised
    assert len(let_go) == 1
    assert gc.isenabled() is collector


@pytest.mark.parametrize("loader", [load, load_runs])
def test_it_is_as_before_after_a_failure_of_progress(
    loader: Loader, collector: bool, source: Callable[[Loader], Path]
) -> None:
    def stop(_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        loader(source(loader), progress=stop)
    assert gc.isenabled() is collector


def test_it_is_as_before_after_a_failure_of_building(
    collector: bool, source: Callable[[Loader], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def build(name: str, records: Any) -> Any:
        if records:
            raise KeyboardInterrupt
        return build_table(name, records)

    monkeypatch.setattr(tables_loading, "build_table", build)
    with pytest.raises(KeyboardInterrupt):
        load_tables(source(load_tables))
    assert gc.isenabled() is collector


def test_a_load_inside_a_load_leaves_it_off(collector: bool, source: Callable[[Loader], Path]) -> None:
    folder, seen = source(load), []

    def again(_: int) -> None:
        load(folder)
        seen.append(gc.isenabled())

    load(folder, progress=again)
    assert seen == [False] * 3
    assert gc.isenabled() is collector
