"""Runs of episodes in a process of their own that is interrupted, and then goes on, or is started twice."""

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest
from interrupts import STOPPED, finish, interrupt, start_run
from model_server import ModelServer, talk

from attune_data import load_scenarios

FOLDER = "vendor_model"


def start(server: ModelServer, output: Path, limit: int) -> subprocess.Popen[bytes]:
    return start_run(server, output, limit, benchmark="eibench")


@pytest.mark.slow
def test_an_interrupted_run_says_so_and_goes_on(tmp_path: Path) -> None:
    episodes = tmp_path / FOLDER / "_episodes"
    with ModelServer(latency=0.02, answer=talk) as server:
        process = start(server, tmp_path, 16)
        while not (episodes.is_dir() and list(episodes.glob("[!.]*.json"))) and process.poll() is None:
            time.sleep(0.005)
        ended = interrupt(process, [signal.SIGINT, signal.SIGINT])
        assert (ended.status, ended.err) == (130, STOPPED)
        assert finish(start(server, tmp_path, 16)) == (0, b"")
    lines = (tmp_path / FOLDER / "results.jsonl").read_bytes().splitlines()
    assert [json.loads(line)["profile_id"] for line in lines] == load_scenarios("demo").unit_ids


@pytest.mark.slow
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
