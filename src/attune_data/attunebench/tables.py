"""Frames of conversations: a fixed schema each, which derives from the records."""

import functools
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, ClassVar

from attune_data.attunebench.profile import (
    conversation_traits,
    diagnosis_groups,
    group_columns,
    group_dtypes,
    group_meanings,
    score_meanings,
)
from attune_data.attunebench.records import (
    ANSWER_FIELDS,
    BinaryJudgement,
    ConversationWideQuestions,
    MoodShiftTag,
    PairwiseComparison,
    PostConversation,
    RunTurn,
    Turn,
)
from attune_data.attunebench.show import Conversation, Run
from attune_data.columns import (
    Column,
    Columns,
    Schema,
    column_paths,
    columns_of,
    dtypes_of,
    frame_of,
    nullable,
    values_of,
)
from attune_data.query import Trait, Unit, count_people
from attune_data.record import Record
from attune_data.tables import Frames
from attune_data.text import plural

if TYPE_CHECKING:
    import polars as pl

_CONVERSATION = {"conversation_id": Column("The conversation.")}
_IN_TURN = {**_CONVERSATION, "turn_number": Column("The turn in it, from 1.")}


def conversation_columns() -> dict[str, dict[str, Column]]:
    """Return the columns of `Tables`, by table.

    Examples
    --------
    >>> conversation_columns()["pairwise"]["position"].description
    "Position in the turn, from 0; the key of a run's selections."
    """
    conversation = columns_of(Conversation)
    return {
        "conversations": {
            **conversation,
            **score_meanings(conversation),
            "diagnosis_groups": Column(
                "Groups of the diagnoses; `none` and `unknown` are groups too.",
                source="computed of diagnoses with codebook/diagnoses.toml",
            ),
            **group_meanings(),
            "n_turns": Column("Number of turns."),
        },
        "turns": {**_CONVERSATION, **columns_of(Turn)},
        "mood_tags": {**_IN_TURN, **columns_of(MoodShiftTag)},
        "binary": {**_IN_TURN, **columns_of(BinaryJudgement)},
        "pairwise": {
            **_IN_TURN,
            "position": Column("Position in the turn, from 0; the key of a run's selections."),
            **columns_of(PairwiseComparison),
        },
        "panas": {
            **_CONVERSATION,
            "moment": Column("Before or after the conversation."),
            "item": Column("PANAS word."),
            "rating": Column("Rating, 1-7.", null=True, low=1, high=7, source="prePanas, postPanas"),
        },
        "conversation_wide": {**_CONVERSATION, **columns_of(ConversationWideQuestions)},
    }


# The columns of annotations that have a value in rows of predictions alone, too.
_ALWAYS = {
    "conversations": ("diagnosis_groups",),
    "turns": ("turn_number",),
    "mood_tags": ("turn_number", "emotion"),
    "binary": ("turn_number", "question_id"),
    "pairwise": ("turn_number",),
    "panas": ("moment", "item"),
    "conversation_wide": (),
}


def run_columns() -> dict[str, dict[str, Column]]:
    """Return the columns of `RunTables`, by table.

    Examples
    --------
    >>> run_columns()["mood_tags"]["em_intensity"].description
    'Predicted intensity, 1-7.'
    """
    run, post = columns_of(Run), columns_of(PostConversation)
    always = {
        **{name: run[name] for name in ("conversation_id", "em_model", "mode", "repeat")},
        "annotated": Column("Whether the participant annotated this."),
        "predicted": Column("Whether the model predicted this."),
    }
    predicted: dict[str, dict[str, Column]] = {
        "conversations": {
            **run,
            "em_panas_strategy": post["panas_strategy"],
            **{f"em_post_{name}": post[name] for name in ("total_positive_affect", "total_negative_affect")},
        },
        "turns": {
            name if name.startswith("em_") else f"em_{name}": _rated(column) if name.startswith("draft_") else column
            for name, column in columns_of(RunTurn).items()
        },
        "mood_tags": {"em_intensity": Column("Predicted intensity, 1-7.", low=1, high=7, source="em_emotion_tags")},
        "binary": {name: _one_answer(name) for name in ANSWER_FIELDS},
        "pairwise": {"em_winner": Column("Predicted choice.", source="em_pairwise_selections")},
        "panas": {"em_rating": Column("Predicted rating, 1-7.", low=1, high=7, source="predicted_post_panas.items")},
        "conversation_wide": {
            f"em_{name}": column._replace(description=f"Predicted. {column.description}")
            for name, column in post.items()
        },
    }
    return {
        table: {
            **nullable({**columns, **predicted[table]}),
            **{name: columns[name] for name in _ALWAYS[table]},
            **always,
        }
        for table, columns in conversation_columns().items()
    }


def _rated(column: Column) -> Column:
    """Return the column of a mean of ratings, which a run file may have beyond the range of ratings."""
    return column._replace(low=1, high=7)


def _one_answer(name: str) -> Column:
    """Return the column of one answer of a field that has them by question."""
    field = RunTurn.model_fields[name]
    text = (field.description or "").removeprefix("By question: ")
    return Column(text[:1].upper() + text[1:], source=field.alias or name)


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
