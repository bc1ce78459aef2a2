"""The commands `compare` and `rank`: whether models differ, on the scores of any benchmark and on a table."""

import warnings
from collections.abc import Callable
from itertools import permutations
from pathlib import Path

import polars as pl
import pytest
from commands import QUICK, Call, Scored, Scorings, csv_rows, strict_json, too_wide
from slow_cases import slow_after

from attune_bench import BENCHMARKS, Scores
from attune_bench.report.notes import unequal_units_notes
from attune_bench.stats.subgroups import compare_by
from attune_metrics.signature import Signature, short_signature

Make = Callable[..., Scores]
# JSON and CSV name the condition as the benchmark does.
COMPARE = ("model_a model_b mode metric difference low high p p_min p_holm significant n clusters mde reason").split()
SIGNIFICANT = "mode metric pairs family significant interval_excludes_0 p_holm_min".split()
NAMES = tuple(benchmark.name for benchmark in BENCHMARKS)


@pytest.mark.slow
def test_it_prints_the_pairs_that_differ_and_the_signature(call: Call, demo_scores: Path) -> None:
    status, out, err = call("compare", "--scores", demo_scores, *QUICK)
    assert (status, err) == (0, "")
    title = "Composite, mode default: 3 of 3 pairs differ (Holm p < 0.05, family of 3), 3 by the uncorrected interval"
    assert title in " ".join(out.split())
    again = call("signature", "compare", demo_scores, *QUICK)[1].splitlines()
    assert out.splitlines()[-1].startswith(f"{again[0]} (whole: attune-bench signature compare ")
    signature = Signature.parse(again[1])
    assert (signature.metric, signature.n, signature.clusters, signature.boot) == ("composite_score", 40, 24, 200)
    assert too_wide(out) == []
    assert "SYNTHETIC demonstration data." in out


def test_json_keys_and_rows(call: Call, demo_scores: Path) -> None:
    _, out, _ = call(
        "compare", "--scores", demo_scores, "--format", "json", "--seed", 7, *QUICK,
        "--metric", "avg_pairwise_accuracy", "--metric", "pooled_binary_om_metrics.mcc",
    )  # fmt: skip
    content = strict_json(out)
    assert list(content) == ["metadata", "comparisons", "significant"]
    assert list(content["metadata"]) == ["signature", "benchmark", "protocol", "synthetic", "not_scored", "notes"]
    assert [list(row) for row in content["comparisons"]] == [COMPARE] * 6
    assert [list(row) for row in content["significant"]] == [SIGNIFICANT] * 2
    assert Signature.parse(content["metadata"]["signature"]).seed == 7
    expected = Scores.read(demo_scores).compare_all(
        metrics=["avg_pairwise_accuracy", "pooled_binary_om_metrics.mcc"], resamples=200, seed=7
    )
    assert content["comparisons"] == expected.rename({"condition": "mode"}).to_dicts()


@pytest.mark.parametrize("name", slow_after(2, NAMES))
def test_the_main_metric_of_every_benchmark_is_compared(call: Call, scored: Scorings, name: str) -> None:
    path = scored(name).scores
    scores = Scores.read(path)
    status, out, err = call("compare", "--scores", path, "--format", "json", *QUICK)
    assert (status, err) == (0, "")
    expected = scores.compare_all(metrics=[scores.primary], resamples=200)
    content = strict_json(out)
    assert content["comparisons"] == expected.rename({"condition": scores.provenance.condition}).to_dicts()
    assert content["metadata"]["benchmark"] == name
    out = call("compare", "--scores", path, *QUICK)[1]
    # Each benchmark says what its units are called.
    assert f"on the {scores.provenance.unit}s of both" in " ".join(out.split())
    assert too_wide(out) == []


@pytest.mark.slow
def test_the_same_seed_prints_the_same_bytes(call: Call, demo_scores: Path) -> None:
    first, again, other = (
        call("compare", "--scores", demo_scores, "--format", "csv", "--seed", seed, *QUICK)[1] for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other
    rows = csv_rows(first)
    assert list(rows[0]) == [*COMPARE, "signature"]
    assert len(rows) == 3


def test_two_models_in_markdown(call: Call, make_scores: Make, tmp_path: Path) -> None:
    make_scores(["x|y", "\x1b[31mred", "c"], conversations=6).write(tmp_path / "scores.json")
    arguments = ("--model", "x|y", "\x1b[31mred", "--format", "markdown")
    status, out, _ = call("compare", "--scores", tmp_path / "scores.json", *arguments, *QUICK)
    assert status == 0
    # Equal runs: no difference, for certain.
    assert "| x\\|y | \ufffd[31mred | +0.00 [+0.00, +0.00] | no | 1.0000 | 1.0000 | 6 |" in out
    assert "\x1b" not in out
    assert out.rstrip("\n").endswith("|seed:0`")
    each = ("--model", "x|y", "--model", "\x1b[31mred", "--format", "markdown")
    assert call("compare", "--scores", tmp_path / "scores.json", *each, *QUICK)[1] == out


def test_tables_for_latex(call: Call, demo_scores: Path) -> None:
    for command in ("compare", "rank"):
        status, out, err = call(command, demo_scores, "--format", "latex", *QUICK)
        assert (status, err) == (0, "")
        assert out.count("\\begin{tabular}") == out.count("\\bottomrule") == 1
        assert "\nsignature: " not in out


def test_long_names_are_wrapped(call: Call, make_scores: Make, tmp_path: Path) -> None:
    names = [f"vendor/a-model-with-a-long-name-of-version-{i}" for i in range(3)]
    make_scores(names, conversations=3).write(tmp_path / "scores.json")
    _, out, _ = call("compare", "--scores", tmp_path / "scores.json", *QUICK)
    assert "..." not in out
    assert too_wide(out) == []
    # Between models that score the same the interval is certain; it needs no five participants.
    assert out.count("[+0.00, +0.00]") == 3


@pytest.mark.parametrize("format_", ["table", "json", "csv"])
def test_one_model_has_nothing_to_compare(call: Call, make_scores: Make, tmp_path: Path, format_: str) -> None:
    make_scores(["a"]).write(tmp_path / "scores.json")
    status, out, err = call("compare", "--scores", tmp_path / "scores.json", "--format", format_, *QUICK)
    assert (status, err) == (0, "")
    if format_ == "table":
        assert out.startswith("Nothing to compare: no mode has two models; 1 model scored; attune-bench report shows")
    elif format_ == "json":
        assert (strict_json(out)["comparisons"], strict_json(out)["significant"]) == ([], [])
    else:
        assert csv_rows(out) == []


@pytest.mark.parametrize(("resamples", "said"), slow_after(2, [(20, True), (119, True), (120, False), (500, False)]))
def test_how_many_exchanges_are_made_is_said_where_it_is_not_the_resamples(
    call: Call, demo_scores: Path, resamples: int, said: bool
) -> None:
    # Three pairs need 120.
    _, out, err = call("compare", "--scores", demo_scores, "--resamples", resamples, "--format", "json")
    assert err == ""
    about = strict_json(out)["metadata"]
    assert any("at most 120 times at random" in note for note in about["notes"]) == said
    assert Signature.parse(about["signature"]).exchanges == (120 if said else None)


@pytest.mark.slow
def test_the_models_compared_are_in_the_signature(call: Call, demo_scores: Path) -> None:
    choices = [(), *permutations(Scores.read(demo_scores).models, 2)]
    signatures = set()
    for choice in choices:
        named = ("--model", *choice) if choice else ()
        status, out, _ = call("signature", "compare", "--scores", demo_scores, *named, "--resamples", 99)
        assert status == 0
        signatures.add(Signature.parse(out.splitlines()[-1]))
    assert len(signatures) == len(choices) > 2


# Within strata.


@pytest.mark.slow
def test_each_scene_is_a_family_of_its_own(call: Call, episodes: Scored) -> None:
    status, out, err = call("compare", "--scores", episodes.scores, "--by", "scene", "--format", "json", *QUICK)
    assert (status, err) == (0, "")
    content = strict_json(out)
    expected = compare_by(Scores.read(episodes.scores), "scene", metrics=["reward"], resamples=200)
    assert content["comparisons"] == expected.to_dicts()
    assert all(list(row)[:3] == ["stratum", "model_a", "model_b"] for row in content["comparisons"])
    strata = list(dict.fromkeys(row["stratum"] for row in content["comparisons"]))
    assert strata[0] == "overall"
    assert sorted(strata[1:]) == ["charm", "defense", "repair", "support"]
    assert [row["family"] for row in content["significant"]] == [3] * 5
    assert Signature.parse(content["metadata"]["signature"]).filter == "by scene"
    text = call("compare", "--scores", episodes.scores, "--by", "scene", *QUICK)[1]
    assert text.count("family of 3)") == 5
    assert too_wide(text) == []


def test_traits_of_the_data_where_the_scores_have_none(call: Call, conversations: Scored) -> None:
    command = ("compare", "--scores", conversations.scores, "--by", "category", "--format", "json", *QUICK)
    status, _, err = call(*command)
    assert (status, err.count("\n")) == (2, 1)
    assert "these scores have no traits of their conversations; name the data with --data" in err
    status, out, _ = call(*command, "--data", "demo")
    assert status == 0
    overall, *strata = strict_json(out)["comparisons"]
    assert (overall["stratum"], overall["n"]) == ("overall", 40)
    assert sum(row["n"] for row in strata) == 40
    # Of the models that are named only, in their order.
    swapped = strict_json(
        call(*command, "--data", "demo", "--model", overall["model_b"], "--model", overall["model_a"])[1]
    )
    assert {(row["model_a"], row["model_b"]) for row in swapped["comparisons"]} == {
        (overall["model_b"], overall["model_a"])
    }


@pytest.mark.parametrize("failed", ["exclude", "start", "worst"])
def test_failed_episodes_count_as_asked(call: Call, episodes: Scored, failed: str) -> None:
    out = call("compare", "--scores", episodes.scores, "--failed", failed, "--format", "json", *QUICK)[1]
    rows = strict_json(out)["comparisons"]
    expected = Scores.read(episodes.scores).variant(failed=failed).compare_all(metrics=["reward"], resamples=200)
    assert rows == expected.to_dicts()
    assert [row["n"] for row in rows] == ([48, 42, 42] if failed == "exclude" else [48, 48, 48])


# rank.


@pytest.mark.parametrize("name", slow_after(2, NAMES))
def test_ranks(call: Call, scored: Scorings, name: str) -> None:
    path = scored(name).scores
    scores = Scores.read(path)
    condition = {"condition": scores.provenance.condition}
    status, out, err = call("rank", "--scores", path, "--format", "json", *QUICK)
    if scores.metric(scores.primary).higher_is_better is None:
        assert (status, out) == (2, "")
        assert "cannot rank models: neither higher nor lower values of it are better" in err
        return
    assert (status, err) == (0, "")
    content = strict_json(out)
    assert list(content) == ["metadata", "ranks"]
    assert content["ranks"] == scores.rank(metrics=[scores.primary], resamples=200).rename(condition).to_dicts()
    ranks = [*range(1, len(scores.models) + 1)]
    assert [row["rank"] for row in content["ranks"]] == ranks * len(scores.conditions)
    text = call("rank", "--scores", path, *QUICK)[1]
    assert text.startswith(f"Ranks by {scores.metrics[scores.primary].label}")
    assert too_wide(text) == []
    assert Signature.parse(content["metadata"]["signature"]).metric == scores.primary
    short = short_signature(content["metadata"]["signature"])
    assert text.splitlines()[-1].startswith(f"signature: {short} (whole: attune-bench signature ")


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        # The early model has the easy units alone.
        (
            {"early": "11", "late": "1000"},
            "early by 2, late by 4; on the 2 units that all have, the order is the same.",
        ),
        ({"early": "10", "late": "110000"}, "early by 2, late by 6; on the 2 units that all have, the order is late, "),
        ({"a": "1_1_", "b": "11__", "c": "_1_1"}, "a by 2, c by 2; no unit is of all."),
        ({"early": "10", "late": "11"}, ""),
    ],
)
def test_ranks_by_different_units_say_the_order_on_common_units(
    tmp_path: Path, call: Call, rows: dict[str, str], said: str
) -> None:
    table = tmp_path / "results.csv"
    values = [(model, unit, value) for model, own in rows.items() for unit, value in enumerate(own) if value != "_"]
    lines = [f"{model},{unit},accuracy,{value}" for model, unit, value in values]
    table.write_text("\n".join(["model,unit,metric,value", *lines, ""]))
    scores = Scores.read(table)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        notes = " ".join(unequal_units_notes(scores, scores.rank(resamples=200)))
    assert (said in notes, bool(notes)) == (True, bool(said))
    if len(rows) == 2:
        assert ("each model is ranked by all of its own units" in call("rank", table, *QUICK)[1]) == bool(said)


def test_several_metrics_are_ranked_each(call: Call, dialogues: Scored) -> None:
    out = call("rank", "--scores", dialogues.scores, "--metric", "success", "failure", "--format", "csv", *QUICK)[1]
    assert [row["metric"] for row in csv_rows(out)] == ["success"] * 2 + ["failure"] * 2


@pytest.mark.parametrize(
    ("command", "arguments", "message"),
    [
        ("compare", ["--metric", "composite_scor"], "no metric 'composite_scor'; did you mean 'composite_score'?"),
        ("compare", ["--model", "a"], "--model names a; name two models, or none for every two"),
        ("compare", ["--model", "a", "b", "c"], "--model names a, b, c; name two models, or none for every two"),
        ("compare", ["--model", "a", "a"], "--model names a, a; name two models, or none for every two"),
        ("compare", ["--model", "a", "b"], "no scores of model 'a'; expected one of baseline/chance,"),
        ("compare", ["--model"], "--model is given without a value; give one or more, or leave it out"),
        ("compare", ["--resamples", "0"], "resamples 0 is not a whole number from 1"),
        ("compare", ["--seed", "-1"], "seed -1 is not a whole number from 0"),
        ("compare", ["--level", "95"], "level 95.0 is outside 0-1"),
        ("compare", ["--unit", "person"], "unknown unit 'person'; expected participant, cluster, conversation, unit"),
        ("compare", ["--data", "demo"], "--data is for --by; leave it out, or name a trait"),
        ("compare", ["--by", "categry", "--data", "demo"], "no trait 'categry'; did you mean 'category'?"),
        (
            "compare",
            ["--failed", "worst"],
            "--failed is an option of EIBench, and these scores are of AttuneBench; leave it out",
        ),
        ("compare", ["--benchmark", "eibench"], "--benchmark is eibench, and the scores are of attunebench"),
        ("rank", ["--interval", "bca"], "there is no BCa interval of a rank"),
    ],
)
def test_mistakes_are_one_line(call: Call, demo_scores: Path, command: str, arguments: list[str], message: str) -> None:
    status, out, err = call(command, "--scores", demo_scores, *arguments)
    assert (status, out) == (2, "")
    assert err.startswith(f"attune-bench: {message}")
    assert err.count("\n") == 1


# Warnings.


WARNED = (("report",), ("compare",), ("analyze", "win_rates"), ("subset", "--by", "size"))


def dominant(folder: Path) -> Path:
    """Return scores of 14 units, 5 of one cluster."""
    rows = [
        f"{model},u{unit},{'big' if unit < 5 else f'c{unit}'},{metric},{(unit * 7 + len(model)) % 5},all"
        for model in ("a", "bb")
        for unit in range(14)
        for metric in ("x", "y")
    ]
    path = folder / "results.csv"
    path.write_text("\n".join(["model,unit,cluster,metric,value,size", *rows]), encoding="utf-8")
    return path


@pytest.mark.parametrize("words", WARNED, ids=" ".join)
def test_a_dominant_cluster_is_said_once_in_the_output(call: Call, tmp_path: Path, words: tuple[str, ...]) -> None:
    asked = (*words, "--scores", dominant(tmp_path), "--interval", "bca", *QUICK)
    status, out, err = call(*asked, "--format", "json")
    assert (status, err) == (0, "")
    assert out.count("Warning: BCa intervals") == out.count("here one has 36%") == 1
    for format_ in ("table", "markdown"):
        status, out, err = call(*asked, "--format", format_)
        assert (status, err) == (0, "")
        assert " ".join(out.split()).count("here one has 36%") == 1


@pytest.mark.parametrize("words", WARNED, ids=" ".join)
def test_what_csv_has_no_place_for_goes_to_standard_error(call: Call, tmp_path: Path, words: tuple[str, ...]) -> None:
    asked = (*words, "--scores", dominant(tmp_path), "--format", "csv", *QUICK)
    status, out, err = call(*asked, "--interval", "bca")
    assert status == 0
    assert "here one has" not in out
    assert csv_rows(out)
    assert err.count("attune-bench: Warning: BCa intervals cover too rarely") == err.count("here one has 36%") == 1
    assert "BCa intervals" not in call(*asked)[2]


@pytest.mark.parametrize("words", [(), ("--model", "a", "--model", "b"), ("--by", "topic")])
def test_models_without_a_unit_in_common_are_an_error(call: Call, tmp_path: Path, words: tuple[str, ...]) -> None:
    path = tmp_path / "results.csv"
    path.write_text("model,unit,metric,value,topic\na,q1,hit,1,x\nb,1,hit,1,x\n", encoding="utf-8")
    status, out, err = call("compare", "--scores", path, *words, *QUICK)
    assert (status, out) == (2, "")
    assert "no two models have a unit in common ('a' has 'q1', 'b' has '1'); give a unit the same name in the" in err


def test_only_values_of_shares_have_intervals_of_their_own(call: Call, tmp_path: Path) -> None:
    rows = [
        (model, f"u{unit:02}", f"p{unit // 2:02}", "hit", float((unit + place) % 4 > place))
        for place, model in enumerate("ab")
        for unit in range(24)
    ]
    frame = pl.DataFrame(rows, schema=["model", "unit", "cluster", "metric", "value"], orient="row")
    scores = Scores.from_table(frame, metrics={"hit": {"statistic": "share", "low": 0, "high": 1}})
    scores.write(tmp_path / "scores.parquet")

    def interval(*words: object) -> str | None:
        status, out, err = call("signature", *words, "--scores", tmp_path / "scores.parquet", *QUICK)
        assert (status, err) == (0, "")
        return Signature.parse(out.splitlines()[-1]).interval

    assert interval("report") == "percentile-expanded_logit-t"
    frame.filter(pl.col("unit") < "u20").select("model", "unit", rating="value").write_csv(tmp_path / "labels.csv")
    debias = "judge", "correct", "--labels", tmp_path / "labels.csv", "--metric", "hit"
    for words in (["compare"], ["rank"], ["analyze", "win_rates"], debias):
        assert interval(*words) == "percentile-expanded", words
    each_once = [interval(verb, "--weight", "cluster") for verb in ("report", "compare", "rank")]
    assert each_once == ["t", "t", "percentile-expanded"]


def test_missing_values_are_counted_where_models_are_compared_and_reported(call: Call, tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    lacking = [("a", 0), ("b", 1)]
    rows = [f"{m},q{u},hit,{'' if (m, u) in lacking else u % 3}" for m in "abc" for u in range(8)]
    table.write_text("\n".join(["model,unit,metric,value", *rows]))
    both = "; two models are compared on the units that both have."
    for command in ("compare", "report"):
        for more in ((), ("--format", "latex"), ("--format", "json")):
            text = " ".join(call(command, table, "--resamples", 100, *more)[1].split())
            assert f"2 of 24 values of hit are missing{both}" in text
    text = call("compare", table, "--resamples", 100, "--model", "b", "c")[1]
    assert f"1 of 16 values of hit is missing{both}" in text
    whole = tmp_path / "whole.csv"
    whole.write_text(table.read_text().replace(",hit,\n", ",hit,1\n"))
    assert all("missing" not in call(command, whole, "--resamples", 100)[1] for command in ("compare", "report"))
