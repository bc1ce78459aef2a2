"""How large pages are, and that a page of many models says what `compare` says."""

import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from commands import Call
from synthetic.many_models import attunebench, eibench, names

from attune_bench import Scores, score

pytestmark = pytest.mark.slow
MOST = {9: 400_000, 40: 1_000_000}
"""The most bytes of a page, by the number of models."""


@pytest.mark.parametrize("models", MOST)
@pytest.mark.parametrize("make", [attunebench, eibench])
def test_a_page_has_at_most_so_many_bytes(make: Callable[[int], dict[str, Any]], models: int) -> None:
    records = make(models)
    scores = score(*records.values())
    assert len(scores.models) == models
    page = scores.report(format="html", **records, resamples=10_000 if models == 9 else 100)
    assert len(page.encode()) <= MOST[models]


def many(models: int, units: int) -> pl.DataFrame:
    source = random.Random(models)
    rows = [
        (name, f"u{unit:03}", "hit", 0.02 * place + source.gauss(0, 0.3))
        for place, name in enumerate(names(models))
        for unit in range(units)
    ]
    return pl.DataFrame(rows, schema=["model", "unit", "metric", "value"], orient="row")


def test_a_page_of_many_models_says_what_compare_says(call: Call, tmp_path: Path) -> None:
    table = many(40, 100)
    table.write_csv(tmp_path / "many.csv")
    page = Scores.from_table(table).report(format="html", resamples=1000)
    status, out, _ = call("compare", "--scores", str(tmp_path / "many.csv"), "--resamples", "1000")
    assert status == 0
    found = re.search(r"(\d+) of 780 pairs differ \(Holm p < 0.05, family of 780\)", " ".join(out.split()))
    assert found is not None
    assert 100 < int(found[1]) < 780
    assert page.count('<td class="better">+</td>') == page.count('<td class="worse">') == int(found[1])
