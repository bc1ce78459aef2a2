"""EIBench as an environment of verifiers: ``vf-eval attune-eibench``; docs/verifiers.md has commands.

verifiers finds an environment by the name of a package. The model and the simulator are agents with one interaction an
episode. Other harnesses start a program for each turn and keep one conversation; `TurnHarness` sends a turn from this
process, and a turn may begin a new conversation, as the calls of a simulated person do.
"""

# ruff: noqa: E402 - a missing extra is named before its modules are imported

import json
from collections.abc import Iterator
from functools import cached_property
from typing import Any, Literal

from attune_data.references import require

require("verifiers.v1", "verifiers")

import openai  # type: ignore[import-not-found]  # it comes with the extra
import verifiers.v1 as vf  # type: ignore[import-not-found]  # it is an extra
from pydantic import Field
from verifiers.v1.dialects.chat import message_to_wire  # type: ignore[import-not-found]
from verifiers.v1.runtimes import ProgramResult, SubprocessConfig  # type: ignore[import-not-found]

from attune_bench.benchmarks.eibench.rollouts import episode_outcome, training_scenarios, turn_rewards
from attune_bench.benchmarks.eibench.task import TASK, EIBenchSettings, run_episode
from attune_bench.runner.calls import Call, CallFailedError, Complete, IncompleteAnswerError, Message, Role
from attune_bench.runner.episodes import MAX_TOKENS, TEMPERATURE, Language
from attune_bench.runner.task import Source
from attune_data import Episode, Scenario

__all__ = ["EpisodeEnv", "ScenarioTaskset", "TurnHarness"]


class TurnHarness(vf.Harness[vf.HarnessConfig]):  # type: ignore[misc]  # The base class is of an extra.
    """Sends each turn to the agent's model, without tools.

    A turn that begins with a system message is a conversation of its own; any other goes on with the last one.
    """

    APPENDS_SYSTEM_PROMPT = True
    SUPPORTS_RESUME = True
    EXECUTES_CODE = False
    NEEDS_CONTAINER = False

    async def launch(
        self, ctx: Any, _trace: Any, _runtime: Any, endpoint: str, secret: str, _mcp_urls: object, data: Any
    ) -> Any:
        """Send the messages of a prompt."""
        thread = [message_to_wire(message) for message in data.prompt]
        # How long a turn may take is a limit of the agent.
        async with openai.AsyncOpenAI(base_url=endpoint, api_key=secret, timeout=None) as client:
            try:
                await client.chat.completions.create(model=ctx.model, messages=thread)
            except openai.APIError as error:
                return ProgramResult(1, "", str(error))
        return ProgramResult(0, "", "")

    async def resume(self, *given: Any) -> Any:
        """Send a turn."""
        *where, data, messages, _ = given
        if messages[0].role == "system":
            return await self.launch(*(*where, data.model_copy(update={"prompt": messages})))
        return await super().resume(*given)


def complete_by(interactions: dict[Role, Any]) -> Complete:
    """Return a function that makes the calls of a task by interactions, one interaction for each role.

    A call that continues its role's last call sends only the new messages: the model's own words stay as it said them,
    token for token.

    Parameters
    ----------
    interactions : dict of str to Interaction
        By role; the harness of each is `TurnHarness`.

    Returns
    -------
    callable
        Raises `CallFailedError` if there is no answer, or if the model's answer was cut off: after another request its
        first half would stay in the trace that is trained on. A cut-off answer of another role is an
        `IncompleteAnswerError`.
    """
    last: dict[Role, tuple[Message, ...]] = {}

    async def complete(call: Call, _attempt: int) -> str:
        interaction, before = interactions[call.role], last.get(call.role, ())
        goes_on = 0 < len(before) < len(call.messages) and call.messages[: len(before)] == before
        # Behind what was said before is the answer.
        new = call.messages[len(before) + 1 :] if goes_on else call.messages
        last[call.role] = call.messages
        segment = await interaction.turn([dict(message) for message in new])
        if segment.terminated:
            error = interaction.trace.last_error
            why = f"{error.type}: {error.message}" if error else interaction.trace.stop_condition
            raise CallFailedError(f"{call.id}: no answer of the {call.role}: {why}")
        if interaction.trace.calls[-1].finish_reason == "length":
            error_of = CallFailedError if call.role == "model" else IncompleteAnswerError
            raise error_of(f"{call.id}: the answer of the {call.role} was cut off")
        return segment.messages[-1].content or ""

    return complete


class ScenarioConfig(vf.TasksetConfig):  # type: ignore[misc]  # The base class is of an extra.
    """The scenarios to play, as for `training_scenarios`."""

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
        No model is named for the simulator: the model in training would play the people.
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
