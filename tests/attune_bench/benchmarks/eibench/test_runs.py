"""Whole runs of episodes against a server on this machine: results, going on, costs, faults, other configurations."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from interrupts import results as made
from model_server import Fault, Json, ModelServer, answer_to, reply, said, talk
from slow_cases import slow_after

from attune_bench import runner, score
from attune_bench.benchmarks.eibench.scoring import model_summary
from attune_bench.benchmarks.eibench.task import TASK, EIBenchSettings
from attune_bench.runner import Endpoint, Price, PriceError, Role, RunError, RunOptions, RunOutcome, endpoint, run_sync
from attune_bench.stats.comparability import differences
from attune_data import Scenario, load_episodes, load_scenarios
from attune_metrics.eibench import state_curve

SETTINGS = EIBenchSettings("vendor/model", "vendor/person", max_tokens=300)
DEMO = list(load_scenarios("demo"))
KEYS = {"model": "sk-SECRET-of-the-model", "simulator": "sk-SECRET-of-the-person"}
NAMES = ("results.jsonl", "summary.json")


def run(
    server: ModelServer,
    scenarios: Any,
    output: Path,
    settings: EIBenchSettings = SETTINGS,
    simulator: Endpoint | None = None,
    **options: Any,
) -> RunOutcome:
    where = endpoint("local", base_url=server.url, api_key=KEYS["model"])
    servers: dict[Role, Endpoint] = {"model": where, "simulator": simulator or where}
    return run_sync(TASK, scenarios, settings, servers, output=output, options=RunOptions(**options))


def results(output: Path) -> list[bytes]:
    return [*made(output, "eibench").values()]


def lines(output: Path) -> list[Json]:
    return [json.loads(line) for line in (output / "vendor_model" / NAMES[0]).read_bytes().splitlines()]


def late(_number: int, body: Json) -> float:
    """Answer later the shorter the request is, so that answers overtake one another."""
    return 0.02 / len(json.dumps(body)) * 1000


# Results.


@pytest.mark.slow
def test_results_do_not_depend_on_concurrency(tmp_path: Path) -> None:
    with ModelServer(late, answer=talk) as server:
        one = run(server, DEMO, tmp_path / "one", concurrency=1)
        many = run(server, DEMO, tmp_path / "many", concurrency=32)
    assert one.finished == many.finished == len(DEMO)
    assert one.skipped == many.skipped == ()
    assert results(tmp_path / "one") == results(tmp_path / "many")
    found = lines(tmp_path / "one")
    assert [line["profile_id"] for line in found] == [scenario.id for scenario in DEMO]
    # The server stops, is silent and talks no JSON now and then.
    episodes = load_episodes(tmp_path / "one" / "vendor_model")
    assert len({episode.outcome for episode in episodes}) >= 3


def test_a_run_that_is_cancelled_leaves_what_is_finished_in_the_results(tmp_path: Path) -> None:
    episodes = tmp_path / "vendor_model" / "_episodes"

    async def cancelled(where: Endpoint) -> None:
        running = asyncio.create_task(runner.run(TASK, DEMO, SETTINGS, where, output=tmp_path))
        while not list(episodes.glob("[!.]*.json")):
            await asyncio.sleep(0.001)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    with ModelServer(latency=0.02, answer=talk) as server:
        asyncio.run(cancelled(endpoint("local", base_url=server.url)))
    found = [line["profile_id"] for line in lines(tmp_path)]
    assert found == [scenario.id for scenario in DEMO if (episodes / f"{scenario.id}.json").exists()]
    assert 0 < len(found) < len(DEMO)


@pytest.mark.slow
def test_results_load_without_a_fault_and_score_as_they_say(tmp_path: Path) -> None:
    with ModelServer(answer=talk) as server:
        run(server, DEMO, tmp_path)
    episodes = load_episodes(tmp_path / "vendor_model")
    assert {issue.rule for issue in episodes.found if issue.severity != "note"} <= {"failed-episode"}
    by_id = {scenario.id: scenario for scenario in DEMO}
    for episode in episodes:
        metas = [line.meta for line in episode.history if line.meta is not None and line.meta.anger_delta is not None]
        curve = state_curve(episode.initial_anger or 0, [meta.anger_delta for meta in metas])
        assert [meta.anger for meta in metas] == curve[1:]
        assert episode.final_anger == curve[-1]
        assert episode.initial_anger == by_id[episode.scenario_id].initial_calibration.initial_anger
    summary = model_summary(score(DEMO, episodes).variant(failed="start"))
    rewards = [line["reward"] for line in lines(tmp_path)]
    assert summary["n"] == len(DEMO)
    assert summary["overall"]["reward"] == pytest.approx(sum(rewards) / len(rewards), abs=1e-12)


@pytest.mark.slow
def test_the_summary_has_the_official_shape_and_is_strict_json(tmp_path: Path) -> None:
    with ModelServer(answer=talk) as server:
        run(server, DEMO[:6], tmp_path)

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    results_line, summary_text = ((tmp_path / "vendor_model" / name).read_bytes() for name in NAMES)
    assert all(json.loads(line, parse_constant=refuse) for line in results_line.splitlines())
    summary = json.loads(summary_text, parse_constant=refuse)
    wanted = {"n", "reward", "goal_score", "anger_score", "trust_score", "final_anger", "final_trust"}
    assert summary["model"] == "vendor/model"
    assert list(summary["by_scene"]) == ["support", "defense"]
    rewards = [block["reward"] for block in summary["by_scene"].values()]
    assert summary["overall"]["macro"] == pytest.approx(sum(rewards) / 2, abs=1e-12)
    for block in (summary["overall"], *summary["by_scene"].values()):
        assert wanted <= block.keys()
        assert block["goal_score"] is None


@pytest.mark.slow
def test_what_is_sent(tmp_path: Path) -> None:
    person = replace(SETTINGS, simulator="vendor/model", seed=5, temperature=None, simulator_temperature=0.2)
    with ModelServer(answer=talk) as server, ModelServer(answer=talk) as other:
        # By role and server, though both have one name.
        simulator = endpoint("local", base_url=other.url, api_key=KEYS["simulator"])
        run(server, DEMO[:2], tmp_path, person, simulator)
        assert f"Bearer {KEYS['model']}".encode() in server.headers
        assert f"Bearer {KEYS['simulator']}".encode() in other.headers
        for body in server.bodies:
            assert "response_format" not in body
            assert "temperature" not in body
            assert (body["seed"], body["max_tokens"]) == (5, 300)
        for body in other.bodies:
            assert body["response_format"]["json_schema"]["name"] == "reaction"
            assert body["temperature"] == 0.2
            assert "anger_delta" in body["messages"][0]["content"]
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"SECRET" not in kept


def test_a_simulator_that_takes_no_format_is_read_too(tmp_path: Path) -> None:
    def refuse(_number: int, body: Json) -> bytes | None:
        return reply("400 Bad Request", '{"error": "response_format"}') if "response_format" in body else None

    with ModelServer(refuse, answer=talk) as server:
        stopped = run(server, DEMO[:2], tmp_path, concurrency=1).stopped
        assert stopped is not None
        assert "--free-json" in stopped
        assert sum("response_format" in body for body in server.bodies) == 1
        free = replace(SETTINGS, answer_format="free")
        assert run(server, DEMO[:2], tmp_path, free, concurrency=1).finished == 2


@pytest.mark.slow
def test_an_answer_of_the_schema_is_read(tmp_path: Path) -> None:
    with ModelServer(answer=lambda body: answer_to(body) if "response_format" in body else "I see.") as server:
        run(server, DEMO, tmp_path)
    assert {line["ended_by"] for line in lines(tmp_path)} <= {"max_rounds", "simulator_stop"}


# Going on.


@pytest.mark.slow
def test_what_is_finished_is_not_asked_again(tmp_path: Path) -> None:
    with ModelServer(answer=talk) as server:
        run(server, DEMO[:3], tmp_path)
        first, sent = lines(tmp_path), server.calls
        again = run(server, DEMO[:5], tmp_path)
        assert (again.finished, again.earlier) == (5, 3)
        assert lines(tmp_path)[:3] == first
        asked = server.calls
        assert asked > sent
        # The results are those of the scenarios asked for; what others there are comes back at no cost.
        run(server, DEMO[3:5], tmp_path)
        assert [line["profile_id"] for line in lines(tmp_path)] == [scenario.id for scenario in DEMO[3:5]]
        run(server, DEMO[:5], tmp_path)
        assert len(lines(tmp_path)) == 5
        assert server.calls == asked


@pytest.mark.slow
def test_lost_files_are_made_anew_from_the_cache(tmp_path: Path) -> None:
    with ModelServer(answer=talk) as server:
        run(server, DEMO[:4], tmp_path)
        before, sent = results(tmp_path), server.calls
        for path in (tmp_path / "vendor_model").rglob("*.json*"):
            if path.name not in (".cache.jsonl", "_configuration.json"):
                path.unlink()
        run(server, DEMO[:4], tmp_path)
        assert results(tmp_path) == before
        assert server.calls == sent


@pytest.mark.slow
def test_another_text_of_a_scenario_is_played_anew(tmp_path: Path) -> None:
    person = DEMO[0].aggressor_profile.model_copy(update={"opening_line": "Well?"})
    changed = DEMO[0].model_copy(update={"aggressor_profile": person})
    with ModelServer(answer=talk) as server:
        run(server, DEMO[:2], tmp_path)
        assert run(server, [changed, DEMO[1]], tmp_path).earlier == 1
    assert lines(tmp_path)[0]["history"][0]["content"] == "Well?"


@pytest.mark.parametrize(
    ("changed", "named"),
    slow_after(
        3,
        [
            ({"simulator": "vendor/other"}, "simulator 'vendor/person', here 'vendor/other'"),
            ({"max_rounds": 6}, "max_rounds 8, here 6"),
            ({"judge_all": True}, "judge_all False, here True"),
            ({"language": "zh"}, "language 'of the scenario', here 'zh'"),
            ({"seed": 1}, "seed None, here 1"),
            ({"temperature": 0.1}, "temperature 0.7, here 0.1"),
            ({"simulator_temperature": None}, "simulator_temperature 0.7, here None"),
            ({"max_tokens": 100}, "max_tokens 300, here 100"),
        ],
    ),
)
def test_another_configuration_is_refused(changed: Json, named: str, tmp_path: Path) -> None:
    with ModelServer(answer=talk) as server:
        run(server, DEMO[:1], tmp_path)
        before, sent = results(tmp_path), server.calls
        with pytest.raises(RunError, match=r"episodes of another configuration") as caught:
            run(server, DEMO[:2], tmp_path, replace(SETTINGS, **changed))
        assert named in str(caught.value)
        assert server.calls == sent
    assert results(tmp_path) == before


@pytest.mark.slow
def test_servers_that_have_moved_are_asked_nothing_again(tmp_path: Path) -> None:
    with ModelServer(answer=talk) as server, ModelServer(answer=talk) as other:
        run(server, DEMO[:1], tmp_path / "here")
        before = results(tmp_path / "here")
        assert run(other, DEMO[:1], tmp_path / "here").earlier == 1
        assert run(server, DEMO[:1], tmp_path / "here", simulator=endpoint("local", base_url=other.url)).earlier == 1
        assert other.calls == 0
        run(other, DEMO[:1], tmp_path / "there")
    assert results(tmp_path / "here") == results(tmp_path / "there") == before


@pytest.mark.slow
def test_models_are_comparable_where_all_but_they_is_the_same(tmp_path: Path) -> None:
    rival = replace(SETTINGS, model="vendor/rival")
    cool = replace(SETTINGS, model="vendor/cool", temperature=None)
    warm = replace(SETTINGS, model="vendor/warm", simulator_temperature=1.0)
    with ModelServer(answer=talk) as server, ModelServer(answer=talk) as other:
        run(server, DEMO[:1], tmp_path)
        run(other, DEMO[:1], tmp_path, rival, simulator=endpoint("local", base_url=server.url))
        run(server, DEMO[:1], tmp_path, warm)
        run(server, DEMO[:1], tmp_path, cool)
    ours, theirs, warmer, cooler = (
        load_episodes(tmp_path / f"vendor_{name}") for name in ("model", "rival", "warm", "cool")
    )
    assert differences(score(DEMO, [*ours, *theirs])) == {}
    assert list(differences(score(DEMO, [*ours, *warmer]))) == ["configuration"]
    assert differences(score(DEMO, [*ours, *cooler])) == {
        "temperature": {"0.7": ["vendor/model"], "of the server": ["vendor/cool"]}
    }


def test_a_judgement_is_asked_for_again_with_another_seed(tmp_path: Path) -> None:
    def mumble(_number: int, body: Json) -> bytes | None:
        return said("Hm.") if body["model"] == "vendor/person" else None

    with ModelServer(mumble, answer=talk) as server:
        run(server, DEMO[:1], tmp_path, replace(SETTINGS, seed=5))
        seeds = [body["seed"] for body in server.bodies if body["model"] == "vendor/person"]
    assert seeds == [5, 6, 7]
    assert lines(tmp_path)[0]["ended_by"] == "parse_failed"


def test_another_wording_is_another_configuration(tmp_path: Path) -> None:
    with ModelServer(answer=talk) as server:
        run(server, DEMO[:1], tmp_path)
        with pytest.raises(RunError, match="prompt_hash"):
            run(server, DEMO[:1], tmp_path, replace(SETTINGS, prompts=replace(SETTINGS.wording, hash="0")))


def test_results_of_somebody_else_are_not_replaced(tmp_path: Path) -> None:
    folder = tmp_path / "vendor_model"
    folder.mkdir()
    (folder / "results.jsonl").write_text('{"model": "vendor/model", "profile_id": "s"}\n')
    with ModelServer(answer=talk) as server:
        with pytest.raises(RunError, match="was not written by this runner"):
            run(server, DEMO[:1], tmp_path)
        assert server.calls == 0
    assert [path.name for path in folder.iterdir() if path.suffix] == ["results.jsonl"]


def test_a_run_that_made_nothing_binds_nobody(tmp_path: Path) -> None:
    with ModelServer(lambda _number, _body: reply("401 Unauthorized", "{}"), answer=talk) as server:
        assert run(server, DEMO[:2], tmp_path).finished == 0
    assert not (tmp_path / "vendor_model" / "results.jsonl").exists()
    with ModelServer(answer=talk) as server:
        assert run(server, DEMO[:2], tmp_path, replace(SETTINGS, max_rounds=2)).finished == 2


def test_no_scenarios_and_doubled_ones(tmp_path: Path) -> None:
    with ModelServer(answer=talk) as server:
        with pytest.raises(RunError, match="no scenarios"):
            run(server, [], tmp_path)
        with pytest.raises(RunError, match="same file"):
            run(server, [DEMO[0], DEMO[0]], tmp_path)


@pytest.mark.parametrize("name", ["../out", "..", "/etc/x", "a:b"])
def test_odd_names_stay_within_the_output(name: str, tmp_path: Path) -> None:
    odd = DEMO[0].model_copy(update={"scenario_id": name})
    with ModelServer(answer=talk) as server:
        assert run(server, [odd], tmp_path / "out", replace(SETTINGS, model=name)).finished == 1
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    (folder,) = (tmp_path / "out").iterdir()
    assert folder.is_dir()
    assert load_episodes(folder)[0].scenario_id == name


# Faults and skipped scenarios.


def broken_for(scenario: Scenario, role: str) -> Fault:
    """Refuse the calls of one side about one scenario."""
    side = scenario.aggressor_profile if role == "simulator" else scenario.defender_profile

    def fault(_number: int, body: Json) -> bytes | None:
        own = body["messages"][0]["content"].startswith(side.system_prompt[:200])
        return reply("413 Too Large", '{"error": {"message": "too long"}}') if own else None

    return fault


@pytest.mark.parametrize("role", slow_after(1, ["model", "simulator"]))
def test_a_call_without_an_answer_leaves_its_scenario_out_of_the_results(role: str, tmp_path: Path) -> None:
    with ModelServer(broken_for(DEMO[1], role), answer=talk) as server:
        outcome = run(server, DEMO[:3], tmp_path, command="attune-bench eibench run")
        assert outcome.finished == 2
        (skipped,) = outcome.skipped
        assert skipped.unit_id == DEMO[1].id
        assert [line["profile_id"] for line in lines(tmp_path)] == [DEMO[0].id, DEMO[2].id]
        listed = json.loads((tmp_path / "vendor_model" / "_skipped_vendor-model.json").read_bytes())
        assert listed["skipped"] == [{"unit": DEMO[1].id, "reason": skipped.reason}]
        assert "too long" in skipped.reason
        server._fault = lambda _number, _body: None
        again = run(server, DEMO[:3], tmp_path)
        assert (again.finished, again.earlier) == (3, 2)
    assert len(lines(tmp_path)) == 3
    assert not list(tmp_path.rglob("_skipped*"))


def test_a_scenario_that_cannot_be_played_is_left_out_and_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    empty = DEMO[0].model_copy(update={"aggressor_profile": DEMO[0].aggressor_profile.null()})
    why = f"(scenario '{empty.id}' has no aggressor_profile.system_prompt to play from)"
    with ModelServer(answer=talk) as server:
        outcome = run(server, [empty, DEMO[1]], tmp_path)
        assert capsys.readouterr().err == f"attune-bench: left out: 1 scenario cannot be run {why}\n"
        assert (outcome.finished, outcome.meter.units, outcome.skipped) == (1, 1, ())
        sent = server.calls
        with pytest.raises(RunError) as error:
            run(server, [empty], tmp_path)
        assert server.calls == sent
    assert str(error.value) == f"1 scenario cannot be run {why}, and no other is given"


FAULTS: list[Callable[[Json], bytes | str]] = [
    lambda _: reply("429 Too Many Requests", "{}"),
    lambda _: "reset",
    lambda _: reply("502 Bad Gateway", "<html>502</html>", kind="text/html"),
    lambda body: said(talk(body))[:-20],
    lambda _: reply("200 OK", '{"error": {"code": 500, "message": "sk-SECRET-of-the-model"}}'),
    lambda _: reply("200 OK", b"\xff"),
]


@pytest.mark.usefixtures("impatient")
@pytest.mark.slow
def test_faults_change_no_result(tmp_path: Path) -> None:
    def mixed(number: int, body: Json) -> bytes | str | None:
        return FAULTS[number % len(FAULTS)](body) if number % 7 < 3 else None

    with ModelServer(answer=talk) as server:
        run(server, DEMO, tmp_path / "calm")
        calm = results(tmp_path / "calm")
        server._fault = mixed
        for _ in range(4):
            outcome = run(server, DEMO, tmp_path / "mixed", call_timeout=1.0)
    assert outcome.skipped == ()
    assert results(tmp_path / "mixed") == calm
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and b"SECRET" in path.read_bytes()]


# Costs.

PRICES = {"vendor/model": Price(1.0, 2.0), "vendor/person": Price(10.0, 20.0)}


def test_the_cost_of_the_simulator_is_counted_apart(tmp_path: Path) -> None:
    with ModelServer(lambda _number, body: said(talk(body))) as server:
        outcome = run(server, DEMO[:2], tmp_path, prices=PRICES)
        calls = [body["model"] for body in server.bodies]
    # Each call has 100 tokens and 10 of the answer.
    model, person = calls.count("vendor/model") * 120 / 1e6, calls.count("vendor/person") * 1200 / 1e6
    found = lines(tmp_path)
    assert sum(line["api_cost"] for line in found) == pytest.approx(model, rel=1e-12)
    assert sum(line["simulator_cost"] for line in found) == pytest.approx(person, rel=1e-12)
    assert outcome.meter.costs["simulator"] == pytest.approx(person, rel=1e-12)
    assert "(simulator " in outcome.meter.text()
    assert "judge" not in outcome.meter.text()


@pytest.mark.slow
def test_a_limit_of_the_cost_is_kept_and_the_rest_goes_on(tmp_path: Path) -> None:
    spent = 0.0

    def charge(_number: int, body: Json) -> bytes:
        nonlocal spent
        spent += 120 / 1e6 if body["model"] == "vendor/model" else 1200 / 1e6
        return said(talk(body))

    with ModelServer(charge) as server:
        outcome = run(server, DEMO, tmp_path, prices=PRICES, max_cost=0.16)
        assert outcome.stopped is not None
        assert "the limit of 0.16 USD" in outcome.stopped
        assert 0 < outcome.finished < len(DEMO)
        assert spent <= 0.16
        assert len(lines(tmp_path)) == outcome.finished
        assert run(server, DEMO, tmp_path, prices=PRICES, max_cost=100.0).finished == len(DEMO)


def test_a_price_that_is_not_known(tmp_path: Path) -> None:
    with ModelServer() as server, pytest.raises(PriceError, match="the price of vendor/person is not known"):
        run(server, DEMO[:1], tmp_path, prices={"vendor/model": Price(1, 1)}, max_cost=1.0)
