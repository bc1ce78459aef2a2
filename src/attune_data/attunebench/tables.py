"""Tidy polars frames of conversations, each with a fixed schema that derives from the records, built when asked for."""

import functools
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, ClassVar

from attune_data.attunebench.conversation import Conversation
from attune_data.attunebench.diagnoses import diagnosis_groups
from attune_data.attunebench.meanings import conversation_columns
from attune_data.attunebench.parts import (
    BinaryJudgement,
    ConversationWideQuestions,
    MoodShiftTag,
    PairwiseComparison,
    Turn,
)
from attune_data.attunebench.traits import conversation_traits, group_columns, group_dtypes
from attune_data.columns import Columns, column_paths, dtypes_of, frame_of, values_of
from attune_data.frames import Frames, Schema
from attune_data.matching import count_people
from attune_data.meanings import Column
from attune_data.record import Record
from attune_data.text import plural
from attune_data.traits import Trait, Unit

if TYPE_CHECKING:
    import polars as pl

__all__ = ["TABLES", "Tables", "build_table", "table_schemas"]

TABLES = ("conversations", "turns", "mood_tags", "binary", "pairwise", "panas", "conversation_wide")


class Tables(Frames):
    """Conversations as tidy frames, joined by ``conversation_id`` and ``turn_number``.

    Every frame has a fixed schema (`table_schemas`). An absent list or text is an empty one, as in the records; any
    other absent value is null. Rows are in the order of the records. Each frame is built once, when first asked for.

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
    unit: ClassVar[Unit] = Unit(
        "conversation",
        ("conversation_id",),
        "participant",
        own="conversation_id",
        named_by="participant_id",
        duplicate_rule="duplicate-conversation",
    )
    counted: ClassVar[Mapping[str, str]] = {
        "turns": "turn",
        "mood_tags": "mood tag",
        "binary": "yes/no judgement",
        "pairwise": "comparison",
        "panas": "PANAS rating",
    }

    @classmethod
    def schemas(cls) -> Mapping[str, Schema]:
        """Return the columns of every table and their dtypes; `table_schemas` has an example."""
        return table_schemas()

    @classmethod
    def meanings(cls) -> Mapping[str, Mapping[str, Column]]:
        """Return what every column of every table means."""
        return conversation_columns()

    @classmethod
    def special(cls) -> Mapping[str, Trait]:
        """Return the traits that are not just a column: diagnoses by group, screens, bands, ranges of scores."""
        return conversation_traits()

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
            **group_dtypes(),
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


Records = tuple[Conversation, ...]


def _conversations(records: Records) -> Columns:
    wide = column_paths(ConversationWideQuestions)
    traits = {name: values for name, values in values_of(Conversation, records).items() if name not in wide}
    return {
        **traits,
        "diagnosis_groups": [diagnosis_groups(answers) for answers in traits["diagnoses"]],
        **group_columns(traits),
        "n_turns": [len(record.turns) for record in records],
    }


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
