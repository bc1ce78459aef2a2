"""All outputs of the commands that compute, and figures, on small data of every benchmark; as a program, into a folder.

``python every_output.py FOLDER`` writes them below FOLDER, beside which ``inputs`` has what `write_inputs` made.
"""

import os
import sys
from collections.abc import Callable, Iterable
from contextlib import redirect_stderr, redirect_stdout, suppress
from io import StringIO
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
from benchmark_scores import dialogues, predictions, table_rows
from episodes import episodes_of, scenarios_of
from judged_runs import with_judges

from attune_bench import BENCHMARKS, Scores, chance, figures, score
from attune_bench.benchmarks.attunebench.baselines import prior
from attune_bench.cli import main
from attune_bench.scores.table import metrics_per_unit
from attune_data import load, load_records, load_runs, load_scenarios
from attune_data.kinds import (
    ANSWER,
    CHATLOG,
    COMPARISON,
    DIALOGUE,
    EPISODE,
    ITEM,
    QUESTION,
    ROLEPLAY,
    RUN,
    SCENARIO,
    SITUATION,
    TRANSCRIPT,
    VERDICT,
)  # fmt: skip
from attune_data.references import resolve

__all__ = ["write_inputs", "write_outputs"]

_RATINGS = Path(__file__).parents[1] / "golden" / "empathy" / "ratings.parquet"
_QUICK = ("--resamples", "200")
_TRAITS = {"attunebench": "category", "eibench": "scene", "emobench": "task", "table": "level"}


def write_inputs(folder: Path) -> None:
    """Write data and results of every benchmark, tables of somebody's own, and people's ratings of a part of each."""
    scenarios = scenarios_of(load_scenarios("demo"), 2)
    conversations = load("demo")
    judged = with_judges(load_runs("demo"))
    again = [run.model_copy(update={"mode": "verbose"}) for run in judged[::3]]
    runs = [*judged, *again, *prior(conversations)]
    records: dict[str, tuple[Iterable[Any], ...]] = {
        "attunebench": (conversations, RUN.collection(runs)),
        "eibench": (
            SCENARIO.collection(scenarios),
            EPISODE.collection(episodes_of(scenarios, failures=["invented/rash"])),
        ),
        "sage": (DIALOGUE.collection(dialogues()),),
        "emobench": (load_records("demo", ITEM), predictions()),
        "eqbench": (load_records("demo", QUESTION), load_records("demo", ANSWER)),
        "eqbench3": (load_records("demo", SITUATION), load_records("demo", TRANSCRIPT)),
        "comparisons": (load_records("demo", COMPARISON),),
        "spiralbench": (load_records("demo", CHATLOG),),
        "eqbench3_pairs": (load_records("demo", VERDICT),),
        "eqbench4": (load_records("demo", ROLEPLAY),),
    }
    for benchmark in BENCHMARKS:
        own = folder / benchmark.name
        own.mkdir(parents=True)
        for name, held in zip(("results", "data"), reversed(records[benchmark.name]), strict=False):
            held.to_jsonl(own / f"{name}.jsonl")
        scores = score(*records[benchmark.name])
        if scores.primary in metrics_per_unit(scores):
            _labels(scores).write_csv(own / "labels.csv")
    (folder / "table").mkdir()
    table_rows().write_csv(folder / "table" / "results.csv")
    _labels(Scores.from_table(table_rows())).write_csv(folder / "table" / "labels.csv")
    _repeats().write_csv(folder / "repeats.csv")


def _labels(scores: Scores) -> pl.DataFrame:
    """Return ratings of people of every third unit: the main metric, drawn to that of another unit."""
    rows = scores.values.select("model", "condition", "unit", value=scores.primary).drop_nulls("value").sort(pl.all())
    rows = rows.filter(pl.col("unit").is_in(rows["unit"].unique().sort()[::3].implode()))
    others = Random(4).sample(rows["value"].to_list(), rows.height)
    return rows.select("model", "condition", "unit", rating=((3 * rows["value"] + pl.Series(others)) / 4).round(3))


def _repeats() -> pl.DataFrame:
    """Return tenths of three models that were asked three times, so that sums of equal values differ by rounding."""
    source = Random(3)
    rows = [
        (model, f"q{unit:02}", f"p{unit % 8}", "points", str(repeat), source.randint(0, 6 + place) / 10)
        for place, model in enumerate("abc")
        for unit in range(24)
        for repeat in range(3)
    ]
    return pl.DataFrame(rows, ["model", "unit", "cluster", "metric", "repeat", "value"], orient="row")


def write_outputs(folder: Path) -> None:
    """Write what the commands print and write, and every figure."""
    folder.mkdir(parents=True)
    os.chdir(folder)
    inputs = Path("..", "inputs")
    for benchmark in BENCHMARKS:
        own, name = inputs / benchmark.name, benchmark.name
        sources = ["--results", own / "results.jsonl"]
        if benchmark.data:
            sources += ["--data", own / "data.jsonl"]
        Path(name).mkdir()
        _call(f"{name}/score", "score", *sources, "-o", f"{name}/scores.parquet")
        labels = own / "labels.csv"
        _of_scores(name, Path(name, "scores.parquet"), labels if labels.exists() else None, sources)
        if benchmark.baselines:
            data = load_records(own / "data.jsonl", resolve(benchmark.data))
            chance(data, benchmark=benchmark, repeats=3).write_csv(f"{name}/chance.csv")
    Path("table").mkdir()
    _of_scores("table", inputs / "table" / "results.csv", inputs / "table" / "labels.csv", [])
    Path("repeats").mkdir()
    _of_scores("repeats", inputs / "repeats.csv", None, [])
    _call(
        "judges", "judges", _RATINGS, "--expert", "expert1", "expert2", "expert3", "--judge", "gpt", "claude", *_QUICK
    )
    _call("consensus", "judge", "consensus", _RATINGS, "--judge", "gpt", "claude", "gemini", "expert1")
    tables = [Path(benchmark.name, "scores.parquet") for benchmark in BENCHMARKS]
    _call("leaderboard", "leaderboard", "build", *filter(_can_rank, tables), "-o", "site", *_QUICK)


def _can_rank(scores: Path) -> bool:
    """Tell whether a value of the main metric is better than another."""
    read = Scores.read(scores)
    return read.metric(read.primary).higher_is_better is not None


def _of_scores(name: str, scores: Path, labels: Path | None, sources: list[Any]) -> None:
    """Write what the commands and figures make of a file of scores, into the folder of that name."""
    given = ("--scores", scores)

    def call(output: str, *arguments: object) -> None:
        _call(f"{name}/{output}", *arguments)

    for format_ in ("table", "json"):
        call(f"report.{format_}", "report", *given, "--format", format_, *_QUICK)
    call("bca", "report", *given, "--format", "json", "--interval", "bca", *_QUICK)
    call("weight", "report", *given, "--format", "json", "--weight", "cluster", *_QUICK)
    call("page", "report", *given, *sources, "--html", f"{name}/page.html", "--small-cells", *_QUICK)
    if _can_rank(scores):
        call("rank", "rank", *given, "--format", "json", *_QUICK)
    call("stats", "stats", *given, "--format", "json")
    call("plan", "plan", *given, "--difference", 0.05, "--format", "json")
    call("compare", "compare", *given, "--allow-mixed", "--margin", 0.05, "--format", "json", *_QUICK)
    call("compare-bca", "compare", *given, "--allow-mixed", "--interval", "bca", "--format", "json", *_QUICK)
    call("analyze", "analyze", *given, *sources, "--allow-mixed", "--format", "json", *_QUICK)
    by: list[Any] = ["--by", _TRAITS[name]] if name in _TRAITS else []
    if name == "attunebench":
        by += sources[2:]  # whose scores have no traits
    if by:
        call("subset", "subset", *given, *by, "--compare", "--format", "json", *_QUICK)
        call("compare-by", "compare", *given, *by, "--allow-mixed", "--format", "json", *_QUICK)
    call("eee", "export", *given, "--format", "eee", "--organization", "Lab", *by, "-o", f"{name}/eee", *_QUICK)
    call("csv", "export", *given, "--format", "csv", *by, "-o", f"{name}/csv", *_QUICK)
    call("parquet", "export", *given, "--format", "parquet", "-o", f"{name}/parquet", *_QUICK)
    _figures(Path(name), Scores.read(scores).allow_mixed())
    if labels is not None:
        call("debias", "debias", *given, "--labels", labels, "--allow-mixed", "--format", "json", *_QUICK)
        call("labels", "labels", "plan", *given, "--labels", labels, "--width", 0.1, "--format", "json")


def _figures(folder: Path, scores: Scores) -> None:
    """Write the figures of scores as SVG, each that can be drawn of them."""
    chosen: dict[str, Any] = {"resamples": 200}
    [condition] = scores.conditions[:1]
    drawn: dict[str, Callable[[], Any]] = {
        "scores": lambda: figures.scores(scores, condition=condition, **chosen),
        "ranks": lambda: figures.ranks(scores, condition=condition, **chosen),
        "profile": lambda: figures.profile(scores, scores.models[0], condition=condition, **chosen),
        "unit_difficulty": lambda: figures.unit_difficulty(scores, condition=condition),
        "win_rates": lambda: figures.win_rates(scores, condition=condition, **chosen),
        "separation": lambda: figures.separation(scores, condition=condition, **chosen),
        "skills": lambda: figures.skills(scores, condition=condition, **chosen),
        "condition_differences": lambda: figures.condition_differences(scores, **chosen),
    }
    for name, draw in drawn.items():
        with suppress(ValueError):  # Scores without what it draws: six models, two conditions, a metric from 0 to 1.
            figures.save(draw(), folder / f"{name}.svg")


def _call(output: str, *arguments: object) -> None:
    """Write what a command prints, on both streams, and its status."""
    out, err = StringIO(), StringIO()
    status: object = 0
    with redirect_stdout(out), redirect_stderr(err):
        try:
            main([str(argument) for argument in arguments])
        except SystemExit as stopped:
            status = stopped.code
    if status:
        raise AssertionError(f"{arguments} ended with {status}: {err.getvalue()}")
    Path(f"{output}.txt").write_text(f"{out.getvalue()}\n{err.getvalue()}", encoding="utf-8")


if __name__ == "__main__":
    write_outputs(Path(sys.argv[1]))
