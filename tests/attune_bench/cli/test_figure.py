"""`figure` writes one figure of scores, or says in one line why it cannot."""

import sys
from pathlib import Path
from typing import Any

import pytest
from commands import QUICK, Call, Scored

from attune_bench import Scores
from attune_bench.benchmarks.attunebench.analyses import ANALYSES
from attune_bench.cli.figures import KINDS
from attune_bench.report import figures
from attune_data import load

BEGINNINGS = {".pdf": b"%PDF", ".svg": b"<svg", ".png": b"\x89PNG", ".html": b"<!DOCTYPE html>"}


@pytest.mark.parametrize(
    "ending", [pytest.param(one, marks=pytest.mark.slow) if one in {".pdf", ".html"} else one for one in BEGINNINGS]
)
def test_the_name_of_the_file_says_its_format(call: Call, results_csv: Path, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"figure{ending}"
    status, out, err = call("figure", results_csv, "-o", path, *QUICK)
    assert (status, err) == (0, "")
    assert out.startswith(f"{path}: scores of 2 models, ")
    assert path.read_bytes().startswith(BEGINNINGS[ending])


def test_the_figure_is_of_the_library(call: Call, episodes: Scored, tmp_path: Path) -> None:
    read = Scores.read(episodes.scores)
    for kind, drawn in (
        ("scores", read.plot(resamples=200)),
        ("ranks", figures.ranks(read, resamples=200)),
        ("unit_difficulty", figures.unit_difficulty(read)),
        ("profile", figures.profiles(read, resamples=200)),
    ):
        figures.save(drawn, tmp_path / "expected.svg")
        call("figure", episodes.scores, "--kind", kind, "-o", tmp_path / "found.svg", *QUICK)
        assert (tmp_path / "found.svg").read_bytes() == (tmp_path / "expected.svg").read_bytes(), kind


def test_a_figure_of_costs_is_of_the_results(call: Call, episodes: Scored, tmp_path: Path) -> None:
    asked = ("figure", episodes.scores, "-o", tmp_path / "found.svg", *QUICK)
    assert call(*asked, "--kind", "cost_front")[2] == "attune-bench: --kind cost_front needs --results\n"
    assert call(*asked, "--results", "demo")[2] == "attune-bench: --kind scores takes no --results; leave it out\n"
    status, _, err = call(*asked, "--kind", "cost_front", "--results", episodes.results)
    assert (status, "needs scores of the metric, and results of a model that record their cost" in err) == (2, True)


@pytest.mark.slow
def test_a_figure_of_a_benchmark_is_of_its_analysis(
    call: Call, conversations: Scored, episodes: Scored, tmp_path: Path
) -> None:
    found, expected = tmp_path / "found.svg", tmp_path / "expected.svg"
    read, data = Scores.read(conversations.scores), load("demo")
    given: dict[str, dict[str, Any]] = {"after_mismatch": {"data": data}, "branches": {}, "serial_misreads": {}}
    for kind, needs in given.items():
        figures.save(figures.of_analysis(read, ANALYSES[kind], **needs, resamples=200), expected)
        sources = ("--data", "demo") if needs else ()
        _, out, err = call("figure", conversations.scores, "--kind", kind, *sources, "-o", found, *QUICK)
        assert (err, out.startswith(f"{found}: {kind.replace('_', ' ')} of 2 models, ")) == ("", True)
        assert found.read_bytes() == expected.read_bytes(), kind
    asked = ("--kind", "state_recovery", "--data", episodes.data, "--results", episodes.results)
    assert call("figure", episodes.scores, *asked, "-o", found, *QUICK)[0] == 0
    assert "anger back in 3, 95% interval" in found.read_text()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("truth",), "--kind truth needs --data and --results"),
        (("branches", "--data", "demo"), "--kind branches takes no --data; leave it out"),
        (("branches", "--metric", "composite_score"), "--kind branches is of its own metrics; leave out --metric"),
        (("serial_misreads", "--metric", "a", "b"), "--kind serial_misreads draws one metric; name one with --metric"),
        (("branch",), "no kind 'branch' of these scores; did you mean 'branches'?"),
        (
            ("contamination", "--data", "demo", "--results", "demo"),
            "--kind contamination needs runs with probes (attune-bench run --probes)",
        ),
        (("truth", "--data", "demo", "--results", "demo"), "--kind truth needs runs of at least one person"),
    ],
)
def test_a_mistake_in_a_figure_of_a_benchmark(
    call: Call, conversations: Scored, tmp_path: Path, arguments: tuple[str, ...], words: str
) -> None:
    path = tmp_path / "f.svg"
    status, out, err = call("figure", conversations.scores, "-o", path, "--kind", *arguments)
    assert (status, out, err.count("\n"), words in err, path.exists()) == (2, "", 1, True, False)


def test_an_unknown_kind_lists_all(call: Call, conversations: Scored, results_csv: Path, tmp_path: Path) -> None:
    own = [name for name, analysis in ANALYSES.items() if analysis.figure is not None]
    assert {"branches", "truth", "contamination", "serial_misreads", "after_mismatch"} <= {*own}
    err = call("figure", conversations.scores, "-o", tmp_path / "f.svg", "--kind", "xyz")[2]
    assert err.endswith(f"expected one of {', '.join([*KINDS, *own])}\n")
    err = call("figure", results_csv, "-o", tmp_path / "f.svg", "--kind", "xyz")[2]
    assert err.endswith(f"expected one of {', '.join(KINDS)}\n")


def test_a_profile_is_of_one_model_where_it_is_named(call: Call, results_csv: Path, tmp_path: Path) -> None:
    path = tmp_path / "figure.svg"
    asked = ("figure", results_csv, "--kind", "profile", "--metric", "accuracy", "--model", "beta", "-o", path)
    assert call(*asked, *QUICK)[0] == 0
    expected = figures.profile(Scores.read(results_csv), "beta", metrics=["accuracy"], resamples=200)
    figures.save(expected, tmp_path / "expected.svg")
    assert path.read_bytes() == (tmp_path / "expected.svg").read_bytes()


def test_values_of_few_people_are_not_drawn(call: Call, tmp_path: Path) -> None:
    table, path = tmp_path / "results.csv", tmp_path / "figure.svg"
    rows = [
        f"{model},{unit},accuracy,{unit % 2},p{unit}" for model, n in (("many", 8), ("few", 3)) for unit in range(n)
    ]
    table.write_text("\n".join(["model,unit,metric,value,cluster", *rows]))
    table.with_suffix(".toml").write_text('private = true\ncluster = "participant"\n')
    status, out, _ = call("figure", table, "-o", path, *QUICK)
    assert status == 0
    assert out.splitlines()[1:] == ["not drawn, as they rest on fewer than 5 participants (--small-cells): few"]
    assert ("few" in path.read_text(), "many" in path.read_text()) == (False, True)
    status, out, _ = call("figure", table, "-o", path, "--small-cells", *QUICK)
    assert (status, out.count("\n"), "few" in path.read_text()) == (0, 1, True)


def test_where_nothing_can_be_drawn_it_says_why(call: Call, tmp_path: Path) -> None:
    rows = [f"{model},{model}{unit},hit,{unit % 2}" for model in "ab" for unit in range(9)]
    (tmp_path / "apart.csv").write_text("\n".join(["model,unit,metric,value", *rows]))
    _, _, err = call("figure", tmp_path / "apart.csv", "--kind", "separation", "-o", tmp_path / "figure.svg")
    assert "--kind separation has nothing to draw: no unit has a value of every model" in err


MISTAKES = {
    "ending": (("-o", "f.jpg"), "--output f.jpg has to end in .pdf, .svg, .png or .html"),
    "folder": (("-o", "none/f.svg"), "no such folder: none; create it or choose another --output"),
    "kind": (("-o", "f.svg", "--kind", "bars"), "no kind 'bars' of these scores; expected one of scores, ranks"),
    "metric": (("-o", "f.svg", "--metric", "acuracy"), "no metric 'acuracy'; did you mean 'accuracy'?"),
    "metrics": (("-o", "f.svg", "--metric", "a", "b"), "--kind scores draws one metric; name one with --metric"),
    "model": (("-o", "f.svg", "--model", "beta"), "--model is for --kind profile"),
    "unknown-model": (
        ("-o", "f.svg", "--kind", "profile", "--metric", "accuracy", "--model", "bta"),
        "no model 'bta'; did",
    ),
    "condition": (("-o", "f.svg", "--condition", "x"), "no condition 'x'; expected one of none"),
    "no-range": (("-o", "f.svg", "--kind", "profile"), "no metric declares a finite range, which a profile draws"),
    "few-models": (
        ("-o", "f.svg", "--kind", "skills"),
        "--kind skills needs scores of at least six models in one condition, and two metrics; docs/separation.md makes",
    ),
    "one-condition": (
        ("-o", "f.svg", "--kind", "condition_differences"),
        "--kind condition_differences needs scores of a model",
    ),
    "no-output": ((), "Missing option '--output'"),
}


@pytest.mark.parametrize(("arguments", "words"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_one_line(
    call: Call, results_csv: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], words: str
) -> None:
    monkeypatch.chdir(results_csv.parent)
    before = sorted(results_csv.parent.iterdir())
    status, out, err = call("figure", "results.csv", *arguments)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert words in err
    assert sorted(results_csv.parent.iterdir()) == before


def test_the_difficulty_of_units_needs_two_models(call: Call, tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text("model,unit,value\na,q1,1\na,q2,0\n")
    err = call("figure", tmp_path / "one.csv", "--kind", "unit_difficulty", "-o", tmp_path / "f.svg")[2]
    assert "--kind unit_difficulty needs scores of at least two models\n" in err


def test_several_conditions_need_one(call: Call, tmp_path: Path) -> None:
    table = tmp_path / "results.csv"
    rows = [f"m,{unit},accuracy,{unit % 2},{mode}" for mode in ("plain", "hinted") for unit in range(4)]
    table.write_text("\n".join(["model,unit,metric,value,condition", *rows]))
    asked = ("figure", table, "-o", tmp_path / "f.svg")
    assert "a figure shows one condition; choose one of hinted, plain with --condition" in call(*asked)[2]
    assert call(*asked, "--condition", "plain")[0] == 0


def test_without_the_extra_the_error_names_it(
    call: Call, results_csv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    status, _, err = call("figure", results_csv, "-o", tmp_path / "f.svg")
    assert status == 2
    assert "pip install 'attune-bench[plots]'" in err
    assert not (tmp_path / "f.svg").exists()


def test_every_kind_is_a_function_of_figures() -> None:
    assert {getattr(figures, "profiles" if kind == "profile" else kind).__module__ for kind in KINDS} == {
        figures.__name__
    }
