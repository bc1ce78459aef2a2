"""The code that the pages of the documentation show runs and prints what they say; names and links on them exist."""

import doctest
import io
import json
import pydoc
import re
import shlex
import sys
import tomllib
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any

import click
import pytest
from documentation import BLOCK, Block
from hub_server import TOKEN
from model_server import ModelServer
from page_data import lay_out

from attune_bench.cli import main
from attune_data import load

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FLAGS = doctest.ELLIPSIS


OF_HARNESSES = {
    "inspect.md": ("--model-role", "--log-dir", "--epochs"),
    "lm-eval.md": (
        *("--include_path", "--tasks", "--apply_chat_template", "--model_args", "--metadata", "--output_path"),
        *("--log_samples", "--gen_kwargs", "--cache_requests"),
    ),
    "early.md": ("--simulations",),
    "judged-pairs.md": ("--simulations",),
    "separation.md": ("--simulations",),
    "after-a-misread.md": ("--simulations",),
    "contamination.md": ("--slips",),
    "truth.md": ("--simulations",),
    "verifiers.md": (*("--env", "--client", "--sampling", "--push", "--output-dir"),),
}
"""Options of other tools, and of scripts in `benchmarks`, that a page names."""

OF_EXTRAS = ("openai", "torch", "trl", "attune_bench.adapters.trl")
"""Modules that pages import and that come with an extra."""

LONG = (
    "README.md",
    "attunebench.md",
    "branches.md",
    "columns.md",
    "comparing.md",
    "comparisons.md",
    "data/attunebench.md",
    "eibench.md",
    "emobench.md",
    "eqbench.md",
    "eqbench3-pairs.md",
    "eqbench4.md",
    "from-files-to-a-subgroup.md",
    "judges.md",
    "leaderboard.md",
    "metrics/contamination.md",
    "people.md",
    "repeats.md",
    "running.md",
    "scale.md",
    "scores.md",
    "separation.md",
    "start.md",
    "statistics.md",
    "testing-a-metric.md",
    "testing-with-our-data.md",
    "truth.md",
)

ELSEWHERE = {
    "README.md python sh": "test_readme.py",
    "adding-a-benchmark.md sh python": "test_adding_a_benchmark.py",
    "attunebench.md sh": "attune_bench/benchmarks/attunebench/test_similarity.py",
    "collecting.md sh": "attune_bench/benchmarks/attunebench/annotation/test_demo.py",
    "batch.md sh": "attune_bench/adapters/test_pages.py",
    "exchange.md sh": "attune_bench/adapters/test_pages.py",
    "training.md sh python": "attune_bench/adapters/test_trl.py",
    "inspect.md sh python yaml": "attune_bench/adapters/test_harnesses.py",
    "lm-eval.md sh python": "attune_bench/adapters/test_harnesses.py",
    "verifiers.md sh python": "attune_bench/adapters/test_verifiers.py",
}
"""Blocks of a page, by language, that another file of tests runs: most need an environment of their own."""

FEW = 6
"""Blocks that nothing runs; each says why."""

OF_THE_HUB = ("publishing.md", "scale.md", "data/attunebench.md")
"""Pages that read from the Hub or write to it, or that use `datasets`; they get one on the loopback interface."""

SERVERS = re.compile(r"http://localhost:80[08]0/v1")
"""Where pages have a server of models."""


def name_of(page: Path) -> str:
    """Return what a test of a page is called by."""
    return page.relative_to(ROOT).as_posix().removeprefix("docs/")


def blocks(page: Path, *languages: str) -> list[Block]:
    """Return a page's blocks of code in some languages, or in any."""
    found = [Block(*parts) for parts in BLOCK.findall(page.read_text(encoding="utf-8"))]
    return [block for block in found if not languages or block.language in languages]


def elsewhere(page: Path) -> list[str]:
    """Return the languages of a page whose blocks are run by other tests."""
    return next((rest for name, *rest in map(str.split, ELSEWHERE) if name == name_of(page)), [])


def run_session(text: str, names: dict[str, Any]) -> None:
    """Run a session at the Python prompt, in which a blank line within an output stands for itself."""
    code = re.sub(r"\n\n(?!>>> )", "\n<BLANKLINE>\n", text.rstrip("\n"))
    report: list[str] = []
    test = doctest.DocTestParser().get_doctest(code, names, "page", "page", 0)
    test.globs = names  # not a copy, as functions of earlier sessions see what later ones define
    doctest.DocTestRunner(optionflags=FLAGS).run(test, out=report.append, clear_globs=False)
    assert not report, "".join(report)


def run_commands(text: str) -> None:
    """Run the command lines of a block, and compare what is shown below each, if anything is, with what it prints."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, shown = part.rstrip("\n").partition("\n")
        printed = called(command)
        same = doctest.OutputChecker().check_output(f"{shown}\n", f"{printed}\n", FLAGS)
        assert not shown or same, f"$ {command}\n{printed}"


def run_lines(text: str) -> None:
    """Run the lines of a script of calls of this project's commands; none may fail."""
    for line in text.replace("\\\n", "").splitlines():
        if not line.startswith("pip install "):
            printed, status = end_of(line)
            assert status == 0, f"{line}\n{printed}"


def run_program(text: str, names: dict[str, Any]) -> None:
    """Run a block that is a program, and the tests that it defines."""
    before = set(names)
    exec(compile(text, "page", "exec"), names)  # noqa: S102
    for name in set(names) - before:
        if name.startswith("test_"):
            names[name]()


def called(command: str) -> str:
    """Return what a command line prints."""
    return end_of(command)[0]


def end_of(command: str) -> tuple[str, int]:
    """Return what a command line prints, and its exit status."""
    name, *words = shlex.split(command)
    assert name == "attune-bench"
    printed = io.StringIO()
    with redirect_stdout(printed), redirect_stderr(printed), pytest.raises(SystemExit) as ended:
        main(words)
    return printed.getvalue().rstrip("\n"), int(ended.value.code or 0)


def run_python(text: str, names: dict[str, Any]) -> None:
    """Run a session or a program."""
    (run_session if text.startswith(">>> ") else run_program)(text, names)


def read_json(text: str) -> None:
    """Read a document, or one a line."""
    for document in [text] if text.startswith("{\n") else text.splitlines():
        json.loads(document)


RUN: dict[str, Callable[[str, dict[str, Any]], None]] = {
    "python": run_python,
    "console": lambda text, _: run_commands(text),
    "sh": lambda text, _: run_lines(text),
}
DATA: dict[str, Callable[[str], Any]] = {"json": read_json, "toml": tomllib.loads, "csv": str.splitlines}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    return tmp_path


@pytest.fixture
def server() -> Iterator[str]:
    """Serve a model, and return the address."""
    with ModelServer() as serving:
        yield serving.url


def test_every_block_runs_or_says_why_not() -> None:
    every = [(page, block) for page in PAGES for block in blocks(page)]
    unknown = {block.language for _, block in every} - {*RUN, *DATA, "text", "math", "yaml", "r"}
    assert not unknown
    assert all(block.not_run for _, block in every if block.language == "r")
    assert all(block.not_run for _, block in every if block.language == "text" and block.text.startswith("$ "))
    assert len([block for _, block in every if block.not_run and block.language != "r"]) <= FEW
    for names, file in ELSEWHERE.items():
        page, *languages = names.split()
        assert blocks(ROOT / page if page == "README.md" else ROOT / "docs" / page, *languages), names
        assert page in (ROOT / "tests" / file).read_text(encoding="utf-8"), file


def test_pages_with_code_that_runs() -> None:
    sessions = {page.name for page in PAGES if any(block.text.startswith(">>> ") for block in blocks(page, "python"))}
    assert {"eibench.md", "from-files-to-a-subgroup.md", "instruments.md", "loading.md", "publishing.md"} <= sessions
    assert {"own-results.md", "running.md", "testing-a-metric.md", "testing-with-our-data.md"} <= sessions
    commands = {
        page.name for page in PAGES if any(block.text.startswith("$ attune-") for block in blocks(page, "console"))
    }
    assert {"from-files-to-a-subgroup.md", "own-results.md", "scores.md"} <= commands


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=pytest.mark.slow) if name_of(page) in LONG else page for page in PAGES],
    ids=name_of,
)
def test_page_runs_from_top_to_bottom(
    page: Path, folder: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    names: dict[str, Any] = {"__name__": "page"}
    lay_out(name_of(page), folder)
    if name_of(page) in OF_THE_HUB:
        hub = request.getfixturevalue("hub")
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        if name_of(page) == "data/attunebench.md":
            hub.add("owner/name", {"conversation_1.json": load("demo")[0].to_line()})
    if name_of(page) == "scale.md":
        monkeypatch.setattr(sys, "argv", ["shard.py", "runs/records.parquet", "scored.parquet"])
    for file, not_run, language, text in blocks(page):
        code = text
        if SERVERS.search(text) or " openrouter " in text:
            address = request.getfixturevalue("server")
            code = SERVERS.sub(address, text).replace(" openrouter ", f" local --base-url {address} ")
        if not_run or (language in elsewhere(page) and not text.startswith(">>> ")):
            continue
        if file and language in DATA:
            (folder / file).write_text(text, encoding="utf-8")
        elif language in DATA:
            DATA[language](text)
        elif language in RUN:
            RUN[language](code, names)


NAMES = re.compile(r"`(attune_(?:data|metrics|bench)(?:\.\w+)+)\b")


def test_names_and_links_exist() -> None:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for name in NAMES.findall(text):
            if name in OF_EXTRAS:
                continue
            assert pydoc.locate(name) is not None, (page, name)
        # GitHub shows such a bar alone, the site shows the backslash too.
        assert not re.search(r"^\|.*`[^`]*\\\|[^`]*`", text, re.MULTILINE), page
        for target in re.findall(r"\]\((?!https?://)([^)#]+)", text):
            assert (page.parent / target).exists(), (page, target)


OPTIONS = re.compile(r"(?<![\w-])--[a-z][\w-]*")


def options() -> set[str]:
    """Return the options that the help of any command names."""
    from attune_bench.cli import app

    context = click.Context(app)
    commands = {name: app.get_command(context, name) for name in app.list_commands(context)}
    groups = {name: group for name, group in commands.items() if isinstance(group, click.Group)}
    of_groups = [f"{name} {one}" for name, group in groups.items() for one in group.list_commands(context)]
    every = [*commands, *of_groups, ""]
    return {option for command in every for option in OPTIONS.findall(called(f"attune-bench {command} --help-all"))}


def test_options_exist() -> None:
    known = {*options(), "--help-all"}
    for page in PAGES:
        of_other_tools = {"--schemafile", "--model", *OF_HARNESSES.get(page.name, ())}
        assert set(OPTIONS.findall(page.read_text(encoding="utf-8"))) - {*known, *of_other_tools} == set(), page


@cache
def _imports_tools(script: str) -> bool:
    """Tell whether a script in `benchmarks` imports what is in `tools`, itself or by another script."""
    path = ROOT / "benchmarks" / f"{script}.py"
    if not path.exists():
        return script == "synthetic"
    imported = re.findall(r"^(?:from|import) (\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    return any(map(_imports_tools, imported))


def test_the_command_of_a_benchmark_names_the_tools_that_it_imports() -> None:
    command = re.compile(r"(PYTHONPATH=tools )?python benchmarks/(\w+)\.py")
    said = [
        (path.name, *found)
        for path in (*PAGES, *(ROOT / "benchmarks").glob("*.py"))
        for found in command.findall(path.read_text(encoding="utf-8"))
    ]
    assert len(said) > 60
    assert [one for one in said if bool(one[1]) != _imports_tools(one[2])] == []
