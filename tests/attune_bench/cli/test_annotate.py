"""The commands `annotate`: what they need, and the copies that they take."""

import sys
from pathlib import Path

import pytest
from commands import Call

from attune_bench.annotate.store import Store
from attune_bench.cli.annotate import serve_study
from attune_bench.cli.output import UserError


@pytest.mark.parametrize("missing", ["jinja2", "starlette", "uvicorn"])
def test_serving_without_the_extra_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    ours = {f"attune_bench.annotate.{name}" for name in ("server", "admin", "app", "guard")}
    for module in [one for one in sys.modules if one in ours or one.partition(".")[0] == missing]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, missing, None)
    store = Store.create(tmp_path / "study.db", "toy", {})
    with pytest.raises(UserError, match=rf"{missing}\S* is not installed.* pip install 'attune-bench\[annotate\]'"):
        serve_study(store, None, [], output=tmp_path, host="127.0.0.1", port=8107, public_url=None)


def test_a_backup_is_noted_and_never_overwrites(call: Call, tmp_path: Path) -> None:
    study, copy = tmp_path / "study.db", tmp_path / "copy.db"
    Store.create(study, "toy", {}).close()
    assert call("annotate", "backup", str(study), "-o", str(copy)) == (0, f"{copy}: a copy of {study}\n", "")
    with Store(study) as store:
        assert [one.path for one in store.copies()] == [str(copy)]
    before = copy.read_bytes()
    status, _, err = call("annotate", "backup", str(study), "-o", str(copy))
    assert (status, f"{copy} exists" in err, copy.read_bytes()) == (2, True, before)
