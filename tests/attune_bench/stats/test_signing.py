"""Signatures: the hashes they carry, and that every setting is in them."""

import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from attune_bench import Scores
from attune_bench.report.columns import interval_words
from attune_bench.scores.codebook import codebook_hash
from attune_bench.scores.provenance import fingerprint
from attune_bench.scores.table import ScoreTable
from attune_bench.stats.options import AnalysisOptions
from attune_bench.stats.signing import sign
from attune_data import load
from attune_metrics.signature import Signature

Call = Callable[..., tuple[int, str, str]]


def test_score_leaves_the_hashes_that_signatures_carry(call: Call, files: tuple[Path, Path], tmp_path: Path) -> None:
    data, runs = files
    path = tmp_path / "scores.json"
    signatures = []
    for changed in ({}, {"participant_profile": {"participant_id": "P2"}}):
        conversation = json.loads((data / "conversation_1.json").read_bytes()) | changed
        # The order of keys in a file is no difference.
        (data / "conversation_1.json").write_text(json.dumps(dict(reversed(conversation.items()))), encoding="utf-8")
        call("score", "--results", runs, "--ground-truth", data, "--output", path)
        signatures.append(Signature.parse(sign(Scores.read(path), metrics=["composite_score"])))
    assert signatures[1].data == fingerprint(load(data))
    assert signatures[0].data != signatures[1].data
    assert signatures[0].runs == signatures[1].runs
    assert (signatures[0].clusters, signatures[1].clusters) == (1, 2)
    assert (signatures[0].scores, signatures[0].codebook) == (None, codebook_hash())


def test_scores_without_hashes_are_hashed(
    make_scores: Callable[..., Scores], reordered: Callable[[ScoreTable, Iterable[int]], Scores], tmp_path: Path
) -> None:
    scores = make_scores(["a"], conversations=4)
    scores.write(tmp_path / "scores.json")
    backwards = reordered(scores, range(3, -1, -1))
    moved = make_scores(["a"], conversations=4, source_file="elsewhere.json")
    same = {sign(read) for read in (scores, Scores.read(tmp_path / "scores.json"), backwards, moved)}
    assert len(same) == 1
    assert sign(make_scores(["a"], conversations=4, composite_score=1.0)) not in same


def test_another_codebook_is_another_signature(make_scores: Callable[..., Scores]) -> None:
    scores = make_scores()
    earlier = replace(scores, provenance=scores.provenance.model_copy(update={"codebook": "0"}))
    assert Signature.parse(sign(earlier)).codebook == f"0/{codebook_hash()}"


def test_a_signature_names_every_setting(make_scores: Callable[..., Scores]) -> None:
    scores = make_scores(["a"], conversations=4)
    options: list[dict[str, Any]] = [
        {}, {"metrics": ["composite_score"]}, {"resamples": 5}, {"seed": 1}, {"level": 0.9}, {"unit": "conversation"},
        {"interval": "bca"}, {"question": "category=Health"}, {"within": ["c0", "c1"]},
    ]  # fmt: skip
    signatures = [sign(scores, **given) for given in options]
    assert len(set(signatures)) == len(options)
    kept = Signature.parse(signatures[-1])
    assert (kept.n, kept.clusters, kept.excluded, kept.protocol) == (2, 2, 0, "documented")


@pytest.mark.parametrize(("units", "draw"), [pytest.param(20_000, None, marks=pytest.mark.slow), (20_001, "poisson")])
def test_a_signature_says_where_draws_are_poisson(units: int, draw: str | None) -> None:
    names = [f"u{unit:05}" for unit in range(units)]
    half = [f"p{unit // 2:05}" for unit in range(units)]
    scores = Scores.from_table(
        pl.DataFrame(
            {
                "model": "a",
                "unit": names,
                "cluster": half,
                "metric": "hit",
                "value": [0.0, 1.0] * (units // 2) + [1.0] * (units % 2),
            }
        )
    )
    whole, clusters, part = (
        Signature.parse(sign(scores, **given))
        for given in ({"unit": "unit"}, {}, {"unit": "unit", "within": names[:99]})
    )
    assert (whole.draw, clusters.draw, part.draw) == (draw, None, None)
    assert (whole.clusters, clusters.clusters, part.clusters) == (units, (units + 1) // 2, 99)
    said = interval_words(scores, AnalysisOptions(unit="unit"))
    assert said.endswith(f"(expanded percentile: wider for few units{', Poisson draws' if draw else ''})")
    assert "wider" not in interval_words(scores, AnalysisOptions(unit="unit", interval="percentile"))
