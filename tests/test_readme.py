"""What the README shows runs: a block of Python for each package, and each recipe in an environment of its own."""

import random
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from browsers import axe_script, browsers, serious_violations
from documentation import SERVER
from environments import Shell, new_shell
from model_server import ModelServer

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PYTHON_BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def test_readme_has_a_block_for_each_package() -> None:
    packages = ("attune_data", "attune_metrics", "attune_bench")
    assert [next(p for p in packages[::-1] if p in block) for block in PYTHON_BLOCKS] == list(packages)


@pytest.mark.parametrize("block", PYTHON_BLOCKS, ids=["attune_data", "attune_metrics", "attune_bench"])
def test_readme_python_runs(block: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", block], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_make_targets_of_the_readme_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    named = re.findall(r"`make ([\w-]+)`", README)
    assert named
    for target in named:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)


def recipe(title: str) -> str:
    """Return the commands of a recipe: the first block of the section."""
    section = README[README.index(f"## {title}\n") :]
    found = re.search(r"^```sh\n(.*?)^```", section, re.DOTALL | re.MULTILINE)
    assert found, title
    assert len(found[1].splitlines()) <= 6
    return found[1]


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    return new_shell(tmp_path_factory.mktemp("environment"), extras="plots")


@pytest.fixture(scope="module")
def check(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[Path], str]]:
    """Give what opens a page, checks it for accessibility, and returns its text."""
    axe = axe_script(tmp_path_factory.mktemp("axe"))
    with browsers() as start:

        def opened(page: Path) -> str:
            browser: Any = start()
            browser.get(page.as_uri())
            assert serious_violations(browser, axe) == []
            assert browser.get_log("browser") == []
            return str(browser.find_element("tag name", "body").text)

        yield opened


@pytest.mark.slow
def test_table_of_my_own_results(shell: Shell, check: Callable[[Path], str], tmp_path: Path) -> None:
    source = random.Random(0)
    rows = [f"lab/{m},q{u},accuracy,{int(source.random() < p)}" for m, p in (("a", 0.9), ("b", 0.5)) for u in range(60)]
    (tmp_path / "results.csv").write_text("\n".join(["model,unit,metric,value", *rows]), encoding="utf-8")
    printed = shell(recipe("A table of my own results"), tmp_path)
    assert "lab/a" in printed
    assert "lab/a" in check(tmp_path / "page.html")
    assert r"\begin{table}" in (tmp_path / "table.tex").read_text(encoding="utf-8")
    assert (tmp_path / "ranking.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.slow
def test_model_on_a_server(shell: Shell, check: Callable[[Path], str], tmp_path: Path) -> None:
    with ModelServer() as server:
        commands = recipe("A model on a server").replace(SERVER, server.url).replace(" MODEL ", " lab/model ")
        shell(commands, tmp_path)
    text = check(tmp_path / "page.html")
    assert "lab/model" in text
    assert "baseline/prior" in text


@pytest.mark.slow
def test_folder_of_conversations(shell: Shell, check: Callable[[Path], str], tmp_path: Path) -> None:
    printed = shell(recipe("A folder of conversations"), tmp_path)
    assert "adhd: 8 conversations" in printed
    assert "ADHD" in check(tmp_path / "adhd.html")
    assert {"codebook.csv", "conversations.csv", "read.R"} <= {path.name for path in (tmp_path / "adhd").iterdir()}
