"""Data at the places where pages of the documentation have some: the demonstration data, by the names of the page."""

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl

from attune_data import load, load_codebook, load_episodes, load_records, load_runs, load_sage, load_scenarios
from attune_data.kinds import ANSWER, COMPARISON, ITEM, QUESTION

__all__ = ["lay_out"]


def lay_out(page: str, folder: Path) -> None:
    """Write the data that a page names into a folder; the page of a benchmark and that of its data name the same."""
    name = page.removeprefix("data/")
    if name in _LAYOUTS:
        _LAYOUTS[name](folder)


def _at(folder: Path, name: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _attunebench(folder: Path) -> None:
    numbers = sorted(load_codebook().subsets["Sample200"])
    conversations = load("demo")
    for place, number in enumerate(numbers):
        conversation = conversations[place % len(conversations)]
        copy = conversation.model_copy(update={"conversation_id": f"{conversation.id}-{place}"})
        _at(folder, f"attunebench/Sample200/conversation_{number}.json").write_bytes(copy.to_line())
    load_runs("demo").to_jsonl(_at(folder, "results/runs.jsonl"))


def _eibench(folder: Path) -> None:
    load_scenarios("demo").to_jsonl(_at(folder, "EIBench/data/test/scenarios.jsonl"))
    load_episodes("demo").to_jsonl(_at(folder, "results/MODEL/results.jsonl"))


def _sage(folder: Path) -> None:
    failed = {"model": "gpt-4.1", "emo_point": 5, "emo_state": "Emotion-C"}
    lines = [one.model_copy(update=failed).to_line() for one in load_sage("demo").where(model="synthetic/hasty")]
    _at(folder, "gpt-4.1_result.jsonl").write_bytes(b"\n".join(lines))


def _emobench(folder: Path) -> None:
    load_records("demo", ITEM).to_jsonl(_at(folder, "EmoBench/data/items.jsonl"))


def _eqbench(folder: Path) -> None:
    questions = {question.id: json.loads(question.to_line()) for question in load_records("demo", QUESTION)}
    _at(folder, "eq_bench_v2_questions_171.json").write_text(json.dumps(questions), encoding="utf-8")
    answers = [
        answer.model_copy(update={"model": "Qwen/Qwen-72B-Chat"}).to_line() for answer in load_records("demo", ANSWER)
    ]
    _at(folder, "results/eq-bench/answers.jsonl").write_bytes(b"\n".join(answers))


def _comparisons(folder: Path) -> None:
    names = ["unit", "a", "b", "winner", "margin", "first", "judge", "length_a", "length_b"]
    votes = pl.DataFrame([{name: getattr(one, name) for name in names} for one in load_records("demo", COMPARISON)])
    votes.write_csv(_at(folder, "votes.csv"))
    arena = {"unit": "question_id", "a": "model_a", "b": "model_b"}
    votes.filter(judge="human").select(*arena, "winner").rename(arena).write_csv(_at(folder, "arena.csv"))


def _publishing(folder: Path) -> None:
    load("demo").to_jsonl(_at(folder, "Sample200/conversations.jsonl"))


def _scale(folder: Path) -> None:
    load("demo").to_jsonl(_at(folder, "conversations/conversations.jsonl"))
    load_runs("demo").to_parquet(folder / "runs")


_LAYOUTS: dict[str, Callable[[Path], None]] = {
    "attunebench.md": _attunebench,
    "eibench.md": _eibench,
    "sage.md": _sage,
    "emobench.md": _emobench,
    "eqbench.md": _eqbench,
    "comparisons.md": _comparisons,
    "publishing.md": _publishing,
    "scale.md": _scale,
}
