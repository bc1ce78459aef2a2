"""Pieces of a JSON file that is too large for one record: read as a stream, each with the nesting of the whole."""

import codecs
import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, Final, cast

from attune_data.io.documents import Budget

_READ = 2**20
_PIECE = 2**20
_LARGEST = 2**23
_MOST_PLAIN, _LONGEST_PLAIN = 100, 1_000
_SPACE = re.compile(r"[ \t\r\n]*")
_TOO_LARGE: Final = object()


def pieces(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the object of a JSON file in pieces of about a megabyte, without keeping the whole in memory.

    A piece has the nesting of the file and some of its values: of ``{"a": 1, "b": [2, 3]}`` the pieces may be
    ``{"a": 1, "b": [2]}`` and ``{"a": 1, "b": [3]}``. Numbers and short texts of the objects around a piece that stand
    before it are repeated.

    Parameters
    ----------
    path : Path
        A ``.json`` or ``.json.gz`` file.

    Raises
    ------
    ValueError
        Where the file is no JSON object, is cut off, or has a text of more than 8 million characters.
    OSError, EOFError
        Where it cannot be read.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "runs.json")
    ...     _ = path.write_text('{"m1": {"tasks": [1, 2]}, "m2": {"tasks": []}}')
    ...     list(pieces(path))
    [{'m1': {'tasks': [1, 2]}, 'm2': {'tasks': []}}]
    """
    with path.open("rb") as file:
        if path.name.lower().endswith(".gz"):
            with gzip.open(file) as unpacked:
                yield from _objects(Budget().bounded(cast("IO[bytes]", unpacked)))
        else:
            yield from _objects(file)


def _objects(stream: IO[bytes]) -> Iterator[dict[str, Any]]:
    text = _Text(stream)
    if text.next_character() != "{":
        raise ValueError("it is no JSON object")
    yield from text.members()


class _Text:
    """The text of a JSON file, read as far as it is needed."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self._text = ""
        self._place = 0
        self._is_ended = False

    def _read_on(self) -> None:
        data = self._stream.read(max(_READ, len(self._text) - self._place))
        self._is_ended = not data
        self._text = self._text[self._place :] + self._decoder.decode(data, final=not data)
        self._place = 0

    def next_character(self) -> str:
        """Return the next character that is no blank, empty at the end; it is not taken."""
        while True:
            blank = _SPACE.match(self._text, self._place)
            self._place = blank.end() if blank else self._place
            if self._place < len(self._text) or self._is_ended:
                return self._text[self._place : self._place + 1]
            self._read_on()

    def take(self, expected: str) -> str:
        """Take the next character, which is one of those expected."""
        found = self.next_character()
        if not found or found not in expected:
            here = repr(found) if found else "the end of the file"
            raise ValueError(f"not JSON: {here} where one of {' '.join(expected)} is expected")
        self._place += 1
        return found

    def value(self) -> tuple[Any, int]:
        """Take a value and return it with its length; a large list or object is not taken, and `_TOO_LARGE`."""
        self.next_character()
        while True:
            try:
                found, end = json.JSONDecoder().raw_decode(self._text, self._place)
            except RecursionError:
                raise ValueError("nested too deeply to be a record") from None
            except json.JSONDecodeError as error:
                if self._is_ended:
                    raise ValueError(f"not JSON: {error.msg}; is the file cut off?") from None
            else:
                if end < len(self._text) or self._is_ended:  # else a number may go on
                    length, self._place = end - self._place, end
                    return found, length
            if len(self._text) - self._place > _LARGEST:
                if self._text[self._place] not in "{[":
                    raise ValueError(f"it has a text of more than {_LARGEST:,} characters, or is not JSON")
                return _TOO_LARGE, 0
            self._read_on()

    def members(self) -> Iterator[dict[str, Any]]:
        """Yield the pieces of the object that follows."""
        plain: dict[str, Any] = {}
        held: dict[str, Any] = {}
        size, closing = 0, self.take("{")
        if self.next_character() == "}":
            closing = self.take("}")
        while closing != "}":
            key, _ = self.value()
            if not isinstance(key, str):
                raise ValueError(f"not JSON: the key {key!r:.40} is no text")
            self.take(":")
            value, length = self.value()
            if value is _TOO_LARGE:
                if held:
                    yield {**plain, **held}
                    held, size = {}, 0
                for inner in self.members() if self.next_character() == "{" else self.items():
                    yield {**plain, key: inner}
            else:
                held[key] = value
                size += length
                is_plain = isinstance(value, str | int | float) and length < _LONGEST_PLAIN
                if is_plain and len(plain) < _MOST_PLAIN:
                    plain[key] = value
                if size > _PIECE:
                    yield {**plain, **held}
                    held, size = {}, 0
            closing = self.take(",}")
        yield {**plain, **held}

    def items(self) -> Iterator[list[Any]]:
        """Yield the pieces of the list that follows."""
        held: list[Any] = []
        size, closing = 0, self.take("[")
        if self.next_character() == "]":
            closing = self.take("]")
        while closing != "]":
            value, length = self.value()
            if value is _TOO_LARGE:
                inner = self.members() if self.next_character() == "{" else self.items()
                yield from ([one] for one in inner)
            else:
                held.append(value)
                size += length
                if size > _PIECE:
                    yield held
                    held, size = [], 0
            closing = self.take(",]")
        yield held
