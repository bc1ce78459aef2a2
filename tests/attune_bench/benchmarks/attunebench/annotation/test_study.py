"""The file of a study: each mistake is told with its place, its value and what was meant."""

import re
from contextlib import nullcontext
from pathlib import Path

import pytest
from commands import Call

from attune_bench.annotate import server
from attune_bench.annotate.store import StoreError
from attune_bench.benchmarks.attunebench.annotation.collect import begin_study, untranslated
from attune_bench.benchmarks.attunebench.annotation.study import EXAMPLE, Annotation, Study, read_study
from attune_data.codebook import CodebookError


def changed(folder: Path, old: str, new: str) -> Study:
    """Read the example with a text in it changed."""
    text = EXAMPLE.read_text(encoding="utf-8")
    assert old in text
    path = folder / "study.toml"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    return read_study(path)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('licence = "cc-by-4.0"', 'licence = "cc-by-5"', 'licence = "cc-by-5": unknown licence; did you mean'),
        ("lead.de", "# ", "[conversation.lead] de: the study has this language, and the text is missing"),
        ("lead.de", "lead.zh", '[conversation.lead] zh = "Bitte'),
        ('languages = ["en", "de"]', 'languages = ["en", "fr"]', 'languages[1] = "fr": expected one of en, de, zh'),
        ('"B19"', '"B91"', '[annotation] binary[7] = "B91": no question of the codebook with a text; did you mean'),
        ('"PW1", "PW3", "PW4", "PW5"', '"PW16"', '[annotation] pairwise[0] = "PW16": no question of the codebook'),
        ("minimum = 2", "minimum = 9", "[conversation] maximum = 8: below the minimum, 9"),
        ('Work = ["New role", "Conflict"]', "Work = []", "[conversation.topics] Work = []: no subtopic"),
        ('"None of the above"]', '"None"]', "lacks 'None of the above', by which data say that there is none"),
        ("[participant.age_range]", "[participant.age]", "[participant] age: unknown field; did you mean 'age_range'?"),
        ('right = "Yes"', 'right = "Ja"', '[exercises[0]] right = "Ja": not in options; expected one of Yes, No'),
        ("max_tokens = 400", 'api_key = "sk-1"', '[model] api_key = "sk-1": unknown key'),
        ('provider = "local"', 'provider = "lokal"', "[model] provider = \"lokal\": did you mean 'local'?"),
        ("output = 0.6", "", "limits = {\"person\": 0.5, \"study\": 10}: needs input and output, the prices, of each"),
        ("person = 0.5", "person = 0", "[limits] person = 0: "),
        (", 3, 2, 1]", ", 3, 2]", "[questionnaires.tipi_extraversion.items[1]] scores = [7, 6, 5, 4, 3, 2]: expected"),
        ("scores = [1, 2, ", "scores = [0, 2, ", "would be 1 to 14, and TIPI extraversion is 2 to 14; are all items"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_with_its_place_and_value(tmp_path: Path, old: str, new: str, told: str) -> None:
    with pytest.raises(CodebookError) as error:
        changed(tmp_path, old, new)
    assert told in str(error.value)
    assert str(tmp_path / "study.toml") in str(error.value)


def test_a_text_without_languages_is_the_same_in_all(tmp_path: Path) -> None:
    study = changed(tmp_path, 'title.en = "Talking about what is on your mind"\ntitle.de', "title")
    assert study.title["en"] == study.title["de"] == "Ein Gespräch über das, was Sie beschäftigt"
    assert study.shown("Family", "de") == "Familie"
    assert study.shown("Family", "en") == "Family"
    assert study.shown("Not in the words", "de") == "Not in the words"


def test_scores_are_sums_of_items_that_are_all_answered(tmp_path: Path) -> None:
    anxiety = """
[questionnaires.promis_anxiety]
title = "Feelings"
options = ["Never", "Rarely", "Sometimes", "Often", "Always"]
scores = [1, 2, 3, 4, 5]
items = [{ text = "1" }, { text = "2" }, { text = "3" }, { text = "4" }]
t_scores.promis_anxiety_t = [T]

[[exercises]]"""
    values = [40.3, 48.0, 51.2, 53.7, 55.8, 57.7, 59.5, 61.4, 63.4, 65.3, 67.3, 69.3, 71.2, 73.3, 75.4, 77.9, 81.6]
    text = anxiety.replace("T]", f"{', '.join(map(str, values))}]")
    one = changed(tmp_path, "[[exercises]]", text).questionnaires["promis_anxiety"]
    scores = one.computed("promis_anxiety", {0: 0, 1: 1, 2: 0, 3: 0})  # 1 + 2 + 1 + 1
    assert scores == {"promis_anxiety": 5, "promis_anxiety_t": 48.0}
    assert one.computed("promis_anxiety", {0: 0, 1: 1, 2: 0}) == {}
    with pytest.raises(CodebookError, match=r"promis_anxiety_t = 16: expected 17 values, one for each sum"):
        changed(tmp_path, "[[exercises]]", text.replace(", 81.6", ""))


@pytest.mark.parametrize(("path", "told"), [("missing.toml", "No such file or directory"), (".", "Is a directory")])
def test_a_study_that_cannot_be_read_is_named(call: Call, tmp_path: Path, path: str, told: str) -> None:
    study = str(tmp_path / path)
    options = ("--people", "2", "--file", str(tmp_path / "study.db"), "-o", str(tmp_path / "conversations"))
    status, _, err = call("annotate", "collect", study, *options)
    assert (status, err) == (2, f"attune-bench: {Path(study)}: the study cannot be read: {told}\n")
    assert not (tmp_path / "study.db").exists()


def test_without_the_key_of_the_model_nothing_is_begun(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    changed(tmp_path, 'provider = "local"\nbase_url = "http://localhost:8000/v1"', 'provider = "openai"')
    options = ("--people", "2", "--file", str(tmp_path / "study.db"), "-o", str(tmp_path / "conversations"))
    status, _, err = call("annotate", "collect", str(tmp_path / "study.toml"), *options)
    assert (status, err) == (2, "attune-bench: no key for openai: set OPENAI_API_KEY\n")
    assert not (tmp_path / "study.db").exists()


def test_all_mistakes_are_in_one_line_that_can_be_read(call: Call, tmp_path: Path) -> None:
    text = EXAMPLE.read_text(encoding="utf-8").replace("minimum = 2", "minimum = 0")
    study = tmp_path / "study.toml"
    study.write_text(re.sub("^pairwise = .*$", 'pairwise = ["PW1"]', text, flags=re.MULTILINE), encoding="utf-8")
    options = ("--people", "2", "--file", str(tmp_path / "study.db"), "-o", str(tmp_path / "conversations"))
    _, _, err = call("annotate", "collect", str(study), *options)
    assert err == (
        f"attune-bench: {study}: 2 mistakes: [conversation] minimum = 0: expected at least 1; is this another scale?; "
        '[annotation] pairwise = ["PW1"]: expected at least 3 values\n'
    )


def test_values_that_people_read_as_the_data_have_them_are_named(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "serve", lambda *_given, **_options: None)
    assert read_study(EXAMPLE).untranslated() == {}
    assert changed(tmp_path, 'Family = "Familie"\nWork = ', "Work = ").untranslated() == {"de": ["Family"]}
    text = EXAMPLE.read_text(encoding="utf-8").replace('Another = "ein anderes"', "").replace('Yes = "Ja"', "")
    (tmp_path / "study.toml").write_text(text, encoding="utf-8")
    options = ("--people", "2", "--file", str(tmp_path / "study.db"), "-o", str(tmp_path / "conversations"))
    _, _, err = call("annotate", "collect", str(tmp_path / "study.toml"), *options)
    assert err == (
        "attune-bench: Pages in Deutsch show these values as the data have them, for want of words in [words.de]: "
        '"Another", "Yes".\n'
    )


def test_a_default_of_a_later_version_changes_no_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = EXAMPLE.read_text(encoding="utf-8").partition("[annotation]")[0]
    study, file = tmp_path / "study.toml", tmp_path / "study.db"
    study.write_text(re.sub(r"^(attitudes|max_tokens) = .*$", "", text, flags=re.MULTILINE), encoding="utf-8")
    monkeypatch.setenv("OPENAI_COMPATIBLE_API_KEY", "sk-1")
    begin_study(study, file, 1)[0].close()
    later = read_study(study)
    for of, name, value in (
        (later, "annotation", Annotation(binary=("B1",))),
        (later.conversation, "attitudes", ("Calm", "Tense")),
    ):
        of.__dict__[name] = value  # As another default would have it.
    monkeypatch.setattr("attune_bench.benchmarks.attunebench.annotation.collect.read_study", lambda _path: later)
    begin_study(study, file, 1)[0].close()


@pytest.mark.parametrize(
    ("languages", "options", "told"),
    [
        ('["en", "de"]', '["Never", "Never", "1", "4", "5", "6", "7"]', '"Never"'),
        ('["en", "de"]', '[{ en = "Calm", de = "Ruhig" }, "2", "3", "4", "5", "Nervous", "7"]', '"Nervous"'),
        ('["de"]', '["Not very much", "2", "3", "4", "5", "6", "Sehr"]', '"Not very much"'),
        ('["de"]', '["Nie", "2", "3", "4", "5", "6", "Sehr"]', ""),
        ('["en"]', '["Never", "2", "3", "4", "5", "6", "Very"]', ""),
    ],
)
def test_questionnaires_in_english_are_told_to_who_asks_in_another_language(
    tmp_path: Path, languages: str, options: str, told: str
) -> None:
    text = EXAMPLE.read_text(encoding="utf-8").replace('["en", "de"]', languages)
    text = text.replace('["1", "2", "3", "4", "5", "6", "7"]', options)
    if "de" not in languages or "en" not in languages:
        [language] = re.findall(r"\w+", languages)
        text = re.sub(r"\{ en = (\S.*?), de = (\".*?\") \}", r"\1" if language == "en" else r"\2", text)
        for other in {"en", "de"} - {language}:
            text = re.sub(rf'^(lead\.|title\.)?{other} = (""".*?"""|".*?")$', "", text, flags=re.MULTILINE | re.DOTALL)
    study = tmp_path / "study.toml"
    study.write_text(text, encoding="utf-8")
    found = untranslated(read_study(study))
    assert found == (
        [f"Pages in Deutsch show these texts of questionnaires in English: {told}; give each text by language, as "
         "{ en = ..., de = ... }."] if told else []
    )  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "goes_on"),
    [
        ("input = 0.15", "input = 0.2", True),
        ("http://localhost:8000/v1", "http://localhost:9000/v1", True),
        ("max_tokens = 400", "max_tokens = 500\ntimeout = 90", True),
        ("study = 10", "study = 20", True),
        ('name = "MODEL"', 'name = "ANOTHER"', False),
        ("in two or three sentences", "in one sentence", False),
        ('"B19", "B20"', '"B19"', False),
    ],
)
def test_a_study_goes_on_while_people_are_asked_the_same(
    tmp_path: Path, old: str, new: str, goes_on: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_COMPATIBLE_API_KEY", "sk-1")
    study, file = tmp_path / "study.toml", tmp_path / "study.db"
    changed(tmp_path, "minimum = 2", "minimum = 3")
    begin_study(study, file, 1)[0].close()
    text = study.read_text(encoding="utf-8")
    assert old in text
    study.write_text(text.replace(old, new), encoding="utf-8")
    with nullcontext() if goes_on else pytest.raises(StoreError, match="was begun with another study"):
        begin_study(study, file, 1)[0].close()
