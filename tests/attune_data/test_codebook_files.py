"""Every file of the codebook is read strictly, and one error lists every mistake with its place and its value."""

import copy
import json
import re
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from attune_data import Codebook, CodebookError, load_codebook
from attune_data.attunebench.codebook import Subset
from attune_data.attunebench.profile import Diagnoses, Instruments
from attune_data.attunebench.records import ConversationWideQuestions, FourBranchScores
from attune_data.codebook import Named, checked, codebook_folder, read_toml
from attune_data.eibench.records import Scenes
from attune_data.issues import shown
from attune_data.licences import Publishing

Document = dict[str, Any]
Change = Callable[[Document], object]

FILES: dict[str, Any] = {
    "attunebench": Codebook,
    "subsets": Named[Subset],
    "instruments": Instruments,
    "diagnoses": Diagnoses,
    "eibench": Scenes,
    "publishing": Publishing,
}


def document(name: str) -> Document:
    file = codebook_folder() / f"{name}.toml"
    return tomllib.loads(file.read_text(encoding="utf-8"))


def mistakes(name: str, changed: Document) -> list[str]:
    """Return the lines of the error of a changed file, without its first."""
    with pytest.raises(CodebookError) as caught:
        checked(changed, FILES[name], f"{name}.toml")
    first, *lines = str(caught.value).split("\n")
    assert first == f"{name}.toml: {len(lines)} mistake{'s' * (len(lines) > 1)}"
    return lines


def test_every_file_of_the_codebook_has_a_model() -> None:
    assert {file.name for file in codebook_folder().iterdir()} == {f"{name}.toml" for name in FILES}
    for name, kind in FILES.items():
        read_toml(codebook_folder() / f"{name}.toml", kind)


def test_names_of_the_records_are_those_of_the_codebook() -> None:
    book = load_codebook()
    fields = ConversationWideQuestions.model_fields
    assert set(book.conversation_wide) == {field.alias for name, field in fields.items() if name[0] == "q"}
    assert set(book.branches) == set(FourBranchScores.model_fields)
    assert {question.category for question in book.binary.values()} == set(book.categories)


def test_every_citation_is_cited() -> None:
    read = document("instruments")
    assert {key for one in read["instruments"].values() for key in one["sources"]} == set(read["sources"])


# Planted mistakes, one at a time: the whole line is typed out.


@pytest.mark.parametrize(
    ("name", "change", "line"),
    [
        # Keys.
        (
            "instruments",
            lambda file: file["instruments"]["who_5"].update(hgih=25),
            "[instruments.who_5] hgih = 25: unknown key; did you mean 'high'?",
        ),
        (
            "instruments",
            lambda file: file["instruments"]["who_5"].pop("high"),
            "[instruments.who_5] high: the key is missing",
        ),
        (
            "instruments",
            lambda file: file["instruments"]["who_5"].update(name="who_5"),
            '[instruments.who_5] name = "who_5": unknown key; expected one of title, measures, low, high, higher_is, '
            "if_outside, sources, cut_off, bands, note",
        ),
        ("attunebench", lambda file: file.update(emotons={}), "emotons = {}: unknown key; did you mean 'emotions'?"),
        ("attunebench", lambda file: file.pop("emotions"), "emotions: the key is missing"),
        (
            "publishing",
            lambda file: file["licences"]["cc-by-sa-3.0"].update(Also=[]),
            "[licences.\"cc-by-sa-3.0\"] Also = []: unknown key; did you mean 'also'?",
        ),
        # Types and ranges.
        (
            "attunebench",
            lambda file: file["emotions"]["Proud"].update(valence=85),
            "[emotions.Proud] valence = 85: expected at most 1; is this another scale?",
        ),
        (
            "attunebench",
            lambda file: file["emotions"]["Proud"].update(arousal="0.65"),
            '[emotions.Proud] arousal = "0.65": expected a number; remove the quotes',
        ),
        (
            "attunebench",
            lambda file: file["emotions"]["Proud"].update(affect="postive"),
            "[emotions.Proud] affect = \"postive\": did you mean 'positive'?",
        ),
        (
            "attunebench",
            lambda file: file["binary"]["B7"].update(extended=0),
            "[binary.B7] extended = 0: expected true or false",
        ),
        (
            "attunebench",
            lambda file: file["binary"]["B7"].update(text=" "),
            '[binary.B7] text = " ": the text is blank',
        ),
        (
            "attunebench",
            lambda file: file["pairwise"].update(PW7="Which?"),
            '[pairwise] PW7 = "Which?": expected a table',
        ),
        (
            "attunebench",
            lambda file: file["conversation_wide"]["q3_modelFit"].update(negative="Other"),
            '[conversation_wide.q3_modelFit] negative = "Other": expected a list; put it in [ ]',
        ),
        (
            "subsets",
            lambda file: file.update(Tiny=[5, -1]),
            "Tiny[1] = -1: expected at least 0; is this another scale?",
        ),
        ("subsets", lambda file: file.update(Tiny=["5"]), 'Tiny[0] = "5": expected a whole number; remove the quotes'),
        ("subsets", lambda file: file.update(Tiny=[5, 6, 5]), "Tiny[2] = 5: twice in the list"),
        ("subsets", lambda file: file.update(Tiny=5), "Tiny = 5: expected a list; put it in [ ]"),
        ("diagnoses", lambda file: file.update(none=4), "none = 4: expected text; put it in quotes"),
        (
            "publishing",
            lambda file: file["licences"]["mit"].update(url="opensource.org"),
            '[licences.mit] url = "opensource.org": expected to match ^https?://\\S+$',
        ),
        # References.
        (
            "attunebench",
            lambda file: file["binary"]["B7"].update(category="understandng"),
            "[binary.B7] category = \"understandng\": not in [categories]; did you mean 'understanding'?",
        ),
        (
            "attunebench",
            lambda file: file["conversation_wide"]["q3_modelFit"]["negative"].append("Mostly off-target"),
            '[conversation_wide.q3_modelFit] negative[2] = "Mostly off-target": not in options; '
            "did you mean 'Mostly off-target or intrusive'?",
        ),
        (
            "attunebench",
            lambda file: file["modes"].update(verbos="."),
            "[modes] verbos = \".\": unknown name; did you mean 'verbose'?",
        ),
        ("attunebench", lambda file: file["branches"].pop("managing"), "[branches] managing: the entry is missing"),
        (
            "attunebench",
            lambda file: file["emotions"].update(PROUD=file["emotions"]["Proud"]),
            "[emotions] PROUD: the same word as 'Proud'",
        ),
        (
            "instruments",
            lambda file: file["instruments"]["who_5"]["sources"].append("tpop_2015"),
            "[instruments.who_5] sources[2] = \"tpop_2015\": not in [sources]; did you mean 'topp_2015'?",
        ),
        ("instruments", lambda file: file["instruments"].pop("aq_10"), "[instruments] aq_10: the entry is missing"),
        ("eibench", lambda file: file["scenes"].pop("charm"), "[scenes] charm: the entry is missing"),
        (
            "publishing",
            lambda file: file["benchmarks"]["SAGE"].update(licence="mti"),
            "[benchmarks.SAGE] licence = \"mti\": not in [licences]; did you mean 'mit'?",
        ),
        (
            "publishing",
            lambda file: file["licences"]["cc-by-sa-3.0"]["also"].append("cc-by-sa-4"),
            '[licences."cc-by-sa-3.0"] also[1] = "cc-by-sa-4": not in [licences]; did you mean \'cc-by-sa-4.0\'?',
        ),
        (
            "publishing",
            lambda file: file["licences"]["mit"]["demands"].append("atribution"),
            "[licences.mit] demands[1] = \"atribution\": did you mean 'attribution'?",
        ),
        # Limits in order.
        (
            "instruments",
            lambda file: file["instruments"]["tipi_openness"].update(low=14, high=2),
            "[instruments.tipi_openness] high = 2: not above low, 14; are the two exchanged?",
        ),
        (
            "instruments",
            lambda file: file["instruments"]["who_5"].update(cut_off={"below": 52}),
            '[instruments.who_5] cut_off = "below 52": nobody is on one side of it within 0-25',
        ),
        (
            "instruments",
            lambda file: file["instruments"]["who_5"].update(cut_off={"below": 13, "from": 13}),
            "[instruments.who_5] cut_off = {\"from\": 13, \"below\": 13}: expected either 'from' or 'below'",
        ),
        (
            "instruments",
            lambda file: file["instruments"]["promis_sleep_t"]["bands"].update(moderate=50),
            "[instruments.promis_sleep_t.bands] moderate = 50: not above 'mild', 55, and up to high, 73.3; "
            "bands go from mild to severe",
        ),
        (
            "instruments",
            lambda file: file["instruments"]["promis_sleep_t"]["bands"].update({"within normal limits": 40}),
            '[instruments.promis_sleep_t.bands] "within normal limits" = 40: the first band starts at low, 32',
        ),
        # Diagnoses.
        (
            "diagnoses",
            lambda file: file["groups"]["ADHD"]["stems"].append("ADD"),
            "[groups.ADHD] stems[3] = \"ADD\": answers are compared in lower case; write 'add'",
        ),
        (
            "diagnoses",
            lambda file: file["groups"].update(PTSD={"stems": [], "words": []}),
            "[groups.PTSD] stems = []: neither stems nor words; no answer fits such a group",
        ),
        (
            "diagnoses",
            lambda file: file["groups"].update(other={"stems": ["x"], "words": []}),
            "[groups] other: the library has a group of this name",
        ),
    ],
)
def test_a_mistake_is_named_with_its_place_and_value(name: str, change: Change, line: str) -> None:
    changed = document(name)
    change(changed)
    assert mistakes(name, changed) == [line]


def rows(table: Document, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Document]]:
    """Yield every table of a document with its path."""
    yield path, table
    for key, value in table.items():
        if isinstance(value, dict):
            yield from rows(value, (*path, key))


def at(changed: Document, path: tuple[str, ...]) -> Document:
    for key in path:
        changed = changed[key]
    return changed


@pytest.mark.parametrize("name", [name for name in FILES if name != "subsets"])
def test_a_value_of_another_type_is_a_mistake_wherever_it_is(name: str) -> None:
    # A list of lists is right for nothing in any file.
    original = document(name)
    places = [(path, key) for path, table in rows(original) for key in table]
    assert len(places) > 5
    for path, key in places:
        changed = copy.deepcopy(original)
        at(changed, path)[key] = [[]]
        # Where a table that others refer to is damaged, its references are left alone.
        assert any(
            (f"{key_text(key)}" in line and "[[]]" in line) or "[0] = []" in line for line in mistakes(name, changed)
        )


def key_text(key: str) -> str:
    return key if re.fullmatch(r"[\w-]+", key) else json.dumps(key)


# Tables whose keys are names that a file chooses.
OPEN = {"emotions", "categories", "binary", "pairwise", "instruments.sources", "groups", "benchmarks", "licences"}


@pytest.mark.parametrize("name", [name for name in FILES if name != "subsets"])
def test_every_mistake_of_a_file_is_listed(name: str) -> None:
    changed = document(name)
    closed = [table for path, table in list(rows(changed)) if not (OPEN & {".".join(path), f"{name}.{'.'.join(path)}"})]
    for table in closed:
        table["not a key"] = 1
    lines = mistakes(name, changed)
    # One for each, but for the bands of a T-score, a table with any names, where 1 is no bound that is in order: there
    # the instrument is reported for its own key first.
    bands = sum("bands" in table for table in closed)
    assert len(lines) == len(closed) - bands
    assert all('"not a key" = 1: unknown ' in line for line in lines)


def test_mistakes_of_several_kinds_are_in_one_error() -> None:
    changed = document("instruments")
    who_5 = changed["instruments"]["who_5"]
    who_5["sources"] = ["nobody", "nobody", 5]
    who_5["lwo"] = who_5.pop("low")
    changed["instruments"]["asrs_6"]["cut_off"] = {"from": 9}
    changed["instruments"]["aq_50"] = changed["instruments"].pop("aq_10")
    lines = [line.partition(":")[0] for line in mistakes("instruments", changed)]
    assert lines == [
        "[instruments.who_5] low",
        '[instruments.who_5] sources[0] = "nobody"',
        '[instruments.who_5] sources[1] = "nobody"',
        "[instruments.who_5] sources[2] = 5",
        '[instruments.who_5] sources[1] = "nobody"',  # twice in the list
        "[instruments.who_5] lwo = 0",
        '[instruments.asrs_6] cut_off = "from 9"',
        f"[instruments] aq_50 = {shown(changed['instruments']['aq_50'])}".partition(":")[0],
        "[instruments] aq_10",
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("#" * (2**20 + 1), "larger than 1,048,576 bytes, the limit of a TOML file"),
        ("a = " + "[" * 100_000, "nested too deeply"),
        # Without a limit these take tomllib half a minute.
        ("a." * 40_000 + "a = 1", "a key of more than 100 parts"),
        ("[" + "'a b' . \"c\"." * 20_000 + "a]", "a key of more than 100 parts"),
    ],
    ids=lambda text: text[:20],
)
def test_a_file_that_would_take_time_or_memory_is_one_error(content: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_text(content)
    with pytest.raises(CodebookError, match=message) as caught:
        read_toml(file, Named[str])
    assert str(caught.value).startswith(f"{file}: ")


def test_texts_with_many_dots_are_no_keys(tmp_path: Path) -> None:
    texts = {"dots": "." * 10_000, "short": "a. b. " * 40, "word": "a" * 500_000}
    file = tmp_path / "a.toml"
    file.write_text("\n".join(f"{name} = {json.dumps(text)}" for name, text in texts.items()))
    assert dict(read_toml(file, Named[str]).items()) == texts


def test_of_many_mistakes_the_first_are_listed() -> None:
    with pytest.raises(CodebookError) as caught:
        checked({f"k{number}": number for number in range(5_000)}, Named[str], "a.toml")
    first, *lines, last = str(caught.value).splitlines()
    assert (first, len(lines), last) == ("a.toml: 5,000 mistakes", 100, "... and 4,900 more")
    assert lines[99] == "k99 = 99: expected text; put it in quotes"
