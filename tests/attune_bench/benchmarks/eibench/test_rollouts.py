"""Episodes as rollouts: tokens that are the thread, credit on the right ones, and no test split by mistake."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from attune_bench.benchmarks.eibench import rollouts
from attune_bench.benchmarks.eibench.rollouts import (
    EpisodeRollout,
    episode_outcome,
    episode_reward,
    training_scenarios,
    turn_rewards,
)
from attune_bench.benchmarks.eibench.task import EIBenchSettings
from attune_bench.runner.calls import Call
from attune_data import Scenario, load_episodes, load_scenarios
from attune_metrics.metric import MetricInputError
from attune_metrics.turn_credit import token_advantages

END = "\x03"


class Letters:
    """A tokenizer: a token a letter."""

    eos_token, eos_token_id = END, ord(END)

    def __call__(self, text: str, *, add_special_tokens: bool) -> dict[str, list[int]]:
        assert not add_special_tokens
        return {"input_ids": [ord(letter) for letter in text]}

    def decode(self, ids: Sequence[int], *, skip_special_tokens: bool) -> str:
        return "".join(chr(one) for one in ids if not (skip_special_tokens and one == self.eos_token_id))

    def apply_chat_template(
        self,
        messages: Sequence[Mapping[str, str]],
        *,
        add_generation_prompt: bool,
        tokenize: bool,
        chat_template: str | None = None,
        mark: str = "",
    ) -> str:
        assert not tokenize
        assert chat_template in (None, "own")
        said = mark + "".join(f"[{message['role']}]{message['content']}{END}\n" for message in messages)
        return said + "[assistant]" * add_generation_prompt


class Policy:
    """A trainer as far as rollouts need it, whose model says what it is given to say."""

    processing_class = Letters()
    accelerator = SimpleNamespace(num_processes=1)
    chat_template: str | None = None
    chat_template_kwargs: Mapping[str, str] = {}

    def __init__(self, *says: str, logprobs: bool = True) -> None:
        self.says, self.logprobs, self.threads = says, logprobs, list[list[str]]()

    def _generate_single_turn(
        self, prompt_ids: list[list[int]], _images: None, _fields: dict[str, Any], generations: int
    ) -> tuple[list[list[int]], list[list[float]] | None]:
        assert generations == 1
        self.threads.append(["".join(map(chr, ids)) for ids in prompt_ids])
        said = self.says[min(len(self.threads), len(self.says)) - 1]
        ids = [[ord(letter) for letter in f"{said}{END}"] for _ in prompt_ids]
        return ids, [[-0.5] * len(one) for one in ids] if self.logprobs else None


async def simulator(call: Call, _attempt: int) -> str:
    """Answer as a person who calms down, and stops in the third round."""
    number = int(call.id.removeprefix("round-"))
    last = {"continue": "no", "stop_reason": "settled"} if number == 3 else {"continue": "yes"}
    return json.dumps({"anger_delta": -number, "trust_delta": 2, "reply": f"Hm {number}.", **last})


@pytest.fixture
def scenarios() -> list[Scenario]:
    return training_scenarios("demo")


def test_tokens_are_the_thread_that_the_model_was_sent(
    scenarios: list[Scenario], monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[str] = []
    extend = rollouts._Table._extend

    def noted(table: Any, own: Any, messages: Any) -> None:
        extend(table, own, messages)
        thread = Letters().apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
        sent.append(thread)
        assert "".join(map(chr, own.prompt + own.tokens)) == thread

    monkeypatch.setattr(rollouts._Table, "_extend", noted)
    policy = Policy("<think>Tired.</think>Sit down.", "I see.")
    rollout = EpisodeRollout(scenarios, simulator)
    asked = [row["prompt"] for row in rollout.prompts for _ in range(2)]
    found = rollout(asked, policy)
    assert len(sent) == sum(map(len, policy.threads)) > len(asked)
    for mask, turns, ids, logprobs in zip(
        found["env_mask"], found["token_turns"], found["completion_ids"], found["logprobs"], strict=True
    ):
        assert [int(turn >= 0) for turn in turns] == mask
        said = "".join(chr(one) for one, by_model in zip(ids, mask, strict=True) if by_model)
        assert said == f"<think>Tired.</think>Sit down.{END}" + f"I see.{END}" * (max(turns))
        assert [one != 0 for one in logprobs] == [bool(by_model) for by_model in mask]


def test_all_episodes_are_asked_about_together(scenarios: list[Scenario]) -> None:
    policy = Policy("I see.", logprobs=False)
    found = EpisodeRollout(scenarios, simulator)([one.id for one in scenarios], policy)
    assert len(policy.threads[0]) == len(scenarios)
    assert len(policy.threads) == max(max(turns) for turns in found["token_turns"]) + 1
    assert found["logprobs"] is None


def test_outcome_and_turns_are_those_of_the_states(scenarios: list[Scenario]) -> None:
    [support] = [one for one in scenarios if one.id == "demo_support_01"]
    found = EpisodeRollout([support], simulator)([support.id], Policy("I see."))
    assert found["turn_rewards"] == [pytest.approx([0.5 * (number + 2) / 100 for number in (1, 2, 3)])]
    anger, trust = support.anchors("anger")[0] - 6, support.anchors("trust")[0] + 6
    [episode] = [one for one in load_episodes("demo") if one.scenario_id == support.id][:1]
    ended = episode.model_copy(update={"final_anger": anger, "final_trust": trust})
    assert found["outcome"] == [episode_outcome(support, ended)]
    assert episode_reward(["..."], outcome=found["outcome"], prompts=["p"]) == found["outcome"]


def test_a_turn_in_which_nothing_is_said_aloud_has_no_reward(scenarios: list[Scenario]) -> None:
    found = EpisodeRollout(scenarios[:1], simulator)([scenarios[0].id], Policy("I see.", "<think>Hm.</think>"))
    [turns], [rewards] = found["token_turns"], found["turn_rewards"]
    assert (max(turns), len(rewards), rewards[-1]) == (1, 2, 0.0)
    token_advantages([0.0], [rewards], [turns], len(turns))


def test_recorded_episodes_have_a_reward_for_each_turn() -> None:
    for episode in load_episodes("demo"):
        by_model = sum(utterance.role == "defender" for utterance in episode.history)
        assert len(turn_rewards(episode, turns=by_model)) == by_model
        assert turn_rewards(episode, turns=by_model + 1) == [*turn_rewards(episode, turns=by_model), 0.0]


def test_credit_is_on_the_tokens_of_its_turn() -> None:
    rewards = [[0.015, -0.035, 0.0], [0.1]]
    turns = [[0, 0, -1, 1, -1, 2, 2], [0]]
    found = token_advantages([0.2, -0.2], rewards, turns, 9)
    assert found.shape == (2, 9)
    assert found[0].round(3).tolist() == [0.525, 0.525, 0, -0.225, 0, 0.3, 0.3, 0, 0]
    assert found[1].tolist() == [-0.2, *[0.0] * 8]
    assert np.array_equal(token_advantages([0.2, -0.2], rewards, turns, 9, alpha=0)[0, :2], [0.2, 0.2])


def test_parts_that_do_not_fit_are_named(scenarios: list[Scenario]) -> None:
    with pytest.raises(MetricInputError, match="rollout 1 has a token of turn 2, but rewards of 1 turns"):
        token_advantages([0.0, 0.0], [[0.0], [0.0]], [[0], [2]], 3)
    with pytest.raises(MetricInputError, match="1 outcomes for 2 rollouts; is the rollout_func ours"):
        episode_reward(["a", "b"], outcome=[0.0])
    with pytest.raises(MetricInputError, match="the episode lacks a state"):
        episode_outcome(scenarios[0], load_episodes("demo")[0].model_copy(update={"final_anger": None}))


def test_the_test_split_is_refused_unless_it_is_meant(tmp_path: Path) -> None:
    scenario = json.loads(load_scenarios("demo")[0].to_line())
    with (tmp_path / "scenarios.jsonl").open("wb") as file:
        for name in ("scene_support_gen_1_1", "scene_support_1"):
            file.write(json.dumps({**scenario, "id": name}).encode() + b"\n")
    source = str(tmp_path / "scenarios.jsonl")
    assert [one.split_of_id for one in training_scenarios(source)] == ["train"]
    with pytest.raises(ValueError, match="the test split is for evaluation"):
        training_scenarios(source, split="test")
    assert [one.split_of_id for one in training_scenarios(source, split="test", test_is_meant=True)] == ["test"]
    with pytest.raises(ValueError, match="expected train or test"):
        training_scenarios(source, split="validation")


def test_settings_say_how_episodes_are_played(scenarios: list[Scenario]) -> None:
    settings = EIBenchSettings("policy", "simulator", max_rounds=1)
    policy = Policy("I see.")
    found = EpisodeRollout(scenarios[:1], simulator, settings)([scenarios[0].id], policy)
    assert max(found["token_turns"][0]) == 0


def test_all_steps_have_one_loop_for_the_connections_of_the_simulator(scenarios: list[Scenario]) -> None:
    loops = set()

    async def noting(call: Call, attempt: int) -> str:
        loops.add(id(asyncio.get_running_loop()))
        return await simulator(call, attempt)

    rollout = EpisodeRollout(scenarios[:1], noting)
    for _ in range(3):
        rollout([scenarios[0].id], Policy("I see."))
    assert len(loops) == 1
    assert not rollout._loop.get_loop().is_closed()


def test_templates_and_their_options_are_those_of_the_trainer(scenarios: list[Scenario]) -> None:
    policy = Policy("I see.")
    policy.chat_template, policy.chat_template_kwargs = "own", {"mark": "~"}
    EpisodeRollout(scenarios[:1], simulator)([scenarios[0].id], policy)
    assert all(thread.startswith("~[system]") for threads in policy.threads for thread in threads)


def test_several_processes_are_refused(scenarios: list[Scenario]) -> None:
    policy = Policy("I see.")
    policy.accelerator = SimpleNamespace(num_processes=2)
    with pytest.raises(ValueError, match="episodes are played in one process"):
        EpisodeRollout(scenarios[:1], simulator)([scenarios[0].id], policy)
