"""What people read in each language is complete, and what is stored stays the codebook's own."""

import re
from collections import Counter
from typing import Any

import pytest

from attune_bench.annotate.texts import LANGUAGES
from attune_bench.benchmarks.attunebench.annotation.wording import Translation, Wording, translation
from attune_data import CodebookError, load_codebook
from attune_data.codebook import checked

BOOK = load_codebook()
OTHERS = [language for language in LANGUAGES if language != "en"]


def _all_texts(wording: Wording) -> dict[str, str]:
    """Return every text by where it belongs."""
    wide = [
        (f"{name} {option.value}", option.text) for name in BOOK.conversation_wide for option in wording.options(name)
    ]
    lists = (wording.emotions(), wording.answers(), wording.branches())
    return {
        **{option.value: option.text for options in lists for option in options},
        **{name: wording.binary(name) for name in BOOK.binary},
        **{f"{name} observer": wording.binary(name, observer=True) for name in BOOK.binary},
        **{name: text for name in BOOK.pairwise if (text := wording.pairwise(name))},
        **{name: wording.wide(name) for name in BOOK.conversation_wide},
        **dict(wide),
    }


@pytest.mark.parametrize("language", OTHERS)
def test_a_translation_has_exactly_the_ids_and_options_of_the_codebook(language: str) -> None:
    found = translation(language)
    assert list(found.emotions) == [emotion.word for emotion in BOOK.emotions.values()]
    assert list(found.branches) == list(BOOK.branches)
    assert list(found.binary) == list(BOOK.binary)
    assert list(found.pairwise) == [name for name, one in BOOK.pairwise.items() if one.text]
    wide = {name: list(one.options) for name, one in found.conversation_wide.items()}
    assert wide == {name: list(one.options) for name, one in BOOK.conversation_wide.items()}


@pytest.mark.parametrize("language", OTHERS)
def test_no_text_of_a_translation_is_left_in_english_or_is_there_twice(language: str) -> None:
    english, translated = (_all_texts(Wording(one, BOOK)) for one in ("en", language))
    assert translated.keys() == english.keys()
    assert [place for place in english if translated[place].lower() == english[place].lower()] == []
    assert [text for text, count in Counter(translated.values()).items() if count > 1] == []
    assert [text for text in translated.values() if re.search(r"\bHP\b", text)] == []


def test_a_translation_addresses_the_participant_and_tells_an_observer_about_the_person() -> None:
    for language, you, person in (("de", r"\b(Sie|Ihr\w*|Ihnen)\b", r"\bPerson\b"), ("zh", "您", "用户")):
        for one in translation(language).binary.values():
            found = [
                re.search(form, text) is not None for text in (one.text, one.observer_text) for form in (you, person)
            ]
            assert found == [True, False, False, True], one
        for text in translation(language).pairwise.values():
            assert re.search(you, text)


@pytest.mark.parametrize("language", OTHERS)
def test_every_translation_says_in_its_language_that_it_is_unofficial(language: str) -> None:
    note = Wording(language, BOOK).note
    assert re.search(r"inoffizielle Übersetzung .* nicht validiert|非官方译文.未经验证", note)


def test_chinese_has_chinese_punctuation() -> None:
    texts = _all_texts(Wording("zh", BOOK)).values()
    assert [text for text in (*texts, translation("zh").note) if re.search("[,;:?!()]", text)] == []


def test_english_is_the_codebook_that_is_given_in_words_for_people() -> None:
    wording = Wording("en", BOOK)
    assert wording.note == ""
    assert wording.binary("B1") == BOOK.binary["B1"].text
    assert wording.binary("B14", observer=True) == (
        "Does the response pass moral judgement on the person or on anything in the person's message?"
    )
    assert wording.branches()[0].text == (
        "Perceiving: noticing which emotions the person expresses, openly or between the lines."
    )
    assert [option.value for option in wording.answers()] == ["yes", "no", "na"]
    assert wording.pairwise("custom: Which is kinder?") == "Which is kinder?"
    assert wording.pairwise("PW16") is None


def test_what_only_the_codebook_of_a_data_set_has_is_shown_in_its_own_words() -> None:
    fit = BOOK.conversation_wide["q3_modelFit"]
    own = BOOK.model_copy(
        update={
            "binary": {**BOOK.binary, "B999": BOOK.binary["B1"].model_copy(update={"text": "Is it kind?"})},
            "pairwise": {**BOOK.pairwise, "PW16": BOOK.pairwise["PW1"].model_copy(update={"text": "Which is kinder?"})},
            "conversation_wide": {
                **BOOK.conversation_wide,
                "q3_modelFit": fit.model_copy(update={"options": (fit.options[0], "So so")}),
            },
        }
    )
    wording = Wording("de", own)
    assert wording.binary("B999") == "Is it kind?"
    assert wording.pairwise("PW16") == "Which is kinder?"
    assert [(option.value, option.text) for option in wording.options("q3_modelFit")] == [
        (fit.options[0], "Sehr passend und anpassungsfähig"),
        ("So so", "So so"),
    ]


def test_a_mistake_in_a_file_is_named_with_its_place_and_value() -> None:
    changed: dict[str, Any] = translation("de").model_dump(by_alias=True)
    changed["emotions"]["Proud"] = 1
    changed["answers"].pop("na")
    changed["binary"]["B1"] = {"text": " ", "observer_text": "Geht sie darauf ein?"}
    with pytest.raises(CodebookError) as caught:
        checked(changed, Translation, "wording.de.toml")
    assert str(caught.value).split("\n") == [
        "wording.de.toml: 3 mistakes",
        "[emotions] Proud = 1: expected text; put it in quotes",
        "[answers] na: the entry is missing",
        '[binary.B1] text = " ": the text is blank',
    ]
