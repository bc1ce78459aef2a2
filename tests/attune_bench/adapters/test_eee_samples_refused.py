"""Where samples of Every Eval Ever are refused, and what the command writes of them."""

import json
from collections.abc import Mapping
from pathlib import Path

import polars as pl
import pytest
from commands import Call
from sample_cases import BENCHMARKS, LAB, Case, Json, case_of, own_case
from slow_cases import slow_except

from attune_bench import Scores, score
from attune_bench.adapters.eee import eee_records
from attune_data import Conversations
from attune_data.issues import PublishError
from attune_metrics import MetricInputError


def test_what_nobody_knows_the_licence_of_is_refused() -> None:
    with pytest.raises(PublishError, match=r'^record "q0": it states no licence, and none is known of such records'):
        own_case().samples()
    generated = own_case(synthetic=True)
    assert len([*generated.samples().lines(*generated.records().values())]) == 3
    # Results that hold all there is are data.
    with pytest.raises(PublishError, match=r'^record "q0/m": it states no licence'):
        own_case("WITHOUT_DATA").samples()


def test_benchmarks_that_have_no_samples() -> None:
    with pytest.raises(MetricInputError, match="Kinder does not say which result a score is of"):
        own_case("WITHOUT_ROW").samples()
    with pytest.raises(MetricInputError, match=r"no answer has the row \('m', None, 'q0'\) of the scores"):
        own_case("OTHER_ROW").samples()
    table = Scores.from_table(pl.DataFrame({"model": ["m"], "unit": ["u"], "metric": ["hit"], "value": [1.0]}))
    with pytest.raises(MetricInputError, match="only scores of a benchmark have records to make samples of"):
        case_of("sage")._replace(scores=table).samples()


@pytest.mark.slow
def test_other_records_than_those_scored_are_refused() -> None:
    case = case_of("attunebench")
    changed = case.data[0].model_copy(update={"metadata": case.data[0].metadata.model_copy(update={"category": "X"})})
    for data in (case.data[1:], Conversations([changed, *case.data[1:]])):
        with pytest.raises(MetricInputError, match="these are not the conversations that were scored"):
            case._replace(data=data).samples()
    with pytest.raises(MetricInputError, match="these are not the runs that were scored"):
        case._replace(results=case.results[:-1]).samples()
    with pytest.raises(MetricInputError, match="the results have a Episode; AttuneBench takes runs"):
        case._replace(results=case_of("eibench").results).samples()
    with pytest.raises(MetricInputError, match="the data have a Scenario; AttuneBench takes conversations"):
        case._replace(data=case_of("eibench").data).samples()
    with pytest.raises(MetricInputError, match="scores results against data, and its samples need both"):
        case._replace(data=None).samples()
    with pytest.raises(MetricInputError, match="SAGE is scored from its results alone"):
        case_of("sage")._replace(data=case.data).samples()
    part = case.scores.keep(units=case.scores.units["unit"].to_list()[:20])
    with pytest.raises(MetricInputError, match="the scores have no hash of their runs"):
        case._replace(scores=part).samples()


@pytest.mark.slow
def test_two_records_of_one_thing_are_refused() -> None:
    case = case_of("attunebench")
    assert case.data is not None
    twice = type(case.results)([*case.results, case.results[0]])
    with pytest.raises(MetricInputError, match="two runs are of the same thing; give the one that was scored"):
        case._replace(results=twice, scores=score(case.data, twice)).samples()
    twice = type(case.data)([*case.data, case.data[0]])
    with pytest.raises(MetricInputError, match="two conversations are of the same thing"):
        case._replace(data=twice).samples()


def changed(case: Case, *, data: Json | None = None, results: Json | None = None) -> Case:
    """Return a case whose first record of one side has other fields, scored again."""
    kinds = [type(side) for side in (case.data, case.results)]
    sides = []
    for side, kind, update in zip((case.data, case.results), kinds, (data, results), strict=True):
        first = update and side[0].model_copy(update=update)
        sides.append(side if first is None else kind([first, *side[1:]]))
    given = [side for side in sides if side is not None]
    return case._replace(scores=score(*given), data=sides[0], results=sides[1])


NOT_SAID = {"licence": None, "synthetic": None}
REFUSED: Mapping[str, tuple[str, Json, str, str]] = {
    "data that may not be changed": (
        "attunebench",
        {"data": {"licence": "cc-by-nd-4.0"}},
        "cc-by-nd-4.0",
        "cc-by-nd-4.0 allows nothing but the unchanged work",
    ),
    "results that may not be changed": (
        "attunebench",
        {"results": {"licence": "CC BY-NC-ND 4.0"}},
        "cc-by-nc-4.0",
        "cc-by-nc-nd-4.0 allows nothing but the unchanged work",
    ),
    "an unknown licence": (
        "attunebench",
        {"data": {"licence": "ask me"}},
        "cc-by-4.0",
        'it states the licence "ask me", which is not in the codebook',
    ),
    "data for no commerce": (
        "eibench",
        {"data": NOT_SAID},
        "cc-by-4.0",
        "it is taken to be of EIBench, which is under cc-by-nc-4.0, which does not allow publishing under 'cc-by-4.0'",
    ),
    "results for no commerce": (
        "eibench",
        {"results": NOT_SAID},
        "cc-by-4.0",
        "it is taken to be of EIBench, which is under cc-by-nc-4.0",
    ),
    "results that are all there is": (
        "sage",
        {"results": NOT_SAID},
        "cc0-1.0",
        "it is taken to be of SAGE, which is under mit",
    ),
    "data that say they were not generated": (
        "eibench",
        {"data": {"licence": None, "synthetic": "no"}},
        "cc-by-4.0",
        "it is taken to be of EIBench, which is under cc-by-nc-4.0",
    ),
    "a licence that there is not": ("sage", {}, "free", 'unknown licence "free"'),
}


def export(call: Call, case: Case, folder: Path, *words: str) -> tuple[int, str, str]:
    """Write what a case has to files, and call the command on them."""
    case.scores.write(folder / "scores.parquet")
    case.results.to_jsonl(folder / "results.jsonl")
    options = ["--format", "eee", "--organization", "Lab", "--resamples", "50", "--metric", *case.metrics]
    if case.data is not None and "--samples" in words:
        case.data.to_jsonl(folder / "data.jsonl")
        options += ["--data", str(folder / "data.jsonl")]
    return call("export", "--scores", folder / "scores.parquet", *options, "-o", folder / "out", *words)


@pytest.mark.parametrize("why", slow_except(REFUSED, *list(REFUSED)[-2:]))
def test_where_a_licence_forbids_it_nothing_is_written(why: str, call: Call, tmp_path: Path) -> None:
    name, update, licence, message = REFUSED[why]
    case = changed(case_of(name), **update) if update else case_of(name)
    words = ["--samples", str(tmp_path / "results.jsonl"), "--licence", licence]
    status, out, err = export(call, case, tmp_path, *words)
    assert (status, out, message in err) == (2, "", True), err
    assert err.count("\n") == 1
    made = {path.name for path in tmp_path.iterdir()}
    assert made == {"scores.parquet", "results.jsonl"} | ({"data.jsonl"} if case.data is not None else set())


@pytest.mark.slow
def test_a_record_says_under_which_licence_its_samples_are(tmp_path: Path) -> None:
    case = changed(case_of("eibench"), data=NOT_SAID)
    for record in case.samples("CC BY-NC 4.0").write(case.records(), tmp_path).values():
        about = record["source_metadata"]["additional_details"]
        assert about["samples_licence"] == "cc-by-nc-4.0"
        credit = "EIBench, Creative Commons Attribution-NonCommercial 4.0: EIBench, Zhu et al. 2026, arXiv:2606.15532"
        assert about["samples_attribution"].startswith(credit)
    free = case_of("sage")
    for record in free.samples("mit").write(free.records(), tmp_path).values():
        assert "samples_attribution" not in record["source_metadata"]["additional_details"]


# The command.


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name == "attunebench" else ()) for name in BENCHMARKS]
)
def test_the_command_writes_the_same_every_time(
    name: str, call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    case = case_of(name)
    words = ["--samples", str(tmp_path / "results.jsonl"), "--licence", "cc-by-4.0"]
    found = []
    for turn in ("one", "two"):
        status, out, err = export(call, case, tmp_path, *words)
        files = 2 * len(case.scores.models)
        assert (status, out) == (0, f"{tmp_path / 'out'}: {files} files\n")
        assert all(line.startswith("attune-bench: Warning: ") for line in err.splitlines())
        target = (tmp_path / "out").rename(tmp_path / turn)
        written = [path for path in target.rglob("*") if path.is_file()]
        found.append({str(path.relative_to(target)): path.read_bytes() for path in written})
    assert found[0] == found[1]
    records = eee_records(case.scores, LAB, metrics=case.metrics, resamples=50)
    expected = case.samples().write(records, tmp_path / "expected")
    assert {path: json.loads(content) for path, content in found[0].items() if path.endswith(".json")} == expected
    for record in expected.values():
        path = record["detailed_evaluation_results"]["file_path"]
        assert found[0][path] == (tmp_path / "expected" / path).read_bytes()


@pytest.mark.slow
def test_texts_leave_only_where_they_are_asked_for(call: Call, tmp_path: Path) -> None:
    for name in BENCHMARKS:
        case = case_of(name)
        folder = tmp_path / name
        folder.mkdir()
        dialogues = case.data if name == "attunebench" else case.results
        said = dialogues.kind.messages or (lambda record: [("assistant", record.to_json().decode())])
        texts = {text for record in dialogues for _, text in said(record) if len(text) > 20}
        assert len(texts) > 20
        assert export(call, case, folder)[0] == 0
        without = b"".join(path.read_bytes() for path in (folder / "out").rglob("*") if path.is_file())
        (folder / "out").rename(folder / "without")
        assert export(call, case, folder, "--samples", str(folder / "results.jsonl"), "--licence", "cc-by-4.0")[0] == 0
        written = b"".join(path.read_bytes() for path in (folder / "out").rglob("*") if path.is_file())
        for text in texts:
            assert json.dumps(text).encode() not in without
            assert json.dumps(text).encode() in written


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--format", "csv", "--samples", "demo"], "--samples is for --format eee; leave it out"),
        (["--format", "hub", "--licence", "mit"], "--licence is for --format eee; leave it out"),
        (["--licence", "mit"], "--licence is for --samples; leave it out"),
        (["--samples", "demo", "--data", "demo"], "--samples needs --licence"),
        (
            ["--samples", "demo", "--licence", "mit"],
            "which conversations were scored? --samples needs them too: --data",
        ),
        (["--samples", "runs.jsonl", "--data", "demo", "--licence", "mit"], "these are not the runs that were scored"),
    ],
)
def test_mistakes(words: list[str], message: str, call: Call, tmp_path: Path) -> None:
    case = case_of("attunebench")
    case.scores.write(tmp_path / "scores.parquet")
    case.results[:3].to_jsonl(tmp_path / "runs.jsonl")
    given = [str(tmp_path / word) if word == "runs.jsonl" else word for word in words]
    options = [] if "--format" in words else ["--format", "eee", "--organization", "Lab"]
    start = ["export", "--scores", tmp_path / "scores.parquet", "-o", tmp_path / "out"]
    status, out, err = call(*start, *options, *given)
    assert (status, out, message in err) == (2, "", True), err
    assert not (tmp_path / "out").exists()


def test_scores_that_have_no_such_records(call: Call, tmp_path: Path) -> None:
    rows = [("m", f"q{unit}", "hit", 1.0) for unit in range(9)]
    table = pl.DataFrame(rows, schema=["model", "unit", "metric", "value"], orient="row")
    table.write_parquet(tmp_path / "table.parquet")
    case_of("sage").scores.write(tmp_path / "sage.parquet")
    start = ["export", "--format", "eee", "--organization", "Lab", "-o", tmp_path / "out", "--samples", "demo"]
    said = call(*start, "--licence", "mit", "--scores", tmp_path / "table.parquet")
    assert said == (2, "", "attune-bench: scores of a table have no records to make samples of; leave out --samples\n")
    said = call(*start, "--licence", "mit", "--scores", tmp_path / "sage.parquet", "--data", "demo")
    assert said == (2, "", "attune-bench: scores of SAGE take no --data; leave it out\n")
    assert not (tmp_path / "out").exists()
