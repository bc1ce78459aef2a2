"""The code that the pages of the documentation show runs and prints what they say; names and links on them exist."""

import doctest
import io
import pydoc
import re
import shlex
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from attune_bench.cli import main

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FLAGS = doctest.ELLIPSIS


def fenced(page: Path, language: str) -> list[str]:
    """Return a page's blocks of code in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def session(page: Path) -> str:
    """Return a page's sessions at the Python prompt; a blank line within an output stands for itself."""
    blocks = [block for block in fenced(page, "python") if block.startswith(">>> ")]
    return "\n\n".join(re.sub(r"\n\n(?!>>> )", "\n<BLANKLINE>\n", block.rstrip("\n")) for block in blocks)


def commands(page: Path) -> Iterator[tuple[str, str]]:
    """Yield each command line of a page with the output shown below it."""
    for block in fenced(page, "console"):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            yield command, output.rstrip("\n")


def files(page: Path) -> dict[str, str]:
    """Return the files that a page shows, each below a line that ends with its name and a colon."""
    shown = re.findall(
        r"`([\w.-]+)`:\n\n```(?:csv|toml|json)\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE
    )
    return dict(shown)


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


def test_pages_with_sessions() -> None:
    named = {page.name for page in PAGES if session(page)}
    assert {"eibench.md", "from-files-to-a-subgroup.md", "instruments.md", "loading.md", "publishing.md"} <= named
    assert {"own-results.md", "running.md", "testing-a-metric.md", "testing-with-our-data.md"} <= named


def test_pages_with_commands() -> None:
    named = {page.name for page in PAGES if next(commands(page), None)}
    assert {"README.md", "from-files-to-a-subgroup.md", "own-results.md", "scores.md"} <= named


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page_runs(page: Path, folder: Path) -> None:
    for name, text in files(page).items():
        (folder / name).write_text(text, encoding="utf-8")
    test = doctest.DocTestParser().get_doctest(session(page), {}, page.name, page.name, 0)
    report: list[str] = []
    doctest.DocTestRunner(optionflags=FLAGS).run(test, out=report.append)
    assert not report, "".join(report)
    checker = doctest.OutputChecker()
    for command, shown in commands(page):
        assert command.startswith("attune-bench "), command
        printed = called(command)
        assert not shown or checker.check_output(f"{shown}\n", f"{printed}\n", FLAGS), f"$ {command}\n{printed}"


NAMES = re.compile(r"`(attune_(?:data|metrics|bench)(?:\.\w+)+)\b")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_names_and_links_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for name in NAMES.findall(text):
        assert pydoc.locate(name) is not None, name
    for target in re.findall(r"\]\((?!https?://)([^)#]+)", text):
        assert (page.parent / target).exists(), target


OPTIONS = re.compile(r"(?<![\w-])--[a-z][\w-]*")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_options_exist(page: Path) -> None:
    from attune_bench.cli import app

    every = [*app.list_commands(None), ""]
    helps = "".join(called(f"attune-bench {command} --help") for command in every)
    of_other_tools = {"--schemafile"}
    assert set(OPTIONS.findall(page.read_text(encoding="utf-8"))) <= {*OPTIONS.findall(helps), *of_other_tools}
