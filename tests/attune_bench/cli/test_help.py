"""The version, and the help of every command."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import polars as pl
import pytest
from commands import Call, too_wide, without_call

from attune_bench import __version__, score
from attune_bench.annotate.store import Store
from attune_bench.cli import app
from attune_bench.stats.labels import draw_labels
from attune_data import load, load_runs

COMMANDS = app.list_commands(click.Context(app))


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the terminal be wider than what is printed may be."""
    monkeypatch.setenv("COLUMNS", "200")


def test_version(call: Call) -> None:
    assert call("--version") == (0, f"{__version__}\n", "")


@pytest.mark.slow
def test_the_package_is_a_program(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "attune_bench", "score", "--results", "demo", "--data", "demo"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("scores.json: 80 runs")
    wrong = subprocess.run([*command[:3], "scroe"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (wrong.returncode, wrong.stderr.count("attune-bench: no command 'scroe'")) == (2, 1)


RARE = ("lm-eval-path", "rejudge", "profile")
GROUPS = ("Look", "Ask", "Score and compare", "Judges and people", "Publish")


@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help_lists_commands_in_five_groups(call: Call, flag: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    status, out, err = call(flag)
    assert (status, err) == (0, "")
    assert out.startswith("Usage: attune-bench [OPTIONS] COMMAND [ARGS]...\n")
    assert tuple(re.findall(r"^(?!Options)(\w.*):$", out, re.MULTILINE)) == GROUPS
    lines = [line for line in out.splitlines() if re.match(r"  [a-z][a-z-]*  ", line)]
    assert [line.split()[0] for line in lines] == [name for name in COMMANDS if name not in RARE]
    assert all(len(line) <= 80 and line.endswith(".") for line in lines)
    assert "\nmore: attune-bench --help-all\n" in out


def test_all_help_lists_rare_commands_and_earlier_names(call: Call) -> None:
    status, out, err = call("--help-all")
    assert (status, err) == (0, "")
    listed = re.findall(r"^  ([\w-]+)  +\S", out, re.MULTILINE)
    assert [name for name in listed if name in COMMANDS] == COMMANDS
    assert {earlier.split()[0] for earlier in EARLIER} <= {*listed}
    assert "more:" not in out
    assert too_wide(out) == []


SUBCOMMANDS = (
    *("annotate predict", "annotate rate", "annotate collect", "annotate demo", "annotate backup"),
    *("annotate potato", "annotate potato-import"),
    *("batch export", "batch import", "leaderboard build", "leaderboard check"),
    *("judge agree", "judge consensus", "judge draw", "judge plan", "judge correct"),
)
LISTED = re.compile(r"^  (?:-\w, )?(--[\w-]+)", re.MULTILINE)


@pytest.mark.parametrize("command", [*COMMANDS, *SUBCOMMANDS])
def test_help_of_a_command(call: Call, command: str) -> None:
    status, out, err = call(*command.split(), "--help")
    assert (status, err) == (0, "")
    assert out.startswith(f"Usage: attune-bench {command} ")
    assert "\n  -h, --help " in out
    assert "\nJSON: " not in out
    assert re.search(r"\nExamples?:\n  attune-bench ", out)
    assert len(LISTED.findall(out)) <= 13  # and of these one is --help
    assert too_wide(out) == []
    status, everything, err = call(*command.split(), "--help-all")
    assert (status, err) == (0, "")
    assert {*LISTED.findall(out)} <= {*LISTED.findall(everything)}
    folded = f"\nmore: attune-bench {command} --help-all\n"
    assert (folded in out) == (out.replace(folded, "") != everything)
    assert "more:" not in everything


@pytest.mark.parametrize(("command", "common", "rare"), [
    ("score", "--protocol", "--similarity"), ("run", "--modes", "--panas-strategy"),
])  # fmt: skip
def test_an_option_of_a_benchmark_that_is_common_is_listed(call: Call, command: str, common: str, rare: str) -> None:
    listed = LISTED.findall(call(command, "--help")[1])
    assert common in listed
    assert rare not in listed
    assert rare in LISTED.findall(call(command, "--help-all")[1])


def test_an_option_of_several_benchmarks_is_listed_under_all_of_them(call: Call) -> None:
    sections = re.split(r"^Options of (.*):$", call("run", "--help-all")[1], flags=re.MULTILINE)
    by_title = dict(zip(sections[1::2], map(LISTED.findall, sections[2::2]), strict=True))
    assert "--judge-model" in by_title["AttuneBench and EQ-Bench 3"]
    assert by_title["AttuneBench"][0] == "--modes"


@pytest.mark.parametrize("group", ["annotate", "batch", "judge", "leaderboard"])
def test_a_group_says_in_a_line_what_each_command_does(call: Call, group: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = re.findall(r"^  [a-z]+  +(.*)$", call(group, "--help")[1], re.MULTILINE)
    assert lines
    assert all(line.endswith(".") and not line.endswith("...") for line in lines), lines


def test_statistics_are_folded(call: Call) -> None:
    few, every = (LISTED.findall(call("compare", flag)[1]) for flag in ("--help", "--help-all"))
    statistics = {"--interval", "--weight", "--unit", "--level", "--seed", "--resamples", "--allow-mixed", "--scores"}
    assert statistics.isdisjoint(few)
    assert statistics <= {*every}
    assert {"--metric", "--model", "--by", "--margin", "--format"} <= {*few}


EARLIER = {
    "stats scores.json": "analyze scores.json distribution",
    "schema run": "columns run --schema",
    "schema run --tables": "columns run --schema --tables",
    "schema": "columns --schema",
    "judges ratings.csv --expert ann bob --judge gpt": "judge agree ratings.csv --expert ann bob --judge gpt",
    "labels plan --width 0.1 --sd 0.2 --correlation 0.6 --scored 200": "judge plan --width 0.1 --sd 0.2 --correlation "
    "0.6 --scored 200",
    "labels draw scores.json --n 4 -o sheet.csv": "judge draw scores.json --n 4 -o again.csv",
    "debias scores.json --labels labels.csv --resamples 200": "judge correct scores.json --labels labels.csv "
    "--resamples 200",
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the files that examples name."""
    folder = tmp_path_factory.mktemp("examples")
    conversations = load("demo")
    scores = score(conversations, load_runs("demo"))
    scores.write(folder / "scores.json")
    rows = [
        f"{model},q{unit},accuracy,{unit % least == 0:d}" for model, least in (("a", 2), ("b", 3)) for unit in range(9)
    ]
    (folder / "results.csv").write_text("\n".join(["model,unit,metric,value", *rows]))
    rated = (
        (item, rater, (item + place) // 3) for item in range(9) for place, rater in enumerate(("ann", "bob", "gpt"))
    )
    ratings = [f"{item},{rater},warmth,{rating}" for item, rater, rating in rated]
    (folder / "ratings.csv").write_text("\n".join(["item,rater,dimension,rating", *ratings]))
    draw_labels(scores, 30, metric="avg_draft_judge_score").with_columns(rating=pl.lit(0.5)).write_csv(
        folder / "labels.csv"
    )
    (folder / "texts.csv").write_text("model,unit,text\na,q1,Yes.\nb,q1,No.\n")
    Store.create(folder / "study.db", "rate", {}).close()
    return folder


@pytest.mark.parametrize("earlier", EARLIER)
def test_an_earlier_name_does_the_same(
    call: Call, files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, earlier: str
) -> None:
    for file in files.iterdir():
        (tmp_path / file.name).symlink_to(file)
    monkeypatch.chdir(tmp_path)
    before = call(*earlier.split())
    after = call(*EARLIER[earlier].split())
    assert before[0] == after[0] != 1
    assert without_call(before[1]).replace("sheet", "again") == without_call(after[1])
    assert before[2] == after[2]
    assert call(earlier.split(maxsplit=1)[0], "--help")[1].startswith(
        f"Usage: attune-bench {earlier.split(maxsplit=1)[0]} "
    )


def examples() -> list[str]:
    """Return the example of every command and group."""
    found: list[str] = []
    with click.Context(app) as ctx:
        for name in COMMANDS:
            command = app.get_command(ctx, name)
            group = command if isinstance(command, click.Group) else None
            own = [group.get_command(ctx, one) for one in group.list_commands(ctx)] if group else []
            found += [example for one in (command, *own) for example in getattr(one, "examples", ())]
    return list(dict.fromkeys(found))


# What asks a server, is one, or reads what one kept.
SERVED = (
    *("http://", "batch import", "annotate predict", "annotate rate", "annotate collect", "annotate demo"),
    "annotate potato-import",
)
SLOW = (".html", "demo", "leaderboard", "profile.svg", "figure.pdf", "analyze", "--compare")


def test_every_command_has_an_example() -> None:
    shown = examples()
    for command in (*COMMANDS, *SUBCOMMANDS):
        assert any(example.startswith(command) for example in shown), command
    assert sum(example.startswith(SERVED) or "http://" in example for example in shown) <= 9


@pytest.mark.parametrize(
    "example",
    [
        pytest.param(one, marks=pytest.mark.slow) if any(word in one for word in SLOW) else one
        for one in examples()
        if not any(word in one for word in SERVED)
    ],
)
def test_an_example_runs(
    call: Call, files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, example: str
) -> None:
    for file in files.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    monkeypatch.chdir(tmp_path)
    if example.startswith("score"):
        (tmp_path / "scores.json").unlink()
    status, out, err = call(*shlex.split(example))
    assert (status, bool(out)) == (0, True), err


def test_every_option_says_what_it_is_for() -> None:
    commands = {name: app.get_command(click.Context(app), name) for name in COMMANDS}
    silent = [
        f"{name} {option.opts[0]}"
        for name, command in commands.items()
        for option in getattr(command, "params", ())
        if isinstance(option, click.Option) and not option.help
    ]
    assert silent == []


def test_no_command_is_help(call: Call) -> None:
    assert call() == call("--help")
