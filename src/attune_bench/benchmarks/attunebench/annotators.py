"""Other annotators: a person's run as annotations of a conversation, annotations as a run, and scores against each."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from attune_bench.benchmarks.attunebench.conversation_score import (
    ConversationScore,
    prepare_truth,
    score_conversation,
)
from attune_bench.benchmarks.attunebench.run_analyses import scored_conversations, scored_runs
from attune_bench.scores.provenance import kind_of_group
from attune_bench.scores.table import ScoreTable
from attune_data import Conversation, Run
from attune_data.attunebench.records import ConversationWideQuestions, Panas, RunTurn, Turn
from attune_metrics.attunebench.composite import DOCUMENTED, Protocol, get_protocol
from attune_metrics.attunebench.holistic import BRANCHES
from attune_metrics.attunebench.questions import hp_reference, om_reference
from attune_metrics.metric import MetricInputError

PARTICIPANT = "participant"
"""What the truth of the participant's own annotations is called; as an annotator ``human/participant``."""

SELF = "human/self"
"""The annotator who is the participant, and answered a second time."""

_TURNS = ("emotions", "binary_om", "binary_human", "pairwise")
ANSWERED: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "avg_emotion_f1": ("emotions",),
        "avg_emotion_va_score": ("emotions",),
        "avg_binary_om_accuracy": ("binary_om",),
        "avg_binary_human_accuracy": ("binary_human",),
        "avg_pairwise_accuracy": ("pairwise",),
        "panas_baseline_adjusted": ("panas",),
        "four_branch_normalized": ("branches",),
        "composite_score": (*_TURNS, "panas", "branches", "wide"),
    }
)
"""The metrics that can have another annotator's answers as their truth, and what the annotator must have answered."""


def read_as_truth(conversation: Conversation, run: Run) -> Conversation:
    """Return a conversation with the answers of a run in place of the participant's annotations.

    The same questions count: a judgement or comparison that the participant did not answer stays unanswered, and what
    the run does not answer becomes ``na`` or null.

    Examples
    --------
    >>> from attune_data import load
    >>> conversation = load("demo")[0]
    >>> again = read_as_truth(conversation, read_as_run(conversation, "human/self"))
    >>> again.turns[0].mood_shift_tags == conversation.turns[0].mood_shift_tags
    True
    """
    said = {turn.turn_number: turn for turn in run.turns}
    turns = tuple(
        _turn(turn, said.get(turn.turn_number, RunTurn(turn_number=turn.turn_number))) for turn in conversation.turns
    )
    update: dict[str, Any] = {"turns": turns}
    if run.post_conversation is not None and run.complete:
        panas = run.post_conversation.predicted_post_panas
        wide = run.post_conversation.predicted_conversation_wide
        update["post_panas"] = Panas(
            total_positive_affect=panas.total_positive_affect,
            total_negative_affect=panas.total_negative_affect,
            responses={word.lower(): rating for word, rating in panas.items.items()},
        )
        update["conversation_wide_questions"] = ConversationWideQuestions(
            **{name: getattr(wide, name) for name in ConversationWideQuestions.model_fields}
        )
    return conversation.model_copy(update=update)


def _turn(turn: Turn, said: RunTurn) -> Turn:
    """Return a turn with what a run says of it."""

    def judged(one: Any) -> Any:
        om = om_reference(one.observed_behavior, one.llm_value)
        hp = hp_reference(one.preferred_behavior, one.observed_behavior)
        observed = said.em_binary_om_assessment.get(one.question_id) if om in _YES_NO else None
        preferred = said.em_binary_human_prediction.get(one.question_id) if hp in _YES_NO else None
        new = {"observed_behavior": observed or "na", "preferred_behavior": preferred or "na", "llm_value": None}
        return one.model_copy(update=new)

    own = turn.annotations
    compared = [
        one.model_copy(update={"winner": one.winner and said.em_pairwise_selections.get(str(place))})
        for place, one in enumerate(own.pairwise_comparisons)
    ]
    changed = {"binary_judgements": tuple(map(judged, own.binary_judgements)), "pairwise_comparisons": tuple(compared)}
    update = {"mood_shift_tags": said.em_emotion_tags, "annotations": own.model_copy(update=changed)}
    return turn.model_copy(update=update)


_YES_NO = ("yes", "no")


def read_as_run(conversation: Conversation, name: str, *, mode: Any = "default") -> Run:
    """Return the annotations of a conversation as the run of a person, with which a second set of annotations is given.

    Parameters
    ----------
    conversation : Conversation
        The conversation, as this person annotated it.
    name : str
        What the person is called, ``human/NAME``.
    mode : str
        The mode of the run.

    Raises
    ------
    MetricInputError
        If the name does not begin with ``human/``.

    Examples
    --------
    >>> from attune_data import load
    >>> conversation = load("demo")[0]
    >>> run = read_as_run(conversation, "human/second")
    >>> run.turns[0].em_pairwise_selections["0"] == conversation.turns[0].annotations.pairwise_comparisons[0].winner
    True
    """
    if kind_of_group(name) != "person":
        raise MetricInputError(f"name {name!r} is no name of a person; expected human/NAME")
    turns = []
    for turn in conversation.turns:
        judged = turn.annotations.binary_judgements
        om = {one.question_id: om_reference(one.observed_behavior, one.llm_value) for one in judged}
        hp = {one.question_id: hp_reference(one.preferred_behavior, one.observed_behavior) for one in judged}
        chosen = {str(place): one.winner for place, one in enumerate(turn.annotations.pairwise_comparisons)}
        tags = [tag.model_dump(by_alias=True) for tag in turn.mood_shift_tags]
        turns.append({
            "turnNumber": turn.turn_number, "em_emotion_tags": tags, "em_binary_om_assessment": om,
            "em_binary_human_prediction": hp, "em_pairwise_selections": chosen,
        })  # fmt: skip
    post, wide = conversation.post_panas, conversation.conversation_wide_questions
    items = {word.title(): rating for word, rating in post.responses.items()}
    totals = {key: getattr(post, key) for key in ("total_positive_affect", "total_negative_affect")}
    return Run.model_validate({
        "conversationId": conversation.id, "em_model": name, "mode": mode, "turns": turns,
        "post_conversation": {
            "predicted_post_panas": {**totals, "items": items},
            "predicted_conversation_wide": wide.model_dump(by_alias=True),
        },
    })  # fmt: skip


def _answered(conversation: Conversation, run: Run, protocol: Protocol) -> set[str]:
    """Return what a run answers in full: of the turns, PANAS items, branches and questions about the whole."""
    record = score_conversation(prepare_truth(conversation, protocol), run, protocol)
    if record is None:
        return set()
    full = {task for task, of in record["coverage"].items() if of["present"] == of["expected"]}
    asked = {turn.turn_number for turn in conversation.turns}
    if any(turn.em_emotion_tags for turn in run.turns) and asked <= {turn.turn_number for turn in run.turns}:
        full.add("emotions")
    post = run.post_conversation if run.complete else None
    if post is None:
        return full - {"panas"}
    wide = post.predicted_conversation_wide
    if all(getattr(wide.four_branch_scores, branch) is not None for branch in BRANCHES):
        full.add("branches")
    if wide.q2_emotion_clarity and wide.q3_model_fit:
        full.add("wide")
    return full


_Key = tuple[str, str, str, str]  # metric, condition, truth, model


@dataclass(frozen=True)
class AnnotatedScores:
    """Scores against several annotators, on the conversations that all of them answered."""

    by_unit: Mapping[_Key, Mapping[str, float]]

    def truths(self, metric: str) -> Iterator[tuple[str, Sequence[str]]]:
        """Yield the conditions of a metric with the truths in each, the participant's first."""
        found: dict[str, dict[str, None]] = {}
        for name, condition, truth, _ in self.by_unit:
            if name == metric:
                found.setdefault(condition, {})[truth] = None
        yield from ((condition, list(truths)) for condition, truths in found.items())

    def values(self, metric: str, condition: str, truth: str) -> dict[str, Mapping[str, float]]:
        """Return the values of a metric against one truth, by model or person and conversation."""
        wanted = (metric, condition, truth)
        return {key[3]: values for key, values in self.by_unit.items() if key[:3] == wanted}


def scored_by_annotators(
    scores: ScoreTable, data: Iterable[Conversation], results: Iterable[Run], metrics: Sequence[str]
) -> AnnotatedScores:
    """Score all runs against the participant and against every other annotator; see `AnnotatedScores`.

    A model or person that lacks one of the conversations counts on none, so that all have the same.
    """
    protocol = get_protocol(scores.provenance.protocol or DOCUMENTED)
    known = scored_conversations(scores, data)
    runs: dict[str, dict[str, dict[str, Run]]] = {}
    for run in scored_runs(scores, results):
        if kind_of_group(run.em_model) != "baseline":
            runs.setdefault(run.mode, {}).setdefault(run.em_model, {})[run.conversation_id] = run
    found: dict[_Key, dict[str, float]] = {}
    for mode, of_mode in sorted(runs.items()):
        people = sorted(name for name in of_mode if kind_of_group(name) == "person")
        if not people:
            continue
        units = sorted(set.intersection(*({*of_mode[name]} for name in people)))
        full = {
            unit: set.intersection(*(_answered(known[unit], of_mode[name][unit], protocol) for name in people))
            for unit in units
        }
        wanted = {metric: [unit for unit in units if {*ANSWERED[metric]} <= full[unit]] for metric in metrics}
        for truth in (PARTICIPANT, *people):
            raters = {name: of for name, of in sorted(of_mode.items()) if name != truth}
            if truth != PARTICIPANT:
                own = {unit: read_as_run(known[unit], f"human/{PARTICIPANT}", mode=mode) for unit in units}
                raters[f"human/{PARTICIPANT}"] = own
            records: dict[tuple[str, str], ConversationScore | None] = {}
            for unit in units:
                one = known[unit] if truth == PARTICIPANT else read_as_truth(known[unit], of_mode[truth][unit])
                prepared = prepare_truth(one, protocol)
                for name, of in raters.items():
                    if unit in of:
                        records[name, unit] = score_conversation(prepared, of[unit], protocol)
            for metric, of_metric in wanted.items():
                for name in raters:
                    values = {unit: _value(records.get((name, unit)), metric) for unit in of_metric}
                    there = {unit: value for unit, value in values.items() if value is not None}
                    if there and len(there) == len(of_metric):
                        found[metric, mode, truth, name] = there
    return AnnotatedScores(found)


def _value(record: ConversationScore | None, metric: str) -> float | None:
    """Return the value of a metric of a conversation, or of its answers about the whole."""
    if record is None:
        return None
    of: Mapping[str, Any] = record if metric in record else record["post_score"] or {}
    value: float | None = of.get(metric)
    return value
