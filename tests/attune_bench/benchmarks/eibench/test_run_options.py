"""What the options of `run` with scenarios of EIBench do to the requests, the results and what is told."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from model_server import ModelServer

from attune_bench.benchmarks.eibench.task import TASK, EIBenchSettings
from attune_bench.runner import endpoint, run_sync
from attune_data import load_episodes, load_scenarios

Invoke = Callable[..., tuple[int, str, str]]

SIMULATOR = ["--benchmark", "eibench", "--simulator-model", "vendor/person"]


def willing(body: dict[str, Any]) -> str:
    """Answer as a side of an episode that goes on to its end, and a little better for the person each round."""
    if body["model"] != "vendor/person":
        return "<think>Calm.</think>Go on."
    return json.dumps({"anger_delta": -1, "trust_delta": 1, "reply": "Hm.", "continue": "yes"})


@pytest.mark.parametrize(("options", "judgements"), [([], 2), (["--judge-all"], 3)])
def test_the_last_reply_of_charm_is_judged_where_it_is_asked_for(
    options: list[str], judgements: int, call: Invoke, tmp_path: Path
) -> None:
    with ModelServer(answer=willing) as server:
        given = [*SIMULATOR, "--base-url", server.url, "-o", tmp_path, "--where", "scene=charm", "--limit", 1]
        assert call("run", "local", "m", "demo", *given, "--max-rounds", 2, *options)[0] == 0
        assert [sum(body["model"] == name for body in server.bodies) for name in ("m", "vendor/person")] == [
            3,
            judgements,
        ]
    (episode,) = load_episodes(tmp_path / "m")
    initial, _, _ = load_scenarios("demo")["demo_charm_01"].anchors("anger")
    assert (episode.final_anger, episode.outcome) == (initial - judgements, "max_rounds")
    # The history alternates: three replies, and what the person said between them.
    assert (episode.n_rounds, len(episode.history)) == ((3 + judgements) // 2, 3 + judgements)


def test_records_that_had_to_be_left_out_are_told(call: Invoke, tmp_path: Path) -> None:
    line = load_scenarios("demo")[0].to_line()
    (tmp_path / "some.jsonl").write_bytes(line + b"\n{}\n")
    status, out, err = call("run", "local", "m", tmp_path / "some.jsonl", *SIMULATOR, "--dry-run")
    assert (status, out.startswith("1 scenario: 16 calls")) == (0, True)
    assert "1 error in the files; the first: some.jsonl:2 $: " in err


def test_scenarios_without_an_anchor_are_named_before_the_first_call_and_not_counted(
    call: Invoke, tmp_path: Path
) -> None:
    scenarios = load_scenarios("demo")[:12]
    records = [json.loads(scenario.to_line()) for scenario in scenarios]
    for record in records[1:]:
        del record["rub_goals"]["target_trust"]
    (tmp_path / "some.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in records))
    named = "; ".join(f"scenario '{one.id}' has no rub_goals.target_trust" for one in scenarios[1:11])
    line = f"attune-bench: left out: 11 scenarios cannot be run ({named}; and 1 more)\n"
    with ModelServer(answer=willing) as server:
        given = ["run", "local", "m", tmp_path / "some.jsonl", *SIMULATOR, "--base-url", server.url, "-o", tmp_path]
        status, out, err = call(*given, "--dry-run")
        assert (status, server.calls, err.endswith(line)) == (0, 0, True)
        assert out.startswith("1 scenario: 16 calls at most, and up to 2 more for each answer that cannot be read\n")
        status, out, err = call(*given)
        assert (status, err.count(line)) == (0, 1)
    assert "1/1 scenarios" in out
    assert "not finished" not in err
    assert not list(tmp_path.rglob("_skipped*"))


@pytest.mark.parametrize("options", [(), ("--free-json",)])
def test_a_dry_run_says_how_often_a_simulator_is_asked(options: tuple[str, ...], call: Invoke) -> None:
    _, out, _ = call("run", "local", "m", "demo", *SIMULATOR, "--limit", 1, "--dry-run", *options)
    assert "and up to 2 more for each answer that cannot be read" in out


@pytest.mark.slow
def test_another_provider_of_the_simulator_is_another_configuration(tmp_path: Path) -> None:
    settings = EIBenchSettings("m", "vendor/person", max_rounds=1, max_tokens=300)
    hashes = {}
    with ModelServer(answer=willing) as server:
        where = endpoint("local", base_url=server.url)
        other = replace(where, provider="openrouter")
        for name, servers in {"same": (where, where), "model": (other, where), "simulator": (where, other)}.items():
            run_sync(
                TASK,
                load_scenarios("demo")[:1],
                settings,
                {"model": servers[0], "simulator": servers[1]},
                output=tmp_path / name,
            )
            (episode,) = load_episodes(tmp_path / name / "m")
            hashes[name] = episode.config_hash
    # Who serves the model is the model's own; who serves the simulator is what all models have in common.
    assert hashes["model"] == hashes["same"] != hashes["simulator"]


def test_an_answer_has_as_many_tokens_as_in_the_benchmark(tmp_path: Path) -> None:
    with ModelServer(answer=willing) as server:
        where = endpoint("local", base_url=server.url)
        settings = EIBenchSettings("m", "vendor/person", max_rounds=1)
        run_sync(TASK, load_scenarios("demo")[:1], settings, where, output=tmp_path)
        assert {body["max_tokens"] for body in server.bodies} == {8192}
