"""The calls about one conversation, in the benchmark's order, and the run that is made of their answers."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any

from attune_bench.benchmarks.attunebench import parsing
from attune_bench.benchmarks.attunebench.calls import ConversationCalls
from attune_bench.benchmarks.attunebench.model_view import SeenTurn
from attune_bench.benchmarks.attunebench.parsing import Tally
from attune_bench.benchmarks.attunebench.settings import AttuneBenchSettings
from attune_bench.runner.answers import TRIES, Fields, Reading, call_to_make, read_answer
from attune_bench.runner.calls import Call, Complete
from attune_bench.runner.task import ask_planned
from attune_data import Conversation, Run

__all__ = ["Step", "assemble", "judgement", "planned_calls", "run_conversation"]


@dataclass(frozen=True, slots=True)
class Step:
    """A call and the reader of its answer."""

    call: Call
    reader: Callable[[Mapping[str, Any], Tally], Fields]
    turn: SeenTurn | None = None

    def read(self, said: Fields) -> tuple[Fields, int]:
        """Read the object of an answer; count the values that were dropped."""
        tally = Tally()
        return self.reader(said, tally), tally.dropped

    def reading(self, answers: Mapping[str, str]) -> Reading:
        """Read the answers to the call."""
        return read_answer(answers, self.call.id, self.read)


def judgement(calls: ConversationCalls, turn: SeenTurn, judge: str, draft: str) -> Step:
    """Return the step in which a judge is asked about a draft."""
    reader = partial(parsing.read_judgement, questions=calls.questions(turn), rated=calls.is_rated(turn))
    return Step(calls.judge(turn, judge, draft), reader, turn)


def planned_calls(
    conversation: Conversation, settings: AttuneBenchSettings, answers: Mapping[str, str] | None = None
) -> list[Call]:
    """Return the calls about a conversation: all of a run, or those that are still to be made.

    Parameters
    ----------
    conversation : Conversation
        The conversation.
    settings : AttuneBenchSettings
        How it is run.
    answers : mapping of str to str, optional
        Texts of the answers so far, by the id of their call; empty at the beginning.

    Returns
    -------
    list of Call
        In the order of the run file. Without `answers`: every call of a run in which no answer is asked for again;
        those of judges are of an empty draft. With `answers`: the calls that have no answer yet, judges' calls of the
        drafts among the answers, and another attempt (``#2`` behind its id) at each call whose answer cannot be
        read. An empty list means that `assemble` has all that it can get.

    Examples
    --------
    >>> from attune_data import load
    >>> conversation, settings = load("demo")[0], AttuneBenchSettings("vendor/model", judges=("vendor/judge",))
    >>> calls = planned_calls(conversation, settings)
    >>> len(calls), calls[1].id
    (26, 'turn-1/judge/vendor/judge')
    >>> len(planned_calls(conversation, settings, answers={}))
    21
    >>> answers = {call.id: '{"drafted_response": "I see."}' for call in calls if call.role == "model"}
    >>> [call.id for call in planned_calls(conversation, settings, answers=answers)][:3]
    ['turn-1/judge/vendor/judge', 'turn-1/read#2', 'turn-1/read-hp#2']
    """
    plan = _Plan(conversation, settings)
    return plan.all_calls() if answers is None else plan.calls_to_make(answers)


def assemble(conversation: Conversation, answers: Mapping[str, str], settings: AttuneBenchSettings) -> Run:
    """Make the run of the answers to the calls about a conversation.

    Parameters
    ----------
    conversation : Conversation
        The conversation.
    answers : mapping of str to str
        Texts by the id of the call that they answer, see `planned_calls`.
    settings : AttuneBenchSettings
        How the conversation was run.

    Returns
    -------
    Run
        The content of the run file, apart from its source, provider, strategy, judges, duration and costs. Its
        ``calls`` say of each call whether the answer was ``parsed`` as it was, ``repaired``, readable when
        ``retried``, or ``failed`` (also where it is missing), and how many of its values were ``dropped``. What was
        not answered is absent. A draft that failed is not judged.

    Examples
    --------
    >>> from attune_data import load
    >>> answers = {"turn-1/draft": '{"drafted_response": "I see."}'}
    >>> run = assemble(load("demo")[0], answers, AttuneBenchSettings("vendor/model"))
    >>> run.turns[0].em_drafted_response, run.complete
    ('I see.', False)
    """
    return _Plan(conversation, settings).assemble(answers)


async def run_conversation(conversation: Conversation, complete: Complete, settings: AttuneBenchSettings) -> Run:
    """Ask a model everything about one conversation.

    Parameters
    ----------
    conversation : Conversation
        The conversation.
    complete : callable
        Makes a call and returns the text of its answer, see `Complete`. All calls are started together; then those
        of judges, and further attempts at calls whose answer cannot be read.
    settings : AttuneBenchSettings
        How the conversation is run.

    Returns
    -------
    Run
        What `assemble` makes of the answers.

    Raises
    ------
    CallFailedError
        As `complete` raised it, that of the first call in order; all other calls have then been made, so that a
        `complete` that caches its answers need not ask for them again.
    """
    plan = _Plan(conversation, settings)
    return plan.assemble(await ask_planned(plan.calls_to_make, complete))


class _Plan:
    """The steps of one conversation. Each is built once and its answer read once, however often they are asked for."""

    def __init__(self, conversation: Conversation, settings: AttuneBenchSettings) -> None:
        self._calls = calls = ConversationCalls(conversation, settings)
        self._settings = settings
        self._turns = [
            (turn, Step(calls.draft(turn), parsing.read_draft, turn), list(self._steps_after_draft(turn)))
            for turn in calls.turns
        ]
        reader = partial(
            parsing.read_post,
            codebook=settings.codebook,
            strategy=settings.panas_strategy,
            pre_items=calls.pre_items,
        )
        self._post = Step(calls.post(), reader)
        self._judgements: dict[tuple[int, str], Step] = {}
        self._readings: dict[str, Reading] = {}

    def _steps_after_draft(self, turn: SeenTurn) -> Iterator[Step]:
        calls, codebook = self._calls, self._settings.codebook
        asked = calls.questions(turn)
        yield Step(calls.read(turn), partial(parsing.read_emotions, questions=asked, codebook=codebook), turn)
        if asked:
            yield Step(calls.read_hp(turn), partial(parsing.read_questions, questions=asked, suffix="_hp"), turn)
        if turn.pairs:
            yield Step(calls.pairwise(turn), partial(parsing.read_pairwise, pairs=turn.pairs), turn)

    def _read(self, step: Step, answers: Mapping[str, str]) -> Reading:
        reading = self._readings.get(step.call.id)
        if reading is None or reading.outcome == "failed":
            reading = self._readings[step.call.id] = step.reading(answers)
        return reading

    def _steps(self, answers: Mapping[str, str]) -> Iterator[Step]:
        """Yield the steps in order; a judge's where the draft is among the answers."""
        for turn, drafting, others in self._turns:
            yield drafting
            draft = self._read(drafting, answers).fields.get("em_drafted_response")
            if draft is not None and self._calls.is_judged(turn):
                for judge in self._settings.judges:
                    key = turn.number, judge
                    if key not in self._judgements:
                        self._judgements[key] = judgement(self._calls, turn, judge, draft)
                    yield self._judgements[key]
            yield from others
        yield self._post

    def all_calls(self) -> list[Call]:
        """Return the calls of a run; those of judges are of an empty draft."""
        calls = []
        for turn, drafting, others in self._turns:
            calls.append(drafting.call)
            if self._calls.is_judged(turn):
                calls += [self._calls.judge(turn, judge, None) for judge in self._settings.judges]
            calls += [step.call for step in others]
        return [*calls, self._post.call]

    def calls_to_make(self, answers: Mapping[str, str]) -> list[Call]:
        """Return the calls that can be made where these answers are known."""
        note, tries = self._settings.prompts.render("retry"), TRIES[self._settings.answer_format]
        unread = (step for step in self._steps(answers) if not self._read(step, answers).fields)
        calls = (call_to_make(step.call, answers, step.read, note=note, tries=tries) for step in unread)
        return [call for call in calls if call is not None]

    def assemble(self, answers: Mapping[str, str]) -> Run:
        """Return the run that is made of answers."""
        read = [(step, self._read(step, answers)) for step in self._steps(answers)]
        return Run.model_validate(
            {
                "conversationId": self._calls.id,
                "em_model": self._settings.model,
                "run_timestamp": datetime.now(UTC).isoformat(timespec="seconds"),
                **self._settings.provenance(),
                "calls": {step.call.id: {"outcome": one.outcome, "dropped": one.dropped} for step, one in read},
                "turns": [
                    _turn(turn, [(step, one) for step, one in read if step.turn is turn]) for turn, *_ in self._turns
                ],
                "post_conversation": self._post_conversation(read[-1][1].fields),
            }
        )

    def _post_conversation(self, fields: Fields) -> Fields | None:
        """Return what was predicted after the conversation; None, as in a run that stopped, where nothing was read."""
        if not fields:
            return None
        shown = {"panas_strategy": self._settings.panas_strategy, "pre_panas_shown": self._calls.pre_panas_shown}
        return shown | fields


def _turn(turn: SeenTurn, read: list[tuple[Step, Reading]]) -> Fields:
    """Return a turn of the run file."""
    fields: Fields = {"turnNumber": turn.number}
    judged: dict[str, Fields] = {}
    for step, reading in read:
        if step.call.role == "judge":
            judged[step.call.model] = reading.fields
        else:
            fields |= reading.fields
    if turn.pairs:
        fields["pairwise_assignment"] = {str(n): {"A": pair.a, "B": pair.b} for n, pair in enumerate(turn.pairs)}
    return fields | parsing.merge_judgements(judged)
