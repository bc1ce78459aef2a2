"""The sentences of the interface are complete in every language."""

import re

import pytest

from attune_bench.annotate.texts import LANGUAGES, Texts, sentences

ENGLISH = sentences("en")


def _placeholders(sentence: str) -> list[str]:
    return sorted(re.findall(r"\{[^}]*\}", sentence))


@pytest.mark.parametrize("language", [language for language in LANGUAGES if language != "en"])
def test_a_language_has_every_sentence_with_the_same_placeholders(language: str) -> None:
    found = sentences(language)
    assert list(found) == list(ENGLISH)  # in one order, so that the files can be read side by side
    assert [key for key, sentence in found.items() if not sentence.strip()] == []
    assert {key: _placeholders(sentence) for key, sentence in found.items()} == {
        key: _placeholders(sentence) for key, sentence in ENGLISH.items()
    }
    in_words = [key for key, sentence in ENGLISH.items() if re.search(r"\w", re.sub(r"\{[^}]*\}|[0-9]", "", sentence))]
    assert [key for key in in_words if found[key] == ENGLISH[key]] == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_sentence_shows_its_values_as_they_are(language: str) -> None:
    texts = Texts(language)
    for key, sentence in sentences(language).items():
        names = [name.strip("{}") for name in _placeholders(sentence)]
        assert texts(key, **dict.fromkeys(names, "<{b}>")).count("<{b}>") == len(names)


def test_chinese_has_chinese_punctuation() -> None:
    beside = re.compile("[\u4e00-\u9fff][,;:?!()]|[,;:?!()][\u4e00-\u9fff]")
    assert [sentence for sentence in sentences("zh").values() if beside.search(sentence)] == []
