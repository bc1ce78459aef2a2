"""The order of the calls about one conversation, and the run that their answers make."""

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any

from attune_bench.benchmarks.attunebench import parsing
from attune_bench.benchmarks.attunebench.calls import Script
from attune_bench.benchmarks.attunebench.model_view import SeenTurn
from attune_bench.benchmarks.attunebench.parsing import Fields, Tally
from attune_bench.benchmarks.attunebench.settings import Settings
from attune_bench.runner.calls import Call, Complete
from attune_data import Conversation, Run

__all__ = ["Reply", "judge_draft", "planned_calls", "run_conversation"]


@dataclass(frozen=True, slots=True)
class _Step:
    """A call and the reader of its answer; that of a judge is of an empty draft until the draft is there."""

    call: Call
    read: Callable[[Mapping[str, Any], Tally], Fields]
    turn: SeenTurn | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """What came of a call: fields of a run file, how they were read, and how many values were dropped."""

    fields: Fields
    outcome: str
    dropped: int


def _steps(script: Script) -> Iterator[_Step]:
    """Give the calls in the order of the benchmark; each depends on nothing but a judge's, on its turn's draft."""
    settings = script.settings
    for turn in script.turns:
        asked = script.questions(turn)
        yield _Step(script.draft(turn), parsing.read_draft, turn)
        if script.is_judged(turn):
            for judge in settings.judges:
                yield _judgement(script, turn, judge, "")
        yield _Step(
            script.read(turn), partial(parsing.read_emotions, questions=asked, codebook=settings.codebook), turn
        )
        if asked:
            yield _Step(script.read_hp(turn), partial(parsing.read_questions, questions=asked, suffix="_hp"), turn)
        if turn.pairs:
            yield _Step(script.pairwise(turn), partial(parsing.read_pairwise, comparisons=len(turn.pairs)), turn)
    yield _Step(
        script.post(),
        partial(
            parsing.read_post,
            codebook=settings.codebook,
            strategy=settings.panas_strategy,
            pre_items=script.pre_items,
        ),
    )


def _judgement(script: Script, turn: SeenTurn, judge: str, draft: str) -> _Step:
    read = partial(parsing.read_judgement, questions=script.questions(turn), rated=script.is_rated(turn))
    return _Step(script.judge(turn, judge, draft), read, turn)


def planned_calls(conversation: Conversation, settings: Settings) -> list[Call]:
    """Return the calls that a run of a conversation makes, if no answer has to be asked for again.

    Parameters
    ----------
    conversation : Conversation
        The conversation.
    settings : Settings
        How it is run.

    Returns
    -------
    list of Call
        In the order of the run file. Judges' calls are those for an empty draft; they will be longer by the draft.

    Examples
    --------
    >>> from attune_data import load
    >>> calls = planned_calls(load("demo")[0], Settings("vendor/model", "local", judges=("vendor/judge",)))
    >>> len(calls), calls[1].id
    (26, 'turn-1/judge/vendor/judge')
    """
    return [step.call for step in _steps(Script(conversation, settings))]


async def run_conversation(conversation: Conversation, complete: Complete, *, settings: Settings) -> Run:
    """Ask a model everything about one conversation.

    Parameters
    ----------
    conversation : Conversation
        The conversation.
    complete : callable
        Makes a call and returns the text of its answer, see `Complete`. All calls are started together, apart from
        those of judges, which follow their draft; a call whose answer cannot be read is made once more.
    settings : Settings
        How the conversation is run.

    Returns
    -------
    Run
        The content of the run file but for ``source_file`` and ``api_cost``, which the caller knows. Its ``calls``
        tell of each call whether the answer was ``parsed`` as it stood, ``repaired``, readable when ``retried``, or
        ``failed``, and how many of its values were ``dropped``. A draft that failed is not judged.

    Raises
    ------
    CallFailedError
        As `complete` raised it, that of the first call in order; all other calls have then been made, so that a
        `complete` that keeps its answers need not ask for them again.
    """
    started = time.monotonic()
    script = Script(conversation, settings)
    steps = list(_steps(script))
    tasks: dict[str, asyncio.Task[Reply | None]] = {}

    async def answer(step: _Step) -> Reply | None:
        if not step.call.is_judge or step.turn is None:
            return await _ask(step, script, complete)
        draft = await tasks[f"turn-{step.turn.number}/draft"]
        if draft is None or not draft.fields:
            return None
        return await judge_draft(script, step.turn, step.call.model, draft.fields["em_drafted_response"], complete)

    for step in steps:
        tasks[step.call.id] = asyncio.create_task(answer(step))
    # Not a task group: when one call fails, the answers that others are waiting for have been paid for.
    done = await asyncio.gather(*tasks.values(), return_exceptions=True)
    replies: dict[str, Reply] = {}
    for name, reply in zip(tasks, done, strict=True):
        if isinstance(reply, BaseException):
            raise reply
        if reply is not None:
            replies[name] = reply
    return Run.model_validate(
        {
            "conversationId": conversation.conversation_id,
            "em_model": settings.model,
            "run_timestamp": datetime.now(UTC).isoformat(timespec="seconds"),
            "mode": settings.mode,
            "duration_seconds": round(time.monotonic() - started, 3),
            **settings.provenance(),
            "calls": {name: {"outcome": reply.outcome, "dropped": reply.dropped} for name, reply in replies.items()},
            "turns": [_turn(turn, steps, replies) for turn in script.turns],
            "post_conversation": _post(script, replies["post"].fields),
        }
    )


async def judge_draft(script: Script, turn: SeenTurn, judge: str, draft: str, complete: Complete) -> Reply:
    """Ask a judge about a draft."""
    return await _ask(_judgement(script, turn, judge, draft), script, complete)


async def _ask(step: _Step, script: Script, complete: Complete) -> Reply:
    """Make a call, once more where its answer is of no use; what it gave is kept, nothing is filled in."""
    for attempt in (0, 1):
        tally = Tally()
        found = parsing.find_object(await complete(script.again(step.call) if attempt else step.call, attempt))
        fields = step.read(found.value, tally) if found else {}
        if found and fields:
            outcome = "retried" if attempt else "repaired" if found.repaired else "parsed"
            return Reply(fields, outcome, tally.dropped)
    return Reply({}, "failed", tally.dropped)


def _turn(turn: SeenTurn, steps: Iterable[_Step], replies: Mapping[str, Reply]) -> Fields:
    """Return a turn of the run file."""
    fields: Fields = {"turnNumber": turn.number}
    judged: dict[str, Fields] = {}
    for step in steps:
        reply = replies.get(step.call.id)
        if step.turn is not turn or reply is None:
            continue
        if step.call.is_judge:
            judged[step.call.model] = reply.fields
        else:
            fields |= reply.fields
    if turn.pairs:
        fields["pairwise_assignment"] = {str(n): {"A": pair.a, "B": pair.b} for n, pair in enumerate(turn.pairs)}
    return fields | parsing.merge_judgements(judged)


def _post(script: Script, fields: Fields) -> Fields | None:
    """Return what was predicted after the conversation; nothing, as in a run that stopped, where no answer was read."""
    if not fields:
        return None
    shown = {"panas_strategy": script.settings.panas_strategy, "pre_panas_shown": script.pre_panas_shown}
    return shown | fields
