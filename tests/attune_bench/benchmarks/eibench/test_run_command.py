"""`attune-bench eibench run`, as it is called."""

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from model_server import ModelServer, talk

Invoke = Callable[..., tuple[int, str, str]]

SIMULATOR = ["--simulator-model", "vendor/person"]


pytestmark = pytest.mark.usefixtures("elsewhere")


def test_run_writes_results_that_score_reads(call: Invoke, tmp_path: Path) -> None:
    with ModelServer(answer=talk) as server:
        options = [*SIMULATOR, "--base-url", server.url, "-o", "out", "--scene", "charm", "repair", "--limit", 6]
        status, out, err = call("eibench", "run", "local", "vendor/model", "demo", *options)
    assert (status, err) == (0, "")
    said = out.splitlines()
    assert said[0] == "out/vendor_model: 6 episodes"
    assert said[1].startswith("6/6 scenarios, ")
    assert said[-1] == "next: attune-bench eibench score out/vendor_model --data demo"
    status, out, _ = call(*shlex.split(said[-1])[2:], "--format", "json", "--failed", "start")
    assert status == 0
    scored = json.loads(out)
    assert scored["by_scene"].keys() == {"repair", "charm"}
    lines = [json.loads(line) for line in (tmp_path / "out/vendor_model/results.jsonl").read_bytes().splitlines()]
    assert scored["overall"]["reward"] == pytest.approx(sum(line["reward"] for line in lines) / 6, abs=1e-12)
    assert scored["metadata"]["simulator"] == "vendor/person"


def test_what_to_call_next_can_be_pasted(call: Invoke) -> None:
    with ModelServer(answer=talk) as server:
        options = [*SIMULATOR, "--base-url", server.url, "-o", "two words", "--limit", 1]
        said = call("eibench", "run", "local", "m", "demo", *options)[1].splitlines()
    assert shlex.split(said[-1])[1:] == ["attune-bench", "eibench", "score", "two words/m", "--data", "demo"]


def test_a_dry_run_sends_nothing_and_says_what_may_be_sent(call: Invoke, tmp_path: Path) -> None:
    (tmp_path / "prices.toml").write_text('["vendor/model"]\ninput = 1.0\noutput = 2.0\n')
    said = '{"reflection": "' + "x" * 400 + '", "reply": "Well.", "continue": "yes"}'

    def longest(body: dict[str, object]) -> str:
        return said if "response_format" in body else "y" * 400

    with ModelServer(answer=longest) as server:
        options = ["local", "vendor/model", "demo", *SIMULATOR, "--scene", "charm", "--limit", 1, "--max-tokens", 200]
        status, out, err = call("eibench", "run", *options, "--dry-run", "--prices", "prices.toml")
        assert (status, err, server.calls) == (0, "", 0)
        assert out.startswith("1 scenario: 17 calls at most")
        assert "vendor/model: 9 calls, about" in out
        assert "vendor/person: 8 calls, about" in out
        assert out.count("cost: ") == 2
        assert not (tmp_path / "results").exists()
        most = int(re.findall(r"at most ([\d,]+) and", out)[0].replace(",", ""))
        assert call("eibench", "run", *options, "--base-url", server.url)[0] == 0
        assert server.calls == 17
        sizes = [
            sum(len(message["content"]) for message in body["messages"])
            for body in server.bodies
            if body["model"] == "vendor/model"
        ]
    # No usual tokenizer makes more than a token of two characters.
    assert sum(sizes) / 2 <= most


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["local", "m", "demo", "--simulator-model", "s"], "openai-compatible needs the URL of its server"),
        (["openai", "m", "demo", "--simulator-model", "s"], "no key for openai: set OPENAI_API_KEY"),
        (["local", "m", "demo"], "simulator-model"),
        (["local", "m", "demo", "--simulator-model", ""], "the model or of the simulator is empty"),
        (["local", "m", "demo", *SIMULATOR, "--max-rounds", "0"], "max_rounds is 0"),
        (["local", "m", "demo", *SIMULATOR, "--limit", "0"], "--limit is 0"),
        (["local", "m", "demo", *SIMULATOR, "--temperature", "nan"], "temperature is nan; expected a number"),
        (["local", "m", "demo", *SIMULATOR, "--simulator-temperature", "-1"], "simulator_temperature is -1.0"),
        (["local", "m", "demo", *SIMULATOR, "--concurrency", "0"], "concurrency is 0"),
        (["local", "m", "demo", *SIMULATOR, "--scene", "war"], "war"),
        (["local", "m", "demo", *SIMULATOR, "--language", "de"], "de"),
        (["local", "m", "none", *SIMULATOR], "none"),
        (["local", "m", "demo", *SIMULATOR, "--prices", "none.toml"], "none.toml: cannot be read"),
        (
            ["local", "m", "demo", *SIMULATOR, "--base-url", "http://127.0.0.1:1/v1", "--max-cost", "1"],
            "the price of m, vendor/person is not known",
        ),
    ],
)
def test_mistakes_are_one_line(arguments: list[str], message: str, call: Invoke) -> None:
    status, out, err = call("eibench", "run", *arguments)
    assert (status, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1
    assert "judge" not in err


def test_a_file_without_the_scene_that_was_asked_for(call: Invoke, tmp_path: Path) -> None:
    with ModelServer(answer=talk) as server:
        options = [*SIMULATOR, "--base-url", server.url, "--limit", 1]
        assert call("eibench", "run", "local", "m", "demo", *options)[0] == 0
        assert call("eibench", "run", "local", "m", "demo", *options, "--max-rounds", 3)[0] == 2
    (tmp_path / "one.jsonl").write_bytes(b"{}\n")
    status, _, err = call("eibench", "run", "local", "m", "one.jsonl", *SIMULATOR, "--dry-run")
    assert status == 2
    assert "no usable scenario in one.jsonl" in err


def test_the_simulator_may_be_elsewhere(call: Invoke) -> None:
    with ModelServer(answer=talk) as server, ModelServer(answer=talk) as other:
        options = [*SIMULATOR, "--base-url", server.url, "--simulator-base-url", other.url, "--limit", 3]
        assert call("eibench", "run", "local", "m", "demo", *options)[0] == 0
        assert {body["model"] for body in server.bodies} == {"m"}
        assert {body["model"] for body in other.bodies} == {"vendor/person"}


def test_the_command_of_what_was_skipped_does_the_same(call: Invoke, tmp_path: Path) -> None:
    given = ["eibench", "run", "local", "a model", "demo", *SIMULATOR, "--scene", "charm", "support", "--limit", "2"]
    given += ["--judge-all", "--max-rounds", "3", "--language", "zh", "--seed", "1", "--temperature", "server"]
    with ModelServer(lambda _number, _body: b"HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n") as server:
        status, _, err = call(*given, "--base-url", server.url, "--api-key", "key-of-mine")
    assert status == 1
    assert "does not accept the key" in err
    listed = json.loads((tmp_path / "episodes" / "a-model" / "_skipped_a-model.json").read_bytes())
    assert "key-of-mine" not in listed["command"]
    assert len(listed["skipped"]) == 2
    with ModelServer(answer=talk) as server:
        again = [server.url if word.startswith("http://") else word for word in shlex.split(listed["command"])[1:]]
        assert call(*again)[0] == 0
        body = server.bodies[-1]
        assert "不" in json.dumps(body, ensure_ascii=False)
        assert call(*given, "--base-url", server.url)[1].startswith("episodes/a-model: 2 episodes, 2 of them from")
