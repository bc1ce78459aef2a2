"""Every session at the prompt that a page of the documentation shows runs, and prints what the page says."""

import doctest
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
    assert {"eibench.md", "from-files-to-a-subgroup.md", "instruments.md", "publishing.md"} <= set(SESSIONS)


@pytest.mark.parametrize("page", SESSIONS)
def test_page_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    test = doctest.DocTestParser().get_doctest(SESSIONS[page], {}, page, page, 0)
    report: list[str] = []
    results = doctest.DocTestRunner().run(test, out=report.append)
    assert results.attempted > 2
    assert not report, "".join(report)
