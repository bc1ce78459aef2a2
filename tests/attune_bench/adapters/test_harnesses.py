"""The real lm-evaluation-harness and Inspect: what their pages of the documentation say, and the numbers of a run."""

import json
import re
import subprocess
from collections.abc import Callable, Iterator, Mapping
from math import isnan
from pathlib import Path
from typing import Any

import pytest
import yaml
from batch_service import answer_calls
from documentation import blocks_of, run_block
from environments import Shell
from interrupts import SCRIPT
from model_server import Json, ModelServer, answer_to, talk

from attune_bench import Scores, score
from attune_data import load, load_episodes, load_runs, load_scenarios

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
ENDS = {"": "value", "_low": "low", "_high": "high"}
KEY = "secret-of-loop"
PageShell = Callable[..., Shell]


@pytest.fixture
def lm_eval(page_shell: PageShell) -> Shell:
    return page_shell("lm-eval.md")


@pytest.fixture
def inspect(page_shell: PageShell) -> Shell:
    return page_shell("inspect.md")


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


def rows_of(scores: Scores) -> dict[str, dict[str, Any]]:
    """Return by metric the summary of the board's metrics that have values of units."""
    names = [name for name in scores.headline if scores.metric(name).statistic == "mean"]
    return {row["metric"]: row for row in scores.summary(metrics=names).rows(named=True)}


def check_numbers(found: Mapping[str, float], scores: Scores) -> None:
    """Check each value, each end of an interval and each coverage, to the last digit; nan stands for none."""
    for metric, row in rows_of(scores).items():
        own = {end: found[f"{metric}{end}"] for end in ENDS}
        assert {end: None if isnan(value) else value for end, value in own.items()} == {
            end: row[name] for end, name in ENDS.items()
        }, metric
        of_units = row["n"] / scores.units.height
        assert found[f"{metric}_coverage"] == (of_units if row["coverage"] is None else row["coverage"]), metric


def check_read(printed: str, scores: Scores) -> None:
    """Check what was read of a harness's samples, printed as JSON: the numbers of the scores, in the same clusters."""
    found = {row["metric"]: row for row in json.loads(printed)}
    for metric, row in rows_of(scores).items():
        if row["n"]:
            assert {name: found[metric][name] for name in (*ENDS.values(), "n", "clusters")} == {
                name: row[name] for name in (*ENDS.values(), "n", "clusters")
            }, metric


def check_printed(printed: str, scores: Scores) -> None:
    """Check the row of a page's last block, whose first number is the composite."""
    number = re.search(r"\d+\.\d+", printed)
    assert number
    assert float(number[0]) == pytest.approx(rows_of(scores)["composite_score"]["value"], abs=1e-5)


READ_ALL = """
import sys
from attune_bench import Scores
print(Scores.from_inspect(sys.argv[1], cluster="cluster").summary().write_json())
"""


def test_batch_gives_the_numbers_of_a_run(of_run: Scores, tmp_path: Path) -> None:
    calls, answers = tmp_path / "calls.jsonl", tmp_path / "answers.jsonl"
    attune_bench("batch", "export", "openai", "vendor/model", "demo", "--free-json", "-o", calls)
    answer_calls(calls, answers)
    attune_bench("batch", "import", calls, answers, "-o", tmp_path / "runs")
    runs = load_runs(tmp_path / "runs")
    assert {(run.model_extra or {})["provider"] for run in runs} == {"openai"}
    assert rows_of(score(load("demo"), runs)) == rows_of(of_run)


def test_lm_eval_gives_the_numbers_of_a_run(
    lm_eval: Shell, server: ModelServer, of_run: Scores, tmp_path: Path
) -> None:
    commands, read = blocks_of("lm-eval.md")
    assert "composite_score_low" in run_block(commands, lm_eval, tmp_path, server=server.url)
    [path] = (tmp_path / "logged").rglob("results_*.json")
    written = json.loads(path.read_bytes())["results"]["attunebench"]
    assert written["sample_len"] == 40
    found = {name.removesuffix(",none"): value for name, value in written.items()}
    check_numbers(found, of_run)
    scores = Scores.from_lm_eval(tmp_path / "logged", cluster="cluster")
    assert scores.models == ("vendor/model",)
    check_read(scores.summary().write_json(), of_run)
    check_printed(run_block(read, lm_eval, tmp_path), of_run)


STARTS = """
import sys
from functools import partial
from lm_eval import tasks
from lm_eval.__main__ import cli_evaluate

# Its own tasks, thousands of files, take ten seconds of each start.
tasks.TaskManager = partial(tasks.TaskManager, include_defaults=False)
start = ["lm_eval", "run", "--include_path", sys.argv[1], "--model", "dummy", "--limit", "2", "--tasks"]
for options in sys.stdin.read().splitlines():
    sys.argv = [*start, *options.split()]
    try:
        cli_evaluate()
    except Exception as error:
        print(f"{options}: {error}")
    print("ended")
"""


def test_lm_eval_without_a_model_and_what_it_refuses(lm_eval: Shell, tmp_path: Path) -> None:
    (tmp_path / "starts.py").write_text(STARTS, encoding="utf-8")
    refused = {
        "--metadata mode=verbos": "modes: no 'verbos'; did you mean 'verbose'?",
        "--metadata mode=all": "these options ask in 4 ways",
        "--metadata protcol=released": "metadata: no 'protcol'; did you mean 'protocol'?",
        "--metadata similarity=bertscore": "leave out similarity: its columns are not among the metrics",
        "--metadata judge_model=m": "only the evaluated model is asked here",
        "--metadata source=nowhere": "no such file or folder: nowhere",
        "--system_instruction Hello": "leave out the system instruction",
    }
    lines = [
        "emotional_intelligence --metadata mode=verbose panas_strategy=delta",
        *(f"attunebench {options}" for options in refused),
    ]
    given = "\n".join(lines)
    printed = lm_eval(f"python starts.py \"$(attune-bench lm-eval-path)\" <<'END'\n{given}\nEND\n", tmp_path)
    scored, *said, rest = printed.split("ended\n")
    assert "composite_score_coverage" in scored
    for (options, words), found in zip(refused.items(), said, strict=True):
        assert f"attunebench {options}: " in found
        assert words in found
    assert rest == ""


def test_inspect_gives_the_numbers_of_runs(inspect: Shell, tmp_path: Path) -> None:
    def either(body: Json) -> str:
        return talk(body) if "### Background" in body["messages"][0]["content"] else answer_to(body)

    commands, read, _ = blocks_of("inspect.md")
    with ModelServer(answer=either) as server:
        run_block(commands, inspect, tmp_path, server=server.url)
        asked = ["run", "local", "vendor/model", "demo", f"--base-url={server.url}", "-o"]
        attune_bench(*asked, tmp_path / "runs")
        attune_bench(*asked, tmp_path / "episodes", "--benchmark=eibench", "--simulator-model=vendor/person")
    of_runs = score(load("demo"), load_runs(tmp_path / "runs"))
    of_episodes = score(load_scenarios("demo"), load_episodes(tmp_path / "episodes"))
    (tmp_path / "read.py").write_text(READ_ALL, encoding="utf-8")
    for task, scores in (("attunebench", of_runs), ("eibench", of_episodes)):
        [path] = (tmp_path / "logged").glob(f"*_{task}_*.eval")
        log = json.loads(inspect(f"inspect log dump {path}", tmp_path))
        assert (log["status"], len(log["samples"])) == ("success", scores.units.height)
        [of_scorer] = log["results"]["scores"]
        check_numbers({name: metric["value"] for name, metric in of_scorer["metrics"].items()}, scores)
        check_read(inspect(f"python read.py {path}", tmp_path), scores)
    [sample, *_] = log["samples"]
    assert sample["output"]["choices"][0]["message"]["content"].startswith("Episode")
    check_printed(run_block(read, inspect, tmp_path), of_runs)


def test_what_inspect_shows_of_a_sample(inspect: Shell, server: ModelServer, tmp_path: Path) -> None:
    start = "inspect eval attune_bench/attunebench --model openai-api/loop/vendor/model --limit 6 --log-format json"
    where = {"LOOP_API_KEY": KEY, "LOOP_BASE_URL": server.url}
    judged = "--model-role judge=openai-api/loop/vendor/judge -T mode=verbose -T seed=3 --epochs 2 --top-p 0.5"
    inspect(f"{start} {judged} --log-dir logged", tmp_path, **where)
    [path] = (tmp_path / "logged").iterdir()
    text = path.read_text(encoding="utf-8")
    assert KEY not in text
    log = json.loads(text)
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
    failed = inspect(f"{start} --temperature 0.5 2>&1", tmp_path, **where)
    assert "temperature: results record what the task is given" in " ".join(failed.split())
    failed = inspect(f"! {start} -T mode=verbos 2>&1", tmp_path, **where)
    assert "modes: no 'verbos'; did you mean 'verbose'?" in failed
    failed = inspect("inspect eval attune_bench/eibench --model mockllm/model --limit 1 2>&1", tmp_path)
    assert "--model-role simulator=PROVIDER/MODEL" in failed


def test_inspect_sends_the_requests_of_a_run(inspect: Shell, tmp_path: Path) -> None:
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
        inspect(f"{start} --log-dir logged", tmp_path, **where)
    assert sent[0] == sent[1]
    assert len(sent[0]) > 60


def test_static_checks_of_the_catalogue(inspect: Shell, tmp_path: Path) -> None:
    # Left out: how the catalogue's own repository is laid out, names its tests and declares dependencies.
    left_out = "IEFS,IETS,IECQ004,IEBP001"
    *_, register = blocks_of("inspect.md")
    inspect("pip install inspect-evals-lint", tmp_path)
    for task in yaml.safe_load(register.text)["tasks"]:
        path = task["task_path"]
        inspect(f"inspect-evals-lint --root {ROOT} --preset single-eval --task {path} --ignore {left_out}", tmp_path)


READ = """
import sys
from attune_bench import Scores
try:
    print(*sorted(map(str, Scores.from_inspect(sys.argv[1]).conditions)), sep="; ")
except (OSError, ValueError) as error:
    print(f"{type(error).__name__}: {error}")
"""


def test_logs_of_other_people_and_of_no_numbers(inspect: Shell, tmp_path: Path) -> None:
    (tmp_path / "read.py").write_text(READ, encoding="utf-8")
    with ModelServer(answer=talk) as server:
        asked = "inspect eval attune_bench/eibench -T answer_format=free --model openai-api/loop/vendor/model"
        for person in ("one", "two"):
            named = f"--model-role simulator=openai-api/loop/vendor/{person} --log-dir logged"
            start = f"{asked} --limit 2 --log-format json {named}"
            inspect(start, tmp_path, LOOP_API_KEY="none", LOOP_BASE_URL=server.url)
        assert {"response_format" in body for body in server.bodies} == {False}
    # Who plays the people is a condition; what else lies among logs is no log.
    (tmp_path / "logged" / "logs.json").write_text("{}", encoding="utf-8")
    printed = inspect("python read.py logged", tmp_path).splitlines()[-1]
    assert printed == "; ".join(f"simulator=openai-api/loop/vendor/{person}" for person in ("one", "two"))
    path = min((tmp_path / "logged").glob("*_eibench_*.json"))
    log = json.loads(path.read_bytes())
    log["samples"][0]["scores"]["unit_scores"]["value"] = [1, 2]
    path.write_text(json.dumps(log), encoding="utf-8")
    printed = " ".join(inspect(f"python read.py {path}", tmp_path).split())
    assert "MetricInputError: " in printed
    assert "unit_scores is [1, 2]; expected a number, or C, P, I or N" in printed
    path.write_text(json.dumps({**log, "status": "cancelled"}), encoding="utf-8")
    assert "is not finished (cancelled); finish it: inspect eval-retry" in inspect(f"python read.py {path}", tmp_path)
