"""Whatever a file of records has become, it gives records and issues, or one of the declared errors."""

from pathlib import Path

import pytest
import reader_fuzz
from hostile import failures


@pytest.mark.slow
def test_damaged_files_are_read_or_reported(scale: int, tmp_path: Path) -> None:
    assert failures(Path(reader_fuzz.__file__), tmp_path, 500 * scale) == []
