"""The files of docs/schemas: what they say, and writing them (make schemas)."""

import json
from pathlib import Path

from attune_data.schemas import SCHEMA_KINDS, TABLE_SCHEMA_KINDS, json_schema, table_schema

FOLDER = Path(__file__).parents[2] / "docs" / "schemas"


def contents() -> dict[str, str]:
    """Return the text of every file, by its name."""
    schemas = {f"{kind}.schema.json": json_schema(kind) for kind in SCHEMA_KINDS}
    tables = {f"{kind}.tables.json": table_schema(kind) for kind in TABLE_SCHEMA_KINDS}
    return {
        name: json.dumps(schema, indent=2, ensure_ascii=False) + "\n" for name, schema in {**schemas, **tables}.items()
    }


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, text in contents().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
