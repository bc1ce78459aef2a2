"""One exchange near the top of a page: what somebody said, how they felt, and what models answered.

It is shown where the data were generated, or where transcripts are asked for; which texts may be shown is as for
transcripts, see `attune_bench.report.transcripts`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from attune_bench.report.columns import UNDEFINED, Cell, Column, Markup, Section, Table
from attune_bench.report.elements import table_element
from attune_bench.report.privacy import terms_of, withheld_reasons
from attune_bench.scores.provenance import kind_of_group
from attune_bench.scores.records import Row, ScoredRecords
from attune_data.collection import Kind
from attune_data.display import Compared, Message, Part, parts_html
from attune_data.issues import element
from attune_data.record import is_generated
from attune_data.text import plural, pluralize

if TYPE_CHECKING:
    from attune_bench.report.page_scores import PageScores

_MOST_MODELS = 4
_LONGEST = 700
"""Characters of a message; of a longer one the beginning is quoted."""


def exchange_section(page: "PageScores", records: ScoredRecords, *, transcripts: bool) -> Section | None:
    """Return one exchange with the answers of the best models beside the reference; None where none may be shown.

    The kind of the data shows its turns beside results (`attune_data.collection.Kind.beside`). The exchange is the
    first, in the order of units, that has a reference and on which the models do not all answer alike.

    Parameters
    ----------
    page : PageScores
        The scores and options of the page.
    records : ScoredRecords
        What was scored.
    transcripts : bool
        Whether texts are asked for; without, only generated data are quoted.
    """
    if records.given is None or records.given.beside is None:
        return None
    reasons = withheld_reasons(page.table, records, small_cells=page.small_cells)
    groups = [group for group in page.numbers if group not in page.hidden]
    models = [group for group in groups if kind_of_group(group[0]) == "model"] or groups
    chosen = [group for group in models if group[1] == models[0][1]][:_MOST_MODELS]
    for unit, record in sorted(records.units.items()):
        rows: list[Row] = [(*group, unit) for group in chosen]
        may_be_shown = transcripts or is_generated(record)
        # A row without a reason is shown; one that was not scored has none.
        if rows and may_be_shown and not any(reasons.get(row, "not scored") for row in rows):
            for messages, answers in _turns(records.given, record, [records.results[row] for row in rows]):
                return _shown(page, records, rows, messages, answers)
    return None


def _turns(given: Kind[Any, Any], record: Any, results: Sequence[Any]) -> Iterator[tuple[list[Message], Part]]:
    """Yield the turns with a reference that the models do not all answer alike: the messages, and the answers."""
    turns: list[list[Part]] = [[]]
    for part in given.beside(record, results) if given.beside else ():
        turns += [[]] if part.heading else []
        turns[-1].append(part)
    for turn in turns:
        messages = [message for part in turn for message in part.messages if not message.folded]
        answers = next((part for part in turn if any(row.reference for row in part.rows)), None)
        if messages and answers and (len(results) == 1 or any(len(set(row.predicted)) > 1 for row in answers.rows)):
            yield messages, answers


def _shown(
    page: "PageScores", records: ScoredRecords, rows: Sequence[Row], messages: Sequence[Message], answers: Part
) -> Section:
    whose = records.given.reference if records.given else ""
    said = parts_html([Part(messages=[replace(one, text=_abridged(one.text), notes=()) for one in messages])])
    columns = [
        Column(answers.title, lambda row: Cell(row["answer"].asked), is_name=True),
        Column(whose, lambda row: Cell(row["answer"].reference or UNDEFINED), is_name=True),
        *(Column(row[0], partial(_answer, place=place), is_name=True) for place, row in enumerate(rows)),
    ]
    compared = [{"answer": one} for one in answers.rows if one.reference is not None]
    table = table_element(Table("exchange", "", columns, compared), called=answers.title)
    differ = "" if len(rows) == 1 else ", and on which the models do not all answer alike"
    most = f" of the best {plural(len(rows), 'model')}" if len(rows) > 1 else ""
    rule = (
        "Chosen by a rule, not for its content: the first turn, in the order of the "
        f"{pluralize(page.table.provenance.unit)}, with an answer of the {whose}{differ}. Answers{most}."
    )
    notes = [element("p", text, class_="quiet") for text in (rule, *terms_of(records, rows))]
    quoted = element("div", *said, class_="attune")
    inside = element("div", quoted, element("div", table, *notes), class_="exchange")
    return Section(f"What one {whose} said, and what the models answered", [Markup(inside)])


def _abridged(text: str) -> str:
    """Return the beginning of a long text, cut between words, with a mark where it is cut."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST].rsplit(None, 1)[0]} [...]"


def _answer(row: Any, place: int) -> Cell:
    answer: Compared = row["answer"]
    same = answer.same[place] if answer.same else None
    said = answer.notes[place] if answer.notes else ""
    mark = "" if same is None else said or ("same" if same else "differs")
    return Cell(answer.predicted[place] or UNDEFINED, mark)
