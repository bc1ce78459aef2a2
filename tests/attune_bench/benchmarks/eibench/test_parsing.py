"""The words of a model without its reflection, and what is a judgement."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attune_bench.benchmarks.eibench.parsing import read_reaction, visible


@pytest.mark.parametrize(
    ("output", "aloud"),
    [
        ("Tell me.", "Tell me."),
        ("  Tell me.\n", "Tell me."),
        ("<think>He is hurt.</think>Tell me.", "Tell me."),
        ("<THINK>\nHe is hurt.\n</Think >\n\nTell me.", "Tell me."),
        ("<thinking>He is hurt.</thinking> Tell <think>me</think>me.", "Tell me."),
        # Never closed: nothing of it is said aloud.
        ("<think>He is hurt. Tell me.", ""),
        ("Tell me. <think>He is hurt.", "Tell me."),
        ("<think>a</think>Tell me.<think>He is hurt.", "Tell me."),
        # Never opened, as where a server opens it in the prompt.
        ("He is hurt.</think>Tell me.", "Tell me."),
        ("He is hurt.</think>", ""),
        ("<think>a<think>b</think>c</think>Tell me.", "Tell me."),
        ("<think></think>", ""),
        ("", ""),
        ("I think <b>so</b>.", "I think <b>so</b>."),
        ("1 < 2, think > twice", "1 < 2, think > twice"),
    ],
)
def test_what_is_said_aloud(output: str, aloud: str) -> None:
    assert visible(output) == aloud


@given(st.lists(st.sampled_from(["<think>", "</think>", "<thinking>", "SECRET", "x", " "])))
def test_no_tag_is_ever_said_aloud(pieces: list[str]) -> None:
    assert "think" not in visible("".join(pieces))


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
        (WHOLE.replace("}", ", // done\n}\n] {"), True),  # and what is behind it is open
        (WHOLE.replace('"yes"}', '"yes'), True),
        (WHOLE.removesuffix("}"), True),
        (f"<think>Hm.</think>{WHOLE.replace('2,', '+2,')}", True),
        (WHOLE.replace("2,", "+2,").removesuffix('"}'), True),
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


@pytest.mark.parametrize("words", ["</think>", "<think>x</think>Well.", "Well. <think>Hm", "<THINKING>"])
@pytest.mark.parametrize(
    "form", ["{}", "<think>{{Hm}}</think>{}", "<THINK>{{Hm}}</THINK>{}", "```json\n{}\n```", "Here: {}."]
)
def test_a_tag_within_a_text_ends_no_reasoning(form: str, words: str) -> None:
    # As where a simulator answers in the manner in which it is shown its own earlier words.
    found = read_reaction(form.format(json.dumps({**SAID, "reply": words})), 50, 20)
    assert found is not None
    assert (found.anger_delta, found.reply) == (-3, "Well." if "Well" in words else "...")


def test_an_odd_quote_in_the_reasoning_hides_nothing() -> None:
    found = read_reaction(f'<think>He said "no {{</think>{WHOLE.replace("2,", "+2,")}', 50, 20)
    assert found is not None
    assert (found.anger_delta, found.trust_delta, found.reply) == (-3, 2, "Well.")


def test_white_space_behind_a_bracket_costs_no_quadratic_time() -> None:
    # The largest answer that is taken: at quadratic time this would be hours.
    assert visible("<" + " " * 1_000_000 + "x").endswith("x")


def test_what_was_cut_off_is_read_as_far_as_it_goes() -> None:
    # Each place at which an answer may end gives nothing, or values that it holds.
    for end in range(len(WHOLE)):
        found = read_reaction(WHOLE[:end], 50, 20)
        if found is None:
            continue
        assert found.repaired
        assert found.anger_delta in (None, 0, -3)
        assert found.trust_delta in (None, 0, 2)
        assert SAID["reply"].startswith(found.reply)  # type: ignore[attr-defined]
        assert not found.stops
    assert read_reaction('{"reflection": "1. a \\', 50, 20) is not None


def test_of_a_list_that_was_closed_nothing_is_missing_where_an_answer_was_cut_off() -> None:
    found = read_reaction('{"seen": ["a", "b"], "anger_delta": -3, "reply": "Wel', 50, 20)
    assert found is not None
    assert (found.anger_delta, found.reply) == (-3, "Wel")


@pytest.mark.parametrize(("value", "words"), [(3, "3"), (2.5, "2.5"), (True, ""), (None, ""), (["a"], "")])
def test_a_reply_that_is_no_text(value: Any, words: str) -> None:
    found = read_reaction(json.dumps({**SAID, "reply": value}), 50, 20)
    assert found is not None
    assert found.reply == words


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
