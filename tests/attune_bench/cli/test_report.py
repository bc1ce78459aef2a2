"""The command `report`: the text in four formats and the page, of the scores of any benchmark and of a table."""

import re
import shlex
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from commands import QUICK, Call, Scored, Scorings, csv_rows, strict_json, too_wide
from pages import headings, text_of

from attune_bench import BENCHMARKS, Scores, benchmark_named
from attune_bench.report.document import render
from attune_bench.report.text import report_document
from attune_data import load_records
from attune_data.references import resolve
from attune_metrics.signature import Signature, short_signature

Files = tuple[Path, Path]
NAMES = tuple(benchmark.name for benchmark in BENCHMARKS)


@pytest.mark.parametrize("format_", ["table", "markdown", "csv", "json"])
def test_each_format_has_the_models_and_the_protocol(call: Call, scores_file: Path, format_: str) -> None:
    status, out, err = call("report", "--scores", scores_file, "--format", format_, *QUICK)
    assert (status, err) == (0, "")
    assert ("\\u043c" if format_ == "json" else "модель/深度-1") in out
    assert "documented" in out
    assert out.endswith("\n")
    assert not out.endswith("\n\n")
    if format_ == "csv":
        assert [*dict.fromkeys(row["model"] for row in csv_rows(out))] == ["b", "модель/深度-1"]
        assert {row["mode"] for row in csv_rows(out)} == {"default"}
    elif format_ == "json":
        assert strict_json(out)["metadata"]["protocol"] == "documented"


def test_a_table_is_the_default(call: Call, scores_file: Path) -> None:
    assert call("report", "--scores", scores_file) == call("report", "--scores", scores_file, "--format", "table")


# A report of AttuneBench takes the longest, and every format is made of the same report.
@pytest.mark.parametrize(
    ("format_", "name"),
    [
        pytest.param(
            format_,
            name,
            marks=() if name == "sage" or (name, format_) == ("attunebench", "table") else pytest.mark.slow,
        )
        for format_ in ("table", "markdown", "csv", "json")
        for name in NAMES
    ],
)
def test_it_is_the_report_of_the_scores(call: Call, scored: Scorings, name: str, format_: str) -> None:
    path = scored(name).scores
    options = ("--seed", 3, "--level", 0.9, "--interval", "percentile", "--unit", "unit", *QUICK)
    status, out, err = call("report", "--scores", path, "--format", format_, *options)
    assert status == 0
    scores = Scores.read(path)
    asked: Any = {
        "format": format_, "seed": 3, "level": 0.9, "interval": "percentile", "unit": "unit", "resamples": 200,
    }  # fmt: skip
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        made = report_document(scores, **asked)
        assert scores.report(**asked) == render(made, format=format_)  # type: ignore[arg-type]
    # The command says below the report what Python warns of; CSV has no place below.
    said = dict.fromkeys(f"Warning: {one.message}." for one in caught)
    expected = render(replace(made, warnings=list(said)), format=format_)  # type: ignore[arg-type]
    words = shlex.join(["--scores", str(path), *map(str, options)])
    hint = f" (whole: attune-bench signature report {words})" if format_ == "table" else ""
    assert out == f"{expected}{hint}\n"
    assert err == ("".join(f"attune-bench: {one}\n" for one in said) if format_ == "csv" else "")
    if format_ == "table":
        assert too_wide(out) == []
        assert out.splitlines()[-1] == f"signature: {short_signature(str(made.signature))}{hint}"
        signature = Signature.parse(str(made.signature))
        assert (signature.benchmark, signature.seed, signature.boot, signature.level) == (name, 3, 200, 0.9)
        assert (signature.unit, signature.interval) == (scores.provenance.unit, "percentile")
        assert f"90% intervals by resampling {scores.provenance.unit}s (percentile)" in " ".join(out.split())


@pytest.mark.slow
def test_the_board_of_eibench_shows_every_number_and_treatment(call: Call, episodes: Scored) -> None:
    out = call("report", "--scores", episodes.scores, *QUICK)[1]
    text = " ".join(out.split())
    scores = Scores.read(episodes.scores)
    values = {
        row["metric"]: row["value"] for row in scores.summary(resamples=1).filter(model="invented/rash").to_dicts()
    }
    for metric in ("reward", "anger_score", "trust_score", "reward_macro"):
        assert f"{100 * values[metric]:.1f} [" in text
    for metric in ("final_anger", "final_trust"):
        assert f"{values[metric]:.1f} [" in text
    each = (
        scores.variant(failed=one).summary(metrics=["reward"], resamples=1) for one in ("exclude", "start", "worst")
    )
    rewards = [f"{100 * one.filter(model='invented/rash')['value'].item():.1f}" for one in each]
    assert len(set(rewards)) == 3
    assert ["invented/rash", *rewards] in [line.split() for line in out.splitlines()]
    # Six parse failures, of 48 scenarios.
    assert ["invented/rash", "0", "6", "0", "0", "0"] in [line.split() for line in out.splitlines()]
    assert "88%" in text
    assert "Numbers are comparable within one simulator and one version of its instructions only." in text


def test_the_choices_of_eibench_are_options(call: Call, episodes: Scored) -> None:
    found = strict_json(
        call(
            "report", "--scores", episodes.scores, "--failed", "worst", "--rule", "directed", "--format", "json", *QUICK
        )[1]
    )
    assert found["metadata"]["variant"] == {"rule": "directed", "failed": "worst"}
    variant = Scores.read(episodes.scores).variant(failed="worst", rule="directed")
    rewards = dict(variant.summary(metrics=["reward"], resamples=1).select("model", "value").iter_rows())
    assert {row["model"]: row["reward"] for row in found["models"]} == rewards
    assert Signature.parse(found["metadata"]["signature"]).variant == "rule=directed,failed=worst"


def test_the_board_of_sage_has_successes_and_failures(call: Call, dialogues: Scored) -> None:
    out = call("report", "--scores", dialogues.scores, *QUICK)[1]
    # By hand from the demo: of 6 dialogues 3 ended at 100, none below 10; Wilson's interval of 3 in 6.
    assert re.search(
        r"^synthetic/attentive +96\.7 \[.*\] +50\.0 \[18\.8, 81\.2\] +0\.0 \[0\.0, 39\.0\] +6$", out, re.MULTILINE
    )


# The page.


# Pages of these have most sections and figures.
LONG = ("attunebench", "eibench")


@pytest.mark.slow
@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.slow if name in LONG else ()) for name in NAMES])
def test_the_page_of_each_benchmark(call: Call, scored: Scorings, tmp_path: Path, name: str) -> None:
    found = scored(name)
    page = tmp_path / "page.html"
    data = ("--data", found.data) if found.data else ()
    status, out, err = call(
        "report", "--scores", found.scores, "--html", page, *data, "--results", found.results, *QUICK
    )
    assert (status, err) == (0, "")
    assert re.fullmatch(rf"{re.escape(str(page))}: \d+ kB, self-contained, opens in any browser\n", out)
    scores = Scores.read(found.scores)
    written = page.read_text(encoding="utf-8")
    benchmark = benchmark_named(name)
    given = {
        side: load_records(source, resolve(getattr(benchmark, side)))
        for side, source in (("data", found.data), ("results", found.results))
        if source
    }
    assert written == scores.report(format="html", **given, resamples=200)
    assert {"Comparisons", "Methods"} <= set(headings(written))


@pytest.mark.slow
def test_a_page_without_data_says_what_is_left_out(call: Call, episodes: Scored, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert call("report", "--scores", episodes.scores, "--html", page, "--failed", "start", *QUICK)[0] == 0
    text = text_of(page.read_text(encoding="utf-8"))
    assert "Trajectories: need the scenarios and the episodes (--data, --results)" in text
    assert "failed start" in text


@pytest.mark.slow
def test_small_cells_are_shown_where_asked_for(call: Call, scores_file: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    status, out, err = call("report", "--scores", scores_file, "--html", page, *QUICK)
    assert (status, out, page.exists()) == (2, "", False)
    assert "with --small-cells" in err
    assert call("report", "--scores", scores_file, "--html", page, "--small-cells", *QUICK)[0] == 0
    assert text_of(page.read_text(encoding="utf-8")).count("64.69") >= 2


@pytest.mark.slow
def test_a_page_that_cannot_be_written_leaves_the_older_one(
    call: Call, episodes: Scored, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "page.html"
    page.write_text("older")

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.replace", refuse)
    status, out, err = call("report", "--scores", episodes.scores, "--html", page, "--resamples", 20)
    assert (status, out) == (2, "")
    elsewhere = f"choose another --html, for instance --html {Path.home() / page.name}"
    assert err == f"attune-bench: {page} cannot be written: Permission denied; {elsewhere}\n"
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    assert page.read_text() == "older"
