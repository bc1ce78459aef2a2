"""Every session at the prompt that a page of the documentation shows runs, and every name and link on it exists."""

import doctest
import pydoc
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"


def session(page: Path) -> str:
    """Return a page's code; a blank line within its output stands for itself."""
    blocks = re.findall(r"^```python\n(>>> .*?)\n*^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    return "\n\n".join(re.sub(r"\n\n(?!>>> )", "\n<BLANKLINE>\n", block) for block in blocks)


SESSIONS = {page.name: code for page in sorted(DOCS.glob("*.md")) if (code := session(page))}


def test_pages_with_sessions() -> None:
    pages = {"eibench.md", "from-files-to-a-subgroup.md", "instruments.md", "loading.md", "publishing.md"}
    assert pages | {"testing-a-metric.md", "testing-with-our-data.md"} <= set(SESSIONS)


@pytest.mark.parametrize("page", SESSIONS)
def test_page_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    test = doctest.DocTestParser().get_doctest(SESSIONS[page], {}, page, page, 0)
    report: list[str] = []
    results = doctest.DocTestRunner().run(test, out=report.append)
    assert results.attempted > 2
    assert not report, "".join(report)


NAMES = re.compile(r"`(attune_(?:data|metrics|bench)(?:\.\w+)+)\b")
PAGES = [*sorted(DOCS.glob("*.md")), DOCS.parent / "README.md"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_names_and_links_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for name in NAMES.findall(text):
        assert pydoc.locate(name) is not None, name
    for target in re.findall(r"\]\((?!https?://)([^)#]+)", text):
        assert (page.parent / target).exists(), target
