"""Random input for metrics: whole calls, and what people and models answer."""

from collections.abc import Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

__all__ = ["Call", "answers", "calls", "perfect_calls", "ratings", "require_hypothesis", "tags", "texts"]

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
    """Draw calls whose arguments are independent of each other.

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
    """Draw calls whose prediction equals the reference.

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
