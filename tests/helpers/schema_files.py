"""The files of docs/schemas and docs/columns.md: what they say, and writing them (make schemas)."""

import json
from pathlib import Path

from attune_bench.cli.column_list import columns_markdown, listed_tables
from attune_data.publishing import SCHEMA_KINDS, TABLE_SCHEMA_KINDS, json_schema, table_schema

DOCS = Path(__file__).parents[2] / "docs"
FOLDER = DOCS / "schemas"
COLUMNS = DOCS / "columns.md"

_HEAD = """# Columns: what the tables say

Every column of every table that this library makes: first the tables of records, then what `report`, `compare` and
the other commands print and write, last the metrics. This page is made from the codebook, the models of records and
the catalogue of metrics (`make schemas`). `attune-bench columns` prints it at the terminal:

```console
$ attune-bench columns p_min
comparisons: ...
$ attune-bench columns mood_tags --format csv
chapter,table,origin,column,meaning,type,low,high,missing,source
...
```

`attune-bench columns NAME` takes a kind of record, a table, a command, an analysis, a column or a metric. Without a
name, `--format csv` gives all of it as one codebook, a row a column.

How to read the tables:

- **Type.** A *whole number* has no decimals, a *number* may have some. *true or false* are written so in CSV. A *list
  of texts* is a JSON list in CSV and pandas, such as `["ADHD", "Anxiety"]`.
- **Range.** The lowest and the highest possible value, both included; for a score of an instrument, those of the
  instrument. Loading reports a value outside it as an [issue](issues.md), but for recorded scores, which are computed
  anew. The meaning names the unit of a number.
- **May be missing.** An empty cell in CSV, null in Parquet, `<NA>` in pandas. Of an analysis, `reason` says why.
- **Source.** The key in the record's JSON file, with points within nested objects, or where a row is a part of a
  record, such as a turn or a tag, in that part; or what the value is computed of. Where it is empty, the column counts,
  names the row or follows from its other columns.
- **Interval.** `low` and `high` enclose the value with 95% confidence, or as `--level` says ([how](intervals.md)).

To get the tables: `conversations.to_csv("folder")` or `to_pandas()` for records
([loading](loading.md#tables-to-take-away)), `--format csv` for commands, `scores.to_csv("scores.csv")` for the value
of every unit, `attune-bench export` for all of a file of scores ([other formats](exchange.md)). The meaning of
questions and options is in the codebook (`codebook/attunebench.toml`), of cut-offs and bands on
[instruments](instruments.md); [metrics](metrics/index.md) have pages with formulas and examples."""


def contents() -> dict[str, str]:
    """Return the text of every file, by its name."""
    schemas = {f"{kind}.schema.json": json_schema(kind) for kind in SCHEMA_KINDS}
    tables = {f"{kind}.tables.json": table_schema(kind) for kind in TABLE_SCHEMA_KINDS}
    return {
        name: json.dumps(schema, indent=2, ensure_ascii=False) + "\n" for name, schema in {**schemas, **tables}.items()
    }


def columns_page() -> str:
    """Return the text of docs/columns.md."""
    return f"{_HEAD}\n\n{columns_markdown(listed_tables())}\n"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, text in contents().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    COLUMNS.write_text(columns_page(), encoding="utf-8")
