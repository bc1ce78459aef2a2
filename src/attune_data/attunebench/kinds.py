"""The kinds of record of AttuneBench: annotated conversations, and what models predicted of them."""

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import cached_property, partial
from typing import Any

from attune_data.attunebench.codebook import Codebook, Subsets
from attune_data.attunebench.profile import Diagnoses, Instruments
from attune_data.attunebench.records import ANSWER_FIELDS, FourBranchScores
from attune_data.attunebench.rules import check_conversation, check_run
from attune_data.attunebench.show import Conversation, Run, conversation_beside, conversation_parts, run_parts, topic
from attune_data.attunebench.spellings import conversation_is_old, fix_conversation, fix_run, run_is_old
from attune_data.attunebench.tables import RunList, RunTables, Tables, build_table, join_runs, run_list
from attune_data.collection import NOTED, Collection, Duplicate, ForeignFile, Kind, Messages
from attune_data.description import description, grouped
from attune_data.query import count_people

_TRAITS = ("category", "diagnoses", "diagnosis_group", "om_model", "attitude")


def _in_turns(count: Callable[[Any], int]) -> Callable[[Any], int]:
    return lambda record: sum(map(count, record.turns))


def _rated(ratings: Mapping[str, int | None]) -> int:
    return sum(rating is not None for rating in ratings.values())


def _branches(scores: FourBranchScores) -> int:
    return sum(getattr(scores, name) is not None for name in FourBranchScores.model_fields)


def _wide_answers(conversation: Conversation) -> int:
    wide = conversation.conversation_wide_questions
    return sum(map(bool, (wide.q1_looking_for, wide.q2_emotion_clarity, wide.q3_model_fit)))


_PARTS: Mapping[str, Callable[[Conversation], int]] = {
    "turns": lambda conversation: len(conversation.turns),
    "mood tags": _in_turns(lambda turn: len(turn.mood_shift_tags)),
    "yes/no judgements": _in_turns(lambda turn: len(turn.annotations.binary_judgements)),
    "pairwise comparisons": _in_turns(lambda turn: len(turn.annotations.pairwise_comparisons)),
    "alternate responses": _in_turns(lambda turn: bool(turn.annotations.alternate_responses.llm_improved)),
    "human responses": _in_turns(lambda turn: bool(turn.annotations.alternate_responses.human_edited)),
    "PANAS items before": lambda conversation: _rated(conversation.pre_panas.responses),
    "PANAS items after": lambda conversation: _rated(conversation.post_panas.responses),
    "Q1 to Q3 answers": _wide_answers,
    "ratings of the model": lambda conversation: _branches(conversation.conversation_wide_questions.four_branch_scores),
}


def _participants(conversations: Iterable[Conversation]) -> int:
    return count_people(conversation.participant_id for conversation in conversations)


def describe_conversations(conversations: Collection[Conversation]) -> dict[str, Any]:
    """Count conversations by topic, diagnosis, original model and attitude, and their turns and annotations.

    A conversation counts in each diagnosis of its participant; ``without_participant`` counts those that name none.

    Examples
    --------
    >>> from attune_data import load
    >>> describe_conversations(load("demo"))["counts"]["mood tags"]["conversations"]
    40
    """
    counts = description(
        conversations,
        "conversations",
        of={"participants": _participants},
        traits={trait: conversations.stratify(trait) for trait in _TRAITS},
        counts=_PARTS,
    )
    without = sum(_participants([conversation]) == 0 for conversation in conversations)
    return {**counts, "without_participant": without}


_PREDICTED: Mapping[str, Callable[[Run], int]] = {
    "turns": lambda run: len(run.turns),
    "drafted responses": _in_turns(lambda turn: bool(turn.em_drafted_response.strip())),
    "emotion tags": _in_turns(lambda turn: len(turn.em_emotion_tags)),
    "binary answers": _in_turns(
        lambda turn: sum(answer is not None for name in ANSWER_FIELDS for answer in getattr(turn, name).values())
    ),
    "pairwise selections": _in_turns(
        lambda turn: sum(choice is not None for choice in turn.em_pairwise_selections.values())
    ),
    "PANAS items": lambda run: _rated(run.post_conversation.predicted_post_panas.items) if run.post_conversation else 0,
}


def describe_runs(runs: Collection[Run]) -> dict[str, Any]:
    """Count runs by evaluated model and mode, and their turns and predictions; ``incomplete`` runs stopped early.

    Examples
    --------
    >>> from attune_data import load_runs
    >>> describe_runs(load_runs("demo"))["traits"]["em_model"]["synthetic/hasty"]
    {'runs': 40, 'conversations': 40}
    """
    counts = description(
        runs,
        "runs",
        of={"conversations": lambda part: len({run.conversation_id for run in part})},
        traits={"em_model": grouped(runs, lambda run: run.em_model), "mode": grouped(runs, lambda run: run.mode)},
        counts=_PREDICTED,
    )
    return {**counts, "incomplete": sum(not run.complete for run in runs)}


class Conversations(Collection[Conversation]):
    """Annotated conversations.

    Examples
    --------
    >>> from attune_data import load
    >>> load("demo").where(diagnosis="ADHD").tables
    <Tables of 8 conversations, 6 participants; diagnosis=ADHD>
    """

    @property
    def kind(self) -> "Kind[Conversation, Conversations]":
        """What the records are."""
        return CONVERSATION

    @cached_property
    def tables(self) -> Tables:
        """The conversations as tidy frames, each built once, when first asked for."""
        return self._made(Tables)


class Runs(Collection[Run]):
    """Run files: what models predicted of conversations."""

    @property
    def kind(self) -> "Kind[Run, Runs]":
        """What the records are."""
        return RUN

    @cached_property
    def tables(self) -> RunList:
        """What was run, and how, as a tidy frame; ``joined`` gives what was predicted."""
        return self._made(RunList)

    def joined(self, conversations: Iterable[Conversation]) -> RunTables:
        """Return the runs beside the conversations that they are of, as tidy frames.

        Parameters
        ----------
        conversations : iterable of Conversation
            What `load` gives. A run without its conversation keeps its rows.

        Raises
        ------
        TypeError
            Where these are not conversations.

        Examples
        --------
        >>> from attune_data import load, load_runs
        >>> tables = load_runs("demo").joined(load("demo"))
        >>> tables.where(em_model="synthetic/hasty", category="Health")
        <RunTables of 6 runs, 6 participants; em_model=synthetic/hasty, category=Health>
        """
        truth, found = self._beside(conversations, Conversation, "conversations")
        return RunTables(join_runs(self, truth), found, self._filters)


_CONVERSATION_ONLY = frozenset(("participant_profile", "prePanas", "postPanas", "conversationWideQuestions"))


def _is_foreign(document: Mapping[str, Any]) -> bool:
    """Tell whether turns are of another benchmark, which names a scenario and no conversation."""
    return "scenario_id" in document and not document.keys() & {"conversationId", "conversation_id"}


def _later_run(first: Run, second: Run) -> Duplicate:
    """Return that the later of two runs counts, then the one that was read later."""
    before, after = _instant(first.run_timestamp), _instant(second.run_timestamp)
    if before == after:
        return Duplicate(second_counts=True, why=": it was read later, the timestamps do not tell")
    if before is None or after is None:
        return Duplicate(second_counts=before is None, why=": it alone has a timestamp that can be read")
    return Duplicate(second_counts=after > before, why=": its timestamp is later")


def _instant(timestamp: str | None) -> datetime | None:
    """Return when a run ended, or None; a number is seconds since 1970, a time without a zone is UTC."""
    try:
        instant = datetime.fromisoformat(timestamp or "")
    except ValueError:
        try:
            return datetime.fromtimestamp(float(timestamp or ""), UTC)
        except (ValueError, OverflowError, OSError):
            return None
    return instant if instant.tzinfo else instant.replace(tzinfo=UTC)


def _messages(conversation: Conversation) -> Messages:
    """Return what the participant and the original model said."""
    said: Messages = []
    for turn in conversation.turns:
        said += [("user", turn.user_message), ("assistant", turn.llm_response)]
    return said


_REQUEST = (
    "The authors of the benchmark ask everybody not to train models on its data, and not to show a model the "
    "annotations while it is evaluated. This is a request, not a condition of the licence. The data are for "
    "research evaluation only: not a clinical tool, and no statement about a person."
)


CONVERSATION: Kind[Conversation, Conversations] = Kind(
    noun="conversation",
    plural="conversations",
    model=Conversation,
    collection=Conversations,
    loader="load",
    keys=frozenset(("conversationId", "turns")),
    docs="attunebench.md",
    is_other=lambda document: (
        _is_foreign(document) or (isinstance(document.get("em_model"), str) and _CONVERSATION_ONLY.isdisjoint(document))
    ),
    other_files=(
        ForeignFile("a file of scores", frozenset(("conversations", "aggregates")), "attune-bench report reads it"),
    ),
    fix=fix_conversation,
    is_old=conversation_is_old,
    check=check_conversation,
    identity="conversationId",
    duplicate_rule="duplicate-conversation",
    prefer="conversation_*.json",
    demo="attunebench/demo.jsonl.bz2",
    columns=("conversationId", "turns"),
    tables=Tables,
    build=lambda records: partial(build_table, records=records),
    codebook_files={"codebook": Codebook, "subsets": Subsets, "instruments": Instruments, "diagnoses": Diagnoses},
    request=_REQUEST,
    overview={
        "id": lambda conversation: conversation.id,
        "participant": lambda conversation: conversation.participant_id or "",
        "topic": topic,
        "turns": lambda conversation: str(len(conversation.turns)),
        "model": lambda conversation: conversation.metadata.model or "",
        "diagnoses": lambda conversation: ", ".join(conversation.participant_profile.demographics.diagnoses),
    },
    parts=conversation_parts,
    beside=conversation_beside,
    reference="participant",
    messages=_messages,
    describe=describe_conversations,
    documents="attune_data.attunebench.strategies:conversation_documents",
)

RUN: Kind[Run, Runs] = Kind(
    noun="run",
    plural="runs",
    model=Run,
    collection=Runs,
    loader="load_runs",
    keys=frozenset(("conversationId", "em_model", "turns")),
    docs="attunebench.md",
    is_other=lambda document: (
        _is_foreign(document) or ("em_model" not in document and not _CONVERSATION_ONLY.isdisjoint(document))
    ),
    fix=fix_run,
    is_old=run_is_old,
    check=check_run,
    key=lambda run: run.key,
    identity="conversation, model, mode and repeat",
    duplicate=_later_run,
    duplicate_rule="duplicate-run",
    unhashed=NOTED | {"source_file"},
    demo="attunebench/demo_runs.jsonl.bz2",
    columns=("conversationId", "turns"),
    tables=RunList,
    joined=RunTables,
    build=lambda runs: partial(run_list, runs),
    request=_REQUEST,
    overview={
        "conversation": lambda run: run.conversation_id,
        "model": lambda run: run.em_model,
        "mode": lambda run: run.mode,
        "turns": lambda run: str(len(run.turns)),
    },
    parts=run_parts,
    of=lambda run: run.conversation_id,
    describe=describe_runs,
    documents="attune_data.attunebench.strategies:run_documents",
)
