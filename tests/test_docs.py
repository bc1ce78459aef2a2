"""The code that the pages of the documentation show runs and prints what they say; names and links on them exist."""

import doctest
import io
import pydoc
import re
import shlex
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import click
import pytest
from documentation import BLOCK

from attune_bench.cli import main

ROOT = Path(__file__).parents[1]
FOLDERS = ("docs", "docs/data", "docs/metrics")
PAGES = [ROOT / "README.md", *(page for folder in FOLDERS for page in sorted((ROOT / folder).glob("*.md")))]
FLAGS = doctest.ELLIPSIS


OF_HARNESSES = {
    "inspect.md": ("--model-role", "--log-dir", "--epochs"),
    "lm-eval.md": (
        *("--include_path", "--tasks", "--apply_chat_template", "--model_args", "--metadata", "--output_path"),
        *("--log_samples", "--gen_kwargs", "--cache_requests"),
    ),
    "verifiers.md": (*("--env", "--client", "--sampling", "--push", "--output-dir"),),
}
"""Options of other tools that a page names."""

OF_EXTRAS = ("openai", "torch", "trl", "attune_bench.adapters.trl", "attune_bench.adapters.verifiers")
"""Modules that pages import and that come with an extra."""

LONG = ("scores.md", "testing-a-metric.md", "testing-with-our-data.md")


def name_of(page: Path) -> str:
    """Return what a test of a page is called by."""
    return page.relative_to(ROOT).as_posix().removeprefix("docs/")


def blocks(page: Path, language: str) -> list[str]:
    """Return a page's blocks of code in a language."""
    return [text for _, found, text in BLOCK.findall(page.read_text(encoding="utf-8")) if found == language]


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


def called(command: str) -> str:
    """Return what a command line prints."""
    printed = io.StringIO()
    with redirect_stdout(printed), redirect_stderr(printed), pytest.raises(SystemExit):
        main(shlex.split(command)[1:])
    return printed.getvalue().rstrip("\n")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    return tmp_path


def test_pages_with_code_that_runs() -> None:
    sessions = {page.name for page in PAGES if any(text.startswith(">>> ") for text in blocks(page, "python"))}
    assert {"eibench.md", "from-files-to-a-subgroup.md", "instruments.md", "loading.md", "publishing.md"} <= sessions
    assert {"own-results.md", "running.md", "testing-a-metric.md", "testing-with-our-data.md"} <= sessions
    commands = {page.name for page in PAGES if any(text.startswith("$ attune-") for text in blocks(page, "console"))}
    assert {"README.md", "from-files-to-a-subgroup.md", "own-results.md", "scores.md"} <= commands


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=pytest.mark.slow) if page.name in LONG else page for page in PAGES],
    ids=name_of,
)
def test_page_runs_from_top_to_bottom(page: Path, folder: Path) -> None:
    names: dict[str, Any] = {}
    for file, language, text in BLOCK.findall(page.read_text(encoding="utf-8")):
        if language in {"csv", "toml", "json"} and file:
            (folder / file).write_text(text, encoding="utf-8")
        elif language == "python" and text.startswith(">>> "):
            run_session(text, names)
        elif language == "python" and page.name != "README.md":
            # Not a session, as it needs data or a server; what it imports is there.
            lines = re.findall(r"^(?:from|import) .*", text, re.MULTILINE)
            there = [line for line in lines if line.split()[1] not in OF_EXTRAS]
            exec("\n".join(there), {})  # noqa: S102
        elif language == "console":
            run_commands(text)


NAMES = re.compile(r"`(attune_(?:data|metrics|bench)(?:\.\w+)+)\b")


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_names_and_links_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for name in NAMES.findall(text):
        if name in OF_EXTRAS:
            continue
        assert pydoc.locate(name) is not None, name
    for target in re.findall(r"\]\((?!https?://)([^)#]+)", text):
        assert (page.parent / target).exists(), target


OPTIONS = re.compile(r"(?<![\w-])--[a-z][\w-]*")


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_options_exist(page: Path) -> None:
    from attune_bench.cli import app

    every = [*app.list_commands(click.Context(app)), "batch export", "batch import", "labels draw", "labels plan", ""]
    helps = "".join(called(f"attune-bench {command} --help") for command in every)
    of_other_tools = {"--schemafile", "--model", *OF_HARNESSES.get(page.name, ())}
    assert set(OPTIONS.findall(page.read_text(encoding="utf-8"))) <= {*OPTIONS.findall(helps), *of_other_tools}
