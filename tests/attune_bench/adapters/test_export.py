"""Scores for other tools: equal numbers, valid files, nothing of few people, nothing outside the folder."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import polars as pl
import pytest
import yaml
from commands import Call
from hub_server import TOKEN, HubServer
from jsonschema import Draft202012Validator
from polars.testing import assert_frame_equal
from slow_cases import slow_except

from attune_bench import Scores, score
from attune_bench.adapters.eee import Publisher, Samples, eee_records
from attune_bench.adapters.exports import check_proposable, flat_tables, hub_results, push_hub_results
from attune_bench.adapters.units import BenchmarkUnits
from attune_bench.report.privacy import hidden_strata
from attune_bench.stats.subgroups import strata_of
from attune_data import Runs, load, load_episodes, load_runs, load_sage, load_scenarios
from attune_data.issues import PublishError
from attune_metrics.metric import MetricInputError

SCHEMA = json.loads((Path(__file__).parent / "eee-0.3.0.schema.json").read_bytes())
LAB = Publisher(organization="Lab", dataset="lab/attune", retrieved=1_700_000_000)
OPTIONS: Any = {"resamples": 200}


@pytest.fixture(scope="module")
def scores() -> Scores:
    return score(load("demo"), load_runs("demo"))


@pytest.fixture(scope="module")
def real_scores(scores: Scores) -> Scores:
    """Return the same scores as if nothing of them were invented."""
    return replace(scores, provenance=scores.provenance.model_copy(update={"synthetic": False}))


def results(record: Mapping[str, Any]) -> dict[str, Any]:
    return {one["evaluation_result_id"]: one for one in record["evaluation_results"]}


def table_scores() -> Scores:
    rows = [(model, f"q{unit}", float((unit * place) % 2)) for place, model in enumerate("ab", 1) for unit in range(30)]
    frame = pl.DataFrame(rows, schema=["model", "unit", "value"], orient="row").with_columns(metric=pl.lit("hit"))
    return Scores.from_table(frame, metrics={"hit": {"label": "Hit rate", "low": 0}})


SCORINGS: dict[str, Callable[[], Scores]] = {
    "attunebench": lambda: score(load("demo"), load_runs("demo")),
    "eibench": lambda: score(load_scenarios("demo"), load_episodes("demo")),
    "sage": lambda: score(load_sage("demo")),
    "table": table_scores,
}


@pytest.mark.parametrize(
    ("values", "units_each", "options", "method"),
    [
        ([0.0, 1.0, 1.0, 1.0] * 6, 2, {}, "Student's t on the logit scale over clusters"),
        ([0.0] * 24, 2, {}, "Clopper-Pearson over clusters"),
        ([0.0, 1.0, 1.0, 1.0] * 6, 1, {}, "Wilson"),
        ([0.0, 1.0, 1.0, 1.0] * 6, 2, {"interval": "bca"}, "bootstrap over clusters (BCa)"),
        (
            [0.0, 1.0, 1.0, 1.0, 1.0, 1.0] * 4, 2, {"weight": "cluster"},
            "Student's t over clusters; values are means of clusters' means: each cluster counts once",
        ),
    ],
)  # fmt: skip
def test_the_method_of_a_share_is_that_of_its_interval(
    values: list[float], units_each: int, options: dict[str, Any], method: str
) -> None:
    frame = pl.DataFrame(
        [("a", f"q{unit:02}", f"p{unit // units_each:02}", "hit", value) for unit, value in enumerate(values)],
        schema=["model", "unit", "cluster", "metric", "value"],
        orient="row",
    )
    scores = Scores.from_table(frame, metrics={"hit": {"statistic": "share", "low": 0, "high": 1}})
    [record] = eee_records(scores, LAB, **{**OPTIONS, **options}).values()
    uncertainty = results(record)["hit"]["score_details"]["uncertainty"]
    assert uncertainty["confidence_interval"]["method"] == method
    assert ("num_bootstrap_samples" in uncertainty) == method.startswith("bootstrap")


@pytest.mark.parametrize("benchmark", slow_except(SCORINGS, "eibench", "sage"))
def test_records_are_valid_and_have_the_numbers_of_the_summary(benchmark: str) -> None:
    found = SCORINGS[benchmark]()
    records = eee_records(found, LAB, **OPTIONS)
    frame = found.summary(**OPTIONS)
    assert len(records) == len(found.groups)
    for (path, record), (model, condition) in zip(records.items(), found.groups, strict=True):
        assert UUID(path.rpartition("/")[2].removesuffix(".json")).version == 4  # a name of any other form is refused
        Draft202012Validator(SCHEMA).validate(record)
        rows = frame.filter(pl.col("model") == model, pl.col("condition").eq_missing(condition))
        of_metric = {row["metric"]: row for row in rows.iter_rows(named=True)}
        shown = results(record)
        assert shown
        for name, one in shown.items():
            row, details = of_metric[name], one["score_details"]
            assert details["score"] == row["value"]
            assert details["uncertainty"]["num_samples"] == row["n"]
            interval = details["uncertainty"].get("confidence_interval")
            assert (interval is None) == (row["low"] is None)
            if interval:
                assert (interval["lower"], interval["upper"]) == (row["low"], row["high"])
            signature = found.sign(models=[model], metrics=[name], **OPTIONS)
            assert details["details"]["signature"] == signature
            # Scores are unscaled, and where reports show them times 100 that is said.
            scale = found.metrics[name].scale
            said = None if scale == 1 else f"reports show {scale:g} times the score"
            assert one["metric_config"]["additional_details"].get("scale") == said
        lacking = int(record["source_metadata"]["additional_details"]["results_without_a_value"])
        asked = [name for name, metric in found.metrics.items() if metric.level == "unit" and metric.group]
        assert lacking + len(shown) == len(asked or found.metrics)


@pytest.mark.slow
def test_a_subgroup_has_its_own_numbers(scores: Scores) -> None:
    data = load("demo")
    records = eee_records(scores, LAB, by=["diagnosis_group"], data=data, metrics=["composite_score"], **OPTIONS)
    frame = scores.by("diagnosis_group", data=data, metrics=["composite_score"], **OPTIONS)
    hidden = 0
    for record, (model, condition) in zip(records.values(), scores.groups, strict=True):
        shown = results(record)
        for row in frame.filter(model=model, condition=condition).iter_rows(named=True):
            one = shown.get(f"composite_score/diagnosis_group/{row['stratum']}")
            if one is None:
                hidden += 1
                continue
            assert one["score_details"]["score"] == row["value"]
            assert one["score_details"]["uncertainty"]["num_samples"] == row["n"]
            assert one["score_details"]["details"]["participants"] == str(row["clusters"])
            assert f"|n:{row['n']}|clusters:{row['clusters']}|" in one["score_details"]["details"]["signature"]
            assert one["evaluation_name"].endswith(f"diagnosis_group = {row['stratum']}")
    assert hidden == 0 or hidden < frame.height


@pytest.mark.slow
def test_what_rests_on_few_people_is_left_out(scores: Scores) -> None:
    data = load("demo")
    whole = flat_tables(scores, by=["age_range"], data=data, small_cells=True, metrics=["composite_score"], **OPTIONS)
    shown = flat_tables(scores, by=["age_range"], data=data, metrics=["composite_score"], **OPTIONS)
    strata = strata_of(data, "age_range")
    hidden = hidden_strata(scores, "composite_score", {"age_range": (strata, data.unit_ids)})
    expected = [
        None if ("age_range", row["stratum"], False) in hidden[row["model"], row["condition"]] else row["value"]
        for row in whole["subgroups"].iter_rows(named=True)
    ]
    assert None in expected
    assert shown["subgroups"]["value"].to_list() == expected
    few = whole["subgroups"].filter(pl.col("clusters") < 5)
    assert few.height
    records = eee_records(scores, LAB, by=["age_range"], data=data, metrics=["composite_score"], **OPTIONS)
    for record in records.values():
        for stratum in few["stratum"]:
            assert f"composite_score/age_range/{stratum}" not in results(record)


def test_the_table_of_units_is_read_back(scores: Scores) -> None:
    tables = flat_tables(scores, small_cells=True, metrics=["composite_score"], **OPTIONS)
    again = Scores.from_table(tables["scores"], metrics={"composite_score": {"low": 0, "high": 100}})
    columns = ["model", "value", "low", "high", "n", "clusters"]
    assert_frame_equal(
        again.summary(**OPTIONS).select(columns), scores.summary(metrics=["composite_score"], **OPTIONS).select(columns)
    )
    assert not any(kind.is_nested() for frame in tables.values() for kind in frame.dtypes)


def test_pages_of_models_have_what_the_hub_reads(scores: Scores) -> None:
    found = hub_results(scores, dataset="lab/attune", **OPTIONS)
    frame = scores.summary(metrics=["composite_score"], **OPTIONS)
    for (path, text), row in zip(found.items(), frame.iter_rows(named=True), strict=True):
        assert path == f"{row['model']}/.eval_results/attunebench.yaml"
        [entry] = yaml.safe_load(text)
        assert entry["dataset"] == {"id": "lab/attune", "task_id": "composite_score"}
        assert entry["value"] == row["value"]
        assert entry["date"] == "2026-01-01"
        signature = scores.sign(models=[row["model"]], metrics=["composite_score"], **OPTIONS)
        assert entry["notes"].endswith(signature)


def test_pages_of_models_say_what_reports_show_a_multiple_of() -> None:
    found = SCORINGS["eibench"]()
    for metric in ("reward", "final_anger"):
        texts = hub_results(found, dataset="lab/people", metrics=[metric], **OPTIONS).values()
        assert {"reports show 100 times the value" in text for text in texts} == {metric == "reward"}


def test_names_of_models_stay_within_the_folder(call: Call, tmp_path: Path) -> None:
    rows = [("../../out", f"q{unit}", float(unit % 2)) for unit in range(30)]
    table = pl.DataFrame(rows, schema=["model", "unit", "value"], orient="row").with_columns(metric=pl.lit("hit"))
    table.write_parquet(tmp_path / "table.parquet")
    (tmp_path / "in").mkdir()
    for format_, words in (("eee", ["--organization", "Lab"]), ("hub", ["--dataset", "a/b"])):
        target = tmp_path / "in" / format_
        status, out, err = call(
            "export", "--scores", tmp_path / "table.parquet", "--format", format_, "-o", target, *words
        )
        assert (status, out, err) == (0, f"{target}: 1 file\n", ""), err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "table.parquet"]
    assert sorted(path.name for path in (tmp_path / "in").iterdir()) == ["eee", "hub"]


def test_a_model_has_a_page_of_its_own_and_no_other_repository() -> None:
    names = ["v/a-b", "v/a:b", "v/a*b", "v/a\u202e"]
    rows = [(name, f"q{unit}", "hit", float(unit % 2)) for name in names for unit in range(6)]
    found = hub_results(
        Scores.from_table(pl.DataFrame(rows, schema=["model", "unit", "metric", "value"], orient="row")),
        dataset="a/b",
        resamples=20,
    )
    folders = [path.partition("/.eval_results/")[0] for path in found]
    assert len(set(folders)) == 4
    assert [folder for folder in folders if folder == "v/a-b"] == ["v/a-b"]
    for path, text in found.items():
        if not path.startswith("v/a-b/"):
            with pytest.raises(PublishError, match="is not the name of a repository"):
                check_proposable({path: text})


@pytest.mark.slow
@pytest.mark.parametrize("format_", [pytest.param("csv", marks=pytest.mark.slow), "parquet"])
def test_tables_of_the_command(format_: str, call: Call, scores: Scores, tmp_path: Path) -> None:
    scores.write(tmp_path / "scores.parquet")
    target = tmp_path / "tables"
    words = ["--by", "diagnosis_group", "--data", "demo", "--resamples", "200", "--small-cells"]
    status, out, _ = call("export", "--scores", tmp_path / "scores.parquet", "--format", format_, "-o", target, *words)
    assert (status, out) == (0, f"{target}: 6 files\n")
    expected = flat_tables(scores, by=["diagnosis_group"], data=load("demo"), small_cells=True, **OPTIONS)
    assert sorted(path.name for path in target.iterdir()) == sorted(
        ["scores.toml", *(f"{name}.{format_}" for name in expected)]
    )
    again = Scores.read(target / f"scores.{format_}")
    assert again.provenance.synthetic
    columns = ["model", "value", "low", "high", "n", "clusters"]
    assert_frame_equal(
        again.summary(metrics=["composite_score"], **OPTIONS).select(columns),
        scores.summary(metrics=["composite_score"], **OPTIONS).select(columns),
    )
    if format_ == "parquet":
        for name, frame in expected.items():
            assert_frame_equal(pl.read_parquet(target / f"{name}.parquet"), frame)
    else:
        assert (target / "summary.csv").read_text(encoding="utf-8").splitlines()[0].startswith("model,condition,metric")


@pytest.mark.parametrize(("far", "lines"), [(40, 1), (3, 0)])
def test_unreliable_intervals_are_said_in_one_line_of_standard_error(
    far: int, lines: int, call: Call, tmp_path: Path
) -> None:
    rows = [f"m,u{unit},points,{far if unit == 0 else unit % 4}" for unit in range(16)]
    (tmp_path / "own.csv").write_text("\n".join(["model,unit,metric,value", *rows]), encoding="utf-8")
    words = ["--scores", tmp_path / "own.csv", "--resamples", "50", "-o", tmp_path / "tables"]
    status, _, err = call("export", "--format", "csv", *words)
    assert status == 0
    assert err.count("\n") == err.count("attune-bench: Warning: points: ") == lines


@pytest.mark.slow
def test_no_table_of_single_people(call: Call, scores: Scores, tmp_path: Path) -> None:
    scores.write(tmp_path / "scores.parquet")
    target = tmp_path / "tables"
    words = ["--format", "csv", "-o", target, "--resamples", "200"]
    status, out, _ = call("export", "--scores", tmp_path / "scores.parquet", *words)
    why = "No table of conversations: it shows single conversations of people (--small-cells)"
    assert (status, out) == (0, f"{target}: 3 files\n{why}\n")
    assert sorted(path.name for path in target.iterdir()) == ["metrics.csv", "models.csv", "summary.csv"]
    public = replace(scores, provenance=scores.provenance.model_copy(update={"private": False}))
    assert "scores" in flat_tables(public, **OPTIONS)


@pytest.mark.slow
def test_equal_input_gives_equal_records(
    scores: Scores, monkeypatch: pytest.MonkeyPatch, call: Call, tmp_path: Path
) -> None:
    assert eee_records(scores, LAB, **OPTIONS) == eee_records(scores, LAB, **OPTIONS)
    scores.write(tmp_path / "scores.parquet")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    found = []
    for name in ("one", "two"):
        words = ["--organization", "Lab", "--dataset", "lab/attune", "--resamples", "200", "-o", tmp_path / name]
        assert call("export", "--scores", tmp_path / "scores.parquet", "--format", "eee", *words)[0] == 0
        found.append(
            {str(path.relative_to(tmp_path / name)): path.read_bytes() for path in (tmp_path / name).rglob("*.json")}
        )
    assert found[0] == found[1]
    assert {name: json.loads(text) for name, text in found[0].items()} == eee_records(scores, LAB, **OPTIONS)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--format", "eee"], "needs --organization"),
        (["--format", "eee", "--organization", " "], "the organization is empty"),
        (["--format", "hub"], "needs --dataset"),
        (["--format", "hub", "--dataset", "a/b", "--by", "age_range"], "leave out --by"),
        (["--format", "csv", "--dataset", "a/b"], "--dataset is for --format eee or hub"),
        (["--format", "csv", "--organization", "Lab"], "--organization is for --format eee"),
        (["--format", "csv", "--metric", "composit_score"], "did you mean 'composite_score'"),
        (["--format", "csv", "--by", "age", "--data", "demo"], "no trait 'age'; did you mean 'age_range'?"),
    ],
)
def test_mistakes(words: list[str], message: str, call: Call, scores: Scores, tmp_path: Path) -> None:
    scores.write(tmp_path / "scores.parquet")
    status, _, err = call("export", "--scores", tmp_path / "scores.parquet", "-o", tmp_path / "out", *words)
    assert (status, message in err) == (2, True), err
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_folder_with_something_in_it_stays(call: Call, scores: Scores, tmp_path: Path) -> None:
    scores.write(tmp_path / "scores.parquet")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").touch()
    words = ["--format", "csv", "-o", tmp_path / "out", "--resamples", "50"]
    status, _, err = call("export", "--scores", tmp_path / "scores.parquet", *words)
    assert status == 2
    assert "not an empty folder" in err
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["mine"]


def test_an_organization_is_needed(scores: Scores) -> None:
    with pytest.raises(MetricInputError, match="the organization is empty"):
        eee_records(scores, Publisher(organization=""), **OPTIONS)


@pytest.mark.slow
def test_results_are_proposed_to_the_repositories_of_models(
    hub: HubServer, call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, real_scores: Scores
) -> None:
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    for name in ("synthetic/attentive", "synthetic/hasty"):
        hub.add(name, {"README.md": b"# A model\n"})
    real_scores.write(tmp_path / "scores.parquet")
    start = ["export", "--scores", tmp_path / "scores.parquet", "--resamples", 200]
    options = ["--format", "hub", "--dataset", "lab/attune", "-o", tmp_path / "pages"]
    status, out, err = call(*start, *options, "--push")
    assert (status, err) == (0, "")
    made = [f"{hub.url}/{name}/discussions/1" for name in ("synthetic/attentive", "synthetic/hasty")]
    assert out.splitlines() == [f"{tmp_path / 'pages'}: 2 files", *made]
    for name in ("synthetic/attentive", "synthetic/hasty"):
        proposed = hub.files(name, "refs/pr/1")
        written = (tmp_path / "pages" / name / ".eval_results" / "attunebench.yaml").read_bytes()
        assert proposed == {"README.md": b"# A model\n", ".eval_results/attunebench.yaml": written}
        assert list(hub.files(name)) == ["README.md"]  # accepted by nobody yet


@pytest.mark.slow
def test_a_push_that_fails_says_what_was_done(
    hub: HubServer, monkeypatch: pytest.MonkeyPatch, real_scores: Scores
) -> None:
    results = hub_results(real_scores, dataset="lab/attune", **OPTIONS)
    with pytest.raises(PublishError, match="writing to synthetic/attentive needs a token of the Hub"):
        push_hub_results(results)
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    hub.add("synthetic/attentive", {"README.md": b""})
    with pytest.raises(PublishError) as caught:
        push_hub_results(results)
    said = str(caught.value)
    assert said.startswith("synthetic/hasty was not published: ")
    assert said.endswith(f"; pull requests made before: {hub.url}/synthetic/attentive/discussions/1")
    assert TOKEN not in said
    with pytest.raises(PublishError, match='"baseline" is not the name of a repository, owner/name'):
        push_hub_results({**results, "baseline/.eval_results/a.yaml": ""})
    assert len([ref for ref in hub.repositories["synthetic/attentive"].refs if ref.startswith("refs/pr/")]) == 1


def test_a_push_is_for_pages_only(call: Call, tmp_path: Path, scores: Scores) -> None:
    scores.write(tmp_path / "scores.parquet")
    words = ["export", "--scores", tmp_path / "scores.parquet", "--format", "csv", "-o", tmp_path / "tables", "--push"]
    assert call(*words)[0] == 2
    assert not (tmp_path / "tables").exists()


@pytest.mark.slow
def test_synthetic_results_are_not_proposed(
    hub: HubServer, call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scores: Scores
) -> None:
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    hub.add("synthetic/attentive", {"README.md": b""})
    scores.write(tmp_path / "scores.parquet")
    words = ["--format", "hub", "--dataset", "lab/attune", "-o", tmp_path / "pages", "--resamples", 50, "--push"]
    status, out, err = call("export", "--scores", tmp_path / "scores.parquet", *words)
    assert (status, out) == (2, "")
    assert "of synthetic data, which say nothing about a model" in err
    assert "score runs on real data, or leave out the push" in err
    assert not (tmp_path / "pages").exists()
    with pytest.raises(PublishError, match="the results of synthetic/attentive are of synthetic data"):
        push_hub_results(hub_results(scores, dataset="lab/attune", **OPTIONS))
    assert hub.requests == []


def says_synthetic(path: Path) -> bool:
    """Tell whether an exported file says that its data are synthetic, in the place that its format has for it."""
    if path.suffix == ".parquet":
        return pl.read_parquet_metadata(path).get("synthetic") == "true"
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".jsonl":
        return all(json.loads(line)["metadata"].get("synthetic_data") == "yes" for line in text.splitlines())
    said = {".yaml": "notes: SYNTHETIC data;", ".json": '"synthetic_data": "yes"', ".toml": "synthetic = true"}
    return said.get(path.suffix, "vendor/hasty,model,true") in text


@pytest.mark.slow
def test_exported_files_say_where_data_are_synthetic(call: Call, tmp_path: Path) -> None:
    data = load("demo")[:6]
    # Names of models without the word, so that it has to come from elsewhere.
    runs = [
        run.model_copy(update={"em_model": run.em_model.replace("synthetic", "vendor")}) for run in load_runs("demo")
    ]
    made = Runs([run for run in runs if run.conversation_id in {one.id for one in data}])
    made.to_jsonl(tmp_path / "runs.jsonl")
    data.to_jsonl(tmp_path / "data.jsonl")
    invented = score(data, made)
    real = replace(invented, provenance=invented.provenance.model_copy(update={"synthetic": False}))
    of_records = ["--samples", tmp_path / "runs.jsonl", "--data", tmp_path / "data.jsonl", "--licence", "cc-by-4.0"]
    formats: dict[str, list[object]] = {
        "hub": ["--dataset", "lab/attune"],
        "eee": ["--organization", "Lab", *of_records],
        "csv": [],
        "parquet": [],
    }
    for scores, is_said in ((invented, True), (real, False)):
        file = tmp_path / f"{is_said}.parquet"
        scores.write(file)
        for format_, words in formats.items():
            target = tmp_path / f"{is_said}-{format_}"
            start = ["export", "--scores", file, "--format", format_, "-o", target, "--metric", "composite_score"]
            assert call(*start, "--resamples", 50, *words)[0] == 0
            files = [path for path in target.rglob("*") if path.is_file()]
            if format_ == "csv":  # A table of numbers has no place for it: what stands beside it says so.
                files = [target / "models.csv"]
            assert files
            assert {says_synthetic(path) for path in files} == {is_said}


@pytest.mark.slow
def test_a_participant_is_written_alike_everywhere(tmp_path: Path) -> None:
    data = load("demo")[:6]
    ids = {one.id: one for one in data}
    made = Runs([run for run in load_runs("demo") if run.conversation_id in ids])
    expected = {name: one.participant_id for name, one in ids.items()}
    assert all(name and name != name.casefold() for name in expected.values())
    scores = score(data, made)
    scores.write(tmp_path / "scores.json")
    scores.to_csv(tmp_path / "scores.csv")
    data.to_parquet(tmp_path / "published")
    samples = Samples(scores, results=made, data=data, licence="cc-by-4.0")
    records = eee_records(scores, LAB, metrics=["composite_score"], **OPTIONS)
    lines = [line for record in records.values() for line in samples.lines(record)]
    units = BenchmarkUnits("attunebench", "demo")
    written = json.loads((tmp_path / "scores.json").read_bytes())["conversations"]
    published = pl.read_parquet(tmp_path / "published" / "conversations.parquet")
    doors: dict[str, Mapping[str, object]] = {
        "scores": dict(scores.units.select("unit", "cluster").iter_rows()),
        "scores.json": {one["conversationId"]: one["participant_id"] for one in written},
        "scores.csv": dict(pl.read_csv(tmp_path / "scores.csv").select("unit", "cluster").unique().iter_rows()),
        "tables": dict(data.tables.conversations.select("conversation_id", "participant_id").iter_rows()),
        "published": dict(published.select("conversation_id", "participant_id").iter_rows()),
        "samples": {line["sample_id"]: line["metadata"]["participant"] for line in lines},
        "harnesses": {name: units.cluster(name) for name in ids},
    }
    assert doors == dict.fromkeys(doors, expected)


@pytest.mark.slow
def test_results_that_were_generated_are_synthetic_on_real_data_too() -> None:
    real = [
        one.model_copy(update={"metadata": one.metadata.model_copy(update={"synthetic": None})}) for one in load("demo")
    ]
    assert not any(one.synthetic for one in real)
    assert score(real, load_runs("demo")).provenance.synthetic
    scenarios = [one.model_copy(update={"synthetic": None}) for one in load_scenarios("demo")]
    assert score(scenarios, load_episodes("demo")).provenance.synthetic
    for data, made in ((real, load_runs("demo")), (scenarios, load_episodes("demo"))):
        told = [one.model_copy(update={"synthetic": None}) for one in made]
        assert not score(data, told).provenance.synthetic
