"""Tables as people have them: dialects of CSV, encodings, workbooks, other names of columns, wide tables."""

import re
import zipfile
from pathlib import Path
from xml.sax.saxutils import escape

import polars as pl
import pytest

from attune_bench import Scores
from attune_bench.stats.summary import distribution
from attune_data import SourceError
from attune_metrics import MetricInputError

# Each value in one form only, so that no rounding hides: 0.1 + 0.2 and the least step above 1.
VALUES = ("0.30000000000000004", "1.0000000000000002", "0.53", "1", "-2.5e-07", "0.1")
ROWS = [
    ("a", "q1", "work"),
    ("a", "q2", "home"),
    ("a", "q3", "home"),
    ("b", "q1", "work"),
    ("b", "q2", "home"),
    ("b", "q3", "home"),
]


def long_text(separator: str = ",", *, comma: bool = False, home: str = "home") -> str:
    lines = [separator.join(("model", "unit", "topic", "metric", "value"))]
    for (model, unit, topic), value in zip(ROWS, VALUES, strict=True):
        cell = value.replace(".", ",") if comma else value
        cell = f'"{cell}"' if separator in cell else cell
        lines.append(separator.join((model, unit, topic.replace("home", home), "hit", cell)))
    return "\n".join(lines) + "\n"


def read(path: Path, content: str | bytes) -> Scores:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return Scores.read(path)


def values(scores: Scores) -> list[tuple[str, str, float]]:
    return scores.values.select("model", "unit", "hit").rows()


EXACT = [(model, unit, float(value)) for (model, unit, _), value in zip(ROWS, VALUES, strict=True)]


# Separators, decimal commas, encodings.


@pytest.mark.parametrize(("separator", "called"), [(";", "semicolons"), ("\t", "tabs"), ("|", "vertical bars")])
@pytest.mark.parametrize("ending", ["csv", "tsv"])
@pytest.mark.parametrize("comma", [False, True])
def test_separators_are_found_and_every_digit_is_read(
    separator: str, called: str, ending: str, comma: bool, tmp_path: Path
) -> None:
    scores = read(tmp_path / f"results.{ending}", long_text(separator, comma=comma))
    assert values(scores) == EXACT
    assert scores.units["topic"].to_list() == ["work", "home", "home"]
    assumed = f"separated by {called}" + ("; decimal commas" if comma else "")
    assert scores.provenance.notes[0] == f"Assumed of the table: {assumed}."


@pytest.mark.parametrize("first", ["sep=;\r\n", '"sep=;"\n', "SEP=;\n", "\ufeffsep=;\n"])
def test_the_line_of_excel_that_names_the_separator_is_no_header(first: str, tmp_path: Path) -> None:
    scores = read(tmp_path / "results.csv", first + long_text(";", comma=True))
    assert values(scores) == EXACT
    assert scores.provenance.notes[0] == "Assumed of the table: decimal commas."
    with pytest.raises(MetricInputError, match="row 4: value 'x' of metric 'hit' is no number"):
        read(tmp_path / "results.csv", first + "model;unit;metric;value\na;q1;hit;1\na;q2;hit;x\n")
    for row, message in (("b;q;1", "row 4: 3 cells, and the header has 4"), ('b;q;hit;"1', "row 4: a quotation mark")):
        with pytest.raises(SourceError, match=message):
            read(tmp_path / "results.csv", f"{first}model;unit;metric;value\na;q1;hit;1\n{row}\n")
    assert read(tmp_path / "results.csv", "sep=:\nmodel:unit:value\na:q1:1\n").values["value"].to_list() == [1.0]


def test_codes_stay_codes_beside_decimal_commas(tmp_path: Path) -> None:
    text = "model;unit;code;value\na;q1;007;0,5\na;q2;010;1\n"
    assert read(tmp_path / "results.csv", text).units["code"].to_list() == ["007", "010"]


def test_commas_in_quotes_are_decimal_commas(tmp_path: Path) -> None:
    scores = read(tmp_path / "results.csv", long_text(",", comma=True))
    assert values(scores) == EXACT
    assert scores.provenance.notes[0] == "Assumed of the table: decimal commas."


def test_of_a_plain_table_nothing_is_assumed(tmp_path: Path) -> None:
    scores = read(tmp_path / "results.csv", long_text())
    assert values(scores) == EXACT
    assert not [note for note in scores.provenance.notes if "Assumed" in note]


def test_a_separator_within_texts_is_none(tmp_path: Path) -> None:
    text = "model,unit,a;b;c;d;e,metric,value\nm,q1,x,hit,1\nm,q2,y;z,hit,0\n"
    assert read(tmp_path / "results.csv", text).traits == ("a;b;c;d;e",)


def test_traits_with_decimal_commas_are_numbers_where_values_have_them(tmp_path: Path) -> None:
    text = "model;unit;years;note;value\na;q1;1,5;x,y;0,5\na;q2;10;z;1\n"
    assert read(tmp_path / "results.csv", text).units.rows() == [("q1", None, 1.5, "x,y"), ("q2", None, 10.0, "z")]


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (("1,000", "900"), "row 2: value '1,000' of metric 'hit' has a comma: write 1000 if the comma groups "
         "thousands, or 1.000 if it is a decimal comma"),
        (("1", "1,000,000"), "row 3: value '1,000,000' of metric 'hit' has a comma: write 1000000 if the comma groups "
         "thousands"),
        (("0,53", "0.9"), "row 2: value '0,53' of metric 'hit' has a decimal comma, and 1 value has a "
         "decimal point, as '0.9' in row 3; write 0.53"),
        (("1,234.5", "1"), "row 2: value '1,234.5' of metric 'hit' is no number"),
    ],
)  # fmt: skip
def test_a_comma_that_may_mean_two_things_is_no_guess(cells: tuple[str, str], message: str, tmp_path: Path) -> None:
    lines = "".join(f"a;q{place};hit;{cell}\n" for place, cell in enumerate(cells))
    with pytest.raises(MetricInputError, match=re.escape(message)):
        read(tmp_path / "results.csv", "model;unit;metric;value\n" + lines)


def test_three_digits_behind_a_zero_are_decimals(tmp_path: Path) -> None:
    text = "model;unit;metric;value\na;q1;hit;0,530\na;q2;hit;1,000\n"
    assert read(tmp_path / "results.csv", text).values["hit"].to_list() == [0.53, 1.0]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_encodings_of_unicode_are_told_by_their_content(encoding: str, tmp_path: Path) -> None:
    scores = read(tmp_path / "results.csv", long_text(";", home="Größe 心").encode(encoding))
    assert values(scores) == EXACT
    assert scores.units["topic"].to_list() == ["work", "Größe 心", "Größe 心"]


def test_what_is_not_utf_8_is_windows_1252_and_a_note_says_so(tmp_path: Path) -> None:
    scores = read(tmp_path / "results.csv", long_text(home="Größe €").encode("cp1252"))
    assert scores.units["topic"].to_list() == ["work", "Größe €", "Größe €"]
    assert scores.provenance.notes[0] == ("Assumed of the table: encoded as Windows-1252, because it is not UTF-8.")


@pytest.mark.parametrize("undefined", ["NA", "N/A", "#N/A", "#NV", "n.a.", "NaN", "nan", "na", "null", ""])
def test_what_programs_write_for_nothing_is_undefined(undefined: str, tmp_path: Path) -> None:
    years = undefined if undefined in {"NA", "NaN"} else ""
    text = f"model,unit,years,condition,value\na,q1,3,,1\na,q2,{years},,{undefined}\n"
    scores = read(tmp_path / "results.csv", text)
    assert scores.values["value"].to_list() == [1.0, None]
    assert scores.units["years"].to_list() == [3, None]


def test_na_is_no_condition_no_cluster_and_no_text_of_a_trait(tmp_path: Path) -> None:
    text = "model,unit,topic,condition,cluster,value\na,q1,work,NA,p,1\na,q2,NA,NA,NA,0\n"
    scores = read(tmp_path / "results.csv", text)
    assert scores.conditions == (None,)
    assert scores.units.rows() == [("q1", "p", "work"), ("q2", None, None)]
    assert "NA in topic is undefined" in scores.provenance.notes[0]
    with pytest.raises(MetricInputError, match="row 2: unit is empty or NA; every row names model and unit: fill"):
        read(tmp_path / "unit.csv", "model,unit,value\na,NA,1\n")
    frame = pl.DataFrame({"model": ["a"], "unit": ["q1"], "country": ["NA"], "condition": ["NA"], "value": [1.0]})
    namibia = Scores.from_table(frame)
    assert (namibia.conditions, namibia.units["country"].to_list()) == (("NA",), ["NA"])
    namibia.to_csv(tmp_path / "again.csv")
    assert Scores.read(tmp_path / "again.csv").units.equals(namibia.units)
    assert Scores.read(tmp_path / "again.csv").conditions == ("NA",)


# Workbooks.


def workbook(path: Path, *sheets: str) -> Path:
    """Write a workbook with sheets of CSV text, in which what is a number is one."""
    relation = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    main = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    package = "http://schemas.openxmlformats.org/package/2006"
    listed, related = "", ""
    with zipfile.ZipFile(path, "w") as file:
        for number, text in enumerate(sheets, start=1):
            rows = ""
            for line in text.splitlines():
                cells = ""
                for cell in line.split(","):
                    try:
                        float(cell)
                        cells += f"<c><v>{cell}</v></c>"
                    except ValueError:
                        cells += f'<c t="inlineStr"><is><t>{escape(cell)}</t></is></c>' if cell else "<c/>"
                rows += f"<row>{cells}</row>"
            file.writestr(
                f"xl/worksheets/sheet{number}.xml", f"<worksheet {main}><sheetData>{rows}</sheetData></worksheet>"
            )
            listed += f'<sheet name="Sheet{number}" sheetId="{number}" r:id="r{number}"/>'
            related += (
                f'<Relationship Id="r{number}" Type="{relation}/worksheet" Target="worksheets/sheet{number}.xml"/>'
            )
        file.writestr("xl/workbook.xml", f'<workbook {main} xmlns:r="{relation}"><sheets>{listed}</sheets></workbook>')
        file.writestr(
            "xl/_rels/workbook.xml.rels", f'<Relationships xmlns="{package}/relationships">{related}</Relationships>'
        )
        file.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" Type="{relation}/officeDocument" '
            'Target="xl/workbook.xml"/></Relationships>',
        )
        file.writestr(
            "[Content_Types].xml",
            f'<Types xmlns="{package}/content-types"><Default Extension="xml" ContentType="application/xml"/>'
            '<Default Extension="rels" '
            'ContentType="application/vnd.openxmlformats-package.relationships+xml"/></Types>',
        )
    return path


def test_the_first_sheet_of_a_workbook_is_read_to_the_last_digit(tmp_path: Path) -> None:
    pytest.importorskip("fastexcel")
    one = Scores.read(workbook(tmp_path / "one.xlsx", long_text() + ",,,,\n"))
    assert values(one) == EXACT
    assert not [note for note in one.provenance.notes if "Assumed" in note]
    header, rows = long_text().split("\n", 1)
    within = Scores.read(workbook(tmp_path / "within.xlsx", f"{header}\n,,,,\n{rows}"))
    assert values(within) == EXACT
    assert within.provenance.notes[0] == "Assumed of the table: 1 empty row left out."
    codes = "model,unit,value\na,1,0.30000000000000004\na,007,NA\nb,1.50,TRUE\n"
    mixed = Scores.read(workbook(tmp_path / "mixed.xlsx", codes)).values
    assert mixed.rows() == [("a", None, "1", 0.1 + 0.2), ("a", None, "7", None), ("b", None, "1.5", 1.0)]
    two = Scores.read(workbook(tmp_path / "two.xlsx", long_text(), "notes,of\nmine,1\n"))
    assert values(two) == EXACT
    assert two.provenance.notes[0] == "Assumed of the table: the sheet 'Sheet1', the first of 2."


def test_a_workbook_needs_the_extra_and_a_damaged_one_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "results.xlsx").write_bytes(b"nonsense")
    with monkeypatch.context() as patched:
        patched.setitem(__import__("sys").modules, "fastexcel", None)
        with pytest.raises(ImportError, match=re.escape("pip install 'attune-bench[excel]'")):
            Scores.read(tmp_path / "results.xlsx")
    pytest.importorskip("fastexcel")
    mend = "; give the file the ending of its format, or save it as .csv"
    with pytest.raises(SourceError, match=rf"results\.xlsx cannot be read as a workbook: .*{re.escape(mend)}$"):
        Scores.read(tmp_path / "results.xlsx")


@pytest.mark.parametrize(("sheets", "mend"), [(1, ""), (2, ", or move the sheet of the table to the front")])
def test_a_sheet_that_begins_with_no_header_is_told(tmp_path: Path, sheets: int, mend: str) -> None:
    pytest.importorskip("fastexcel")
    path = workbook(tmp_path / "results.xlsx", *[f"Results of May,,,\n,,,\n{long_text()}"] * sheets)
    found = (
        "the first row of the sheet 'Sheet1' is only 'Results of May'; delete the rows above the names of the columns"
    )
    with pytest.raises(SourceError, match=rf"results\.xlsx: {re.escape(found + mend)}$"):
        Scores.read(path)


def test_a_workbook_with_another_ending_and_other_spreadsheets_are_told_what_to_do(tmp_path: Path) -> None:
    workbook(tmp_path / "results.csv", long_text())
    with pytest.raises(SourceError, match=r"no text but a workbook, .*; give the file the ending of its format"):
        Scores.read(tmp_path / "results.csv")
    (tmp_path / "results.ods").write_bytes(b"x")
    with pytest.raises(SourceError, match=r"; save it as \.xlsx or \.csv$"):
        Scores.read(tmp_path / "results.ods")


# A file that is not there.


def test_a_missing_file_is_told_the_nearest_name_or_the_tables_of_the_folder(tmp_path: Path) -> None:
    read(tmp_path / "results.csv", long_text())
    for missing in ("result.csv", "reslts.csv", "results.tsv"):
        with pytest.raises(SourceError, match=rf"did you mean '.*{re.escape('results.csv')}'\?$"):
            Scores.read(tmp_path / missing)
    with pytest.raises(SourceError, match=r"; the tables in .* are results\.csv$"):
        Scores.read(tmp_path / "mine.csv")
    (tmp_path / "results.csv").unlink()
    with pytest.raises(SourceError, match="; there is no table in "):
        Scores.read(tmp_path / "mine.csv")
    with pytest.raises(SourceError, match=r"; there is no folder .*date$"):
        Scores.read(tmp_path / "date" / "mine.csv")


# Columns of other names.


def test_columns_of_other_names_are_mapped(tmp_path: Path) -> None:
    text = long_text().replace("model,unit,topic,metric,value", "system,item_id,topic,what,points").replace("q", "00")
    path = tmp_path / "results.csv"
    path.write_text(text)
    columns = {"model": "system", "unit": "item_id", "metric": "what", "value": "points"}
    scores = Scores.read(path, columns=columns)
    assert values(scores) == [(model, unit.replace("q", "00"), value) for model, unit, value in EXACT]
    assert scores == Scores.from_table(path, columns=columns)
    of_frame = Scores.from_table(pl.read_csv(path, schema_overrides={"item_id": pl.String}), columns=columns)
    assert values(of_frame) == values(scores)


def test_a_column_named_as_the_value_names_the_only_metric() -> None:
    frame = pl.DataFrame({"model": ["a"], "unit": ["q1"], "speed": [3.5]})
    assert Scores.from_table(frame, columns={"value": "speed"}).values["speed"].to_list() == [3.5]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"item": "unit"}, "columns: no 'item'; expected one of model, unit, metric, value, condition"),
        ({"unit": "item"}, "the table: no column 'item' for unit; expected one of model, unit"),
        ({"unit": "model"}, "'model' is named as the unit, and there is a column 'unit' too; leave one out"),
        ({"condition": "topic", "cluster": "topic"}, "columns: 'topic' is named twice; a column is one thing"),
    ],
)
def test_a_wrong_mapping_is_told(columns: dict[str, str], message: str) -> None:
    frame = pl.DataFrame({"model": ["a"], "unit": ["q1"], "topic": ["x"], "metric": ["hit"], "value": [1.0]})
    with pytest.raises(MetricInputError, match=re.escape(message)):
        Scores.from_table(frame, columns=columns)


def test_columns_are_of_tables_alone(tmp_path: Path) -> None:
    read(tmp_path / "results.csv", long_text()).write(tmp_path / "scores.parquet")
    with pytest.raises(SourceError, match=r"is a file of scores, which has its columns; leave out --columns"):
        Scores.read(tmp_path / "scores.parquet", columns={"unit": "item"})


@pytest.mark.parametrize(
    ("names", "mapping"),
    [
        ("model,item_id,topic,metric,value", "unit=item_id"),
        ("System,Question ID,topic,metric,score", "'model=System,unit=Question ID,value=score'"),
        ("model,ItemID,topic,measure,value", "unit=ItemID,metric=measure"),
        ("modle,unit,topic,metric,value", "model=modle"),
    ],
)
def test_the_likely_mapping_is_offered_and_works(names: str, mapping: str, tmp_path: Path) -> None:
    text = long_text().replace("model,unit,topic,metric,value", names)
    with pytest.raises(MetricInputError, match=re.escape(f"If so, give --columns {mapping}, in Python columns={{")):
        read(tmp_path / "results.csv", text)
    columns = dict(part.split("=") for part in mapping.strip("'").split(","))
    assert values(Scores.read(tmp_path / "results.csv", columns=columns)) == EXACT


def test_values_without_a_metric_are_of_one_metric(tmp_path: Path) -> None:
    frame = pl.DataFrame({"model": ["a", "b"], "unit": ["q1", "q1"], "value": [1, 0]})
    assert list(Scores.from_table(frame, metrics={"hit": {"low": 0}}).metrics) == ["hit"]
    scores = Scores.from_table(frame)
    assert (list(scores.metrics), scores.values["value"].to_list()) == (["value"], [1.0, 0.0])
    assert scores.compare_all(resamples=9)["difference"].to_list() == [1.0]
    assert distribution(scores)["mean"].to_list() == [1.0, 0.0]
    scores.to_csv(tmp_path / "again.csv")
    assert Scores.read(tmp_path / "again.csv").values.equals(scores.values)


# Wide tables.


def test_a_column_for_each_model(tmp_path: Path) -> None:
    text = "unit,topic,cluster,gpt,claude\nq1,work,p,0.1,NA\nq2,home,r,1,0.30000000000000004\n"
    scores = read(tmp_path / "results.csv", text)
    assert scores.values.sort("model", "unit").rows() == [
        ("claude", None, "q1", None),
        ("claude", None, "q2", 0.30000000000000004),
        ("gpt", None, "q1", 0.1),
        ("gpt", None, "q2", 1.0),
    ]
    assert scores.units.rows() == [("q1", "p", "work"), ("q2", "r", "home")]
    assert scores.provenance.notes[0] == "Columns read as models: gpt, claude."
    empty = read(tmp_path / "empty.csv", "unit,gpt,qwen,claude\nq1,1,NA,0\nq2,0,,1\n")
    assert empty.models == ("claude", "gpt")
    assert empty.traits == ()
    assert empty.provenance.notes[1] == "Columns without a value left out: qwen."


def test_the_metric_of_models_in_columns_has_the_name_that_is_described(tmp_path: Path) -> None:
    (tmp_path / "results.toml").write_text('[metrics.accuracy]\nlow = 0\nhigh = 1\nstatistic = "share"\n')
    scores = read(tmp_path / "results.csv", "unit,gpt,claude\nq1,TRUE,FALSE\nq2,TRUE,TRUE\n")
    assert scores.values.sort("model", "unit")["accuracy"].to_list() == [0.0, 1.0, 1.0, 1.0]
    in_a_column = read(tmp_path / "other.csv", "unit,metric,gpt,claude\nq1,hit,1,0\nq1,miss,0,1\n")
    assert in_a_column.values.sort("model").select("hit", "miss").rows() == [(0.0, 1.0), (1.0, 0.0)]


def test_a_column_for_each_metric(tmp_path: Path) -> None:
    text = (
        "model,unit,age,topic,answer,hit,F1\n"
        'a,q1,30,work,yes,TRUE,"0,5"\n'
        'a,q2,41,home,no,FALSE,"0,75"\n'
        'b,q1,30,work,no,FALSE,\n'
        'b,q2,41,home,no,TRUE,"1,0"\n'
    )  # fmt: skip
    scores = read(tmp_path / "results.csv", text)
    assert scores.values.select("model", "unit", "hit", "F1").rows() == [
        ("a", "q1", 1.0, 0.5),
        ("a", "q2", 0.0, 0.75),
        ("b", "q1", 0.0, None),
        ("b", "q2", 1.0, 1.0),
    ]
    assert scores.traits == ("age", "topic")
    assert scores.provenance.notes[:4] == (
        "Assumed of the table: decimal commas.",
        "Columns read as metrics: hit, F1.",
        "Columns read as traits, as they are the same for every model: age.",
        "Columns left out, as they differ between the rows of a unit: answer.",
    )


def test_what_is_described_is_a_metric_and_what_is_said_to_be_a_trait_is_one() -> None:
    rows = {"model": ["a", "a", "b", "b"], "unit": ["q1", "q2"] * 2, "same": [1, 2, 1, 2], "hit": [1, 0, 0, 1]}
    assert list(Scores.from_table(pl.DataFrame(rows)).metrics) == ["hit"]
    assert list(Scores.from_table(pl.DataFrame(rows), metrics={"same": {}}).metrics) == ["same", "hit"]
    of_one = pl.DataFrame(rows).filter(model="a")  # nothing to see that it is the same for every model
    assert list(Scores.from_table(of_one).metrics) == ["same", "hit"]
    said = Scores.from_table(of_one, about={"traits": ["same"]})
    assert (list(said.metrics), said.traits) == (["hit"], ("same",))
    for wrong, message in (
        (["sam"], "traits: no column 'sam'; did you mean 'same'?"),
        ("same", "traits: 'same' is no"),
    ):
        with pytest.raises(MetricInputError, match=re.escape(message)):
            Scores.from_table(of_one, about={"traits": wrong})


def test_traits_of_lists_stay_traits_of_wide_tables(tmp_path: Path) -> None:
    groups = '"[""x"", ""y""]"'
    text = f"model,unit,groups,hit\na,q1,{groups},1\nb,q1,{groups},0\nb,q2,[],0\n"
    assert read(tmp_path / "results.csv", text).units["groups"].to_list() == [["x", "y"], []]


@pytest.mark.parametrize("name", ["*", "^.*$"])
def test_a_column_of_a_wide_table_that_polars_takes_for_a_pattern_is_refused(name: str) -> None:
    with pytest.raises(MetricInputError, match=re.escape(f"the table: polars reads {name!r} as a pattern")):
        Scores.from_table(pl.DataFrame({"model": ["a"], "unit": ["q1"], name: [1.0]}))


def test_numbers_of_rows_are_no_metric(tmp_path: Path) -> None:
    of_r = read(tmp_path / "r.csv", '"","model","unit","hit"\n"1","a","q1",0.5\n"2","a","q2",NA\n')
    assert (list(of_r.metrics), of_r.traits) == (["hit"], ())
    assert of_r.provenance.notes[0] == "Assumed of the table: 1 column without a name left out."
    counted = read(tmp_path / "index.csv", "index,model,unit,hit\n0,a,q1,0.5\n1,b,q1,1\n2,b,q2,1\n")
    assert (list(counted.metrics), counted.traits) == (["hit"], ())


def test_empty_columns_at_the_end_of_a_sheet_are_nothing(tmp_path: Path) -> None:
    assert read(tmp_path / "results.csv", "model;unit;hit;;\na;q1;1;;\na;q2;0;;\n").traits == ()


def test_a_name_may_not_be_blank() -> None:
    frame = pl.DataFrame({"unit": ["q1", "q2"], "gpt": [1, 0], " ": [1, 1]})
    with pytest.raises(MetricInputError, match="the table: a column of numbers has no name; name it, or leave it out"):
        Scores.from_table(frame)
    category = pl.Series(["a", " "], dtype=pl.Categorical)
    long = pl.DataFrame({"model": category, "unit": ["q1", "q1"], "value": [1, 0]})
    with pytest.raises(
        MetricInputError, match="the table, row 2: model is empty or NA; every row names model and unit"
    ):
        Scores.from_table(long)


def test_one_wrong_cell_makes_no_trait_of_a_metric(tmp_path: Path) -> None:
    with pytest.raises(MetricInputError, match="row 3: value 'high' of metric 'hit', model 'a' is no number"):
        read(tmp_path / "results.csv", "model,unit,hit,f1\na,q1,1,0.5\na,q2,high,0.5\nb,q1,0,1\n")
    with pytest.raises(MetricInputError, match="row 3: value 'high' of metric 'value', model 'gpt' is no number"):
        read(tmp_path / "results.csv", "unit,gpt,claude\nq1,1,0.5\nq2,high,0.5\nq3,0,1\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("model,unit,seed,hit\na,q1,1,1\na,q1,2,0\n", "rows 2 and 3: both are model 'a', unit 'q1'; if 'seed' numbers "
         "the times, give --columns repeat=seed, in Python"),
        ("model,unit,prompt,hit\na,q1,plain,1\na,q1,cot,0\n", "rows 2 and 3: both are model 'a', unit 'q1'; if "
         "'prompt' says how the model was asked, give --columns condition=prompt, in Python"),
        ("model,unit,hit\na,q1,1\na,q1,0\n", "leave one out, or number them in a column repeat"),
        ("unit,vendor,x,y\nq1,a,1,0\nq1,b,0,1\n", "no column 'model', and rows 2 and 3 are both of unit 'q1'; if "
         "'vendor' names the model, give --columns model=vendor, in Python"),
        ("unit,accuracy,f1\nq1,1,0.5\n", "no column 'model'; the table has unit, accuracy, f1; add a column model, or "
         "name it with --columns model=NAME; if 'accuracy' is a model: polars.read_csv(...).unpivot(['accuracy', "
         "'f1'], index=['unit'], variable_name='model')"),
        ("unit,gpt,claude\nq1,NA,1\nq2,,0\n", "no column 'model'; the table has unit, gpt, claude; 'gpt' has no value: "
         "if it is a model, it needs a number in at least one row"),
        ("system,item,score,f1\na,q1,1,0.5\n", "If so, give --columns model=system,unit=item, in Python"),
        ("system,item,score\na,q1,1\n", "If so, give --columns model=system,unit=item,value=score, in Python"),
        ("item,gpt,claude\nq1,1,0\n", "no column 'unit'; did you mean 'item'? If so, give --columns unit=item"),
        ("gpt,claude\n1,0\n", "no column 'unit'; the table has gpt, claude; if each row is a unit, number the "
         "rows: polars.read_csv(...).with_row_index('unit')"),
        ("model,q1,q2\na,1,0\nb,0,1\n", "no column 'unit'; the table has model, q1, q2; "
         "each model has one row: if 'q1' is a unit: polars.read_csv(...).unpivot(index=['model'], "
         "variable_name='unit'); means alone cannot be compared"),
        ("unit,gpt,claude\nq1,53%,40%\n", "no column 'model'; the table has unit, gpt, claude; "
         "no column has numbers: write '40%' as a number, without a percent sign, yes and no as 1 and 0"),
        ("a/b/c\n1/2/3\n", "the only column is 'a/b/c': between cells are commas, semicolons, tabs or |"),
        ("model,unit,answer\na,q1,yes\n", "no column 'metric'; the table has model, unit, answer; --columns "
         "metric=NAME says which of these it is"),
    ],
)  # fmt: skip
def test_a_table_that_may_be_read_in_two_ways_is_told_the_line_that_mends_it(
    text: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(MetricInputError, match=re.escape(message)):
        read(tmp_path / "results.csv", text)


def test_the_offered_lines_work(tmp_path: Path) -> None:
    repeated = tmp_path / "repeated.csv"
    repeated.write_text("model,unit,seed,hit\na,q1,1,1\na,q1,2,0\n")
    assert Scores.read(repeated, columns={"repeat": "seed"}).values["hit"].to_list() == [0.5]
    asked = tmp_path / "asked.csv"
    asked.write_text("model,unit,prompt,hit\na,q1,plain,1\na,q1,cot,0\n")
    assert Scores.read(asked, columns={"condition": "prompt"}).conditions == ("cot", "plain")
    models = pl.DataFrame({"unit": ["q1"], "accuracy": [1], "f1": [0]})
    long = models.unpivot(["accuracy", "f1"], index=["unit"], variable_name="model")
    assert Scores.from_table(long).models == ("accuracy", "f1")
    several = pl.DataFrame({"system": ["a"], "item": ["q1"], "score": [1], "f1": [0.5]})
    assert list(Scores.from_table(several, columns={"model": "system", "unit": "item"}).metrics) == ["score", "f1"]
    numbered = pl.DataFrame({"gpt": [1, 0], "claude": [1, 1]}).with_row_index("unit")
    assert Scores.from_table(numbered).models == ("claude", "gpt")
