"""Mistakes in tables of own results: they are read, or each message says what is wrong, where, and what to do."""

from pathlib import Path

import pytest
from commands import QUICK, Call

pytestmark = pytest.mark.usefixtures("elsewhere")

UNITS = [f"q{number}" for number in range(1, 9)]
LONG = [
    (model, unit, (number * step) % 5 / 4)
    for model, step in (("gpt", 3), ("claude", 2))
    for number, unit in enumerate(UNITS)
]


def long_text(separator: str = ",", header: str = "model,unit,metric,value") -> str:
    rows = [(model, unit, "hit", f"{value}") for model, unit, value in LONG]
    return "\n".join([header.replace(",", separator), *(separator.join(row) for row in rows)]) + "\n"


def write(name: str, content: str | bytes) -> str:
    Path(name).write_bytes(content.encode() if isinstance(content, str) else content)
    return name


def compared(call: Call, *words: str) -> str:
    status, out, err = call("compare", *words, *QUICK)
    assert (status, err) == (0, "")
    return out


def told(call: Call, *words: str) -> str:
    status, out, err = call(*words)
    assert (status, out) == (2, "")
    assert err.startswith("attune-bench: ")
    assert err.count("\n") == 1
    return err


@pytest.fixture
def plain(call: Call) -> str:
    """Return what is printed of the plain table, up to the notes."""
    return compared(call, write("plain.csv", long_text())).partition("\n\n")[0]


def test_a_table_that_is_not_there(call: Call) -> None:
    write("results.csv", long_text())
    assert "result.csv cannot be read: No such file or directory; did you mean 'results.csv'?" in told(
        call, "compare", "result.csv"
    )
    assert "; the tables in " in told(call, "compare", "experiment_7.csv")


def test_a_column_for_each_model(call: Call, plain: str) -> None:
    by_unit: dict[str, list[str]] = {}
    for _, unit, value in LONG:
        by_unit.setdefault(unit, []).append(f"{value}")
    rows = "".join(f"{unit},{','.join(values)}\n" for unit, values in by_unit.items())
    out = compared(call, write("wide.csv", f"unit,gpt,claude\n{rows}"))
    assert out.startswith(plain.replace("hit", "value"))
    assert "\nColumns read as models: gpt, claude.\n" in out


def test_a_column_for_each_metric(call: Call, plain: str) -> None:
    rows = "".join(f"{model},{unit},{value},{1 - value}\n" for model, unit, value in LONG)
    path = write("wide.csv", f"model,unit,hit,miss\n{rows}")
    out = compared(call, path)
    assert out.startswith(plain)
    assert "\nColumns read as metrics: hit, miss.\n" in out
    assert "miss: " in compared(call, path, "--metric", "miss")


def test_other_names_of_columns(call: Call, plain: str) -> None:
    path = write("results.csv", long_text(header="system,item_id,metric,value"))
    mend = "--columns model=system,unit=item_id"
    assert f"no columns 'model' and 'unit'; did you mean 'system' and 'item_id'? If so, give {mend}, in" in told(
        call, "compare", path
    )
    assert compared(call, path, *mend.split()).startswith(plain)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            "unit",
            "--columns 'unit': expected NAME=COLUMN, with a NAME of model, unit, metric, value, condition, cluster",
        ),
        ("item=unit", "--columns 'item=unit': expected NAME=COLUMN"),
        ("unit=", "--columns 'unit=': expected NAME=COLUMN"),
        ("unit=a,unit=b", "--columns 'unit=a,unit=b': unit is named twice"),
        ("unit=itm", "no column 'itm' for unit; did you mean 'item'?"),
    ],
)
def test_a_wrong_mapping(call: Call, given: str, message: str) -> None:
    path = write("results.csv", long_text(header="model,item,metric,value"))
    assert message in told(call, "rank", path, "--columns", given)


@pytest.mark.parametrize(("separator", "called"), [(";", "semicolons"), ("\t", "tabs"), ("|", "vertical bars")])
def test_other_separators(call: Call, plain: str, separator: str, called: str) -> None:
    out = compared(call, write("results.csv", long_text(separator)))
    assert out.startswith(plain)
    assert f"\nAssumed of the table: separated by {called}.\n" in out


def test_semicolons_with_decimal_commas(call: Call, plain: str) -> None:
    out = compared(call, write("results.csv", long_text(";").replace(".", ",")))
    assert out.startswith(plain)
    assert "\nAssumed of the table: separated by semicolons; decimal commas.\n" in out


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (
            ('"1,000"', "900"),
            "row 2: value '1,000' of metric 'hit' has a comma: write 1000 if the comma groups thousands, ",
        ),
        (
            ('"0,53"', "0.9"),
            "row 2: value '0,53' of metric 'hit' has a decimal comma, and 1 value has a decimal point, as '0.9' in "
            "row 3; write 0.53",
        ),
        (("0,53", "0,9"), "row 2: 5 cells, and the header has 4; write 0,53 as 0.53, or in quotes"),
    ],
)
def test_a_comma_within_a_value(call: Call, cells: tuple[str, str], message: str) -> None:
    text = f"model,unit,metric,value\na,q1,hit,{cells[0]}\nb,q1,hit,{cells[1]}\n"
    assert f"results.csv, {message}" in told(call, "compare", write("results.csv", text))


def test_na_as_r_writes_it(call: Call) -> None:
    empty, of_r = (long_text().replace("q4,hit,0.25", f"q4,hit,{nothing}") for nothing in ("", "NA"))
    assert empty != of_r
    written = compared(call, write("r.csv", of_r))
    assert written.replace("r.toml", "e.toml").replace("r.csv", "e.csv") == compared(call, write("e.csv", empty))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "latin-1"])
def test_other_encodings(call: Call, plain: str, encoding: str) -> None:
    out = compared(call, write("results.csv", long_text().replace("gpt", "göt").encode(encoding)))
    assert out.startswith(plain.replace("gpt", "göt"))


def test_a_workbook_without_the_extra(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "fastexcel", None)
    status, _, err = call("compare", write("results.xlsx", b"PK\x03\x04"))
    assert status != 0
    assert "fastexcel is not installed; it comes with an extra: pip install 'attune-bench[excel]'" in err


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (
            "gpt,q9,hit",
            "3 cells, and the header has 4; leave the cell of an undefined value empty, and write a comma for",
        ),
        ("gpt", "1 cell, and the header has 4; leave the cell of an undefined value empty, and write a comma for it\n"),
        ("gpt,q9,hit,1,x", "5 cells, and the header has 4; put a text with a comma in quotes\n"),
    ],
)
def test_a_ragged_row(call: Call, row: str, message: str) -> None:
    assert f"results.csv, row 18: {message}" in told(call, "compare", write("results.csv", f"{long_text()}{row}\n"))


def test_a_quotation_mark_that_is_not_closed(call: Call) -> None:
    path = write("results.csv", long_text().replace("gpt,q3,hit,", 'gpt,q3,hit,"'))
    assert "results.csv, row 4: a quotation mark is opened and not closed" in told(call, "compare", path)


def test_rows_that_end_as_on_an_older_macintosh(call: Call, plain: str) -> None:
    assert compared(call, write("results.csv", long_text().replace("\n", "\r"))).startswith(plain)


def test_numbers_of_rows_as_pandas_names_them(call: Call, plain: str) -> None:
    lines = long_text().splitlines()
    numbered = [f"Unnamed: 0,{lines[0]}", *(f"{number},{line}" for number, line in enumerate(lines[1:]))]
    out = compared(call, write("results.csv", "\n".join(numbered) + "\n"))
    assert out.startswith(plain)
    assert "\nAssumed of the table: 1 column without a name left out.\n" in out


def test_numbers_of_rows_without_a_cell_in_the_header(call: Call) -> None:
    lines = long_text().splitlines()
    text = "\n".join([lines[0], *(f"{number},{line}" for number, line in enumerate(lines[1:], start=1))])
    message = (
        "results.csv, row 2: 5 cells, and the header has 4; the numbers of rows have no name in the header: in R, "
    )
    assert f"{message}write.csv(..., row.names = FALSE)\n" in told(call, "compare", write("results.csv", text))


@pytest.mark.parametrize(("above", "row"), [("# of May\n", 2), ("My results\n\n", 3)])
def test_lines_above_the_header(call: Call, above: str, row: int) -> None:
    message = f"row {row}: 4 cells, and the header has 1; delete the lines above the names of the columns\n"
    assert message in told(call, "compare", write("results.csv", above + long_text()))


def test_a_table_without_a_header(call: Call) -> None:
    path = write("results.csv", long_text().partition("\n")[2])
    message = "no column 'model'; the table has gpt, q1, hit, 0.0; is the row of the names of columns missing?\n"
    assert message in told(call, "compare", path)
    # Without a number among them, the names of columns are taken as such.
    path = write("results.csv", "llm name,q,hit\na,b,c\n")
    assert "is the row" not in told(call, "compare", path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "results.csv is empty; a table has a row of names of columns, and rows of values\n"),
        ("\n \n", "results.csv is empty; "),
        ("model,unit,metric,value\n", "no rows; it has only the names of columns: model, unit, metric, value\n"),
    ],
)
def test_a_table_of_nothing(call: Call, text: str, message: str) -> None:
    assert message in told(call, "compare", write("results.csv", text))


@pytest.mark.parametrize(
    ("name", "mend"),
    [("results.csv.gz", "unpack it"), ("results.txt", "if its cells have a separator, rename it to end in .csv")],
)
def test_a_table_in_another_file(call: Call, name: str, mend: str) -> None:
    message = f"{name} is no table; expected a name in .csv, .tsv, .xlsx, .jsonl or .parquet; {mend}\n"
    assert message in told(call, "compare", write(name, long_text()))


@pytest.mark.parametrize(("value", "mend"), [("Yes", "write 1 for right and 0 for wrong"), ("good", "leave it empty")])
def test_words_as_values(call: Call, value: str, mend: str) -> None:
    path = write("results.csv", f"model,unit,metric,value\na,q1,hit,{value}\n")
    assert f"row 2: value '{value}' of metric 'hit' is no number; {mend}" in told(call, "compare", path)


def test_percent_signs(call: Call) -> None:
    path = write("results.csv", "model,unit,metric,value\na,q1,hit,53%\n")
    assert "row 2: value '53%' of metric 'hit' is no number; write it without the percent sign" in told(
        call, "compare", path
    )


@pytest.mark.parametrize("words", [("compare",), ("rank",), ("report",), ("report", "--html", "page.html")])
def test_models_without_a_common_unit(call: Call, words: tuple[str, ...]) -> None:
    text = "model,unit,metric,value\n" + "".join(f"{model},{model}-{unit},hit,{value}\n" for model, unit, value in LONG)
    err = told(call, words[0], write("results.csv", text), *words[1:])
    assert "no two models have a unit in common ('claude' has 'claude-q1', 'gpt' has 'gpt-q1'); give a unit the" in err
    assert not Path("page.html").exists()


GERMAN = "question_id;topic;gpt;claude\n" + "".join(
    f"{unit};work;0,{number}5;0,{number * 7 % 10}5\n" for number, unit in enumerate(UNITS)
)
NAMED = ("--columns", "unit=question_id,value=score")


@pytest.mark.parametrize("nothing", ["\n", ";;;\n", ";;;\n;;;\n; ; ;\n"])
def test_empty_rows_at_the_end_are_left_out(call: Call, nothing: str) -> None:
    plain = compared(call, write("plain.csv", GERMAN), *NAMED)
    number = nothing.count("\n")
    out = compared(call, write("wide.csv", GERMAN + nothing), *NAMED)
    assert f"; {number} empty row{'s' if number > 1 else ''} left out." in out
    assert "left out" not in plain
    assert out.partition("\n\n")[0] == plain.partition("\n\n")[0]
    # A row behind them has the number that it has in the file.
    assert f"row {9 + number + 1}: value 'x' of" in told(
        call, "compare", write("x.csv", f"{GERMAN}{nothing}q;w;1;x\n"), *NAMED
    )


@pytest.mark.parametrize("rows", [";work;;\n", ";work;1;1\n;work;1;1\n"])
def test_a_row_of_a_wide_table_without_its_unit(call: Call, rows: str) -> None:
    path = write("wide.csv", GERMAN + rows)
    mend = "every row names its unit: fill the cell, or delete the row"
    assert f"wide.csv, row 10: question_id (unit) is empty or NA; {mend}\n" in told(call, "compare", path, *NAMED)


def test_the_metric_of_a_table_with_a_column_for_each_model_is_named(call: Call) -> None:
    path = write("wide.csv", GERMAN)
    assert compared(call, path, *NAMED).startswith("score: ")
    # Where a column names the models, the name of the value is the name of a column.
    for columns, column in (("unit=question_id,model=topic,value=score", "score"), ("unit=id,value=score", "id")):
        err = told(call, "compare", path, "--columns", columns)
        assert f"no column {column!r} for " in err
        assert "expected one of question_id, topic, gpt, claude\n" in err or "did you mean 'question_id'" in err
        assert "row" not in err


def test_a_name_of_a_metric_where_no_column_is_a_model(call: Call) -> None:
    path = write("results.csv", "system,id,accuracy,latency\na,q1,1,2\nb,q1,0,1\n")
    message = "no column 'accurracy' for value; did you mean 'accuracy'?\n"
    assert message in told(call, "compare", path, "--columns", "unit=id,value=accurracy")


@pytest.mark.parametrize("nothing", ["#NV", "n.a.", "N.A."])
def test_what_german_programs_write_for_nothing(call: Call, nothing: str) -> None:
    given, empty = (compared(call, write("wide.csv", GERMAN.replace("0,35", one)), *NAMED) for one in (nothing, ""))
    assert given == empty
    assert "\n1 of 16 values of score is missing; " in given


def test_a_wrong_cell_of_a_wide_table_is_named_by_its_column(call: Call) -> None:
    path = write("wide.csv", GERMAN.replace("q4;work;0,35", "q4;work;#DIV/0!"))
    message = "row 5: value '#DIV/0!' of metric 'score', model 'gpt' is no number"
    assert message in told(call, "compare", path, *NAMED)


@pytest.mark.parametrize(
    ("points", "message"),
    [
        (1, "row 2: value '0.05' of metric 'score', model 'gpt' has a decimal point, and 15 values have a decimal "
            "comma, as '0,15' in row 3; write 0,05\n"),
        (3, "has a decimal point, and 13 values have a decimal comma, as '0,15' in row 3; write this and 2 other "
            "values with a comma\n"),
        (15, "has a decimal comma, and 15 values have a decimal point, as '0.05' in row 2; write 0."),
    ],
)  # fmt: skip
def test_the_fewer_of_decimal_points_and_commas_are_the_mistake(call: Call, points: int, message: str) -> None:
    lines = GERMAN.splitlines()
    order = [lines[1], *lines[3:], lines[2]]
    text = "\n".join(order).replace(",", ".", points).splitlines()
    path = write("wide.csv", "\n".join([lines[0], text[0], text[-1], *text[1:-1]]) + "\n")
    assert message in told(call, "compare", path, *NAMED)


def test_a_table_as_results_is_read_by_the_same_command(call: Call) -> None:
    path = write("wide.csv", GERMAN)
    for words in (("compare",), ("report",)):
        again = f"wide.csv is a table, and no file of records; attune-bench {words[0]} wide.csv"
        assert f"{again} reads it\n" in told(call, *words, "--results", path)
        columns = "unit=question_id"
        assert f"{again} --columns {columns} reads it\n" in told(call, *words, "--results", path, "--columns", columns)
    err = told(call, "compare", "--results", "demo", "--data", "demo", "--columns", "unit=id")
    assert "--columns names the columns of a table, and --results has records; leave --columns out" in err


@pytest.mark.parametrize("flag", ["-o", "--output"])
def test_a_file_for_what_is_printed(call: Call, flag: str) -> None:
    mend = "write what it prints to a file: attune-bench compare ... > FILE"
    assert f"compare has no {flag}; {mend}" in told(call, "compare", write("results.csv", long_text()), flag, "x.tex")


@pytest.mark.parametrize("name", ["results.csv", "results.tsv", "wide.csv"])
def test_a_table_in_the_place_of_records(call: Call, name: str) -> None:
    text = "unit,gpt,claude\nq1,1,0\n" if name == "wide.csv" else long_text("\t" if name.endswith("tsv") else ",")
    write(name, text)
    for words in (("describe", name), ("validate", name), ("score", "--results", name, "--data", "demo")):
        assert f"{name} is a table of results, and no file of records; attune-bench report {name} reads it" in told(
            call, *words
        )
