"""Running EIBench: a model talks with a simulated person, who judges each of its replies.

The requests of an episode
--------------------------
What the model sees, and what the simulator sees.

The model sees its own profile, what the person said, and its own earlier outputs as they were, reflections included.
The simulator sees the person's profile, the state before the update, its own earlier replies and reflections, and what
the model said aloud. Neither sees anchors, goal, criteria or the profile of the other.

The end of an episode
---------------------
For each way in which an episode ends, the table has the value of ``ended_by`` in the benchmark's own files, and the
state that counts:

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
thinking, are ``...``, and the episode goes on. No state ends an episode. `attune_data.Episode.outcome`
tells the last two from a stop: only that leaves a stop reason.

The files of the results
------------------------
`attune_bench.runner.episodes` describes the folder. Its results are ``results.jsonl``, and beside them ``summary.json``
has what `attune_bench.benchmarks.eibench.scoring.model_summary` gives of them.

The protocol follows EIBench's released evaluation, reflection before each reply included, with these differences:

- The instructions of both sides are our own, in English and Chinese; they ask for what the benchmark's own ask for.
  Numbers are comparable for one simulator and one version of these instructions only.
- In a charm episode, where the model speaks first, one fixed line of a user precedes its words in every request; the
  benchmark's code sends it in the first only, and then conversations that some servers refuse.
- A call that fails however often it is tried is no empty reply, which would be scored: the episode has no line in the
  results, is listed as skipped, and is tried again by the same call.
- A reply that the server says ended early is asked for once more, and then the episode is skipped likewise; a judgement
  that did is one that cannot be read.
- Reasoning that a server gives apart from the answer is not used.
- The simulator is asked for an answer of a JSON schema, where its server takes one. Repairs of an answer leave its
  texts alone, and do not close an object that was cut off.
- A ``reply`` of the simulator that is no text is an answer that cannot be read.
- A state in place of changes that is no number leaves the state as it was; there it counts 0.
- A scenario that lacks an anchor is left out, and named before the first call.
- The judgement with which a person fell silent is in the history, as an utterance without words. ``thinking`` beside
  the words of the model is what it thought before.
- ``stop_reason`` in the last utterance tells a stop of the simulator from a silence, both ``simulator_stop``.

As there, a ``continue`` stops only where it is ``no``, so that ``false`` does not; ``meta.continue`` tells what was
said. What the model wrote outside of a proper pair of tags is said aloud. The model sees its own earlier outputs with
their thinking. The last reply of a charm episode is not judged, unless `EIBenchSettings.judge_all` is set. The page
``docs/comparability.md`` has all of this as a table.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

from attune_bench.benchmarks.eibench.parsing import Reaction, read_reaction
from attune_bench.benchmarks.eibench.scoring import model_summary, score
from attune_bench.runner.calls import (
    TEXT,
    YES_NO,
    Call,
    Complete,
    integer_schema,
    message,
    object_schema,
)
from attune_bench.runner.episodes import (
    SILENCE,
    EpisodeFolder,
    EpisodeSettings,
    Language,
    Steps,
    read_output,
    read_reply_to,
    reply_to,
    run_conversation,
    visible,
)
from attune_bench.runner.prompts import Fence, Prompts, load_prompts
from attune_bench.runner.task import Task
from attune_data import Episode, Scenario
from attune_data.eibench.records import scenes
from attune_data.text import without_surrogates
from attune_metrics import anchor_reward, anchor_score
from attune_metrics.eibench import Anchors


def bundled_prompts() -> Prompts:
    """Return the bundled wording of the instructions, which one's own has to match."""
    return load_prompts(*EIBenchSettings.bundled)


MAX_ROUNDS = 8
"""How often the person judges and answers at most, where nothing else is said."""


@dataclass(frozen=True, slots=True)
class EIBenchSettings(EpisodeSettings):
    """Who talks with whom, and how.

    Parameters
    ----------
    judge_all : bool
        Whether the person also judges the last reply of a charm episode, which has one more than there are rounds.
    **others
        As of `attune_bench.runner.episodes.EpisodeSettings`: 8,192 tokens and a temperature of 0.7 on both sides are
        those of EIBench's released evaluation.

    Examples
    --------
    >>> from attune_data import load_scenarios
    >>> EIBenchSettings("vendor/model", "vendor/person").language_of(load_scenarios("demo")[0])
    'en'
    """

    bundled: ClassVar[tuple[str, str]] = ("attune_bench.benchmarks.eibench", "eibench-v2")

    _: KW_ONLY
    max_rounds: int = MAX_ROUNDS
    judge_all: bool = False

    def language_of(self, scenario: Scenario) -> Language:
        """Return the language of the instructions for a scenario."""
        person = scenario.aggressor_profile
        return self.language_for(
            (person.system_prompt, person.opening_line or "", scenario.defender_profile.system_prompt)
        )


_CHANGES = dict.fromkeys(("anger_delta", "trust_delta"), integer_schema(-10, 10))
_REACTION = object_schema({"reflection": TEXT, **_CHANGES, "reply": TEXT, "continue": YES_NO, "stop_reason": TEXT})


@dataclass(frozen=True, slots=True)
class Line:
    """One message.

    Attributes
    ----------
    by_model : bool
        Whether the model said it, rather than the person.
    raw : str
        The whole output of the model, with its thinking; of the person the words.
    said : str
        The words said aloud.
    reflection : str
        What the person thought before, which the model does not see.
    """

    by_model: bool
    raw: str
    said: str
    reflection: str = ""


class EpisodeCalls:
    """Builds the calls of one episode."""

    def __init__(self, scenario: Scenario, settings: EIBenchSettings) -> None:
        self._scenario = scenario
        self._settings = settings
        self.language = settings.language_of(scenario)

    def model(self, history: Sequence[Line]) -> Call:
        """Return the call for the model's next reply."""
        number = 1 + sum(line.by_model for line in history)
        profile = self._scenario.defender_profile.system_prompt
        messages = [message("system", f"{profile}\n\n{self._render('model')}")]
        if not history or history[0].by_model:
            messages.append(message("user", self._render("opener")))  # Many servers want a user's message first.
        messages += [message("assistant" if line.by_model else "user", line.raw) for line in history]
        return Call(f"reply-{number}", self._settings.model, "model", tuple(messages), schema_name="reply")

    def simulator(self, history: Sequence[Line], number: int, anger: int, trust: int) -> Call:
        """Return the call in which the person judges the model's last reply, in the round of a number, and answers."""
        person, most = self._scenario.aggressor_profile.system_prompt, self._settings.max_rounds
        texts = [text for line in history for text in (line.said, line.reflection)]
        fence = Fence.around(self._scenario.id, [person, *texts])
        # The reply that `judge_all` adds is judged as one of the last round.
        progress = f"{min(number, most)}/{most}"
        state = {"scene": self._scenario.scene, "anger": anger, "trust": trust, "round": progress}
        system = self._render(
            "simulator",
            profile=person.strip(),
            state=json.dumps(state),
            scene=self._render(self._scenario.scene),
            late=str(most // 2 + 1),
            last=str(most),
            boundary=fence.code,
        )
        names = {True: self._render("other"), False: self._render("own")}
        blocks = [fence.block(names[line.by_model], _with_reflection(line)) for line in history]
        latest = fence.block(names[True], history[-1].said)
        turn = self._render("turn", dialogue="\n\n".join(blocks), latest=latest)
        messages = (message("system", system), message("user", turn))
        return Call(f"round-{number}", self._settings.simulator, "simulator", messages, _REACTION, "reaction")

    def opens(self) -> bool:
        """Tell whether the model speaks first."""
        return scenes()[self._scenario.scene].opens == "model"

    def _render(self, name: str, **values: str) -> str:
        return self._settings.render(f"{self.language}/{name}", **values)


def _with_reflection(line: Line) -> str:
    return f"<think>{line.reflection}</think>\n{line.said}" if line.reflection else line.said


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
        As `complete` raised it; there is no result then.
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
    return await run_conversation(_Episode(scenario, settings), complete)


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

    def play(self) -> Steps[str]:
        """Play the rounds: yield each call, take the text of its answer; return what ended them."""
        settings, model_opens = self._settings, self._calls.opens()
        if not model_opens:
            self._person_says(visible(self._scenario.aggressor_profile.opening_line or SILENCE))
        for number in range(1, settings.max_rounds + 1):
            if not (yield from self._reply()):
                return "simulator_stop"
            if ended_by := (yield from self._judge(number)):
                return ended_by
        if model_opens:
            if not (yield from self._reply()):
                return "simulator_stop"
            if settings.judge_all and (ended_by := (yield from self._judge(settings.max_rounds + 1))):
                return ended_by
        return "max_rounds"

    def _reply(self) -> Steps[bool]:
        """Let the model speak; tell whether it said anything aloud."""
        raw = yield from reply_to(self._calls.model(self._lines))
        words, thinking = read_output(raw)
        if words:
            self._lines.append(Line(True, raw, words))
            thought = {"thinking": thinking} if thinking else {}
            self._history.append({"role": "defender", "content": words, **thought})
        return bool(words)

    def _judge(self, number: int) -> Steps[str | None]:
        """Let the person judge the last reply and answer it; return what ends the episode then, None if it goes on."""
        call = self._calls.simulator(self._lines, number, self._anger, self._trust)
        reaction, attempt, answer = yield from read_reply_to(
            call, lambda answer: read_reaction(answer, self._anger, self._trust)
        )
        if reaction is None:
            preview = without_surrogates(answer)[-_PREVIEW:]
            self._person_says(SILENCE, parse="failed", parse_failed=True, raw_preview=preview)
            return "parse_failed"
        self._take(reaction, "retried" if attempt else "repaired" if reaction.repaired else "parsed")
        return "simulator_stop" if reaction.stops or not reaction.reply else None

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

    def record(self, ended_by: str, error: str | None = None) -> Episode:
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
                "initial_anger": anger.initial,
                "initial_trust": trust.initial,
                "language": self._calls.language,
                **settings.recorded(),
                **({"licence": licence} if licence is not None else {}),
            }
        )


def _summary(scenarios: Sequence[Scenario], episodes: Sequence[Episode]) -> dict[str, Any]:
    """Return the content of ``summary.json``."""
    summary = model_summary(score(scenarios, episodes))
    for block in (summary["overall"], *summary["by_scene"].values()):
        block["goal_score"] = None
    return summary


def _judgements_read(episode: Mapping[str, Any]) -> list[bool]:
    """Return for each judgement of an episode whether it could be read, and False for a reply that ended early."""
    parses = [said.get("meta", {}).get("parse") for said in episode["history"]]
    return [parse != "failed" for parse in parses if parse is not None] + [False] * (episode.get("error") is not None)


TASK: Task[Scenario, EIBenchSettings] = EpisodeFolder(Episode, "results.jsonl", _summary).task(
    "eibench",
    "scenario",
    EIBenchSettings,
    _Episode,
    unusable=unplayable,
    answers_read=_judgements_read,
    answer='{"reply": "."}',
)
"""Scenarios, and the episodes in which a model talks with the simulated person of each."""
