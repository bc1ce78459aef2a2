"""Testing a metric: the properties that it declares, input drawn for it, and the search for input that breaks one.

`check_metric` calls a metric with random input from a strategy of calls and looks for input that breaks what the metric
declares. The strategies `tags`, `answers`, `ratings` and `texts` draw what people and models answer; any other strategy
of hypothesis [1]_ works too. Hypothesis comes with an extra: ``pip install 'attune-bench[testing]'``.

References
----------
.. [1] MacIver, Hatfield-Dodds (2019), Hypothesis: a new approach to property-based testing, J. Open Source Softw. 4,
   1891.
"""

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import fields, is_dataclass, replace
from functools import partial
from math import isclose, isinf, isnan
from random import Random
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypedDict, Unpack

import numpy as np

from attune_metrics.metric import Metric, MetricInputError, UndefinedMetricWarning, UnknownEmotionWarning

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

_EMOTIONS = ("Afraid", "Ashamed", "Excited", "Guilty", "Inspired", "Nervous", "Proud", "Upset")
_QUESTIONS = ("B1", "B2", "B3", "B4", "B5", "B6")
_WORDS = ("i", "feel", "so", "tired", "of", "it", "Today", "sad")


def require_hypothesis() -> None:
    """Raise an ImportError that says what to install where hypothesis is missing."""
    try:
        import hypothesis  # noqa: F401
    except ModuleNotFoundError as error:
        if error.name != "hypothesis":
            raise
        message = "hypothesis is not installed; it comes with an extra: pip install 'attune-bench[testing]'"
        raise ImportError(message, name="hypothesis") from None


class Call:
    """The arguments of one call of a metric.

    Parameters
    ----------
    *arguments : object
        Positional arguments, mostly reference and prediction.
    **options : object
        Keyword arguments.

    Examples
    --------
    >>> Call(["Upset"], ["Afraid"], weight=2)
    Call(['Upset'], ['Afraid'], weight=2)
    """

    __slots__ = ("arguments", "options")

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self.arguments: tuple[Any, ...] = arguments
        self.options: dict[str, Any] = options

    def __repr__(self) -> str:
        return self.text("Call")

    def text(self, function: str) -> str:
        """Return the call as it is written in Python."""
        options = (f"{name}={value!r}" for name, value in self.options.items())
        return f"{function}({', '.join([*map(repr, self.arguments), *options])})"


def calls(*arguments: "SearchStrategy[Any]", **options: "SearchStrategy[Any]") -> "SearchStrategy[Call]":
    """Draw calls with arguments that are independent of each other.

    Parameters
    ----------
    *arguments, **options : SearchStrategy
        A strategy for each positional and keyword argument of the metric.

    Returns
    -------
    SearchStrategy of Call

    Raises
    ------
    ImportError
        If hypothesis is not installed; so does every strategy here.

    Examples
    --------
    >>> from hypothesis import strategies as st
    >>> strategy = calls(answers(), answers(), weight=st.floats(0, 1))
    """
    require_hypothesis()
    from hypothesis import strategies as st

    return st.builds(Call, *arguments, **options)


def perfect_calls(reference: "SearchStrategy[Any]", **options: "SearchStrategy[Any]") -> "SearchStrategy[Call]":
    """Draw calls with a prediction equal to the reference.

    Parameters
    ----------
    reference : SearchStrategy
        Draws the reference.
    **options : SearchStrategy
        A strategy for each keyword argument of the metric.

    Returns
    -------
    SearchStrategy of Call

    Examples
    --------
    >>> strategy = perfect_calls(tags())
    """
    require_hypothesis()
    from hypothesis import strategies as st

    return st.builds(lambda given, **more: Call(given, deepcopy(given), **more), reference, **options)


def tags(
    words: Sequence[str] = _EMOTIONS, *, low: int = 1, high: int = 7, max_size: int = 4, repeats: bool = False
) -> "SearchStrategy[list[str | tuple[str, int | None]]]":
    """Draw lists of emotion tags, each a word or a pair of a word and an intensity.

    Parameters
    ----------
    words : sequence of str
        The words to tag with.
    low, high : int
        Range of intensities; an intensity may also be None.
    max_size : int
        Most tags of a list, at least 0.
    repeats : bool
        Whether a word may be tagged more than once.

    Returns
    -------
    SearchStrategy of list

    Examples
    --------
    >>> strategy = tags(["joy", "anger", "fear"], low=0, high=10)
    """
    require_hypothesis()
    from hypothesis import strategies as st

    word = st.sampled_from(words)
    tag: SearchStrategy[str | tuple[str, int | None]] = word | st.tuples(word, st.none() | st.integers(low, high))
    unique = None if repeats else lambda tag: tag if isinstance(tag, str) else tag[0]
    return st.lists(tag, max_size=max_size, unique_by=unique)


def answers(
    questions: Sequence[str] = _QUESTIONS, *, values: Sequence[str | None] = ("yes", "no", "na", None)
) -> "SearchStrategy[dict[str, str | None]]":
    """Draw answers to some of a list of questions, by the id of the question.

    Parameters
    ----------
    questions : sequence of str
        Ids of the questions; each may be missing.
    values : sequence of str or None
        Possible answers.

    Returns
    -------
    SearchStrategy of dict

    Examples
    --------
    >>> strategy = answers(["Q1", "Q2", "Q3"], values=["agree", "disagree"])
    """
    require_hypothesis()
    from hypothesis import strategies as st

    return st.dictionaries(st.sampled_from(questions), st.sampled_from(values))


def ratings(
    items: Sequence[str], *, low: int = 1, high: int = 7, complete: bool = False
) -> "SearchStrategy[dict[str, int | None]]":
    """Draw ratings of items, by the name of the item.

    Parameters
    ----------
    items : sequence of str
        Names of the items.
    low, high : int
        Range of the ratings.
    complete : bool
        Whether every item is rated; otherwise each may be missing or None.

    Returns
    -------
    SearchStrategy of dict

    Examples
    --------
    >>> strategy = ratings(["warmth", "tact"], low=0, high=10)
    """
    require_hypothesis()
    from hypothesis import strategies as st

    rating = st.integers(low, high)
    if complete:
        return st.fixed_dictionaries(dict.fromkeys(items, rating))
    return st.dictionaries(st.sampled_from(items), st.none() | rating)


def texts(words: Sequence[str] = _WORDS, *, max_size: int = 8) -> "SearchStrategy[str]":
    """Draw texts of a few words, so that two texts share some.

    Parameters
    ----------
    words : sequence of str
        The words.
    max_size : int
        Most words of a text, at least 0.

    Returns
    -------
    SearchStrategy of str

    Examples
    --------
    >>> strategy = texts(max_size=3)
    """
    require_hypothesis()
    from hypothesis import strategies as st

    return st.lists(st.sampled_from(words), max_size=max_size).map(" ".join)


_ROUNDING = 1e-12
_REPEATABLE = "the same input gives the same value"
_ORDER = "the order of items does not matter"


class Declared(TypedDict, total=False):
    """Declaration of a function without a `Metric` entry; the defaults are as in `Metric`."""

    low: float
    high: float
    higher_is_better: bool | None
    symmetric: bool
    nullable: bool


def check_metric(
    metric: Metric | Callable[..., float],
    inputs: "SearchStrategy[Call]",
    *,
    perfect: "SearchStrategy[Call] | None" = None,
    undefined: "SearchStrategy[Call] | None" = None,
    malformed: Iterable[Call] = (),
    order: Literal["each", "together"] | None = None,
    ignores_case: bool = False,
    examples: int = 100,
    seed: int = 0,
    **declared: Unpack[Declared],
) -> None:
    """Search for input that breaks what a metric declares.

    Parameters
    ----------
    metric : Metric or callable
        An entry with a function; or a function, and what it declares as keywords.
    inputs : SearchStrategy of Call
        Valid input, as from `attune_metrics.testing.calls`.
    perfect : SearchStrategy of Call, optional
        Input with a perfect prediction: the value is `high`, or `low` where lower is better.
    undefined : SearchStrategy of Call, optional
        Valid input for which the metric is undefined: the value is nan, never 0, with `UndefinedMetricWarning`.
    malformed : iterable of Call
        Input that breaks the metric's contract: it raises `MetricInputError` and nothing else.
    order : {"each", "together"}, optional
        Declares that order does not matter: of the items of every list and mapping by itself (``each``, as for sets of
        tags), or of the places of all lists together (``together``, as for lists with one item for each unit). A tuple
        keeps its order.
    ignores_case : bool
        Declares that the letter case of texts does not matter; keys of mappings keep theirs.
    examples : int
        How many of each strategy's calls are tried.
    seed : int
        The same seed tries the same inputs.
    **declared
        ``low``, ``high``, ``higher_is_better``, ``symmetric``, ``nullable`` of a function; see `Metric`.

    Raises
    ------
    AssertionError
        With the property, the smallest input found that breaks it, the value found and the one expected.
    ImportError
        If hypothesis is not installed.
    TypeError
        If the first argument is not a metric, what an entry declares is given again, or `perfect` is given for a metric
        without a best value.
    ValueError
        If the order is unknown.

    Notes
    -----
    These properties every metric has: each value is a float within the range; nan comes with
    `UndefinedMetricWarning`, only from a metric that is ``nullable``, and the warning only with nan; the input is not
    changed; the same input gives the same value. Values are compared with a tolerance of 1e-12.

    Examples
    --------
    >>> from attune_metrics.testing import answers, calls, check_metric, perfect_calls
    >>> def agreement(reference, predicted):
    ...     both = [key for key in reference if key in predicted]
    ...     return sum(reference[key] == predicted[key] for key in both) / max(len(both), 1)
    >>> check_metric(agreement, calls(answers(), answers()), low=0, high=1, symmetric=True, order="each")
    >>> try:
    ...     check_metric(agreement, calls(answers(), answers()), perfect=perfect_calls(answers()), low=0, high=1)
    ... except AssertionError as error:
    ...     print(error)
    agreement breaks a property: a perfect prediction has the best value
      input:    agreement({}, {})
      found:    0.0
      expected: 1
    """
    require_hypothesis()
    entry, function = _declaration(metric, declared)
    if perfect is not None and (entry.higher_is_better is None or isinf(_best(entry))):
        raise TypeError(f"{entry.name} declares no best value: a perfect prediction needs a direction and a range")
    if order not in (None, "each", "together"):
        raise ValueError(f"unknown order {order!r}; expected each, together or None")
    properties = _Properties(replace(entry, nullable=entry.nullable or undefined is not None), function)
    of_inputs: list[Callable[[Call, Random], None]] = [
        properties.value_in_range,
        properties.nan_with_warning,
        properties.input_unchanged,
        properties.repeatable,
    ]
    if entry.symmetric:
        of_inputs.append(properties.symmetric)
    if order is not None:
        of_inputs.append(properties.order_free if order == "each" else properties.order_free_together)
    if ignores_case:
        of_inputs.append(properties.case_free)
    _search(entry.name, of_inputs, inputs, examples, seed)
    if perfect is not None:
        _search(entry.name, [properties.best_value], perfect, examples, seed)
    if undefined is not None:
        _search(entry.name, [properties.undefined], undefined, examples, seed)
    for call in malformed:
        properties.malformed(call)


def _declaration(metric: object, declared: Declared) -> tuple[Metric, Callable[..., float]]:
    if isinstance(metric, Metric):
        if declared:
            raise TypeError(f"the entry {metric.name} declares {', '.join(declared)}; change it by dataclasses.replace")
        if metric.function is None:
            raise TypeError(f"the entry {metric.name} has no function to check")
        return metric, metric.function
    if not callable(metric):
        raise TypeError(f"{metric!r:.60} is neither a Metric nor a function")
    name = getattr(metric, "__name__", type(metric).__name__)
    return Metric(name=name, label=name, **declared), metric


def _best(entry: Metric) -> float:
    return entry.high if entry.higher_is_better else entry.low


def _search(
    name: str,
    properties: list[Callable[[Call, Random], None]],
    strategy: "SearchStrategy[Call]",
    examples: int,
    seed: int,
) -> None:
    """Try properties on random calls; raise what one of them says of the smallest call that breaks it."""
    import hypothesis
    from hypothesis import strategies as st
    from hypothesis.errors import Flaky

    settings = hypothesis.settings(
        max_examples=examples,
        deadline=None,
        database=None,
        report_multiple_bugs=False,
        suppress_health_check=list(hypothesis.HealthCheck),
    )

    @settings
    @hypothesis.seed(seed)
    @hypothesis.given(strategy, st.randoms(use_true_random=False))
    def search(call: Call, random: Random) -> None:
        for check in properties:
            check(call, random)

    try:
        search()
    except AssertionError as error:
        # Without the notes and the frames of hypothesis, which repeat the input.
        raise AssertionError(str(error)) from error.__cause__
    except Flaky as error:
        raise AssertionError(
            f"{name} breaks a property: {_REPEATABLE}; it broke one, and not when run again"
        ) from error


class _Properties:
    """The properties of a metric: each raises an AssertionError for a call that breaks it."""

    def __init__(self, entry: Metric, function: Callable[..., float]) -> None:
        self.entry = entry
        self.function = function

    def value_in_range(self, call: Call, _: Random) -> None:
        value = self._value(call)
        low, high = self.entry.low, self.entry.high
        if (value < low and not _equal(value, low)) or (value > high and not _equal(value, high)):
            self._fail("a value is within the range", call, repr(value), f"{low:g} to {high:g}")

    def nan_with_warning(self, call: Call, _: Random) -> None:
        value, warned = self._evaluate(deepcopy(call))
        if isnan(value) and not self.entry.nullable:
            self._fail("a metric that is not nullable has a value", call, repr(value), "a number")
        if isnan(value) != warned:
            found = f"{value!r} {'with' if warned else 'without'} UndefinedMetricWarning"
            expected = "nan with UndefinedMetricWarning, or a number without"
            self._fail("an undefined value is nan, with a warning", call, found, expected)

    def input_unchanged(self, call: Call, _: Random) -> None:
        given = deepcopy(call)
        self._evaluate(given)
        if not _same((call.arguments, call.options), (given.arguments, given.options)):
            self._fail("the input is not changed", call, f"{given.text(self.entry.name)} afterwards", "the same input")

    def repeatable(self, call: Call, _: Random) -> None:
        self._compare(_REPEATABLE, call, call)

    def symmetric(self, call: Call, _: Random) -> None:
        if len(call.arguments) < 2:
            raise TypeError(f"{self.entry.name} is symmetric; its calls need reference and prediction by position")
        first, second, *others = call.arguments
        turned = Call(second, first, *others, **call.options)
        self._compare("reference and prediction can change places", call, turned)

    def order_free(self, call: Call, random: Random) -> None:
        self._compare(_ORDER, call, _replaced(call, partial(_shuffled, random=random)))

    def order_free_together(self, call: Call, random: Random) -> None:
        self._compare(_ORDER, call, _shuffled_together(call, random))

    def case_free(self, call: Call, _: Random) -> None:
        for spell in (str.upper, str.lower):
            self._compare("letter case does not matter", call, _replaced(call, partial(_respelled, spell=spell)))

    def best_value(self, call: Call, _: Random) -> None:
        value, best = self._value(call), _best(self.entry)
        if not _equal(value, best) and not (isnan(value) and self.entry.nullable):
            self._fail("a perfect prediction has the best value", call, repr(value), f"{best:g}")

    def undefined(self, call: Call, _: Random) -> None:
        value, warned = self._evaluate(deepcopy(call))
        if not (isnan(value) and warned):
            found = repr(value) if warned or not isnan(value) else "nan without UndefinedMetricWarning"
            self._fail("an undefined value is nan, with a warning", call, found, "nan with UndefinedMetricWarning")

    def malformed(self, call: Call) -> None:
        try:
            found = repr(self.function(*call.arguments, **call.options))
        except MetricInputError:
            return
        except Exception as error:
            found = f"{type(error).__name__}: {error}"
        self._fail("malformed input raises MetricInputError", call, found, "MetricInputError")

    def _value(self, call: Call) -> float:
        """Return the value of a copy of a call."""
        return self._evaluate(deepcopy(call))[0]

    def _evaluate(self, call: Call) -> tuple[float, bool]:
        """Return the value of a call, and whether a warning said that it is undefined; pass on other warnings."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UndefinedMetricWarning)
            warnings.simplefilter("ignore", UnknownEmotionWarning)  # drawn words may be any
            try:
                value: object = self.function(*call.arguments, **call.options)
            except Exception as error:
                self._fail("valid input has a value", call, f"{type(error).__name__}: {error}", "a float", error)
        for one in caught:
            if not issubclass(one.category, UndefinedMetricWarning):
                warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
        if not isinstance(value, float):
            self._fail("a value is a float", call, f"{value!r:.60} ({type(value).__name__})", "a float")
        return value, any(issubclass(one.category, UndefinedMetricWarning) for one in caught)

    def _compare(self, broken: str, call: Call, other: Call) -> None:
        expected, found = self._value(call), self._value(other)
        if not _equal(found, expected):
            self._fail(broken, other, repr(found), f"{expected!r}, the value of {call.text(self.entry.name)}")

    def _fail(self, broken: str, call: Call, found: str, expected: str, cause: Exception | None = None) -> NoReturn:
        name = self.entry.name
        raise AssertionError(
            f"{name} breaks a property: {broken}\n"
            f"  input:    {call.text(name)}\n"
            f"  found:    {found}\n"
            f"  expected: {expected}"
        ) from cause


def _equal(one: float, other: float) -> bool:
    return isclose(one, other, rel_tol=_ROUNDING, abs_tol=_ROUNDING) or (isnan(one) and isnan(other))


def _same(one: Any, other: Any) -> bool:
    """Whether two pieces of input are equal, arrays and the order of mappings included."""
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    if isinstance(one, Mapping):
        return _same(list(one.items()), list(other.items()))
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other) or (isinstance(one, float) and isnan(one) and isnan(other))


def _replaced(call: Call, change: Callable[[Any], Any]) -> Call:
    options = {name: change(value) for name, value in call.options.items()}
    return Call(*map(change, call.arguments), **options)


def _changed(record: Any, change: Callable[[Any], Any]) -> Any:
    """Return a dataclass with its fields changed."""
    return replace(
        record, **{field.name: change(getattr(record, field.name)) for field in fields(record) if field.init}
    )


def _shuffled(value: Any, random: Random) -> Any:
    """Return lists, arrays and mappings in another order, also within a dataclass."""
    if is_dataclass(value) and not isinstance(value, type):
        return _changed(value, partial(_shuffled, random=random))
    if isinstance(value, list | np.ndarray):
        return _picked(value, random.sample(range(len(value)), len(value)))
    if isinstance(value, Mapping):
        return dict(random.sample(list(value.items()), len(value)))
    return value


def _shuffled_together(call: Call, random: Random) -> Call:
    """Return a call in which all lists and arrays as long as the first are in one other order."""
    lists = [value for value in call.arguments if isinstance(value, list | np.ndarray)]
    if not lists:
        return call
    size = len(lists[0])
    places = random.sample(range(size), size)
    return _replaced(
        call,
        lambda value: _picked(value, places) if isinstance(value, list | np.ndarray) and len(value) == size else value,
    )


def _picked(values: Any, places: list[int]) -> Any:
    return [values[place] for place in places] if isinstance(values, list) else values[places]


def _respelled(value: Any, spell: Callable[[str], str]) -> Any:
    """Return texts in another letter case, also those in lists, tuples, dataclasses and as values of mappings."""
    again = partial(_respelled, spell=spell)
    if isinstance(value, str):
        return spell(value)
    if is_dataclass(value) and not isinstance(value, type):
        return _changed(value, again)
    if isinstance(value, Mapping):
        return {key: again(item) for key, item in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(again, value))
    return type(value)(map(again, value)) if isinstance(value, list | tuple) else value
