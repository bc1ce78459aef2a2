"""Text for terminals: what is neutralised, and how it is wrapped."""

import sys

import pytest
from terminals import show_on_terminal

from attune_data.text import (
    columns_of_terminal,
    cut_in_middle,
    did_you_mean,
    has_colours,
    lines,
    sanitize,
    shortened,
    width,
    wrapped,
)


def test_printable_keeps_joiners_and_nothing_else_that_is_invisible() -> None:
    family = "\U0001f468\u200d\U0001f4bb"
    assert sanitize(family) == family
    assert sanitize("a\x1b\n\u202e\u2066\ud800b") == "a\ufffd\ufffd\ufffd\ufffd\ufffdb"


def test_lines_are_those_of_the_text_with_plain_blanks() -> None:
    assert lines("a\tb\r\n\u3000c\u00a0d \n\ne\x07") == ["a   b", " c d", "", "e\ufffd"]


@pytest.mark.parametrize(
    ("text", "columns", "expected"),
    [
        ("", 8, []),
        ("one two three", 7, ["one two", "three"]),
        ("one\n\ntwo", 7, ["one", "", "two"]),
        ("  - one two\n- x", 7, ["  - one", "  two", "- x"]),
        ("ab abcdefgh i", 5, ["ab", "abcde", "fgh i"]),
        ("漢字漢字", 5, ["漢字", "漢字"]),  # two columns a character
        ("漢", 1, ["漢"]),  # no column is too narrow for one character
        ("e\u0301e\u0301e\u0301", 2, ["e\u0301e\u0301", "e\u0301"]),  # the accents take none
    ],
)
def test_wrapped(text: str, columns: int, expected: list[str]) -> None:
    assert wrapped(text, columns) == expected


def test_long_texts_take_little_time() -> None:
    # A character less, or more, at a time would take minutes.
    assert shortened("漢" * 100_000, 9) == "漢漢漢..."
    accents = "e" + "\u0301" * 20_000
    assert "".join(wrapped(accents, 80)) == accents
    assert width(shortened(accents, 9)) <= 9


@pytest.mark.parametrize(
    ("name", "known", "expected"),
    [
        ("episodes", ["scenario", "episode"], "did you mean 'episode'?"),
        # 3 letters are in both, in order, of 7 and 8: a ratio of 6 / 15, which counts from 0.6.
        ("codebook", ["episode"], "expected one of episode"),
        ("split", ["unit", "model"], "expected one of unit, model"),
        ("x", [f"n{n}" for n in range(14)], f"expected one of {', '.join(f'n{n}' for n in range(12))}, ..."),
        ("x", [], "expected one of none"),
    ],
)
def test_what_may_be_meant(name: str, known: list[str], expected: str) -> None:
    assert did_you_mean(name, known) == expected


def test_what_is_cut_off_may_hang() -> None:
    assert wrapped("one two three", 7, hang=2) == ["one two", "  three"]


def test_a_very_long_word_is_wrapped() -> None:
    cut = wrapped("x" * 200_000, 80)
    assert [width(line) for line in cut] == [80] * 2_500


@pytest.mark.parametrize(("columns", "text", "table"), [(60, 60, 60), (160, 100, 160), (5, 40, 40)])
def test_width_of_the_terminal_is_bounded(columns: int, text: int, table: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    assert (columns_of_terminal(), columns_of_terminal(None)) == (100, 100)  # of a file
    show_on_terminal(monkeypatch, columns)
    assert (columns_of_terminal(), columns_of_terminal(None)) == (text, table)


def test_colours_are_for_terminals_that_have_them(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not has_colours(sys.stdout)
    assert not has_colours(None)
    show_on_terminal(monkeypatch, 80, colours=True)
    assert has_colours(sys.stdout)
    monkeypatch.setenv("NO_COLOR", "1")
    assert not has_colours(sys.stdout)
    show_on_terminal(monkeypatch, 80)
    assert not has_colours(sys.stdout)  # TERM is dumb


@pytest.mark.parametrize("text", ["vendor/model-2026-thinking-high", "漢字" * 6, "e\u0301" * 40, "x" * 40])
@pytest.mark.parametrize("columns", [3, 8, 9, 20])
def test_a_name_is_cut_in_its_middle(text: str, columns: int) -> None:
    short = cut_in_middle(text, columns)
    left, dots, right = short.partition("...")
    assert (dots, text.startswith(left), text.endswith(right)) == ("...", True, True)
    assert columns - 3 <= width(short) <= columns
    assert abs(width(left) - width(right)) <= 2
    assert cut_in_middle(text, 100) == text
