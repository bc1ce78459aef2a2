import csv
import json
from collections.abc import Callable
from io import StringIO
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from attune_bench import Scores, score
from attune_bench.benchmarks.attunebench.baselines import BASELINES
from attune_bench.stats.signing import codebook_hash, fingerprint, sign
from attune_data import load
from attune_metrics.signature import Signature

Call = Callable[..., tuple[int, str, str]]

COMPARE = "model_a model_b mode metric difference low high p p_holm n participants detectable reason".split()
TOLD_APART = "mode metric pairs family told_apart interval_excludes_0".split()
SUBSET = "stratum n participants metric model mode value low high mark reason".split()
GAP = "difference difference_low difference_high p p_holm".split()
QUICK = ("--resamples", "200")


@pytest.fixture(scope="module")
def demo_scores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file of scores of the three baselines on the demo conversations."""
    conversations = load("demo")
    path = tmp_path_factory.mktemp("demo") / "scores.json"
    score(conversations, [run for predict in BASELINES.values() for run in predict(conversations)]).write(path)
    return path


# compare.


def test_compare_prints_pairs_told_apart_and_the_signature(call: Call, demo_scores: Path) -> None:
    status, out, err = call("compare", "--scores", demo_scores, *QUICK)
    assert (status, err) == (0, "")
    assert "composite_score, mode default: told apart 3 of 3 (Holm p < 0.05, family of 3), 3 by interval alone" in out
    signature = Signature.parse(out.rstrip("\n").rpartition("\n")[2])
    assert (signature.metric, signature.n, signature.clusters, signature.boot) == ("composite_score", 40, 24, 200)
    assert max(map(len, out.splitlines()[:-1])) <= 100
    assert "SYNTHETIC demonstration data." in out


def test_compare_json_keys(call: Call, demo_scores: Path) -> None:
    _, out, _ = call(
        "compare", "--scores", demo_scores, "--format", "json", "--seed", 7, *QUICK,
        "--metric", "avg_pairwise_accuracy", "--metric", "pooled_binary_om_metrics.mcc",
    )  # fmt: skip
    content = json.loads(out)
    assert list(content) == ["metadata", "comparisons", "told_apart"]
    assert list(content["metadata"]) == ["signature", "protocol", "synthetic", "notes"]
    assert [list(row) for row in content["comparisons"]] == [COMPARE] * 6
    assert [list(row) for row in content["told_apart"]] == [TOLD_APART] * 2
    assert Signature.parse(content["metadata"]["signature"]).seed == 7
    expected = Scores.read(demo_scores).compare_all(
        metrics=["avg_pairwise_accuracy", "pooled_binary_om_metrics.mcc"], resamples=200, seed=7
    )
    assert content["comparisons"] == expected.to_dicts()


def test_the_same_seed_prints_the_same_bytes(call: Call, demo_scores: Path) -> None:
    first, again, other = (
        call("compare", "--scores", demo_scores, "--format", "csv", "--seed", seed, *QUICK)[1] for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other
    rows = list(csv.DictReader(StringIO(first)))
    assert list(rows[0]) == [*COMPARE, "signature"]
    assert len(rows) == 3


def test_compare_two_models_in_markdown(call: Call, make_scores: Callable[..., Scores], tmp_path: Path) -> None:
    make_scores(["x|y", "\x1b[31mred", "c"], conversations=6).write(tmp_path / "scores.json")
    arguments = ("--model", "x|y", "--model", "\x1b[31mred", "--format", "markdown")
    status, out, _ = call("compare", "--scores", tmp_path / "scores.json", *arguments, *QUICK)
    assert status == 0
    # Equal runs: no difference, for certain.
    assert "| x\\|y | \ufffd[31mred | +0.00 | [+0.00, +0.00] | 1.0000 | 1.0000 | 6 (6) | - |" in out
    assert "\x1b" not in out
    assert out.rstrip("\n").endswith("|seed:0`")


def test_long_names_are_numbered(call: Call, make_scores: Callable[..., Scores], tmp_path: Path) -> None:
    names = [f"vendor/a-model-with-a-long-name-of-version-{i}" for i in range(3)]
    make_scores(names, conversations=3).write(tmp_path / "scores.json")
    _, out, _ = call("compare", "--scores", tmp_path / "scores.json", *QUICK)
    for number, name in enumerate(names, start=1):
        assert f"{number}. {name}\n" in out
    assert max(map(len, out.splitlines()[:-1])) <= 100
    # Between models that score the same the interval is certain; it needs no five participants.
    assert out.count("[+0.00, +0.00]") == 3


def test_one_model_has_nothing_to_compare(call: Call, make_scores: Callable[..., Scores], tmp_path: Path) -> None:
    make_scores(["a"]).write(tmp_path / "scores.json")
    status, out, _ = call("compare", "--scores", tmp_path / "scores.json", *QUICK)
    assert status == 0
    assert out.startswith("Nothing to compare: no mode has two models (1 model scored).\n")


def test_too_few_resamples_are_a_note(call: Call, demo_scores: Path) -> None:
    _, out, err = call("compare", "--scores", demo_scores, "--resamples", 20, "--format", "json")
    assert err == ""
    assert any("20 resamples are too few for 3 tests" in note for note in json.loads(out)["metadata"]["notes"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--metric", "composite"], "no metric 'composite'; did you mean 'composite_score'?"),
        (["--model", "a"], "--model was given 1 time; give it twice, or not at all for every two"),
        (["--model", "a", "--model", "b"], "no scores of model 'a'; there are baseline/chance,"),
        (["--resamples", "0"], "resamples 0 is not a whole number from 1"),
        (["--seed", "-1"], "seed -1 is not a whole number from 0"),
    ],
)
def test_mistakes_in_compare(call: Call, demo_scores: Path, arguments: list[str], message: str) -> None:
    status, out, err = call("compare", "--scores", demo_scores, *arguments)
    assert (status, out) == (2, "")
    assert err.startswith(f"attune-bench: {message}")
    assert err.count("\n") == 1


# subset.


def _subset(call: Call, scores: Path, *arguments: object) -> Any:
    status, out, err = call(
        "subset", "--scores", scores, "--data", "demo", "--format", "json", *QUICK, *arguments
    )  # fmt: skip
    assert (status, err) == (0, "")
    return json.loads(out)


def test_subset_json_keys_and_values(call: Call, demo_scores: Path) -> None:
    content = _subset(call, demo_scores, "--diagnosis", "none", "--category", "Family", "--category", "Health")
    assert list(content) == ["metadata", "subgroups"]
    assert [list(row) for row in content["subgroups"]] == [SUBSET] * 3
    assert content["metadata"]["filter"] == "diagnosis=none, category=Family or Health"
    part = {c.id for c in load("demo").where(diagnosis="none", category=["Family", "Health"])}
    for row in content["subgroups"]:
        values = [
            record["composite_score"]
            for record in Scores.read(demo_scores).records
            if record["em_model"] == row["model"] and record["conversationId"] in part
        ]
        assert row["n"] == len(part) == len(values)
        assert row["value"] == pytest.approx(sum(values) / len(values), abs=1e-12)  # type: ignore[arg-type]


def test_subset_compares_with_the_rest(call: Call, demo_scores: Path) -> None:
    content = _subset(call, demo_scores, "--filter", "n_turns > 5", "--compare", "--metric", "avg_emotion_f1")
    rows = content["subgroups"]
    assert [list(row) for row in rows] == [[*SUBSET, *GAP]] * 6
    inside, outside = rows[:3], rows[3:]
    for one, other in zip(inside, outside, strict=True):
        assert (one["stratum"], other["stratum"]) == ("filter n_turns > 5", "not (filter n_turns > 5)")
        assert one["n"] + other["n"] == 40
        assert one["difference"] == pytest.approx(one["value"] - other["value"], abs=1e-12)
        # One stratum is a family of one.
        assert one["p_holm"] == one["p"]
        assert other["difference"] is None
    assert Signature.parse(content["metadata"]["signature"]).filter == "filter n_turns > 5; compared"


def test_a_complement_is_not_all_of_the_conditions(call: Call, demo_scores: Path) -> None:
    rows = _subset(call, demo_scores, "--diagnosis", "ADHD", "--category", "Family", "--compare")["subgroups"]
    question = "diagnosis=ADHD, category=Family"
    assert {row["stratum"] for row in rows} == {question, f"not ({question})"}


def test_who_has_no_valid_score_is_not_in_the_complement_of_a_screen(call: Call, demo_scores: Path) -> None:
    strata = load("demo").stratify("who_5_screen")
    rows = _subset(call, demo_scores, "--screen", "who_5", "--compare")["subgroups"]
    assert rows[0]["n"] == len(strata["screen-positive"])
    assert rows[-1]["n"] == len(strata["screen-negative"]) < 40 - rows[0]["n"]


def test_strata_of_a_trait_overlap_and_the_table_says_so(call: Call, demo_scores: Path) -> None:
    arguments = ("--scores", demo_scores, "--data", "demo", "--by", "diagnosis_group", "--compare", *QUICK)
    status, out, _ = call("subset", *arguments)
    assert status == 0
    parts = load("demo").stratify("diagnosis_group")
    several = sum(sum(c in part for part in parts.values()) > 1 for c in load("demo"))
    assert several > 0
    assert f"Strata overlap: {several} conversations are in several." in out
    assert "composite_score, baseline/prior, mode default, family of 3 tests" in out
    assert "[1] fewer than 5 participants." in out
    assert max(map(len, out.splitlines()[:-1])) <= 100


def test_an_empty_subset_is_a_row(call: Call, demo_scores: Path) -> None:
    rows = _subset(call, demo_scores, "--filter", "n_turns > 500", "--compare")["subgroups"]
    assert (rows[0]["n"], rows[0]["value"], rows[0]["reason"]) == (0, None, "no conversation has a value")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "which conversations? Choose some, for instance --diagnosis ADHD, or use --by TRAIT"),
        (["--diagnosis", "ADHDD"], "no conversation has diagnosis 'ADHDD'; did you mean 'ADHD'?"),
        (["--filter", "gender > 3"], "the condition gender > 3 does not fit its columns: cannot compare string"),
        (["--filter", "n_turn > 3"], "no trait 'n_turn'; did you mean 'n_turns'?"),
        (["--by", "categry"], "no trait 'categry'; did you mean 'category'?"),
        (["--screen", "who_6"], "no screen 'who_6'; did you mean 'who_5'?"),
    ],
)
def test_mistakes_in_subset(call: Call, demo_scores: Path, arguments: list[str], message: str) -> None:
    status, out, err = call("subset", "--scores", demo_scores, "--data", "demo", *arguments)
    assert (status, out) == (2, "")
    assert err.startswith(f"attune-bench: {message}")
    assert err.count("\n") == 1


def test_data_of_another_set_is_a_mistake(call: Call, demo_scores: Path, files: tuple[Path, Path]) -> None:
    status, _, err = call("subset", "--scores", demo_scores, "--data", files[0], "--by", "category")
    assert status == 2
    assert "none of the 40 conversations scored is in the data" in err


# Signatures.


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


def test_scores_without_hashes_are_hashed(make_scores: Callable[..., Scores], tmp_path: Path) -> None:
    scores = make_scores(["a"], conversations=4)
    scores.write(tmp_path / "scores.json")
    backwards = Scores.of(scores.records[::-1], protocol="documented", synthetic=False)
    moved = make_scores(["a"], conversations=4, source_file="elsewhere.json")
    same = {sign(read) for read in (scores, Scores.read(tmp_path / "scores.json"), backwards, moved)}
    assert len(same) == 1
    assert sign(make_scores(["a"], conversations=4, composite_score=1.0)) not in same


def test_another_codebook_is_another_signature(make_scores: Callable[..., Scores]) -> None:
    scores = make_scores()
    earlier = Scores({**scores.metadata, "codebook": "0"}, scores.records, scores.aggregates)
    assert Signature.parse(sign(earlier)).codebook == f"0/{codebook_hash()}"


def test_the_models_compared_are_in_the_signature(call: Call, demo_scores: Path) -> None:
    models = [row["em_model"] for row in Scores.read(demo_scores).aggregates]
    choices = [(), *permutations(dict.fromkeys(models), 2)]
    signatures = set()
    for choice in choices:
        chosen = [word for model in choice for word in ("--model", model)]
        status, out, _ = call("compare", "--scores", demo_scores, *chosen, "--resamples", 99)
        assert status == 0
        signatures.add(Signature.parse(out.rstrip("\n").rpartition("\n")[2]))
    assert len(signatures) == len(choices) > 2


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
