"""Whatever a command is given, it ends in output or in one line of standard error, within memory and time."""

from pathlib import Path

import command_fuzz
import pytest
from hostile import failures


@pytest.mark.slow
def test_commands_end_in_output_or_in_one_line(scale: int, tmp_path: Path) -> None:
    command_fuzz.write_files(tmp_path / "files")
    assert failures(Path(command_fuzz.__file__), tmp_path, 300 * scale) == []
