"""The documentation lists every rule that the source can report, and no other."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RULE = re.compile(r"[a-z0-9]+(-[a-z0-9]+)+|unreadable|encoding|fraction")
NAMES = ("rule", "duplicate_rule")


def _reported() -> set[str]:
    """Return the literal third argument of Issue(), the second of add(), those of the helpers, and every `rule`."""
    positions = {"Issue": 2, "add": 1, "_report_unknown": 2, "_report_repeated": 2}
    rules: set[str] = set()
    scoring = [ROOT / "src/attune_bench/benchmarks/attunebench" / name for name in ("run_scorer.py", "scoring.py")]
    for path in [
        *ROOT.glob("src/attune_data/**/*.py"),
        *ROOT.glob("src/attune_bench/benchmarks/**/*.py"),
        *ROOT.glob("src/attune_bench/scores/*.py"),
    ]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
                at = positions.get(name)
                argument = node.args[at] if at is not None and len(node.args) > at else None
                if isinstance(argument, ast.Constant):
                    rules.add(str(argument.value))
            elif isinstance(node, ast.keyword) and node.arg in NAMES and isinstance(node.value, ast.Constant):
                rules.add(str(node.value.value))
            elif isinstance(node, ast.AnnAssign) and getattr(node.target, "id", "") in NAMES:
                rules |= {str(node.value.value)} if isinstance(node.value, ast.Constant) else set()
            elif isinstance(node, ast.Tuple) and len(node.elts) == 3 and path in scoring:
                rules |= {str(e.value) for e in node.elts[1:2] if isinstance(e, ast.Constant)}
    return {rule for rule in rules if RULE.fullmatch(rule)}


@pytest.mark.slow
def test_every_rule_is_documented() -> None:
    table = (ROOT / "docs/issues.md").read_text(encoding="utf-8")
    cells = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    documented = set(re.findall(r"`([a-z0-9-]+)`", " ".join(cells)))
    assert documented == _reported()
