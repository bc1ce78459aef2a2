"""Similarity by another measure than token overlap: columns of its own beside unchanged ones, through every file."""

import math
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from documentation import blocks_of, run_block
from environments import HELPERS, Shell
from polars.testing import assert_frame_equal

from attune_bench import Scores, score
from attune_bench.benchmarks.attunebench import scoring
from attune_data import load, load_runs
from attune_metrics.attunebench.preferences import token_jaccard
from attune_metrics.metric import MetricInputError

MEASURES = (
    "avg_response_similarity",
    "avg_response_similarity_original",
    "avg_response_similarity_llm_improved",
    "avg_response_similarity_human_edited",
    "avg_response_preference_alignment",
)


def overlap(drafts: Sequence[str], responses: Sequence[str]) -> list[float]:
    return [token_jaccard(response, draft) for draft, response in zip(drafts, responses, strict=True)]


def scored(similarity: Any) -> Scores:
    found: Scores = score(load("demo"), load_runs("demo"), similarity=similarity)
    return found


@pytest.mark.slow
def test_another_measure_has_columns_of_its_own() -> None:
    plain, both = score(load("demo"), load_runs("demo")), scored(overlap)
    own = [f"{name}.overlap" for name in MEASURES]
    assert_frame_equal(both.values.drop(own), plain.values)
    for name in MEASURES:
        assert both.values[f"{name}.overlap"].to_list() == plain.values[name].to_list()
    assert [*both.metrics] == [*plain.metrics, *own]
    assert both.metric(own[0]).label == "Response similarity, overlap"
    assert both.summary(metrics=own, resamples=100)["value"].null_count() == 0


@pytest.mark.slow
def test_the_measure_is_in_signatures_and_files(tmp_path: Path) -> None:
    plain, both = score(load("demo"), load_runs("demo")), scored(overlap)
    assert "variant" not in plain.sign()
    assert "variant:similarity%3Doverlap" in both.sign()
    for name in ("scores.json", "scores.parquet"):
        both.write(tmp_path / name)
        read = Scores.read(tmp_path / name)
        assert_frame_equal(read.values, both.values)
        assert (read.provenance.similarity, read.sign()) == ("overlap", both.sign())
        assert [*read.metrics] == [*both.metrics]


def test_texts_are_compared_once_and_missing_ones_never() -> None:
    asked: list[tuple[str, str]] = []

    def constant(drafts: Sequence[str], responses: Sequence[str]) -> list[float]:
        asked.extend(zip(drafts, responses, strict=True))
        return [0.25] * len(drafts)

    runs = load_runs("demo")[:2]
    turns = tuple(turn.model_copy(update={"em_drafted_response": " "}) for turn in runs[1].turns)
    silent = runs[1].model_copy(update={"turns": turns})
    found = scoring.score(load("demo"), [runs[0], silent], similarity=constant)
    assert len(asked) == len({*asked}) > 0
    assert all(text.strip() for pair in asked for text in pair)
    assert found.values["avg_response_similarity.constant"].to_list() == [0.25, 0.0]


@pytest.mark.parametrize(
    ("similarity", "said"),
    [
        (lambda drafts, _: [0.5] * (len(drafts) - 1), "gives .* values for"),
        (lambda drafts, _: [math.nan] * len(drafts), "lambda of '.* and '.* is nan; expected a number"),
        ("bert", "no 'bert'; it is jaccard, bertscore, bertscore:MODEL or a function"),
        ("bertscore:", "no 'bertscore:'"),
        (None, "similarity is None; it is a text or a function"),
    ],
)
def test_what_is_no_measure_is_named(similarity: Any, said: str) -> None:
    with pytest.raises(MetricInputError, match=said):
        scored(similarity)


def test_without_bert_score_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "bert_score", None)
    with pytest.raises(ImportError, match=r"attune-bench\[bertscore\]"):
        scored("bertscore")


@pytest.mark.slow
def test_bertscore_by_a_small_model_of_a_folder(page_shell: Callable[..., Shell], tmp_path: Path) -> None:
    shell = page_shell("attunebench.md", "Another similarity", torch=True)
    shell(f"python {HELPERS / 'tiny_models.py'} encoder model 2", tmp_path)
    for name, jobs in (("one.parquet", 1), ("two.parquet", 2)):
        options = f"--similarity bertscore:{tmp_path / 'model'} --jobs {jobs} -o {name}"
        shell(f"attune-bench score --results demo --data demo {options}", tmp_path)
    assert (tmp_path / "one.parquet").read_bytes() == (tmp_path / "two.parquet").read_bytes()
    scores = Scores.read(tmp_path / "one.parquet")
    values = scores.values["avg_response_similarity.bertscore"]
    assert values.is_between(0, 1.000001).all()
    assert values.n_unique() > 40
    assert re.match(r"bertscore\(model@[0-9a-f]{12}_L2_no-idf_version=", scores.provenance.similarity or "")
    largest = scores.values.select(pl.max_horizontal(pl.col("^avg_response_similarity_.*bertscore$"))).to_series()
    assert (values >= largest - 1e-12).all()


@pytest.mark.slow
def test_the_page_on_another_similarity(page_shell: Callable[..., Shell], tmp_path: Path) -> None:
    section = ("attunebench.md", "Another similarity")
    shell = page_shell(*section, torch=True)
    # A folder of this name counts before the Hub: bert-score takes 17 layers of the model that it is called after.
    shell(f"python {HELPERS / 'tiny_models.py'} encoder roberta-large 17", tmp_path)
    commands, session = blocks_of(*section)
    printed = run_block(commands, shell, tmp_path)
    assert re.search(r"^Response similarity, bertscore +0\.\d{3} +0\.\d{3}$", printed, re.MULTILINE)
    report = commands.text.strip().splitlines()[-1].replace("attune-bench", "attune-bench signature", 1)
    assert "metric:avg_response_similarity.bertscore|" in shell(report, tmp_path)
    run_block(session, shell, tmp_path)
