"""The commands that ask models, as a user calls them; rejudging and profiles."""

import json
import shlex
import sys
from collections.abc import Callable
from contextlib import suppress
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from model_server import ModelServer, answer_to, reply, said

from attune_bench.runner import calls as providers
from attune_bench.runner.calls import Response
from attune_bench.runner.cost import Meter
from attune_bench.runner.terminal import progress_line, warn
from attune_data import Conversation, load, load_runs

Invoke = Callable[..., tuple[int, str, str]]


LOCAL = ["local", "m", "demo", "--base-url", "http://127.0.0.1:1/v1"]

pytestmark = pytest.mark.usefixtures("elsewhere")


# run


@pytest.mark.slow
def test_run_writes_files_that_score_reads(call: Invoke, tmp_path: Path) -> None:
    with ModelServer() as server:
        status, out, err = call("run", "local", "vendor/model", "demo", "--base-url", server.url, "--limit", 2)
        assert (status, err) == (0, "")
    assert out.splitlines()[0] == "results: 2 runs, one conversation each"
    assert out.splitlines()[-1] == "next: attune-bench score --results results --data demo"
    status, out, _ = call("score", "--results", "results", "--ground-truth", "demo")
    assert status == 0
    assert "2 runs of 1 model in 1 mode" in out
    assert {one.em_model for one in load_runs(tmp_path / "results")} == {"vendor/model"}


@pytest.mark.slow
def test_local_is_another_name_of_the_same_provider(call: Invoke, tmp_path: Path) -> None:
    with ModelServer() as server:
        options = ["vendor/model", "demo", "--base-url", server.url, "--limit", 1]
        assert call("run", "openai-compatible", *options)[0] == 0
        sent = server.calls
        status, out, _ = call("run", "local", *options)
        assert (status, server.calls) == (0, sent)
    assert out.startswith("results: 1 run; from before, nothing was asked\n")
    (path,) = (tmp_path / "results").glob("[!._]*.json")
    assert json.loads(path.read_bytes())["provider"] == "openai-compatible"


def test_the_next_command_can_be_pasted(call: Invoke) -> None:
    options = ("--limit", 1, "--output", "my results")
    with ModelServer() as server:
        _, out, _ = call("run", "local", "m", "demo", "--base-url", server.url, *options)
    pasted = shlex.split(out.splitlines()[-1].removeprefix("next: attune-bench "))
    assert pasted == ["score", "--results", "my results", "--data", "demo"]
    assert call(*pasted)[0] == 0


@pytest.mark.slow
def test_a_run_with_other_settings_says_what_it_replaced(call: Invoke) -> None:
    with ModelServer() as server:
        command = ["run", "local", "m", "demo", "--base-url", server.url]
        assert call(*command, "--limit", 1)[2] == ""
        _, out, err = call(*command, "--limit", 2, "--seed", 7, "--replace")
        assert err == ""
        assert out.splitlines()[0] == "results: 2 runs, one conversation each"
        assert out.splitlines()[1].startswith("1 of them replaced results of other settings")
        calls = server.calls
        again = call(*command, "--limit", 1, "--replace")[1]
        assert "1 of them replaced results" in again, "also where the cache has the responses"
        assert server.calls == calls
        assert "replaced results" not in call(*command, "--limit", 1)[1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "strategy", "judges"),
    [([], "absolute", []), (["--panas-strategy", "delta", "--judge-model", "j", "k"], "delta", ["j", "k"])],
)
def test_a_run_file_names_strategy_and_judges(
    call: Invoke, tmp_path: Path, options: list[str], strategy: str, judges: list[str]
) -> None:
    with ModelServer() as server:
        assert call("run", "local", "m", "demo", "--limit", 1, "--base-url", server.url, *options)[0] == 0
    (path,) = (tmp_path / "results").glob("[!._]*.json")
    content = json.loads(path.read_bytes())
    assert (content["panas_strategy"], content["judge_models"]) == (strategy, judges)


def test_answers_that_cannot_be_read_are_counted_at_the_end(call: Invoke, five_turns: Conversation) -> None:
    short = [five_turns.model_copy(update={"conversation_id": str(n), "turns": five_turns.turns[:1]}) for n in (1, 2)]
    Path("data").mkdir()
    for conversation in short:
        Path("data", f"{conversation.id}.json").write_bytes(conversation.to_json())

    def silent(number: int, body: dict[str, Any]) -> bytes:
        asked = body["messages"][-1]["content"]
        unreadable = "## The whole conversation" in asked or ("step 2: the OM's reply" in asked and number < 20)
        return said("Who knows?" if unreadable else answer_to(body))

    with ModelServer(silent) as server:
        command = ["run", "local", "m", "data", "--base-url", server.url, "--concurrency", 1]
        status, out, err = call(*command)
        assert (status, err) == (0, "")
        # Of each conversation the feelings of the turn and the whole: 2 x 2, each of them asked for twice.
        assert server.calls == 2 * (5 + 2)
        line = "4 of 10 answers could not be read and are missing, in 2 conversations; the files name them"
        assert line in out.splitlines()
        assert line in call(*command)[1].splitlines(), "those of an earlier run count too"
        assert server.calls == 2 * (5 + 2)


def test_a_dry_run_sends_nothing_and_counts_as_the_run(call: Invoke, five_turns: Conversation, tmp_path: Path) -> None:
    (tmp_path / "one.json").write_bytes(five_turns.to_json())
    (tmp_path / "prices.toml").write_text("[m]\ninput = 1.0\noutput = 2.0\n")
    common = ["--judge-model", "j", "--modes", "default", "verbose"]
    with ModelServer() as server:
        status, out, _ = call("run", "local", "m", "one.json", "--dry-run", "--prices", "prices.toml", *common)
        assert (status, server.calls) == (0, 0)
        assert out.startswith("1 conversation in 2 conditions: 52 calls")
        assert "m: 42 calls, about" in out
        assert "j: 10 calls, about" in out
        assert "cost: about" in out
        assert "cost: not known" in out
        assert not (tmp_path / "results").exists()
        call("run", "local", "m", "one.json", "--base-url", server.url, *common)
        assert server.calls == 52


def test_all_modes(call: Invoke) -> None:
    _, out, _ = call("run", "local", "m", "demo", "--dry-run", "--modes", "all", "--limit", 1)
    assert "in 4 conditions" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["local", "m", "demo"], "local needs the URL of its server"),
        (["openrouter", "m", "demo"], "no key for openrouter: set OPENROUTER_API_KEY"),
        (["openai", "m", "demo", "--base-url", "http://h/v1"], "and this is openai; leave it out"),
        ([*LOCAL, "--judge-provider", "openai"], "no judge; name one"),
        (["local", "m", "demo", "--limit", "0"], "Invalid value for '--limit': 0 is not in the range"),
        ([*LOCAL, "--concurrency", "0"], "concurrency is 0"),
        (["local", "m", "demo", "--max-tokens", "0"], "max_tokens is 0"),
        ([*LOCAL, "--call-timeout", "nan"], "call_timeout is nan"),
        (["local", "m", "demo", "--judge-model", "j", "j"], "a judge is named twice"),
        (
            [*LOCAL, "--judge-model"],
            "--judge-model is given without a value",
        ),
        ([*LOCAL, "--modes"], "--modes is given without a value"),
        (["local", "m", "demo", "--base-url", ""], "local needs the URL"),
        (["local", "m", "demo", "--temperature", "nan"], "temperature is nan"),
        ([*LOCAL, "--prices", "none.toml"], "none.toml: cannot be read"),
        (["local", "m", "demo", "--codebook", "none.json"], "none.json"),
        (["local", "m", "none"], "none"),
        (["azure", "m", "demo"], "unknown provider 'azure'"),
        (["azure", "m", "demo", "--dry-run"], "unknown provider 'azure'"),
        (["local", "m", "demo", "--dry-run", "--judge-base-url", "http://h/v1"], "no judge; name one"),
        (["local", "m", "demo", "--dry-run", "--concurrency", "0"], "concurrency is 0"),
        (
            [*LOCAL, "--max-cost", "1"],
            "the price of m is not known",
        ),
    ],
)
def test_mistakes_are_one_line(arguments: list[str], message: str, call: Invoke) -> None:
    status, out, err = call("run", *arguments)
    assert (status, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.slow
def test_what_stops_a_run_is_said_once_with_what_to_do(call: Invoke, tmp_path: Path) -> None:
    (tmp_path / "prices.toml").write_text("[m]\ninput = 1.0\noutput = 1.0\n")
    with ModelServer() as server:
        given = ["run", "local", "m", "demo", "--limit", 3, "--prices", "prices.toml", "--base-url", server.url]
        status, out, err = call(*given, "--max-cost", 0.0001)
        assert (status, server.calls) == (1, 0)
        assert out == ""
        stopped, last = err.splitlines()
        assert stopped.endswith("; a higher limit (--max-cost) lets it go on")
        assert last.startswith("attune-bench: 3 conversations not finished")
        assert last.endswith("once that is mended, the run goes on from here")
        assert call(*given, "--max-cost", 10)[0] == 0


def test_a_key_on_the_command_line_is_used_with_a_warning(call: Invoke) -> None:
    with ModelServer() as server:
        options = ["--base-url", server.url, "--limit", 1, "--api-key", "key-of-mine"]
        status, out, err = call("run", "local", "m", "demo", *options)
        assert b"Authorization: Bearer key-of-mine" in server.headers
    assert status == 0
    assert "can be read by other users" in err
    assert "key-of-mine" not in out + err


def test_judges_may_be_elsewhere(call: Invoke) -> None:
    with ModelServer() as server, ModelServer() as other:
        options = ["--judge-model", "j", "--base-url", server.url, "--judge-base-url", other.url, "--limit", 1]
        assert call("run", "local", "m", "demo", *options, "--api-key", "key-of-mine")[0] == 0
        assert b"key-of-mine" in server.headers
        assert b"key-of-mine" not in other.headers
        assert {body["model"] for body in server.bodies} == {"m"}
        assert {body["model"] for body in other.bodies} == {"j"}


def test_files_that_were_left_out_are_told(call: Invoke, tmp_path: Path, five_turns: Conversation) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "one.json").write_bytes(five_turns.to_json())
    (tmp_path / "data" / "two.json").write_text("{")
    with ModelServer() as server:
        status, _, err = call("run", "local", "m", "data", "--base-url", server.url)
    assert status == 0
    assert err.startswith("attune-bench: 1 error in the files; the first: two.json $: not JSON at column 2: ")
    assert err.endswith("; see: attune-bench validate data\n")


@pytest.mark.slow
def test_why_a_conversation_failed_is_told(call: Invoke) -> None:
    text = load("demo")[1].turns[0].user_message

    def refuse(_number: int, body: dict[str, Any]) -> bytes | None:
        return reply("413 Too Large", "") if any(text in one["content"] for one in body["messages"]) else None

    with ModelServer(refuse) as server:
        status, _, err = call("run", "local", "m", "demo", "--base-url", server.url, "--limit", 2)
    told, last = err.splitlines()
    assert (status, told) == (1, f"attune-bench: {load('demo')[1].id} (default): {server.url}: status 413")
    assert last.endswith("; the same command tries again")


def test_a_key_is_asked_for_on_a_terminal(call: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    for stream in (sys.stdin, sys.stderr):
        monkeypatch.setattr(stream, "isatty", lambda: True)
    monkeypatch.setattr("getpass.getpass", lambda _prompt: "typed-key")
    with ModelServer() as server:
        monkeypatch.setitem(providers._URLS, "openai", server.url)
        status, out, err = call("run", "openai", "m", "demo", "--limit", 1)
        assert b"Authorization: Bearer typed-key" in server.headers
    assert status == 0
    assert "typed-key" not in out + err


def test_what_is_sent(call: Invoke) -> None:
    with ModelServer() as server:
        options = ["--base-url", server.url, "--limit", 1, "--seed", 7, "--max-tokens", 300]
        call("run", "local", "m", "demo", *options, "--temperature", "0.5", "-o", "one")
        body = server.bodies[-1]
        assert (body["model"], body["seed"], body["max_tokens"], body["temperature"]) == ("m", 7, 300, 0.5)
        assert body["response_format"]["json_schema"]["strict"] is True
        call(
            "run", "local", "m", "demo", "--base-url", server.url, "--limit", 1, "--temperature", "server", "-o", "two"
        )
        assert "temperature" not in server.bodies[-1]
        assert "seed" not in server.bodies[-1]


@pytest.mark.slow
def test_the_command_of_what_was_skipped_is_the_one_that_was_given(call: Invoke, tmp_path: Path) -> None:
    given = ["run", "local", "a model", "demo", "--modes", "verbose", "omniscient", "--judge-model", "j", "k k"]
    given += ["--output", "out", "--limit", "1", "--panas-strategy", "delta", "--concurrency", "3", "--seed", "1"]
    with ModelServer(lambda _number, _body: b"HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n") as server:
        status, _, err = call(*given, "--base-url", server.url, "--api-key", "key-of-mine")
        given += ["--base-url", server.url]
    assert status == 1
    assert "does not accept the key" in err
    listed = json.loads((tmp_path / "out" / "_skipped_a-model.json").read_bytes())
    words = shlex.split(listed["command"])
    assert words[0] == "attune-bench"
    assert sorted(words[1:]) == sorted(given)
    with ModelServer() as server:
        again = [server.url if word.startswith("http://") else word for word in words[1:]]
        assert call(*again)[0] == 0
    assert not list((tmp_path / "out").glob("_skipped*"))


@pytest.mark.slow
def test_the_command_of_what_was_skipped_keeps_the_url_of_local_judges(
    call: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", "key-of-mine")
    with ModelServer() as judges, ModelServer(lambda _number, _body: reply("401 Unauthorized", "")) as models:
        monkeypatch.setitem(providers._URLS, "openrouter", models.url)
        given = ["run", "openrouter", "m", "demo", "--judge-model", "j", "--judge-provider", "local", "--limit", "1"]
        given += ["--output", "out", "--base-url"]
        assert call(*given, judges.url.replace("//", "//me:secret-1@") + "?token=secret-2")[0] == 1
        given.append(judges.url)
    listed = json.loads((tmp_path / "out" / "_skipped_m.json").read_bytes())
    assert sorted(shlex.split(listed["command"])[1:]) == sorted(given)
    with ModelServer(lambda _number, _body: reply("401 Unauthorized", "")) as server:
        url = server.url.replace("//", "//me:secret-1@") + "?token=secret-2"
        given = ["run", "local", "n", "demo", "--judge-model", "j", "--limit", "1", "--output", "out"]
        assert call(*given, "--base-url", server.url, "--judge-base-url", url)[0] == 1
        given += ["--base-url", server.url, "--judge-base-url", server.url]
    listed = json.loads((tmp_path / "out" / "_skipped_n.json").read_bytes())
    assert sorted(shlex.split(listed["command"])[1:]) == sorted(given)


# Progress.


def test_a_meter_tells_what_is_expected() -> None:
    meter = Meter(units=4, calls=100, unit="conversation")
    for _ in range(10):
        meter.count(Response("", 90, 10, 0.01), role="model", is_new=False)
        meter.count(Response("", 90, 10, 0.02), role="judge", is_new=False)
    meter.failed = 1
    # 20 calls cost 0.30, so that 100 cost 1.50.
    assert meter.text() == (
        "0/4 conversations, 20/100 calls, 1 failed, 0.30 USD (judge 0.20), about 1.50 expected, 2,000 tokens"
    )


def test_a_meter_tells_a_slow_rate_by_the_minute_and_expects_of_what_has_a_price() -> None:
    meter = Meter(units=4, calls=100, unit="conversation")
    meter._began -= 600
    for cost in (None, 0.01):
        for _ in range(10):
            meter.count(Response("", 90, 10, cost), role="model", is_new=True)
    # 20 answers in ten minutes, so that 80 take 40; ten of them cost 0.10, so that 100 cost 1.00.
    assert meter.text().split(", ")[2:] == [
        "2.0/min", "40 min left", "0.10 USD", "about 1.00 expected", "2,000 tokens",
    ]  # fmt: skip


def test_progress_is_one_line_that_changes_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = StringIO()
    monkeypatch.setattr(screen, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("attune_bench.runner.terminal._columns", lambda: 50)
    half = Meter(2, 26, "conversation", done=1, failed=1, responses=13)
    with progress_line() as watch:
        watch(Meter(2, 26, "conversation"))
        watch(half)
    # From the first column on, no wider than the terminal: what does not fit is left out.
    lines = ["[........................] 0/2 conversations", "[###...] 1/2 conversations, 13/26 calls, 1 failed"]
    written = "".join(f"\r{line}\x1b[K" for line in lines)
    # The result says it again, so the line is gone; where there is none, it stays.
    assert screen.getvalue() == f"{written}\r\x1b[K"
    with suppress(KeyboardInterrupt), progress_line() as watch:
        watch(half)
        raise KeyboardInterrupt
    assert screen.getvalue() == f"{written}\r\x1b[K\r{lines[1]}\x1b[K\n"


def test_a_terminal_that_rewrites_no_line_gets_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = StringIO()
    monkeypatch.setattr(screen, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "dumb")
    with progress_line() as watch:
        watch(Meter(1, 26, "conversation"))
        warn("slow")
    assert screen.getvalue() == "attune-bench: slow\n"


def test_what_a_meter_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attune_bench.runner.cost.monotonic", lambda: 40.0)
    meter = Meter(4, 100, "scenario", _began=0.0)
    assert meter.text() == "0/4 scenarios, waiting for the first answer, 40 s"
    for _ in range(20):
        meter.count(Response("{}", 90, 10, cost=0.01), role="model", is_new=True)
    meter.failed = 1
    # 20 calls in 40 s: 80 more take 160 s, and 100 cost five times as much.
    assert meter.text() == (
        "0/4 scenarios, 20/100 calls, 1 failed, 30.0/min, 3 min left, 0.20 USD, about 1.00 expected, 2,000 tokens"
    )
    meter.done = 3
    # Nothing is left to do, whatever calls were not needed.
    assert meter.text() == "3/4 scenarios, 20/100 calls, 1 failed, 30.0/min, 0.20 USD, 2,000 tokens"


def test_progress_is_plain_lines_without_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    for module in ("terminal", "cost"):
        monkeypatch.setattr(f"attune_bench.runner.{module}.monotonic", lambda: now)
    meter = Meter(1, 26, "conversation", _began=0.0)
    with progress_line() as watch:
        for now in range(100):  # noqa: B007 - the clock
            watch(meter)
    assert capsys.readouterr().err == "".join(
        f"0/1 conversations, waiting for the first answer, {said}\n" for said in ("31 s", "62 s", "2 min")
    )


def test_results_are_not_written_among_the_data(call: Invoke, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "one.json").write_bytes(load("demo")[0].to_json())
    for output in ("data", "data/results"):
        status, _, err = call("run", "local", "m", "data", "-o", output, "--dry-run")
        assert (status, err.count("\n")) == (2, 1)
        assert f"--output {output} is in data, which is read as data" in err
    assert call("run", "local", "m", "data", "-o", "database", "--dry-run")[0] == 0
