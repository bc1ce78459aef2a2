"""The switch to free answers within a folder: episodes of one configuration, and kills at any moment."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from model_server import Json, ModelServer, answer_to, reply, talk

from attune_bench.benchmarks.eibench.task import TASK, EIBenchSettings
from attune_bench.runner import RunError, RunOptions, RunOutcome, endpoint, run_sync
from attune_bench.runner.cache import noted_refusals
from attune_data import load_scenarios

EPISODES = EIBenchSettings("vendor/model", "vendor/person", max_rounds=2)


def has_schema(body: Json) -> bool:
    return "response_format" in body


def refuse(_number: int, body: Json) -> bytes | None:
    return reply("400 Bad Request", "") if has_schema(body) else None


def run(
    server: ModelServer, scenarios: Sequence[Any], output: Path, settings: Any = EPISODES, **options: Any
) -> RunOutcome:
    where = endpoint("local", base_url=server.url)
    return run_sync(TASK, scenarios, settings, where, output=output, options=RunOptions(**options))


# EIBench, of which a folder takes one configuration.


@pytest.mark.slow
def test_episodes_go_on_in_their_folder_without_schemas(tmp_path: Path) -> None:
    scenarios, folder = load_scenarios("demo")[:4], tmp_path / "vendor_model"
    refusing = False
    with ModelServer(lambda number, body: refuse(number, body) if refusing else None, answer=talk) as server:
        run(server, scenarios[:2], tmp_path)
        refusing = True
        with pytest.raises(RunError, match="answer_format 'schema', here 'free'"):
            run(server, scenarios, tmp_path, replace(EPISODES, answer_format="free"))
        outcome = run(server, scenarios, tmp_path)
        assert (outcome.finished, outcome.replaced) == (4, 2)
        sent = server.calls
        assert run(server, scenarios, tmp_path).earlier == 4
        assert server.calls == sent
    lines = [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]
    assert [line["answer_format"] for line in lines] == ["free"] * 4
    assert len({line["config_hash"] for line in lines}) == 1
    assert json.loads((folder / "_configuration.json").read_bytes())["configuration"]["answer_format"] == "free"


@pytest.mark.slow
def test_results_of_a_run_that_stopped_after_the_switch_are_not_mixed(tmp_path: Path) -> None:
    scenarios, folder = load_scenarios("demo")[:4], tmp_path / "vendor_model"
    refusing, paying = False, 10**6

    def fault(number: int, body: Json) -> bytes | None:
        if refusing and not has_schema(body) and number > paying:
            return reply("402 Payment Required", "")
        return refuse(number, body) if refusing else None

    with ModelServer(fault, answer=talk) as server:
        run(server, scenarios[:2], tmp_path)
        # A reply, the refused call, the same without its schema; then judgements of the first scenarios.
        refusing, paying = True, server.calls + 8
        outcome = run(server, scenarios, tmp_path, concurrency=1)
        assert 0 < outcome.finished < 4
    lines = [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]
    assert [line["answer_format"] for line in lines] == ["free"] * outcome.finished


# Kills at any moment.

CODE = """
import sys
from attune_bench.cli import main
main()
"""


@pytest.mark.parametrize(
    ("benchmark", "at"),
    [
        *(pytest.param("attunebench", at, marks=pytest.mark.slow) for at in (1, 2, 3, 9)),
        *(pytest.param("eibench", at, marks=pytest.mark.slow) for at in (2, 3, 4, 5, 7)),
    ],
)
def test_a_run_that_is_killed_at_the_switch_goes_on_as_one(benchmark: str, at: int, tmp_path: Path) -> None:
    """Killed when the server gets a call of a number: that with the schema, the one without it, a later one."""
    process: subprocess.Popen[bytes] | None = None
    own = {"attunebench": ["--judge-model=judge/one"], "eibench": ["--simulator-model=vendor/person", "--max-rounds=2"]}
    folder = tmp_path / "vendor_model" if benchmark == "eibench" else tmp_path

    def start() -> tuple[int, bytes]:
        nonlocal process
        options = [f"--base-url={server.url}", f"--output={tmp_path}", "--limit=2", f"--benchmark={benchmark}"]
        command = [sys.executable, "-Werror", "-c", CODE, "run", "local", "vendor/model", "demo", *options]
        process = subprocess.Popen(
            [*command, *own[benchmark]], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        _, err = process.communicate(timeout=120)
        return process.returncode, err

    def fault(number: int, body: Json) -> bytes | None:
        if number == at:
            assert process is not None
            os.kill(process.pid, signal.SIGKILL)
        return refuse(number, body)

    with ModelServer(fault, answer=talk if benchmark == "eibench" else answer_to) as server:
        assert start()[0] == -signal.SIGKILL
        schemas, killed = [has_schema(body) for body in server.bodies], bool(noted_refusals(folder))
        status, err = start()
        assert (status, err.count(b"\n")) == (0, 1)
        later = [has_schema(body) for body in server.bodies[len(schemas) :]]
    # Confirmed once the call without the schema was answered; otherwise the schema is refused once more. That call is
    # the second, or of two episodes the fourth, after a reply in each and the call that was refused.
    assert killed == (at > (4 if benchmark == "eibench" else 2))
    assert later.count(True) == (0 if killed else 1)
    if benchmark == "attunebench":
        made = [json.loads(path.read_bytes()) for path in folder.glob("[!._]*.json")]
    else:
        made = [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]
    assert [one["answer_format"] for one in made] == ["free", "free"]
