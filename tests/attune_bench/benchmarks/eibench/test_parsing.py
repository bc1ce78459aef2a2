"""The words of a model without its reflection, and what is a judgement."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attune_bench.benchmarks.eibench.parsing import read_reaction
from attune_bench.runner.episodes import read_output


@pytest.mark.parametrize(
    ("output", "words", "thinking"),
    [
        ("Tell me.", "Tell me.", ""),
        ("  Tell me.\n", "Tell me.", ""),
        ("<think>He is hurt.</think>Tell me.", "Tell me.", "He is hurt."),
        ("<THINK>\nHe is hurt.\n</Think>\n\nTell me.", "Tell me.", "He is hurt."),
        ("<thinking>a</thinking> Tell <think> b</think>me.", "Tell me.", "a\nb"),
        # As models close it by mistake.
        ("<think>He is hurt.</think >Tell me.", "Tell me.", "He is hurt."),
        ("<think>He is hurt.</thinki>Tell me.", "Tell me.", "He is hurt."),
        # As in the benchmark's code: what is not between two tags is said aloud.
        ("<think>He is hurt. Tell me.", "He is hurt. Tell me.", ""),
        ("Tell me. <think>He is hurt.", "Tell me. He is hurt.", ""),
        ("<think>a</think>Tell me.<think> He is hurt.", "Tell me. He is hurt.", "a"),
        ("He is hurt.</think>Tell me.", "He is hurt.Tell me.", ""),
        ("<think>a<think>b</think>c</think>Tell me.", "cTell me.", "a<think>b"),
        # Thinking alone is nothing; tags that are no pair, or a pair closed by mistake, are a silence.
        ("<think>He is hurt.</think>", "", "He is hurt."),
        ("<think></think>\n", "", ""),
        ("", "", ""),
        (" \n", "", ""),
        ("<think>", "...", ""),
        ("</think>", "...", ""),
        ("<think>He is hurt.</thinki>", "...", "He is hurt."),
        ("I think <b>so</b>.", "I think <b>so</b>.", ""),
        ("1 < 2, think > twice", "1 < 2, think > twice", ""),
    ],
)
def test_what_is_said_aloud(output: str, words: str, thinking: str) -> None:
    assert read_output(output) == (words, thinking)


@given(st.lists(st.sampled_from(["<think>", "</think>", "<thinking>", "</thinki>", "words", "x", " "])))
def test_no_tag_is_ever_said_aloud(pieces: list[str]) -> None:
    assert "think" not in read_output("".join(pieces)).words


@given(st.lists(st.sampled_from(["<think>", "</think>", "</think >", "a", "b", " "])))
def test_nothing_is_lost_where_tags_are_paired_or_not(pieces: list[str]) -> None:
    output = "".join(pieces)
    read = read_output(output)
    letters = re.sub(r"</?think[^>]*>|[\s.]", "", output)
    kept = re.sub(r"</?think[^>]*>|[\s.]", "", read.words + read.thinking)
    assert sorted(kept) == sorted(letters)


SAID = {"reflection": "1. Hm.", "anger_delta": -3, "trust_delta": 2, "reply": "Well.", "continue": "yes"}
WHOLE = json.dumps(SAID)


@pytest.mark.parametrize(
    ("answer", "repaired"),
    [
        (WHOLE, False),
        (f"Here it is:\n```json\n{WHOLE}\n```", True),
        (f"<think>{{He}} is... {{'a': 1}}</think>\n{WHOLE}", True),
        (WHOLE.replace("2,", "+2,"), True),
        (WHOLE.replace("-3,", '-3, // three, as in "small"\n'), True),
        (WHOLE.replace("}", ",}"), True),
        (WHOLE.replace("}", ", // done\n}"), True),
        (f"<think>Hm.</think>{WHOLE.replace('2,', '+2,')}", True),
        (f"<think>Hm.</think>{WHOLE}", True),
        (f"<think>He is hurt. {WHOLE}", True),
        (f"He is hurt.</think>{WHOLE}", True),
        (f"He is hurt.</think>```json\n{WHOLE}\n```", True),
        (WHOLE.replace("1. Hm.", "1.\nHm."), True),
    ],
)
def test_forms_of_an_answer(answer: str, repaired: bool) -> None:
    found = read_reaction(answer, 50, 20)
    assert found is not None
    assert (found.anger, found.trust, found.anger_delta, found.trust_delta) == (47, 22, -3, 2)
    assert (found.reply, found.stops, found.repaired) == ("Well.", False, repaired)


def test_repairs_leave_texts_alone() -> None:
    words = 'Look at http://x.org, +1 // that,} is "it", ok'
    answer = json.dumps({**SAID, "reply": words}).replace("2,", "+2,")
    found = read_reaction(answer, 50, 20)
    assert found is not None
    assert (found.reply, found.trust_delta) == (words, 2)


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ("<think>x</think>Well.", "Well."),
        ("Well. <think>Hm", "Well. Hm"),
        ("x</think>Well.", "xWell."),
        ("<think>x</thinki>Well.", "Well."),
        ("</think>", "..."),
        ("  ", "..."),
        ("<think>x</think>", ""),  # Thinking goes before the object is looked for, and leaves nothing.
        ("", ""),
    ],
)
@pytest.mark.parametrize("form", ["{}", "<think>{{Hm}}</think>{}", "```json\n{}\n```", "Here: {}."])
def test_thinking_within_a_reply(form: str, reply: str, words: str) -> None:
    # As where a simulator answers in the manner in which it is shown its own earlier words.
    found = read_reaction(form.format(json.dumps({**SAID, "reply": reply})), 50, 20)
    assert found is not None
    assert (found.anger_delta, found.reply) == (-3, words)


def test_an_object_within_thinking_does_not_count() -> None:
    other = json.dumps({**SAID, "anger_delta": 9})
    found = read_reaction(f"<think>{other}</think>{WHOLE}", 50, 20)
    assert found is not None
    assert found.anger_delta == -3
    assert read_reaction(f"<think>{WHOLE}</think>", 50, 20) is None


@pytest.mark.parametrize(
    ("said", "reflection"),
    [
        ({"reflection": " Hm. "}, "Hm."),
        ({"reflection": ["1. a", "2. b"]}, "['1. a', '2. b']"),
        ({"reflection": ""}, "He is late."),
        ({"reflection": None}, "He is late."),
        ({}, "He is late."),
    ],
)
def test_what_the_person_thought_is_the_reflection_else_the_thinking(said: dict[str, Any], reflection: str) -> None:
    answer = json.dumps({"anger_delta": 1, "reply": "a", **said})
    found = read_reaction(f"<think>He is late. </think>{answer}<think>b</think>", 50, 20)
    assert found is not None
    assert found.reflection == reflection


@pytest.mark.parametrize("tag", ["<think>", "<think", "</think", "<thinking></think "])
def test_many_tags_cost_no_quadratic_time(tag: str) -> None:
    # At quadratic time this would be hours.
    assert read_output(tag * 200_000 + "x").words.endswith("x")


def test_what_was_cut_off_cannot_be_read() -> None:
    assert all(read_reaction(WHOLE[:end], 50, 20) is None for end in range(len(WHOLE)))
    # A brace within a text closes nothing.
    assert read_reaction('{"reflection": "a {b} c", "anger_delta": -3, "reply": "Wel', 50, 20) is None


@pytest.mark.parametrize("value", [3, 0, 2.5, True, False, None, [], ["a"], {}, {"a": "b"}])
def test_a_reply_that_is_no_text_cannot_be_read(value: Any) -> None:
    assert read_reaction(json.dumps({**SAID, "reply": value}), 50, 20) is None


@pytest.mark.parametrize("said", [{"reply": ""}, {}])
def test_a_reply_that_is_empty_or_missing_is_no_words(said: dict[str, Any]) -> None:
    found = read_reaction(json.dumps({"anger_delta": 1, **said}), 50, 20)
    assert found is not None
    assert (found.reply, found.anger) == ("", 51)


@pytest.mark.parametrize("answer", ["", "{}", "no", "[]", "null", '"no"', "{", "```json\n{}\n```"])
def test_no_judgement(answer: str) -> None:
    assert read_reaction(answer, 50, 20) is None


@pytest.mark.parametrize(
    ("value", "change"),
    [(3, 3), ("3", 3), ("+2", 2), (-3.9, -3), (3.9, 3), (14, 10), (-99, -10), ("-12.5", -10), (True, 1), (" 4 ", 4)],
)
def test_changes(value: Any, change: int) -> None:
    found = read_reaction(json.dumps({"anger_delta": value, "reply": "a"}), 50, 20)
    assert found is not None
    assert (found.anger_delta, found.trust_delta, found.unreadable) == (change, 0, ())


@pytest.mark.parametrize("value", ["null", '"better"', "[]", "{}", '""', "NaN", "Infinity", "1e999", "1" + "0" * 400])
def test_changes_that_are_no_numbers(value: str) -> None:
    found = read_reaction(f'{{"anger_delta": {value}, "trust_delta": 1}}', 50, 20)
    assert found is not None
    assert (found.anger, found.trust, found.anger_delta, found.unreadable) == (50, 21, 0, ("anger_delta",))


@pytest.mark.parametrize(("value", "anger"), [("61.9", 61), ('"7"', 7), ("-5", 0), ("400", 100)])
def test_a_state_that_is_set(value: str, anger: int) -> None:
    found = read_reaction(f'{{"anger": {value}, "reply": "a"}}', 50, 20)
    assert found is not None
    assert (found.anger, found.trust, found.anger_delta, found.unreadable) == (anger, 20, None, ())


@pytest.mark.parametrize("value", ["1+3", "1 + 3", "1 +3", "+-3", "3 4"])
def test_a_change_that_is_a_sum_is_asked_for_again(value: str) -> None:
    assert read_reaction(WHOLE.replace("-3", value), 50, 20) is None


@pytest.mark.parametrize("value", ["null", '"calm"', "[]", "NaN", "Infinity", "-1e999", "1" + "0" * 400])
def test_a_state_that_is_no_number_stays_as_it_was(value: str) -> None:
    found = read_reaction(f'{{"anger": {value}, "trust": 30}}', 50, 20)
    assert found is not None
    assert (found.anger, found.trust, found.unreadable) == (50, 30, ("anger",))


@pytest.mark.parametrize("value", ["Infinity", "[1, NaN]", "3"])
def test_an_odd_continue_is_kept_as_text(value: str) -> None:
    found = read_reaction(f'{{"anger_delta": 1, "continue": {value}}}', 50, 20)
    assert found is not None
    assert isinstance(found.continues, str)
    assert not found.stops


def test_of_a_long_odd_continue_the_beginning_is_kept() -> None:
    found = read_reaction(json.dumps({"anger_delta": 1, "continue": ["x" * 500]}), 50, 20)
    assert found is not None
    assert found.continues == f"['{'x' * 98}"


@given(st.text(alphabet='{}[]",:+/\\ \n<>think1a'))
def test_any_text_is_read_or_not(answer: str) -> None:
    found = read_reaction(answer, 50, 20)
    assert found is None or (0 <= found.anger <= 100 and 0 <= found.trust <= 100)
