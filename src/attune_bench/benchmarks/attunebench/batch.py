"""Scoring some runs at a time against prepared conversations; what is kept of a run is small."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from pydantic_core import to_json

from attune_bench.benchmarks.attunebench.conversation_score import (
    ConversationScore,
    OtherSimilarity,
    Scored,
    Similarity,
    Truth,
    add_similarities,
    columns_of,
    other_similarity,
    prepare_truth,
    score_conversation,
)
from attune_bench.benchmarks.attunebench.expected_scores import expected_scores
from attune_bench.benchmarks.attunebench.run_settings import settings_of_run
from attune_bench.scores.fingerprint import digest
from attune_data import Conversation, Run
from attune_metrics.attunebench.composite import DOCUMENTED, Protocol, get_protocol

Batch = dict[str, list[Any]]


_PREPARED = 500  # each in about 0.1 MB


_NO_CONVERSATION = ("$.conversationId", "run-without-conversation", "no conversation with this id; is the data right?")


_NO_SHARED_TURN = ("$.turns", "no-shared-turn", "the run shares no turn number with its conversation")


@dataclass(frozen=True, slots=True)
class ScoredConversation:
    """What scores keep of a conversation.

    Attributes
    ----------
    digest : str
        The hash of the conversation, as hexadecimal digits.
    participant : str, optional
        Whose it is, as the conversation writes it.
    synthetic : bool
        Whether it is invented.
    chance : dict of str to (float or None)
        What random answers score, by metric.
    """

    digest: str
    participant: str | None
    synthetic: bool
    chance: dict[str, float | None]


class RunScorer:
    """Scores runs against conversations.

    Parameters
    ----------
    conversations : mapping of str to Conversation
        The ground truth by id.
    protocol : str or Protocol
        ``"documented"`` or ``"released"``.
    similarity : str or callable
        As for `attune_bench.benchmarks.attunebench.conversation_score.other_similarity`.

    Raises
    ------
    MetricInputError
        Where there is no protocol of that name, or no such measure of similarity.

    Attributes
    ----------
    similarity : OtherSimilarity, optional
        What measures similarity beside token overlap.
    about : callable
        ``about(conversation_id)`` returns what scores keep of a conversation, made once.
    """

    def __init__(
        self,
        conversations: Mapping[str, Conversation],
        *,
        protocol: str | Protocol = DOCUMENTED,
        similarity: str | Similarity = "jaccard",
    ) -> None:
        self.protocol: Protocol = get_protocol(protocol)
        self.similarity: OtherSimilarity | None = other_similarity(similarity)
        self.conversations = conversations
        # Where the conversations are in memory, so may be what is prepared of them.
        self._truth = lru_cache(None if isinstance(conversations, dict) else _PREPARED)(self._prepare)
        self.about: Callable[[str], ScoredConversation] = cache(self._about)

    def _prepare(self, conversation_id: str) -> Truth:
        return prepare_truth(self.conversations[conversation_id], self.protocol)

    def score(self, runs: Sequence[Run], digests: Sequence[str]) -> Batch:
        """Score some runs; `digests` are their hashes.

        Returns
        -------
        dict of str to list
            Columns, a row a run: model, condition and unit, the terms of `columns_of` and as ``detail`` the record of
            the run as JSON; ``digest`` and ``settings``, the hash of the run and how it was made; ``problem``, a JSON
            list of path, rule and message where the run has no record, null otherwise.
        """
        records: list[ConversationScore | None] = []
        problems: list[str | None] = []
        for run in runs:
            record = problem = None
            if run.conversation_id not in self.conversations:
                problem = _NO_CONVERSATION
            else:
                record = score_conversation(self._truth(run.conversation_id), run, self.protocol)
                problem = _NO_SHARED_TURN if record is None else None
            records.append(record)
            problems.append(problem and to_json(problem).decode())
        if self.similarity is not None:
            there = [
                Scored(record, run, self.conversations[run.conversation_id], self._truth(run.conversation_id))
                for record, run in zip(records, runs, strict=True)
                if record is not None
            ]
            add_similarities(there, self.similarity)
        return {
            "model": [run.em_model for run in runs],
            "condition": [run.mode for run in runs],
            "unit": [run.conversation_id for run in runs],
            **columns_of(records, self.others),
            "detail": [record and to_json(record, inf_nan_mode="constants").decode() for record in records],
            "digest": list(digests),
            "settings": [settings_of_run(run).to_json() for run in runs],
            "problem": problems,
        }

    @property
    def others(self) -> tuple[str, ...]:
        """The columns of the other measure of similarity."""
        return () if self.similarity is None else self.similarity.columns

    def _about(self, conversation_id: str) -> ScoredConversation:
        conversation = self.conversations[conversation_id]
        return ScoredConversation(
            digest(conversation).hex(),
            conversation.participant_id,
            conversation.synthetic,
            expected_scores(self._truth(conversation_id), self.protocol),
        )


def kept_conversation(conversation: Conversation, digest: str) -> Conversation:
    """Return a conversation without its content, of which `digest` tells whether that of another is the same."""
    return Conversation.model_validate({"conversationId": conversation.id, "turns": [], "digest": digest})


def kept_run(run: Run, digest: str) -> Run:
    """Return a run without its predictions, of which `digest` tells whether those of another are the same."""
    named = {"conversationId": run.conversation_id, "em_model": run.em_model, "mode": run.mode, "repeat": run.repeat}
    return Run.model_validate({**named, "run_timestamp": run.run_timestamp, "digest": digest})
