"""The commands `analyze` and `stats`, on the scores of any benchmark and on a table."""

import re
from collections.abc import Callable
from pathlib import Path
from statistics import mean, median, stdev
from typing import Any

import polars as pl
import pytest
from commands import QUICK, Call, Scored, Scorings, csv_rows, strict_json, too_wide
from slow_cases import slow_after

from attune_bench import BENCHMARKS, Scores, benchmark_named, score
from attune_bench.analyses import ANALYSES as GENERAL
from attune_bench.analyses import win_rates
from attune_bench.benchmarks.attunebench.analyses import ANALYSES as OWN
from attune_bench.benchmarks.attunebench.scoring import provenance_of, scores_of
from attune_bench.stats import compare
from attune_bench.stats.compare import enough_exchanges
from attune_bench.stats.summary import distribution
from attune_data import load, load_runs
from attune_data.references import resolve
from attune_metrics.signature import Signature

Make = Callable[..., Scores]
ANALYSES = {**GENERAL, **OWN}
# What two models in one mode do not allow.
NO_ROWS = {"condition_differences", "rank_shifts", "repeat_ranks", "repeat_variances", "repeats_worth"}
# What needs the names of judges, which the demo does not record.
UNNAMED = ("judge_agreement", "judge_ranks")
# What needs costs, which the demo does not record.
FREE = ("cost", "cost_front")
# What needs runs with probes, or runs of people, which the demo has none of.
UNPROBED = ("contamination", "truth", "truth_agreement")
EMPTY = {*NO_ROWS, "skills"}


@pytest.fixture(scope="module")
def three_models_in_two_modes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file of scores of three models, of which two answer alike, under two conditions."""
    runs = load_runs("demo")
    more = [run.model_copy(update={"em_model": "third"}) for run in runs if run.em_model == runs[0].em_model]
    again = [run.model_copy(update={"mode": "verbose"}) for run in (*runs, *more)]
    path = tmp_path_factory.mktemp("three_models") / "scores.json"
    score(load("demo"), [*runs, *more, *again]).write(path)
    return path


@pytest.mark.parametrize(("resamples", "said"), [(20, True), (119, True), (120, False)])
@pytest.mark.parametrize("name", slow_after(1, ["condition_differences", "perspective_gap", "turn_drift", "win_rates"]))
def test_how_many_exchanges_are_made_is_said_where_it_is_not_the_resamples(
    call: Call,
    three_models_in_two_modes: Path,
    name: str,
    resamples: int,
    said: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: set[int] = set()

    def enough(pairs: int, resamples: int) -> int:
        made.add(exchanges := enough_exchanges(pairs, resamples))
        return exchanges

    monkeypatch.setattr(compare, "enough_exchanges", enough)
    # Three models of a mode, or under two modes, need 120.
    _, out, _ = call(
        "analyze", name, "--scores", three_models_in_two_modes, "--resamples", resamples, "--format", "json"
    )
    [about] = [part["metadata"] for key, part in strict_json(out).items() if key != "left_out"]
    tests = name != "win_rates"
    assert made == ({max(120, resamples)} if tests else set())
    assert any("at most 120 times at random" in note for note in about["notes"]) == (said and tests)
    assert Signature.parse(about["signature"]).exchanges == (120 if said and tests else None)


@pytest.mark.slow
def test_everything_that_the_inputs_allow(call: Call, conversations: Scored) -> None:
    status, out, err = call("analyze", "--scores", conversations.scores, *QUICK)
    assert (status, err) == (0, "")
    text, left_out = out.split("\n\nLeft out:\n\n")
    for name, analysis in ANALYSES.items():
        title = analysis.title.replace("units", "conversations")
        assert (f"\n\n{title}" in f"\n\n{text}") == (not analysis.needs and name not in EMPTY), name
    assert "- diagnosis_groups: needs --data\n- question_agreement: needs --data and --results\n" in left_out
    assert "- skills: fewer than 6 models\n" in left_out
    assert "- condition_differences: needs scores of a model under at least two modes\n" in left_out
    shown = len(ANALYSES) - len(EMPTY) - sum(bool(analysis.needs) for analysis in ANALYSES.values())
    assert out.count("SYNTHETIC demonstration data.") == shown
    assert re.findall(r"^signature: .*$", out, re.MULTILINE) == [out.splitlines()[-1]]
    whole = call("signature", "analyze", conversations.scores, *QUICK)[1].splitlines()
    assert out.splitlines()[-1].startswith(f"{whole[0]} (whole: attune-bench signature analyze ")
    assert len(whole) > shown
    assert "\nWin rates, Pairwise accuracy, mode default\n" in f"\n{out}"
    assert too_wide(out) == []


@pytest.mark.slow
def test_with_data_and_results_more_is_done(call: Call, conversations: Scored) -> None:
    given = ("--scores", conversations.scores, "--data", "demo", "--results", "demo")
    status, out, err = call("analyze", *given, *QUICK)
    assert (status, err) == (0, "")
    needing = [one.title for name, one in ANALYSES.items() if one.needs and name not in UNNAMED + FREE + UNPROBED]
    assert len(needing) == 4
    assert all(f"\n\n{title}" in out for title in needing)
    assert "needs --" not in out
    assert "- truth: needs runs of at least one person, called human/NAME" in out
    assert "- contamination: needs runs with probes (attune-bench run --probes)\n" in out
    assert "- cost_front: needs scores of the metric, and results of a model that record their cost\n" in f"{out}\n"
    assert too_wide(out) == []


@pytest.mark.slow
def test_json_has_the_frames(call: Call, conversations: Scored) -> None:
    command = ("analyze", "--scores", conversations.scores, "--data", "demo", "--format", "json", "--seed", 3)
    status, out, _ = call(*command, *QUICK)
    assert status == 0
    found = strict_json(out)
    needing = ("question_agreement", *UNNAMED, *UNPROBED, *FREE)
    assert found.pop("left_out") == dict.fromkeys(needing, "needs --results")
    assert [*found] == [name for name in ANALYSES if name not in needing]
    scores = Scores.read(conversations.scores)
    expected = win_rates(scores, resamples=200, seed=3, metrics=["avg_pairwise_accuracy"])
    assert found["win_rates"]["rows"] == expected.rename({"condition": "mode"}).to_dicts()
    assert {name for name, part in found.items() if not part["rows"]} == NO_ROWS
    pairs = found["skills"]["rows"]
    assert {(row["corrected"], row["models"], row["reason"]) for row in pairs} == {(None, 2, "fewer than 6 models")}
    signature = Signature.parse(found["turn_drift"]["metadata"]["signature"])
    assert (signature.boot, signature.seed, signature.n, signature.filter) == (200, 3, 40, "analyze turn_drift")
    assert Signature.parse(found["win_rates"]["metadata"]["signature"]).metric == "avg_pairwise_accuracy"
    assert found["turn_drift"]["metadata"]["synthetic"] is True


def test_named_analyses_in_the_order_named(call: Call, conversations: Scored) -> None:
    named = ("win_rates", "branches")
    status, out, _ = call("analyze", *named, "--scores", conversations.scores, *QUICK, "--format", "markdown")
    assert status == 0
    titles = [line for line in out.splitlines() if line.startswith("**")]
    assert titles[0] == "**Win rates, Pairwise accuracy, mode default**"
    assert all(title.startswith("**Profile of the four branches, ") for title in titles[1:])
    assert "| A | B | rate | n |" in out
    assert "Left out" not in out


def test_a_named_analysis_without_rows_says_why(call: Call, conversations: Scored) -> None:
    status, out, _ = call("analyze", "rank_shifts", "--scores", conversations.scores, *QUICK)
    assert status == 0
    assert out.startswith("Nothing to show: this needs scores of at least two models under the same two modes.\n")


def test_an_analysis_that_the_demo_does_not_allow_says_where_to_try_it(call: Call, conversations: Scored) -> None:
    status, out, _ = call("analyze", "skills", "--scores", conversations.scores)
    assert status == 0
    page = "docs/separation.md"
    assert out.startswith(f"Nothing to show: fewer than 6 models; {page} makes a table of eight models to try it on.\n")
    assert "write_csv" in (Path(__file__).parents[3] / page).read_text(encoding="utf-8")
    # What columns would mean is not said where there are none.
    assert "Corrected" not in out


def test_csv_is_of_one_analysis(call: Call, conversations: Scored) -> None:
    command = ("--scores", conversations.scores, "--format", "csv")
    status, out, _ = call("analyze", "win_rates", *command, *QUICK)
    assert status == 0
    assert [(row["model_a"], row["mode"], row["rate"]) for row in csv_rows(out)] == [
        ("synthetic/attentive", "default", "0.95"),
        ("synthetic/hasty", "default", "0.05"),
    ]
    status, _, err = call("analyze", *command)
    message = "attune-bench: --format csv is of one analysis; name one of separation,"
    assert (status, err.startswith(message)) == (2, True)


@pytest.mark.parametrize("name", ["eibench", "sage"])
def test_analyses_of_any_scores(call: Call, scored: Scorings, name: str) -> None:
    path = scored(name).scores
    status, out, err = call("analyze", "--scores", path, "--format", "json", *QUICK)
    assert (status, err) == (0, "")
    found = strict_json(out)
    left_out = found.pop("left_out")
    assert left_out.pop("state_recovery").endswith("--results")
    assert left_out == {key: "needs --results" for key, analysis in GENERAL.items() if analysis.needs}
    assert [*found, *left_out] == list(GENERAL)
    assert found["win_rates"]["rows"] == win_rates(Scores.read(path), resamples=200).to_dicts()
    text = call("analyze", "win_rates", "separation", "--scores", path, *QUICK)[1]
    assert too_wide(text) == []


def test_a_rate_has_digits_of_its_own_and_a_variance_the_square_of_the_scale(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "results.csv"
    rows = ["model,unit,metric,repeat,value"]
    # A has 1, 1, 1 in one repeat and 0, 0, 1 in the other, B always 0.5: A wins one unit of 3 and ties two.
    rows += [f"a,q{unit},hit,x,1\na,q{unit},hit,y,{unit // 2}" for unit in range(3)]
    rows += [f"b,q{unit},hit,{repeat},0.5" for unit in range(3) for repeat in "xy"]
    path.write_text("\n".join(rows))
    path.with_suffix(".toml").write_text("[metrics.hit]\nlow = 0\nhigh = 1\nscale = 100\ndigits = 1\n")
    out = call("analyze", "win_rates", "--scores", path, *QUICK)[1]
    assert " 0.667" in out
    json = call("analyze", "repeat_variances", "--scores", path, "--format", "json", *QUICK)[1]
    [rest] = [
        row["variance"]
        for row in strict_json(json)["repeat_variances"]["rows"]
        if (row["model"], row["source"]) == ("a", "interaction")
    ]
    # Residuals from the means of repeats (1, 1/3) and units (1/2, 1/2, 1): squares 1/36 * 2 + 1/9, twice; over 2.
    assert rest == pytest.approx(1 / 6, abs=1e-12)
    assert f" {100**2 / 6:.1f}" in call("analyze", "repeat_variances", "--scores", path, *QUICK)[1]


def test_an_analysis_that_does_not_suit_is_left_out_where_none_was_named(call: Call, tmp_path: Path) -> None:
    rows = {"model": ["a", "b"], "unit": ["q1", "q1"], "metric": ["length"] * 2, "value": [3, 4]}
    path = tmp_path / "scores.parquet"
    Scores.from_table(pl.DataFrame(rows), metrics={"length": {"higher_is_better": None}}).write(path)
    command = ("--scores", path, *QUICK)
    status, out, err = call("analyze", *command)
    assert (status, err) == (0, "")
    assert "- win_rates: 'length' cannot rank models: neither higher nor lower values of it are better\n" in out
    assert "- skills: needs scores of at least six models in one condition, and two metrics\n" in out
    assert out.startswith("Difficulty of units, length\n")
    assert call("analyze", "win_rates", *command)[0] == 2
    # An option that no analysis takes is a mistake all the same.
    status, _, err = call("analyze", *command, "--unit", "person")
    assert (status, err) == (2, "attune-bench: unknown unit 'person'; expected cluster, unit\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["win_rate"], "no analysis 'win_rate' of these scores; did you mean 'win_rates'?"),
        (["xyz"], f"no analysis 'xyz' of these scores; expected one of {', '.join([*ANALYSES, 'distribution'])}\n"),
        (["question_agreement"], "question_agreement needs --data and --results"),
        (["question_agreement", "--data", "demo"], "question_agreement needs --results"),
        (["win_rates", "--resamples", "0"], "resamples 0 is"),
        (["branches", "--metric", "composite_score"], "branches is of its own metrics; leave out --metric"),
        (["win_rates", "--metric", "pooled_binary_om_metrics.mcc"], "win_rates needs a value of each conversation"),
    ],
)
def test_mistakes_are_one_line(call: Call, conversations: Scored, arguments: list[str], message: str) -> None:
    status, out, err = call("analyze", *arguments, "--scores", conversations.scores)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"attune-bench: {message}")


def test_data_and_runs_of_other_scores_are_one_line(call: Call, scores_file: Path) -> None:
    for name, message in (
        ("question_agreement", "conversation 'c0' was scored and is not in the data\n"),
        ("judge_agreement", "was scored and is not among the runs; are these the runs of these scores?\n"),
    ):
        status, _, err = call("analyze", name, "--scores", scores_file, "--data", "demo", "--results", "demo")
        assert (status, err.count("\n"), err.endswith(message)) == (2, 1, True)


# stats.


def test_the_distribution_of_a_metric(make_record: Callable[..., Any], call: Call, tmp_path: Path) -> None:
    records = [
        make_record(conversationId=f"c{n}", participant_id=f"P{n}", avg_emotion_f1=value, em_model="vendor/model")
        for n, value in enumerate((0.2, 0.4, 0.9))
    ]
    Scores.of(scores_of(records, provenance_of(protocol="documented", synthetic=False))).write(tmp_path / "scores.json")
    status, out, err = call("stats", "--scores", tmp_path / "scores.json")
    assert (status, err) == (0, "")
    assert out.startswith("vendor/model, mode default\n")
    [row] = [line.split() for line in out.splitlines() if line.startswith("Emotion F1  ")]
    # Mean 0.5; squared deviations .09, .01, .16 sum to .26, over 2 is .13, of which the root is .3606.
    assert row == ["Emotion", "F1", "3", "0.500", "0.361", "0.200", "0.400", "0.900"]


@pytest.mark.parametrize("name", slow_after(2, [benchmark.name for benchmark in BENCHMARKS]))
def test_distributions_of_every_benchmark(call: Call, scored: Scorings, name: str) -> None:
    path = scored(name).scores
    scores = Scores.read(path)
    status, out, err = call("stats", "--scores", path, "--format", "json")
    assert (status, err) == (0, "")
    rows = strict_json(out)["distribution"]
    assert rows == distribution(scores).rename({"condition": scores.provenance.condition}).to_dicts()
    condition = rows[0][scores.provenance.condition]
    of_row = scores.values.filter(pl.col("condition").eq_missing(pl.lit(condition)), model=rows[0]["model"])
    values = of_row[rows[0]["metric"]].drop_nulls().to_list()
    assert rows[0]["mean"] == pytest.approx(mean(values), abs=1e-12)
    assert rows[0]["sd"] == pytest.approx(stdev(values), abs=1e-12)
    assert rows[0]["median"] == pytest.approx(median(values), abs=1e-12)
    metric = rows[0]["metric"]
    text = call("stats", "--scores", path, "--metric", metric)[1]
    assert text.count(scores.metrics[metric].label) == len(scores.groups)
    assert too_wide(text) == []


def test_a_distribution_needs_values_of_units(call: Call, scored: Scorings) -> None:
    status, _, err = call("analyze", scored("comparisons").scores, "distribution", "--metric", "rating")
    assert (status, err) == (
        2,
        "attune-bench: distribution needs a value of each prompt, 'rating' has none; use one such as win_rate\n",
    )


@pytest.mark.parametrize(
    ("name", "asked"),
    [(one.name, asked) for one in BENCHMARKS for asked, analysis in resolve(one.analyses).items() if analysis.needs],
)
def test_an_analysis_of_data_and_results_is_shown_as_a_table(
    call: Call, scored: Scorings, name: str, asked: str
) -> None:
    found = scored(name)
    given = ("--scores", found.scores, "--data", found.data, "--results", found.results, *QUICK)
    status, out, err = call("analyze", asked, *given)
    assert (status, err) == (0, "")
    analysis = resolve(benchmark_named(name).analyses)[asked]
    assert analysis.title in out or analysis.rows_need in " ".join(out.split())
    assert too_wide(out) == []
