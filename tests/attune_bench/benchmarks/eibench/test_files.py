"""The folder of a model's episodes: what is damaged, what is stale, what is said of it at the end."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from model_server import ModelServer, said, talk
from slow_cases import slow_after

from attune_bench.benchmarks.eibench.task import TASK, EIBenchSettings
from attune_bench.runner import Price, RunError, RunOptions, RunOutcome, endpoint, run_sync
from attune_data import load_scenarios

SETTINGS = EIBenchSettings("vendor/model", "vendor/person", max_tokens=300)
DEMO = list(load_scenarios("demo"))
PRICES = {name: Price(1.0, 2.0) for name in ("vendor/model", "vendor/person")}


def run(server: ModelServer, scenarios: Any, output: Path) -> RunOutcome:
    where = endpoint("local", base_url=server.url)
    options = RunOptions(prices=PRICES)
    return run_sync(TASK, scenarios, SETTINGS, where, output=output, options=options)


def files(output: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (output / "vendor_model").glob("[!._]*")}


@pytest.mark.parametrize("damage", slow_after(2, [b"", b'{"run_key"', b"\xff", b"[" * 200_000]))
def test_a_damaged_episode_is_made_again(damage: bytes, tmp_path: Path) -> None:
    with ModelServer(answer=talk) as server:
        run(server, DEMO[:2], tmp_path)
        before, sent = files(tmp_path), server.calls
        (tmp_path / "vendor_model" / "_episodes" / "demo_support_01.json").write_bytes(damage)
        assert run(server, DEMO[:2], tmp_path).earlier == 1
        assert server.calls == sent
    assert files(tmp_path) == before


@pytest.mark.parametrize("other", slow_after(2, [b"[]", b"3", b'"x"', b"null", b"{}"]))
def test_a_file_of_another_kind_among_the_episodes_is_named(other: bytes, tmp_path: Path) -> None:
    path = tmp_path / "vendor_model" / "_episodes" / "demo_support_01.json"
    with ModelServer(answer=talk) as server:
        run(server, DEMO[:2], tmp_path)
        path.write_bytes(other)
        with pytest.raises(RunError, match=r"demo_support_01\.json was not written by this runner"):
            run(server, DEMO[:2], tmp_path)
    assert path.read_bytes() == other


@pytest.mark.slow
def test_an_episode_of_which_only_the_marks_are_left_is_named(tmp_path: Path) -> None:
    path = tmp_path / "vendor_model" / "_episodes" / "demo_support_01.json"
    with ModelServer(answer=talk) as server:
        run(server, DEMO[:2], tmp_path)
        made = json.loads(path.read_bytes())
        marks = {name: made[name] for name in ("run_key", "scenario_hash")}
        for damaged, why in (
            (marks, "model: Field required"),
            ({**made, "x": "\ud800"}, "x: half of a surrogate"),
        ):
            path.write_text(json.dumps(damaged))
            with pytest.raises(RunError, match=rf"demo_support_01\.json is no episode \({why}.*\); remove it"):
                run(server, DEMO[:2], tmp_path)
        path.write_text(json.dumps({**made, "judge_cost": math.nan}))
        assert run(server, DEMO[:2], tmp_path).finished == 2, "NaN is no surrogate"
        path.unlink()
        assert run(server, DEMO[:2], tmp_path).finished == 2


@pytest.mark.parametrize("damage", slow_after(2, [b"", b"[]", b'{"configuration": null}', b"[" * 200_000]))
def test_a_damaged_configuration_is_named(damage: bytes, tmp_path: Path) -> None:
    with ModelServer(answer=talk) as server:
        run(server, DEMO[:1], tmp_path)
        (tmp_path / "vendor_model" / "_configuration.json").write_bytes(damage)
        with pytest.raises(RunError, match="does not say how the episodes of its folder were made"):
            run(server, DEMO[:1], tmp_path)


def test_results_of_an_older_content_do_not_stay_where_nothing_was_finished(tmp_path: Path) -> None:
    person = DEMO[0].aggressor_profile.model_copy(update={"opening_line": "Another one."})
    changed = DEMO[0].model_copy(update={"aggressor_profile": person})
    refuses = False

    def fault(_number: int, _body: Any) -> bytes | None:
        return b"HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n" if refuses else None

    with ModelServer(fault, answer=talk) as server:
        run(server, DEMO[:1], tmp_path)
        assert files(tmp_path).keys() == {"results.jsonl", "summary.json"}
        refuses = True
        assert len(run(server, [changed], tmp_path).skipped) == 1
    assert files(tmp_path) == {}


def test_at_the_end_no_more_calls_and_costs_are_expected_than_there_were(tmp_path: Path) -> None:
    stop = json.dumps({"anger_delta": -1, "trust_delta": 1, "reply": "Enough.", "continue": "no"})

    def answer(_number: int, body: Any) -> bytes:
        return said(stop if "anger_delta" in body["messages"][0]["content"] else "Well?")

    with ModelServer(answer) as server:
        outcome = run(server, DEMO[:3], tmp_path)
        assert server.calls == 6
    text = outcome.meter.text()
    assert "6/6 calls" in text
    assert "expected" not in text
