"""Panics of polars, which damaged bytes can cause: errors like its others, and nothing on standard error."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from tempfile import TemporaryFile

__all__ = ["panics_as_errors"]

_STDERR = 2


@contextmanager
def panics_as_errors() -> Iterator[None]:
    """Raise a panic of polars as one of its errors; what it prints about the panic is dropped.

    A panic is not an Exception, and native code tells of it on standard error before Python hears of it. So what is
    written there meanwhile is kept, and written where there was no panic.

    Raises
    ------
    polars.exceptions.ComputeError
        In place of a panic.
    """
    import polars as pl

    try:
        own = os.dup(_STDERR)
    except OSError:  # It is closed.
        own = None
    with TemporaryFile() as written:
        if own is not None:
            os.dup2(written.fileno(), _STDERR)
        try:
            yield
        except pl.exceptions.PanicException as error:
            written.truncate(0)
            raise pl.exceptions.ComputeError(str(error)) from None
        finally:
            if own is not None:
                os.dup2(own, _STDERR)
                os.close(own)
                written.seek(0)
                with suppress(OSError):
                    os.write(_STDERR, written.read())
