"""Tidy polars frames of conversations, each with a fixed schema that derives from the records, built when asked for."""

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Literal,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from attune_data.attunebench.conversation import (
    BinaryJudgement,
    Conversation,
    ConversationWideQuestions,
    Metadata,
    MoodShiftTag,
    PairwiseComparison,
    Panas,
    ParticipantProfile,
    Turn,
)
from attune_data.attunebench.diagnoses import diagnosis_groups
from attune_data.attunebench.run import JudgeScores
from attune_data.eibench.scenario import Profile
from attune_data.frames import Frames
from attune_data.matching import count_people
from attune_data.record import Level, Rating, Record, Total
from attune_data.text import plural

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "TABLES",
    "LazyTables",
    "Tables",
    "build_table",
    "column_paths",
    "dtypes_of",
    "frame_of",
    "spread",
    "table_schemas",
    "values_of",
]

T = TypeVar("T")

TABLES = ("conversations", "turns", "mood_tags", "binary", "pairwise", "panas", "conversation_wide")

_RENAMED = {
    (Metadata, "model"): "om_model",
    (Metadata, "text"): "topic",
    (ParticipantProfile, "conversation_topic_attitude"): "attitude",
}


@dataclass(frozen=True)
class LazyTables:
    """The frames of `Tables` as LazyFrames, under the same names."""

    conversations: "pl.LazyFrame"
    turns: "pl.LazyFrame"
    mood_tags: "pl.LazyFrame"
    binary: "pl.LazyFrame"
    pairwise: "pl.LazyFrame"
    panas: "pl.LazyFrame"
    conversation_wide: "pl.LazyFrame"


class Tables(Frames):
    """Conversations as tidy frames, joined by ``conversation_id`` and ``turn_number``.

    Every frame has a fixed schema (`table_schemas`). An absent list or text is an empty one, as in the records; any
    other absent value is null. Rows stand in the order of the records. Each frame is built once, when first asked for.

    Parameters
    ----------
    build : callable
        From the name of a table to its frame.
    found : sequence of Issue, optional
        What loading noticed.
    filters : sequence of str, optional
        What was asked for to come here, for the repr.
    root : Tables, optional
        What these are a part of; its values are those that a query may name.

    Examples
    --------
    >>> from attune_data import load
    >>> tables = load("demo").tables
    >>> tables.conversations.select("conversation_id", "om_model", "n_turns").shape
    (40, 3)
    >>> tables.where(diagnosis="ADHD").binary.columns[:3]
    ['conversation_id', 'turn_number', 'question_id']
    """

    names: ClassVar[tuple[str, ...]] = TABLES
    _unit = "conversation"
    _keys: ClassVar[tuple[str, ...]] = ("conversation_id",)

    @cached_property
    def conversations(self) -> "pl.DataFrame":
        """One row a conversation, every trait a column: topic, participant, instruments, PANAS totals."""
        return self._build("conversations")

    @cached_property
    def turns(self) -> "pl.DataFrame":
        """One row a turn: the texts and the questions chosen for it."""
        return self._build("turns")

    @cached_property
    def mood_tags(self) -> "pl.DataFrame":
        """One row an emotion that was tagged in a turn."""
        return self._build("mood_tags")

    @cached_property
    def binary(self) -> "pl.DataFrame":
        """One row a yes/no judgement."""
        return self._build("binary")

    @cached_property
    def pairwise(self) -> "pl.DataFrame":
        """One row a comparison; `position` counts from 0 in its turn and is the key of a run's selections."""
        return self._build("pairwise")

    @cached_property
    def panas(self) -> "pl.DataFrame":
        """One row a PANAS item, `moment` being pre or post."""
        return self._build("panas")

    @cached_property
    def conversation_wide(self) -> "pl.DataFrame":
        """One row a conversation: branches, Q1 to Q3 and the follow-up."""
        return self._build("conversation_wide")

    def lazy(self) -> LazyTables:
        """Return every frame as a LazyFrame."""
        return LazyTables(**{name: getattr(self, name).lazy() for name in TABLES})

    def _summary(self) -> str:
        people = count_people(self.conversations["participant_id"].unique())
        return f"{super()._summary()}, {plural(people, 'participant')}"


@functools.cache
def table_schemas() -> "dict[str, dict[str, pl.DataType]]":
    """Return the columns of every table and their dtypes; they derive from the record models.

    Examples
    --------
    >>> table_schemas()["mood_tags"]
    {'conversation_id': String, 'turn_number': Int64, 'emotion': String, 'intensity': Int8}
    """
    import polars as pl

    key = {"conversation_id": pl.String()}
    in_turn = {**key, "turn_number": pl.Int64()}
    wide = dtypes_of(ConversationWideQuestions)
    return {
        "conversations": {
            **{name: dtype for name, dtype in dtypes_of(Conversation).items() if name not in wide},
            "diagnosis_groups": pl.List(pl.String()),
            "n_turns": pl.Int64(),
        },
        "turns": {**key, **dtypes_of(Turn)},
        "mood_tags": {**in_turn, **dtypes_of(MoodShiftTag)},
        "binary": {**in_turn, **dtypes_of(BinaryJudgement)},
        "pairwise": {**in_turn, "position": pl.Int64(), **dtypes_of(PairwiseComparison)},
        "panas": {**key, "moment": pl.Enum(["pre", "post"]), "item": pl.String(), "rating": wide["perceiving"]},
        "conversation_wide": {**key, **wide},
    }


def build_table(name: str, records: Iterable[Conversation]) -> "pl.DataFrame":
    """Return one table of some records.

    Parameters
    ----------
    name : str
        One of `TABLES`.
    records : iterable of Conversation
        In the order of the rows.

    Returns
    -------
    polars.DataFrame
        With the schema that `table_schemas` gives. An integer that is too large for it is null.
    """
    columns = _BUILDERS[name](tuple(records))
    return frame_of(columns, table_schemas()[name])


def frame_of(columns: Mapping[str, Sequence[Any]], schema: "Mapping[str, pl.DataType]") -> "pl.DataFrame":
    """Return columns as a frame with a schema; what its dtypes cannot hold is null."""
    import polars as pl

    return pl.DataFrame([_series(name, columns[name], dtype) for name, dtype in schema.items()])


def _series(name: str, values: Sequence[Any], dtype: "pl.DataType") -> "pl.Series":
    import polars as pl

    if not isinstance(dtype, pl.List) or None in values:
        return pl.Series(name, values, dtype, strict=False)
    # Polars converts one long list much faster than many short ones; a null holds the place of an empty one.
    rows = [row for row, items in enumerate(values) for _ in items or (None,)]
    flat = pl.Series(name, [item for items in values for item in items or (None,)], dtype.inner)
    return (
        pl.DataFrame([pl.Series("row", rows), flat])
        .group_by("row", maintain_order=True)
        .agg(pl.col(name).drop_nulls())[name]
    )


Columns = dict[str, Sequence[Any]]
Records = tuple[Conversation, ...]


def _conversations(records: Records) -> Columns:
    wide = _columns(ConversationWideQuestions)
    traits = {name: values for name, values in values_of(Conversation, records).items() if name not in wide}
    groups = [diagnosis_groups(answers) for answers in traits["diagnoses"]]
    return {**traits, "diagnosis_groups": groups, "n_turns": [len(record.turns) for record in records]}


def _turns(records: Records) -> Columns:
    keys = [record.conversation_id for record in records for _ in record.turns]
    return {"conversation_id": keys, **values_of(Turn, [turn for record in records for turn in record.turns])}


def _in_turns(model: type[Record], path: str) -> Callable[[Records], Columns]:
    items_of = attrgetter(path)

    def build(records: Records) -> Columns:
        turns = [
            (record.conversation_id, turn.turn_number, items_of(turn)) for record in records for turn in record.turns
        ]
        columns: Columns = {
            "conversation_id": [key for key, _, items in turns for _ in items],
            "turn_number": [number for _, number, items in turns for _ in items],
            **values_of(model, [item for _, _, items in turns for item in items]),
        }
        if model is PairwiseComparison:
            columns["position"] = [position for _, _, items in turns for position in range(len(items))]
        return columns

    return build


def _panas(records: Records) -> Columns:
    forms = [
        (record.conversation_id, moment, panas.responses)
        for record in records
        for moment, panas in (("pre", record.pre_panas), ("post", record.post_panas))
    ]
    return {
        "conversation_id": [key for key, _, responses in forms for _ in responses],
        "moment": [moment for _, moment, responses in forms for _ in responses],
        "item": [item for _, _, responses in forms for item in responses],
        "rating": [rating for _, _, responses in forms for rating in responses.values()],
    }


def _conversation_wide(records: Records) -> Columns:
    answers = [record.conversation_wide_questions for record in records]
    keys = [record.conversation_id for record in records]
    return {"conversation_id": keys, **values_of(ConversationWideQuestions, answers)}


_BUILDERS: dict[str, Callable[[Records], Columns]] = {
    "conversations": _conversations,
    "turns": _turns,
    "mood_tags": _in_turns(MoodShiftTag, "mood_shift_tags"),
    "binary": _in_turns(BinaryJudgement, "annotations.binary_judgements"),
    "pairwise": _in_turns(PairwiseComparison, "annotations.pairwise_comparisons"),
    "panas": _panas,
    "conversation_wide": _conversation_wide,
}


def dtypes_of(model: type[Record]) -> "dict[str, pl.DataType]":
    """Return the columns of a record's plain fields and their dtypes."""
    return {name: dtype for name, (_, dtype) in _columns(model).items()}


def values_of(model: type[Record], records: Sequence[Record]) -> Columns:
    """Return the columns of the plain fields of some records of one model."""
    names, paths = zip(*((name, path) for name, (path, _) in _columns(model).items()), strict=True)
    # One walk over the records, each of which is then in the processor's cache, is faster than one a column.
    rows = map(attrgetter(*paths), records)
    return dict(zip(names, zip(*rows, strict=True), strict=True)) if records else dict.fromkeys(names, ())


def spread(values: Iterable[T], places: Iterable[object]) -> list[T | None]:
    """Return the values, in order, at the places that are not None."""
    following = iter(values)
    return [None if place is None else next(following) for place in places]


@functools.cache
def _columns(model: type[Record]) -> "dict[str, tuple[str, pl.DataType]]":
    """Return path and dtype of every plain field by column name, those of nested records included.

    What is a list of records or goes by key has a table of its own.
    """
    found: dict[str, tuple[str, pl.DataType]] = {}
    hints = get_type_hints(model, include_extras=True)
    for field, info in model.model_fields.items():
        # Pydantic takes the bounds off a number that may not be null.
        kind = hints[field] if info.annotation is int else info.annotation
        if isinstance(kind, type) and issubclass(kind, Record):
            prefix = _prefix(field, kind)
            found |= {prefix + name: (f"{field}.{path}", dtype) for name, (path, dtype) in _columns(kind).items()}
        elif (dtype := _dtype(kind)) is not None:
            found[_RENAMED.get((model, field), field)] = (field, dtype)
    return found


def _prefix(field: str, kind: type[Record]) -> str:
    """Return what tells apart the columns of records of one model that are there twice."""
    if kind is Panas:
        return field.removesuffix("panas")
    if kind is Profile:
        return field.removesuffix("profile")
    return "draft_" if kind is JudgeScores else ""


def _dtype(annotation: Any) -> "pl.DataType | None":
    """Return the dtype of a field's annotation; None for a list of records and for what goes by key."""
    import polars as pl

    union = get_origin(annotation) in (Union, UnionType)
    kinds = [kind for kind in (get_args(annotation) if union else (annotation,)) if kind is not NoneType]
    if len(kinds) > 1:  # an integer or a float
        return pl.Float64()
    kind = get_args(kinds[0])[0] if get_origin(kinds[0]) is Annotated else kinds[0]
    if kind is int:
        return pl.Int8() if kinds[0] in (Level, Rating, Total) else pl.Int64()
    if get_origin(kind) is Literal:
        return pl.Enum(get_args(kind))
    if get_origin(kind) is tuple:
        return pl.List(pl.String()) if get_args(kind)[0] is str else None
    return pl.String() if kind is str else None


def column_paths(model: type[Record]) -> dict[str, str]:
    """Return the path in a record of every column that its table takes from it, by the column's name."""
    return {name: path for name, (path, _) in _columns(model).items()}
