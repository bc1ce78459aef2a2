"""Data at the places where pages of the documentation have some: the demonstration data, by the names of the page."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
from eqbench4_files import write_site
from synthetic.roleplays import roleplays

from attune_data import load, load_codebook, load_episodes, load_records, load_runs, load_sage, load_scenarios
from attune_data.kinds import ANSWER, CHATLOG, COMPARISON, ITEM, QUESTION, SITUATION, TRANSCRIPT, VERDICT

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


def _eqbench3(folder: Path) -> None:
    """Write the demonstration data in the form of the repository's files."""
    lines = ["# 51", "A note.", "# 5", "Of no situation."]
    _at(folder, "scenario_notes.txt").write_text("\n".join(lines), encoding="utf-8")
    parts = []
    for one in load_records("demo", SITUATION):
        prompts = (f"####### Prompt{n}\n{prompt}" for n, prompt in enumerate(one.prompts, start=1))
        parts += [f"######## {one.id} | {one.category} | {one.title}", *prompts]
    _at(folder, "scenario_prompts.txt").write_text("\n".join(parts), encoding="utf-8")
    runs: dict[str, Any] = {}
    for task in load_records("demo", TRANSCRIPT):
        run = runs.setdefault(f"ab12_{task.test_model}", {"model_name": task.test_model, "scenario_tasks": {"1": {}}})
        run["scenario_tasks"]["1"][task.scenario_id] = json.loads(task.to_line())
    _at(folder, "eqbench3_runs.json").write_text(json.dumps(runs), encoding="utf-8")
    judged = []
    for verdict in load_records("demo", VERDICT):
        codes = ("A0493", "A0488") if verdict.test_first else ("A0488", "A0493")
        pair = {"test_model": verdict.test_model, "neighbor_model": verdict.neighbor_model, "iteration_index": "1"}
        answer = {
            "depth": codes[0] + "+" * (verdict.plus_for_test or 0),
            "overall": codes[1] + "+" * (verdict.plus_for_other or 0),
        }
        order = f"A0493:{'test / A0488:other' if verdict.test_first else 'other / A0488:test'}"
        about = {"scenario_id": verdict.scenario_id, "pair": pair, "order": order, "judge_response": answer}
        names = ("test_model_avg_response_length", "neighbor_model_avg_response_length")
        judged.append(about | {name: getattr(verdict, name) for name in names})
    content = {"__metadata__": {"global_pairwise_comparisons": judged}}
    _at(folder, "elo_results_eqbench3.json").write_text(json.dumps(content), encoding="utf-8")


def _spiralbench(folder: Path) -> None:
    """Write the demonstration data in the form of the repository's files, a model a file."""
    by_model: dict[str, dict[str, Any]] = {}
    for one in load_records("demo", CHATLOG):
        chunks = {}
        for chunk in one.judgements:
            quoted: dict[str, list[Any]] = {name: [] for name in chunk.values}
            for span in chunk.spans:
                quoted[span.behaviour].append([span.text, span.intensity])
            about = {"metrics": dict(chunk.values), "full_metrics": quoted, "assistant_turn_indexes": chunk.replies}
            chunks[chunk.name] = about
        content = json.loads(one.to_line()) | {"judgements": chunks}
        by_model.setdefault(one.evaluated_model, {})[one.prompt_id] = [content]
    for model, conversations in by_model.items():
        about = {"__meta__": {"scoring_summary": [{"score_0_100": 50.0}]}}
        path = _at(folder, f"res_v0.2/{model.rpartition('/')[2]}.json")
        path.write_text(json.dumps({"1": {"eval_prompts_v0.2.json": conversations, **about}}), encoding="utf-8")


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
    "eqbench3.md": _eqbench3,
    "eqbench3-pairs.md": _eqbench3,
    "eqbench4.md": lambda folder: write_site(folder / "eqbench4", roleplays(seed=1)),
    "spiralbench.md": _spiralbench,
    "publishing.md": _publishing,
    "scale.md": _scale,
}
