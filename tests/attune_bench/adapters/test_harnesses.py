"""The real lm-evaluation-harness and Inspect: what their pages of the documentation say, and the numbers of a run."""

import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator, Mapping
from math import isnan
from pathlib import Path
from typing import Any

import pytest
from environments import new_environment
from interrupts import SCRIPT
from model_server import Json, ModelServer, answer_to, talk

from attune_bench import Scores, score
from attune_data import load, load_episodes, load_runs, load_scenarios

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
ENDS = {"": "value", "_low": "low", "_high": "high"}
KEY = "secret-of-loop"
LOOP = "http://localhost:8000/v1"
Shell = Callable[..., str]


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    """Return what runs a script where both harnesses are installed, and returns what it prints."""
    folder = tmp_path_factory.mktemp("harnesses")
    bin_folder = new_environment(folder, "lm-eval,inspect", "openai", "inspect-evals-lint")

    def run(script: str, folder: Path, **environment: str) -> str:
        own = {
            **os.environ,
            "PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}",
            "HF_HUB_OFFLINE": "1",
            "INSPECT_DISPLAY": "plain",
            "NO_COLOR": "1",
            **environment,
        }
        done = subprocess.run(
            ["/bin/bash", "-euo", "pipefail", "-c", script],
            cwd=folder,
            env=own,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        return done.stdout

    return run


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    """Return a server that answers as a model does that is asked about conversations."""
    with ModelServer(answer=answer_to) as running:
        yield running


@pytest.fixture(scope="module")
def of_run(server: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> Scores:
    """Return the scores of what `attune-bench run` makes of the server's answers."""
    folder = tmp_path_factory.mktemp("run") / "runs"
    attune_bench("run", "local", "vendor/model", "demo", f"--base-url={server.url}", "--free-json", "-o", folder)
    return score(load("demo"), load_runs(folder))


def attune_bench(*arguments: object) -> None:
    subprocess.run([SCRIPT, *map(str, arguments)], check=True)


def commands_of(page: str, url: str) -> list[str]:
    """Return the commands of the first block of a page, without the one that installs, for a server."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    block: str = re.findall(r"^```sh\n(.*?)^```", text, re.DOTALL | re.MULTILINE)[0]
    install, *commands = block.replace("\\\n", " ").replace(LOOP, url).splitlines()
    assert install.startswith("pip install 'attune-bench[")
    return commands


def rows_of(scores: Scores) -> dict[str, dict[str, Any]]:
    """Return by metric the summary of the board's metrics that have values of units."""
    names = [name for name in scores.headline if scores.metric(name).statistic == "mean"]
    return {row["metric"]: row for row in scores.summary(metrics=names).rows(named=True)}


def check_numbers(found: Mapping[str, float], scores: Scores) -> None:
    """Check each value and each end of an interval, to the last digit; nan stands for none."""
    for metric, row in rows_of(scores).items():
        own = {end: found[f"{metric}{end}"] for end in ENDS}
        assert {end: None if isnan(value) else value for end, value in own.items()} == {
            end: row[name] for end, name in ENDS.items()
        }, metric


def check_read(printed: str, scores: Scores) -> None:
    """Check what was read of a harness's samples, printed as JSON: the numbers of the scores, in the same clusters."""
    found = {row["metric"]: row for row in json.loads(printed)}
    for metric, row in rows_of(scores).items():
        if row["n"]:
            assert {name: found[metric][name] for name in (*ENDS.values(), "n", "clusters")} == {
                name: row[name] for name in (*ENDS.values(), "n", "clusters")
            }, metric


def test_batch_gives_the_numbers_of_a_run(of_run: Scores, tmp_path: Path) -> None:
    calls, answers = tmp_path / "calls.jsonl", tmp_path / "answers.jsonl"
    attune_bench("batch", "export", "openai", "vendor/model", "demo", "--free-json", "-o", calls)
    with answers.open("w", encoding="utf-8") as file:
        for line in calls.read_bytes().splitlines():
            asked = json.loads(line)
            message = {"role": "assistant", "content": answer_to(asked["body"])}
            response = {"status_code": 200, "body": {"choices": [{"index": 0, "message": message}]}}
            file.write(json.dumps({"custom_id": asked["custom_id"], "response": response}) + "\n")
    attune_bench("batch", "import", calls, answers, "-o", tmp_path / "runs")
    runs = load_runs(tmp_path / "runs")
    assert {(run.model_extra or {})["provider"] for run in runs} == {"openai"}
    assert rows_of(score(load("demo"), runs)) == rows_of(of_run)


def test_lm_eval_gives_the_numbers_of_a_run(shell: Shell, server: ModelServer, of_run: Scores, tmp_path: Path) -> None:
    [command] = commands_of("lm-eval.md", server.url)
    assert "composite_score_low" in shell(command, tmp_path)
    [path] = (tmp_path / "logged").rglob("results_*.json")
    written = json.loads(path.read_bytes())["results"]["attunebench"]
    assert written["sample_len"] == 40
    found = {name.removesuffix(",none"): value for name, value in written.items()}
    check_numbers(found, of_run)
    for metric, row in rows_of(of_run).items():
        assert found[f"{metric}_coverage"] == (row["n"] / 40 if row["coverage"] is None else row["coverage"])
    scores = Scores.from_lm_eval(tmp_path / "logged", cluster="cluster")
    assert scores.models == ("vendor/model",)
    check_read(scores.summary().write_json(), of_run)


def test_lm_eval_without_a_model_and_what_it_refuses(shell: Shell, tmp_path: Path) -> None:
    start = 'lm_eval run --include_path "$(attune-bench lm-eval-path)" --model dummy --limit 2'
    printed = shell(f"{start} --tasks emotional_intelligence --metadata mode=verbose panas_strategy=delta", tmp_path)
    assert "composite_score_coverage" in printed
    for options, said in {
        "--metadata mode=verbos": "modes: no 'verbos'; did you mean 'verbose'?",
        "--metadata mode=all": "these options ask in 4 ways",
        "--metadata protcol=released": "metadata: no 'protcol'; did you mean 'protocol'?",
        "--metadata similarity=bertscore": "leave out similarity: its columns are not among the metrics",
        "--metadata judge_model=m": "only the evaluated model is asked here",
        "--metadata source=nowhere": "no such file or folder: nowhere",
        "--system_instruction Hello": "leave out the system instruction",
    }.items():
        assert said in shell(f"! {start} --tasks attunebench {options} 2>&1", tmp_path)


def test_inspect_gives_the_numbers_of_runs(shell: Shell, server: ModelServer, of_run: Scores, tmp_path: Path) -> None:
    with ModelServer(answer=talk) as other:
        script = commands_of("inspect.md", server.url)
        assert [line.split()[:3] for line in script[1:]] == [
            ["inspect", "eval", "attune_bench/attunebench"],
            ["inspect", "eval", "attune_bench/eibench"],
        ]
        key = f"LOOP_API_KEY={KEY}"
        script[0] = script[0].replace("LOOP_API_KEY=none", key)
        script.insert(2, f"export LOOP_BASE_URL={other.url}")
        script = [line.replace("/attunebench", "/attunebench -T answer_format=free") for line in script]
        shell("\n".join(f"{line} --log-format json" if "inspect" in line else line for line in script), tmp_path)
        asked = ["run", "local", "vendor/model", "demo", "--benchmark=eibench", "--simulator-model=vendor/person"]
        attune_bench(*asked, f"--base-url={other.url}", "-o", tmp_path / "run")
    episodes = score(load_scenarios("demo"), load_episodes(tmp_path / "run"))
    read = """
import sys
from attune_bench import Scores
print(Scores.from_inspect(sys.argv[1], cluster="cluster").summary().write_json())
"""
    (tmp_path / "read.py").write_text(read, encoding="utf-8")
    for task, scores in (("attunebench", of_run), ("eibench", episodes)):
        [path] = (tmp_path / "logged").glob(f"*_{task}_*.json")
        text = path.read_text(encoding="utf-8")
        assert KEY not in text
        log = json.loads(text)
        assert (log["status"], len(log["samples"])) == ("success", scores.units.height)
        [of_scorer] = log["results"]["scores"]
        check_numbers({name: metric["value"] for name, metric in of_scorer["metrics"].items()}, scores)
        check_read(shell(f"python read.py {path}", tmp_path), scores)
    [sample, *_] = log["samples"]
    assert sample["output"]["choices"][0]["message"]["content"].startswith("Episode")


def test_what_inspect_shows_of_a_sample(shell: Shell, server: ModelServer, tmp_path: Path) -> None:
    start = "inspect eval attune_bench/attunebench --model openai-api/loop/vendor/model --limit 6 --log-format json"
    where = {"LOOP_API_KEY": "none", "LOOP_BASE_URL": server.url}
    judged = "--model-role judge=openai-api/loop/vendor/judge -T mode=verbose -T seed=3 --epochs 2 --top-p 0.5"
    shell(f"{start} {judged} --log-dir logged", tmp_path, **where)
    [path] = (tmp_path / "logged").iterdir()
    log = json.loads(path.read_bytes())
    first = load("demo")[0].id
    [sample, _] = sorted((one for one in log["samples"] if one["id"] == first), key=lambda one: one["epoch"])
    assert sample["input"].startswith(f"Conversation {sample['id']} (synthetic)")
    assert {"cluster", "binary", "mood_tags", "pairwise", "panas", "conversation_wide"} <= sample["metadata"].keys()
    assert {"observed_behavior", "em_binary_om_assessment"} <= sample["metadata"]["binary"][0].keys()
    result = sample["store"]["result"]
    assert (result["mode"], result["seed"], result["provider"]) == ("verbose", 3, "inspect")
    assert result["judge_models"] == ["openai-api/loop/vendor/judge"]
    assert "Draft" in sample["output"]["choices"][0]["message"]["content"]
    assert all(isinstance(value, float | int) for value in sample["scores"]["unit_scores"]["value"].values())
    numbers = {name: one["value"] for name, one in log["results"]["scores"][0]["metrics"].items()}
    assert 0 < numbers["composite_score_stderr"] < numbers["composite_score"]
    assert numbers["composite_score_coverage"] == 1
    assert result["generation"] == {"top_p": 0.5}
    failed = shell(f"{start} --temperature 0.5 2>&1", tmp_path, **where)
    assert "temperature: results record what the task is given" in " ".join(failed.split())
    failed = shell(f"! {start} -T mode=verbos 2>&1", tmp_path, **where)
    assert "modes: no 'verbos'; did you mean 'verbose'?" in failed
    failed = shell("inspect eval attune_bench/eibench --model mockllm/model --limit 1 2>&1", tmp_path)
    assert "--model-role simulator=PROVIDER/MODEL" in failed


def test_inspect_sends_the_requests_of_a_run(shell: Shell, tmp_path: Path) -> None:
    sent: list[set[str]] = []

    def noting(body: Json) -> str:
        wanted = body["response_format"]["json_schema"]
        request = {name: body[name] for name in ("messages", "temperature", "seed", "max_tokens")}
        sent[-1].add(json.dumps([request, wanted["name"], wanted["schema"], wanted["strict"]], sort_keys=True))
        return answer_to(body)

    with ModelServer(answer=noting) as server:
        sent.append(set())
        asked = ["run", "local", "vendor/model", "demo", "--limit=3", "--seed=1"]
        attune_bench(*asked, f"--base-url={server.url}", "-o", tmp_path / "runs")
        sent.append(set())
        where = {"LOOP_API_KEY": "none", "LOOP_BASE_URL": server.url}
        start = "inspect eval attune_bench/attunebench --model openai-api/loop/vendor/model --limit 3 -T seed=1"
        shell(f"{start} --log-dir logged", tmp_path, **where)
    assert sent[0] == sent[1]
    assert len(sent[0]) > 60


def test_static_checks_of_the_catalogue(shell: Shell, tmp_path: Path) -> None:
    # Left out: how the catalogue's own repository is laid out, names its tests and declares dependencies.
    left_out = "IEFS,IETS,IECQ004,IEBP001"
    for task in ("attunebench", "eibench"):
        path = f"src/attune_bench/benchmarks/{task}/inspect_task.py"
        shell(f"inspect-evals-lint --root {ROOT} --preset single-eval --task {path} --ignore {left_out}", tmp_path)


READ = """
import sys
from attune_bench import Scores
try:
    print(*sorted(map(str, Scores.from_inspect(sys.argv[1]).conditions)), sep="; ")
except (OSError, ValueError) as error:
    print(f"{type(error).__name__}: {error}")
"""


def test_logs_of_other_people_and_of_no_numbers(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "read.py").write_text(READ, encoding="utf-8")
    with ModelServer(answer=talk) as server:
        start = "inspect eval attune_bench/eibench --limit 2 --log-format json --model openai-api/loop/vendor/model"
        for person in ("one", "two"):
            named = f"--model-role simulator=openai-api/loop/vendor/{person} --log-dir logged"
            shell(f"{start} {named}", tmp_path, LOOP_API_KEY="none", LOOP_BASE_URL=server.url)
    # Who plays the people is a condition; what else lies among logs is no log.
    (tmp_path / "logged" / "logs.json").write_text("{}", encoding="utf-8")
    printed = shell("python read.py logged", tmp_path).splitlines()[-1]
    assert printed == "; ".join(f"simulator=openai-api/loop/vendor/{person}" for person in ("one", "two"))
    path = min((tmp_path / "logged").glob("*_eibench_*.json"))
    log = json.loads(path.read_bytes())
    log["samples"][0]["scores"]["unit_scores"]["value"] = [1, 2]
    path.write_text(json.dumps(log), encoding="utf-8")
    printed = " ".join(shell(f"python read.py {path}", tmp_path).split())
    assert "MetricInputError: " in printed
    assert "unit_scores is [1, 2]; expected a number, or C, P, I or N" in printed
    path.write_text(json.dumps({**log, "status": "cancelled"}), encoding="utf-8")
    assert "is not finished (cancelled); finish it: inspect eval-retry" in shell(f"python read.py {path}", tmp_path)
