"""A codebook of somebody's own is checked as the bundled one is, and what its models are made of."""

import copy
import json
import re
import tomllib
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import Field

from attune_data import CodebookError, load_codebook
from attune_data.attunebench.codebook import PairwiseQuestion
from attune_data.attunebench.profile import CutOff
from attune_data.codebook import OWN_NAME, Entry, Items, Named, RefersTo, Text, checked, codebook_folder
from attune_data.issues import shown

Document = dict[str, Any]


def document() -> Document:
    return tomllib.loads((codebook_folder() / "attunebench.toml").read_text(encoding="utf-8"))


def write(tmp_path: Path, name: str, changed: Document) -> Path:
    """Write a document as JSON, or as the TOML that a JSON value on one line is."""

    def inline(value: Any) -> str:
        if isinstance(value, dict):
            return "{" + ", ".join(f"{json.dumps(key)} = {inline(item)}" for key, item in value.items()) + "}"
        return f"[{', '.join(map(inline, value))}]" if isinstance(value, list) else json.dumps(value)

    toml = "\n".join(f"{json.dumps(key)} = {inline(value)}" for key, value in changed.items())
    path = tmp_path / name
    path.write_text(json.dumps(changed) if name.endswith(".json") else toml, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", ["own.toml", "own.json", "OWN.TOML"])
def test_somebody_s_own_codebook_has_the_layout_of_the_bundled_one(tmp_path: Path, name: str) -> None:
    own = document()
    own["categories"]["humour"] = "Whether the response is funny."
    own["binary"]["B900"] = {**own["binary"]["B7"], "category": "humour"}
    book = load_codebook(write(tmp_path, name, {**own, "subsets": {"Mine": [3, 1]}}))
    bundled = load_codebook()
    assert book.binary["B900"].category == "humour"
    assert set(book.binary) - set(bundled.binary) == {"B900"}
    assert (book.emotions, book.conversation_wide) == (bundled.emotions, bundled.conversation_wide)
    assert dict(book.subsets) == {"Mine": frozenset((1, 3))}
    assert book.issues == ()
    assert dict(load_codebook(write(tmp_path, name, own)).subsets) == {}


@pytest.mark.parametrize("name", ["own.toml", "own.json"])
def test_mistakes_in_somebody_s_own_codebook_are_listed(tmp_path: Path, name: str) -> None:
    own = document()
    own["emotoins"] = own.pop("emotions")
    own["binary"]["B7"]["category"] = "understandng"
    own["modes"]["fast"] = "As default, but quick."
    path = write(tmp_path, name, own)
    with pytest.raises(CodebookError) as caught:
        load_codebook(path)
    first, *lines = str(caught.value).split("\n")
    assert first == f"{path}: 4 mistakes"
    assert [line.partition(":")[0] for line in lines] == [
        "emotions",
        '[binary.B7] category = "understandng"',
        '[modes] fast = "As default, but quick."',
        f"emotoins = {shown(own['emotoins'])}".partition(":")[0],
    ]
    assert lines[-1].endswith("unknown key; did you mean 'emotions'?")


def test_a_key_that_repeats_in_json_is_an_error_as_in_toml(tmp_path: Path) -> None:
    text = json.dumps(document())
    path = tmp_path / "own.json"
    path.write_text(text.replace('"B7": {', '"B7": {}, "B7": {', 1), encoding="utf-8")
    with pytest.raises(CodebookError, match=re.escape(f'{path}: "B7": twice in one object')):
        load_codebook(path)
    path = tmp_path / "own.toml"
    path.write_text("[modes]\n[modes]\n", encoding="utf-8")
    with pytest.raises(CodebookError, match=r"own\.toml: not TOML in UTF-8: .*line 2"):
        load_codebook(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"own\.toml: 8 mistakes\nemotions: the key is missing\n"),
        (b"emotions = ", r"own\.toml: not TOML in UTF-8: Invalid value"),
        (b'{"emotions": {}}', r"own\.toml: not TOML .*; is it JSON\? Then its name has to end in \.json"),
        (b"# \xff", r"own\.toml: not TOML in UTF-8: .*can't decode"),
        (b"a = " + b"[" * 100_000, r"own\.toml: not TOML in UTF-8: nested too deeply"),
        (b"\xef\xbb\xbfmodes = 1979-05-27", r"modes = .*1979.*: expected a table"),
        (b"modes = nan", r"modes = NaN: expected a table"),
    ],
)
def test_a_file_that_is_no_codebook_is_one_error_that_names_it(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "own.toml"
    path.write_bytes(content)
    with pytest.raises(CodebookError, match=message):
        load_codebook(path)


def test_a_data_set_s_own_codebook_may_use_some_of_the_same_names(tmp_path: Path) -> None:
    path = write(tmp_path, "own.json", {"binary": {"B7": "Hedged?"}, "pairwise": {"PW1": "Which?"}, "modes": {}})
    book = load_codebook(path)
    assert (book.binary["B7"].text, book.pairwise["PW1"].text) == ("Hedged?", "Which?")
    assert book.issues


# The parts that models are made of.


class Part(Entry):
    """A row with its own name, a reference and a list."""

    name: str = Field(alias=OWN_NAME)
    uses: Items[Annotated[Text, RefersTo("parts")]] = ()


class Machine(Entry):
    """A file of rows that refer to each other."""

    parts: Named[Part]


def test_an_entry_knows_its_name_in_the_table() -> None:
    machine = checked({"parts": {"a": {}, "b": {"uses": ["a"]}}}, Machine, "m.toml")
    assert [(part.name, part.uses) for part in machine.parts.values()] == [("a", ()), ("b", ("a",))]
    assert machine == Machine(parts=Named({"a": Part(name="a"), "b": Part(name="b", uses=("a",))}))
    assert hash(machine) == hash(copy.deepcopy(machine))


def test_what_is_made_in_python_refers_to_anything() -> None:
    assert Part(name="a", uses=("b",)).uses == ("b",)
    assert PairwiseQuestion(id="PW99", text="?").id == "PW99"


def test_a_reference_into_a_damaged_table_is_not_a_second_mistake() -> None:
    with pytest.raises(CodebookError) as caught:
        checked({"parts": 5, "others": {}}, Machine, "m.toml")
    assert str(caught.value).split("\n") == [
        "m.toml: 2 mistakes",
        "parts = 5: expected a table",
        "others = {}: unknown key; expected one of parts",
    ]


def test_a_document_that_is_no_table_is_one_mistake() -> None:
    with pytest.raises(CodebookError, match=r"^m\.json: 1 mistake\nthe file = \[\]: expected a table$"):
        checked([], Machine, "m.json")


def test_a_cut_off_has_one_side() -> None:
    assert [str(CutOff(from_=4)), str(CutOff(below=12.5))] == ["from 4", "below 12.5"]
    with pytest.raises(ValueError, match="expected either 'from' or 'below'"):
        CutOff()


def test_named_is_a_value() -> None:
    assert Named({"a": 1}) == Named({"a": 1}) == {"a": 1}
    assert len({Named({"a": 1, "b": 2}), Named({"b": 2, "a": 1})}) == 1
    with pytest.raises(TypeError):
        Named({"a": 1})["a"] = 2  # type: ignore[index]  # this must not be possible
