"""The pages of docs/metrics name every metric with its range and direction, and every public function."""

import re
from importlib import import_module
from math import inf
from pathlib import Path
from pkgutil import walk_packages

import pytest
from public_names import public_functions

import attune_metrics
from attune_metrics import CATALOG

FOLDER = Path(__file__).parents[1] / "docs" / "metrics"
PAGES = sorted(page for page in FOLDER.glob("*.md") if page.name != "index.md")
ROW = re.compile(r"^\| ((?:`[\w.]+`(?:, )?)+) \| (\S+) to (\S+) \| (higher|lower|neither) \|", re.MULTILINE)
DIRECTIONS = {"higher": True, "lower": False, "neither": None}
TOOLS = (
    "attune_metrics.metric",
    "attune_metrics.stats.sums",
    "attune_metrics.testing",
)
"""What metrics are made with: argument checks, arrays; `testing` has a guide of its own."""
PARTS = {
    "with_mean", "fleiss_sums", "as_categories", "cohen_sums", "tally_units", "krippendorff_sums", "symmetric_levels",
    "correlation_of_ranks", "distributions_of_sums", "quantile_of_sorted", "correlation_of",
    "distribution_of_sums", "intervals_of", "bca_correction", "t_ends", "exchanged_differences", "random_exchanges",
    "count_reached", "count_reached_by_means", "in_turn", "clusters_needed", "count_by_design", "maximize",
    "drawn_blocks", "find_groups", "chains", "information_left", "fit_parts", "group_models", "check_options",
    "check_comparisons", "influence_of", "variance_terms", "variances_of_sums", "complete_units", "relative_means",
    "finite", "slope",
}  # fmt: skip
"""Steps that several statistics share."""
SECTIONS = ("Formula", "Empty, missing and", "Example", "Pitfalls", "Source")


def declared() -> dict[str, tuple[float, float, bool | None]]:
    """Return what the tables of the pages say of each metric."""
    found = {}
    for page in PAGES:
        for names, low, high, better in ROW.findall(page.read_text(encoding="utf-8")):
            for name in re.findall(r"`([\w.]+)`", names):
                assert name not in found, f"{name} is in two tables"
                found[name] = float(low), float(high), DIRECTIONS[better]
    return found


def documented_functions() -> dict[str, str]:
    """Return every public function and the module that it is imported from."""
    modules = [one.name for one in walk_packages(attune_metrics.__path__, "attune_metrics.") if "._" not in one.name]
    return {
        name: module
        for module in modules
        if not module.startswith(TOOLS)
        for name in public_functions(import_module(module))
    }


def test_tables_say_what_the_catalogue_says() -> None:
    expected = {name: (metric.low, metric.high, metric.higher_is_better) for name, metric in CATALOG.items()}
    assert declared() == expected
    assert -inf in {low for low, _, _ in expected.values()}  # that "-inf" is read is part of the comparison


def test_every_public_function_is_named() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in FOLDER.glob("*.md"))
    functions = documented_functions()
    assert {"emotion_f1", "krippendorff_alpha", "sage_scores", "trace_advantages"} <= functions.keys()
    missing = {name: module for name, module in functions.items() if f"`{name}`" not in text and name not in PARTS}
    assert not missing


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page_has_every_section(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    headings = re.findall(r"^## (.*)", text, re.MULTILINE)
    for section in SECTIONS:
        assert any(heading.startswith(section) for heading in headings), section
    assert "```math" in text
    assert ">>> " in text


def test_index_links_to_every_page() -> None:
    linked = set(re.findall(r"\]\(([\w-]+\.md)\)", (FOLDER / "index.md").read_text(encoding="utf-8")))
    assert linked == {page.name for page in PAGES}
