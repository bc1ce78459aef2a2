"""Documents that have many records: taken apart, named by number, bounded."""

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from attune_data import Collection, Kind, SourceError, load_records, recognise
from attune_data.io import documents
from attune_data.record import Record


class Note(Record):
    id: str
    stars: int
    about: str = ""


class Notes(Collection[Note]):
    @property
    def kind(self) -> Kind[Note, "Notes"]:
        return NOTE


def notes(document: Mapping[str, Any]) -> list[Any] | None:
    found = document.get("notes")
    return [{**one, "about": document.get("about", "")} for one in found] if isinstance(found, list) else None


NOTE: Kind[Note, Notes] = Kind(
    noun="note", plural="notes", model=Note, collection=Notes, keys=frozenset(["stars"]), unpack=notes
)
TWO = {"about": "tea", "notes": [{"id": "a", "stars": 3}, {"id": "b", "stars": "many"}, {"id": "c", "stars": 5}]}


def test_each_is_a_record_and_issues_name_it_by_number(tmp_path: Path) -> None:
    path = tmp_path / "notes.json"
    path.write_text(json.dumps(TWO))
    loaded = load_records(path, NOTE)
    assert [(one.id, one.about) for one in loaded] == [("a", "tea"), ("c", "tea")]
    assert [(issue.file, issue.path) for issue in loaded.found] == [("notes.json:2", "$.stars")]
    assert recognise(path, [NOTE]) is NOTE


def test_a_document_of_one_record_stays_one(tmp_path: Path) -> None:
    lines = [json.dumps(TWO), json.dumps({"id": "d", "stars": 1}), "{", json.dumps({"notes": {}})]
    (tmp_path / "notes.jsonl").write_text("\n".join(lines))
    with zipfile.ZipFile(tmp_path / "notes.zip", "w") as archive:
        archive.write(tmp_path / "notes.jsonl", "notes.jsonl")
    for name in ("notes.jsonl", "notes.zip"):
        loaded = load_records(tmp_path / name, NOTE)
        assert [one.id for one in loaded] == ["a", "c", "d"]
        found = [(issue.file, issue.path, issue.severity) for issue in loaded.found]
        assert found == [
            ("notes.jsonl:1:2", "$.stars", "error"),
            ("notes.jsonl:3", "$", "error"),
            ("notes.jsonl:4", "$", "error"),
        ]


def test_an_empty_one_has_no_record(tmp_path: Path) -> None:
    (tmp_path / "notes.json").write_text('{"notes": []}')
    assert len(load_records(tmp_path / "notes.json", NOTE)) == 0
    (tmp_path / "other.json").write_text('{"a": 1}')
    with pytest.raises(SourceError, match="is of no known kind"):
        recognise(tmp_path / "other.json", [NOTE])


def test_what_the_parts_repeat_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # 40 records, each with the text of 2,000 characters that the document has once.
    many = {"about": "x" * 2_000, "notes": [{"id": str(n), "stars": n} for n in range(40)]}
    (tmp_path / "notes.json").write_text(json.dumps(many))
    monkeypatch.setattr(documents, "RECORD_LIMIT", 25_000)
    loaded = load_records(tmp_path / "notes.json", NOTE)
    assert len(loaded) == 12  # of 2,040 bytes each
    [issue] = loaded.found
    assert (issue.file, issue.severity) == ("notes.json", "error")
    assert issue.message == "its notes have together more than 25,000 bytes; the others are not read"
