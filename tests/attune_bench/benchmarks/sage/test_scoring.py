"""SAGE's board, its intervals and its paired comparisons, from Python and from the commands."""

import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from commands import QUICK, Call, csv_rows, strict_json, too_wide

from attune_bench import Scores, score
from attune_bench.benchmarks.sage.scoring import board
from attune_bench.report.columns import number
from attune_bench.scores.provenance import results_fingerprint
from attune_bench.stats.options import sorted_groups
from attune_bench.stats.summary import SUMMARY
from attune_data import load_sage
from attune_data.sage import DIALOGUE, SageDialogue, emotion_state
from attune_metrics import MetricInputError
from attune_metrics.catalog import CATALOG
from attune_metrics.signature import Signature

SAMPLES = Path(__file__).parents[5] / "shared" / "samples" / "sage"
BOARD = ["model", "score", "success", "failure", "n"]
FEW: dict[str, Any] = {"resamples": 200}


def dialogues(finals: Mapping[str | None, Sequence[int]], first: int = 0) -> list[SageDialogue]:
    """Return one dialogue a value, of the scenarios s0, s1, ..."""
    return [
        SageDialogue(scenario_id=f"s{place}", model=model, emo_point=final, history=[])
        for model, values in finals.items()
        for place, final in enumerate(values, start=first)
    ]


def write(folder: Path, finals: Mapping[str, Sequence[int]]) -> list[Path]:
    """Write the files as they are published, each named after its model."""
    folder.mkdir(exist_ok=True)
    paths = []
    for model, values in finals.items():
        lines = [
            {"id": f"s{place}", "emo_point": value, "emo_state": emotion_state(value), "history": []}
            for place, value in enumerate(values)
        ]
        paths.append(folder / f"{model}_result.jsonl")
        paths[-1].write_text("".join(json.dumps(line) + "\n" for line in lines))
    return paths


def pairs_of(scores: Scores, **options: Any) -> list[dict[str, Any]]:
    return scores.compare_all(metrics=["emo_point"], **{**FEW, **options}).to_dicts()


# From Python.


def test_the_board_is_rounded_half_up_with_wilson_intervals() -> None:
    # 20 values that sum to 579, a mean of 28.95: shown as 29.0. 10 is no failure, 9 is one; 99 is no success.
    finals = [100, 100, 99, 10, 9, 9, 0, *[18] * 9, 22, 22, 23, 23]
    assert (len(finals), sum(finals)) == (20, 579)
    scores = score(dialogues({"m": finals}))
    found = board(scores)
    assert found.columns == BOARD
    assert found.rows() == [("m", 29.0, 2, 3, 20)]
    mean, success, failure = scores.summary(**FEW).to_dicts()
    assert [row["metric"] for row in (mean, success, failure)] == ["emo_point", "success", "failure"]
    assert [row["value"] for row in (mean, success, failure)] == [28.95, 2 / 20, 3 / 20]
    # z = 1.959963985: centre 0.1 + z^2 / 40 = 0.1960365, margin z sqrt(0.09 / 20 + z^2 / 1600) = 0.1628175, both
    # divided by 1 + z^2 / 20 = 1.1920729.
    assert (success["low"], success["high"]) == pytest.approx((0.0278665, 0.3010336), abs=1e-6)


def test_the_interval_of_the_score_is_that_of_resampled_scenarios() -> None:
    # As for EIBench: 16 scenarios, half at 100, half at 0; a resample's mean is 100 B / 16, its quantile B = 4.
    [row] = score(dialogues({"m": [100, 0] * 8})).summary(metrics=["emo_point"]).to_dicts()
    assert [row[name] for name in ("value", "low", "high", "reason")] == [50, 25, 75, None]


def test_the_best_stands_first_and_every_two_are_compared() -> None:
    scores = score(dialogues({"b": [50] * 6, "a": [50] * 6, "z": [60, 61, 62, 63, 64, 65]}))
    assert board(scores)["model"].to_list() == ["z", "a", "b"]
    assert sorted_groups(scores) == [("z", None), ("a", None), ("b", None)]
    above, _, equal = pairs = pairs_of(scores)
    assert [(pair["model_a"], pair["model_b"]) for pair in pairs] == [("z", "a"), ("z", "b"), ("a", "b")]
    # Of the 64 exchanges of six differences of one sign, two are as large; Holm multiplies the smallest of three by 3.
    assert [above[name] for name in ("difference", "p", "p_holm", "significant", "n")] == [
        12.5,
        1 / 32,
        3 / 32,
        False,
        6,
    ]
    assert [equal[name] for name in ("difference", "low", "high", "p", "mde")] == [0, 0, 0, 1, None]
    [turned] = scores.compare("a", "z", metrics=["emo_point"], **FEW).to_dicts()
    assert [turned[name] for name in ("difference", "p", "p_holm", "significant")] == [-12.5, 1 / 32, 1 / 32, True]


def test_models_are_paired_on_the_scenarios_of_both() -> None:
    # a: s0 to s5; b: s2 to s7. In common: a 30..60 and b 25..55.
    found = dialogues({"a": [0, 0, 30, 40, 50, 60]}) + dialogues({"b": [25, 35, 45, 55, 0, 0]}, first=2)
    [pair] = pairs_of(score(found))
    assert (pair["model_a"], pair["n"], pair["difference"]) == ("a", 4, 5)
    assert (pair["low"], pair["reason"]) == (None, "fewer than 5 scenarios")


def test_models_without_a_common_scenario_have_no_difference() -> None:
    found = dialogues({"a": [50, 60]}) + dialogues({"b": [40, 70]}, first=2)
    [pair] = pairs_of(score(found))
    nothing = ("difference", "low", "high", "p", "p_min", "p_holm", "significant", "mde")
    assert [pair[name] for name in nothing] == [None] * len(nothing)
    assert (pair["n"], pair["reason"]) == (0, "no scenario has a value")


def test_models_that_are_equal_differ_by_nothing_however_few_they_are() -> None:
    [pair] = pairs_of(score(dialogues({"a": [50, 60], "b": [50, 60]})))
    assert [pair[name] for name in ("difference", "low", "high", "p_min")] == [0, 0, 0, 1]
    assert pair["reason"] == "the two are equal in every scenario"


def test_numbers_are_shown_with_one_decimal_and_a_rounded_zero_has_no_minus() -> None:
    final = CATALOG["emo_point"]
    assert [number(value, final, signed=True) for value in (-0.04, 0.04, -0.05, None)] == ["+0.0", "+0.0", "-0.1", "-"]
    # A tie goes away from zero, as on the board.
    assert [number(value, final) for value in (-0.04, 12.25, 28.95, 12.249)] == ["0.0", "12.3", "29.0", "12.2"]


def test_exchanges_are_enough_for_the_pairs_whatever_the_resamples() -> None:
    # 15 scenarios have more exchanges than are tried one by one; 3 pairs need 120.
    found = score(dialogues({"a": [*range(15)], "b": [*range(1, 30, 2)], "c": [*range(2, 45, 3)]}))
    assert {pair["p_min"] for pair in pairs_of(found, resamples=50)} == {1 / 121}
    few = score(dialogues({"a": [*range(6)], "b": [9] * 6, "c": [8, 7] * 3}))
    pairs_of(few, resamples=50)  # all exchanges are tried: a p is as small as it can be


def test_two_dialogues_of_one_scenario_are_refused() -> None:
    with pytest.raises(MetricInputError, match="two dialogues of scenario 's0' and model 'none named'"):
        score(dialogues({None: [1]}) * 2)


def test_the_order_of_the_dialogues_changes_no_number() -> None:
    found = dialogues({"a": [5, 60, 100, 30, 40, 90], "b": [0, 99, 10, 9, 100, 50]})
    forth, back = score(found), score(found[::-1])
    assert forth.sign() == back.sign()
    assert forth.summary(**FEW).equals(back.summary(**FEW))
    assert pairs_of(forth) == pairs_of(back)


# The commands.


@pytest.mark.slow
@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the published results are not beside the repository")
def test_the_published_results_give_the_board(call: Call, tmp_path: Path) -> None:
    names = ("openai-o4mini", "claude3.7-think", "gpt-4.1")
    output = tmp_path / "scores.parquet"
    results = [SAMPLES / f"{name}_result.jsonl" for name in names]
    assert call("score", "--results", *results, "--output", output)[0] == 0
    assert board(Scores.read(output)).rows() == [
        ("gpt-4.1", 68.2, 35, 13, 100),
        ("claude3.7-think", 61.3, 23, 19, 100),
        ("openai-o4mini", 35.9, 10, 48, 100),
    ]
    status, out, err = call("report", "--scores", output)
    assert (status, err) == (0, "")
    # A count of 100 is a percentage.
    shown = [[line.split()[place] for place in (0, 1, 4, 7, -1)] for line in out.splitlines() if line.endswith("  100")]
    assert shown == [
        ["gpt-4.1", "68.2", "35.0", "13.0", "100"],
        ["claude3.7-think", "61.3", "23.0", "19.0", "100"],
        ["openai-o4mini", "35.9", "10.0", "48.0", "100"],
    ]
    compared = call("compare", "--scores", output, "--format", "json", "--model", "gpt-4.1", "claude3.7-think")[1]
    [pair] = strict_json(compared)["comparisons"]
    assert [pair[name] for name in ("model_a", "model_b", "significant")] == ["gpt-4.1", "claude3.7-think", False]
    assert pair["difference"] == pytest.approx(6.9, abs=1e-12)
    assert (pair["high"] - pair["low"]) / 2 == pytest.approx(9.65, abs=0.1)


AB = {"a": [100, 90, 80, 70, 60, 5], "b": [90, 80, 70, 60, 50, 0]}


def scored(call: Call, output: Path, *results: Path) -> Path:
    status, _, err = call("score", "--results", *results, "--output", output)
    assert (status, err) == (0, "")
    return output


def test_json_has_the_board_its_intervals_and_the_signature(call: Call, tmp_path: Path) -> None:
    paths = write(tmp_path / "results", AB)
    made = scored(call, tmp_path / "scores.parquet", *paths)
    command = ("--format", "json", "--seed", 4, *QUICK)
    status, out, err = call("report", "--scores", made, *command)
    assert (status, err) == (0, "")
    content = strict_json(out)
    assert list(content) == ["metadata", "models", "summary"]
    assert [row["model"] for row in content["models"]] == ["a", "b"]
    expected = Scores.read(made).summary(seed=4, **FEW)
    assert content["summary"] == expected.to_dicts()
    compared = strict_json(call("compare", "--scores", made, *command)[1])
    assert [pair["difference"] for pair in compared["comparisons"]] == [pytest.approx(55 / 6, abs=1e-12)]
    for metadata in (content["metadata"], compared["metadata"]):
        signature = Signature.parse(metadata["signature"])
        assert (signature.benchmark, signature.n, signature.clusters) == ("sage", 6, 6)
        assert (signature.boot, signature.seed) == (200, 4)
        assert signature.runs == results_fingerprint(load_sage(tmp_path / "results"), DIALOGUE)
    # Of other results the numbers may be the same, the signature is not.
    changed = write(tmp_path / "other", AB | {"a": [100, 90, 80, 70, 60, 4]})
    other = scored(call, tmp_path / "other.parquet", *changed)
    signature = Signature.parse(strict_json(call("report", "--scores", other, *command)[1])["metadata"]["signature"])
    assert signature.runs != results_fingerprint(load_sage(tmp_path / "results"), DIALOGUE)
    # The order of the files never shows, nor that they are named one by one.
    for again in ([*reversed(paths)], [tmp_path / "results"]):
        assert call("report", "--scores", scored(call, tmp_path / "again.parquet", *again), *command)[1] == out


@pytest.mark.posix  # the name of a file with |
def test_text_has_the_board_and_one_signature(call: Call, tmp_path: Path) -> None:
    made = scored(call, tmp_path / "scores.parquet", *write(tmp_path / "results", {"a|x": AB["a"], "b": AB["b"]}))
    status, out, _ = call("report", "--scores", made, *QUICK)
    assert status == 0
    assert "a|x    67.5 [" in out
    # Wilson's formula for 1 of 6: 3.0% to 56.4%.
    assert "16.7 [3.0, 56.4]" in out
    said = "by resampling scenarios (expanded percentile: wider for few scenarios). Shares have Wilson"
    assert said in " ".join(out.split())
    assert (out.count("attune:"), out.count("\nsignature: ")) == (0, 1)
    assert too_wide(out) == []
    markdown = call("report", "--scores", made, "--format", "markdown", *QUICK)[1]
    assert "| a\\|x | 67.5 [" in markdown
    assert markdown.count("`attune:") == 1
    rows = csv_rows(call("report", "--scores", made, "--format", "csv", *QUICK)[1])
    assert list(rows[0]) == ["model", "condition", *list(SUMMARY)[2:], "signature"]
    assert [row["metric"] for row in rows] == ["emo_point", "success", "failure"] * 2
    pairs = call("compare", "--scores", made, *QUICK)[1]
    assert "1 of 1 pairs differ (Holm p < 0.05, family of 1)" in pairs
    assert too_wide(pairs) == []


def test_one_model_is_a_board_without_comparisons(call: Call, tmp_path: Path) -> None:
    made = scored(call, tmp_path / "scores.parquet", *write(tmp_path / "results", {"a": [100, 90]}))
    out = call("report", "--scores", made, *QUICK)[1]
    assert "[1] fewer than 5 scenarios." in out
    assert "Holm" not in out
    assert call("compare", "--scores", made, *QUICK)[1].startswith(
        "Nothing to compare: 1 model scored; attune-bench report shows"
    )


def test_a_model_in_two_files_counts_once(call: Call, tmp_path: Path) -> None:
    [new] = write(tmp_path / "new", {"a": [100, 90]})
    [old] = write(tmp_path / "old", {"a": [100, 80]})
    status, out, _ = call("score", "--results", new, old, "--output", tmp_path / "scores.parquet")
    assert status == 0
    assert "1 error and 0 warnings in the files; see: attune-bench validate " in out
    # Of s1, whose two contents differ, the first file's counts: (100 + 90) / 2.
    assert board(Scores.read(tmp_path / "scores.parquet")).rows() == [("a", 95.0, 1, 0, 2)]
    # The command that it names tells which record was left out.
    named = shlex.split(out.splitlines()[1].partition("see: attune-bench ")[2])
    status, out, _ = call(*named)
    assert status == 1
    assert "a_result.jsonl:2 of the source given before has the same scenario and model," in out
    assert '    a_result.jsonl:2  $  "s1/a"\n\n' in out
    assert out.endswith("2 dialogues loaded; 1 error, 0 warnings, 0 notes\n")


def test_mistakes_are_one_line(call: Call, tmp_path: Path) -> None:
    (tmp_path / "a_result.jsonl").write_text('{"id": "s0", "emo_point": 140, "history": []}\n')
    [good] = write(tmp_path, {"b": [1, 2]})
    output = tmp_path / "scores.parquet"
    results = ("score", "--output", output, "--results")
    for arguments, said in (
        (("score",), "Missing option '--results'"),
        ((*results, tmp_path / "a_result.jsonl"), "no usable dialogue in"),
        ((*results, tmp_path / "c_result.jsonl"), "no such file or folder"),
        ((*results, good, "--data", "demo"), "SAGE takes no data; leave out --data"),
        ((*results, good, "--protocol", "documented"), "--protocol is an option of AttuneBench, and this is SAGE"),
        ((*results[:1], "--output", tmp_path / "scores.json", "--results", good), "has to end in .parquet"),
    ):
        status, out, err = call(*arguments)
        assert (status, out, err.count("\n")) == (2, "", 1)
        assert said in err
        assert not output.exists()
    scored(call, output, good)
    status, out, err = call("report", "--scores", output, "--resamples", 0)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "resamples" in err


def test_scores_are_synthetic_where_any_dialogue_is() -> None:
    real = dialogues({"m": [50, 60]})
    [alike] = dialogues({"m": [70]}, first=2)
    invented = alike.model_validate({**alike.model_dump(by_alias=True), "synthetic": True})
    assert not score(real).provenance.synthetic
    assert score([*real, invented]).provenance.synthetic
