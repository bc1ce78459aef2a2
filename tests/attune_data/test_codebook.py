import copy
import json
import pickle
import re
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

import attune_data.codebook as module
from attune_data import Codebook, CodebookError, load_codebook
from attune_data.codebook import codebook_folder
from attune_metrics.attunebench.emotion import VALENCE_AROUSAL

CATEGORIES = {
    "perceiving": "B1 B2 B3 B108 B109",
    "understanding": "B4 B5 B6 B7 B206 B207",
    "using": "B8 B9 B10 B11 B12 B13 B14 B15 B310 B311 B313 B315 B316",
    "regulating": "B16 B17 B18 B19 B20 B406 B408",
    "cognitive_framing": "B501 B502 B503 B504 B505",
}
CORE = {f"B{number}" for number in range(1, 21)}
POSITIVE = {
    "proud": (0.85, 0.65),
    "alert": (0.70, 0.75),
    "inspired": (0.90, 0.70),
    "determined": (0.78, 0.72),
    "attentive": (0.68, 0.60),
    "active": (0.72, 0.80),
    "excited": (0.80, 0.85),
    "strong": (0.75, 0.70),
    "enthusiastic": (0.82, 0.78),
    "interested": (0.65, 0.60),
}
NEGATIVE = {
    "irritable": (0.22, 0.68),
    "ashamed": (0.13, 0.62),
    "nervous": (0.188, 0.72),
    "jittery": (0.196, 0.788),
    "distressed": (0.125, 0.75),
    "afraid": (0.073, 0.84),
    "upset": (0.167, 0.65),
    "guilty": (0.15, 0.60),
    "scared": (0.083, 0.82),
    "hostile": (0.20, 0.70),
}
Q3 = (
    "Very well-matched and adaptive",
    "Mostly well-matched",
    "Mixed, some good moments, some misses",
    "Mostly off-target or intrusive",
)


@pytest.fixture(name="book", scope="module")
def bundled() -> Codebook:
    return load_codebook()


def read(tmp_path: Path, document: object) -> Codebook:
    path = tmp_path / "annotation_codebook.json"
    path.write_text(document if isinstance(document, str) else json.dumps(document), encoding="utf-8")
    return load_codebook(path)


# The bundled codebook


def test_binary_questions_are_the_36_with_their_categories(book: Codebook) -> None:
    expected = {name: category for category, names in CATEGORIES.items() for name in names.split()}
    assert {name: question.category for name, question in book.binary.items()} == expected
    assert len(book.binary) == 36
    assert {name for name, question in book.binary.items() if not question.extended} == CORE
    assert all(name == question.id for name, question in book.binary.items())


def test_each_phrasing_keeps_its_own_perspective(book: Codebook) -> None:
    for question in book.binary.values():
        assert "your message" in question.text
        assert "the HP's message" in question.observer_text
        assert not re.search(r"\bHP\b", question.text)
        assert not re.search(r"\b(you|your|yours|yourself)\b", question.observer_text, re.IGNORECASE)
        assert question.text.endswith("?")
        assert question.observer_text.endswith("?")


def test_both_phrasings_of_a_pair_differ_in_perspective_only(book: Codebook) -> None:
    reworded = {"B2", "B8", "B501"}  # where a verb or a pronoun changes with the perspective
    for name in set(book.binary) - reworded:
        text = book.binary[name].text.replace("your message", "the HP's message")
        text = re.sub(r"\byour\b", "the HP's", re.sub(r"\byou\b", "the HP", text))
        assert text == book.binary[name].observer_text


def test_pairwise_questions_compare_in_the_hp_facing_phrasing(book: Codebook) -> None:
    assert list(book.pairwise) == ["general", *(f"PW{number}" for number in range(1, 17))]
    assert [name for name, question in book.pairwise.items() if question.text is None] == ["PW16"]
    for question in book.pairwise.values():
        if question.text is not None:
            assert re.search(r"\bwhich of the two responses\b.*\byour message\b.*\?$", question.text, re.IGNORECASE)
            assert not re.search(r"\bHP\b", question.text)


def test_no_text_occurs_twice(book: Codebook) -> None:
    texts = [text for question in book.binary.values() for text in (question.text, question.observer_text)]
    texts += [question.text for question in book.pairwise.values() if question.text]
    texts += [question.text for question in book.conversation_wide.values()]
    assert len(texts) == len({text.casefold() for text in texts}) == 72 + 16 + 4


def test_emotions_are_the_20_words_with_valence_and_arousal(book: Codebook) -> None:
    table = {word: (emotion.valence, emotion.arousal) for word, emotion in book.emotions.items()}
    assert table == POSITIVE | NEGATIVE
    assert table == dict(VALENCE_AROUSAL)
    assert {word for word, emotion in book.emotions.items() if emotion.affect == "positive"} == set(POSITIVE)
    assert {word for word, emotion in book.emotions.items() if emotion.affect == "negative"} == set(NEGATIVE)
    assert all(emotion.word == word.title() for word, emotion in book.emotions.items())


def test_options_are_the_data_s_own_strings(book: Codebook) -> None:
    assert book.q1_options == (
        "To just listen or let me vent",
        "To help me understand or sort out my feelings",
        "To help me think through options or make a decision",
        "To help with something urgent, risky, or high-stakes",
        "To get specific information or advice",
        "To help me calm down or feel steadier",
        "Other",
    )
    assert book.q2_options == (
        "Clear and explicitly stated",
        "Implied or indirect",
        "Mixed or conflicted",
        "Unclear / evolving as I talked",
    )
    assert book.q3_options == Q3
    assert book.q3_negative == Q3[-2:]
    multiple = {name: question.multiple for name, question in book.conversation_wide.items()}
    assert multiple == {
        "q1_lookingFor": True,
        "q2_emotionClarity": False,
        "q3_modelFit": False,
        "q3_followUp_whatFeltOff": True,
    }


def test_names_of_branches_modes_and_strategies(book: Codebook) -> None:
    assert list(book.branches) == ["perceiving", "facilitating", "understanding", "managing"]
    assert list(book.modes) == ["default", "verbose", "omniscient", "verbose_omniscient"]
    assert list(book.panas_strategies) == ["absolute", "delta", "blind_delta"]
    assert all(text.endswith(".") for names in (book.branches, book.modes) for text in names.values())


def test_subsets(book: Codebook) -> None:
    sizes = {name: len(numbers) for name, numbers in book.subsets.items()}
    assert sizes == {
        "Sample200": 200,
        "Subsample100": 100,
        "Subsample50": 50,
        "Subsample25": 25,
        "Subsample20": 20,
    }
    canonical = book.subsets["Sample200"]
    assert {name: set(numbers - canonical) for name, numbers in book.subsets.items() if numbers - canonical} == {
        "Subsample100": {106}
    }
    assert book.subsets["Subsample25"] <= book.subsets["Subsample50"]
    assert (min(canonical), max(canonical)) == (5, 248)
    assert sorted(book.subsets["Subsample20"])[:4] == [13, 36, 41, 51]


def test_nothing_is_amiss_and_it_is_read_once(book: Codebook) -> None:
    assert book.issues == ()
    assert load_codebook() is book


def test_a_codebook_cannot_be_changed_but_copied(book: Codebook) -> None:
    with pytest.raises(ValidationError, match="frozen"):
        book.binary["B7"].text = "?"  # type: ignore[misc]  # this must not be possible
    with pytest.raises(ValidationError, match="frozen"):
        book.binary = book.binary  # type: ignore[misc]  # this must not be possible
    with pytest.raises(TypeError):
        book.binary["B7"] = book.binary["B6"]  # type: ignore[index]
    assert copy.deepcopy(book) == book
    assert pickle.loads(pickle.dumps(book)) == book  # noqa: S301 - our own bytes


@pytest.mark.parametrize(("key", "nearest"), [("B310x", "B310"), ("b7", "B7"), ("B70", "B7")])
def test_a_missing_id_names_the_nearest(book: Codebook, key: str, nearest: str) -> None:
    with pytest.raises(KeyError, match=f"no '{key}'; the nearest is '{nearest}'"):
        book.binary[key]
    assert key not in book.binary
    assert book.binary.get(key) is None


def test_mappings_show_their_names(book: Codebook) -> None:
    assert repr(book.panas_strategies) == "Named(absolute, delta, blind_delta)"


# Where the bundled codebook is found


def test_the_packaged_copy_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "files", lambda _: tmp_path)
    assert codebook_folder() != tmp_path / "codebook"
    (tmp_path / "codebook").mkdir()
    (tmp_path / "codebook" / "publishing.toml").touch()
    assert codebook_folder() == tmp_path / "codebook"


def test_no_folder_is_a_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "files", lambda _: tmp_path)
    monkeypatch.setattr(module, "__file__", str(tmp_path / "src" / "attune_data" / "codebook.py"))
    with pytest.raises(FileNotFoundError, match=r"no publishing\.toml in .* is the installation whole"):
        codebook_folder()


# A data set's own codebook

BOTH = {"text": "Own words about your message?", "observer_text": "Own words about the HP's message?"}
LAYOUTS: dict[str, Any] = {
    "list of objects": {
        "binary": [{"id": "B7", "category": "Using", **BOTH}],
        "pairwise": [{"id": "PW3", "text": "Which?"}, {"id": "general", "text": "Best?"}],
    },
    "other key names": {
        "sections": [
            {"title": "Yes or no", "items": [{"questionId": "b7", "question": BOTH["text"], "category": "using"}]},
            {"title": "Seen from outside", "items": [{"code": "B7", "observerText": BOTH["observer_text"]}]},
            {
                "id": "pairs",
                "items": [{"question_id": "PW3", "prompt": "Which?"}, {"code": "General", "label": "Best?"}],
            },
        ]
    },
    "strings keyed by id": {
        "hp": {"B7": BOTH["text"]},
        "observer": {"B7": BOTH["observer_text"].replace("the HP's", "the participant's")},
        "pw": {"PW3": "Which?", "general": "Best?"},
    },
    "objects keyed by id": {
        "v2": {"binary": {"core": {"B7": {"category": "using", "phrasings": {"hp": "?", "observer": "!"}}}}},
        "pairwise": {"general": {"question": "Best?"}, "PW3": {"question": "Which?"}},
    },
    "a bare list": [
        {"id": "B7", "category": "using", "text": {"hp": BOTH["text"], "observer": BOTH["observer_text"]}},
        {"id": "PW3", "text": " Which?\n"},
        {"id": "general", "text": "Best?"},
    ],
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_questions_are_found_in_any_layout(layout: str, tmp_path: Path, book: Codebook) -> None:
    own = read(tmp_path, LAYOUTS[layout])
    assert own.binary["B7"].text not in {book.binary["B7"].text, own.binary["B7"].observer_text}
    assert own.binary["B7"].observer_text != book.binary["B7"].observer_text
    assert (own.pairwise["PW3"].text, own.pairwise["general"].text) == ("Which?", "Best?")
    assert own.binary["B8"] == book.binary["B8"]
    assert own.emotions == book.emotions
    assert not [issue for issue in own.issues if issue.startswith("$")]
    assert "B8: not in the file; bundled question used" in own.issues


def test_a_category_takes_the_known_spelling(tmp_path: Path) -> None:
    own = read(tmp_path, [{"id": "B1", "category": "Cognitive Framing", **BOTH}])
    assert own.binary["B1"].category == "cognitive_framing"


OPTIONS = ["first", "second", "third"]


@pytest.mark.parametrize(
    "section",
    [
        {"Q3": OPTIONS},
        {"q3_options": OPTIONS},
        {"modelFit": {"choices": OPTIONS}},
        {"q3_modelFit": {"question": "How well?", "answers": [{"label": text, "value": 1} for text in OPTIONS]}},
        [{"id": "Q3", "options": [{"value": text} for text in OPTIONS]}],
        [{"code": "q3_modelFit", "options": {"a": "first", "b": "second", "c": {"text": "third"}}}],
    ],
)
def test_options_are_found_in_any_layout(section: object, tmp_path: Path) -> None:
    own = read(tmp_path, {"post": {"wide": section}})
    assert own.q3_options == ("first", "second", "third")
    assert own.q3_negative == ("second", "third")
    assert any("are not the bundled options" in issue for issue in own.issues)


def test_known_options_keep_their_order(tmp_path: Path) -> None:
    own = read(tmp_path, {"Q3": [text.upper() for text in reversed(Q3)]})
    assert own.q3_options == Q3
    assert "q3_modelFit: no text; bundled wording used" in own.issues


def test_a_follow_up_inside_its_question_is_found(tmp_path: Path) -> None:
    section = {"text": "How well?", "options": list(Q3), "followUp": {"text": "What?", "options": ["Too fast"]}}
    own = read(tmp_path, {"questions": {"Q3": section}})
    follow_up = own.conversation_wide["q3_followUp_whatFeltOff"]
    assert (follow_up.text, follow_up.options) == ("What?", ("Too fast",))
    assert own.conversation_wide["q3_modelFit"].text == "How well?"


def test_what_is_lacking_is_said(tmp_path: Path, book: Codebook) -> None:
    own = read(tmp_path, {"binary": [{"id": "B310", "observer_text": "Seen from outside?"}], "PW16": "Which one?"})
    assert own.binary["B310"].text == book.binary["B310"].text
    assert own.binary["B310"].observer_text == "Seen from outside?"
    assert own.pairwise["PW16"].text == "Which one?"
    assert "B310: no text; bundled wording used" in own.issues
    assert "B310: no category; bundled wording used" in own.issues
    assert "q1_lookingFor: not in the file; bundled question used" in own.issues
    assert len(own.issues) == len(set(own.issues))


def test_unknown_ids_are_kept(tmp_path: Path) -> None:
    own = read(tmp_path, {"B999": "New?", "PW99": "Newer?", "more": [{"id": "B998", "category": "using", **BOTH}]})
    assert (own.binary["B999"].category, own.binary["B999"].observer_text) == ("unknown", "New?")
    assert (own.binary["B998"].category, own.binary["B998"].text) == ("using", BOTH["text"])
    assert own.pairwise["PW99"].text == "Newer?"
    assert {f"{name}: not in the bundled codebook; kept" for name in ("B998", "B999", "PW99")} <= set(own.issues)


@pytest.mark.parametrize(
    ("entry", "issue"),
    [
        ({"id": "X12", "text": "What?"}, "$.list[1]: the id 'X12' is none of B, PW, general, Q1-Q3; left out"),
        ({"id": 7, "text": "What?"}, "$.list[1]: the id 7 is none of B, PW, general, Q1-Q3; left out"),
        ({"id": "B2"}, "$.list[1]: nothing about B2 was understood"),
        ({"id": "B2", "text": 5}, "$.list[1]: the text 5 is not a readable text"),
        ({"id": "B2", "text": "\ud800?"}, "$.list[1]: the text '\\ud800?' is not a readable text"),
        ({"a b": {"B2": []}, "B3": None}, "$.list[1].B3: nothing about B3 was understood"),
        ({"a b": {"B2": 5}}, '$.list[1]["a b"].B2: the text 5 is not a readable text'),
        ({"id": "B1", "text": "Other?"}, "$.list[1]: a second text of B1, 'Other?'; the first counts"),
        ({"id": "Q1", "options": ["a", 5]}, "$.list[1]: the option 5 is not a readable text"),
        ({"id": "Q1", "options": [{"name": "a"}]}, "$.list[1]: the option {'name': 'a'} is not a readable text"),
        ({"id": "Q1", "options": 3}, "$.list[1]: the option 3 is not a readable text"),
    ],
)
def test_what_is_not_understood_is_reported_with_its_path(entry: object, issue: str, tmp_path: Path) -> None:
    own = read(tmp_path, {"list": [{"id": "B1", **BOTH}, entry]})
    assert issue in own.issues
    assert own.binary["B1"].text == BOTH["text"]


def test_general_is_a_question_only_among_pairwise_ones(tmp_path: Path, book: Codebook) -> None:
    document = {
        "general": "Notes for annotators",
        "parts": [{"id": "general", "title": "All", "list": [{"id": "B1", **BOTH}]}],
    }
    own = read(tmp_path, document)
    assert own.pairwise["general"] == book.pairwise["general"]
    assert own.binary["B1"].text == BOTH["text"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "Expecting value: line 1 column 1"),
        ("<html>", "b'<html>': Expecting value: line 1 column 1.*web page"),
        ('{"B1": "?"}\n{"B2": "?"}', "Extra data: line 2 column 1.*JSON Lines"),
        ("[" * 100_000, "nested too deeply"),
        ('{"a":' * 900 + "1" + "}" * 900, "nested too deeply|no questions"),
        ("9" * 10_000, "digits"),
        ("{}", r"\$ = \{\}: no questions or options"),
        ("[]", "no questions or options"),
        ("null", "no questions or options"),
        ('"B1"', "no questions or options"),
        ('[{"id": "X", "text": "?"}]', "no questions or options"),
        ('{"conversationId": "x", "q1_lookingFor": ["Other"]}', "is this a conversation file"),
        ('[{"conversationId": "x", "q1_lookingFor": ["Other"]}]', "is this a conversation file"),
    ],
)
def test_an_unusable_file_is_one_error_that_names_it(content: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(CodebookError, match=message) as caught:
        read(tmp_path, content)
    assert str(tmp_path / "annotation_codebook.json") in str(caught.value)


def test_bytes_that_are_not_text_are_an_error(tmp_path: Path) -> None:
    path = tmp_path / "codebook.json"
    path.write_bytes(b'{"B1": "\xff\xfe\xfa"}')
    with pytest.raises(ValueError, match=r"codebook\.json.*can't decode"):
        load_codebook(path)


def test_a_missing_file_is_the_system_s_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load_codebook(tmp_path / "none.json")
