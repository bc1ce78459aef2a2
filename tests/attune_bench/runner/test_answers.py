"""Which object of an answer counts: there is one, or there is none; nothing is raised, and no text takes long."""

import json

import pytest
from slow_cases import slow_after

from attune_bench.benchmarks.attunebench.parsing import Tally, read_draft
from attune_bench.runner import find_object


@pytest.mark.parametrize(
    ("answer", "repaired"),
    [
        ('{"response": "a"}', False),
        (' \n{"response": "a"}\n\n', False),
        ('\ufeff{"response": "a"}', False),
        ('```json\n{"response": "a"}\n```', True),
        ('```\n{"response": "a"}```', True),
        ('Sure!\n\n```JSON\n{"response": "a"}\n```\nDoes {this} help?', True),
        ('Here: {"response": "a"}. Done', True),
        ('```json\n{"response": "a"}', True),
        ('<think>Maybe {"response": "b"} or {c}?</think>\n{"response": "a"}', True),
        ('<think>\n```json\n{"response": "b"}\n```\n</think>\n```json\n{"response": "a"}\n```', True),
        ('Maybe {"response": "b"} or {c}?\n</think>\n{"response": "a"}', True),
        ('Of {these}: <think>\n```json\n{"response": "b"}\n```\nNo.</think>\n{"response": "a"}', True),
        ('```json\n{"response": "a"}\n```\nAgain: {"response": "a"}', True),
        ('```python\n{}\n```\n```json\n{"response": "a"}\n```', True),
        ('```python\nprint({})\n```\n```json\n{"response": "a"}\n```', True),
        ('{"response": "b", "response": "a"}', False),
    ],
)
def test_the_object_is_found(answer: str, repaired: bool) -> None:
    assert find_object(answer) == ({"response": "a"}, repaired)


def test_line_breaks_within_strings() -> None:
    assert find_object('{"response": "one\n\ttwo\r\nthree"}') == ({"response": "one\n\ttwo\r\nthree"}, True)
    assert find_object('So: {"response": "one\ntwo"} !') == ({"response": "one\ntwo"}, True)


def test_a_draft_may_speak_of_markers() -> None:
    answer = json.dumps({"response": "<think>hm</think> {a} {b}"})
    assert find_object(answer) == ({"response": "<think>hm</think> {a} {b}"}, False)
    assert find_object("Reply: " + answer) == ({"response": "<think>hm</think> {a} {b}"}, True)


def test_a_draft_may_hold_a_code_block() -> None:
    text = "Try this:\n```\nbreathe()\n```\nand {rest}."
    assert find_object(json.dumps({"response": text})) == ({"response": text}, False)
    assert find_object("Reply: " + json.dumps({"response": text})) == ({"response": text}, True)
    assert find_object('{"response": "' + text + '"}') == ({"response": text}, True)


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "   ",
        "I hear you.",
        "null",
        "true",
        "12",
        "[1, 2]",
        '["{"]',
        "{",
        "}{",
        '{"response": "cut off',
        '{"response": "a" "b"}',
        "{'response': 'a'}",
        '{"a": ' * 100_000,
        "[" * 100_000 + "]" * 100_000,
        '{"a": ' * 100_000 + "1" + "}" * 100_000,
        '{"response": "a"} {"response": "b"}',
        '```json\n{"response": "b"}\n```\nNo, rather:\n```json\n{"response": "a"}\n```',
        '```json\n{"response": "b"}\n```\nor {"response": "a"}',
        '<think>Maybe {"response": "b"}?</think>\nI would rather not.',
        '<think>Maybe {"response": "b"}? And what',
        'Maybe {"response": "b"}?</think>\nI would rather not.',
        'Hm.\n<think>\n```json\n{"response": "b"}\n```',
        'Of {these}: <think>\n```json\n{"response": "b"}\n```\nNo.</think>\nI would rather not.',
        "<html><body>502 Bad Gateway</body></html>",
    ],
)
def test_no_object_is_none(answer: str) -> None:
    assert find_object(answer) is None


def test_lone_surrogates_are_replaced() -> None:
    found = find_object('{"response": "a\\ud83d", "\\udc00": 1, "good": "\\ud83d\\ude00"}')
    assert found == ({"response": "a\ufffd", "\ufffd": 1, "good": "\U0001f600"}, False)


@pytest.mark.parametrize("unit", slow_after(3, ["{", "}", "```", "```\n", '"', "\\", "</think>", '{"a":', "{}", "x"]))
def test_long_answers_end(unit: str) -> None:
    assert find_object(unit * (1_000_000 // len(unit))) is None


def test_a_long_draft_is_kept_whole() -> None:
    text = "a\n" * 2_500_000
    found = find_object(f'Reply: {{"drafted_response": "{text}"}}')
    assert found is not None
    assert read_draft(found.value, Tally()) == {"em_drafted_response": text}
