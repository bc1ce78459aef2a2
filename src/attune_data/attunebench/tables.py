"""Tidy frames of conversations and of runs, with fixed schemas that derive from the records, built when asked for."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import chain, repeat
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

from attune_data.attunebench.codebook import asked_questions
from attune_data.attunebench.profile import (
    UNKNOWN,
    conversation_traits,
    diagnosis_groups,
    diagnosis_groups_text,
    group_columns,
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
    Question,
    at_rows,
    column_paths,
    columns_of,
    frame_of,
    nullable,
    spread,
    values_of,
)
from attune_data.query import Trait, Unit, count_people
from attune_data.record import LARGEST, Answer, Rating, Record, Winner
from attune_data.tables import Frames
from attune_data.text import plural

if TYPE_CHECKING:
    import polars as pl

_CONVERSATION = {"conversation_id": Column("The conversation.")}
_IN_TURN = {**_CONVERSATION, "turn_number": Column("The turn in it, from 1.", kind=int)}


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


def _one_answer(name: str) -> Column:
    """Return the column of one answer of a field that has them by question."""
    field = RunTurn.model_fields[name]
    text = (field.description or "").removeprefix("By question: ")
    return Column(text[:1].upper() + text[1:], source=field.alias or name, kind=Answer)


TABLES = ("conversations", "turns", "mood_tags", "binary", "pairwise", "panas", "conversation_wide")


class Tables(Frames):
    """Conversations as tidy frames, joined by ``conversation_id`` and ``turn_number``.

    Every frame has a fixed schema (`Tables.schemas`). An absent list or text is an empty one, as in the records; any
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
    def meanings(cls) -> Mapping[str, Mapping[str, Column]]:
        """Return the columns of every table, in order, with their types and what they mean.

        Examples
        --------
        >>> Tables.schemas()["mood_tags"]
        {'conversation_id': String, 'turn_number': Int64, 'emotion': String, 'intensity': Int8}
        >>> Tables.meanings()["pairwise"]["position"].description
        'Place of the comparison in its turn, from 0; the predictions of models name a comparison by it.'
        """
        wide = columns_of(ConversationWideQuestions)
        conversation = {name: column for name, column in columns_of(Conversation).items() if name not in wide}
        return {
            "conversations": {
                **conversation,
                **score_meanings(conversation),
                "diagnosis_groups": Column(
                    diagnosis_groups_text(),
                    source="computed of diagnoses with codebook/diagnoses.toml",
                    kind=tuple[str, ...],
                ),
                **group_meanings(),
                "n_turns": Column("Number of turns.", kind=int),
            },
            "turns": {**_CONVERSATION, **columns_of(Turn)},
            "mood_tags": {**_IN_TURN, **columns_of(MoodShiftTag)},
            "binary": {**_IN_TURN, **columns_of(BinaryJudgement)},
            "pairwise": {
                **_IN_TURN,
                "position": Column(
                    "Place of the comparison in its turn, from 0; the predictions of models name a comparison by it.",
                    kind=int,
                ),
                **columns_of(PairwiseComparison),
            },
            "panas": {
                **_CONVERSATION,
                "moment": Column(
                    "When the word was rated: before (`pre`) or after (`post`) the conversation.",
                    kind=Literal["pre", "post"],
                ),
                "item": Column("PANAS word, an emotion that the participant rated."),
                "rating": Column(
                    "How strongly the participant felt the emotion, 1-7.",
                    null=True,
                    low=1,
                    high=7,
                    source="prePanas, postPanas",
                    kind=Rating,
                ),
            },
            "conversation_wide": {**_CONVERSATION, **wide},
        }

    @classmethod
    def special(cls) -> Mapping[str, Trait]:
        """Return the traits that are not just a column: diagnoses by group, screens, bands, ranges of scores."""
        return conversation_traits()

    @classmethod
    def traits_of_clusters(cls) -> Sequence[str]:
        """Return the columns of ``conversations`` that are about the participant alone.

        Examples
        --------
        >>> Tables.traits_of_clusters()[:3]
        ['participant_id', 'country', 'education']
        """
        profile = "participant_profile.", "computed of "
        others = ("schema_version", "profile_type", "attitude")
        columns = cls.meanings()["conversations"].items()
        return [name for name, one in columns if one.source.startswith(profile) and name not in others]

    @classmethod
    def question_texts(cls) -> Sequence[Question]:
        """Return the yes/no questions, the questions that compare two responses, and those about the whole."""
        return asked_questions(columns_of(ConversationWideQuestions))

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
        With the schema that `Tables.schemas` gives. An integer that is too large for it is null.
    """
    columns = _BUILDERS[name](tuple(records))
    return frame_of(columns, Tables.schemas()[name])


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
        turns = [(record.conversation_id, turn) for record in records for turn in record.turns]
        items = [items_of(turn) for _, turn in turns]
        sizes = [*map(len, items)]
        rows = [*chain.from_iterable(map(repeat, range(len(items)), sizes))]
        columns: Columns = {
            "conversation_id": at_rows([key for key, _ in turns], rows, _IN_TURN["conversation_id"].dtype),
            "turn_number": at_rows([turn.turn_number for _, turn in turns], rows, _IN_TURN["turn_number"].dtype),
            **values_of(model, [*chain.from_iterable(items)]),
        }
        if model is PairwiseComparison:
            columns["position"] = [*chain.from_iterable(map(range, sizes))]
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


T = TypeVar("T")

_KEYS = ("conversation_id", "em_model", "mode", "repeat")
_TOTALS = {f"total_{sign}_affect": f"em_post_total_{sign}_affect" for sign in ("positive", "negative")}


class RunTables(Tables):
    """Runs as tidy frames, predictions beside annotations, joined by conversation, model, mode and repeat.

    The frames have the names and the rows of `Tables`, once for every run, and columns ``em_*`` for what the evaluated
    model predicted (`RunTables.schemas`). ``conversations`` has one row a run, with the traits of the conversation.

    It is a full join. ``annotated`` and ``predicted`` tell on which sides a row has anything (of the whole
    conversation: whether it is there, whether the run is complete); the columns of a side that has not are null.
    Questions match by id, comparisons by position, emotions and PANAS items without outer blanks and case. What
    repeats counts as in scoring: the last turn of a number, the last judgement of a question, the last tag of an
    emotion (the valence-arousal scores alone use all tags); the first conversation of an id, the first run of a
    conversation, model, mode and repeat. Rows are in the order of the runs, then of turn numbers, then as annotated,
    then as predicted only. A selection under a key that no comparison can have has no ``position``.

    Scores rest on the turns that are both annotated and predicted in ``turns``; in such a turn a missing answer
    counts as no, a missing selection as wrong.

    Examples
    --------
    >>> from attune_data import load, load_runs
    >>> tables = load_runs("demo").joined(load("demo"))
    >>> tables
    <RunTables of 80 runs, 24 participants>
    >>> comparisons = tables.where(em_model="synthetic/hasty", diagnosis="ADHD").pairwise
    >>> comparisons.filter(comparisons["winner"] == comparisons["em_winner"]).height / comparisons.height
    0.5854700854700855
    """

    unit: ClassVar[Unit] = replace(Tables.unit, noun="run", keys=_KEYS, duplicate_rule="duplicate-run")

    @classmethod
    def meanings(cls) -> Mapping[str, Mapping[str, Column]]:
        """Return the columns of every table, in order, with their types and what they mean.

        Examples
        --------
        >>> list(RunTables.schemas()["mood_tags"])[4:]
        ['turn_number', 'emotion', 'intensity', 'em_intensity', 'annotated', 'predicted']
        >>> RunTables.meanings()["mood_tags"]["em_intensity"].description
        'Predicted intensity, 1-7.'
        """
        run, post, truth = columns_of(Run), columns_of(PostConversation), Tables.meanings()
        keys = {name: run[name] for name in _KEYS}
        sides = {
            "annotated": Column("Whether the participant annotated this.", kind=bool),
            "predicted": Column("Whether the model predicted this.", kind=bool),
        }
        predicted: dict[str, dict[str, Column]] = {
            "conversations": {
                **run,
                "em_panas_strategy": post["panas_strategy"],
                **{column: post[name] for name, column in _TOTALS.items()},
            },
            # A run file may have means of ratings beyond the range of ratings.
            "turns": {
                _em(name): column._replace(low=1, high=7) if name.startswith("draft_") else column
                for name, column in columns_of(RunTurn).items()
                if name != "turn_number"
            },
            "mood_tags": {
                "em_intensity": Column(
                    "Predicted intensity, 1-7.", low=1, high=7, source="em_emotion_tags", kind=Rating
                )
            },
            "binary": {name: _one_answer(name) for name in ANSWER_FIELDS},
            "pairwise": {"em_winner": Column("Predicted choice.", source="em_pairwise_selections", kind=Winner)},
            "panas": {
                "em_rating": Column(
                    "Predicted rating, 1-7.", low=1, high=7, source="predicted_post_panas.items", kind=Rating
                )
            },
            "conversation_wide": {
                f"em_{name}": column._replace(description=f"Predicted. {column.description}")
                for name, column in post.items()
                if name in truth["conversation_wide"]
            },
        }
        # The keys are first, and never null.
        return {
            table: {
                **keys,
                **nullable({**columns, **predicted[table]}),
                **{name: columns[name] for name in _ALWAYS[table]},
                **keys,
                **sides,
            }
            for table, columns in truth.items()
        }


def join_runs(runs: Iterable[Run], conversations: Iterable[Conversation]) -> "Callable[[str], pl.DataFrame]":
    """Return the function from the name of a table to its frame, for `RunTables`."""
    by_key: dict[tuple[str, str, str, int], Run] = {}
    for run in runs:
        by_key.setdefault(run.key, run)
    by_id: dict[str, Conversation] = {}
    for conversation in conversations:
        by_id.setdefault(conversation.id, conversation)
    pairs = tuple((run, by_id.get(run.conversation_id)) for run in by_key.values())
    return partial(_joined, pairs)


Pairs = Sequence[tuple[Run, Conversation | None]]


def _joined(pairs: Pairs, name: str) -> "pl.DataFrame":
    return frame_of(_RUN_BUILDERS[name](pairs), RunTables.schemas()[name])


def _em(name: str) -> str:
    return name if name.startswith("em_") else f"em_{name}"


def _keyed(runs: Iterable[Run]) -> Columns:
    keys = [run.key for run in runs]
    return {name: [key[place] for key in keys] for place, name in enumerate(_KEYS)}


def _sides(annotated: Sequence[object], predicted: Sequence[object]) -> Columns:
    return {"annotated": [one is not None for one in annotated], "predicted": [one is not None for one in predicted]}


def _side(model: type[Record], records: Sequence[Record | None]) -> Columns:
    """Return the columns of a model's plain fields, null where a record is missing."""
    there = values_of(model, [record for record in records if record is not None])
    return {name: spread(values, records) for name, values in there.items()}


def _post(run: Run) -> PostConversation | None:
    return run.post_conversation if run.complete else None


def _run_conversations(pairs: Pairs) -> Columns:
    runs, truth = [run for run, _ in pairs], [conversation for _, conversation in pairs]
    posts = [_post(run) for run in runs]
    there = build_table("conversations", [conversation for conversation in truth if conversation is not None])
    post = _side(PostConversation, posts)
    columns = {name: spread(there[name].to_list(), truth) for name in there.columns}
    columns["diagnosis_groups"] = [[UNKNOWN] if groups is None else groups for groups in columns["diagnosis_groups"]]
    return {
        **columns,
        **values_of(Run, runs),
        "em_panas_strategy": post["panas_strategy"],
        **{column: post[name] for name, column in _TOTALS.items()},
        **_sides(truth, posts),
    }


def _predicted_wide(pairs: Pairs) -> Columns:
    truth = [conversation and conversation.conversation_wide_questions for _, conversation in pairs]
    posts = [_post(run) for run, _ in pairs]
    return {
        **_side(ConversationWideQuestions, truth),
        **{f"em_{name}": values for name, values in _side(PostConversation, posts).items()},
        **_keyed(run for run, _ in pairs),
        **_sides(truth, posts),
    }


def _both_turns(run: Run, conversation: Conversation | None) -> list[tuple[int, Turn | None, RunTurn | None]]:
    """Return the turns of both by number; of two with one number the last counts."""
    truth = {turn.turn_number: turn for turn in conversation.turns} if conversation else {}
    predicted = {turn.turn_number: turn for turn in run.turns}
    return [(number, truth.get(number), predicted.get(number)) for number in sorted({*truth, *predicted})]


def _predicted_turns(pairs: Pairs) -> Columns:
    rows = [(run, *both) for run, conversation in pairs for both in _both_turns(run, conversation)]
    truth, predicted = [row[2] for row in rows], [row[3] for row in rows]
    return {
        **_side(Turn, truth),
        **{_em(name): values for name, values in _side(RunTurn, predicted).items()},
        **_keyed(row[0] for row in rows),
        "turn_number": [row[1] for row in rows],
        **_sides(truth, predicted),
    }


Row = tuple[Run, int, str, Any, Any]


def _matched(
    pairs: Pairs, annotated: Callable[[Turn], Mapping[str, Any]], predicted: Callable[[RunTurn], Mapping[str, Any]]
) -> list[Row]:
    """Return run, turn number, key, annotation and prediction of the entries in the turns of either side."""
    rows: list[Row] = []
    for run, conversation in pairs:
        for number, turn, run_turn in _both_turns(run, conversation):
            truth = annotated(turn) if turn else {}
            given = predicted(run_turn) if run_turn else {}
            rows += [(run, number, key, truth.get(key), given.get(key)) for key in dict.fromkeys((*truth, *given))]
    return rows


def _in_run_turns(model: type[Record], rows: Sequence[Row], predicted: Columns) -> Columns:
    truth, guesses = [row[3] for row in rows], [row[4] for row in rows]
    return {
        **_side(model, truth),
        **_keyed(row[0] for row in rows),
        "turn_number": [row[1] for row in rows],
        **predicted,
        **_sides(truth, guesses),
    }


def _mood_tags(pairs: Pairs) -> Columns:
    rows = _matched(pairs, lambda turn: _by_word(turn.mood_shift_tags), lambda turn: _by_word(turn.em_emotion_tags))
    emotions = [(tag or guess).emotion.strip() for *_, tag, guess in rows]
    intensities = [guess and guess.intensity for *_, guess in rows]
    return _in_run_turns(MoodShiftTag, rows, {"emotion": emotions, "em_intensity": intensities})


def _by_word(tags: Iterable[MoodShiftTag]) -> dict[str, MoodShiftTag]:
    return {tag.emotion.strip().lower(): tag for tag in tags}


def _binary(pairs: Pairs) -> Columns:
    rows = _matched(pairs, lambda turn: {one.question_id: one for one in turn.annotations.binary_judgements}, _answers)
    guesses = [guess or (None,) * len(ANSWER_FIELDS) for *_, guess in rows]
    predicted = {name: [guess[place] for guess in guesses] for place, name in enumerate(ANSWER_FIELDS)}
    return _in_run_turns(BinaryJudgement, rows, {"question_id": [row[2] for row in rows], **predicted})


def _answers(turn: RunTurn) -> dict[str, tuple[str | None, ...]]:
    """Return the answers of every kind by question; a question that has none is left out."""
    given = [getattr(turn, name) for name in ANSWER_FIELDS]
    found = {question: tuple(answers.get(question) for answers in given) for question in dict.fromkeys(chain(*given))}
    return {question: answers for question, answers in found.items() if any(answers)}


def _pairwise(pairs: Pairs) -> Columns:
    rows = _matched(pairs, _comparisons, lambda turn: _given(turn.em_pairwise_selections))
    positions = [_position(row[2]) for row in rows]
    return _in_run_turns(PairwiseComparison, rows, {"position": positions, "em_winner": [row[4] for row in rows]})


def _comparisons(turn: Turn) -> dict[str, PairwiseComparison]:
    return {str(position): comparison for position, comparison in enumerate(turn.annotations.pairwise_comparisons)}


def _position(key: str) -> int | None:
    """Return the position that a key means; None for one that no comparison can have."""
    number = int(key) if key.isascii() and key.isdigit() and len(key) < len(str(LARGEST)) else None
    return number if key == str(number) else None


def _predicted_panas(pairs: Pairs) -> Columns:
    rows: list[tuple[Run, str, str, int | None, int | None]] = []
    for run, conversation in pairs:
        post = _post(run)
        given = {"pre": {}, "post": _given(_by_item(post.predicted_post_panas.items)) if post else {}}
        for moment, predicted in given.items():
            form = conversation and (conversation.pre_panas if moment == "pre" else conversation.post_panas)
            truth = _by_item(form.responses) if form else {}
            items = dict.fromkeys((*truth, *predicted))
            rows += [(run, moment, item, truth.get(item), predicted.get(item)) for item in items]
    ratings, guesses = [row[3] for row in rows], [row[4] for row in rows]
    return {
        **_keyed(row[0] for row in rows),
        "moment": [row[1] for row in rows],
        "item": [row[2] for row in rows],
        "rating": ratings,
        "em_rating": guesses,
        **_sides(ratings, guesses),
    }


def _given(values: Mapping[str, T | None]) -> dict[str, T]:
    return {key: value for key, value in values.items() if value is not None}


def _by_item(ratings: Mapping[str, int | None]) -> dict[str, int | None]:
    return {item.strip().lower(): rating for item, rating in ratings.items()}


_RUN_BUILDERS: dict[str, Callable[[Pairs], Columns]] = {
    "conversations": _run_conversations,
    "turns": _predicted_turns,
    "mood_tags": _mood_tags,
    "binary": _binary,
    "pairwise": _pairwise,
    "panas": _predicted_panas,
    "conversation_wide": _predicted_wide,
}


_EXTRA = {
    "provider": Column("Who served the model, as the run file says.", null=True, source="provider"),
    "prompt_version": Column("Version of the prompts, as the run file says.", null=True, source="prompt_version"),
}
_COUNTED = {
    "n_turns": Column("Number of turns with predictions.", kind=int),
    "complete": Column("Whether the predictions after the last turn are there.", kind=bool),
}


class RunList(Frames):
    """Runs as one tidy frame; `RunTables`, which ``runs.joined(conversations)`` gives, has their predictions.

    Examples
    --------
    >>> from attune_data import load_runs
    >>> runs = load_runs("demo")
    >>> runs.where(em_model="synthetic/hasty", complete=True)
    <Collection of 40 runs, no issues; em_model=synthetic/hasty, complete=True>
    >>> runs.tables.runs.select("conversation_id", "em_model", "mode").n_unique()
    80
    """

    names: ClassVar[tuple[str, ...]] = ("runs",)
    unit: ClassVar[Unit] = Unit("run", _KEYS, "conversation", own="conversation_id", duplicate_rule="duplicate-run")

    @cached_property
    def runs(self) -> "pl.DataFrame":
        """One row a run: conversation, model, mode, when and how it was made."""
        return self._build("runs")

    @classmethod
    def meanings(cls) -> Mapping[str, Mapping[str, Column]]:
        """Return what every column of the table means."""
        return {"runs": {**columns_of(Run), **_EXTRA, **_COUNTED}}


def run_list(runs: Sequence[Run], name: str) -> "pl.DataFrame":
    """Return the table of runs, for `RunList`."""
    extras = [run.model_extra or {} for run in runs]
    columns = {
        **values_of(Run, runs),
        **{key: [value if isinstance(value := extra.get(key), str) else None for extra in extras] for key in _EXTRA},
        "n_turns": [len(run.turns) for run in runs],
        "complete": [run.complete for run in runs],
    }
    return frame_of(columns, RunList.schemas()[name])
