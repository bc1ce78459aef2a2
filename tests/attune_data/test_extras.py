"""A module of an extra: imported where it is installed, one clear error where it is not."""

import sys
from pathlib import Path

import pytest

from attune_data.references import require

MESSAGE = r"^{} is not installed; it comes with an extra: pip install 'attune-bench\[plots\]'$"


def test_what_is_installed_is_imported() -> None:
    import json.decoder

    assert require("json.decoder", "plots") is json.decoder


@pytest.mark.parametrize("name", ["no_such_module", "no_such_module.part"])
def test_what_is_missing_names_the_extra(name: str) -> None:
    with pytest.raises(ImportError, match=MESSAGE.format("no_such_module")) as raised:
        require(name, "plots")
    assert raised.value.name == "no_such_module"


def test_what_is_broken_is_not_called_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken_extra.py").write_text("import no_such_module")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="No module named 'no_such_module'"):
        require("broken_extra", "plots")
    assert "broken_extra" not in sys.modules
