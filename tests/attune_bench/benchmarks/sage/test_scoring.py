"""SAGE's board and its paired comparisons, as frames and as the command prints them."""

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from io import StringIO
from pathlib import Path

import pytest
from attune_bench._scenario_commands import point

from attune_bench.benchmarks.sage.scoring import sage_board, sage_comparisons
from attune_data import SageDialogue
from attune_data.sage.dialogue import emotion_state
from attune_metrics import MetricInputError
from attune_metrics.signature import Signature

Call = Callable[..., tuple[int, str, str]]

SAMPLES = Path(__file__).parents[3] / "shared" / "samples" / "sage"
BOARD = (
    "model score success failure n low high mean success_share success_low success_high failure_share failure_low "
    "failure_high reason"
).split()
PAIRS = "model_a model_b difference low high p p_holm told_apart n detectable reason".split()
QUICK = ("--resamples", "200")


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


def test_the_board_is_rounded_half_up_with_wilson_intervals() -> None:
    # 20 values that sum to 579, a mean of 28.95: shown as 29.0. 10 is no failure, 9 is one; 99 is no success.
    finals = [100, 100, 99, 10, 9, 9, 0, *[18] * 9, 22, 22, 23, 23]
    assert (len(finals), sum(finals)) == (20, 579)
    [row] = sage_board(dialogues({"m": finals}), resamples=200).to_dicts()
    assert list(row) == BOARD
    assert [row[name] for name in ("score", "mean", "success", "failure", "n")] == [29.0, 28.95, 2, 3, 20]
    # z = 1.959963985: centre 0.1 + z^2 / 40 = 0.1960365, margin z sqrt(0.09 / 20 + z^2 / 1600) = 0.1628175, both
    # divided by 1 + z^2 / 20 = 1.1920729.
    assert (row["success_low"], row["success_high"]) == pytest.approx((0.0278665, 0.3010336), abs=1e-6)


def test_the_interval_of_the_score_is_that_of_resampled_scenarios() -> None:
    # As for EIBench: 16 scenarios, half at 100, half at 0; a resample's mean is 100 B / 16, its quantile B = 4.
    [row] = sage_board(dialogues({"m": [100, 0] * 8})).to_dicts()
    assert [row[name] for name in ("score", "low", "high", "reason")] == [50, 25, 75, None]


def test_the_best_stands_first_and_is_compared_with_those_below() -> None:
    found = dialogues({"b": [50] * 6, "a": [50] * 6, "z": [60, 61, 62, 63, 64, 65]})
    assert sage_board(found, resamples=200)["model"].to_list() == ["z", "a", "b"]
    pairs = sage_comparisons(found, resamples=200)
    assert pairs.columns == PAIRS
    assert pairs.select("model_a", "model_b").rows() == [("z", "a"), ("z", "b"), ("a", "b")]
    first, _, equal = pairs.to_dicts()
    # Of the 64 exchanges of six differences of one sign, two are as large; Holm multiplies the smallest of three by 3.
    assert [first[name] for name in ("difference", "p", "p_holm", "told_apart", "n")] == [
        12.5,
        1 / 32,
        3 / 32,
        False,
        6,
    ]
    assert [equal[name] for name in ("difference", "low", "high", "p", "detectable")] == [0, 0, 0, 1, None]


def test_models_are_paired_on_the_scenarios_of_both() -> None:
    # a: s0 to s5; b: s2 to s7. In common: a 30..60 and b 25..55.
    found = dialogues({"a": [0, 0, 30, 40, 50, 60]}) + dialogues({"b": [25, 35, 45, 55, 0, 0]}, first=2)
    [pair] = sage_comparisons(found, resamples=200).to_dicts()
    assert (pair["model_a"], pair["n"], pair["difference"]) == ("a", 4, 5)
    assert (pair["low"], pair["reason"]) == (None, "fewer than 5 scenarios")


def test_models_without_a_common_scenario_have_no_difference() -> None:
    found = dialogues({"a": [50, 60]}) + dialogues({"b": [40, 70]}, first=2)
    [pair] = sage_comparisons(found, resamples=200).to_dicts()
    nothing = ("difference", "low", "high", "p", "p_holm", "told_apart", "detectable")
    assert [pair[name] for name in nothing] == [None] * len(nothing)
    assert (pair["n"], pair["reason"]) == (0, "no unit has a value")


def test_models_that_are_equal_differ_by_nothing_however_few_they_are() -> None:
    [pair] = sage_comparisons(dialogues({"a": [50, 60], "b": [50, 60]}), resamples=200).to_dicts()
    assert [pair[name] for name in ("difference", "low", "high", "reason")] == [0, 0, 0, None]


def test_a_rounded_zero_has_no_sign() -> None:
    assert [point(value, signed=True) for value in (-0.04, 0.04, -0.05, None)] == ["+0.0", "+0.0", "-0.1", "-"]
    assert [point(value) for value in (-0.04, 12.25)] == ["0.0", "12.2"]


def test_too_few_resamples_for_the_pairs_are_told() -> None:
    # 15 scenarios have more exchanges than are tried one by one; 3 pairs need p of 1/60 at most.
    found = dialogues({"a": [*range(15)], "b": [*range(1, 30, 2)], "c": [*range(2, 45, 3)]})
    with pytest.warns(UserWarning, match="50 resamples are too few for 3 tests"):
        sage_comparisons(found, resamples=50)
    few = dialogues({name: finals[:6] for name, finals in (("a", [*range(6)]), ("b", [9] * 6), ("c", [8, 7] * 3))})
    sage_comparisons(few, resamples=50)  # all exchanges are tried: a p is as small as it can be


def test_two_dialogues_of_one_scenario_are_refused() -> None:
    with pytest.raises(MetricInputError, match="two dialogues of scenario 's0' and model 'none named'"):
        sage_board(dialogues({None: [1]}) * 2)


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the published results are not beside the repository")
def test_the_published_results_give_the_board(call: Call) -> None:
    names = ("openai-o4mini", "claude3.7-think", "gpt-4.1")
    status, out, err = call("sage", "score", *(SAMPLES / f"{name}_result.jsonl" for name in names), "--format", "json")
    assert (status, err) == (0, "")
    content = json.loads(out)
    assert [[row[name] for name in BOARD[:5]] for row in content["board"]] == [
        ["gpt-4.1", 68.2, 35, 13, 100],
        ["claude3.7-think", 61.3, 23, 19, 100],
        ["openai-o4mini", 35.9, 10, 48, 100],
    ]
    first = content["comparisons"][0]
    assert [first[name] for name in ("model_a", "model_b", "told_apart")] == ["gpt-4.1", "claude3.7-think", False]
    assert first["difference"] == pytest.approx(6.9, abs=1e-12)
    assert (first["high"] - first["low"]) / 2 == pytest.approx(9.65, abs=0.1)


# The command.


def test_json_has_board_and_comparisons(call: Call, tmp_path: Path) -> None:
    paths = write(tmp_path, {"a": [100, 90, 80, 70, 60, 5], "b": [90, 80, 70, 60, 50, 0]})
    status, out, err = call("sage", "score", *paths, "--format", "json", "--seed", 4, *QUICK)
    assert (status, err) == (0, "")
    content = json.loads(out)
    assert list(content) == ["metadata", "board", "comparisons"]
    assert [list(row) for row in content["board"]] == [BOARD] * 2
    assert [list(row) for row in content["comparisons"]] == [PAIRS]
    signature = Signature.parse(content["metadata"]["signature"])
    assert (signature.n, signature.clusters, signature.boot, signature.seed) == (12, 6, 200, 4)
    other = write(
        tmp_path.with_name(f"{tmp_path.name}-other"), {"a": [100, 90, 80, 70, 60, 4], "b": [90, 80, 70, 60, 50, 0]}
    )
    changed = json.loads(call("sage", "score", *other, "--format", "json", "--seed", 4, *QUICK)[1])
    assert Signature.parse(changed["metadata"]["signature"]).runs != signature.runs
    # The order of the files never shows.
    assert call("sage", "score", *reversed(paths), "--format", "json", "--seed", 4, *QUICK)[1] == out
    assert call("sage", "score", tmp_path, "--format", "json", "--seed", 4, *QUICK)[1] == out


def test_text_has_both_tables_and_one_signature(call: Call, tmp_path: Path) -> None:
    paths = write(tmp_path, {"a|x": [100, 90, 80, 70, 60, 5], "b": [90, 80, 70, 60, 50, 0]})
    status, out, _ = call("sage", "score", *paths, *QUICK)
    assert status == 0
    # Wilson's formula for 1 of 6: 3.0% to 56.4%.
    assert "a|x     67.5" in out
    assert "1 [3.0%, 56.4%]" in out
    assert "told apart 1 of 1 (Holm p < 0.05, family of 1)" in out
    assert out.count("attune:") == 1
    assert max(map(len, out.splitlines()[:-1])) <= 100
    markdown = call("sage", "score", *paths, "--format", "markdown", *QUICK)[1]
    assert "| a\\|x | 67.5 |" in markdown
    assert markdown.count("`attune:") == 1
    [row, _] = csv.DictReader(StringIO(call("sage", "score", *paths, "--format", "csv", *QUICK)[1]))
    assert list(row) == [*BOARD, "signature"]


def test_one_model_is_a_board_without_comparisons(call: Call, tmp_path: Path) -> None:
    [path] = write(tmp_path, {"a": [100, 90]})
    out = call("sage", "score", path, *QUICK)[1]
    assert "[1] fewer than 5 scenarios." in out
    assert "Comparisons" not in out
    assert "Holm" not in out


def test_a_model_in_two_files_is_noticed(call: Call, tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    [new], [old] = write(tmp_path, {"a": [100, 90]}), write(tmp_path / "old", {"a": [100, 80]})
    text = " ".join(call("sage", "score", new, old, *QUICK)[1].split())
    # Of s1, whose two contents differ, the first file's counts: (100 + 90) / 2.
    assert "a 95.0" in text
    assert "1 error in the files; the first: " in text
    assert "has the same id and counts, and its content differs; record left out." in text


def test_mistakes_are_one_line(call: Call, tmp_path: Path) -> None:
    (tmp_path / "a_result.jsonl").write_text('{"id": "s0", "emo_point": 140, "history": []}\n')
    [good] = write(tmp_path, {"b": [1, 2]})
    for arguments, said in (
        ((), "which results? Name a file, such as gpt-4.1_result.jsonl"),
        ((tmp_path / "a_result.jsonl",), "no usable dialogue in"),
        ((tmp_path / "c_result.jsonl",), "no such file or folder"),
        ((good, "--resamples", 0), "resamples"),
    ):
        status, out, err = call("sage", "score", *arguments)
        assert (status, out, err.count("\n")) == (2, "", 1)
        assert said in err
