"""One episode: a model talks with a simulated person, who judges each of its replies.

How it ends, what ``ended_by`` says then as in the benchmark's own files, and the state that counts:

====================================  ==================  ===============================
end                                   ``ended_by``        state
====================================  ==================  ===============================
all rounds are done                   ``max_rounds``      after the last judgement
the person stops                      ``simulator_stop``  after this judgement
no judgement can be read, three times ``parse_failed``    after the one before
the model says nothing aloud          ``simulator_stop``  after the last judgement
the person says nothing               ``simulator_stop``  after this judgement
====================================  ==================  ===============================

A side says nothing where its text is empty once its thinking is out. White space of the person, and tags without
thinking, are ``...``, and the episode goes on. No state ends an episode. `attune_data.Episode.outcome` tells the last
two from a stop: only that leaves a stop reason.
"""

from collections.abc import Generator
from contextlib import suppress
from dataclasses import replace
from typing import Any

from attune_bench.benchmarks.eibench.calls import EpisodeCalls, Line
from attune_bench.benchmarks.eibench.parsing import SILENCE, Reaction, read_output, read_reaction, visible
from attune_bench.benchmarks.eibench.settings import EIBenchSettings
from attune_bench.runner.calls import Call, Complete, IncompleteAnswerError
from attune_data import Episode, Scenario
from attune_data.text import without_surrogates
from attune_metrics import anchor_reward, anchor_score
from attune_metrics.eibench import Anchors

__all__ = ["TRIES", "planned_calls", "run_episode", "unplayable"]

TRIES = 3
"""How often a judgement that can be read is asked for at most, in either answer format."""

_PREVIEW = 200


async def run_episode(scenario: Scenario, complete: Complete, settings: EIBenchSettings) -> Episode:
    """Let a model talk with the person of a scenario.

    Parameters
    ----------
    scenario : Scenario
        The scenario.
    complete : callable
        Makes a call and returns the text of its answer, see `Complete`. One call is made at a time; a judgement that
        cannot be read, or ended early, is asked for up to three times in all, with the same request, and a reply of the
        model that ended early twice.
    settings : EIBenchSettings
        Who talks with whom, and how.

    Returns
    -------
    Episode
        The record, but for the configuration and what it cost, which the caller knows. Of each judgement its
        `State` says the changes, the reflection, ``continue`` as it was answered, and under ``parse`` whether it was
        ``parsed`` as it stood, ``repaired``, or readable when ``retried``, and which changes were no numbers and
        counted 0.

    Raises
    ------
    CallFailedError
        As `complete` raised it, for an incomplete reply the second time; there is no result then.
    ValueError
        The scenario has no text from which one of the two could be played, or lacks an anchor.

    Examples
    --------
    >>> import asyncio, json
    >>> from attune_data import load_scenarios
    >>> async def complete(call, attempt):
    ...     said = {"anger_delta": -5, "trust_delta": 4, "reply": "Yes.", "continue": "no", "stop_reason": "settled"}
    ...     return json.dumps(said) if call.role == "simulator" else "<think>Tired.</think>Sit down. Tea?"
    >>> settings = EIBenchSettings("vendor/model", "vendor/person")
    >>> episode = asyncio.run(run_episode(load_scenarios("demo")[0], complete, settings))
    >>> episode.outcome, episode.final_anger, episode.final_trust
    ('simulator_stop', 70, 44)
    """
    episode = _Episode(scenario, settings)
    steps = episode.play()
    try:
        call, attempt = next(steps)
        while True:
            try:
                answer = await complete(call, attempt)
            except IncompleteAnswerError as error:
                call, attempt = steps.throw(error)
            else:
                call, attempt = steps.send(answer)
    except StopIteration as end:
        return episode.record(end.value)
    except IncompleteAnswerError as error:
        return episode.record("error", error=str(error))


def planned_calls(scenario: Scenario, settings: EIBenchSettings) -> list[Call]:
    """Return the calls of the longest episode of a scenario, if no judgement has to be asked for again.

    Parameters
    ----------
    scenario : Scenario
        The scenario.
    settings : EIBenchSettings
        Who talks with whom, and how.

    Returns
    -------
    list of Call
        In order, of an episode in which both sides say next to nothing; `Call.pending` says how many answers each will
        quote. Empty for a scenario that cannot be played.

    Examples
    --------
    >>> from attune_data import load_scenarios
    >>> calls = planned_calls(load_scenarios("demo")[0], EIBenchSettings("vendor/model", "vendor/person"))
    >>> len(calls), calls[-1].id, calls[-1].pending
    (16, 'round-8', 15)
    """
    try:
        steps = _Episode(scenario, settings).play()
    except ValueError:
        return []
    calls: list[Call] = []
    with suppress(StopIteration):
        call, _ = next(steps)
        while True:
            calls.append(replace(call, pending=len(calls)))
            call, _ = steps.send('{"reply": "."}')
    return calls


def unplayable(scenario: Scenario) -> str:
    """Return why a scenario cannot be played; an empty text where it can.

    Parameters
    ----------
    scenario : Scenario
        The scenario.

    Returns
    -------
    str
        That it has no text from which one of the two could be played, or lacks an anchor.

    Examples
    --------
    >>> from attune_data import load_scenarios
    >>> unplayable(load_scenarios("demo")[0])
    ''
    """
    for side in ("aggressor", "defender"):
        if not getattr(scenario, f"{side}_profile").system_prompt.strip():
            return f"scenario {scenario.id!r} has no {side}_profile.system_prompt to play from"
    if missing := scenario.missing_anchors:
        return f"scenario {scenario.id!r} has no {' and no '.join(missing)}"
    return ""


class _Episode:
    """The state of an episode on its way."""

    def __init__(self, scenario: Scenario, settings: EIBenchSettings) -> None:
        if why := unplayable(scenario):
            raise ValueError(why)
        self._scenario = scenario
        self._settings = settings
        self._calls = EpisodeCalls(scenario, settings)
        self._lines: list[Line] = []
        self._history: list[dict[str, Any]] = []
        self._anchors = scenario.anchors("anger"), scenario.anchors("trust")
        self._anger, self._trust = (initial for initial, _, _ in self._anchors)

    def play(self) -> Generator[tuple[Call, int], str, str]:
        """Play the rounds: yield each call, take the text of its answer; return what ended them."""
        settings, model_opens = self._settings, self._calls.opens()
        if model_opens:
            if not (yield from self._reply()):
                return "simulator_stop"
        else:
            self._person_says(visible(self._scenario.aggressor_profile.opening_line or SILENCE))
        for number in range(1, settings.max_rounds + 1):
            if not model_opens and not (yield from self._reply()):
                return "simulator_stop"
            reaction = yield from self._judge(number)
            if reaction is None:
                return "parse_failed"
            if reaction.stops or not reaction.reply:
                return "simulator_stop"
            if model_opens and not (yield from self._reply()):
                return "simulator_stop"
        if model_opens and settings.judge_all:
            last = yield from self._judge(settings.max_rounds + 1)
            if last is None:
                return "parse_failed"
            if last.stops or not last.reply:
                return "simulator_stop"
        return "max_rounds"

    def _reply(self) -> Generator[tuple[Call, int], str, bool]:
        """Let the model speak; tell whether it said anything aloud."""
        call = self._calls.model(self._lines)
        try:
            answer = yield call, 0
        except IncompleteAnswerError:
            # Of one that is incomplete again nothing is said, and it is no silence either: the episode fails.
            answer = yield call, 1
        raw = without_surrogates(answer).strip()
        words, thinking = read_output(raw)
        if words:
            self._lines.append(Line(True, raw, words))
            thought = {"thinking": thinking} if thinking else {}
            self._history.append({"role": "defender", "content": words, **thought})
        return bool(words)

    def _judge(self, number: int) -> Generator[tuple[Call, int], str, Reaction | None]:
        """Let the person judge the last reply and answer it; None where the judgement cannot be read."""
        call = self._calls.simulator(self._lines, number, self._anger, self._trust)
        answer = ""
        for attempt in range(TRIES):
            try:
                answer = yield call, attempt
            except IncompleteAnswerError:
                continue
            reaction = read_reaction(answer, self._anger, self._trust)
            if reaction is not None:
                self._take(reaction, "retried" if attempt else "repaired" if reaction.repaired else "parsed")
                return reaction
        preview = without_surrogates(answer)[-_PREVIEW:]
        self._person_says(SILENCE, parse="failed", parse_failed=True, raw_preview=preview)
        return None

    def _take(self, reaction: Reaction, how: str) -> None:
        """Update the state and note the judgement."""
        self._anger, self._trust = reaction.anger, reaction.trust
        changes = {"anger_delta": reaction.anger_delta, "trust_delta": reaction.trust_delta}
        self._person_says(
            reaction.reply,
            reflection=reaction.reflection,
            **{name: change for name, change in changes.items() if change is not None},
            parse="; ".join([how, *(f"{name} is no number" for name in reaction.unreadable)]),
            **({"continue": reaction.continues} if reaction.continues is not None else {}),
            **({"stop_reason": reaction.stop_reason} if reaction.stops else {}),
        )

    def _person_says(self, words: str, **meta: Any) -> None:
        self._lines.append(Line(False, words, words, meta.get("reflection", "")))
        state = {"anger": self._anger, "trust": self._trust}
        quadrant = {"quadrant": self._scenario.scene.title()} if meta else {}
        self._history.append({"role": "aggressor", "content": words, "meta": {**state, **meta, **quadrant}})

    def record(self, ended_by: str, *, error: str | None = None) -> Episode:
        """Return the record of what was played; one with an error has no scores."""
        scenario, settings = self._scenario, self._settings
        anger, trust = (Anchors(*anchors) for anchors in self._anchors)
        licence = (scenario.model_extra or {}).get("licence")
        scores = {
            "reward": anchor_reward(anger, trust, self._anger, self._trust),
            "anger_score": anchor_score(anger, self._anger, axis="anger"),
            "trust_score": anchor_score(trust, self._trust, axis="trust"),
        }
        return Episode.model_validate(
            {
                "model": settings.model,
                "profile_id": scenario.id,
                "scene_tag": scenario.scene,
                "ended_by": ended_by,
                "n_rounds": len(self._history) // 2,
                "final_anger": self._anger,
                "final_trust": self._trust,
                "goal_score": None,
                **(scores if error is None else {**dict.fromkeys(scores), "error": error}),
                "goal_reason": None,
                "stop_reason": None,
                "history": self._history,
                "simulator": settings.simulator,
                "prompt_version": settings.prompts.version,
                "max_rounds": settings.max_rounds,
                "initial_anger": anger.initial,
                "initial_trust": trust.initial,
                "seed": settings.seed,
                "temperature": settings.temperature,
                "language": self._calls.language,
                "answer_format": settings.answer_format,
                **({"max_tokens": None} if settings.max_tokens is None else {}),
                **settings.decoding["model"].where_set(),
                **({"licence": licence} if licence is not None else {}),
            }
        )
