"""What a notebook offers behind a dot: public names, the lazily imported ones too, and nothing else."""

import importlib
import re
from typing import Any

import pytest
from public_surface import SURFACE, surface
from pydantic import BaseModel

from attune_bench import score
from attune_data import load, load_runs

DATA, RUNS = load("demo")[:4], load_runs("demo")[:8]


@pytest.mark.parametrize("name", ["attune_data", "attune_metrics", "attune_bench"])
def test_a_package_shows_its_public_names(name: str) -> None:
    package = importlib.import_module(name)
    importlib.import_module(f"{name}.testing" if name != "attune_bench" else "attune_bench.runner")
    assert dir(package) == sorted(package.__all__)
    assert all(hasattr(package, public) for public in dir(package))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (DATA, {"where", "tables", "issues", "to_csv"}),
        (DATA.tables, {"turns", "where", "schemas"}),
        (score(DATA, RUNS), {"summary", "compare", "values", "models", "write"}),
    ],
    ids=["collection", "tables", "scores"],
)
def test_an_object_shows_its_public_names(value: Any, expected: set[str]) -> None:
    shown = {name for name in dir(value) if not name.startswith("__")}
    assert expected <= shown
    assert not [name for name in shown if name.startswith("_")]
    assert "__len__" in dir(value)


@pytest.mark.parametrize("record", [DATA[0], DATA[0].turns[0], RUNS[0]], ids=lambda one: type(one).__name__)
def test_a_record_shows_fields_and_methods_not_what_its_class_declares(record: Any) -> None:
    shown = {*dir(record)}
    assert {*type(record).model_fields, "to_json", "model_dump"} <= shown
    assert not [name for name in shown if name.startswith("_") and not name.startswith("__")]
    public = {name for name in dir(BaseModel) if not name.startswith("_")}
    assert public <= shown
    assert shown.isdisjoint({"column_names", "column_prefixes", "column_properties", "from_place"})


@pytest.mark.slow
def test_the_list_of_what_is_public_is_what_a_reviewer_saw() -> None:
    # Compared as lines: the first that differs is the one to look at.
    assert surface().splitlines() == SURFACE.read_text(encoding="utf-8").splitlines(), "make schemas writes it again"


def test_the_list_has_what_a_change_costs_and_nothing_private() -> None:
    text = SURFACE.read_text(encoding="utf-8")
    for line in ("attune_data.load(", "attune_metrics.emotion_f1(", "attune_bench.Scores.compare(", "emotion_f1"):
        assert f"\n{line}" in text
    for line in ("attune-bench compare [SCORES]", "  --seed", "docs/schemas/run.schema.json", "board.json: format 1"):
        assert f"\n{line}\n" in text
    assert " at 0x" not in text
    assert not re.search(r"\._[^_]", text)
