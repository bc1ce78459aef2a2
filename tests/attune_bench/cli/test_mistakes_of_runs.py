"""Mistakes about servers and models: each message says what is wrong, where, and what to do."""

import json
from errno import EACCES
from pathlib import Path
from typing import NoReturn

import pytest
from commands import Call
from model_server import Json, ModelServer, reply, said

from attune_bench.runner import client

pytestmark = pytest.mark.usefixtures("elsewhere")

KEY = "sk-SECRET-0123456789abcdef"
RUN = ("run", "local", "gemma-3", "demo", "--limit", 1)


def test_a_server_that_is_not_running(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "_BACKOFF", 0.0)
    monkeypatch.setattr("attune_bench.runner.calls.USUAL_URLS", {"ollama": "http://localhost:9/v1"})
    status, out, err = call("run", "ollama", "m", "demo", "--limit", 1)
    assert (status, "next:" in out) == (1, False)
    said = (
        "stopped: http://localhost:9/v1: no connection; start the server (ollama serve), or give another address with"
    )
    assert f"{said} --base-url" in err
    assert err.count("no connection") == 1


def test_an_address_at_which_no_server_is_running(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "_BACKOFF", 0.0)
    status, out, err = call(*RUN, "--base-url", "http://localhost:9/v1")
    assert (status, out) == (1, "")
    assert "http://localhost:9/v1: no connection; start the server, or correct the address after --base-url" in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ("local", "demo"),
            "demo is read as MODEL, and DATA is missing; is the name of the model missing? Write: attune-bench run "
            "local MODEL demo",
        ),
        (
            ("vendor/m", "demo"),
            "vendor/m is read as PROVIDER and demo as MODEL, and DATA is missing; is the provider missing? Write: "
            "attune-bench run local vendor/m demo",
        ),
        (("olama", "m"), "no provider 'olama', did you mean 'ollama'? DATA is missing; name the data, for instance: "),
        (("vlm", "demo"), "no provider 'vlm', did you mean 'vllm'? demo is read as MODEL, and DATA is missing"),
        (("local", "m"), "DATA is missing; name the data, for instance: attune-bench run local m demo"),
    ],
)
def test_one_of_three_arguments_is_missing(arguments: tuple[str, str], words: str, call: Call) -> None:
    status, out, err = call("run", *arguments, "--base-url", "http://localhost:9/v1")
    assert (status, out) == (2, "")
    assert words in err


def test_a_finished_run_does_not_ask_a_server(call: Call) -> None:
    with ModelServer() as server:
        assert call(*RUN, "--base-url", server.url)[1].startswith("results: 1 run\n")
    status, out, _ = call(*RUN, "--base-url", "http://localhost:9/v1")
    assert (status, out.splitlines()[0]) == (0, "results: 1 run; from before, nothing was asked")


def test_results_of_another_server_are_counted(call: Call) -> None:
    with ModelServer() as first, ModelServer() as second:
        key, limit = "?key=a-secret-of-the-first", ("--limit", 3)
        assert "answered by" not in call(*RUN, "--base-url", first.url + key)[2]
        assert "answered by" not in call(*RUN, "--base-url", first.url)[2]
        ends = "not by the server of this command; another --output asks this server\n"
        _, out, err = call(*RUN, *limit, "--base-url", second.url)
        assert out.startswith("results: 3 runs, one conversation each; 1 of them from before\n")
        assert err == f"attune-bench: 1 of 3 runs was answered by {first.url}, {ends}"
        _, out, err = call(*RUN, *limit, "--base-url", first.url)
        assert "all from before, nothing was asked\n" in out
        assert err == f"attune-bench: 2 of 3 runs were answered by {second.url}, {ends}"
        assert call(*RUN, *limit, "--base-url", first.url, "-o", "other")[2] == ""
        assert len(first.bodies) > 0


def test_a_provider_of_a_similar_name(call: Call) -> None:
    status, _, err = call("run", "olama", "m", "demo")
    assert status == 2
    assert "unknown provider 'olama'; did you mean 'ollama'? The providers are openrouter, openai, prime" in err


def test_a_compatible_server_without_its_address(call: Call) -> None:
    status, _, err = call(*RUN)
    assert status == 2
    assert "local needs the URL of its server: --base-url http://HOST:PORT/v1, " in err
    assert "or ollama or vllm or lmstudio for a server at its usual address" in err


def test_a_model_that_the_server_does_not_have(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCAL_API_KEY", KEY)
    missing = reply("404 Not Found", json.dumps({"error": {"message": f"no model, {KEY}"}}))
    models = [f"qwen3:{n}b" for n in range(12)]
    with ModelServer(lambda *_: missing, models=["gemma3:270m", f"leak-{KEY}", *models]) as server:
        where = ("--base-url", f"{server.url}?token=other-secret-01")
        status, out, err = call(*RUN, *where, "-o", "runs")
        assert (status, server.calls) == (1, 1)
        assert f"Bearer {KEY}".encode() in server.asked_for_models
        assert server.asked_for_models.startswith(b"GET /v1/models?token=other-secret-01 ")
    assert "it has no model 'gemma-3'; did you mean 'gemma3:270m'? It has gemma3:270m, " in err
    assert "and 4 more" in err
    assert KEY not in out + err + "".join(path.read_text() for path in Path("runs").iterdir() if path.is_file())


@pytest.mark.parametrize("status", ["404 Not Found", "400 Bad Request"])
def test_a_server_says_in_its_words_that_it_has_no_such_model(status: str, call: Call) -> None:
    refused = reply(status, json.dumps({"error": {"message": "gemma-3 is not a valid model ID"}}))
    with ModelServer(lambda *_: refused, models=["vendor/large"]) as server:
        exit_status, _, err = call(*RUN, "--base-url", server.url)
        assert (exit_status, server.calls) == (1, 1)
    assert "(gemma-3 is not a valid model ID); it has no model 'gemma-3'; it has vendor/large" in err


@pytest.mark.parametrize("models", [None, ["gemma-3"]])
def test_a_404_of_another_reason_lists_no_models(models: list[str] | None, call: Call) -> None:
    with ModelServer(lambda *_: reply("404 Not Found", "{}"), models=models) as server:
        _, _, err = call(*RUN, "--base-url", server.url)
    assert "status 404; it knows no such model, or is at another URL" in err
    assert "it has" not in err


@pytest.mark.parametrize("path", ["", "/", "/v1/chat/completions", "/api", "/v1/models"])
def test_an_address_with_another_path_than_v1(path: str, call: Call) -> None:
    with ModelServer(models=["gemma-3"], is_strict=True) as server:
        address = server.url.removesuffix("/v1") + path
        status, _, err = call(*RUN, "--base-url", address)
        assert (status, server.calls) == (1, 0)
        assert f"status 404; the address of this server ends in /v1; try {server.url}\n" in err
        assert "no such model" not in err
    # A server that lists no models: what is missing in the address is all that is known.
    with ModelServer(is_strict=True) as server:
        address = server.url.removesuffix("/v1") + path
        _, _, err = call(*RUN, "--base-url", address)
        assert (f"status 404; an address mostly ends in /v1; try {server.url}\n" in err) == (path != "/api")
        assert ("no such model, or is at another URL" in err) == (path == "/api")


def test_ollama_at_an_address_without_v1(call: Call) -> None:
    with ModelServer(models=["gemma-3"], is_strict=True) as server:
        _, _, err = call("run", "ollama", *RUN[2:], "--base-url", server.url.removesuffix("/v1"))
        assert f"the address of this server ends in /v1; try {server.url}\n" in err


BENCHMARKS = ("attunebench", "emobench", "eqbench", "eibench")
EIBENCH = ("--benchmark", "eibench", "--simulator-model", "p", "--max-rounds", 1)


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_a_run_of_which_no_answer_could_be_read(benchmark: str, call: Call) -> None:
    own = EIBENCH if benchmark == "eibench" else ("--benchmark", benchmark)
    words = f"Hm.\x1b[2J {'I would rather not. ' * 50}"
    with ModelServer(lambda *_: said(words)) as server:
        status, out, err = call(*RUN, *own, "--base-url", server.url)
        assert (status, "next:" in out) == (1, False)
        assert "no answer could be read, of " in err
        model = "p" if benchmark == "eibench" else "gemma-3"
        assert f"for instance, {model} answered 'Hm.\ufffd[2J I would rather not. " in err
        assert max(map(len, err.splitlines())) < 400
        schema = ", a larger --max-tokens where answers end early, or --free-json where the server takes no schema\n"
        other = " or a larger --max-tokens where answers end early\n"
        assert f"Try a larger model{other if benchmark == 'eqbench' else schema}" in err
        calls = server.calls
        status, out, err = call(*RUN, *own, "--base-url", server.url)
        assert (status, "next:" in out, server.calls) == (1, False, calls), "nothing is asked twice"
        assert "no answer could be read" in err


@pytest.mark.parametrize(
    ("benchmark", "line"),
    [
        ("attunebench", "1 of 21 answers could not be read and is missing, in 1 conversation"),
        ("emobench", "3 of 20 answers could not be read and are missing, in 1 item"),
    ],
)
def test_a_run_of_which_some_answers_could_be_read(benchmark: str, line: str, call: Call) -> None:
    def fault(number: int, body: Json) -> bytes | None:
        whole = "## The whole conversation" in body["messages"][-1]["content"]
        return said("Hm.") if whole or (benchmark == "emobench" and number < 4) else None

    with ModelServer(fault) as server:
        command = ("run", "local", "m", "demo", "--limit", 1, "--benchmark", benchmark, "--concurrency", 1)
        status, out, err = call(*command, "--base-url", server.url)
    assert (status, err) == (0, "")
    assert line in out
    assert "next: attune-bench score" in out


def test_an_answer_of_eqbench_that_rates_other_emotions_is_not_read(call: Call) -> None:
    rated = "Happy: 3\nGlad: 1\nMerry: 0\nJolly: 2\n"
    with ModelServer(lambda *_: said(f"First pass scores:\n{rated}\nRevised scores:\n{rated}")) as server:
        status, out, err = call(*RUN, "--benchmark", "eqbench", "--base-url", server.url)
    assert (status, "next:" in out) == (1, False)
    assert "no answer could be read, of 1 answer in all; for instance, gemma-3 answered 'First pass scores:" in err


def test_answers_that_were_cut_off(call: Call) -> None:
    with ModelServer(lambda *_: said("{", finish_reason="length")) as server:
        status, _, err = call(*RUN, "--base-url", server.url)
    assert status == 1
    assert "for instance, gemma-3 answered '{' (finish_reason length)" in err


def test_a_folder_that_cannot_be_written(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, *_: object, **__: object) -> NoReturn:
        raise PermissionError(EACCES, "Permission denied", str(path))

    # Where tests run as root no folder refuses, so the refusal is made.
    monkeypatch.setattr(Path, "mkdir", refuse)
    with ModelServer() as server:
        status, out, err = call(*RUN, "--base-url", server.url, "-o", "kept/runs")
        assert (status, out, server.calls) == (2, "", 0)
    instead = f"choose another folder, for instance {Path.home() / 'runs'}"
    assert err == f"attune-bench: kept/runs: cannot be written: Permission denied; {instead}\n"
