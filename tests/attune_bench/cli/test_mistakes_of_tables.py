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
            "row 2: value '0,53' of metric 'hit' has a decimal comma, and '0.9' in row 3 a decimal point; ",
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
    assert compared(call, write("r.csv", of_r)) == compared(call, write("empty.csv", empty))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "latin-1"])
def test_other_encodings(call: Call, plain: str, encoding: str) -> None:
    out = compared(call, write("results.csv", long_text().replace("gpt", "göt").encode(encoding)))
    assert out.startswith(plain.replace("gpt", "göt"))


def test_a_workbook_without_the_extra(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "fastexcel", None)
    status, _, err = call("compare", write("results.xlsx", b"PK\x03\x04"))
    assert status != 0
    assert "fastexcel is not installed; it comes with an extra: pip install 'attune-bench[excel]'" in err


@pytest.mark.parametrize("row", ["gpt,q9,hit", "gpt,q9,hit,1,x", "gpt"])
def test_a_ragged_row(call: Call, row: str) -> None:
    cells = f"{row.count(',') + 1} cell{'s' if ',' in row else ''}"
    message = f"results.csv, row 18: {cells}, and the header has 4; put a text with a comma in quotes; leave"
    assert message in told(call, "compare", write("results.csv", f"{long_text()}{row}\n"))


def test_a_quotation_mark_that_is_not_closed(call: Call) -> None:
    path = write("results.csv", long_text().replace("gpt,q3,hit,", 'gpt,q3,hit,"'))
    assert "results.csv, row 4: a quotation mark is opened and not closed" in told(call, "compare", path)


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


@pytest.mark.parametrize("name", ["results.csv", "results.tsv", "wide.csv"])
def test_a_table_in_the_place_of_records(call: Call, name: str) -> None:
    text = "unit,gpt,claude\nq1,1,0\n" if name == "wide.csv" else long_text("\t" if name.endswith("tsv") else ",")
    write(name, text)
    for words in (("describe", name), ("validate", name), ("score", "--results", name, "--data", "demo")):
        assert f"{name} is a table of results, and no file of records; attune-bench report {name} reads it" in told(
            call, *words
        )
