"""The card of a published data set: what is in it, under which licence, how to load it.

Of the records it shows counts and canaries only, no text of a participant.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from attune_data.frames import Frames
from attune_data.kind import Kind
from attune_data.licences import Benchmark, Licence, canary
from attune_data.matching import count_people
from attune_data.meanings import RECORDS_TABLE
from attune_data.record import is_generated
from attune_data.text import plural, printable

if TYPE_CHECKING:
    import polars as pl
    from huggingface_hub import DatasetCard

__all__ = ["dataset_card"]


def dataset_card(
    repo_id: str,
    kind: Kind[Any, Any],
    records: Sequence[Any],
    frames: "Mapping[str, pl.LazyFrame]",
    licence: Licence,
    benchmarks: Sequence[Benchmark],
) -> "DatasetCard":
    """Return the card of a repository, read back by the Hub's own class.

    Parameters
    ----------
    repo_id : str
        ``owner/name``.
    kind : Kind
        What the records are.
    records : sequence
        What is published.
    frames : mapping of str to polars.LazyFrame
        The tables by name; each with a row is a config that is loaded from ``<name>.parquet``.
    licence : Licence
        What is published under.
    benchmarks : sequence of Benchmark
        Whose data the records are known to be.
    """
    import polars as pl
    from huggingface_hub import DatasetCard, DatasetCardData

    rows = {name: frame.select(pl.len()).collect().item() for name, frame in frames.items()}
    name = repo_id.partition("/")[2]
    default = next(name for name in (*(kind.tables.names if kind.tables else ()), "records") if name in rows)
    # The library datasets cannot load a config without a row.
    filled = [config for config in rows if rows[config]]
    split = _split(records)
    configs: list[dict[str, Any]] = [
        {"config_name": config, "data_files": [{"split": split, "path": f"{config}.parquet"}]} for config in filled
    ]
    configs[filled.index(default)]["default"] = True
    data = DatasetCardData(
        license=licence.id,
        pretty_name=name,
        size_categories=_size(rows[default]),
        tags=["attune-bench", "emotional-intelligence", "evaluation"],
        configs=configs,
    )
    body = [
        f"# {name}",
        _summary(kind, records, rows),
        *_synthetic(records),
        *_request(kind, records),
        *_licence(licence, benchmarks),
        *_contents(kind.tables, rows),
        *_use(repo_id, kind, default, split),
        *_fields(kind.tables, frames),
    ]
    return DatasetCard(f"---\n{data.to_yaml()}\n---\n\n" + "\n\n".join(body) + "\n")


def _split(records: Sequence[Any]) -> str:
    """Return the split of the Hub: ``train`` where every record says so of itself, else ``test``.

    Without a split in the card all files would be of the split ``train``, as which data for evaluation are not meant.
    """
    return "train" if {getattr(record, "split", None) for record in records} == {"train"} else "test"


def _size(rows: int) -> str:
    """Return the Hub's size category.

    Examples
    --------
    >>> [_size(rows) for rows in (999, 1000, 2_000_000)]
    ['n<1K', '1K<n<10K', '1M<n<10M']
    """
    bounds = {10**3: "1K", 10**4: "10K", 10**5: "100K", 10**6: "1M", 10**7: "10M"}
    if rows < 10**3:
        return "n<1K"
    between = (f"{low}<n<{high}" for (_, low), (bound, high) in pairwise(bounds.items()) if rows < bound)
    return next(between, "n>10M")


def _summary(kind: Kind[Any, Any], records: Sequence[Any], rows: Mapping[str, int]) -> str:
    parts = [plural(len(records), kind.noun, kind.plural)]
    people = count_people(getattr(record, "participant_id", None) for record in records)
    if people:
        parts.append(plural(people, "participant"))
    counted = kind.tables.counted if kind.tables else {}
    parts += [plural(rows[table], noun) for table, noun in counted.items() if rows.get(table)]
    return f"{', '.join(parts)}. Made with the library attune-bench."


def _synthetic(records: Sequence[Any]) -> list[str]:
    count = sum(map(is_generated, records))
    if not count:
        return []
    which = "Every record says" if count == len(records) else f"{count} of the {len(records)} records say"
    return [f"**Synthetic data.** {which} of itself that it was generated: no person wrote or annotated it."]


def _request(kind: Kind[Any, Any], records: Sequence[Any]) -> list[str]:
    if kind.request is None:
        return []
    found = canary(records)
    longest = max(map(len, re.findall("`+", "".join(found.texts))), default=0)
    fence = "`" * max(3, longest + 1)
    which = "The canary of the data" if found.is_own else "The data have no canary of their own; this one stands in"
    return [
        "## Please do not train on these data",
        kind.request,
        f"{which}:",
        "\n".join([f"{fence}text", *map(printable, found.texts), fence]),
    ]


def _licence(licence: Licence, benchmarks: Sequence[Benchmark]) -> list[str]:
    sources = [
        f"Contains data of {benchmark.name}, published by its authors under [{benchmark.licence.title}]"
        f"({benchmark.licence.url}): {benchmark.attribution}. Changed: what loading corrected, older spellings "
        "too, and the tables that are made of the records."
        for benchmark in benchmarks
    ]
    own = "A licence that a record states of itself is in the record."
    return ["## Licence", f"[{licence.title}]({licence.url}). {own}", *sources]


def _contents(tables: type[Frames] | None, rows: Mapping[str, int]) -> list[str]:
    lines = [f"| `{name}` | {count:,} | {_about(tables, name)} |" for name, count in rows.items() if count]
    table = "\n".join(["| config | rows | content |", "| --- | ---: | --- |", *lines])
    empty = ", ".join(f"`{name}.parquet`" for name, count in rows.items() if not count)
    return ["## Configs", table, *([f"Without a row, and so no config: {empty}."] if empty else [])]


def _about(tables: type[Frames] | None, table: str) -> str:
    if table == "records":
        return "One row a record: all of it, as JSON, nothing left out."
    return (getattr(tables, table).__doc__ or "").partition("\n")[0]


def _use(repo_id: str, kind: Kind[Any, Any], default: str, split: str) -> list[str]:
    loader = kind.loader
    code = [
        "```python",
        f"from attune_data import {loader}  # pip install attune-bench",
        "",
        f'records = {loader}("hf://{repo_id}")',
        "",
        "from datasets import load_dataset  # pip install datasets",
        "",
        f'{default} = load_dataset("{repo_id}", "{default}", split="{split}")',
        "```",
    ]
    return ["## Use", "\n".join(code)]


def _fields(tables: type[Frames] | None, frames: "Mapping[str, pl.LazyFrame]") -> list[str]:
    parts = ["## Fields"]
    meanings = {**(tables.meanings() if tables else {}), "records": RECORDS_TABLE}
    for table, frame in frames.items():
        lines = [
            f"| `{column}` | {_type(dtype)} | {meanings[table][column].description} |"
            for column, dtype in frame.collect_schema().items()
        ]
        parts += [f"### `{table}`", "\n".join(["| column | type | meaning |", "| --- | --- | --- |", *lines])]
    return parts


def _type(dtype: "pl.DataType") -> str:
    import polars as pl

    if isinstance(dtype, pl.Enum):
        return " or ".join(f"`{value}`" for value in dtype.categories)
    return f"list of {_type(dtype.inner)}" if isinstance(dtype, pl.List) else str(dtype).lower()  # type: ignore[arg-type]
