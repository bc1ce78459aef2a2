"""What is sent with the calls of a model only where it is asked for: reasoning effort, further parameters, no limit."""

import json
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from model_server import Json, ModelServer, answer_to, talk
from slow_cases import slow_after

from attune_bench.runner import (
    Call,
    Decoding,
    ModelSettings,
    PriceError,
    ReplaceError,
    RunError,
    RunOptions,
    Task,
    endpoint,
    message,
    run_sync,
)
from attune_bench.runner.client import request_body
from attune_bench.runner.cost import Price
from attune_data.record import Record

Invoke = Callable[..., tuple[int, str, str]]

pytestmark = pytest.mark.usefixtures("elsewhere")

BODY = {"top_p": 0.9, "chat_template_kwargs": {"enable_thinking": False}}
GIVEN = ("--max-tokens", "server", "--reasoning-effort", "low", "--extra-body", json.dumps(BODY))
SET: Json = {"max_tokens": None, "reasoning_effort": "low", "extra_body": BODY}


class Question(Record):
    """A question."""

    id: str


ASK: Task[Question, ModelSettings] = Task(
    name="ask",
    calls=lambda unit, own, _: [Call("answer", own.model, "model", (message("user", f"Why {unit.id}?"),))],
    assemble=lambda unit, answers, own: Record(id=unit.id, says=answers["answer"], **own.provenance()),
    unit="question",
)


def run(
    server: ModelServer, output: Path, *, key: str | None = None, settings: Json | None = None, **options: Any
) -> Json:
    where = endpoint("local", base_url=server.url, api_key=key)
    own = ModelSettings("m", answer_format="free", **(settings or {}))
    run_sync(ASK, [Question(id="q1")], own, where, output=output, options=RunOptions(**options))
    [path] = output.glob("[!._]*.json")
    written: Json = json.loads(path.read_bytes())
    return written


def bodies_of(server: ModelServer, model: str) -> list[Json]:
    return [body for body in server.bodies if body["model"] == model]


def is_set_in(body: Mapping[str, Any]) -> bool:
    """Tell whether a request has all that `GIVEN` asks for; it has all of it or none."""
    found = [body.get("reasoning_effort") == "low", BODY.items() <= body.items(), "max_tokens" not in body]
    assert len(set(found)) == 1, body
    return found[0]


# Where nothing is set.


def test_without_them_keys_and_files_are_those_of_before(tmp_path: Path) -> None:
    with ModelServer() as server:
        written = run(server, tmp_path)
    # The values of before any of these could be set.
    assert written["run_key"] == "7b2b805abd2e96390a0d8de1b303ebc41438d557fb1427e0a54219d8edf07329"
    [record] = map(json.loads, (tmp_path / ".cache.jsonl").read_text(encoding="utf-8").splitlines())
    assert record["key"] == "1ef56302ab6506a649f64de11d574e31f66ae53ded16d6beab63f87c7a701ba4"
    assert [*written] == "id says model seed temperature max_tokens answer_format api_cost usage run_key".split()
    assert server.bodies == [
        {"model": "m", "messages": [{"role": "user", "content": "Why q1?"}], "max_tokens": 4096, "temperature": 0.0}
    ]


# Where they are set.


@pytest.mark.parametrize(
    ("changed", "sent"),
    slow_after(
        1,
        [
            ({"max_tokens": None}, {}),
            ({"reasoning_effort": "high"}, {"max_tokens": 9, "reasoning_effort": "high"}),
            ({"extra_body": {"top_k": 5}}, {"max_tokens": 9, "top_k": 5}),
        ],
    ),
)
def test_each_is_sent_recorded_and_asks_again(changed: Json, sent: Json, tmp_path: Path) -> None:
    with ModelServer() as server:
        plain = run(server, tmp_path, settings={"max_tokens": 9})
        # Either way another setting is no reason to replace what was paid for.
        with pytest.raises(ReplaceError, match=next(iter(changed))):
            run(server, tmp_path, settings={"max_tokens": 9} | changed)
        written = run(server, tmp_path, settings={"max_tokens": 9} | changed, replace=True)
        with pytest.raises(ReplaceError, match=next(iter(changed))):
            run(server, tmp_path, settings={"max_tokens": 9})
        assert run(server, tmp_path, settings={"max_tokens": 9} | changed) == written
        assert run(server, tmp_path, settings={"max_tokens": 9}, replace=True) == plain
        messages = [{"role": "user", "content": "Why q1?"}]
        common = {"model": "m", "messages": messages, "temperature": 0.0}
        assert server.bodies == [common | {"max_tokens": 9}, common | sent]
    assert written.items() >= changed.items()
    assert written["run_key"] != plain["run_key"]


def test_other_further_parameters_replace_nothing_either(tmp_path: Path) -> None:
    with ModelServer() as server:
        run(server, tmp_path, settings={"extra_body": {"top_k": 5}})
        with pytest.raises(ReplaceError, match="extra_body"):
            run(server, tmp_path, settings={"extra_body": {"top_p": 0.5}})


@pytest.mark.slow
def test_the_model_of_a_run_is_sent_them_and_a_judge_is_not(call: Invoke, tmp_path: Path) -> None:
    with ModelServer(answer=answer_to) as server:
        where = ("--base-url", server.url)
        asked = ("local", "m", "demo", "--limit", 1, *where)
        assert call("run", *asked, "--judge-model", "j", *GIVEN)[0] == 0
        assert {is_set_in(body) for body in bodies_of(server, "m")} == {True}
        assert {is_set_in(body) for body in bodies_of(server, "j")} == {False}
        assert {body["max_tokens"] for body in bodies_of(server, "j")} == {4096}
        sent = server.calls
        assert call("run", *asked, "--judge-model", "j", *GIVEN)[0] == 0
        assert server.calls == sent
        [path] = (tmp_path / "results").glob("[!._]*.json")
        assert json.loads(path.read_bytes()).items() >= SET.items()
        # Of a command that asks judges alone they are the judges'.
        assert call("rejudge", "results", "--judge-model", "k", *where, *GIVEN)[0] == 0
        assert {is_set_in(body) for body in bodies_of(server, "k")} == {True}
        [path] = (tmp_path / "results-rejudged").glob("[!._]*.json")
        assert json.loads(path.read_bytes())["judge_settings"].items() >= SET.items()
        status, _, err = call("rejudge", "results", "--judge-model", "k", *where)
        assert (status, "reasoning_effort 'low', here None" in err) == (2, True)
        assert call("profile", "local", "p", *asked[2:], *GIVEN)[0] == 0
        assert {is_set_in(body) for body in bodies_of(server, "p")} == {True}


def test_the_simulator_is_not_sent_them(call: Invoke, tmp_path: Path) -> None:
    with ModelServer(answer=talk) as server:
        of_eibench = ("--benchmark", "eibench", "--simulator-model", "s")
        asked = ("local", "m", "demo", *of_eibench, "--limit", 1, "--base-url", server.url)
        assert call("run", *asked, *GIVEN)[0] == 0
        assert {is_set_in(body) for body in bodies_of(server, "m")} == {True}
        assert {is_set_in(body) for body in bodies_of(server, "s")} == {False}
        assert {body["max_tokens"] for body in bodies_of(server, "s")} == {8192}
        status, _, err = call("run", *asked, "--max-tokens", "server", "--extra-body", json.dumps(BODY))
        assert (status, "reasoning_effort 'low', here None" in err) == (2, True)
    [episode] = map(json.loads, (tmp_path / "results/m/results.jsonl").read_text(encoding="utf-8").splitlines())
    assert episode.items() >= SET.items()


def test_lines_of_a_batch_have_them(call: Invoke) -> None:
    export = ("batch", "export", "openai", "m", "demo", "--limit", 1, "-o")
    assert call(*export, "plain.jsonl")[0] == 0
    assert call(*export, "calls.jsonl", *GIVEN)[0] == 0
    plain, lines = (
        [json.loads(line) for line in Path(name).read_text(encoding="utf-8").splitlines()]
        for name in ("plain.jsonl", "calls.jsonl")
    )
    for before, line in zip(plain, lines, strict=True):
        assert before["custom_id"] != line["custom_id"]
        assert before["body"].pop("max_completion_tokens") == 4096
        assert line["body"] == before["body"] | BODY | {"reasoning_effort": "low"}
    Path("answers.jsonl").write_text(
        "".join(f"{json.dumps({'custom_id': line['custom_id'], 'error': 'none'})}\n" for line in lines),
        encoding="utf-8",
    )
    # The manifest has them too, so that answers are to the same requests.
    _, out, err = call("batch", "import", "calls.jsonl", "answers.jsonl", "-o", "runs")
    assert "have changed" not in err
    assert f"{len(lines)} calls left" in out


def test_the_command_that_tries_again_has_them(call: Invoke, tmp_path: Path) -> None:
    with ModelServer(lambda _number, _body: b"HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n") as server:
        call("run", "local", "m", "demo", "--limit", 1, "--base-url", server.url, *GIVEN)
    words = shlex.split(json.loads((tmp_path / "results/_skipped_m.json").read_bytes())["command"])
    assert [words[words.index(name) + 1] for name in GIVEN[::2]] == list(GIVEN[1::2])


def test_the_newer_name_of_the_limit_is_not_sent_either() -> None:
    call = Call("a", "m", "model", (message("user", "Why?"),))
    assert "max_completion_tokens" in request_body(call, Decoding(0.0, None, 9), "openai")
    assert request_body(call, Decoding(None, None, None), "openai").keys() == {"model", "messages"}


# What is refused.


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("{", "no JSON object"),
        ("[1]", "no JSON object"),
        ('{"top_p": NaN}', "extra_body is no JSON object"),
        ('{"model": "x"}', "extra_body has model, which is set here: the argument MODEL"),
        ('{"messages": []}', "extra_body has messages"),
        ('{"temperature": 1}', "use --temperature"),
        ('{"seed": 1}', "use --seed"),
        ('{"max_tokens": 1}', "use --max-tokens"),
        ('{"max_completion_tokens": 1}', "use --max-tokens"),
        ('{"reasoning_effort": "low"}', "use --reasoning-effort"),
        ('{"response_format": {}}', "--free-json"),
        ('{"stream": true}', "extra_body has stream"),
        ('{"n": 2}', "--repeats"),
        ('{"usage": {}}', "extra_body has usage"),
        ('{"max_output_tokens": 9}', "use --max-tokens"),
        ('{"models": ["x"]}', "the argument MODEL"),
        ('{"best_of": 2}', "extra_body has best_of"),
        ('{"x-auth": "hidden-value"}', "has x-auth, which looks like a credential"),
        ('{"api_key": "hidden-value"}', "extra_body has api_key, which looks like a credential"),
        ('{"tools": [{"headers": {"Authorization": "hidden-value"}}]}', "has Authorization, which looks like a"),
        ('{"provider": {"hf_token": "hidden-value"}}', "has hf_token, which looks like a credential"),
        ('{"clientSecret": "hidden-value"}', "has clientSecret, which looks like a credential"),
    ],
)
def test_further_parameters_that_are_refused(given: str, said: str, call: Invoke, tmp_path: Path) -> None:
    status, out, err = call("run", "local", "m", "demo", "--base-url", "http://127.0.0.1:9/v1", "--extra-body", given)
    assert (status, out, said in err) == (2, "", True), err
    assert "hidden-value" not in err
    assert list(tmp_path.iterdir()) == []


def test_names_that_count_tokens_are_no_credentials() -> None:
    body = {
        "stop_token_ids": [1],
        "min_tokens": 3,
        "prompt_cache_key": "a",
        "skip_special_tokens": True,
        "eos_token": "a",
    }
    assert Decoding(0.0, None, 9, extra_body=body).content()["extra_body"] == body


@pytest.mark.parametrize("body", [{"logit_bias": {50256: -100}}, {"stop": ("a", "b")}])
def test_further_parameters_that_a_file_cannot_give_back_are_refused(body: Json) -> None:
    with pytest.raises(ValueError, match="no JSON object"):
        Decoding(0.0, None, 9, extra_body=body)


@pytest.mark.parametrize("effort", ["", " ", "lo\nw"])
def test_a_reasoning_effort_is_a_word(effort: str) -> None:
    with pytest.raises(ValueError, match="reasoning_effort is"):
        Decoding(0.0, None, 9, effort)


def test_a_key_of_the_server_is_refused_wherever_it_stands(tmp_path: Path) -> None:
    with ModelServer() as server:
        for settings in ({"extra_body": {"user": "me long-key-of-mine"}}, {"reasoning_effort": "long-key-of-mine"}):
            with pytest.raises(RunError, match="contains a key of a server") as caught:
                run(server, tmp_path / "out", key="long-key-of-mine", settings=settings)
            assert "long-key" not in str(caught.value)
        # A short one may be a word.
        run(server, tmp_path / "out", key="none", settings={"extra_body": {"tool_choice": "none"}})
    assert server.calls == 1


# The cost.


@pytest.mark.slow
def test_a_limit_of_the_cost_needs_a_limit_of_tokens(call: Invoke, tmp_path: Path) -> None:
    (tmp_path / "prices.toml").write_text("[m]\ninput = 1.0\noutput = 2.0\n")
    limited = ("--max-cost", 1, "--prices", "prices.toml")
    with ModelServer() as server:
        asked = ("run", "local", "m", "demo", "--limit", 1, "--base-url", server.url, *limited)
        for dry in ((), ("--dry-run",)):
            status, out, err = call(*asked, "--max-tokens", "server", *dry)
            assert (status, out, server.calls) == (2, "", 0)
            assert "give --max-tokens a number, or leave out --max-cost" in err
        with pytest.raises(PriceError, match="without a limit of tokens"):
            run(server, tmp_path, settings={"max_tokens": None}, max_cost=1.0, prices={"m": Price(1.0, 2.0)})
        assert call(*asked)[0] == 0


def test_an_estimate_says_what_it_cannot_know(call: Invoke, tmp_path: Path) -> None:
    (tmp_path / "prices.toml").write_text("[m]\ninput = 1.0\noutput = 2.0\n[j]\ninput = 1.0\noutput = 2.0\n")
    asked = ("run", "local", "m", "demo", "--limit", 1, "--judge-model", "j", "--prices", "prices.toml", "--dry-run")
    _, plain, _ = call(*asked)
    status, out, err = call(*asked, "--max-tokens", "server")
    assert (status, err) == (0, "")
    # Judges quote drafts, which have no limit.
    assert out.count("the most is not known, as answers of the model have no limit (--max-tokens server)") == 2
    assert out.count("USD, at most not known") == 2
    assert "not known" not in plain
    about = [line.partition("answers;")[0].partition(", at most")[0] for line in plain.splitlines()]
    assert [line.partition("answers;")[0].partition(", at most")[0] for line in out.splitlines()] == about
