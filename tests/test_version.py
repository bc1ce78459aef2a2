"""The version: that of a release is signed by the release alone, and is written in one place."""

import re
from pathlib import Path

from attune_bench import __version__, score
from attune_data import load, load_runs
from attune_metrics.signature import Signature

ROOT = Path(__file__).parents[1]
TEXTS = [ROOT / "README.md", ROOT / "CITATION.cff", *sorted((ROOT / "docs").rglob("*.md"))]


def test_what_is_not_released_has_a_version_of_development() -> None:
    newest = re.findall(r"^## (.+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)[0]
    assert re.fullmatch(r"[0-9]+\.[0-9]+\.[0-9]+(\.dev0)?", __version__)
    if newest == "[Unreleased]":
        assert __version__.endswith(".dev0")
    else:
        assert re.fullmatch(rf"\[{re.escape(__version__)}\] - \d{{4}}-\d\d-\d\d", newest)


def test_a_signature_names_the_version() -> None:
    scores = score(load("demo")[:4], load_runs("demo")[:4])
    assert Signature.parse(scores.sign()).attune == __version__


def test_no_page_has_the_version_that_the_next_release_changes() -> None:
    for path in TEXTS:
        text = path.read_text(encoding="utf-8")
        assert not re.findall(r"attune-bench [0-9][^ ,\n]*|^version: .*", text, re.MULTILINE), path
        assert __version__ not in re.sub(r"schema [0-9.]+", "", text), path
