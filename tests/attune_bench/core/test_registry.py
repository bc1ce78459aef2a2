"""Every entry of the registry of benchmarks is complete: records, licence, page, scoring, calls, commands, own files.

The kinds of their records have tests of their own, over every entry of `attune_data.kinds.KINDS`.
"""

import asyncio
import inspect
import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import click
import polars as pl
import pytest

from attune_bench import BENCHMARKS, Benchmark, Choice, Option, Scores, score
from attune_bench.analyses import ANALYSES
from attune_bench.cli import app
from attune_bench.cli.options import VerbCommand
from attune_bench.report.columns import Section
from attune_bench.report.page_scores import PageScores
from attune_bench.runner.calls import Call as ModelCall
from attune_bench.runner.task import Source, Task
from attune_bench.scores.columns import Analysis
from attune_bench.scores.parts import KEYS
from attune_bench.scores.table import term_columns
from attune_data import Kind, load_records
from attune_data.codebook import codebook_folder
from attune_data.kinds import KINDS
from attune_data.licences import licences
from attune_data.references import resolve
from attune_metrics import MetricInputError
from attune_metrics.catalog import CATALOG
from attune_metrics.stats.bootstrap import STATISTICS

ROOT = Path(__file__).parents[3]
NO_TASK = {
    "spiralbench": "played and judged by the repository's own code; only its result files are scored",
    "eqbench3_pairs": "judged by the repository's own code, which writes files of comparisons; only these are scored",
    "eqbench4": "its scenarios may not be passed on; only role-plays of the site are scored",
    "comparisons": "its verdicts are of anybody's judges; only comparisons are scored",
}
OF_WHOEVER_RAN = {
    "run": "a run is made by whoever asked the model, under a licence of their own",
    "comparison": "a comparison is made by whoever judged, under a licence of their own",
}
NOT_SCORED = {"entry": "what a board says of a model; its values are scored as role-plays"}
MISSING = Path("no-such-file.json")

NO_RULE = {field.name: field.default for field in fields(Kind)}["check"]

pytestmark = pytest.mark.filterwarnings("ignore:[0-9]+ resamples are too few")
each = pytest.mark.parametrize("benchmark", BENCHMARKS, ids=lambda benchmark: benchmark.name)
run = pytest.mark.parametrize(
    "benchmark", [one for one in BENCHMARKS if one.task], ids=lambda benchmark: benchmark.name
)


def kinds_of(benchmark: Benchmark) -> list[Kind[Any, Any]]:
    return [resolve(reference) for reference in (benchmark.units, benchmark.results) if reference is not None]


def scored_kinds(benchmark: Benchmark) -> list[Kind[Any, Any]]:
    return [resolve(reference) for reference in (benchmark.data, benchmark.results) if reference is not None]


def demo_of(benchmark: Benchmark) -> list[Any]:
    """Return what `score` takes: the reference, where there is one, and the results."""
    return [load_records("demo", kind) for kind in scored_kinds(benchmark)]


def scored(benchmark: Benchmark, /, **options: Any) -> Scores:
    """Return the scores of its demo; the records tell whose they are."""
    return score(*demo_of(benchmark), **options)


@pytest.fixture(scope="module")
def demo_scores() -> Mapping[str, Scores]:
    return {benchmark.name: scored(benchmark) for benchmark in BENCHMARKS}


def task_of(benchmark: Benchmark) -> Task[Any, Any]:
    found = resolve(benchmark.task)
    assert isinstance(found, Task)
    return found


def options_of(benchmark: Benchmark, verb: str) -> list[Option]:
    return [option for option in benchmark.options if verb in option.verbs]


def value_of(option: Option) -> Any:
    """Return a value as the command line would give it."""
    if option.name == "similarity":
        return "jaccard"  # another one needs a model
    texts: dict[Any, str] = {int: "3", float: "0.5", bool: "yes", Path: str(MISSING), str: "vendor/other"}
    value = option.values[0] if option.values else option.kind(texts.get(option.kind, "0.5"))
    return (value,) if option.multiple else value


def settings_of(benchmark: Benchmark, **options: Any) -> Sequence[Any]:
    required = {option.name: value_of(option) for option in options_of(benchmark, "run") if option.required}
    made = task_of(benchmark).settings("vendor/model", **(required | options))
    return made if isinstance(made, list) else [made]


# What an entry names.


@each
def test_an_entry_has_a_title_and_a_page(benchmark: Benchmark) -> None:
    assert benchmark.name == benchmark.name.lower()
    assert benchmark.name.isidentifier()
    page = ROOT / "docs" / str(benchmark.docs)
    assert page.read_text(encoding="utf-8").startswith(f"# {benchmark.title}")
    assert {kind.docs for kind in kinds_of(benchmark)} == {benchmark.docs}
    assert all(text[0].isupper() and text.endswith(".") for text in benchmark.limits)


@each
def test_its_records_are_kinds_with_a_demo_tables_and_rules(benchmark: Benchmark) -> None:
    for kind in kinds_of(benchmark):
        assert kind in KINDS
        assert len(load_records("demo", kind)) >= (10 if kind in scored_kinds(benchmark) else 3)
        assert kind.check is not NO_RULE


@each
def test_the_licence_of_its_data_is_known(benchmark: Benchmark) -> None:
    known = tomllib.loads((codebook_folder() / "publishing.toml").read_text(encoding="utf-8"))["benchmarks"]
    records = [kind.model.__name__ for kind in kinds_of(benchmark) if kind.noun not in OF_WHOEVER_RAN]
    if not records:
        return
    row = known[benchmark.title]
    unscored = {kind.model.__name__ for kind in KINDS if kind.noun in NOT_SCORED}
    assert [name for name in row["records"] if name not in unscored] == records
    assert row["licence"] in licences()
    assert row["attribution"]


def test_no_two_benchmarks_are_taken_for_one_another() -> None:
    for attribute in ("name", "title", "docs"):
        assert len({getattr(benchmark, attribute) for benchmark in BENCHMARKS}) == len(BENCHMARKS), attribute
    kinds = [kind for benchmark in BENCHMARKS for kind in kinds_of(benchmark)]
    assert len(set(kinds)) == len(kinds)
    assert set(kinds) == {kind for kind in KINDS if kind.noun not in NOT_SCORED}
    own = [benchmark.scores_format.keys for benchmark in BENCHMARKS if benchmark.scores_format]
    assert not any(a <= b or b <= a for a, b in combinations(own, 2))


# Scoring.


@each
def test_its_demo_is_scored(benchmark: Benchmark, demo_scores: Mapping[str, Scores]) -> None:
    scores = demo_scores[benchmark.name]
    held = scores.provenance
    assert (held.benchmark, held.title, held.synthetic) == (benchmark.name, benchmark.title, True)
    results = demo_of(benchmark)[-1]
    if benchmark.row is not None:
        assert scores.values.height == len(results)
    assert held.runs is not None
    assert (held.data is None) == (benchmark.data is None)
    assert "unit" not in {held.unit, held.cluster}
    counts: list[int] = []
    for named in (benchmark, benchmark.name):
        counts.clear()
        assert scored(benchmark, benchmark=named, progress=counts.append).values.equals(scores.values)
    assert counts[-1] == len(results)
    assert counts == sorted(counts)


@each
def test_a_result_has_its_own_row(benchmark: Benchmark) -> None:
    *data, results = demo_of(benchmark)
    for result in results[::9] if benchmark.row is not None else ():
        given = [*data, [result]]
        assert score(*given).values.select(KEYS).rows() == [resolve(benchmark.row)(result)]


@each
def test_its_metrics_are_those_of_the_catalogue(benchmark: Benchmark, demo_scores: Mapping[str, Scores]) -> None:
    scores = demo_scores[benchmark.name]
    for name, metric in scores.metrics.items():
        assert metric.name == name
        assert replace(metric, terms=CATALOG[name].terms) == CATALOG[name]
        if metric.statistic in STATISTICS:
            assert {*term_columns(metric)} <= {*scores.values.columns}, name
    assert scores.primary == scores.headline[0]
    assert {*scores.headline} <= {*scores.metrics}
    assert scores.summary(metrics=[scores.primary], resamples=10)["value"].null_count() == 0


@each
def test_its_choices_are_those_of_the_scores(benchmark: Benchmark, demo_scores: Mapping[str, Scores]) -> None:
    scores = demo_scores[benchmark.name]
    assert scores.choices == {choice.name: choice.values for choice in benchmark.choices}
    assert scores.provenance.variant == {choice.name: choice.values[0] for choice in benchmark.choices}
    for choice in benchmark.choices:
        assert all(f"{option}" in choice.help for option in choice.values)
        for option in choice.values:
            assert scores.variant(**{choice.name: option}).provenance.variant[choice.name] == option


# Options.


@each
def test_scoring_takes_its_options(benchmark: Benchmark, demo_scores: Mapping[str, Scores]) -> None:
    plain = demo_scores[benchmark.name]
    parameters = inspect.signature(resolve(benchmark.score)).parameters
    options = options_of(benchmark, "score")
    taken = {name for name, parameter in parameters.items() if parameter.kind is parameter.KEYWORD_ONLY}
    assert taken == {"progress", *(option.name for option in options)}
    for option in options:
        given = {plain.models[0]: 1200.0} if option.name == "anchors" else None
        values = option.values or (given or value_of(option),)
        # Every choice is in the signature.
        assert len({scored(benchmark, **{option.name: value}).sign() for value in values}) == len(values)
        if option.values:
            assert scored(benchmark, **{option.name: values[0]}).sign() == plain.sign(), "the default"
            with pytest.raises(MetricInputError, match="unheard-of"):
                scored(benchmark, **{option.name: "unheard-of"})


@run
def test_its_settings_take_the_options_of_run(benchmark: Benchmark) -> None:
    options = options_of(benchmark, "run")
    for option in options:
        if role := option.role:
            # Where the role is asked is an option of the runner, which needs a model in it.
            (model,) = [one for one in options if one.name == f"{role}_model"]
            assert role in settings_of(benchmark, **{model.name: value_of(model)})[0].decoding
        elif option.kind is Path:
            with pytest.raises((OSError, ValueError), match=MISSING.name):
                settings_of(benchmark, **{option.name: MISSING})
        else:
            values = option.values if option.values and not option.multiple else [value_of(option)]
            values = [(choice,) for choice in option.values] if option.multiple and option.values else values
            made = [settings_of(benchmark, **{option.name: value}) for value in values]
            assert len({str(one) for one in made}) == len(values), option.name
    where_set = ({"max_tokens": None}, {"reasoning_effort": "low"}, {"extra_body": {"top_p": 0.9}})
    for general in ({"seed": 1}, {"temperature": None}, {"max_tokens": 5}, *where_set):
        assert str(settings_of(benchmark, **general)) != str(settings_of(benchmark))
    with pytest.raises(TypeError, match="unheard_of"):
        settings_of(benchmark, unheard_of=1)


def test_an_option_is_one_option_and_none_of_the_command() -> None:
    declared: dict[str, Option | Choice] = {}
    for benchmark in BENCHMARKS:
        own: list[Option | Choice] = [*benchmark.options, *benchmark.choices]
        for option in own:
            assert declared.setdefault(option.name, option) == option
    with click.Context(app) as ctx:
        commands = [app.get_command(ctx, name) for name in app.list_commands(ctx)]
    verbs = [command for command in commands if isinstance(command, VerbCommand) and (command.own or command.variants)]
    assert {"score", "run", "report", "compare"} <= {verb.name for verb in verbs}
    for verb in verbs:
        assert {param.name for param in verb.params}.isdisjoint(declared), verb.name


# Calls.


def test_a_benchmark_without_calls_has_a_reason() -> None:
    assert {benchmark.name for benchmark in BENCHMARKS if benchmark.task is None} == {*NO_TASK}


@run
def test_its_task_asks_about_a_unit_of_the_demo(
    benchmark: Benchmark, demo_scores: Mapping[str, Scores], tmp_path: Path
) -> None:
    task = task_of(benchmark)
    assert task.name == benchmark.name
    unit = load_records("demo", resolve(benchmark.units))[0]
    assert task.unit == resolve(benchmark.units).noun
    assert benchmark.data is None or task.unit == demo_scores[benchmark.name].provenance.unit
    (settings,) = settings_of(benchmark)
    planned = task.calls(unit, settings, None)
    assert len({call.id for call in planned}) == len(planned) > 0
    assert {call.role for call in planned} == {*settings.decoding}
    assert {call.model for call in planned if call.role == "model"} == {"vendor/model"}
    assert all(call.messages for call in planned)
    assert json.loads(json.dumps(settings.provenance())) == settings.provenance()
    names = {
        (task.folder(tmp_path, own), task.file_name(unit, own)) for own in (settings, replace(settings, model="b"))
    }
    assert len(names) == 2
    source = Source(dict.fromkeys(settings.decoding, "local"), "folder/file.json")
    json.dumps(dict(task.fields(unit, settings, source)))
    assert task.unit_settings(unit, settings) == settings


@run
@pytest.mark.parametrize("text", ["", "{}", "I see."], ids=["nothing", "an empty object", "words"])
def test_whatever_is_answered_its_task_makes_a_record_that_is_scored(benchmark: Benchmark, text: str) -> None:
    task = task_of(benchmark)
    unit = load_records("demo", resolve(benchmark.units))[0]
    (settings,) = settings_of(benchmark)
    asked: list[str] = []

    async def complete(call: ModelCall, attempt: int) -> str:
        del attempt
        asked.append(call.id)
        return text

    record = asyncio.run(task.make(unit, complete, settings))
    assert {name.partition("#")[0] for name in asked} <= {call.id for call in task.calls(unit, settings, None)}
    assert isinstance(record, resolve(benchmark.results).model)
    scores = score([record]) if benchmark.data is None else score([unit], [record])
    assert (scores.provenance.benchmark, scores.models) == (benchmark.name, ("vendor/model",))
    assert scores.values["unit"].to_list() == [unit.id]


@each
def test_its_baselines_predict(benchmark: Benchmark) -> None:
    if benchmark.baselines is None:
        return
    data, _ = demo_of(benchmark)
    baselines = resolve(benchmark.baselines)
    assert len(baselines) > 1
    for name, predict in baselines.items():
        found = predict(data)
        assert list(predict(data)) == list(found), name
        scores = score(data, found, benchmark=benchmark)
        assert scores.models == (f"baseline/{name}",)
        assert scores.units["unit"].to_list() == sorted(record.id for record in data)
        assert scores.issues.is_empty()
    if "chance" in baselines:
        assert "seed" in inspect.signature(baselines["chance"]).parameters
        assert list(baselines["chance"](data, seed=1)) != list(baselines["chance"](data, seed=2))


@each
def test_what_random_answers_score_is_of_metrics_that_are_means(
    benchmark: Benchmark, demo_scores: Mapping[str, Scores]
) -> None:
    scores = demo_scores[benchmark.name]
    known = [name.removeprefix("chance.") for name in scores.units.columns if name.startswith("chance.")]
    assert {scores.metrics[name].statistic for name in known} <= {"mean", "share"}
    # It is of random answers, so that there is a baseline that gives them.
    assert not known or "chance" in resolve(benchmark.baselines)


# Analyses, sections, files, commands.


@each
def test_its_analyses_give_frames(benchmark: Benchmark, demo_scores: Mapping[str, Scores]) -> None:
    scores = demo_scores[benchmark.name]
    data = dict(zip(("data", "results") if benchmark.data else ("results",), demo_of(benchmark), strict=True))
    for name, analysis in resolve(benchmark.analyses).items():
        assert isinstance(analysis, Analysis)
        assert name not in ANALYSES or analysis.function is ANALYSES[name].function, "a name is one analysis"
        assert analysis.title
        assert analysis.note.endswith(".")
        needs = {need: data[need] for need in analysis.needs}
        frame = analysis.function(scores, **needs)
        assert isinstance(frame, pl.DataFrame)
        assert [*analysis.columns] == frame.columns
        assert {*(analysis.metrics or ())} <= {*scores.metrics}


@each
def test_its_sections_are_drawn_or_say_why_not(benchmark: Benchmark, demo_scores: Mapping[str, Scores]) -> None:
    if benchmark.sections is None:
        return
    *reference, results = demo_of(benchmark)
    data = reference[0] if reference else None
    analyses = {**ANALYSES, **resolve(benchmark.analyses)}
    page = PageScores(
        table=demo_scores[benchmark.name], analyses=analyses, small_cells=False, options={"resamples": 50}
    )
    for given in ({"data": data, "results": results}, {"data": None, "results": None}):
        sections = resolve(benchmark.sections)(page, **given)
        assert sections
        assert all(isinstance(section, Section) and section.title for section in sections)
        assert all(section.parts or section.left_out for section in sections)
    titles = [section.title for section in sections]
    assert len({*titles}) == len(titles)


@each
def test_its_own_file_of_scores_comes_back_equal(
    benchmark: Benchmark, demo_scores: Mapping[str, Scores], tmp_path: Path
) -> None:
    scores, own = demo_scores[benchmark.name], benchmark.scores_format
    if own is None:
        with pytest.raises(ValueError, match="no JSON file of their own"):
            scores.write(tmp_path / "scores.json")
        return
    path = tmp_path / own.default
    scores.write(path)
    assert own.keys <= json.loads(path.read_bytes()).keys()
    for again in (resolve(own.read)(path), Scores.read(path)):
        assert again.values.equals(scores.values)
        assert again.units.equals(scores.units)
        assert again.metrics == scores.metrics
        assert again.provenance == scores.provenance
        assert list(again.detail or ()) == list(scores.detail or ())
        resolve(own.write)(again, tmp_path / "again.json")
        assert json.loads((tmp_path / "again.json").read_bytes()) == json.loads(path.read_bytes())


def test_commands_are_click_commands_of_their_names() -> None:
    with click.Context(app) as ctx:
        names = app.list_commands(ctx)
        assert len({*names}) == len(names), "no command of a benchmark has the name of a verb or of another's"
        for benchmark in BENCHMARKS:
            for command in benchmark.commands:
                found = resolve(command.command)
                assert isinstance(found, click.Command)
                assert found.name == command.name
                assert app.get_command(ctx, command.name) is found
                assert command.help.endswith(".")
