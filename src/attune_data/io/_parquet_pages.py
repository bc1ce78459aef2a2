"""What a Parquet file's column unpacks to, from the headers of its pages, before anything is unpacked.

Headers are Thrift structs in the compact protocol, read here as dicts by field number. The numbers are those of
``parquet.thrift`` of the Parquet format.
"""

import io
import struct
from collections.abc import Iterator
from typing import IO, Any

__all__ = ["groups"]

_MARK = b"PAR1"
_MOST_HEADER = 2**20
_DEEPEST = 16
# FileMetaData, RowGroup, ColumnChunk
_GROUPS, _COLUMNS, _ROWS, _ABOUT = 4, 1, 3, 3
# ColumnMetaData
_PATH, _PACKED, _DATA, _DICTIONARY = 3, 7, 9, 11
# PageHeader
_PAGE_UNPACKED, _PAGE_PACKED, _V1, _ENTRIES, _V2 = 2, 3, 5, 7, 8
# DataPageHeader, DataPageHeaderV2, DictionaryPageHeader, and DELTA_BYTE_ARRAY of Encoding
_VALUES, _V1_ENCODING, _V2_ENCODING, _DIFFERENCES = 1, 2, 4, 7


def groups(stream: IO[bytes], column: str) -> Iterator[tuple[int, int, bool]]:
    """Yield of each group of rows their number, and how many bytes the pages of a column unpack to.

    The third value says whether the texts of the group may be longer than that: each is kept as its difference from the
    one before.

    Raises
    ------
    ValueError
        Where the file is damaged.
    """
    try:
        length, mark = struct.unpack("<I4s", _at(stream, -8, 8, io.SEEK_END))
        if mark != _MARK:
            raise ValueError("the end of the file is not Parquet's")
        footer = _Thrift(_at(stream, -8 - length, length, io.SEEK_END)).struct()
        for group in footer[_GROUPS]:
            if group[_ROWS]:
                about = [chunk[_ABOUT] for chunk in group[_COLUMNS]]
                (found,) = (meta for meta in about if meta[_PATH] == [column.encode()])
                pages = [*_pages(stream, found, group[_ROWS])]
                yield group[_ROWS], sum(size for size, _ in pages), any(differs for _, differs in pages)
    except (LookupError, OSError, TypeError, AttributeError, struct.error) as error:
        raise ValueError(f"a header cannot be read ({type(error).__name__})") from None


def _pages(stream: IO[bytes], meta: dict[int, Any], rows: int) -> Iterator[tuple[int, bool]]:
    """Yield what each page of a column chunk unpacks to, and whether it is of differences."""
    place = meta[_DATA]
    if 0 < meta.get(_DICTIONARY, 0) < place:
        place = meta[_DICTIONARY]
    end = place + meta[_PACKED]
    while place < end:
        header = _Thrift(_at(stream, place, min(end - place, _MOST_HEADER)))
        page = header.struct()
        size, kinds = page[_PAGE_UNPACKED], [page.get(kind, {}) for kind in (_V1, _V2)]
        # Where a page states more values than there can be, polars would ask for the memory and end the process.
        if size < 0 or page[_PAGE_PACKED] < 0 or not all(0 <= kind.get(_VALUES, 0) <= rows for kind in kinds):
            raise ValueError("a page states a size that cannot be")
        if not 0 <= page.get(_ENTRIES, {}).get(_VALUES, 0) <= size:
            raise ValueError("a dictionary states a size that cannot be")
        place += header.position + page[_PAGE_PACKED]
        yield size, _DIFFERENCES in (kinds[0].get(_V1_ENCODING), kinds[1].get(_V2_ENCODING))


def _at(stream: IO[bytes], place: int, size: int, whence: int = io.SEEK_SET) -> bytes:
    stream.seek(place, whence)
    return stream.read(size)


class _Thrift:
    """A reader of the compact protocol; beyond the end of the data it raises IndexError."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._depth = 0
        self.position = 0

    def struct(self) -> dict[int, Any]:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise ValueError("a header is nested too deeply")
        fields: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._integer()
            kind = head & 15
            fields[number] = kind == 1 if kind in (1, 2) else self._value(kind)  # True and False have no bytes.
        self._depth -= 1
        return fields

    def _value(self, kind: int) -> Any:
        if kind in (1, 2, 3):
            return self._byte()
        if kind in (4, 5, 6):
            return self._integer()
        if kind == 7:
            return self._bytes(8)
        if kind == 8:
            return self._bytes(self._size())
        if kind in (9, 10):
            head = self._byte()
            size = head >> 4 if head >> 4 < 15 else self._size()
            return [self._value(head & 15) for _ in range(size)]
        if kind == 12:
            return self.struct()
        raise ValueError(f"a header holds a value of unknown kind {kind}")

    def _byte(self) -> int:
        self.position += 1
        return self._data[self.position - 1]

    def _bytes(self, size: int) -> bytes:
        self.position += size
        if self.position > len(self._data):
            raise IndexError
        return self._data[self.position - size : self.position]

    def _size(self) -> int:
        value = shift = 0
        while (byte := self._byte()) & 128:
            value |= (byte & 127) << shift
            shift += 7
        return value | byte << shift

    def _integer(self) -> int:
        value = self._size()
        return value >> 1 ^ -(value & 1)
