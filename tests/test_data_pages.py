"""The pages of docs/data name every kind of record with its class, tables, columns and licence."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from attune_data import table_schema
from attune_data.collection import Kind
from attune_data.kinds import KINDS
from attune_data.licences import find_licence

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "data"
PAGES = sorted(page for page in FOLDER.glob("*.md") if page.name != "index.md")
ROW = re.compile(r"^\| `(\w+)` \| [^|]* \| ((?:`\w+`(?:, )?)+) \|$", re.MULTILINE)
SECTIONS = (
    *("What a record is", "Who made it, sizes, licence", "Load", "Tables and columns", "Subgroups", "Known faults"),
    *("What may be published", "Pitfalls"),
)

OF_BENCHMARKS = (
    *("What it measures", "What it does not measure", "The data and its licence", "Running"),
    *("Scoring and comparing", "Reading the numbers", "More"),
)
"""What the page of a benchmark, beside the folder, says too."""


def kinds_of(page: Path) -> list[Kind[Any, Any]]:
    """Return the kinds of record that a page of a data set is of."""
    return [kind for kind in KINDS if kind.model.__module__.split(".")[1] == page.stem]


def test_every_kind_has_a_page() -> None:
    without = [kind.noun for kind in KINDS if not any(kind in kinds_of(page) for page in PAGES)]
    assert without == ["comparison"], "comparisons are of anybody's judges, no data set"
    linked = set(re.findall(r"\]\(([\w-]+\.md)\)", (FOLDER / "index.md").read_text(encoding="utf-8")))
    assert linked == {page.name for page in PAGES}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page_has_every_section(page: Path) -> None:
    headings = re.findall(r"^## (.*)", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert [heading for heading in headings if heading in SECTIONS] == [*SECTIONS]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page_of_the_benchmark_has_every_section_and_links_here(page: Path) -> None:
    text = (FOLDER.parent / page.name).read_text(encoding="utf-8")
    headings = re.findall(r"^## (.*)", text, re.MULTILINE)
    assert [heading for heading in headings if heading in OF_BENCHMARKS] == [*OF_BENCHMARKS]
    assert f"](data/{page.name})" in text
    assert "](metrics/" in text


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_classes_and_licence_are_named(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for kind in kinds_of(page):
        assert f".{kind.model.__name__}`" in text
    benchmarks = tomllib.loads((ROOT / "codebook" / "publishing.toml").read_text(encoding="utf-8"))["benchmarks"]
    own = {kind.model.__name__ for kind in kinds_of(page)}
    expected = {one["licence"] for one in benchmarks.values() if own.intersection(one["records"])}
    section = text.partition("## Who made it, sizes, licence\n")[2].partition("\n## ")[0]
    found = [find_licence(bold) for bold in re.findall(r"\*\*(.+?)\*\*", section)]
    assert {licence.id for licence in found if licence} == expected


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_tables_have_the_columns_that_are_named(page: Path) -> None:
    named = {table: re.findall(r"`(\w+)`", columns) for table, columns in ROW.findall(page.read_text(encoding="utf-8"))}
    tables: dict[str, set[str]] = {}
    for kind in kinds_of(page):
        for table, known in table_schema(kind.noun).items():
            tables.setdefault(table, set()).update(known)
    assert named.keys() == tables.keys() - {"records"}
    for table, columns in named.items():
        assert set(columns) <= tables[table], table
