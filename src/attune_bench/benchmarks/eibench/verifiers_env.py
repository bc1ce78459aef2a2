"""EIBench as an environment of verifiers: a model talks with simulated people; docs/verifiers.md has commands."""

# ruff: noqa: E402 - a missing extra is named before its modules are imported

import json
from collections.abc import Iterator
from functools import cached_property
from typing import Any, Literal

from attune_data.references import require

require("verifiers.v1", "verifiers")

import verifiers.v1 as vf  # type: ignore[import-not-found]  # it is an extra
from pydantic import Field
from verifiers.v1.runtimes import SubprocessConfig  # type: ignore[import-not-found]

from attune_bench.adapters.verifiers import TurnHarness, complete_by
from attune_bench.benchmarks.eibench.rollouts import episode_outcome, training_scenarios, turn_rewards
from attune_bench.benchmarks.eibench.task import MAX_TOKENS, TASK, TEMPERATURE, EIBenchSettings, Language, run_episode
from attune_bench.runner.task import Source
from attune_data import Episode, Scenario


class ScenarioConfig(vf.TasksetConfig):  # type: ignore[misc]  # The base class is of an extra.
    """Which scenarios are played, as for `training_scenarios`."""

    source: str = "demo"
    split: Literal["train", "test"] = "train"
    test_is_meant: bool = False


class ScenarioTaskset(vf.Taskset[vf.Task, ScenarioConfig]):  # type: ignore[misc]
    """The scenarios; a task has the id of one, and no text."""

    @cached_property
    def scenarios(self) -> dict[str, Scenario]:
        """The scenarios by id."""
        config = self.config
        found = training_scenarios(config.source, split=config.split, test_is_meant=config.test_is_meant)
        return {scenario.id: scenario for scenario in found}

    def load(self) -> Iterator[Any]:
        """Yield a task for each scenario."""
        for name in self.scenarios:
            yield vf.Task(vf.TaskData(id=name, name=name))


class EpisodeConfig(vf.EnvConfig):  # type: ignore[misc]
    """Who talks with whom, and how.

    Replies of the model are decoded as the run says, judgements of the simulator as in `attune-bench run`; ``sampling``
    of a role says otherwise.
    """

    model: vf.AgentConfig = vf.AgentConfig(runtime=SubprocessConfig())
    simulator: vf.AgentConfig = vf.AgentConfig(
        runtime=SubprocessConfig(), sampling=vf.SamplingConfig(temperature=TEMPERATURE, max_tokens=MAX_TOKENS)
    )
    max_rounds: int = Field(8, ge=1)
    judge_all: bool = False
    language: Language | None = None


class EpisodeEnv(vf.Env[EpisodeConfig]):  # type: ignore[misc]
    """Plays an episode of a scenario.

    The reward is `episode_outcome`; the trace of the model has the record of the episode and the reward of each turn
    under ``info``.

    Raises
    ------
    ValueError
        No model is named for the simulator: the one that is trained would play the people.
    """

    def __init__(self, config: EpisodeConfig) -> None:
        if not config.simulator.model:
            raise ValueError("name the model that plays the people: --env.simulator.model")
        super().__init__(config)

    async def setup(self, agents: Any) -> None:
        """Keep the words of the people out of training; refuse harnesses that would ask otherwise."""
        agents.simulator.trainable = False
        for agent in (agents.model, agents.simulator):
            if not isinstance(agent.harness, TurnHarness):
                raise ValueError(f"harness {agent.harness.config.id} cannot play: leave out --env.<role>.harness.id")

    async def run(self, task: Any, agents: Any) -> None:
        """Play an episode."""
        of_model, of_simulator = agents.model.config, agents.simulator.config
        settings = EIBenchSettings(
            of_model.model,
            of_simulator.model,
            max_rounds=self.config.max_rounds,
            judge_all=self.config.judge_all,
            language=self.config.language,
            temperature=of_model.sampling.temperature,
            simulator_temperature=of_simulator.sampling.temperature,
            max_tokens=of_model.sampling.max_tokens or MAX_TOKENS,
            answer_format="free",
        )
        scenario = self.taskset.scenarios[task.data.id]
        async with agents.model.interaction(task) as model, agents.simulator.interaction(task) as simulator:
            complete = complete_by({"model": model, "simulator": simulator})
            episode = await run_episode(scenario, complete, settings)
            source = Source(dict.fromkeys(settings.decoding, "verifiers"), None)
            episode = episode.model_copy(update=dict(TASK.fields(scenario, settings, source)))
            model.trace.info["episode"] = json.loads(episode.to_json())

    async def finalize(self, task: Any, episode: Any) -> None:
        """Reward the model."""
        for trace in episode.traces:
            if "episode" in trace.info:
                played = Episode.model_validate(trace.info["episode"])
                trace.info["turn_rewards"] = turn_rewards(played, turns=trace.num_turns)
                trace.record_reward("outcome", episode_outcome(self.taskset.scenarios[task.data.id], played))
                trace.record_metrics({"anger": played.final_anger, "trust": played.final_trust})
