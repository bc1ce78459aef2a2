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

from attune_bench import Scores

pytestmark = pytest.mark.slow

PageShell = Callable[..., Shell]


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
