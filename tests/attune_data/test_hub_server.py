"""The loopback Hub of the tests answers the real client libraries: downloads, uploads, refusals."""

from pathlib import Path

import pytest
from hub_server import TOKEN, HubServer


def test_snapshot_and_one_file(hub: HubServer) -> None:
    from huggingface_hub import hf_hub_download, snapshot_download

    sha = hub.add("lab/data", {"a.json": b"{}", "sub/b.json": b"[1]", "README.md": b"# Data"})
    folder = Path(snapshot_download("lab/data", repo_type="dataset", allow_patterns=["*.json"]))
    assert folder.name == sha
    assert (folder / "sub" / "b.json").read_bytes() == b"[1]"
    assert hub.downloaded == ["a.json", "sub/b.json"]
    one = hf_hub_download("lab/data", "README.md", repo_type="dataset", revision=sha)
    assert Path(one).read_bytes() == b"# Data"


def test_upload_regular_and_lfs_then_delete(hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi

    monkeypatch.setenv("HF_TOKEN", TOKEN)
    api = HfApi()
    api.create_repo("lab/new", repo_type="dataset", private=True)
    added = [CommitOperationAdd("README.md", b"# New"), CommitOperationAdd("data/x.parquet", b"PAR1")]
    commit = api.create_commit("lab/new", added, repo_type="dataset", commit_message="First")
    assert hub.files("lab/new") == {"README.md": b"# New", "data/x.parquet": b"PAR1"}
    assert hub.repositories["lab/new"].private
    assert commit.oid == hub.repositories["lab/new"].refs["main"]
    gone = [CommitOperationDelete("data/", is_folder=True)]
    api.create_commit("lab/new", gone, repo_type="dataset", commit_message="Second")
    assert hub.files("lab/new") == {"README.md": b"# New"}
    assert [file.path for file in api.list_repo_tree("lab/new", repo_type="dataset", recursive=True)] == ["README.md"]


@pytest.mark.slow
def test_datasets_are_pushed_and_loaded(hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    import datasets
    from datasets import config

    # Imported for the first time in this test, datasets has read the environment; else the fixture has told it.
    assert hub.url == config.HF_ENDPOINT
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    datasets.Dataset.from_dict({"id": ["a", "b"], "n": [1, 2]}).push_to_hub("lab/pushed", "turns")
    again = datasets.load_dataset("lab/pushed", "turns", split="train")
    assert again["n"][:] == [1, 2]


def test_refusals(hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import HfApi, errors, hf_hub_download

    hub.add("lab/private", {"a.json": b"{}"}, private=True)
    hub.add("lab/gated", {"a.json": b"{}"}, gated=True)
    api = HfApi()
    for name in ("lab/none", "lab/private"):
        with pytest.raises(errors.RepositoryNotFoundError):
            api.dataset_info(name)
    assert api.dataset_info("lab/gated").gated == "auto"
    assert [entry.path for entry in api.list_repo_tree("lab/gated", repo_type="dataset")] == ["a.json"]
    with pytest.raises(errors.GatedRepoError):
        hf_hub_download("lab/gated", "a.json", repo_type="dataset")
    with pytest.raises(errors.RevisionNotFoundError):
        api.dataset_info("lab/gated", revision="none")
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    assert api.dataset_info("lab/private").private
    assert Path(hf_hub_download("lab/gated", "a.json", repo_type="dataset")).read_bytes() == b"{}"
    monkeypatch.setenv("HF_TOKEN", "hf_wrong")
    with pytest.raises(errors.HfHubHTTPError, match="Invalid credentials"):
        api.dataset_info("lab/private")


def test_failures_as_wanted(hub: HubServer) -> None:
    import httpx2
    from hub_server import CUT
    from huggingface_hub import HfApi, errors

    hub.add("lab/data", {"a.json": b"{}"})
    hub.fail = lambda _method, path: 418 if path.endswith("/lab/data") else None
    with pytest.raises(errors.HfHubHTTPError, match="418"):
        HfApi().dataset_info("lab/data")
    hub.fail = lambda _method, _path: CUT
    with pytest.raises(httpx2.RemoteProtocolError):
        HfApi().dataset_info("lab/data")
