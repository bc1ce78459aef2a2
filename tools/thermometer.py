"""Count roundabout phrases ("that of", "whose", "what is") in docstrings, help texts and pages, the worst file first.

``python tools/thermometer.py [PATH...]`` reads ``src`` and ``docs`` by default.
The count shows where to read; it is no goal.
"""

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

PHRASES = re.compile(r"\b(that of|those of|of which|of whose|whose|what is|what it is of)\b", re.IGNORECASE)
_DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def _texts_of_code(code: str) -> Iterator[str]:
    """Yield the docstrings of a module and the literals that calls pass as ``help``."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, _DOCUMENTED):
            yield ast.get_docstring(node) or ""
        elif isinstance(node, ast.Call):
            for keyword in node.keywords:
                if keyword.arg == "help":
                    parts = (part.value for part in ast.walk(keyword.value) if isinstance(part, ast.Constant))
                    yield from (part for part in parts if isinstance(part, str))


def count(path: Path) -> tuple[int, int]:
    """Return the phrases and the words of a Python file's docstrings and help texts, or of a page outside its code."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        text = "\n".join(_texts_of_code(text))
    else:
        text = re.sub(r"^( *)```.*?^\1```", "", text, flags=re.DOTALL | re.MULTILINE)
    return len(PHRASES.findall(text)), len(text.split())


def table(paths: Iterable[Path]) -> str:
    """Return a line for each file with a phrase (phrases in 1,000 words, phrases, words, file), the worst first.

    The last line counts all files.
    """
    counts = []
    for path in paths:
        files = [path] if path.is_file() else sorted((*path.rglob("*.py"), *path.rglob("*.md")))
        counts += [(*count(file), str(file)) for file in files]
    worst = sorted((row for row in counts if row[0]), key=lambda row: -row[0] / row[1])
    every = (sum(row[0] for row in counts), sum(row[1] for row in counts), "all")
    return "\n".join(
        f"{1000 * phrases / max(words, 1):5.1f} {phrases:5} {words:7,}  {name}"
        for phrases, words, name in [*worst, every]
    )


if __name__ == "__main__":
    print(table(map(Path, sys.argv[1:] or ["src", "docs"])))  # noqa: T201
