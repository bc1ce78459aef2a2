"""Tables of records as files for R, SPSS or a spreadsheet, with a codebook and a script that reads them in R.

A list, such as the diagnoses of a person, becomes a column of true and false for each value that somebody in the whole
source has: all parts of a source have the same columns. A missing value is ``NA`` in CSV and null in Parquet.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import polars as pl

from attune_data.collection import Collection
from attune_data.columns import Column, Question, type_words
from attune_data.export import parquet_bytes, to_csv
from attune_data.licences import named_licences
from attune_data.query import spelled_alike
from attune_data.record import is_generated
from attune_data.tables import Frames
from attune_data.text import plural, pluralize, range_text

_MOST_VALUES = 40  # of a list, as columns; with more values the list stays one text
_LARGEST_IN_R = 2**31 - 1
_LONGEST_NAME = 64  # bytes of a name in SPSS


class _Described(NamedTuple):
    """A column of a table that is written, with its row of the codebook."""

    values: pl.Series
    meaning: str
    type: str
    range: str
    may_be_missing: bool


def table_files(records: Collection[Any], suffix: Literal["csv", "parquet"]) -> dict[str, bytes]:
    """Return every table of some records as a file, with what the files mean; for CSV also ``read.R``.

    Where the first table has traits of people, they have a table of their own too, a row a person.

    Parameters
    ----------
    records : Collection
        What a loader gives, or a part of it.
    suffix : {"csv", "parquet"}
        The format of the tables.

    Returns
    -------
    dict of str to bytes
        By name of the file. In CSV, true and false are ``TRUE`` and ``FALSE`` and a missing value is ``NA``, as R
        writes them. A text that a spreadsheet would take for a formula, and the text ``NA`` itself, begin with an
        apostrophe, which ``read.R`` takes off. A participant has the name that scores of the records have.
        ``codebook.csv`` has the columns ``table, column, meaning, type, range, may_be_missing``, a row a column.
        ``questions.csv``, where the records have questions, has the columns ``table, question_id, text, answers``.
        ``README.txt`` says what the files are, and whether the data are synthetic.

    Examples
    --------
    >>> from attune_data import load
    >>> files = table_files(load("demo").where(diagnosis="ADHD"), "csv")
    >>> list(files)[:3], "read.R" in files
    (['conversations.csv', 'turns.csv', 'mood_tags.csv'], True)
    >>> files["mood_tags.csv"].decode().splitlines()[0]
    'conversation_id,turn_number,emotion,intensity'
    """
    files: dict[str, bytes] = {}
    codebook: list[tuple[str, str, str, str, str, bool]] = []
    tables, spelled = type(records.tables), _spelled(records)
    meanings, questions, whole = tables.meanings(), tables.question_texts(), records._origin().tables
    first = tables.names[0]
    frames = [(name, name, frame) for name, frame in records.tables._frames()]
    if traits := tables.traits_of_clusters():
        people = _people(getattr(records.tables, first).select(traits), tables.unit.named_by or "", spelled)
        frames.append((pluralize(tables.unit.cluster), first, people))
    empty: list[str] = []
    for name, origin, frame in frames:
        columns = list(_described(frame, getattr(whole, origin), tables, meanings[origin], spelled))
        written = pl.DataFrame([one.values for one in columns])
        files[f"{name}.{suffix}"] = _csv(written) if suffix == "csv" else parquet_bytes(written)
        codebook += [(name, one.values.name, *one[1:]) for one in columns]
        empty += [f"{name}.{column.name}" for column in written if column.null_count() == len(column) > 0]
    heads = ["table", *("column", *_Described._fields[1:])]
    files["codebook.csv"] = _csv(pl.DataFrame(codebook, schema=heads, orient="row"))
    if questions:
        rows = [(one.table, one.question_id, one.text or _NO_TEXT, "; ".join(one.answers)) for one in questions]
        files["questions.csv"] = _csv(pl.DataFrame(rows, schema=Question._fields, orient="row"))
    files["README.txt"] = _read_me(records, suffix, empty, has_questions=bool(questions)).encode()
    if suffix == "csv":
        files["read.R"] = _SCRIPT.encode()
    return files


_NO_TEXT = "(the text is only in the codebook of the published data)"


def _people(frame: pl.DataFrame, key: str, spelled: Mapping[str | None, str | None]) -> pl.DataFrame:
    """Return a row for each person; a trait that differs between the records of a person is missing."""
    found: dict[str, list[dict[str, Any]]] = {}
    for row in frame.iter_rows(named=True):
        if name := spelled[row[key]]:
            found.setdefault(name, []).append(row)
    rows = []
    for own in found.values():
        known = {name: [row[name] for row in own if row[name] is not None] for name in frame.columns}
        same = {name: values[0] if all(one == values[0] for one in values) else None
                for name, values in known.items() if values}  # fmt: skip
        rows.append({**same, key: own[0][key]})
    return pl.DataFrame(rows, schema=frame.schema)


def _read_me(records: Collection[Any], suffix: str, empty: Sequence[str], *, has_questions: bool) -> str:
    """Return what a reader of the files has to know of all of them; `empty` columns have no value."""
    kind, whole = records.kind, records._origin()
    of = f" of {len(whole)}" if len(whole) > len(records) else ""
    said = [f"{plural(len(records), kind.noun, kind.plural)}{of}, exported by attune-bench."]
    if generated := sum(map(is_generated, records)):
        whose = "nothing here is about a real person" if generated == len(records) else f"{generated} of them"
        said.append(f"SYNTHETIC data: {whose}.")
    licences = named_licences(records)
    said.append(f"Licence: {'; '.join(licences)}." if licences else f"The {kind.plural} state no licence.")
    said += _about_people(records, suffix, is_real=generated < len(records))
    missing = "NA is a missing value" if suffix == "csv" else "null is a missing value"
    said.append(f"codebook.csv: what each column of each table means. In the tables, {missing}: no answer was given.")
    if empty:
        said.append(f"Columns without any value in these {kind.plural}: {', '.join(empty)}.")
    if has_questions:
        said.append(
            "questions.csv: the words of the questions and their answers, by the question_id of the tables; where the "
            "answers are columns, by the beginning of their names. The answer na: not applicable."
        )
    if suffix == "csv":
        said.append(
            "A text that a spreadsheet would take for a formula, and the text NA, begin with an apostrophe; read.R "
            'takes it off. In R, source("read.R", chdir = TRUE) reads every table into a data frame.'
        )
        said.append(
            "In SPSS: read a table as comma-separated text in UTF-8, a column with the type number or whole number as "
            "F, any other as A. NA becomes system-missing in columns of numbers, with a warning; for other columns, "
            "MISSING VALUES name ('NA') declares it. SPSS ends a row at a line break within a text: read tables with "
            "such texts in R. No name of a column is longer than 64 bytes."
        )
    return "\n".join([*said, ""])


def _about_people(records: Collection[Any], suffix: str, *, is_real: bool) -> list[str]:
    """Return how records of one person are to be analysed, and whether the files may be passed on."""
    tables, records_of_kind = type(records.tables), records.kind.plural
    key, person = tables.unit.named_by, tables.unit.cluster
    if not key:
        return []
    said = [f"{records_of_kind[:1].upper()}{records_of_kind[1:]} of one {person} are alike: cluster by {key}."]
    if tables.traits_of_clusters():
        people = pluralize(person)
        said[0] += (
            f" {people}.{suffix} has the traits of each {person} once, and a missing value where the {records_of_kind} "
            f"of a {person} differ; {tables.names[0]}.{suffix} repeats them."
        )
        said.append(
            f"Privacy: {'the' if is_real else 'of real data, such'} tables have the traits and the whole texts of "
            f"single {people}, and a few traits together can tell who somebody is. Pass such a folder on only where "
            f"the licence, and what the {people} agreed to, allow it."
        )
    return said


def _described(
    frame: pl.DataFrame,
    whole: pl.DataFrame,
    tables: type[Frames],
    meanings: Mapping[str, Column],
    spelled: Mapping[str | None, str | None],
) -> Iterator[_Described]:
    """Yield the columns of one of `tables` as they are written; `whole` is the table of all records of the source."""
    traits, used = tables.special(), set(frame.columns)
    answers = {one.question_id: one.answers for one in tables.question_texts()}
    for name, dtype in frame.schema.items():
        column, said = frame[name], meanings[name]
        meaning = re.sub(r"\bnull\b", "missing", said.description.replace("`", ""))
        if isinstance(dtype, pl.List):
            closed = next((trait for trait in traits.values() if trait.column == name and trait.values), None)
            order = [str(value) for value in closed.values] if closed else list(answers.get(name, ()))
            values = _values(whole[name], order)
            # What people say in words of their own are no columns, and what others say is not in the files of a part.
            if len(values) > _MOST_VALUES or answers.get(name) == ():
                yield _joined(column, meaning)
            else:
                yield from _listed(column, meaning, values, closed.missing if closed else None, used)
            continue
        if name == "question_id" and answers:
            meaning += " The words are in questions.csv."
        kind = type_words(dtype)
        if name == tables.unit.named_by:
            column = pl.Series(name, [spelled[text] for text in column], pl.String)
        if kind == "whole number" and (column.abs().max() or 0) > _LARGEST_IN_R:  # type: ignore[operator]
            kind = "number"
        yield _Described(column, meaning, kind, range_text(said.low, said.high), said.null)


def _spelled(records: Collection[Any]) -> dict[str | None, str | None]:
    """Return by name of a cluster, such as a participant, the name that scores of all the records have, for joins."""
    table = records._origin()._table()
    named = table.unit.named_by
    names = table.frame[named].to_list() if named in table.frame.columns else []
    return dict(zip(names, spelled_alike(names), strict=True))


def _values(column: pl.Series, order: Sequence[str]) -> list[str]:
    """Return the values of lists: first the values in `order`, then the others, sorted."""
    found = {value for row in column.to_list() for value in row or ()}
    return [*order, *sorted(found - set(order), key=_by_number)]


def _joined(column: pl.Series, meaning: str) -> _Described:
    """Return lists as one column of texts."""
    texts = ["; ".join(sorted(set(row))) if row else None for row in column.to_list()]
    said = f"{meaning} Several values are separated by semicolons."
    return _Described(pl.Series(column.name, texts, pl.String), said, type_words(pl.String()), "", may_be_missing=True)


def _listed(
    column: pl.Series, meaning: str, values: Sequence[str], missing: str | None, used: set[str]
) -> Iterator[_Described]:
    """Yield a column of true and false for each value of a list; an empty list, or one with `missing`, is no answer."""
    if missing is not None:
        meaning = f"{meaning} All of these columns are missing where the group is {missing}."
    rows = [None if not row or missing in row else set(row) for row in column.to_list()]
    for value in values:
        if value == missing:
            continue
        name = _column_name(column.name, value, used)
        answers = [None if row is None else value in row for row in rows]
        series = pl.Series(name, answers, pl.Boolean)
        yield _Described(series, f"{meaning} Here: {value}", type_words(pl.Boolean()), "", may_be_missing=True)


def _by_number(text: str) -> list[tuple[int, str]]:
    """Return a key that sorts PW2 before PW10."""
    return [(int(part), "") if part.isdecimal() else (0, part) for part in re.split(r"([0-9]+)", text)]


def _column_name(name: str, value: str, used: set[str]) -> str:
    """Return the name of the column of one value of a list, which no other column has.

    Examples
    --------
    >>> _column_name("diagnoses", "Anxiety disorder", set()), _column_name("selected_pairwise_questions", "PW1", set())
    ('diagnosis_Anxiety_disorder', 'selected_pairwise_question_PW1')
    """
    single = re.sub(r"oses$", "osis", name)
    single = single if single != name else re.sub(r"(?<=[^s])s$", "", name)
    plain = re.sub(r"[^A-Za-z0-9]+", "_", value).strip("_") or "other_script"
    whole = f"{single}_{plain}"
    made, number = whole[:_LONGEST_NAME].rstrip("_"), 2
    while made in used:
        made, number = f"{whole[: _LONGEST_NAME - 4]}_{number}", number + 1
    used.add(made)
    return made


def _csv(frame: pl.DataFrame) -> bytes:
    """Return a frame as CSV for R."""
    flags = frame.select(pl.col(pl.Boolean)).columns
    flag = pl.when(pl.col(flags)).then(pl.lit("TRUE")).when(~pl.col(flags)).then(pl.lit("FALSE")).name.keep()
    return to_csv(frame.with_columns(flag) if flags else frame, missing="NA").encode()


_SCRIPT = r"""# source("read.R", chdir = TRUE) reads every table of this folder into a data frame of the same name.
local({
  codebook <- read.csv("codebook.csv", encoding = "UTF-8", na.strings = character())
  frames <- list(codebook = codebook)
  if (file.exists("questions.csv"))
    frames$questions <- read.csv("questions.csv", encoding = "UTF-8", na.strings = character())
  classes <- c("whole number" = "integer", "number" = "numeric", "true or false" = "logical")
  for (table in unique(codebook$table)) {
    about <- codebook[codebook$table == table, ]
    types <- ifelse(about$type %in% names(classes), classes[about$type], "character")
    data <- read.csv(paste0(table, ".csv"), colClasses = types, check.names = FALSE, encoding = "UTF-8")
    for (i in which(types == "character")) data[[i]] <- sub("^'(?='*(\\s*[-=+@]|NA$))", "", data[[i]], perl = TRUE)
    levels <- strsplit(sub("^one of ", "", about$type), ", ")
    for (i in grep("^one of ", about$type)) data[[i]] <- factor(data[[i]], levels[[i]])
    frames[[table]] <- data
  }
  list2env(frames, globalenv())
  message("Data frames: ", paste(names(frames), collapse = ", "))
  for (line in grep("^SYNTHETIC", readLines("README.txt", encoding = "UTF-8"), value = TRUE)) message(line)
})
"""
