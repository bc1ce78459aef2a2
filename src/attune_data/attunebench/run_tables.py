"""Frames of runs: what models predicted beside what the participants annotated."""

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property, partial
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from attune_data.attunebench.profile import UNKNOWN
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
from attune_data.attunebench.tables import Tables, build_table, run_columns, table_schemas
from attune_data.columns import Column, Columns, Schema, columns_of, dtypes_of, frame_of, spread, values_of
from attune_data.query import Unit
from attune_data.record import LARGEST, Record
from attune_data.tables import Frames

if TYPE_CHECKING:
    import polars as pl

T = TypeVar("T")

_KEYS = ("conversation_id", "em_model", "mode", "repeat")
_TOTALS = {f"total_{sign}_affect": f"em_post_total_{sign}_affect" for sign in ("positive", "negative")}


class RunTables(Tables):
    """Runs as tidy frames, predictions beside annotations, joined by conversation, model, mode and repeat.

    The frames have the names and the rows of `Tables`, once for every run, and columns ``em_*`` for what the evaluated
    model predicted (`run_table_schemas`). ``conversations`` has one row a run, its traits those of the conversation.

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
    def schemas(cls) -> Mapping[str, Schema]:
        """Return the columns of every table and their dtypes; `run_table_schemas` has an example."""
        return run_table_schemas()

    @classmethod
    def meanings(cls) -> Mapping[str, Mapping[str, Column]]:
        """Return what every column of every table means."""
        return run_columns()


def join_runs(runs: Iterable[Run], conversations: Iterable[Conversation]) -> "Callable[[str], pl.DataFrame]":
    """Return the function from the name of a table to its frame, for `RunTables`."""
    by_key: dict[tuple[str, str, str, int], Run] = {}
    for run in runs:
        by_key.setdefault(run.key, run)
    by_id: dict[str, Conversation] = {}
    for conversation in conversations:
        by_id.setdefault(conversation.id, conversation)
    pairs = tuple((run, by_id.get(run.conversation_id)) for run in by_key.values())
    return functools.partial(_joined, pairs)


@functools.cache
def run_table_schemas() -> "dict[str, dict[str, pl.DataType]]":
    """Return the columns of every table of runs and their dtypes; they derive from the record models.

    Examples
    --------
    >>> list(run_table_schemas()["mood_tags"])[4:]
    ['turn_number', 'emotion', 'intensity', 'em_intensity', 'annotated', 'predicted']
    """
    import polars as pl

    run = dtypes_of(Run)
    truth = table_schemas()
    sides = {"annotated": pl.Boolean(), "predicted": pl.Boolean()}
    post = dtypes_of(PostConversation)
    post_wide = {f"em_{name}": dtype for name, dtype in post.items() if name in truth["conversation_wide"]}
    answer = truth["binary"]["observed_behavior"]
    predicted: dict[str, dict[str, pl.DataType]] = {
        "conversations": {
            **{name: dtype for name, dtype in run.items() if name not in _KEYS},
            "em_panas_strategy": post["panas_strategy"],
            **{column: post[name] for name, column in _TOTALS.items()},
        },
        "turns": {_em(name): dtype for name, dtype in dtypes_of(RunTurn).items() if name != "turn_number"},
        "mood_tags": {"em_intensity": truth["mood_tags"]["intensity"]},
        "binary": dict.fromkeys(ANSWER_FIELDS, answer),
        "pairwise": {"em_winner": truth["pairwise"]["winner"]},
        "panas": {"em_rating": truth["panas"]["rating"]},
        "conversation_wide": post_wide,
    }
    keys = {name: run[name] for name in _KEYS}
    return {name: {**keys, **truth[name], **columns, **sides} for name, columns in predicted.items()}


Pairs = Sequence[tuple[Run, Conversation | None]]


def _joined(pairs: Pairs, name: str) -> "pl.DataFrame":
    return frame_of(_BUILDERS[name](pairs), run_table_schemas()[name])


def _em(name: str) -> str:
    return name if name.startswith("em_") else f"em_{name}"


def _keyed(runs: Iterable[Run]) -> Columns:
    keys = [run.key for run in runs]
    return {name: [key[place] for key in keys] for place, name in enumerate(_KEYS)}


def _sides(annotated: Sequence[object], predicted: Sequence[object]) -> Columns:
    return {
        "annotated": [one is not None for one in annotated],
        "predicted": [one is not None for one in predicted],
    }


def _side(model: type[Record], records: Sequence[Record | None]) -> Columns:
    """Return the columns of a model's plain fields, null where a record is missing."""
    there = values_of(model, [record for record in records if record is not None])
    return {name: spread(values, records) for name, values in there.items()}


def _post(run: Run) -> PostConversation | None:
    return run.post_conversation if run.complete else None


def _conversations(pairs: Pairs) -> Columns:
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


def _conversation_wide(pairs: Pairs) -> Columns:
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


def _turns(pairs: Pairs) -> Columns:
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
    pairs: Pairs,
    annotated: Callable[[Turn], Mapping[str, Any]],
    predicted: Callable[[RunTurn], Mapping[str, Any]],
) -> list[Row]:
    """Return run, turn number, key, annotation and prediction of what is in the turns of either side."""
    rows: list[Row] = []
    for run, conversation in pairs:
        for number, turn, run_turn in _both_turns(run, conversation):
            truth = annotated(turn) if turn else {}
            given = predicted(run_turn) if run_turn else {}
            rows += [(run, number, key, truth.get(key), given.get(key)) for key in dict.fromkeys((*truth, *given))]
    return rows


def _in_turns(model: type[Record], rows: Sequence[Row], predicted: Columns) -> Columns:
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
    return _in_turns(MoodShiftTag, rows, {"emotion": emotions, "em_intensity": intensities})


def _by_word(tags: Iterable[MoodShiftTag]) -> dict[str, MoodShiftTag]:
    return {tag.emotion.strip().lower(): tag for tag in tags}


def _binary(pairs: Pairs) -> Columns:
    rows = _matched(pairs, _judgements, _answers)
    guesses = [guess or (None,) * len(ANSWER_FIELDS) for *_, guess in rows]
    predicted = {name: [guess[place] for guess in guesses] for place, name in enumerate(ANSWER_FIELDS)}
    return _in_turns(BinaryJudgement, rows, {"question_id": [row[2] for row in rows], **predicted})


def _judgements(turn: Turn) -> dict[str, BinaryJudgement]:
    return {judgement.question_id: judgement for judgement in turn.annotations.binary_judgements}


def _answers(turn: RunTurn) -> dict[str, tuple[str | None, ...]]:
    """Return the answers of every kind by question; a question that has none is left out."""
    given = [getattr(turn, name) for name in ANSWER_FIELDS]
    found = {question: tuple(answers.get(question) for answers in given) for question in dict.fromkeys(chain(*given))}
    return {question: answers for question, answers in found.items() if any(answers)}


def _pairwise(pairs: Pairs) -> Columns:
    rows = _matched(pairs, _comparisons, lambda turn: _given(turn.em_pairwise_selections))
    positions = [_position(row[2]) for row in rows]
    return _in_turns(PairwiseComparison, rows, {"position": positions, "em_winner": [row[4] for row in rows]})


def _comparisons(turn: Turn) -> dict[str, PairwiseComparison]:
    return {str(position): comparison for position, comparison in enumerate(turn.annotations.pairwise_comparisons)}


def _position(key: str) -> int | None:
    """Return the position that a key means; None for one that no comparison can have."""
    number = int(key) if key.isascii() and key.isdigit() and len(key) < len(str(LARGEST)) else None
    return number if key == str(number) else None


def _panas(pairs: Pairs) -> Columns:
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


_BUILDERS: dict[str, Callable[[Pairs], Columns]] = {
    "conversations": _conversations,
    "turns": _turns,
    "mood_tags": _mood_tags,
    "binary": _binary,
    "pairwise": _pairwise,
    "panas": _panas,
    "conversation_wide": _conversation_wide,
}


_EXTRA = {
    "provider": Column("Who served the model, as the run file says.", null=True, source="provider"),
    "prompt_version": Column("Version of the prompts, as the run file says.", null=True, source="prompt_version"),
}
_COUNTED = {
    "n_turns": Column("Number of turns with predictions."),
    "complete": Column("Whether the predictions after the last turn are there."),
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
    unit: ClassVar[Unit] = Unit(
        "run",
        ("conversation_id", "em_model", "mode", "repeat"),
        "conversation",
        own="conversation_id",
        duplicate_rule="duplicate-run",
    )

    @cached_property
    def runs(self) -> "pl.DataFrame":
        """One row a run: conversation, model, mode, when and how it was made."""
        return self._build("runs")

    @classmethod
    def schemas(cls) -> Mapping[str, Schema]:
        """Return the columns of the table and their dtypes."""
        return _schemas()

    @classmethod
    def meanings(cls) -> Mapping[str, Mapping[str, Column]]:
        """Return what every column of the table means."""
        return {"runs": {**columns_of(Run), **_EXTRA, **_COUNTED}}


@cache
def _schemas() -> dict[str, Schema]:
    import polars as pl

    own = {"n_turns": pl.Int64(), "complete": pl.Boolean()}
    return {"runs": {**dtypes_of(Run), **dict.fromkeys(_EXTRA, pl.String()), **own}}


def run_list_builder(runs: Sequence[Run]) -> "Callable[[str], pl.DataFrame]":
    """Return the function from the name of a table to its frame, for `RunList`."""
    return partial(_frame, runs)


def _frame(runs: Sequence[Run], name: str) -> "pl.DataFrame":
    extras = [run.model_extra or {} for run in runs]
    columns = {
        **values_of(Run, runs),
        **{key: [value if isinstance(value := extra.get(key), str) else None for extra in extras] for key in _EXTRA},
        "n_turns": [len(run.turns) for run in runs],
        "complete": [run.complete for run in runs],
    }
    return frame_of(columns, RunList.schemas()[name])
