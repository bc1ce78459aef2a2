"""check_metric passes a sound metric, and names the one property that a faulty metric breaks."""

import subprocess
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count, pairwise
from math import nan
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import strategies as st

from attune_metrics import Metric, MetricInputError, UndefinedMetricWarning
from attune_metrics.testing import Call, _same, calls, check_metric, perfect_calls, tags, texts

Words = list[str]


def called(value: object) -> str:
    """Return the name of a function, to tell tests apart."""
    return getattr(value, "__name__", "")


def f1(reference: Words, predicted: Words) -> float:
    """F1 of two sets of words, undefined where both are empty."""
    for words in (reference, predicted):
        if not isinstance(words, list):
            raise MetricInputError(f"{words!r} is not a list")
    truth, guess = ({word.lower() for word in words} for words in (reference, predicted))
    if not truth and not guess:
        warnings.warn("undefined: f1; there are no words", UndefinedMetricWarning, stacklevel=2)
        return nan
    return 2 * len(truth & guess) / (len(truth) + len(guess))


def places(words: Words) -> dict[str, int]:
    return {word.lower(): place for place, word in enumerate(words)}


# Each breaks one property and no other.


def beyond_its_range(reference: Words, predicted: Words) -> float:
    value = f1(reference, predicted)
    return 1.8 * value if value < 1 else value


def whole_number(reference: Words, predicted: Words) -> float:
    return f1(reference, predicted) or 0


def dividing_by_zero(reference: Words, predicted: Words) -> float:
    value = f1(reference, predicted)
    return value if predicted or not reference else 1 / len(predicted)


def silently_undefined(reference: Words, predicted: Words) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        return f1(reference, predicted)


def warning_with_a_number(reference: Words, predicted: Words) -> float:
    value = f1(reference, predicted)
    if value == 0:
        warnings.warn("undefined: is it?", UndefinedMetricWarning, stacklevel=2)
    return value


def zero_where_undefined(reference: Words, predicted: Words) -> float:
    return f1(reference, predicted) if reference or predicted else 0.0


def sorting_its_input(reference: Words, predicted: Words) -> float:
    value = f1(reference, predicted)
    predicted.sort()
    return value


def precision(reference: Words, predicted: Words) -> float:
    value = f1(reference, predicted)
    return value if not predicted else len(places(reference).keys() & places(predicted).keys()) / len(places(predicted))


def first_word_counts_twice(reference: Words, predicted: Words) -> float:
    value = f1(reference, predicted)
    same = reference[:1] and predicted[:1] and reference[0].lower() == predicted[0].lower()
    return value if same or not (reference or predicted) else value / 2


def case_matters(reference: Words, predicted: Words) -> float:
    value = f1(reference, predicted)
    truth, guess = set(reference), set(predicted)
    return 2 * len(truth & guess) / (len(truth) + len(guess)) if truth or guess else value


def never_perfect(reference: Words, predicted: Words) -> float:
    return 0.9 * f1(reference, predicted)


def lenient(reference: Words, predicted: Words) -> float:
    return f1(list(reference), list(predicted))


def raising_another_error(reference: Words, predicted: Words) -> float:
    if str(reference) == "Upset":
        raise TypeError("a list, please")
    return f1(reference, predicted)


words = st.lists(st.sampled_from(["Upset", "upset", "Proud", "Alert"]), max_size=3)
SOUND: dict[str, Any] = {
    "perfect": perfect_calls(words.filter(bool)),
    "undefined": st.just(Call([], [])),
    "malformed": [Call("Upset", []), Call([], None)],
    "order": "each",
    "ignores_case": True,
    "low": 0,
    "high": 1,
    "symmetric": True,
}
FAULTS: list[tuple[Callable[..., float], str]] = [
    (beyond_its_range, "a value is within the range"),
    (whole_number, "a value is a float"),
    (dividing_by_zero, "valid input has a value"),
    (silently_undefined, "an undefined value is nan, with a warning"),
    (warning_with_a_number, "an undefined value is nan, with a warning"),
    (zero_where_undefined, "an undefined value is nan, with a warning"),
    (sorting_its_input, "the input is not changed"),
    (precision, "reference and prediction can change places"),
    (first_word_counts_twice, "the order of items does not matter"),
    (case_matters, "letter case does not matter"),
    (never_perfect, "a perfect prediction has the best value"),
    (lenient, "malformed input raises MetricInputError"),
    (raising_another_error, "malformed input raises MetricInputError"),
]
# What to leave out of the declaration, or to declare, for a metric that breaks the property to pass.
WITHOUT: dict[str, dict[str, Any]] = {
    "a value is within the range": {"high": 2, "perfect": None},
    "reference and prediction can change places": {"symmetric": False},
    "the order of items does not matter": {"order": None},
    "letter case does not matter": {"ignores_case": False},
    "a perfect prediction has the best value": {"perfect": None},
    "malformed input raises MetricInputError": {"malformed": []},
}


@pytest.mark.slow
def test_a_sound_metric_passes() -> None:
    check_metric(f1, calls(words, words), **SOUND)
    entry = Metric(name="f1", label="F1", low=0, high=1, symmetric=True, nullable=True, function=f1)
    check_metric(entry, calls(words, words), order="each", ignores_case=True)


# Finding the smallest input takes longest where few inputs break the property.
LONG = (silently_undefined, lenient, precision, first_word_counts_twice)


@pytest.mark.parametrize(
    ("metric", "broken"),
    [pytest.param(*fault, marks=pytest.mark.slow if fault[0] in LONG else ()) for fault in FAULTS],
    ids=called,
)
def test_a_fault_is_found_and_named(metric: Callable[..., float], broken: str) -> None:
    with pytest.raises(AssertionError) as raised:
        check_metric(metric, calls(words, words), **SOUND)
    first, given, found, expected = str(raised.value).splitlines()
    assert first == f"{metric.__name__} breaks a property: {broken}"
    assert given.startswith(f"  input:    {metric.__name__}([") or broken.startswith("malformed")
    assert found.startswith("  found:    ")
    assert expected.startswith("  expected: ")
    assert not hasattr(raised.value, "__notes__")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("metric", "broken"),
    [fault for fault in FAULTS if fault[1] in WITHOUT],
    ids=called,
)
def test_a_fault_breaks_nothing_else(metric: Callable[..., float], broken: str) -> None:
    check_metric(metric, calls(words, words), **{**SOUND, **WITHOUT[broken]})


@pytest.mark.parametrize(
    ("metric", "text"),
    [
        # The smallest lists with an F1 of 2/3: 1.8 times that is 1.2.
        (
            beyond_its_range,
            "beyond_its_range breaks a property: a value is within the range\n"
            "  input:    beyond_its_range(['Upset'], ['Upset', 'Proud'])\n"
            "  found:    1.2\n"
            "  expected: 0 to 1",
        ),
        (
            zero_where_undefined,
            "zero_where_undefined breaks a property: an undefined value is nan, with a warning\n"
            "  input:    zero_where_undefined([], [])\n"
            "  found:    0.0\n"
            "  expected: nan with UndefinedMetricWarning",
        ),
        pytest.param(
            case_matters,
            "case_matters breaks a property: letter case does not matter\n"
            "  input:    case_matters(['UPSET'], ['UPSET'])\n"
            "  found:    1.0\n"
            "  expected: 0.0, the value of case_matters(['Upset'], ['upset'])",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            never_perfect,
            "never_perfect breaks a property: a perfect prediction has the best value\n"
            "  input:    never_perfect(['Upset'], ['Upset'])\n"
            "  found:    0.9\n"
            "  expected: 1",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            lenient,
            "lenient breaks a property: malformed input raises MetricInputError\n"
            "  input:    lenient('Upset', [])\n"
            "  found:    0.0\n"
            "  expected: MetricInputError",
            marks=pytest.mark.slow,
        ),
    ],
    ids=called,
)
def test_a_failure_shows_the_smallest_input(metric: Callable[..., float], text: str) -> None:
    with pytest.raises(AssertionError) as raised:
        check_metric(metric, calls(words, words), **SOUND)
    assert str(raised.value) == text


def test_what_a_metric_raised_is_the_cause_of_the_failure() -> None:
    with pytest.raises(AssertionError, match="found:    ZeroDivisionError: division by zero") as raised:
        check_metric(dividing_by_zero, calls(words, words), **SOUND)
    assert isinstance(raised.value.__cause__, ZeroDivisionError)


def test_a_metric_that_is_not_nullable_has_a_value() -> None:
    with pytest.raises(AssertionError, match="a metric that is not nullable has a value\n  input:    f1"):
        check_metric(f1, calls(words, words), low=0, high=1)
    check_metric(f1, calls(words, words), low=0, high=1, nullable=True)


@pytest.mark.parametrize("values", [[0.25, 0.75], [0.0] * 40 + [2.0]], ids=["changing", "seldom"])
def test_a_value_that_changes_from_run_to_run_is_named(values: list[float]) -> None:
    turn = count()

    def metric(_: Words) -> float:
        return values[next(turn) % len(values)]

    with pytest.raises(AssertionError, match="metric breaks a property: the same input gives the same value"):
        check_metric(metric, calls(words), low=0, high=1)


# Order, in lists that belong together.


def accuracy(reference: list[int], predicted: list[int]) -> float:
    return sum(a == b for a, b in zip(reference, predicted, strict=True)) / len(reference)


def weighted_by_place(reference: list[int], predicted: list[int]) -> float:
    weights = range(1, len(reference) + 1)
    hits = [a == b for a, b in zip(reference, predicted, strict=True)]
    return sum(w * hit for w, hit in zip(weights, hits, strict=True)) / sum(weights)


labels = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=6)
aligned = labels.map(lambda pairs: Call([a for a, _ in pairs], [b for _, b in pairs]))


@pytest.mark.slow
def test_items_that_belong_together_keep_together() -> None:
    check_metric(accuracy, aligned, order="together", low=0, high=1)
    with pytest.raises(AssertionError, match="accuracy breaks a property: the order of items"):
        check_metric(accuracy, aligned, order="each", low=0, high=1)
    with pytest.raises(AssertionError, match="weighted_by_place breaks a property: the order of items"):
        check_metric(weighted_by_place, aligned, order="together", low=0, high=1)


@pytest.mark.slow
def test_arrays_are_put_in_another_order_and_compared() -> None:
    arrays = aligned.map(lambda call: Call(*map(np.array, call.arguments)))

    def agreement(reference: Any, predicted: Any) -> float:
        return float((reference == predicted).mean())

    def scaling(reference: Any, predicted: Any) -> float:
        reference += 1
        return agreement(reference, predicted + 1)

    check_metric(agreement, arrays, order="together", symmetric=True, low=0, high=1)
    with pytest.raises(AssertionError, match="scaling breaks a property: the input is not changed"):
        check_metric(scaling, arrays, low=0, high=1)


def test_only_the_order_of_neighbours_matters() -> None:
    # A sum of steps is the same forwards and backwards; other orders give it away.
    def steps(curve: list[int]) -> float:
        return float(sum(abs(b - a) for a, b in pairwise(curve)))

    with pytest.raises(AssertionError, match="steps breaks a property: the order of items"):
        check_metric(steps, calls(st.lists(st.integers(0, 9), max_size=5)), order="each", low=0)


# What is put in another order and another letter case.


@dataclass(frozen=True)
class Form:
    answers: dict[str, str]
    notes: Words


class Pair(NamedTuple):
    word: str
    weight: int


def joined(form: Form, pair: Pair, words: tuple[str, ...]) -> float:
    return float(len("".join([*form.answers.values(), *form.notes, pair.word, *words])))


def test_forms_pairs_and_tuples_are_respelled_and_keys_are_not() -> None:
    seen = []

    def metric(form: Form, pair: Pair, words: tuple[str, ...]) -> float:
        seen.append((form, pair, words))
        return joined(form, pair, words)

    given = Call(Form({"Q": "Yes"}, ["So"]), Pair("Sad", 2), ("Of",))
    check_metric(metric, st.just(given), ignores_case=True, examples=1)
    assert (Form({"Q": "YES"}, ["SO"]), Pair("SAD", 2), ("OF",)) in seen
    assert (Form({"Q": "yes"}, ["so"]), Pair("sad", 2), ("of",)) in seen


def test_forms_are_put_in_another_order_and_tuples_are_not() -> None:
    seen = []

    def metric(form: Form, path: tuple[int, ...]) -> float:
        seen.append((tuple(form.answers), tuple(form.notes), path))
        return 0.5

    given = Call(Form({"A": "x", "B": "y"}, ["1", "2", "3"]), (1, 2, 3))
    check_metric(metric, st.just(given), order="each", examples=50)
    answers, notes, paths = (set(column) for column in zip(*seen, strict=True))
    assert answers == {("A", "B"), ("B", "A")}
    assert len(notes) > 3
    assert paths == {(1, 2, 3)}


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ([1, nan], [1, nan], True),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, False),
        ([1], (1,), False),
        ([1, 2], [1], False),
        (np.array([1.0, nan]), np.array([1.0, nan]), True),
        (np.array([1, 2]), np.array([2, 1]), False),
        (np.array(["a"]), np.array(["a"]), True),
        (Form({"a": "b"}, []), Form({"a": "b"}, []), True),
    ],
)
def test_input_is_compared_part_by_part(one: object, other: object, same: bool) -> None:
    assert _same(one, other) is same


# The call itself.


@pytest.mark.slow
def test_mistakes_of_the_caller_are_named() -> None:
    entry = Metric(name="f1", label="F1", low=0, high=1, function=f1)
    inputs = calls(words, words)
    for metric, more, message in (
        (entry, {"low": 0, "symmetric": True}, "the entry f1 declares low, symmetric"),
        (replace(entry, function=None), {}, "the entry f1 has no function to check"),
        (0.5, {}, "0.5 is neither a Metric nor a function"),
        (f1, {"perfect": perfect_calls(words)}, "f1 declares no best value"),
        (f1, {"perfect": perfect_calls(words), "low": 0, "high": 1, "higher_is_better": None}, "no best value"),
        (f1, {"hihg": 1}, "hihg"),
    ):
        with pytest.raises(TypeError, match=message):
            check_metric(metric, inputs, **more)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="unknown order 'items'; expected each, together or None"):
        check_metric(f1, inputs, order="items")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="len is symmetric; its calls need reference and prediction by position"):
        check_metric(replace(entry, name="len", function=lambda _: 0.5, symmetric=True), calls(words))


def test_other_warnings_of_a_metric_are_passed_on() -> None:
    def metric(_: Words) -> float:
        warnings.warn("old spelling", FutureWarning, stacklevel=2)
        return 0.5

    with pytest.warns(FutureWarning, match="old spelling"):
        check_metric(metric, calls(words), examples=2)


def test_the_same_seed_tries_the_same_input() -> None:
    def tried(seed: int) -> list[str]:
        seen = []

        def metric(words: Words) -> float:
            seen.append(repr(words))
            return 0.5

        check_metric(metric, calls(st.lists(st.sampled_from("abcdef"), max_size=9)), examples=10, seed=seed)
        return seen

    assert tried(0) == tried(0) != tried(1)


def test_calls_are_written_as_in_python() -> None:
    call = Call(["Upset"], None, weight=2)
    assert repr(call) == "Call(['Upset'], None, weight=2)"
    assert call.text("f1") == "f1(['Upset'], None, weight=2)"


def test_without_hypothesis_one_error_says_what_to_install() -> None:
    program = (
        "import sys; sys.modules['hypothesis'] = None\n"
        "from attune_metrics.testing import Call, answers, calls, check_metric, perfect_calls, ratings, tags, texts\n"
        "for function in (answers, calls, lambda: check_metric(len, None), lambda: perfect_calls(None),\n"
        "                 lambda: ratings([]), tags, texts):\n"
        "    try: function()\n"
        "    except ImportError as error: print(error.name, error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    message = "hypothesis hypothesis is not installed; it comes with an extra: pip install 'attune-bench[testing]'"
    assert done.stdout.splitlines() == [message] * 7


# Strategies.


@pytest.mark.slow
def test_what_the_strategies_draw() -> None:
    seen: list[Any] = []

    def metric(*drawn: Any) -> float:
        seen.append(drawn)
        return 0.5

    check_metric(metric, calls(tags(["joy", "fear"], low=0, high=2), texts(["a", "b"], max_size=2)), examples=200)
    lists, strings = ([drawn[place] for drawn in seen] for place in (0, 1))
    found = {tag for some in lists for tag in some}
    assert found == {"joy", "fear", *((word, rate) for word in ("joy", "fear") for rate in (None, 0, 1, 2))}
    names = [[tag if isinstance(tag, str) else tag[0] for tag in some] for some in lists]
    assert all(len(some) == len(set(some)) for some in names)
    assert set(strings) == {"", "a", "b", "a a", "a b", "b a", "b b"}


@pytest.mark.slow
def test_a_perfect_prediction_is_a_copy_of_the_reference() -> None:
    def metric(reference: Words, predicted: Words) -> float:
        assert reference is not predicted
        return float(reference == predicted)

    check_metric(metric, perfect_calls(words), perfect=perfect_calls(words), low=0, high=1)
