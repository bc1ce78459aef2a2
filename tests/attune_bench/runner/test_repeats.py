"""A model that is asked several times: what is sent, the files of each repeat, going on, and scoring them all."""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from commands import Call
from model_server import Json, ModelServer, answer_to, reply, talk

from attune_bench import Scores
from attune_bench.benchmarks.emobench import TASK as EMOBENCH
from attune_bench.benchmarks.emobench import EmoBenchSettings
from attune_bench.runner import ModelSettings, RunError, Task, endpoint, run_sync
from attune_bench.runner.cache import cache_key
from attune_bench.runner.episodes import OF_THE_MODEL
from attune_data import load_episodes, load_records, load_runs
from attune_data.kinds import ITEM

NOWHERE = "http://127.0.0.1:9/v1"
LOCAL = ("run", "local", "vendor/model", "demo", "--limit", 2)


def other_each_time(body: Json) -> str:
    """Answer by the seed too, as a model at a temperature above 0 does."""
    seeded = {**body, "messages": [*body["messages"], {"role": "user", "content": str(body.get("seed"))}]}
    return answer_to(seeded)


@pytest.mark.slow
def test_every_repeat_has_a_seed_and_files_of_its_own(call: Call, tmp_path: Path) -> None:
    output = tmp_path / "results"
    with ModelServer(answer=other_each_time) as server:
        asked = (*LOCAL, "--base-url", server.url, "--output", output, "--seed", 7)
        status, _, err = call(*asked, "--repeats", 3)
        assert status == 0, err
        calls = server.calls
        assert {body["seed"] for body in server.bodies} == {7, 1007, 2007}
        assert call(*asked, "--repeats", 3)[0] == 0
        assert server.calls == calls  # the same command finds everything done
    folders = sorted({path.parent.name for path in output.rglob("*_default.json")})
    assert folders == ["repeat-2", "repeat-3", "results"]
    runs = load_runs(output)
    assert not [issue for issue in runs.found if issue.severity == "error"]
    assert sorted((run.repeat, (run.model_extra or {})["seed"]) for run in runs) == [
        (1, 7), (1, 7), (2, 1007), (2, 1007), (3, 2007), (3, 2007)
    ]  # fmt: skip
    scored = tmp_path / "scores.parquet"
    status, said, err = call("score", "--results", output, "--data", "demo", "--output", scored)
    assert (status, err) == (0, "")
    assert "6 runs of 1 model" in said
    scores = Scores.read(scored)
    assert scores.repeat_counts == (3,)
    assert scores.values.height == 2


def test_more_repeats_go_on_from_a_run_that_was_made_once(call: Call, tmp_path: Path) -> None:
    output = tmp_path / "results"
    with ModelServer() as server:
        asked = (*LOCAL, "--base-url", server.url, "--output", output, "--temperature", 1)
        assert call(*asked)[0] == 0
        once, before = server.calls, {path: path.read_bytes() for path in output.glob("*_default.json")}
        status, _, err = call(*asked, "--repeats", 2)
        assert (status, err.count("temperature 0")) == (0, 0)
        assert server.calls == 2 * once  # an answer of the first repeat does not pass for one of the second
    assert {path: path.read_bytes() for path in before} == before
    assert len(load_runs(output)) == 4


def test_repeats_at_temperature_0_without_a_seed_are_warned_of(call: Call, tmp_path: Path) -> None:
    with ModelServer() as server:
        where = ("--base-url", server.url, "--output", tmp_path / "results")
        _, _, err = call(*LOCAL, *where, "--temperature", 0, "--repeats", 2)
    assert "at temperature 0 without a seed, answers of repeats differ only as far as the server's own do" in err


def test_an_item_that_is_asked_several_times_has_no_repeats(call: Call, tmp_path: Path) -> None:
    output = tmp_path / "results"
    nowhere = endpoint("local", base_url=NOWHERE)
    reason = "have no field repeat; each repeat needs a folder of its own"
    with pytest.raises(RunError, match=f"results of emobench {reason}"):
        run_sync(EMOBENCH, load_records("demo", ITEM)[:1], EmoBenchSettings("m"), nowhere, output=output, repeats=2)
    asked = ("run", "local", "m", "demo", "--benchmark", "emobench", "--base-url", NOWHERE, "-o", output)
    status, _, err = call(*asked, "--repeats", 2)
    assert (status, err) == (2, f"attune-bench: predictions of EmoBench {reason}\n")
    assert not output.exists()


@pytest.mark.slow
def test_repeats_are_judged_again(call: Call, tmp_path: Path) -> None:
    output = tmp_path / "results"
    with ModelServer(answer=other_each_time) as server:
        where = ("--base-url", server.url)
        assert call(*LOCAL, *where, "--output", output, "--seed", 7, "--repeats", 2, "--judge-model", "v/one")[0] == 0
        status, _, err = call("rejudge", output, "--judge-model", "v/two", *where)
    assert status == 0, err
    again = tmp_path / "results-rejudged"
    assert len(list(again.glob("repeat-2/*_default.json"))) == 2
    assert sorted(run.repeat for run in load_runs(again)) == [1, 1, 2, 2]


def test_the_estimate_counts_every_repeat(call: Call) -> None:
    once = call(*LOCAL, "--dry-run")[1]
    thrice = call(*LOCAL, "--dry-run", "--repeats", 3)[1]
    number = int(once.partition(": ")[2].split(" ")[0])
    assert thrice.startswith(f"2 conversations, 3 times: {3 * number} calls at most")


def test_the_estimate_says_how_often_an_answer_is_asked_for_again(call: Call) -> None:
    def said(name: str) -> str:
        told = call("run", "local", "m", "demo", "--benchmark", name, "--base-url", "http://x/v1", "--dry-run")
        return told[1].splitlines()[0]

    assert said("emobench") == "80 items: 1,600 calls at most"  # never
    assert said("eqbench") == "20 questions: 20 calls at most, and up to 4 more for each answer that cannot be read"


def test_a_unit_is_finished_with_its_last_repeat(call: Call, tmp_path: Path) -> None:
    prices = tmp_path / "prices.json"
    prices.write_text('{"vendor/model": {"input": 10, "output": 50}}')

    def finished(*options: object) -> str:
        asked = (*LOCAL, "--output", tmp_path / "results", "--prices", prices, "--dry-run")
        return call(*asked, *options)[1].rpartition(", with ")[2].strip()

    # Everything once is about 2.47 USD; so 3 pay for both conversations once and for none twice, and nearly all of
    # 4.94 pays for the second repeat of one.
    assert finished("--max-cost", 3, "--repeats", 2) == "0 of 2 conversations finished"
    assert finished("--max-cost", 4, "--repeats", 2) == "1 of 2 conversations finished"
    assert finished("--max-cost", 2) == "1 of 2 conversations finished"


def test_what_failed_says_its_repeat(call: Call, tmp_path: Path) -> None:
    output = tmp_path / "results"

    def fault(_number: int, body: Json) -> bytes | None:
        return reply("400 Bad Request", "{}") if body.get("seed") == 1007 else None

    with ModelServer(fault, answer=other_each_time) as server:
        assert call(*LOCAL, "--base-url", server.url, "--output", output, "--seed", 7, "--repeats", 2)[0] == 1
    (skipped,) = output.glob("_skipped_*.json")
    assert {one.get("repeat") for one in json.loads(skipped.read_text())["skipped"]} == {2}


def seeded_talk(body: Json) -> str:
    mark = sha256(str(body.get("seed")).encode()).hexdigest()
    system, *others = body["messages"]
    return talk({**body, "messages": [{**system, "content": f"{system['content']} {mark}"}, *others]})


def test_repeats_of_episodes_have_results_of_their_own(call: Call, tmp_path: Path) -> None:
    output = tmp_path / "results"
    with ModelServer(answer=seeded_talk) as server:
        status, _, err = call(
            *LOCAL, "--benchmark", "eibench", "--simulator-model", "vendor/person", "--base-url", server.url,
            "--output", output, "--seed", 7, "--repeats", 2,
        )  # fmt: skip
        assert status == 0, err
    results = sorted(path.relative_to(output).as_posix() for path in output.rglob("results.jsonl"))
    assert results == ["vendor_model/repeat-2/results.jsonl", "vendor_model/results.jsonl"]
    episodes = load_episodes(output)
    assert sorted(episode.repeat for episode in episodes) == [1, 1, 2, 2]
    # Another seed is no other configuration, so the repeats are not mixed settings.
    assert len({episode.config_hash for episode in episodes}) == 1
    turns = episodes.tables.turns
    assert turns.n_unique(["scenario_id", "repeat", "turn_number"]) == turns.height
    scored = tmp_path / "scores.parquet"
    status, _, err = call("score", "--results", output, "--data", "demo", "--benchmark", "eibench", "--output", scored)
    assert (status, err) == (0, "")
    assert Scores.read(scored).repeat_counts == (2,)
    assert call("report", "--scores", scored)[0] == 0


def test_repeats_below_1_are_refused(tmp_path: Path) -> None:
    task: Task[Any, Any] = Task(name="t", calls=lambda *_: [], assemble=lambda *_: None)  # type: ignore[arg-type]
    with pytest.raises(RunError, match="repeats is 0; expected 1 or more"):
        run_sync(task, [], ModelSettings("m"), {}, output=tmp_path, repeats=0)


def test_episodes_of_an_older_version_with_a_seed_stay_in_the_results(call: Call, tmp_path: Path) -> None:
    output = tmp_path / "results"
    with ModelServer(answer=seeded_talk) as server:
        asked = (
            *LOCAL, "--benchmark", "eibench", "--simulator-model", "vendor/person", "--base-url", server.url,
            "--output", output, "--seed", 7,
        )  # fmt: skip
        assert call(*asked)[0] == 0
        folder = output / "vendor_model"
        configuration = json.loads((folder / "_configuration.json").read_text())["configuration"]
        of_all = {name: value for name, value in configuration.items() if name not in OF_THE_MODEL}
        paths = [path for path in folder.rglob("*.json") if "config_hash" in (json.loads(path.read_text()))]
        for path in paths:
            made = json.loads(path.read_text())
            path.write_text(json.dumps(made | {"config_hash": cache_key(**of_all)}))
        assert call(*asked)[0] == 0
    assert len((folder / "results.jsonl").read_text().splitlines()) == 2
