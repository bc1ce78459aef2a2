"""A Hub of data sets on the loopback interface: what huggingface_hub and datasets ask for, downloads and uploads."""

import base64
import hashlib
import json
import re
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

Files = Mapping[str, bytes]
# A function writes what it likes to the connection, which is closed then.
Failure = int | str | bytes | None | Callable[["_Handler"], None]
CUT, HANG = "cut", "hang"
TOKEN = "hf_tokenofthetests"  # noqa: S105


@dataclass
class Repository:
    """One data set: its commits (files by path) and the branches and tags that name them."""

    commits: dict[str, dict[str, bytes]] = field(default_factory=dict)
    refs: dict[str, str] = field(default_factory=dict)
    private: bool = False
    gated: bool = False

    def commit(self, files: Files, ref: str = "main") -> str:
        """Add a commit that holds exactly these files, as the head of a branch or tag; return its hash."""
        seed = json.dumps([len(self.commits), sorted((path, _oid(data)) for path, data in files.items())])
        sha = hashlib.sha1(seed.encode(), usedforsecurity=False).hexdigest()
        self.commits[sha] = dict(files)
        self.refs[ref] = sha
        return sha

    def at(self, revision: str) -> str | None:
        """Return the commit that a branch, tag or hash means."""
        return self.refs.get(revision) or (revision if revision in self.commits else None)


class HubServer:
    """The server: `repositories` by name, `requests` as (method, path), `fail` to make requests go wrong.

    `fail` is asked for every request with its method and path and returns a status to answer with, ``CUT`` to close the
    connection in the middle of the body, ``HANG`` to answer nothing for `hang_seconds`, bytes to answer with, a
    function of the handler that writes the answer, or None.
    """

    def __init__(self, host: str = "127.0.0.1") -> None:
        self.repositories: dict[str, Repository] = {}
        self.requests: list[tuple[str, str]] = []
        self.tokens: list[str | None] = []
        self.objects: dict[str, bytes] = {}
        self.fail: Callable[[str, str], Failure] = lambda _method, _path: None
        self.hang_seconds = 3.0
        self.released = threading.Event()
        self._server = ThreadingHTTPServer((host, 0), type("Bound", (_Handler,), {"hub": self}))
        self.url = f"http://{host}:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def add(self, name: str, files: Files, *, private: bool = False, gated: bool = False) -> str:
        """Add a repository with one commit on main; return its hash."""
        self.repositories[name] = Repository(private=private, gated=gated)
        return self.repositories[name].commit(files)

    def files(self, name: str, ref: str = "main") -> dict[str, bytes]:
        """Return what a repository holds at the head of a branch."""
        repository = self.repositories[name]
        return repository.commits[repository.refs[ref]]

    @property
    def downloaded(self) -> list[str]:
        """The paths within their repositories of the files whose content was sent, sorted."""
        found = [
            path.split("/resolve/")[1].split("/", 1)[1]
            for method, path in self.requests
            if method == "GET" and "/resolve/" in path
        ]
        return sorted(found)

    def close(self) -> None:
        """Stop; what is asked from now on is refused."""
        self.released.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Problem(Exception):  # noqa: N818
    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message


class _Handler(BaseHTTPRequestHandler):
    hub: HubServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    failure: Failure = None

    def handle(self) -> None:
        with suppress(ConnectionError):  # A client that has read enough goes.
            super().handle()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass

    def _answer(self) -> None:
        path = unquote(urlsplit(self.path).path)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        authorization = self.headers.get("Authorization")
        self.hub.requests.append((self.command, path))
        self.hub.tokens.append(authorization)
        self.failure = self.hub.fail(self.command, path)
        if self.failure == HANG:
            self.hub.released.wait(self.hub.hang_seconds)
            self.close_connection = True
            return
        if callable(self.failure):
            self.close_connection = True
            with suppress(OSError):
                self.failure(self)
            return
        try:
            if isinstance(self.failure, bytes):
                self._send(self.failure)
                return
            if isinstance(self.failure, int):
                raise _Problem(self.failure, "", "failing as the test wants")
            if authorization not in (None, f"Bearer {TOKEN}"):
                raise _Problem(401, "", "Invalid credentials in Authorization header")
            self._route(urlsplit(self.path).path, body)
        except _Problem as problem:
            headers = {"X-Error-Code": problem.code, "X-Error-Message": problem.message}
            self._send(json.dumps({"error": problem.message}).encode(), problem.status, headers)

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = _answer  # noqa: N815

    def _send(self, data: bytes, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        for name, value in (headers or {}).items():
            if value:
                self.send_header(name, value)
        self.end_headers()
        if self.failure == CUT and self.command == "GET":
            data = data[: len(data) // 2]
            self.close_connection = True
        if self.command != "HEAD":
            self.wfile.write(data)

    def _json(self, value: Any) -> None:
        self._send(json.dumps(value).encode(), headers={"Content-Type": "application/json"})

    def _route(self, path: str, body: bytes) -> None:
        for pattern, answer in _ROUTES:
            if match := re.fullmatch(pattern, path):
                answer(self, *(unquote(part or "") for part in match.groups()), body=body)
                return
        raise _Problem(404, "", f"the test server does not know {path}")

    def _repository(self, name: str, *, content: bool = False) -> Repository:
        repository = self.hub.repositories.get(name)
        known = self.headers.get("Authorization") is not None
        if repository is None or (repository.private and not known):
            raise _Problem(404 if known else 401, "RepoNotFound", "Repository not found")
        if content and repository.gated and not known:
            raise _Problem(401, "GatedRepo", f"Access to dataset {name} is restricted.")
        return repository

    def _commit(self, name: str, revision: str, *, content: bool = False) -> tuple[str, dict[str, bytes]]:
        repository = self._repository(name, content=content)
        sha = repository.at(revision or "main")
        if sha is None:
            raise _Problem(404, "RevisionNotFound", f"Invalid rev id: {revision}")
        return sha, repository.commits[sha]

    def _resolve(self, name: str, revision: str, path: str, body: bytes) -> None:
        del body
        sha, files = self._commit(name, revision, content=True)
        if path not in files:
            raise _Problem(404, "EntryNotFound", "Entry not found")
        data, status = files[path], 200
        headers = {"X-Repo-Commit": sha, "ETag": f'"{_oid(data)}"', "Accept-Ranges": "bytes"}
        if wanted := re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", "")):
            first, last = int(wanted[1]), min(int(wanted[2] or len(data) - 1), len(data) - 1)
            headers["Content-Range"] = f"bytes {first}-{last}/{len(data)}"
            data, status = data[first : last + 1], 206
        self._send(data, status, headers)

    def _info(self, name: str, revision: str, body: bytes) -> None:
        del body
        sha, files = self._commit(name, revision)
        repository, when = self.hub.repositories[name], "2026-01-01T00:00:00.000Z"
        known = {"id": name, "_id": name, "author": name.partition("/")[0], "sha": sha, "lastModified": when}
        flags = {"private": repository.private, "gated": "auto" if repository.gated else False, "disabled": False}
        counts = {"downloads": 0, "likes": 0, "tags": [], "createdAt": when}
        self._json({**known, **flags, **counts, "siblings": [{"rfilename": path} for path in sorted(files)]})

    def _tree(self, name: str, revision: str, folder: str, body: bytes) -> None:
        del body
        _, files = self._commit(name, revision)
        prefix, recursive = f"{folder}/" if folder else "", parse_qs(urlsplit(self.path).query).get("recursive")
        inside = {path: data for path, data in files.items() if path.startswith(prefix)}
        if folder and not inside:
            raise _Problem(404, "EntryNotFound", f"{folder} does not exist")
        deep = recursive is not None and recursive[0].lower() in ("true", "1")
        entries = [_entry(path, data) for path, data in inside.items() if deep or "/" not in path[len(prefix) :]]
        folders = {path[: len(prefix) + at] for path in inside for at in _slashes(path[len(prefix) :])}
        shown = [path for path in sorted(folders) if deep or "/" not in path[len(prefix) :]]
        self._json(entries + [{"type": "directory", "path": path, "oid": _oid(path.encode())} for path in shown])

    def _paths_info(self, name: str, revision: str, body: bytes) -> None:
        _, files = self._commit(name, revision, content=True)
        text = body.decode()
        asked = json.loads(text)["paths"] if text.startswith("{") else parse_qs(text).get("paths", [])
        self._json([_entry(path, files[path]) for path in asked if path in files])

    def _refs(self, name: str, body: bytes) -> None:
        del body
        refs = self._repository(name).refs
        named = [{"name": ref, "ref": f"refs/heads/{ref}", "targetCommit": sha} for ref, sha in refs.items()]
        self._json({"branches": named, "tags": [], "converts": []})

    # Uploads; they need the token.

    def _authorized(self) -> None:
        if self.headers.get("Authorization") is None:
            raise _Problem(401, "", "Invalid username or password.")

    def _create(self, body: bytes) -> None:
        self._authorized()
        asked = json.loads(body)
        name = "/".join(part for part in (asked.get("organization") or "tester", asked["name"]))
        if name in self.hub.repositories:
            raise _Problem(409, "", "You already created this dataset repo")
        self.hub.add(name, {}, private=bool(asked.get("private") or asked.get("visibility") == "private"))
        self._json({"url": f"{self.hub.url}/datasets/{name}"})

    def _delete(self, body: bytes) -> None:
        self._authorized()
        asked = json.loads(body)
        name = "/".join(part for part in (asked.get("organization") or "tester", asked["name"]))
        self._repository(name)
        del self.hub.repositories[name]
        self._send(b"")

    def _validate(self, body: bytes) -> None:
        del body
        self._json({"errors": [], "warnings": []})

    def _whoami(self, body: bytes) -> None:
        del body
        self._authorized()
        self._json({"type": "user", "name": "tester", "orgs": [], "auth": {"accessToken": {"role": "write"}}})

    def _preupload(self, name: str, branch: str, body: bytes) -> None:
        del branch
        self._authorized()
        self._repository(name)
        paths = [file["path"] for file in json.loads(body)["files"]]
        modes = {path: "lfs" if path.endswith(".parquet") else "regular" for path in paths}
        self._json({"files": [{"path": p, "uploadMode": mode, "shouldIgnore": False} for p, mode in modes.items()]})

    def _batch(self, name: str, body: bytes) -> None:
        self._authorized()
        self._repository(name)
        asked = json.loads(body)["objects"]
        actions = [{"upload": {"href": f"{self.hub.url}/objects/{o['oid']}"}} for o in asked]
        objects = [{**o, "actions": action} for o, action in zip(asked, actions, strict=True)]
        self._json({"transfer": "basic", "objects": objects})

    def _store(self, oid: str, body: bytes) -> None:
        if hashlib.sha256(body).hexdigest() != oid:
            raise _Problem(400, "", "the content is not what its name says")
        self.hub.objects[oid] = body
        self._send(b"")

    def _upload(self, name: str, branch: str, body: bytes) -> None:
        self._authorized()
        repository = self._repository(name)
        _, before = self._commit(name, branch)
        files, summary = dict(before), ""
        for line in body.splitlines():
            key, value = json.loads(line)["key"], json.loads(line)["value"]
            if key == "header":
                summary = value["summary"]
            elif key == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif key == "lfsFile":
                files[value["path"]] = self.hub.objects[value["oid"]]
            elif key in ("deletedFile", "deletedFolder"):
                gone = value["path"].rstrip("/")
                files = {path: data for path, data in files.items() if path != gone and not path.startswith(f"{gone}/")}
            else:
                raise _Problem(400, "", f"the test server does not know {key}")
        proposed = "create_pr" in parse_qs(urlsplit(self.path).query)
        number = 1 + sum(ref.startswith("refs/pr/") for ref in repository.refs)
        sha = repository.commit(files, f"refs/pr/{number}" if proposed else branch)
        url = f"{self.hub.url}/datasets/{name}/commit/{sha}"
        request = {"pullRequestUrl": f"{self.hub.url}/{name}/discussions/{number}"} if proposed else {}
        self._json({"success": True, "commitOid": sha, "commitUrl": url, "commitMessage": summary, **request})


_NAME = r"([^/]+/[^/]+)"
_ROUTES: tuple[tuple[str, Callable[..., None]], ...] = (
    (rf"/datasets/{_NAME}/resolve/([^/]+)/(.+)", _Handler._resolve),
    (rf"/api/datasets/{_NAME}(?:/revision/([^/]+))?", _Handler._info),
    (rf"/api/datasets/{_NAME}/tree/([^/]+)(?:/(.*))?", _Handler._tree),
    (rf"/api/datasets/{_NAME}/paths-info/([^/]+)", _Handler._paths_info),
    (rf"/api/datasets/{_NAME}/refs", _Handler._refs),
    (r"/api/repos/create", _Handler._create),
    (r"/api/repos/delete", _Handler._delete),
    (r"/api/validate-yaml", _Handler._validate),
    (r"/api/whoami-v2", _Handler._whoami),
    (rf"/api/(?:datasets|models)/{_NAME}/preupload/([^/]+)", _Handler._preupload),
    (rf"/datasets/{_NAME}\.git/info/lfs/objects/batch", _Handler._batch),
    (r"/objects/([0-9a-f]{64})", _Handler._store),
    (rf"/api/(?:datasets|models)/{_NAME}/commit/([^/]+)", _Handler._upload),
)


def answer(body: bytes = b"", status: int = 200, **headers: str) -> Callable[[_Handler], None]:
    """Return a function that answers with a body and headers, ``_`` in their names meaning ``-``."""

    def write(handler: _Handler) -> None:
        handler.send_response(status)
        # The server closes the connection after it; a client that is not told may ask again over the same.
        for name, value in {"Content-Length": str(len(body)), "Connection": "close", **headers}.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(body)

    return write


def _oid(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def _entry(path: str, data: bytes) -> dict[str, Any]:
    return {"type": "file", "path": path, "oid": _oid(data), "size": len(data)}


def _slashes(path: str) -> list[int]:
    return [at for at, character in enumerate(path) if character == "/"]
