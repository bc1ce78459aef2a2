"""Archives for the tests of sources, good, odd and dangerous ones, and what is looked at after loading them."""

import gzip
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from attune_data import Collection, Issue, Tables, load, load_tables

Loader = Callable[..., Collection[Any] | Tables]

TEN_GB = 10 * 2**30

COMPRESSORS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".tgz": gzip.compress,
}


both_loaders = pytest.mark.parametrize("loader", [load, load_tables])


def ids(loaded: Collection[Any] | Tables) -> list[str]:
    if isinstance(loaded, Tables):
        return loaded.conversations["conversation_id"].to_list()
    return [record.id for record in loaded]


def brief(found: Sequence[Issue]) -> list[tuple[str, str, str]]:
    return [(issue.file, issue.rule, issue.severity) for issue in found]


def compressed(name: str, data: bytes) -> bytes:
    compress = COMPRESSORS.get(Path(name).suffix)
    return compress(data) if compress else data


def tar_header(name: str, size: int = 0, kind: bytes = tarfile.REGTYPE, target: str = "") -> bytes:
    info = tarfile.TarInfo(name)
    info.size, info.type, info.linkname = size, kind, target
    return info.tobuf()


def tar_member(name: str, data: bytes) -> bytes:
    return tar_header(name, len(data)) + data + bytes(-len(data) % 512)


def pack(path: Path, members: Mapping[str, bytes]) -> Path:
    """Write an archive of the kind that the path's name says, its members in this order."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in members.items():
                archive.writestr(name, data)
        return path
    blocks = b"".join(tar_member(name, data) for name, data in members.items())
    path.write_bytes(compressed(path.name, blocks + bytes(1024)))
    return path


def tar_bomb(path: Path, good: bytes) -> Path:
    """Write a compressed tar of a good record and a member that claims 10 GB of zeros, the first 256 MB of it there."""
    block = 2**24
    start = tar_member("0.json", good) + tar_header("1.json", TEN_GB)
    path.write_bytes(compressed(path.name, start) + compressed(path.name, bytes(block)) * (2**28 // block))
    return path


def zip_bomb(path: Path, good: bytes) -> Path:
    """Write a zip of a good record and a member that unpacks to 10 GB of zeros."""
    deflate = zlib.compressobj(wbits=-15)
    start = deflate.compress(bytes(2**24)) + deflate.flush(zlib.Z_FULL_FLUSH)
    again = deflate.compress(bytes(2**24)) + deflate.flush(zlib.Z_FULL_FLUSH)
    stream = start + again * (TEN_GB // 2**24 - 1) + deflate.flush()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        archive.writestr("0.json", good)
        archive.writestr("1.json", stream)
        bomb = archive.getinfo("1.json")
        bomb.file_size, bomb.compress_type = TEN_GB, zipfile.ZIP_DEFLATED
    data = path.read_bytes()
    place = data.index(b"1.json") - 30
    path.write_bytes(data[: place + 8] + b"\x08\0" + data[place + 10 :])
    return path
