"""Any command with any options on any files, of which one may be damaged: it ends in output or in one line."""

import gzip
import io
import json
import os
import shutil
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from random import Random
from typing import Any

import click
import hostile
import polars as pl

from attune_bench.cli import app, main
from attune_data.codebook import codebook_folder
from attune_data.testing import mutated

_ODD = (
    *("", " ", "-", "--", "\n", "\x1b[31m", "null", "nan", "inf", "-1", "0", "1e999", "9" * 400, "0.5", "1e-9", "true"),
    *(
        "é\u202e",
        "\udcff",
        "x" * 5000,
        "../..",
        "/",
        ".",
        "~",
        "/dev/null",
        "demo",
        "hf://",
        "hf://a/b@c/../..",
        "%s{0}",
    ),
    *("=1+1", "[bold]x[/bold]", "<script>", "a=b", "a=", "=", "age=", "category=Health", "trait=all", "'; drop"),
)
_BENCHMARKS: dict[str, dict[str, tuple[str, ...]]] = {
    "attunebench": {
        "data": ("data/conversations.jsonl", "data/tables"),
        "results": ("results/runs", "results/packed.zip", "results/packed.tar.gz"),
        "scores": ("scores/scores.json", "scores/runs.parquet"),
        "metric": ("composite_score", "avg_pairwise_accuracy"),
        "id": ("5ee0818c-7a31-4a60-a10e-8b6126e55ca8",),
        "kind": ("conversation", "run", "diagnoses"),
        "model": ("baseline/chance",),
        "by": ("category", "diagnosis", "age_range"),
        "where": ("category=Health", "diagnosis=ADHD", "n_turns=4"),
        "calls": ("batch/calls.jsonl",),
        "answers": ("batch/answers.jsonl",),
        "filter": ("who_5 < 13", "n_turns > 3 and category in ('Health', 'Family')"),
        "name": ("separation", "gaps", "drift", "questions", "rank_shifts"),
    },
    "eibench": {
        "data": ("data/scenarios.jsonl", "data/scenarios.jsonl.gz"),
        "results": ("results/episodes.jsonl",),
        "scores": ("scores/episodes.parquet",),
        "metric": ("reward", "final_anger"),
        "kind": ("scenario", "episode"),
        "model": ("synthetic/hasty",),
        "by": ("scene",),
        "where": ("scene=charm",),
        "filter": ("scene = 'charm'",),
        "name": ("separation", "rank_shifts"),
    },
    "sage": {
        "data": ("results/dialogues.jsonl",),
        "results": ("results/dialogues.jsonl",),
        "scores": ("scores/dialogues.parquet",),
        "metric": ("emo_point", "success"),
        "id": ("demo_move",),
        "kind": ("dialogue",),
        "model": ("synthetic/hasty",),
        "name": ("separation",),
    },
    "emobench": {
        "data": ("data/items.jsonl",),
        "results": ("results/predictions.jsonl",),
        "scores": ("scores/predictions.parquet",),
        "metric": ("item_accuracy", "eu_accuracy"),
        "id": ("EU/1/en",),
        "kind": ("item", "prediction"),
        "model": ("synthetic/hasty",),
        "by": ("task", "language"),
        "where": ("task=EA",),
        "filter": ("task = 'EA'",),
        "name": ("position_bias", "repeat_variances"),
    },
    "": {
        "scores": ("scores/table.csv", "scores/table.parquet"),
        "entries": ("scores/entry.toml", "scores/table.csv"),
        "metric": ("accuracy",),
        "labels": ("labels/table.csv",),
        "label_metric": ("accuracy",),
        "by": ("topic",),
        "where": ("topic=easy",),
        "filter": ("topic = 'easy'",),
        "name": ("separation", "condition_differences"),
    },
}
_OTHERS = {
    "model": ("one",),
    "ratings": ("ratings/table.csv", "ratings/table.parquet"),
    "expert": ("ann",),
    "judge": ("m",),
    "unit": ("cluster", "unit", "conversation", "participant"),
    "provider": ("openai-compatible", "local"),
    "judge_model": ("judge",),
    "temperature": ("0", "server", "0.7"),
    "resamples": ("50", "200"),
    "level": ("0.9", "0.95"),
    "limit": ("1", "2"),
    "concurrency": ("1", "8"),
    "difference": ("0.05", "0.5"),
    "participants": ("30",),
    "max_tokens": ("10", "500", "server"),
    "reasoning_effort": ("low",),
    "extra_body": ('{"top_p": 0.9}', "{}", "[]"),
    "api_key": ("sk-hostile-0123456789",),
    "output": ("out", "out.parquet", "out/deep/er.json", "out.jsonl", "out.csv"),
    "html": ("page.html",),
    "codebook": ("codebook/own.toml", "codebook/own.json"),
    "prompts": ("prompts/v2",),
    "prices": ("prices/prices.toml",),
    "again": ("batch/results",),
    "organization": ("Lab",),
    "dataset": ("owner/name",),
    "licence": ("cc-by-4.0",),
    "base_url": ("http://127.0.0.1:9/v1",),
}
_FILES = (
    "data",
    "results",
    "scores",
    "codebook",
    "prompts",
    "prices",
    "calls",
    "answers",
    "again",
    "labels",
    "ratings",
)
_NEEDED = {
    "score": ("data",),
    "run": ("dry_run", "base_url"),
    "profile": ("dry_run", "base_url"),
    "rejudge": ("data", "base_url"),
    "subset": ("where",),
    "plan": ("scores", "difference"),
    "export": ("organization", "dataset"),
}
_ONLY = {
    "run": ("attunebench", "eibench", "emobench"),
    **dict.fromkeys(("profile", "rejudge", "batch export", "batch import"), ("attunebench",)),
}


def case(seed: int, folder: Path) -> Iterator[str]:
    """Run one command that would do, but for one thing: a damaged or another file, an odd value, or nothing."""
    rng = Random(seed)
    names = [name for name in app.list_commands(click.Context(app)) if name != "demo"]
    command = app.get_command(click.Context(app), rng.choice(names))
    assert command is not None
    words = [str(command.name)]
    if isinstance(command, click.Group):
        words.append(rng.choice(sorted(command.commands)))
        command = command.commands[words[-1]]
    takes_any = any(one.name in ("scores", "entries") for one in command.params)
    of_all = tuple(_BENCHMARKS) if takes_any else tuple(_BENCHMARKS)[:-1]
    benchmark = rng.choice(_ONLY.get(" ".join(words), of_all))
    with tempfile.TemporaryDirectory(dir=folder) as own:
        os.chdir(own)
        arguments = [*words, *_arguments(command, benchmark, rng, folder / "files")]
        status, error = _called(arguments)
        os.chdir(folder)
    told = f"{arguments!r:.1500} ended with {status}: {error[-1500:]}"
    is_line = status != 2 or error.splitlines()[-1].startswith("attune-bench: ")
    unsaid = error.replace("attune-bench: Warning: ", "")  # A warning of an analysis is meant for the reader.
    if status not in (0, 1, 2) or not is_line or any(word in unsaid for word in ("Traceback", "panicked", "Warning")):
        yield told


def _arguments(command: click.Command, benchmark: str, rng: Random, files: Path) -> list[str]:
    """Return the command line; the file or value that is wrong may be that of any of its parameters."""
    needed = () if (command.name, benchmark) == ("score", "sage") else _NEEDED.get(str(command.name), ())
    given = [one for one in command.params if one.required or one.name in (*needed, "scores") or rng.random() < 0.07]
    wrong = rng.choice(given) if given and rng.random() < 0.9 else None
    found = []
    for parameter in given:
        values = [] if getattr(parameter, "is_flag", False) else [_value(parameter, benchmark, rng, files)]
        if values and parameter is wrong:
            values = [_wrong(values[0], rng, files)]
        found += values if isinstance(parameter, click.Argument) else [rng.choice(parameter.opts), *values]
    if (command.name, benchmark) == ("run", "eibench"):
        found += ["--simulator-model", "person"]
    return [*found, "--expert", "bob"] if command.name == "agree" else found


def _value(parameter: click.Parameter, benchmark: str, rng: Random, files: Path) -> str:
    name = {"source": "data", "sources": "data", "directory": "results", "samples": "results", "entries": "scores"}.get(
        str(parameter.name), str(parameter.name)
    )
    if isinstance(parameter.type, click.Choice):
        return str(rng.choice(parameter.type.choices))
    if name == "benchmark":
        return benchmark or rng.choice(_ODD)
    own = _BENCHMARKS[benchmark]
    known = own.get(str(parameter.name)) or own.get(name) or _OTHERS.get(name)
    value = rng.choice(known or ("1", "2"))
    return str(files / value) if known and name in _FILES else value


def _wrong(value: str, rng: Random, files: Path) -> str:
    """Return something else: of a file mostly a damaged copy."""
    path, chance = Path(value), rng.random()
    if not path.is_absolute() or chance < 0.1:
        return rng.choice(_ODD)
    if chance < 0.2:
        return str(rng.choice(sorted(rng.choice(sorted(files.iterdir())).iterdir())))
    copy = Path(f"copy-{path.name}").absolute()
    if path.is_dir():
        shutil.copytree(path, copy)
        _damage(rng.choice([one for one in sorted(copy.rglob("*")) if one.is_file()]), rng)
    else:
        shutil.copy(path, copy)
        about = path.with_suffix(".toml")
        damaged = copy
        if about.exists() and path != about:
            damaged = rng.choice((copy, Path(shutil.copy(about, copy.with_suffix(".toml")))))
        _damage(damaged, rng)
    return str(copy)


def _damage(path: Path, rng: Random) -> None:
    data = path.read_bytes()
    lines = data.splitlines()
    try:
        documents = [json.loads(line) for line in lines] if path.suffix == ".jsonl" else [json.loads(data)]
    except ValueError:
        documents = []
    if documents and isinstance(documents[0], dict) and rng.random() < 0.8:
        place = rng.randrange(len(documents))
        changed = mutated(documents[place], rng)
        data = b"\n".join([*lines[:place], changed, *lines[place + 1 :]]) if path.suffix == ".jsonl" else changed
    else:
        for _ in range(rng.randint(1, 5)):
            place, length = rng.randrange(len(data) + 1), rng.choice((0, 0, 1, 1, 5, 1000))
            put = rng.choice(
                (b"", bytes([rng.randrange(256)]), b"\0", b"9" * 400, b'"', b"\n\n", b"=1", rng.randbytes(20))
            )
            data = data[:place] + put + data[place + length :]
        if rng.random() < 0.2:
            data = data[: rng.randrange(len(data) + 1)]
    path.write_bytes(data)


def _called(arguments: list[str]) -> tuple[Any, str]:
    """Run a command; return its status and its standard error, also what native code writes to it."""
    kept = os.dup(2)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 2)
        out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
        said = io.TextIOWrapper(file, encoding="utf-8")
        try:
            with redirect_stdout(out), redirect_stderr(said):
                main(arguments)
        except SystemExit as ended:
            status = ended.code
        finally:
            os.dup2(kept, 2)
            os.close(kept)
            said.flush()
            file.seek(0)
            error = file.read().decode(errors="backslashreplace")
            said.detach()
    return status, error


def _write_demo(folder: Path, data: Any, results: Any) -> None:
    """Write the demonstration records of two kinds, and their scores, under what they are called."""
    from attune_bench import score
    from attune_data import load_records

    given, made = load_records("demo", data), load_records("demo", results)
    given.to_jsonl(folder / "data" / f"{data.plural}.jsonl")
    made.to_jsonl(folder / "results" / f"{results.plural}.jsonl")
    score(given, made).write(folder / "scores" / f"{results.plural}.parquet")


def write_files(folder: Path) -> None:
    """Write the files that the cases read: a folder of each kind, small and good."""
    from attune_bench import score
    from attune_bench.benchmarks.attunebench.baselines import BASELINES
    from attune_bench.runner.prompts import load_prompts
    from attune_data import load, load_episodes, load_sage, load_scenarios
    from attune_data.kinds import ITEM, PREDICTION

    for kind in ("data", "results", "scores", "codebook", "prompts", "prices", "batch", "labels", "ratings"):
        (folder / kind).mkdir(parents=True)
    conversations = load("demo").sample(4, seed=0)
    runs = [run for name in ("chance", "prior") for run in BASELINES[name](conversations)]
    conversations.to_jsonl(folder / "data" / "conversations.jsonl")
    conversations.to_parquet(folder / "data" / "tables")
    (folder / "results" / "runs").mkdir()
    for place, run in enumerate(runs):
        (folder / "results" / "runs" / f"{place}.json").write_bytes(run.to_json())
    shutil.make_archive(str(folder / "results" / "packed"), "gztar", folder / "results" / "runs")
    shutil.make_archive(str(folder / "results" / "packed"), "zip", folder / "results" / "runs")
    scenarios, episodes, dialogues = load_scenarios("demo"), load_episodes("demo"), load_sage("demo")
    scenarios.to_jsonl(folder / "data" / "scenarios.jsonl")
    episodes.to_jsonl(folder / "results" / "episodes.jsonl")
    packed = gzip.compress((folder / "data" / "scenarios.jsonl").read_bytes(), mtime=0)
    (folder / "data" / "scenarios.jsonl.gz").write_bytes(packed)
    dialogues.to_jsonl(folder / "results" / "dialogues.jsonl")
    for name in ("scores.json", "runs.parquet"):
        score(conversations, runs).write(folder / "scores" / name)
    score(scenarios, episodes).write(folder / "scores" / "episodes.parquet")
    score(dialogues).write(folder / "scores" / "dialogues.parquet")
    _write_demo(folder, ITEM, PREDICTION)
    _write_table(folder)
    _write_ratings(folder / "ratings")
    bundled = load_prompts("attune_bench.benchmarks.attunebench", "v2")
    bundled.write(folder / "prompts" / "v2")
    (folder / "prices" / "prices.toml").write_text('["m"]\ninput = 1.0\noutput = 2.0\n', encoding="utf-8")
    codebook = (codebook_folder() / "attunebench.toml").read_text(encoding="utf-8")
    (folder / "codebook" / "own.toml").write_text(codebook, encoding="utf-8")
    (folder / "codebook" / "own.json").write_text(json.dumps(tomllib.loads(codebook)), encoding="utf-8")
    data, calls = folder / "data" / "conversations.jsonl", folder / "batch" / "calls.jsonl"
    _called(["batch", "export", "local", "m", str(data), "-o", str(calls)])
    asked = [json.loads(line) for line in calls.read_bytes().splitlines()]
    message = {"choices": [{"message": {"content": '{"drafted_response": "I see."}'}}]}
    answered = [{"custom_id": one["custom_id"], "response": {"status_code": 200, "body": message}} for one in asked]
    answers = folder / "batch" / "answers.jsonl"
    answers.write_text("\n".join(map(json.dumps, answered)), encoding="utf-8")
    _called(["batch", "import", str(calls), str(answers), "-o", str(folder / "batch" / "results")])


def _write_table(folder: Path) -> None:
    from attune_bench import Scores

    rows = [
        f"{model},q{unit},accuracy,{(unit * place) % 2},{'easy' if unit % 3 else '=hard'}"
        for place, model in enumerate(("one", "two"), start=1)
        for unit in range(30)
    ]
    table = folder / "scores" / "table.csv"
    table.write_text("\n".join(["model,unit,metric,value,topic", *rows, ""]), encoding="utf-8")
    about = 'title = "Questions"\nunit = "question"\n\n[metrics.accuracy]\nlabel = "Accuracy"\nlow = 0\nhigh = 1\n'
    table.with_suffix(".toml").write_text(about, encoding="utf-8")
    rated = [f"{model},q{unit},{unit % 2}" for model in ("one", "two") for unit in range(0, 30, 3)]
    (folder / "labels" / "table.csv").write_text("\n".join(["model,unit,rating", *rated, ""]), encoding="utf-8")
    entry = 'scores = "table.parquet"\nmodel = "one"\nlink = "https://example.org"\ndate = 2026-01-01\n'
    entry += 'submitter = "Lab"\ncontact = "a@example.org"\nlicence = "mit"\n'
    (folder / "scores" / "entry.toml").write_text(entry, encoding="utf-8")
    Scores.from_table(table).write(folder / "scores" / "table.parquet")


def _write_ratings(folder: Path) -> None:
    given = {"ann": [1, 2, 3, 4] * 3, "bob": [2, 2, 4, 3] * 3, "m": [1, 3, 3, 4] * 3}
    ratings = [(f"q{item}", rater, "warmth", one) for rater in given for item, one in enumerate(given[rater])]
    rating_table = pl.DataFrame(ratings, schema=["item", "rater", "dimension", "rating"], orient="row")
    rating_table.write_csv(folder / "table.csv")
    rating_table.write_parquet(folder / "table.parquet")


if __name__ == "__main__":
    hostile.main(case, most_bytes=400 * 2**20)
