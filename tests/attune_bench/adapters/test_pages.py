"""Pages of the documentation as they are written, from top to bottom, with the base install and their extra alone."""

import json
import re
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import polars as pl
import pytest
from batch_service import answer_calls
from documentation import blocks_of, run_block
from environments import HELPERS, Shell
from model_server import ModelServer, talk

from attune_bench import Scores

pytestmark = pytest.mark.slow

PageShell = Callable[..., Shell]
TINY_MODELS = HELPERS / "tiny_models.py"


def test_batch_files(page_shell: PageShell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = tmp_path / "bin" / "vllm"
    engine.parent.mkdir()
    engine.write_text(f'#!/bin/sh\nexec {sys.executable} {HELPERS / "batch_service.py"} "$@"\n', encoding="utf-8")
    engine.chmod(0o755)
    monkeypatch.setenv("PATH", str(engine.parent), prepend=":")
    folder = tmp_path / "folder"
    folder.mkdir()
    run = partial(run_block, shell=page_shell("batch.md"), folder=folder)
    export, prices, taken, export_again, taken_again, scored, offline, session = blocks_of("batch.md")
    run(export)
    answer_calls(folder / "calls.jsonl", folder / "answers.jsonl")
    run(prices)
    assert "200 calls left, 200 of them of judges" in run(taken, status=1)
    run(export_again)
    answer_calls(folder / "again.jsonl", folder / "again-answers.jsonl")
    assert "40/40 conversations, 1,040/1,040 calls" in run(taken_again)
    number = r" +\d\d\.\d\d \[\d\d\.\d\d, \d\d\.\d\d\] +40 "
    assert re.search(f"^gpt-4o-mini{number}", run(scored), re.MULTILINE)
    assert re.search(f"^Qwen/Qwen3-8B{number}", run(offline), re.MULTILINE)
    run(session)


def test_scores_in_other_formats(page_shell: PageShell, tmp_path: Path) -> None:
    for block in blocks_of("exchange.md"):
        run_block(block, page_shell("exchange.md"), tmp_path)
    scores = Scores.read(tmp_path / "scores.parquet")
    summary = scores.summary(metrics=["composite_score"])
    written = pl.read_csv(tmp_path / "tables" / "summary.csv").filter(metric="composite_score")
    assert written["value"].to_list() == summary["value"].to_list()
    for model, value in summary.select("model", "value").iter_rows():
        [record] = (tmp_path / "eee" / "data" / "attunebench" / model).glob("*.json")
        results = {one["evaluation_result_id"]: one for one in json.loads(record.read_bytes())["evaluation_results"]}
        assert results["composite_score"]["score_details"]["score"] == value
        shown = (tmp_path / "pages" / model / ".eval_results" / "attunebench.yaml").read_text(encoding="utf-8")
        assert f"value: {value}\n" in shown


def test_another_similarity(page_shell: PageShell, tmp_path: Path) -> None:
    section = ("attunebench.md", "Another similarity")
    shell = page_shell(*section, torch=True)
    # A folder of this name counts before the Hub: bert-score takes 17 layers of the model that it is called after.
    shell(f"python {TINY_MODELS} encoder roberta-large 17", tmp_path)
    commands, session = blocks_of(*section)
    printed = run_block(commands, shell, tmp_path)
    assert re.search(r"^Response similarity, bertscore +0\.\d{3} +0\.\d{3}$", printed, re.MULTILINE)
    assert "metric:avg_response_similarity.bertscore|" in printed
    run_block(session, shell, tmp_path)


def test_training(page_shell: PageShell, tmp_path: Path) -> None:
    shell = page_shell("training.md", torch=True)
    shell(f"python {TINY_MODELS} talker Qwen/Qwen3-0.6B", tmp_path)
    with ModelServer(answer=talk) as server:
        printed = [run_block(block, shell, tmp_path, server=server.url) for block in blocks_of("training.md")]
        assert server.bodies
    rewards = re.findall(r"'rewards/episode_reward/mean': '?(-?[\d.e-]+)", printed[-1])
    assert len(rewards) == 5  # of 48 steps every tenth and the last
    assert all(-1 <= float(reward) <= 1 for reward in rewards)
