"""Runs of episodes in a process of their own that is killed or interrupted, and then goes on."""

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from model_server import ModelServer, talk

from attune_data import load_scenarios

CONCURRENCY = 4
FOLDER = "vendor_model"


def start(server: ModelServer, output: Path, limit: int) -> subprocess.Popen[bytes]:
    # A process that is started in the background inherits that SIGINT is ignored.
    code = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    code += "from attune_bench.cli import main; main()"
    options = [f"--base-url={server.url}", f"--output={output}", f"--limit={limit}", f"--concurrency={CONCURRENCY}"]
    arguments = ["run", "local", "vendor/model", "demo", "--benchmark=eibench", *options]
    return subprocess.Popen(
        [sys.executable, "-Werror", "-c", code, *arguments, "--simulator-model=vendor/person"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def finish(process: subprocess.Popen[bytes]) -> tuple[int, bytes]:
    _, err = process.communicate(timeout=120)
    return process.returncode, err


def results(output: Path) -> list[bytes]:
    return [(output / FOLDER / name).read_bytes() for name in ("results.jsonl", "summary.json")]


@pytest.mark.parametrize(("kills", "limit"), [(2, 3), pytest.param(30, 16, marks=pytest.mark.slow)])
def test_episodes_that_are_killed_again_and_again_end_as_those_that_were_not(
    kills: int, limit: int, tmp_path: Path
) -> None:
    moments = random.Random(7)
    with ModelServer(latency=0.02, answer=talk) as server:
        for _ in range(kills):
            process, before = start(server, tmp_path / "killed", limit), server.calls
            # After its first calls, but for a few of the kills, which fall anywhere in its start.
            if moments.random() < 0.8:
                while server.calls == before and process.poll() is None:
                    time.sleep(0.001)
                time.sleep(moments.uniform(0.0, 0.2))
            else:
                time.sleep(moments.uniform(0.0, 1.0))
            process.kill()
            assert finish(process)[0] in (-signal.SIGKILL, 0)
        assert finish(start(server, tmp_path / "killed", limit)) == (0, b"")
        sent = server.calls
        assert finish(start(server, tmp_path / "whole", limit)) == (0, b"")
        assert sent <= server.calls - sent + kills * CONCURRENCY
    assert results(tmp_path / "killed") == results(tmp_path / "whole")
    assert len(results(tmp_path / "whole")[0].splitlines()) == limit


def test_an_interrupted_run_leaves_what_is_finished_in_the_results(tmp_path: Path) -> None:
    episodes = tmp_path / FOLDER / "_episodes"
    with ModelServer(latency=0.02, answer=talk) as server:
        process = start(server, tmp_path, 16)
        while not (episodes.is_dir() and list(episodes.glob("[!.]*.json"))) and process.poll() is None:
            time.sleep(0.005)
        process.send_signal(signal.SIGINT)
        status, err = finish(process)
        assert status == 130
        assert err == b"attune-bench: stopped; the same command goes on from here\n"
        found = [json.loads(line)["profile_id"] for line in results(tmp_path)[0].splitlines()]
        assert found == [one.id for one in load_scenarios("demo") if (episodes / f"{one.id}.json").exists()]
        assert 0 < len(found) < 16
        assert finish(start(server, tmp_path, 16)) == (0, b"")
    assert len(results(tmp_path)[0].splitlines()) == 16


def test_a_second_process_refuses_the_folder_and_changes_nothing(tmp_path: Path) -> None:
    with ModelServer(lambda _number, _body: "stall") as server:
        first = start(server, tmp_path, 2)
        while not server.calls and first.poll() is None:
            time.sleep(0.005)
        before = {path: path.stat().st_mtime_ns for path in (tmp_path / FOLDER).iterdir()}
        status, err = finish(start(server, tmp_path, 2))
        assert {path: path.stat().st_mtime_ns for path in (tmp_path / FOLDER).iterdir()} == before
        first.kill()
        assert finish(first)[0] == -signal.SIGKILL
    assert status == 2
    assert b"another run is using" in err
    assert b"Traceback" not in err
