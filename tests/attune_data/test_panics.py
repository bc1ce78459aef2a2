"""A panic of polars is an error like its others, and says nothing on standard error."""

import os
import subprocess
import sys
from contextlib import suppress

import polars as pl
import pytest

from attune_data.record import panics_as_errors


def panic() -> None:
    pl.DataFrame({"a": [1]}).select(pl.col("a").cast(pl.Decimal(99, 99)))


def test_a_panic_is_an_error_and_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(pl.exceptions.PolarsError), panics_as_errors():
        panic()
    assert capfd.readouterr() == ("", "")


def test_what_is_written_meanwhile_is_written_where_there_was_no_panic(capfd: pytest.CaptureFixture[str]) -> None:
    with panics_as_errors():
        os.write(2, b"a warning\n")
    with suppress(KeyError), panics_as_errors():
        os.write(2, b"another\n")
        raise KeyError
    assert capfd.readouterr().err == "a warning\nanother\n"


@pytest.mark.slow
def test_it_works_where_standard_error_is_closed() -> None:
    lines = ("import os", "from attune_data.record import panics_as_errors", "os.close(2)")
    code = "\n".join([*lines, "with panics_as_errors(): print('done')"])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "done\n")
