"""Damaged files of every format: each gives records and issues, or one of the declared errors, in bounded memory."""

import gzip
import json
import random
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import hostile
import polars as pl
from archive_files import pack

from attune_data import LoadError, SourceError, load_records
from attune_data.codebook import CodebookError, Named, read_toml
from attune_data.kinds import KINDS

_ENDINGS = ".dataset .json .jsonl .jsonl.gz .zip .tar .tar.gz .parquet .toml".split()
_VALUES: tuple[Any, ...] = (None, True, -1, 1e308, 10**30, "", "\ud800", "\x1b[2J", [], {}, [[]], {"": None}, "1" * 999)
_PIECES = (b"\0", b"\xff", b'"', b"{", b"[" * 300, b"\\ud800", b"\xef\xbb\xbf", b"NaN", b"1e999", b"\n", b":", b",")


def _bent(value: Any, random_: random.Random) -> Any:
    """Return a JSON value with one place of it changed, removed, repeated or nested."""
    if not isinstance(value, dict | list) or not value or random_.random() < 0.1:
        return random_.choice([*_VALUES, [value], {"a": value}, str(value)])
    place: Any = random_.choice([*value] if isinstance(value, dict) else range(len(value)))
    changed: Any = dict(value) if isinstance(value, dict) else list(value)
    if random_.random() < 0.15:
        del changed[place]
    elif random_.random() < 0.1 and isinstance(changed, list):
        changed.append(changed[place])
    else:
        changed[place] = _bent(value[place], random_)
    return changed


def _damaged(data: bytes, random_: random.Random) -> bytes:
    """Return bytes with a few of them changed, cut out, repeated or put in."""
    for _ in range(random_.choice([0, 1, 1, 3, 20])):
        place = random_.randrange(len(data) + 1)
        end = place + random_.choice([0, 1, 2, 50])
        put = random_.choice([*_PIECES, random_.randbytes(4), data[place : place + 300]])
        data = data[:place] + put + data[end:]
    return data[: random_.randrange(len(data) + 1)] if random_.random() < 0.2 else data


def _dataset(lines: list[bytes], random_: random.Random) -> Any:
    """Return records as a Dataset: a column of texts, which may be none, or columns where Arrow can have them."""
    import datasets  # It takes a second, which collecting the quick tests does not have.
    import pyarrow as pa  # type: ignore[import-untyped]  # it has no types

    with suppress(ValueError, TypeError, OverflowError, AttributeError, LookupError, RecursionError):
        if random_.random() < 0.5:
            return datasets.Dataset.from_list([json.loads(line) for line in lines])
    return datasets.Dataset(pa.table({"record": pa.array(lines, pa.binary()).view(pa.string())}))


def _write(folder: Path, seed: int) -> tuple[Any, Any]:
    """Write a damaged file, and return it, or a Dataset, with the kind that it is read as."""
    random_ = random.Random(seed)
    name, kind = f"a{random_.choice(_ENDINGS)}", random_.choice(KINDS)
    lines = []
    for record in list(load_records("demo", kind))[:3] if kind.demo else []:
        content = json.loads(record.to_json())
        for _ in range(random_.choice([0, 1, 5])):
            content = _bent(content, random_)
        lines.append(json.dumps(content, ensure_ascii=random_.random() < 0.5).encode("utf-8", "surrogatepass"))
    first = lines[0] if lines else b"{}"
    inner = [_damaged(line, random_) if random_.random() < 0.3 else line for line in lines]
    path = folder / name
    if name == "a.dataset":
        return _dataset(inner, random_), kind
    if name == "a.json":
        text = first.decode("utf-8", "surrogatepass")
        path.write_bytes(text.encode(random_.choice(["utf-8", "utf-16", "utf-32"]), "replace"))
    elif name == "a.parquet":
        pl.DataFrame({"record": inner}, schema={"record": pl.Binary}).write_parquet(path)
    elif name == "a.toml":
        path.write_text('red = "warm"\n[blue]\ntext = "cold"\nlist = [1, 2, {a = 1}]\n' * random_.choice([1, 2]))
    elif "jsonl" in name:
        path.write_bytes(gzip.compress(b"\n".join(inner)) if path.suffix == ".gz" else b"\n".join(inner))
    else:
        members = {f"{number}.json": line for number, line in enumerate(inner)} | {"x.jsonl": b"\n".join(inner)}
        pack(path, dict(random_.sample([*members.items()], len(members))))
    path.write_bytes(_damaged(path.read_bytes(), random_))
    return path, kind


def case(seed: int, folder: Path) -> Iterator[str]:
    """Read one file."""
    with tempfile.TemporaryDirectory(dir=folder) as own, suppress(SourceError, LoadError, CodebookError):
        source, kind = _write(Path(own), seed)
        if isinstance(source, Path) and source.suffix == ".toml":
            read_toml(source, Named[str])
            return
        loaded = load_records(source, kind)
        if not loaded and not loaded.found:
            yield "neither a record nor an issue"
        for record in loaded:
            record.to_json()
        for issue in loaded.found:
            if not str(issue).replace("\u200d", "").isprintable():
                yield f"{issue} has characters that are not printable"
        load_records(source, kind, on_error="raise")


if __name__ == "__main__":
    hostile.main(case, most_bytes=2**30)
