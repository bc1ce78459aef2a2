"""Episodes as rollouts of a model in training; docs/training.md has a script.

A rollout is a whole episode: what the model said and, masked, what the person said.
"""

import asyncio
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from attune_bench.benchmarks.eibench.task import EIBenchSettings, run_episode, unplayable
from attune_bench.runner.calls import Call, Complete, Message
from attune_data import Episode, Scenario, load_scenarios
from attune_data.references import require
from attune_metrics.eibench import Anchors, anchor_reward
from attune_metrics.metric import MetricInputError
from attune_metrics.turn_credit import process_rewards

_MARK = "\u241e"  # stands for an assistant's words while a template is looked at


def training_scenarios(source: str, *, split: str = "train", test_is_meant: bool = False) -> list[Scenario]:
    """Return the scenarios of a split that can be played, for training.

    Parameters
    ----------
    source : str
        As for `attune_data.load_scenarios`.
    split : str
        ``train`` or ``test``; a scenario with an id that names no split belongs to both.
    test_is_meant : bool
        Must be true for the test split: after training on it, no score on it means anything.

    Raises
    ------
    ValueError
        The test split is asked for without `test_is_meant`, or no scenario can be played.
    SourceError
        The source cannot be read.
    """
    if split not in ("train", "test"):
        raise ValueError(f"split is {split!r}; expected train or test")
    if split == "test" and not test_is_meant:
        raise ValueError("the test split is for evaluation; no score on it counts after training (test_is_meant=True)")
    found = [one for one in load_scenarios(source) if one.split_of_id in (None, split) and not unplayable(one)]
    if not found:
        raise ValueError(f"{source} has no scenario of the {split} split that can be played")
    return found


def episode_outcome(scenario: Scenario, episode: Episode) -> float:
    """Return the reward of an episode for training: anger counts as better lower, trust as better higher.

    Returns
    -------
    float
        -1 to 1, higher is better: `attune_metrics.eibench.anchor_reward` with ``rule="directed"``.
    """
    anger, trust = Anchors(*scenario.anchors("anger")), Anchors(*scenario.anchors("trust"))
    return anchor_reward(anger, trust, *_state(episode.final_anger, episode.final_trust), rule="directed")


def turn_rewards(episode: Episode, *, turns: int) -> list[float]:
    """Return the process reward of each of the model's turns: the change at the next judgement, 0 without a judgement.

    Parameters
    ----------
    episode : Episode
        What was played.
    turns : int
        The model's turns: one more than its utterances if the last turn said nothing aloud.

    Returns
    -------
    list of float
        -0.1 to 0.1 each, see `attune_metrics.turn_credit.process_rewards`.
    """
    changes: list[tuple[int, int]] = []
    before = _state(episode.initial_anger, episode.initial_trust)
    for utterance in episode.history:
        if utterance.role == "defender":
            changes.append((0, 0))
            continue
        now = before if utterance.meta is None else _state(utterance.meta.anger, utterance.meta.trust)
        if changes:
            changes[-1] = (now[0] - before[0], now[1] - before[1])
        before = now
    found: list[float] = process_rewards([anger for anger, _ in changes], [trust for _, trust in changes]).tolist()
    return [*found, *[0.0] * (turns - len(found))]


def _state(anger: int | None, trust: int | None) -> tuple[int, int]:
    if anger is None or trust is None:
        raise MetricInputError("the episode lacks a state; did attune-bench play it?")
    return anger, trust


def episode_reward(completions: Sequence[Any], *, outcome: Sequence[float], **_: Any) -> list[float]:
    """Return the outcomes that `EpisodeRollout` gave: a reward function of TRL."""
    if len(outcome) != len(completions):
        raise MetricInputError(f"{len(outcome)} outcomes for {len(completions)} rollouts; is the rollout_func ours?")
    return list(outcome)


@dataclass
class _Played:
    """A rollout in progress: its tokens, and the turn of each token, -1 for tokens of the person."""

    prompt: list[int] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    turns: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    seen: int = 0
    said: int = 0


class EpisodeRollout:
    """Plays an episode for each prompt: ``rollout_func`` of `GRPOTrainer`.

    All episodes of a step are played at once: the trainer's own generation is asked for the next turn of all of them
    together.

    Parameters
    ----------
    scenarios : sequence of Scenario
        From `training_scenarios`. A prompt is the id of one; see `prompts`.
    simulator : callable
        ``await simulator(call, attempt)`` returns what the simulator of the person answers to a call.
    settings : EIBenchSettings, optional
        How episodes are played; its names of models are recorded only.

    Examples
    --------
    A server of the OpenAI protocol plays the people:

        client = openai.AsyncOpenAI(base_url="http://localhost:8000/v1", api_key="none")

        async def simulator(call, attempt):
            answer = await client.chat.completions.create(model="vendor/person", messages=list(call.messages))
            return answer.choices[0].message.content
    """

    def __init__(
        self, scenarios: Sequence[Scenario], simulator: Complete, settings: EIBenchSettings | None = None
    ) -> None:
        self._scenarios = {scenario.id: scenario for scenario in scenarios}
        self._simulator = simulator
        self._settings = settings or EIBenchSettings("policy", "simulator")
        # One loop for all steps: connections of a client belong to the loop that they were made in.
        self._loop = asyncio.Runner()
        weakref.finalize(self, self._loop.close)

    @property
    def prompts(self) -> Any:
        """The ``train_dataset`` of the trainer: a row a scenario."""
        return require("datasets", "trl").Dataset.from_list([{"prompt": one} for one in self._scenarios])

    def __call__(self, prompts: Sequence[str], trainer: Any) -> dict[str, Any]:
        """Play an episode for each prompt; return tokens, what masks the person's, outcomes and rewards of turns."""
        if trainer.accelerator.num_processes > 1:
            # Processes generate together, and the number of generations depends on how long a process's episodes last.
            raise ValueError("episodes are played in one process; with several the model would wait for ever")
        scenarios = [self._scenarios[prompt] for prompt in prompts]
        played, episodes = self._loop.run(_Table(scenarios, self._simulator, self._settings, trainer).play())
        has_logprobs = all(len(one.logprobs) == len(one.tokens) for one in played)
        return {
            "prompt_ids": [one.prompt for one in played],
            "completion_ids": [one.tokens for one in played],
            "logprobs": [one.logprobs for one in played] if has_logprobs else None,
            "env_mask": [[int(turn >= 0) for turn in one.turns] for one in played],
            "token_turns": [one.turns for one in played],
            "outcome": [episode_outcome(*pair) for pair in zip(scenarios, episodes, strict=True)],
            "turn_rewards": [
                turn_rewards(episode, turns=one.said) for one, episode in zip(played, episodes, strict=True)
            ],
        }


class _Table:
    """The episodes of one step: each waits for the model until all others wait too, or are done."""

    def __init__(
        self, scenarios: Sequence[Scenario], simulator: Complete, settings: EIBenchSettings, trainer: Any
    ) -> None:
        self._scenarios = scenarios
        self._simulator = simulator
        self._settings = settings
        self._trainer = trainer
        self._tokenizer = trainer.processing_class
        self._waiting: list[tuple[_Played, asyncio.Future[str]]] = []
        self._playing = len(scenarios)

    async def play(self) -> tuple[list[_Played], list[Episode]]:
        """Play all episodes."""
        played = [_Played() for _ in self._scenarios]
        episodes = await asyncio.gather(*map(self._play, self._scenarios, played))
        return played, list(episodes)

    async def _play(self, scenario: Scenario, own: _Played) -> Episode:
        async def complete(call: Call, attempt: int) -> str:
            if call.role != "model":
                return await self._simulator(call, attempt)
            self._extend(own, call.messages)
            answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
            self._waiting.append((own, answer))
            self._generate_if_all_wait()
            return await answer

        try:
            return await run_episode(scenario, complete, self._settings)
        finally:
            self._playing -= 1
            self._generate_if_all_wait()

    def _generate_if_all_wait(self) -> None:
        """Ask the model for the next turn of all episodes, once none waits for its person."""
        if not self._waiting or len(self._waiting) < self._playing:
            return
        waiting, self._waiting = self._waiting, []
        threads = [own.prompt + own.tokens for own, _ in waiting]
        ids, logprobs = self._trainer._generate_single_turn(threads, None, {}, 1)
        for place, (own, answer) in enumerate(waiting):
            own.tokens += ids[place]
            own.turns += [own.said] * len(ids[place])
            own.logprobs += logprobs[place] if logprobs is not None else []
            own.said += 1
            answer.set_result(self._tokenizer.decode(ids[place], skip_special_tokens=True))

    def _extend(self, own: _Played, messages: Sequence[Message]) -> None:
        """Add what was said since the model's last turn to its tokens."""
        if not own.prompt:
            own.prompt = self._ids(self._template(messages))
        else:
            # Behind the model's own words, which are there as it said them.
            since = list(messages[own.seen + 1 :])
            text = self._template([{"role": "user", "content": "."}, {"role": "assistant", "content": _MARK}, *since])
            between = text.rpartition(_MARK)[2]
            end = self._tokenizer.eos_token or ""
            if end and own.tokens[-1] == self._tokenizer.eos_token_id:
                between = between.removeprefix(end)
            ids = self._ids(between)
            own.tokens += ids
            own.turns += [-1] * len(ids)
            own.logprobs += [0.0] * len(ids)
        own.seen = len(messages)

    def _template(self, messages: Sequence[Mapping[str, str]]) -> str:
        text: str = self._tokenizer.apply_chat_template(
            [dict(message) for message in messages],
            add_generation_prompt=True,
            tokenize=False,
            chat_template=self._trainer.chat_template,
            **self._trainer.chat_template_kwargs,
        )
        return text

    def _ids(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer(text, add_special_tokens=False)["input_ids"]
        return ids
