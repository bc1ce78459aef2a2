"""Scoring some runs at a time, and the settings that each run records; both import no frame."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Self

import orjson
from pydantic_core import from_json, to_json

from attune_bench.benchmarks.attunebench.conversation_score import (
    ConversationScore,
    Truth,
    columns_of,
    prepare_truth,
    score_conversation,
)
from attune_bench.benchmarks.attunebench.expected_scores import expected_scores
from attune_bench.benchmarks.attunebench.other_similarity import (
    OtherSimilarity,
    Scored,
    Similarity,
    add_similarities,
    other_similarity,
)
from attune_bench.scores.parts import GroupSettings
from attune_bench.scores.provenance import (
    SENT_WHERE_SET,
    group_settings,
    of_server,
    plain_setting,
    sent_where_set,
    setting_text,
)
from attune_data import Conversation, Run
from attune_data.record import is_generated
from attune_metrics.attunebench.composite import DOCUMENTED, Protocol, get_protocol

COMPARABILITY_KEYS: Mapping[str, str] = {
    "prompt_version": "version of the prompts",
    "prompt_hash": "prompts",
    "codebook_hash": "codebook",
    "panas_strategy": "PANAS strategy",
    "temperature": "temperature",
    "answer_format": "answer format",
    "judges": "judges",
}
"""The settings in which models that are compared may not differ, and what they are called; ``judges`` counts for the
metrics that rest on a judge."""


@dataclass(frozen=True, slots=True)
class RecordedSettings:
    """The settings of one run file.

    Attributes
    ----------
    recorded : dict
        By name; None for one that it does not record. ``judges`` is there where drafts were judged, None where the file
        does not list who did.
    judges : list of str
        The judges with answers in the file.
    judged_otherwise : str
        The settings in which the judges were asked otherwise than the model.
    synthetic : bool
        Whether the run says of itself that it was generated.
    """

    recorded: dict[str, Any]
    judges: list[str]
    judged_otherwise: str
    synthetic: bool

    def to_json(self) -> str:
        """Return the settings as JSON."""
        return to_json(self).decode()

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return what was written by `to_json`."""
        return cls(**from_json(text))


def settings_of_run(run: Run) -> RecordedSettings:
    """Return the settings that a run file records."""
    given = run.model_extra or {}
    always = ("prompt_version", "prompt_hash", "codebook_hash", "temperature", "answer_format")
    settings = {name: _value(given, name) for name in always}
    # A run without its last part was not asked for the PANAS, one without judgements has no judges.
    if "panas_strategy" in given:
        settings["panas_strategy"] = plain_setting(given["panas_strategy"])
    elif run.post_conversation is not None:
        settings["panas_strategy"] = run.post_conversation.panas_strategy
    if any(turn.em_draft_judge_scores.model_fields_set or turn.em_draft_binary_assessment for turn in run.turns):
        listed = given.get("judge_models")
        settings["judges"] = _joined(map(str, listed)) if isinstance(listed, list) and listed else None
    settings |= {name: plain_setting(given.get(name)) for name in ("provider", "max_tokens", "seed")}
    if of_server(given, "max_tokens"):
        del settings["max_tokens"]  # It is the limit of tokens below, which counts.
    settings |= sent_where_set(given)
    settings["date"] = run.run_timestamp and run.run_timestamp[:10]
    return RecordedSettings(settings, sorted(_judges_named(run)), _judged_otherwise(given), is_generated(run))


def settings_of_groups(runs: Sequence[tuple[str, str, RecordedSettings]]) -> tuple[GroupSettings, ...]:
    """Return the settings of each model and mode from the settings of its runs, with the first and the last date."""
    # A file that lists no judges names only those with readable answers; the files of a model name all of them.
    judges: dict[tuple[str, str], set[str]] = {}
    for model, mode, run in runs:
        judges.setdefault((model, mode), set()).update(run.judges)
    settings = ((model, mode, _complete(run, judges[model, mode])) for model, mode, run in runs)
    return tuple(one.model_copy(update={"settings": one.settings | _dates(one)}) for one in group_settings(settings))


def _complete(run: RecordedSettings, judges: Iterable[str]) -> dict[str, Any]:
    """Return the settings of a run with its judges; where the file lists none, the judges of its model and mode."""
    if "judges" not in run.recorded:
        return run.recorded
    named = run.recorded["judges"] or _joined(judges)
    return run.recorded | {"judges": named and named + run.judged_otherwise}


def _dates(group: GroupSettings) -> dict[str, tuple[Any, ...]]:
    days = group.settings["date"]
    return {"date": tuple(dict.fromkeys((days[0], days[-1])))}


def _joined(judges: Iterable[str]) -> str | None:
    return " + ".join(sorted(judges)) or None


def _judges_named(run: Run) -> set[str]:
    judges: set[str] = set()
    for turn in run.turns:
        judges.update(turn.em_draft_judge_scores_by_model, turn.em_draft_binary_assessment_by_model)
    return judges


def _judged_otherwise(given: Mapping[str, Any]) -> str:
    own = given.get("judge_settings")
    asked = own if isinstance(own, Mapping) else {}
    # Judges of a run are not sent what its model is sent where it is set.
    others = [f"{SENT_WHERE_SET[name][0]} {value}" for name, value in sent_where_set(asked).items()]
    others += [
        f"{COMPARABILITY_KEYS[name]} {setting_text(_value(asked, name))}"
        for name in ("prompt_hash", "codebook_hash", "temperature", "answer_format")
        if name in asked and asked[name] != given.get(name)
    ]
    return f" ({', '.join(others)})" if others else ""


def _value(given: Mapping[str, Any], name: str) -> str | int | float | None:
    """Return a setting; a temperature that is null was left to the server."""
    left = name == "temperature" and of_server(given, name)
    return "of the server" if left else plain_setting(given.get(name))


Batch = dict[str, list[Any]]


_PREPARED = 500  # each in about 0.1 MB


_NO_CONVERSATION = ("$.conversationId", "run-without-conversation", "no conversation with this id; is the data right?")


_NO_SHARED_TURN = ("$.turns", "no-shared-turn", "the run shares no turn number with its conversation")


@dataclass(frozen=True, slots=True)
class ScoredConversation:
    """What scores keep of a conversation.

    Attributes
    ----------
    participant : str, optional
        The participant, as the conversation writes the name.
    synthetic : bool
        Whether it is invented.
    chance : dict of str to (float or None)
        What random answers score, by metric.
    """

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
        As for `attune_bench.benchmarks.attunebench.other_similarity.other_similarity`.

    Raises
    ------
    MetricInputError
        Where there is no protocol of that name, or no such measure of similarity.

    Attributes
    ----------
    similarity : OtherSimilarity, optional
        What measures similarity beside token overlap.
    known : dict of str to ScoredConversation
        What scores keep of conversations, by id, as far as it was made; other processes may have made it.
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
        # Conversations in memory may have their prepared form in memory too.
        self._truth = lru_cache(None if isinstance(conversations, dict) else _PREPARED)(self._prepare)
        self.known: dict[str, ScoredConversation] = {}

    def _prepare(self, conversation_id: str) -> Truth:
        return prepare_truth(self.conversations[conversation_id], self.protocol)

    def score(self, runs: Iterable[tuple[Run, str]]) -> Batch:
        """Score some runs, each with its hash.

        Returns
        -------
        dict of str to list
            Columns, a row a run: model, condition and unit, the terms of `columns_of` and as ``detail`` the record of
            the run as JSON; ``digest`` and ``settings``, the hash of the run and how it was made; ``problem``, a JSON
            list of path, rule and message where the run has no record, null otherwise.
        """
        records: list[ConversationScore | None] = []
        scored: list[Scored] = []
        named = ("model", "condition", "unit", "digest", "settings", "problem")
        columns: Batch = {name: [] for name in named}
        for run, digest in runs:
            unit, problem = run.conversation_id, None
            if unit not in self.conversations:
                record, problem = None, _NO_CONVERSATION
            else:
                truth = self._truth(unit)
                record = score_conversation(truth, run, self.protocol)
                if record is None:
                    problem = _NO_SHARED_TURN
                elif self.similarity is not None:
                    scored.append(Scored(record, run, self.conversations[unit], truth))
            records.append(record)
            settings = settings_of_run(run).to_json()
            of_run = run.em_model, run.mode, unit, digest, settings, problem and to_json(problem).decode()
            for name, value in zip(named, of_run, strict=True):
                columns[name].append(value)
        if self.similarity is not None:
            add_similarities(scored, self.similarity)
        columns |= columns_of(records, self.others)
        columns["detail"] = [record and orjson.dumps(record).decode() for record in records]
        return columns

    @property
    def others(self) -> tuple[str, ...]:
        """The columns of the other measure of similarity."""
        return () if self.similarity is None else self.similarity.columns

    def about(self, conversation_id: str) -> ScoredConversation:
        """Return what scores keep of a conversation, made once."""
        if conversation_id not in self.known:
            truth = self._truth(conversation_id)
            chance = expected_scores(truth, self.protocol)
            self.known[conversation_id] = ScoredConversation(truth.participant_id, truth.synthetic, chance)
        return self.known[conversation_id]


def kept_conversation(conversation: Conversation, digest: str) -> Conversation:
    """Return a conversation without its content; equal contents have one `digest`."""
    return Conversation.model_validate({"conversationId": conversation.id, "turns": [], "digest": digest})


def kept_run(run: Run, digest: str) -> Run:
    """Return a run without its predictions; equal predictions have one `digest`."""
    named = {"conversationId": run.conversation_id, "em_model": run.em_model, "mode": run.mode, "repeat": run.repeat}
    return Run.model_validate({**named, "run_timestamp": run.run_timestamp, "digest": digest})
