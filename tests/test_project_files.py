"""The files of a public project agree with `pyproject.toml`; the distribution is small and has what it should."""

import ast
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from environments import NO_BYTECODE

from attune_bench import __version__

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
LARGEST_WHEEL = 1_549_999  # The largest that pip and the package index show as 1.5 MB.
SCHEMAS = {
    ".github/workflows/*.yml": "vendor.github-workflows",
    ".github/ISSUE_TEMPLATE/[!c]*.yml": "vendor.github-issue-forms",
    ".github/ISSUE_TEMPLATE/config.yml": "vendor.github-issue-config",
    "CITATION.cff": "vendor.citation-file-format",
}


def _yaml(path: str) -> Any:
    return yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))


def test_placeholders_are_in_one_place_that_the_steps_of_a_release_name() -> None:
    kept = [path for path in ROOT.iterdir() if path.is_file()]
    kept += [path for name in (".github", ".devcontainer", "conda") for path in (ROOT / name).rglob("*.*")]
    named = {path.name for path in kept if "OWNER" in path.read_text(encoding="utf-8")}
    assert named <= {"RELEASING.md", "pyproject.toml"}
    unfilled = re.findall(r"^(\S+) = .*OWNER", (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    assert unfilled in ([], [*PROJECT["urls"]])
    assert "`[project.urls]` in `pyproject.toml`" in (ROOT / "RELEASING.md").read_text(encoding="utf-8")


def test_every_python_is_tested_that_the_package_names() -> None:
    named = [one.rpartition(" ")[2] for one in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", one)]
    assert PROJECT["requires-python"] == f">={named[0]}"
    strategy = _yaml(".github/workflows/tests.yml")["jobs"]["test"]["strategy"]["matrix"]
    assert strategy["python"] == named
    assert strategy["os"] == ["ubuntu-latest", "macos-latest", "windows-latest"]
    nightly = ast.parse((ROOT / "tests" / "nightly.py").read_text(encoding="utf-8"))
    [later] = [
        ast.literal_eval(one.value)
        for one in nightly.body
        if isinstance(one, ast.Assign) and ast.unparse(one.targets[0]) == "LATER"
    ]
    assert list(later) == named[1:]


def test_the_page_of_the_installation_has_every_extra() -> None:
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    table = re.findall(r"^\| `([\w-]+)` \|", page.partition("## Extras")[2].partition("\n## ")[0], re.MULTILINE)
    assert sorted(table) == sorted(PROJECT["optional-dependencies"])


def test_the_recipe_for_conda_says_what_pyproject_says() -> None:
    recipe = _yaml("conda/recipe.yaml")
    assert recipe["context"]["version"] == __version__
    # A package for all Pythons has the lowest versions of the first.
    of_all = [re.sub(r"\s", "", one) for one in PROJECT["dependencies"] if ";" not in one]
    run = [re.sub(r"\s", "", one) for one in recipe["requirements"]["run"]]
    assert run == [f"python{PROJECT['requires-python']}", *of_all]
    scripts = [f"{name} = {target}" for name, target in PROJECT["scripts"].items()]
    assert recipe["build"]["python"]["entry_points"] == scripts


def test_what_runs_before_a_commit_is_part_of_make_lint() -> None:
    [lint] = re.findall(r"^lint:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    commands = [line.strip().removeprefix("$(BIN)/").removesuffix(" .") for line in lint.splitlines()]
    [repository] = _yaml(".pre-commit-config.yaml")["repos"]
    hooks = [hook["entry"].removeprefix(".venv/bin/").removesuffix(" --force-exclude") for hook in repository["hooks"]]
    assert hooks == [command.removesuffix(" --check") for command in commands]


def test_workflows_and_the_devcontainer_call_targets_that_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / ".github" / "workflows").iterdir()]
    texts.append((ROOT / ".devcontainer" / "devcontainer.json").read_text(encoding="utf-8"))
    targets = {target for text in texts for target in re.findall(r"(?:run: |\")make ([\w./-]+)", text)}
    assert targets == {"lint", "test-slow", "docs", "dist", ".venv/installed-dev"}
    assert all(re.search(rf"^{re.escape(target)}:", makefile, re.MULTILINE) for target in targets)


@pytest.mark.slow
def test_files_of_the_project_match_their_schemas(tmp_path: Path) -> None:
    venv.create(tmp_path, with_pip=True)
    python = str(tmp_path / "bin" / "python")
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "check-jsonschema"]
    subprocess.run(install, check=True, env=NO_BYTECODE)
    for pattern, schema in SCHEMAS.items():
        files = sorted(ROOT.glob(pattern))
        assert files, pattern
        command = [str(tmp_path / "bin" / "check-jsonschema"), "--builtin-schema", schema, *map(str, files)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


@pytest.mark.slow
def test_the_distribution_is_the_same_twice_small_and_has_no_tests(tmp_path: Path) -> None:
    source = tmp_path / "source"
    # A copy, as make dist writes into the folder and its environment.
    shutil.copytree(ROOT, source, ignore=shutil.ignore_patterns(".*", "dist", "site", "__pycache__"))
    for name in (".gitignore", ".github"):
        origin = ROOT / name
        (shutil.copytree if origin.is_dir() else shutil.copy)(origin, source / name)
    venv.create(source / ".venv", with_pip=True)
    python = str(source / ".venv" / "bin" / "python")
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "build"]
    subprocess.run(install, check=True)
    (source / ".venv" / "installed-dev").touch()
    done = subprocess.run(["make", "dist"], cwd=source, capture_output=True, text=True, check=False)  # noqa: S607
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("PASSED") == 2
    sdist, wheel = sorted((source / "dist").iterdir(), key=lambda path: path.suffix)
    assert (sdist.name, wheel.name) == (
        f"attune_bench-{__version__}.tar.gz",
        f"attune_bench-{__version__}-py3-none-any.whl",
    )
    assert wheel.stat().st_size <= LARGEST_WHEEL
    with zipfile.ZipFile(wheel) as archive:
        tops = {name.partition("/")[0] for name in archive.namelist()}
        assert not [name for name in archive.namelist() if re.search(r"\.pyc$|(^|/)(tests?|synthetic|tools)/", name)]
        about = archive.read(f"attune_bench-{__version__}.dist-info/METADATA").decode()
    # The package index shows this text without the files of the repository.
    addresses = re.findall(r"\]\(([^)]*)\)", about)
    assert f"{PROJECT['urls']['Homepage']}/raw/v{__version__}/pictures/report.png" in addresses
    assert f"{PROJECT['urls']['Homepage']}/blob/v{__version__}/docs/start.md" in addresses
    assert all(address.startswith("https://") for address in addresses)
    packages = {"attune_metrics", "attune_data", "attune_bench", "attune_eibench"}
    assert tops == packages | {f"attune_bench-{__version__}.dist-info"}
    with tarfile.open(sdist) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    assert {"CHANGELOG.md", "LICENSE", "README.md", "pyproject.toml", "tests/conftest.py"} <= inside
    assert not [name for name in inside if name.startswith((".venv", ".ci", "dist/", "site/"))]


@pytest.mark.slow
def test_both_commands_are_the_same_program(tmp_path: Path) -> None:
    programs = Path(sys.executable).parent
    said = [
        subprocess.run([programs / name, *call], cwd=tmp_path, capture_output=True, text=True, check=False)
        for call in (["--help"], ["compare", "missing.csv"])
        for name in PROJECT["scripts"]
    ]
    assert list(PROJECT["scripts"]) == ["attune-bench", "attune"]
    for one, other in zip(said[::2], said[1::2], strict=True):
        assert (one.returncode, one.stdout, one.stderr) == (other.returncode, other.stdout, other.stderr)
    assert said[1].stdout.startswith("Usage: attune-bench")
    assert said[-1].returncode == 2
