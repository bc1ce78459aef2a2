"""The real verifiers: what its page says, and the episodes of a run."""

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from documentation import blocks_of, run_block
from environments import Shell
from interrupts import SCRIPT
from model_server import Json, ModelServer, said, talk

from attune_bench import score
from attune_bench.benchmarks.eibench.rollouts import episode_outcome, turn_rewards
from attune_data import load_episodes, load_scenarios

pytestmark = pytest.mark.slow

PageShell = Callable[..., Shell]


@pytest.fixture
def verifiers(page_shell: PageShell) -> Shell:
    return page_shell("verifiers.md")


def played(folder: Path) -> list[Json]:
    """Return the episodes of verifiers in a folder."""
    [path] = folder.rglob("traces.jsonl")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_its_episodes_are_those_of_a_run(verifiers: Shell, tmp_path: Path) -> None:
    commands, read = blocks_of("verifiers.md")

    def with_white_space(body: Json) -> str:
        # A run sends its earlier words without white space around them.
        messages = [message | {"content": message["content"].strip()} for message in body["messages"]]
        return talk(body | {"messages": messages}) + ("\n" if body["model"] == "vendor/model" else "")

    with ModelServer(answer=with_white_space) as server:
        printed = run_block(commands, verifiers, tmp_path, server=server.url)
        asked = ["run", "local", "vendor/model", "demo", "--benchmark=eibench", "--simulator-model=vendor/person"]
        output = str(tmp_path / "runs")
        subprocess.run([SCRIPT, *asked, "--free-json", f"--base-url={server.url}", "-o", output], check=True)
    of_run = {episode.scenario_id: episode for episode in load_episodes(tmp_path / "runs")}
    scenarios = {scenario.id: scenario for scenario in load_scenarios("demo")}
    rewards = []
    for episode in played(tmp_path / "played"):
        name = episode["task"]["data"]["name"]
        model, simulator = sorted(episode["traces"], key=lambda trace: str(trace["agent"]["name"]))
        assert (model["agent"]["name"], simulator["agent"]["name"]) == ("model", "simulator")
        assert not simulator["agent"].get("trainable", True)
        expected = of_run.pop(name)
        own = model["info"]["episode"]
        assert (own["temperature"], own["answer_format"]) == (0.7, "free")
        for field in ("history", "ended_by", "final_anger", "final_trust", "prompt_hash", "scenario_hash"):
            assert own[field] == json.loads(expected.to_json())[field], field
        said_aloud = [node for node in model["nodes"] if node["sampled"]]
        assert model["info"]["turn_rewards"] == turn_rewards(expected, turns=len(said_aloud))
        assert model["rewards"]["outcome"]["score"] == episode_outcome(scenarios[name], expected)
        rewards.append(model["rewards"]["outcome"]["score"])
        # The model has one conversation, in its own words: what ends in white space would else begin another.
        parents = [node.get("parent") for node in model["nodes"]]
        assert sorted(parents[1:]) == [*range(len(parents) - 1)]
        assert all(node["message"]["content"].endswith("\n") for node in said_aloud)
    assert of_run == {}
    assert len(set(rewards)) > 10
    # What is printed is the mean reward of the model, and that of the report where failed episodes count as they ended.
    alike = score(scenarios.values(), load_episodes(tmp_path / "runs")).variant(failed="start", rule="directed")
    value = alike.summary(metrics=["reward"], resamples=1)["value"].item()
    assert fmean(rewards) == pytest.approx(value, abs=1e-12)
    assert f"reward {value:.2f}" in printed
    numbers = re.compile("^vendor/model .*[0-9].*", re.MULTILINE)
    expected_report = score(scenarios.values(), load_episodes(tmp_path / "runs")).report()
    assert numbers.findall(run_block(read, verifiers, tmp_path)) == numbers.findall(expected_report) != []


def test_what_it_refuses_and_what_fails(verifiers: Shell, tmp_path: Path) -> None:
    start = "vf-eval attune-eibench --model vendor/model --client.api-key-var MODEL_API_KEY --push False"
    person = "--env.simulator.model vendor/person"
    keys = {"MODEL_API_KEY": "secret-of-loop"}
    for options, words in {
        "": "name the model that plays the people: --env.simulator.model",
        f"{person} --env.taskset.split test": "the test split is for evaluation",
        f"{person} --env.taskset.source nowhere": "no such file or folder: nowhere",
        f"{person} --env.max-rounds 0": "greater than or equal to 1",
    }.items():
        printed = verifiers(f"! {start} {options} --output-dir refused 2>&1", tmp_path, **keys)
        assert words in " ".join(printed.split())

    def cut_off(_number: int, body: Json) -> Any:
        return said("Well, I", "length") if body["model"] == "vendor/model" else None

    with ModelServer(cut_off, answer=talk) as server:
        verifiers(
            f"{start} {person} --client.base-url {server.url} -n 2 --output-dir failed",
            tmp_path,
            **keys,
        )
    episodes = played(tmp_path / "failed")
    assert len(episodes) == 2
    for episode in episodes:
        assert not episode["ok"]
        assert "reply-1: the answer of the model was cut off" in episode["errors"][0]["message"]
        assert not any(trace["rewards"] for trace in episode["traces"])
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or keys["MODEL_API_KEY"] not in path.read_text(encoding="utf-8", errors="replace")
