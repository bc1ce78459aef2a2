"""The cache of the `hf` tools, in their layout: contents by hash, lists of files by commit, links to the contents."""

import json
import os
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from attune_data.io.files import write_whole
from attune_data.io.hub_address import is_commit
from attune_data.issues import shown

__all__ = ["Cache", "File"]

_FORMAT = 1  # Of the lists of files.
_CHUNK = 2**20


@dataclass(frozen=True, slots=True)
class File:
    """What the list of a commit states of a file: its bytes, and its hashes of git and, where it has one, of LFS."""

    size: int
    blob_id: str
    lfs_sha256: str | None = None

    @classmethod
    def stated(cls, size: Any, blob_id: Any, lfs_sha256: Any) -> "File":
        """Return a file as a list states it.

        Raises
        ------
        ValueError
            Where that cannot be; says what, as a clause.
        """
        if type(size) is not int or not 0 <= size < 2**63:
            raise ValueError(f"its size is {shown(size)} in the Hub's list of files; expected a number of bytes")
        for value, length in ((blob_id, 40), (lfs_sha256 or "0" * 64, 64)):
            # The hash is the name of the content on disk.
            if not isinstance(value, str) or not re.fullmatch(rf"[0-9a-f]{{{length}}}", value):
                raise ValueError(f"its hash is {shown(value)} in the Hub's list of files; expected {length} hex digits")
        return cls(size, blob_id, lfs_sha256 or None)

    @property
    def hash(self) -> str:
        """The hash by which the cache names the content."""
        return self.lfs_sha256 or self.blob_id


class Cache:
    """What the cache has of one data set."""

    def __init__(self, repo: str) -> None:
        from huggingface_hub import constants
        from huggingface_hub.file_download import repo_folder_name

        self._folder = Path(constants.HF_HUB_CACHE).expanduser() / repo_folder_name(repo_id=repo, repo_type="dataset")

    def commit(self, revision: str) -> str | None:
        """Return the commit that a revision meant when it was last asked for."""
        try:
            text = (self._folder / "refs" / revision).read_text("ascii").strip()
        except (OSError, ValueError):
            return None
        return text if is_commit(text) else None

    def files(self, commit: str) -> dict[str, File] | None:
        """Return the list of a commit's files."""
        try:
            stored = json.loads(self._list(commit).read_bytes())
            if stored["format_version"] != _FORMAT:
                return None
            return {
                path: File.stated(file["size"], file["blob_id"], file.get("lfs_sha256"))
                for path, file in stored["files"].items()
            }
        except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
            return None

    def keep_files(self, commit: str, files: Mapping[str, File]) -> None:
        """Keep the list of a commit's files, where the cache can be written."""
        stored: dict[str, dict[str, Any]] = {}
        for path, file in files.items():
            lfs = {"lfs_sha256": file.lfs_sha256, "lfs_size": file.size} if file.lfs_sha256 else {}
            stored[path] = {"size": file.size, "blob_id": file.blob_id, **lfs}
        data = json.dumps({"format_version": _FORMAT, "files": stored}).encode()
        with suppress(OSError):
            _write(self._list(commit), [data])

    def keep_commit(self, revision: str, commit: str) -> None:
        """Keep which commit a revision means, where the cache can be written."""
        with suppress(OSError):
            _write(self._folder / "refs" / revision, [commit.encode()])

    def place(self, commit: str, path: str, file: File) -> Path | None:
        """Return where a file's content is, if it is there.

        Content before link: of two names that differ by case only a disk may have one link.
        """
        for place in (self._content(file), self.link(commit, path)):
            with suppress(OSError, ValueError):
                if place.is_file() and place.stat().st_size == file.size:
                    return place
        return None

    def keep_content(self, file: File, parts: Iterable[bytes]) -> None:
        """Write a file's content, whole or not at all."""
        _write(self._content(file), parts)

    def link(self, commit: str, path: str) -> Path:
        """Return where the link to the content of a commit's file belongs."""
        return self._folder / "snapshots" / commit / path

    def make_link(self, commit: str, path: str, file: File) -> None:
        """Link to a content for the `hf` tools, where the disk can have that name."""
        link, content = self.link(commit, path), self._content(file)
        with suppress(OSError):
            link.parent.mkdir(parents=True, exist_ok=True)
            if link.is_file() and link.stat().st_size == file.size:
                return
            link.unlink(missing_ok=True)
            try:
                link.symlink_to(os.path.relpath(content, link.parent))
            except FileExistsError:  # Another process was faster.
                pass
            except OSError:  # Not every user of Windows may make links.
                with content.open("rb") as parts:
                    _write(link, iter(partial(parts.read, _CHUNK), b""))

    def _content(self, file: File) -> Path:
        return self._folder / "blobs" / file.hash

    def _list(self, commit: str) -> Path:
        return self._folder / "trees" / f"{commit}.json"


def _write(path: Path, parts: Iterable[bytes]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, parts)
