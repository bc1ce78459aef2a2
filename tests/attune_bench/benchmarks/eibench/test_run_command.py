"""The command `run` with scenarios of EIBench, as it is called."""

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from model_server import ModelServer, talk

from attune_bench import Scores

Invoke = Callable[..., tuple[int, str, str]]

PERSON = ["--benchmark", "eibench", "--simulator-model", "vendor/person"]
URL = ["--base-url", "http://127.0.0.1:1/v1"]


pytestmark = pytest.mark.usefixtures("elsewhere")


@pytest.mark.slow
def test_run_writes_results_that_score_reads(call: Invoke, tmp_path: Path) -> None:
    with ModelServer(answer=talk) as server:
        options = [*PERSON, "--base-url", server.url, "-o", "out", "--limit", 6]
        scenes = ["--where", "scene=charm", "scene=repair"]
        status, out, err = call("run", "local", "vendor/model", "demo", *options, *scenes)
    assert (status, err) == (0, "")
    said = out.splitlines()
    assert said[0] == "out/vendor_model: 6 episodes, one scenario each"
    assert said[1].startswith("6/6 scenarios, ")
    assert said[-1] == "next: attune-bench score --results out/vendor_model --data demo"
    status, out, _ = call(*shlex.split(said[-1])[2:])
    assert (status, out.splitlines()[-1]) == (0, "next: attune-bench report scores.parquet")
    scores = Scores.read("scores.parquet").variant(failed="start")
    assert {row["stratum"] for row in scores.by("scene", resamples=9).to_dicts()} == {"repair", "charm"}
    lines = [json.loads(line) for line in (tmp_path / "out/vendor_model/results.jsonl").read_bytes().splitlines()]
    [reward] = scores.summary(metrics=["reward"], resamples=9)["value"]
    assert reward == pytest.approx(sum(line["reward"] for line in lines) / 6, abs=1e-12)
    assert "simulator vendor/person" in " ".join(call("report", "--scores", "scores.parquet")[1].split())


def test_what_to_call_next_can_be_pasted(call: Invoke) -> None:
    with ModelServer(answer=talk) as server:
        options = [*PERSON, "--base-url", server.url, "-o", "two words", "--limit", 1]
        said = call("run", "local", "m", "demo", *options)[1].splitlines()
    assert shlex.split(said[-1])[1:] == ["attune-bench", "score", "--results", "two words/m", "--data", "demo"]


def test_a_dry_run_sends_nothing_and_says_what_may_be_sent(call: Invoke, tmp_path: Path) -> None:
    (tmp_path / "prices.toml").write_text('["vendor/model"]\ninput = 1.0\noutput = 2.0\n')
    said = '{"reflection": "' + "x" * 400 + '", "reply": "Well.", "continue": "yes"}'

    def longest(body: dict[str, object]) -> str:
        return said if "response_format" in body else "y" * 400

    with ModelServer(answer=longest) as server:
        options = [
            "local",
            "vendor/model",
            "demo",
            *PERSON,
            "--where",
            "scene=charm",
            "--limit",
            1,
            "--max-tokens",
            200,
        ]
        status, out, err = call("run", *options, "--dry-run", "--prices", "prices.toml")
        assert (status, err, server.calls) == (0, "", 0)
        assert out.startswith("1 scenario: 17 calls at most")
        assert "vendor/model: 9 calls, about" in out
        assert "vendor/person: 8 calls, about" in out
        assert out.count("cost: ") == 2
        assert not (tmp_path / "results").exists()
        most = int(re.findall(r"at most ([\d,]+) and", out)[0].replace(",", ""))
        assert call("run", *options, "--base-url", server.url)[0] == 0
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
        (["local", "m", "demo", *PERSON], "local needs the URL of its server"),
        (["openai", "m", "demo", *PERSON], "no key for openai: set OPENAI_API_KEY"),
        (["local", "m", "demo", *PERSON[:2]], "EIBench needs --simulator-model: "),
        (["local", "m", "demo", *PERSON[:3], ""], "the model or of the simulator is empty"),
        (["local", "m", "demo", *PERSON, "--max-rounds", "0"], "max_rounds is 0"),
        (["local", "m", "demo", *PERSON, "--limit", "0"], "Invalid value for '--limit': 0 is not in the range"),
        (["local", "m", "demo", *PERSON, "--temperature", "nan"], "temperature is nan; expected a number"),
        (["local", "m", "demo", *PERSON, "--simulator-temperature", "-1"], "simulator_temperature is -1.0"),
        (["local", "m", "demo", *PERSON, *URL, "--concurrency", "0"], "concurrency is 0"),
        (["local", "m", "demo", *PERSON, "--where", "scene=war"], "war"),
        (["local", "m", "demo", *PERSON, "--language", "de"], "'de' is not one of"),
        (["local", "m", "none", *PERSON], "none"),
        (["local", "m", "demo", *PERSON, *URL, "--prices", "none.toml"], "none.toml: cannot be read"),
        (
            ["local", "m", "demo", *PERSON, *URL, "--max-cost", "1"],
            "the price of m, vendor/person is not known",
        ),
    ],
)
def test_mistakes_are_one_line(arguments: list[str], message: str, call: Invoke) -> None:
    status, out, err = call("run", *arguments)
    assert (status, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1
    assert "--judge" not in err


def test_a_file_without_the_scene_that_was_asked_for(call: Invoke, tmp_path: Path) -> None:
    with ModelServer(answer=talk) as server:
        options = [*PERSON, "--base-url", server.url, "--limit", 1]
        assert call("run", "local", "m", "demo", *options)[0] == 0
        assert call("run", "local", "m", "demo", *options, "--max-rounds", 3)[0] == 2
    (tmp_path / "one.jsonl").write_bytes(b"{}\n")
    status, _, err = call("run", "local", "m", "one.jsonl", *PERSON, "--dry-run")
    assert status == 2
    assert "no usable scenario in one.jsonl" in err


@pytest.mark.slow
def test_the_simulator_may_be_elsewhere(call: Invoke) -> None:
    with ModelServer(answer=talk) as server, ModelServer(answer=talk) as other:
        options = [*PERSON, "--base-url", server.url, "--simulator-base-url", other.url, "--limit", 3]
        assert call("run", "local", "m", "demo", *options)[0] == 0
        assert {body["model"] for body in server.bodies} == {"m"}
        assert {body["model"] for body in other.bodies} == {"vendor/person"}


@pytest.mark.slow
def test_the_command_of_what_was_skipped_does_the_same(call: Invoke, tmp_path: Path) -> None:
    given = ["run", "local", "a model", "demo", *PERSON, "--where", "scene=charm", "scene=support", "--limit", "2"]
    given += ["--judge-all", "--max-rounds", "3", "--language", "zh", "--seed", "1", "--temperature", "server"]
    with ModelServer(lambda _number, _body: b"HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n") as server:
        status, _, err = call(*given, "--base-url", server.url, "--api-key", "key-of-mine")
    assert status == 1
    assert "does not accept the key" in err
    listed = json.loads((tmp_path / "results" / "a-model" / "_skipped_a-model.json").read_bytes())
    assert "key-of-mine" not in listed["command"]
    assert len(listed["skipped"]) == 2
    with ModelServer(answer=talk) as server:
        again = [server.url if word.startswith("http://") else word for word in shlex.split(listed["command"])[1:]]
        assert call(*again)[0] == 0
        body = server.bodies[-1]
        assert "不" in json.dumps(body, ensure_ascii=False)
        assert call(*given, "--base-url", server.url)[1].startswith(
            "results/a-model: 2 episodes, one scenario each; all from before, nothing was asked\n"
        )
