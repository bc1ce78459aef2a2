"""Scoring some runs at a time: each conversation is prepared once, and what is kept of a run is small."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from pydantic_core import to_json

from attune_bench.benchmarks.attunebench.conversation_score import ConversationScore, score_conversation
from attune_bench.benchmarks.attunebench.expected import expected_scores
from attune_bench.benchmarks.attunebench.reference import Truth, prepare_truth
from attune_bench.benchmarks.attunebench.run_settings import RunSettings, settings_of_run
from attune_bench.benchmarks.attunebench.terms import columns_of
from attune_bench.fingerprint import digest
from attune_data import Conversation, Run
from attune_data.matching import text_key
from attune_metrics.attunebench.protocol import DOCUMENTED, Protocol, get_protocol

__all__ = ["Batch", "RunScorer", "ScoredConversation", "ScoredRun", "kept_conversation", "kept_run"]

# Each takes about 0.1 MB.
_PREPARED = 2_000


@dataclass(frozen=True, slots=True)
class ScoredRun:
    """What scores keep of a run beside its record.

    Attributes
    ----------
    digest : bytes
        The hash of the run.
    settings : RunSettings
        How it was made.
    row : int, optional
        Which of its batch's records it has.
    problem : tuple of str, optional
        Why it has none: the JSON path, the rule and the message of an issue.
    """

    digest: bytes
    settings: RunSettings
    row: int | None
    problem: tuple[str, str, str] | None


@dataclass(frozen=True, slots=True)
class ScoredConversation:
    """What scores keep of a conversation.

    Attributes
    ----------
    digest : bytes
        The hash of the conversation.
    participant : str, optional
        Whose it is.
    synthetic : bool
        Whether it is invented.
    chance : dict of str to (float or None)
        What random answers score, by metric.
    """

    digest: bytes
    participant: str | None
    synthetic: bool
    chance: dict[str, float | None]


@dataclass(frozen=True, slots=True)
class Batch:
    """Some runs, scored.

    Attributes
    ----------
    runs : list of ScoredRun
        In the order in which they were given.
    columns : dict of str to list
        See `attune_bench.benchmarks.attunebench.terms.columns_of`; of those that have a record.
    records : list of str
        Their records as JSON.
    """

    runs: list[ScoredRun]
    columns: dict[str, list[Any]]
    records: list[str]


class RunScorer:
    """Scores runs against conversations.

    Parameters
    ----------
    conversations : mapping of str to Conversation
        The ground truth by id.
    protocol : str or Protocol
        ``"documented"`` or ``"released"``.

    Raises
    ------
    MetricInputError
        Where there is no protocol of that name.
    """

    def __init__(self, conversations: Mapping[str, Conversation], *, protocol: str | Protocol = DOCUMENTED) -> None:
        self.protocol = get_protocol(protocol)
        self.conversations = conversations
        self._truth = lru_cache(_PREPARED)(self._prepare)

    def _prepare(self, conversation_id: str) -> Truth:
        return prepare_truth(self.conversations[conversation_id], self.protocol)

    def score(self, runs: Sequence[Run], digests: Sequence[bytes]) -> Batch:
        """Score some runs; `digests` are their hashes."""
        scored: list[ScoredRun] = []
        records: list[ConversationScore] = []
        for run, own in zip(runs, digests, strict=True):
            row = problem = None
            if run.conversation_id not in self.conversations:
                message = "no conversation with this id; is the data right?"
                problem = ("$.conversationId", "run-without-conversation", message)
            elif (record := score_conversation(self._truth(run.conversation_id), run, self.protocol)) is None:
                message = "the run shares no turn number with its conversation"
                problem = ("$.turns", "no-shared-turn", message)
            else:
                row = len(records)
                records.append(record)
            scored.append(ScoredRun(own, settings_of_run(run), row, problem))
        texts = [to_json(record, inf_nan_mode="constants").decode() for record in records]
        return Batch(scored, columns_of(records), texts)

    def about(self, conversation_id: str) -> ScoredConversation:
        """Return what scores keep of a conversation."""
        truth = self._truth(conversation_id)
        conversation = truth.conversation
        return ScoredConversation(
            digest(conversation),
            text_key(conversation.participant_id),
            conversation.synthetic,
            expected_scores(truth, self.protocol),
        )


def kept_conversation(conversation: Conversation, digest: str) -> Conversation:
    """Return a conversation without its content, of which `digest` tells whether that of another is the same."""
    return Conversation.model_validate({"conversationId": conversation.id, "turns": [], "digest": digest})


def kept_run(run: Run, digest: str) -> Run:
    """Return a run without its predictions, of which `digest` tells whether those of another are the same."""
    named = {"conversationId": run.conversation_id, "em_model": run.em_model, "mode": run.mode}
    return Run.model_validate({**named, "run_timestamp": run.run_timestamp, "digest": digest})
