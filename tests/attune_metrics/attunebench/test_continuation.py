"""Continuations: where messages are cut, common runs by hand and against difflib, what counts as reproduced."""

from difflib import SequenceMatcher
from random import Random

import pytest

from attune_metrics.attunebench.continuation import (
    MIN_WORDS,
    common_run,
    halves,
    is_long_run,
    is_reproduced,
    run_share,
    words,
)
from attune_metrics.metric import MetricInputError


def test_words_are_letters_and_digits_in_lower_case() -> None:
    assert words("It\u2019s 7 a.m. \u2014 WHY?!") == ("it's", "7", "a", "m", "why")
    assert words("Gr\u00fc\u00dfe, \u043c\u0438\u0440") == ("gr\u00fc\u00dfe", "\u043c\u0438\u0440")
    assert words("  ...  ") == ()


@pytest.mark.parametrize("count", [MIN_WORDS, MIN_WORDS + 1, 40])
def test_the_first_half_is_the_longer_one_and_nothing_is_lost(count: int) -> None:
    text = ", ".join(f"w{place}" for place in range(count))
    cut = halves(text)
    assert cut is not None
    assert (len(words(cut.begin)), len(words(cut.end))) == ((count + 1) // 2, count // 2)
    assert f"{cut.begin} {cut.end}" == text
    assert halves(" ".join(["w"] * (MIN_WORDS - 1))) is None
    assert halves("") is None


def test_common_runs_are_the_longest_blocks_of_difflib() -> None:
    random = Random(1)
    for _ in range(200):
        one, other = (" ".join(random.choices("abcde", k=random.randint(0, 15))) for _ in range(2))
        block = SequenceMatcher(None, one.split(), other.split(), autojunk=False).find_longest_match()
        assert common_run(one, other) == common_run(other, one) == block.size


def test_shares_by_hand() -> None:
    # "c d e" is 3 of 6 words; a continuation may say the first half again and go on.
    assert run_share("a b c d e f", "x c d e y") == 0.5
    assert run_share("a b c d e f", "and so: A, b, c. D e f! and on") == 1
    assert run_share("a b", "c") == 0
    assert run_share("a b", "") == 0


def test_half_of_the_words_and_five_are_reproduced() -> None:
    ten = "a b c d e f g h i j"
    assert is_reproduced(ten, "a b c d e")
    assert not is_reproduced(f"{ten} k", "a b c d e")
    assert not is_reproduced("a b c d e f", "a b c d x f")
    assert [is_long_run(run, 20) for run in (9, 10)] == [False, True]


def test_bad_input_is_refused() -> None:
    with pytest.raises(MetricInputError, match=r"3 is no text; expected a message"):
        halves(3)  # type: ignore[arg-type]
    with pytest.raises(MetricInputError, match="the reference has no word"):
        run_share("...", "a")
