"""A record with what models answered to it as text: each answer below, or beside, what it is scored against."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from attune_data.text import grid, labelled, printable, ruled, shortened, width, wrapped

__all__ = ["Beside", "beside_text"]

_QUESTION = 16
Row = tuple[str, Sequence[str | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """A part of a record, with what each of some models answered there.

    Attributes
    ----------
    heading : str
        What the part is; empty where it goes on.
    texts : sequence of (str, str)
        Who said what: a speaker and a text.
    rows : sequence of (str, sequence of str)
        What was asked, and the answers: the one that counts, None where there is none, then that of each model. A row
        without answers is a heading of those below.
    compared : bool
        Whether an answer is right where it equals the first one; those that differ are marked.
    stacked : bool
        Whether answers are long texts, which go below each other.
    """

    heading: str = ""
    texts: Sequence[tuple[str, str]] = ()
    rows: Sequence[Row] = ()
    compared: bool = False
    stacked: bool = False


def beside_text(head: str, parts: Sequence[Beside], first: str, names: Sequence[str], columns: int) -> str:
    """Return a record with the answers of models as text that is safe to print.

    Parameters
    ----------
    head : str
        What is known of the record.
    parts : sequence of Beside
        Its parts, with the answers of the models in the order of `names`.
    first : str
        Whose the answers that count are.
    names : sequence of str
        The models; each is called by its number.
    columns : int
        How wide the text may be.

    Examples
    --------
    >>> felt = Beside(heading="TURN 1", rows=[("Upset", ["5", "3", "5"]), ("Afraid", ["-", "2", "-"])], compared=True)
    >>> print(beside_text("Conversation c1", [felt], "participant", ["vendor/a", "vendor/b"], 40))
    Conversation c1
    <BLANKLINE>
      1             vendor/a
      2             vendor/b
      *             differs from participant
    <BLANKLINE>
    TURN 1 ---------------------------------
    <BLANKLINE>
            participant   1  2
    --------------------------
    Upset             5  3*  5
    Afraid            -  2*  -
    """
    legend = [(str(number), name) for number, name in enumerate(names, start=1)]
    if any(part.compared for part in parts):
        legend.append(("*", f"differs from {first}"))
    blocks = [head.splitlines(), labelled(legend, columns)]
    for part in parts:
        if part.heading:
            blocks.append([ruled(part.heading, columns)])
        blocks += ([speaker, *_indented(text, columns)] for speaker, text in part.texts)
        blocks.append([*_rows(part, first, len(names), columns)])
    return "\n\n".join("\n".join(block) for block in blocks if block)


def _indented(text: str, columns: int) -> list[str]:
    return [f"  {line}".rstrip() for line in wrapped(text, columns - 2) or ["-"]]


def _rows(part: Beside, first: str, models: int, columns: int) -> Iterator[str]:
    """Yield the answers as a table where it fits the width, else below each other."""
    heads = [first, *(str(number) for number in range(1, models + 1))]
    body = [(printable(question), _marked(answers, part.compared)) for question, answers in part.rows]
    left = columns - sum(
        2 + max(map(width, cells)) for cells in zip(heads, *(row for _, row in body if row), strict=True)
    )
    if left >= _QUESTION and not part.stacked and body:
        empty = [""] * len(heads)
        rows = [[shortened(question, left), *(row or empty)] for question, row in body]
        yield from grid(["", *heads], rows).splitlines()
        return
    for question, answers in body:
        said = "\n".join(_below(heads, answers, apart=part.stacked))
        yield from labelled([(question, said)], columns, hanging=(question,)) if said else wrapped(question, columns)


def _below(heads: Sequence[str], answers: Sequence[str], *, apart: bool) -> Iterator[str]:
    """Yield a line for each who answered, or for each answer with who gave it."""
    given = [(who, answer) for who, answer in zip(heads, answers, strict=False) if answer]
    if apart:
        yield from (f"{who}: {answer}" for who, answer in given)
        return
    for answer in dict.fromkeys(answer for _, answer in given):
        yield f"{answer}: {', '.join(who for who, own in given if own == answer)}"


def _marked(answers: Sequence[str | None], compared: bool) -> list[str]:
    if not answers:
        return []
    right, *others = answers
    marks = ("*" if compared and right and answer and answer != right else "" for answer in others)
    marked = [f"{printable(answer or '-')}{mark}" for answer, mark in zip(others, marks, strict=True)]
    return ["" if right is None else printable(right or "-"), *marked]
