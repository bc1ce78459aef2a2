"""Files that the commands read: scores of each benchmark, and what they were made of. Tests do not change them."""

import csv
from pathlib import Path
from random import Random
from typing import Any

import pytest
from commands import Scored, Scorings
from episodes import episodes_of, scenarios_of, write_episodes

from attune_bench import BENCHMARKS, score
from attune_bench.benchmarks.attunebench.baselines import BASELINES
from attune_data import load, load_records, load_runs, load_sage, load_scenarios
from attune_data.references import resolve


@pytest.fixture(scope="session")
def demo_scores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file of scores of the three baselines on the demo conversations."""
    conversations = load("demo")
    path = tmp_path_factory.mktemp("demo") / "scores.json"
    score(conversations, [run for predict in BASELINES.values() for run in predict(conversations)]).write(path)
    return path


@pytest.fixture(scope="session")
def conversations(tmp_path_factory: pytest.TempPathFactory) -> Scored:
    """Return scores of the two models of the demo."""
    path = tmp_path_factory.mktemp("conversations") / "scores.json"
    score(load("demo"), load_runs("demo")).write(path)
    return Scored(path, "demo", "demo")


@pytest.fixture(scope="session")
def episodes(tmp_path_factory: pytest.TempPathFactory) -> Scored:
    """Return scores of three invented models on 48 scenarios, 12 a scene; of one of them 6 episodes failed."""
    folder = tmp_path_factory.mktemp("episodes")
    scenarios = scenarios_of(load_scenarios("demo"), 3)
    settings: dict[str, Any] = {
        "simulator": "vendor/person",
        "prompt_version": "v1",
        "max_rounds": 8,
        "config_hash": "0f",
    }
    played = episodes_of(scenarios, failures=["invented/rash"], **settings)
    (folder / "scenarios.jsonl").write_bytes(b"".join(scenario.to_line() + b"\n" for scenario in scenarios))
    write_episodes(folder / "episodes", played)
    score(scenarios, played).write(folder / "scores.parquet")
    return Scored(folder / "scores.parquet", str(folder / "scenarios.jsonl"), str(folder / "episodes"))


@pytest.fixture(scope="session")
def dialogues(tmp_path_factory: pytest.TempPathFactory) -> Scored:
    """Return scores of the demo dialogues, two models on 6 scenarios, in a file of each model."""
    folder = tmp_path_factory.mktemp("dialogues")
    held = load_sage("demo")
    score(held).write(folder / "scores.parquet")
    (folder / "results").mkdir()
    for model in dict.fromkeys(str(dialogue.model) for dialogue in held):
        held.where(model=model).to_jsonl(folder / "results" / f"{model.rpartition('/')[2]}_result.jsonl")
    return Scored(folder / "scores.parquet", "", str(folder / "results"))


@pytest.fixture(scope="session")
def scored(
    conversations: Scored, episodes: Scored, dialogues: Scored, tmp_path_factory: pytest.TempPathFactory
) -> Scorings:
    """Return the function from the name of a benchmark to its files: those of its demo where there are no others."""
    files = {"attunebench": conversations, "eibench": episodes, "sage": dialogues}
    for benchmark in BENCHMARKS:
        if benchmark.name in files:
            continue
        folder = tmp_path_factory.mktemp(benchmark.name)
        held = [load_records("demo", resolve(side)) for side in (benchmark.data, benchmark.results) if side]
        paths = [folder / f"{side}.jsonl" for side in ("data", "results")[-len(held) :]]
        for records, path in zip(held, paths, strict=True):
            records.to_jsonl(path)
        score(*held).write(folder / "scores.parquet")
        files[benchmark.name] = Scored(folder / "scores.parquet", *(["", *map(str, paths)][-2:]))
    return lambda name: files[name]


@pytest.fixture
def results_csv(tmp_path: Path) -> Path:
    """Return a table of two models by 200 units, written with the csv module alone."""
    draw = Random(0)
    path = tmp_path / "results.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["model", "unit", "metric", "value", "topic"])
        for model, chance in (("alpha", 0.5), ("beta", 0.7)):
            for unit in range(200):
                topic = "hard" if unit % 3 else "easy"
                writer.writerow([model, f"q{unit}", "accuracy", int(draw.random() < chance), topic])
    return path
