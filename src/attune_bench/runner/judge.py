"""Judges: models that rate an answer of the evaluated model by criteria."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from statistics import fmean
from typing import TYPE_CHECKING, Any, Protocol

from attune_bench.runner.calls import Call, Message, Role, Schema, integer_schema, object_schema
from attune_bench.runner.task import TRIES, Fields, Reading, call_to_make, read_answer

if TYPE_CHECKING:
    import polars as pl


class JudgeAnswer(Protocol):
    """The form of a judge's answer; `Scale` is one."""

    @property
    def schema(self) -> Schema:
        """The JSON schema of the answer."""

    def read(self, said: Fields) -> tuple[Fields, int]:
        """Return the usable values of a JSON object, and how many values were dropped."""


@dataclass(frozen=True, slots=True)
class Scale:
    """A judge's answer with a number for each criterion.

    Parameters
    ----------
    criteria : tuple of str
        The criteria, which are the keys of the JSON object.
    low, high : int
        The lowest and the highest rating.
    whole : bool
        Whether ratings are whole numbers.

    Raises
    ------
    ValueError
        There is no criterion, or `low` is not below `high`.

    Examples
    --------
    >>> scale = Scale(("warmth", "honesty"), 1, 5)
    >>> scale.form
    '{"warmth": whole number from 1 to 5, "honesty": whole number from 1 to 5}'
    >>> scale.read({"warmth": 4, "honesty": 9})
    ({'warmth': 4}, 1)
    """

    criteria: tuple[str, ...]
    low: int
    high: int
    whole: bool = True

    def __post_init__(self) -> None:
        if not self.criteria:
            raise ValueError("a scale needs a criterion")
        if not self.low < self.high:
            raise ValueError(f"the scale is {self.low} to {self.high}; expected a lowest rating below the highest")

    @property
    def schema(self) -> Schema:
        """The JSON schema of the answer."""
        number = integer_schema(self.low, self.high) if self.whole else {"type": "number"}
        return object_schema(dict.fromkeys(self.criteria, number))

    @property
    def form(self) -> str:
        """The answer in words, for the request: a judge without a schema knows the form from the request alone."""
        number = f"{'whole ' if self.whole else ''}number from {self.low} to {self.high}"
        return "{" + ", ".join(f'"{criterion}": {number}' for criterion in self.criteria) + "}"

    def read(self, said: Fields) -> tuple[Fields, int]:
        """Return the ratings on the scale by criterion, and how many other values the answer has."""
        ratings = {criterion: said[criterion] for criterion in self.criteria if self._has(said.get(criterion))}
        return ratings, len(said) - len(ratings)

    def _has(self, rating: Any) -> bool:
        """Tell whether a value is a rating on the scale."""
        if isinstance(rating, bool) or not isinstance(rating, int | float) or not isfinite(rating):
            return False
        return self.low <= rating <= self.high and (not self.whole or rating == int(rating))


@dataclass(frozen=True, slots=True)
class Judgements:
    """The answers of judges about one thing.

    Attributes
    ----------
    readings : mapping of str to Reading
        The answer of each judge, by model; without fields where it could not be read.
    calls : dict
        By the id of the call, ``outcome`` and ``dropped`` of the answer, as result files record them.

    Examples
    --------
    >>> said = {"a": Reading({"warmth": 4}, "parsed", 0), "b": Reading({"warmth": 5}, "parsed", 0)}
    >>> Judgements(said, {}).mean
    {'warmth': 4.5}
    """

    readings: Mapping[str, Reading]
    calls: dict[str, Fields]

    @property
    def by_model(self) -> dict[str, Fields]:
        """The values of each judge with a readable answer, by model."""
        return {model: dict(reading.fields) for model, reading in self.readings.items() if reading.fields}

    @property
    def mean(self) -> dict[str, float]:
        """The mean rating by criterion, over the judges that rated it; a criterion without a rating is absent."""
        ratings: dict[str, list[float]] = {}
        for fields in self.by_model.values():
            for criterion, rating in fields.items():
                ratings.setdefault(criterion, []).append(rating)
        return {criterion: fmean(each) for criterion, each in ratings.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """One or several models that judge the same thing.

    A task that judges adds the calls of `calls_to_make` to its own once the evaluated model has answered, and takes
    the values from `read`: the mean of the judges, or the values of each.

    Parameters
    ----------
    models : tuple of str
        The judges, as their provider names them.
    answer : JudgeAnswer
        The form of the answer, such as a `Scale`.
    role : str
        The role in which the models are asked, one of the roles that the settings decode.
    note : str
        Added below the request where an unreadable answer is asked for again.
    tries : int
        How often an answer is asked for at most, see `attune_bench.runner.TRIES`.

    Examples
    --------
    >>> judge = Judge(models=("a", "b"), answer=Scale(("warmth",), 1, 5))
    >>> request = [{"role": "user", "content": f"How warm is: I see? Answer in JSON: {judge.answer.form}"}]
    >>> [call.id for call in judge.calls("reply", request)]
    ['reply/judge/a', 'reply/judge/b']
    >>> answers = {"reply/judge/a": '{"warmth": 4}', "reply/judge/b": "Very."}
    >>> [call.id for call in judge.calls_to_make("reply", request, answers)]
    ['reply/judge/b#2']
    >>> judge.read("reply", answers).by_model
    {'a': {'warmth': 4}}
    """

    models: tuple[str, ...]
    answer: JudgeAnswer
    role: Role = "judge"
    note: str = ""
    tries: int = TRIES["schema"]

    def calls(self, about: str, messages: Iterable[Message], *, pending: int = 0) -> list[Call]:
        """Return the first call to each judge.

        Parameters
        ----------
        about : str
            A name of the judged thing; the ids of the calls begin with it.
        messages : iterable of Message
            The request.
        pending : int
            How many answers the request will quote that are not known yet; see `Call.pending`.
        """
        sent, schema = tuple(messages), self.answer.schema
        return [
            Call(self._id(about, model), model, self.role, sent, schema, self.role, pending=pending)
            for model in self.models
        ]

    def calls_to_make(self, about: str, messages: Iterable[Message], answers: Mapping[str, str]) -> list[Call]:
        """Return the calls that are left: to judges without an answer, and again to those that cannot be read."""
        first, read = self.calls(about, messages), self.answer.read
        calls = [call_to_make(call, answers, read, note=self.note, tries=self.tries) for call in first]
        return [call for call in calls if call is not None]

    def read(self, about: str, answers: Mapping[str, str]) -> Judgements:
        """Read the answers of all judges, given as texts by the id of their call."""
        ids = {model: self._id(about, model) for model in self.models}
        readings = {model: read_answer(answers, call_id, self.answer.read) for model, call_id in ids.items()}
        calls = {ids[model]: {"outcome": one.outcome, "dropped": one.dropped} for model, one in readings.items()}
        return Judgements(readings, calls)

    def _id(self, about: str, model: str) -> str:
        return f"{about}/{self.role}/{model}"


def judge_ratings(judged: Iterable[tuple[str, Mapping[str, Fields]]]) -> "pl.DataFrame":
    """Return what judges rated as the table that `attune_bench.stats.judges.compare_judges` takes.

    Parameters
    ----------
    judged : iterable of (str, mapping)
        Each thing that was judged, by its id, with the values of each judge: `Judgements.by_model`.

    Returns
    -------
    polars.DataFrame
        ``item``, ``rater`` (the judge), ``dimension`` (the criterion) and ``rating``; add the rows of experts to it.

    Examples
    --------
    >>> judge_ratings([("q1", {"a": {"warmth": 4}, "b": {"warmth": 5}})]).rows()
    [('q1', 'a', 'warmth', 4.0), ('q1', 'b', 'warmth', 5.0)]
    """
    import polars as pl

    rows: Sequence[tuple[Any, ...]] = [
        (item, rater, dimension, float(rating))
        for item, by_model in judged
        for rater, fields in by_model.items()
        for dimension, rating in fields.items()
    ]
    types = {"item": pl.String, "rater": pl.String, "dimension": pl.String, "rating": pl.Float64}
    return pl.DataFrame(rows, schema=types, orient="row")
