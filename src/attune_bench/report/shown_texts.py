"""Which texts a page may show, and what it has to say of them; `attune_bench.report.transcripts` has the rules."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from attune_bench.report.privacy import hides
from attune_bench.scores.records import Row, ScoredRecords
from attune_bench.scores.table import KEYS
from attune_data.licences import canary, credits_of, named_licences, refusal
from attune_data.record import is_generated

if TYPE_CHECKING:
    from attune_bench.report.page_scores import PageScores


def withheld_reasons(page: "PageScores", records: ScoredRecords) -> dict[Row, str]:
    """Return why each result and what it was scored against are not shown, empty where they are."""
    closed = {name: refusal(unit, needs_licence=True) for name, unit in records.units.items()}
    return {row: _withheld(page, records, row, closed) for row in page.table.values.select(KEYS).iter_rows()}


def _withheld(page: "PageScores", records: ScoredRecords, row: Row, closed: Mapping[str, str]) -> str:
    """Return why a result and what it was scored against are not shown; empty where they are.

    `closed` says by unit why its own texts may not be passed on.
    """
    result, unit = records.results[row], records.units.get(row[2])
    # Without data the results are the data, and their licence has to be known.
    if why := refusal(result, needs_licence=unit is None) or closed.get(row[2], ""):
        return why
    if hides(page.table, small_cells=page.small_cells) and not is_generated(result if unit is None else unit):
        return f"a transcript shows a single {page.table.provenance.unit} of a person (--small-cells)"
    return ""


def terms_of(records: ScoredRecords, rows: Sequence[Row]) -> list[str]:
    """Say under what the texts are passed on, whom to credit, and by what a model can be found to have seen them."""
    made = [records.results[row] for row in rows]
    given = [records.units[name] for name in dict.fromkeys(row[2] for row in rows) if name in records.units]
    kind = records.given or records.made
    found = [f"Licence of the texts: {'; '.join(stated)}." for stated in [named_licences([*given, *made])] if stated]
    if credit := credits_of([*given, *made]):
        found.append(f"Credit: {'; '.join(credit)}.")
        found += [kind.request] if kind.request else []
    return [*found, f"Not for training: {'; '.join(canary(given or made).texts)}."]
