"""The one file of a study: SQLite with the people, every answer as it was saved, and what left the file."""

import json
import os
import sqlite3
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from secrets import choice, token_urlsafe
from time import sleep, time
from typing import Any, Self

from attune_data.io.documents import hidden_beside

VERSION = 1
"""The version of the tables, which the file states as ``PRAGMA user_version``."""

_APPLICATION = 0x41_54_54_4E  # "ATTN", by which a file of another program is told.
_PATIENCE = 30  # seconds for another program to be done with writing
_LETTERS = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"  # without those that are taken for each other
_TABLES = """
CREATE TABLE about (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE person (
    id TEXT PRIMARY KEY,
    link BLOB NOT NULL UNIQUE,  -- SHA-256 of the secret of the personal link
    name TEXT,                  -- the pseudonym under which a person's results are written, if there is one
    language TEXT NOT NULL,
    created TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE answer (
    person TEXT NOT NULL REFERENCES person (id) ON DELETE CASCADE,
    screen TEXT NOT NULL,
    revision INTEGER NOT NULL,  -- counts the times that the answer to this screen was saved
    before INTEGER NOT NULL,    -- the revision that undoing goes back to; 0: no answer
    value TEXT NOT NULL,        -- JSON
    done INTEGER NOT NULL,      -- whether the person went on with it
    seconds REAL NOT NULL,      -- since the screen was first shown after the answer before; else since that answer
    saved TEXT NOT NULL,
    PRIMARY KEY (person, screen, revision)
) STRICT, WITHOUT ROWID;
CREATE TABLE shown (            -- screens that were shown and not answered since
    person TEXT NOT NULL REFERENCES person (id) ON DELETE CASCADE,
    screen TEXT NOT NULL,
    at REAL NOT NULL,           -- when first, in seconds since 1970
    PRIMARY KEY (person, screen)
) STRICT, WITHOUT ROWID;
CREATE TABLE copied (           -- files that left this one
    path TEXT NOT NULL,
    at TEXT NOT NULL,
    kind TEXT NOT NULL,         -- as of Copy
    stale INTEGER NOT NULL DEFAULT 0  -- whether a person of it has withdrawn since, and the file may have their answers
) STRICT;
CREATE TABLE withdrawn (at TEXT NOT NULL) STRICT;
"""


Value = dict[str, Any]
"""The answer to a screen as JSON: the value of each of its fields that has one."""


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody who answers: a random id, the language of the interface, and a pseudonym if there is one."""

    id: str
    language: str
    name: str | None = None


class StoreError(ValueError):
    """A file that is no study of this program, is damaged, or is of another job; the text says what to do."""


class StaleError(Exception):
    """An answer to a state of the screen that has changed since, in another window or on another device."""


@dataclass(frozen=True, slots=True)
class Saved:
    """The answer to a screen, as it was saved last.

    Attributes
    ----------
    value : dict
        The answer; empty where there is none.
    revision : int
        How often the answer was saved; 0 for never.
    done : bool
        Whether the person went on with it.
    seconds : float
        The time that answering took, over all revisions: each from when the screen was first shown since the revision
        before, or from that revision where it was not shown again. A reload does not begin the time anew, and breaks
        are part of it.
    saved : str
        The time of the last revision, ISO 8601 in UTC.
    """

    value: Value
    revision: int = 0
    done: bool = False
    seconds: float = 0.0
    saved: str = ""


@dataclass(frozen=True, slots=True)
class Copy:
    """A file with answers that left the file of the study.

    Attributes
    ----------
    path : str
        The file that was written; of a download the name that the browser was given.
    at : str
        When, ISO 8601 in UTC.
    kind : {"export", "backup", "download"}
        Whether this program wrote it, and writes it anew when somebody withdraws, or a browser took it.
    stale : bool
        Whether somebody has withdrawn since, whose answers it may still have; of an export whether it could not be
        written anew or deleted.
    """

    path: str
    at: str
    kind: str
    stale: bool


COST = "cost"
"""The key under which US dollars are kept: beside a person's answers as ``usd``, and in what is about the study."""

NOTHING = Saved({})
"""The state of a screen that was never saved."""


def _now() -> str:
    return datetime.fromtimestamp(time(), UTC).isoformat(timespec="milliseconds")


def hashed(secret: str) -> bytes:
    """Return the hash by which the secret of a link is known."""
    # The secret is 128 random bits: nothing can be guessed that a slow hash would protect.
    return sha256(secret.encode("utf-8", "surrogatepass")).digest()


class Store:
    """An open file; all methods may be called from any thread, and each is whole or did not happen.

    Parameters
    ----------
    path : path-like
        An existing file; `Store.create` makes one.

    Raises
    ------
    StoreError
        The file is no study, is damaged, or was made by a newer version.
    OSError
        The file cannot be read.

    Attributes
    ----------
    changes : int
        How often an answer was changed, or a person added or deleted, since the file was opened here.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        if not self.path.is_file():
            raise StoreError(f"{self.path}: there is no such file; a study is begun by collect, rate or predict")
        self.changes = 0
        self._lock = threading.RLock()
        self._known: dict[str, dict[str, Saved]] = {}
        self._changed: dict[str, set[str]] = {}
        self._version = 0
        self._has_traces = True  # A process that was killed may have left its log.
        self._db = sqlite3.connect(self.path, check_same_thread=False, isolation_level=None, timeout=_PATIENCE)
        try:
            self._check()
            for pragma in ("journal_mode = WAL", "foreign_keys = ON", "secure_delete = ON"):
                self._db.execute(f"PRAGMA {pragma}")
            self._db.execute("SELECT key FROM about").fetchall()  # SQLite begins the log at the first query.
            self._empty_log()
        except (sqlite3.DatabaseError, StoreError) as error:
            self._db.close()
            if isinstance(error, StoreError):
                raise
            is_busy = getattr(error, "sqlite_errorcode", None) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
            advice = "try again" if is_busy else "go on with the last backup, and keep this file"
            raise StoreError(f"{self.path}: {error}; {advice}") from None

    def _check(self) -> None:
        [own], [version] = (
            self._db.execute(f"PRAGMA {name}").fetchone() for name in ("application_id", "user_version")
        )
        if own != _APPLICATION:
            raise StoreError(f"{self.path}: a file of another program; name the file of a study")
        if version != VERSION:
            made = "a newer" if version > VERSION else "an older"
            raise StoreError(
                f"{self.path}: written by {made} version of attune-bench (tables {version}, not {VERSION})"
            )
        found = [row[0] for row in self._db.execute("PRAGMA integrity_check")]
        if found != ["ok"] or self._db.execute("PRAGMA foreign_key_check").fetchall():
            raise StoreError(f"{self.path}: damaged ({found[0]}); go on with the last backup, and keep this file")

    @classmethod
    def create(cls, path: str | os.PathLike[str], job: str, about: Mapping[str, Any]) -> Self:
        """Create the file of a study, or open it where it exists and is of the same job.

        Parameters
        ----------
        path : path-like
            The file; its folder exists.
        job : str
            The kind of job.
        about : mapping
            What the job needs to know again when it goes on, as JSON.

        Raises
        ------
        StoreError
            The file exists and is of another job, or the job was begun with something else.
        """
        file = Path(path)
        if not file.exists():
            temporary = hidden_beside(file)
            _make(temporary)
            db = sqlite3.connect(temporary, isolation_level=None)
            try:
                db.executescript(f"BEGIN; {_TABLES} COMMIT;")
                db.execute(f"PRAGMA application_id = {_APPLICATION}")
                db.execute(f"PRAGMA user_version = {VERSION}")
                rows = {"job": job, "begun": _now(), "secret": token_urlsafe(16), **about}
                db.executemany("INSERT INTO about VALUES (?, ?)", [(k, json.dumps(v)) for k, v in rows.items()])
            finally:
                db.close()
            try:
                _make(file)  # Of a study that another command has just begun, nothing may be lost.
                temporary.replace(file)
            except FileExistsError:
                temporary.unlink()
        store = cls(file)
        if (other := store.about("job")) != job:
            store.close()
            raise StoreError(f"{file}: the study of another job, {other!r}; choose another file for {job!r}")
        for key, value in about.items():
            if store.about(key) != json.loads(json.dumps(value)):
                store.close()
                raise StoreError(f"{file}: was begun with another {key}; choose another file, or give the same {key}")
        return store

    def close(self) -> None:
        """Close the file; what was written ahead is moved into it."""
        with self._lock:
            with suppress(sqlite3.Error):
                self._empty_log()
            self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @contextmanager
    def served(self) -> Iterator[None]:
        """Keep any other server from this study, until the block or the process ends, however it ends.

        Raises
        ------
        StoreError
            Another process serves the study.
        """
        # Every system lets go of a lock of SQLite when its process ends. The file stays, without content.
        file = self.path.resolve()
        path = file.with_name(f"{file.name}-lock")
        with closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as lock:
            try:
                lock.execute("PRAGMA journal_mode = OFF")  # which would be one more file
                lock.execute("BEGIN EXCLUSIVE")
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
                    raise StoreError(f"{path}: {error}") from None
                raise StoreError(
                    f"{self.path}: another server serves this study; stop that one first, or go on there"
                ) from None
            yield

    @contextmanager
    def _writing(self, *, waits_for_disk: bool = True) -> Iterator[sqlite3.Connection]:
        with self._lock:
            self._db.execute(f"PRAGMA synchronous = {'FULL' if waits_for_disk else 'NORMAL'}")
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:  # A full disk has ended it already.
                    self._db.execute("ROLLBACK")
                raise
            if self._has_traces:
                self._empty_log()

    def _rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        with self._lock:
            return self._db.execute(query, values).fetchall()

    def about(self, key: str) -> Any:
        """Return what the study was begun with under a key; None where the key is not there."""
        found = self._rows("SELECT value FROM about WHERE key = ?", key)
        return json.loads(found[0][0]) if found else None

    def set_about(self, key: str, value: Any) -> None:
        """Keep something about the study under a key."""
        with self._writing() as db:
            db.execute("INSERT OR REPLACE INTO about VALUES (?, ?)", (key, json.dumps(value)))

    # People.

    def add_person(self, *, language: str, name: str | None = None) -> tuple[Person, str]:
        """Add a person under a random id, and return the person and the secret of the personal link.

        The file keeps a hash of the secret alone: who loses the link is given a new one by `new_link`.
        """
        secret = token_urlsafe(16)
        person = Person("".join(choice(_LETTERS) for _ in range(10)), language, name)
        with self._writing() as db:
            row = (person.id, hashed(secret), name, language, _now())
            db.execute("INSERT INTO person VALUES (?, ?, ?, ?, ?)", row)
            self.changes += 1
        return person, secret

    def new_link(self, person: str) -> str:
        """Return the secret of a new personal link; the earlier link is refused from now on."""
        secret = token_urlsafe(16)
        with self._writing() as db:
            db.execute("UPDATE person SET link = ? WHERE id = ?", (hashed(secret), person))
        return secret

    def person_of(self, secret: str) -> Person | None:
        """Return the person to whom a secret was given; None for nobody."""
        found = self._rows("SELECT id, language, name FROM person WHERE link = ?", hashed(secret))
        return Person(*found[0]) if found else None

    def people(self) -> list[Person]:
        """Return all people in the order in which they were added."""
        return [Person(*row) for row in self._rows("SELECT id, language, name FROM person ORDER BY created, id")]

    def set_language(self, person: str, language: str) -> None:
        """Change the language in which a person sees the interface."""
        with self._writing() as db:
            db.execute("UPDATE person SET language = ? WHERE id = ?", (language, person))

    # Answers.

    def answers(self, person: str) -> dict[str, Saved]:
        """Return the last state of every screen that a person has saved; the values are not to be changed."""
        with self._lock:
            [version] = self._db.execute("PRAGMA data_version").fetchone()
            if version != self._version:  # Another program has written.
                self._known, self._version = {}, version
            # A person may have thousands of revisions, which would be read for each page.
            if person not in self._known:
                self._known[person] = _states(self._db, person)
            elif changed := self._changed.get(person):
                for screen in changed:
                    self._known[person].update(_states(self._db, person, screen))
            self._changed.pop(person, None)
            return dict(self._known[person])

    def show(self, person: str, screen: str) -> None:
        """Note that a screen was shown to a person; from the first time on its next answer takes time."""
        # Of a machine that loses its power such a row may be lost, an answer may not.
        with self._writing(waits_for_disk=False) as db:
            row = "INSERT OR IGNORE INTO shown SELECT id, ?, ? FROM person WHERE id = ?"
            db.execute(row, (screen, time(), person))

    def shown(self, person: str) -> list[str]:
        """Return the screens that were shown to a person and not answered since."""
        return [screen for (screen,) in self._rows("SELECT screen FROM shown WHERE person = ?", person)]

    def save(self, person: str, screen: str, value: Value, *, revision: int, done: bool) -> int:
        """Save the answer to a screen.

        Parameters
        ----------
        person, screen : str
            Whose answer it is, to what.
        value : dict
            The whole answer.
        revision : int
            The revision that the person saw and changed.
        done : bool
            Whether the person is done with the screen.

        Returns
        -------
        int
            The new revision; the present one where this very answer is saved already, as when a browser sends a form
            again whose response was lost.

        Raises
        ------
        StaleError
            Another answer was saved since that revision.
        KeyError
            There is no such person: they have withdrawn.
        """
        text = json.dumps(value, ensure_ascii=False, sort_keys=True)
        with self._writing() as db:
            if not db.execute("SELECT 1 FROM person WHERE id = ?", (person,)).fetchone():
                raise KeyError(person)
            now, before, was, was_done = _last(db, person, screen)
            if was == text and was_done == done:
                return now
            if now != revision and was != text:
                raise StaleError(screen)
            # Going on with the same answer is no change that somebody would undo.
            self._add(db, person, screen, (now + 1, before if was == text else now, text, done))
            return now + 1

    def undo(self, person: str, screen: str, *, revision: int) -> int:
        """Go back to the answer before the last one, and return the new revision.

        Raises
        ------
        StaleError
            Another answer was saved since that revision.
        """
        with self._writing() as db:
            now, before, _, _ = _last(db, person, screen)
            if now != revision:
                raise StaleError(screen)
            if not now:
                return now
            row = "SELECT before, value, done FROM answer WHERE person = ? AND screen = ? AND revision = ?"
            state = db.execute(row, (person, screen, before)).fetchone() or (0, "{}", False)
            self._add(db, person, screen, (now + 1, *state))
            return now + 1

    def _add(self, db: sqlite3.Connection, person: str, screen: str, state: tuple[int, int, str, bool]) -> None:
        """Add a state of a screen: revision, revision before, answer, whether it is done."""
        now, place = time(), (person, screen)
        [begun] = db.execute("SELECT min(at) FROM shown WHERE person = ? AND screen = ?", place).fetchone()
        if begun is None:
            [saved] = db.execute("SELECT max(saved) FROM answer WHERE person = ? AND screen = ?", place).fetchone()
            begun = datetime.fromisoformat(saved).timestamp() if saved else now
        row = (*place, *state, max(0.0, now - begun), _now())  # A clock may be set back.
        db.execute("INSERT INTO answer VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
        db.execute("DELETE FROM shown WHERE person = ? AND screen = ?", place)
        self._changed.setdefault(person, set()).add(screen)
        self.changes += 1

    # What leaves the file, and what is forgotten.

    def note_copy(self, path: str, kind: str) -> None:
        """Note that a file with answers was written or taken, see `Copy`; a file that is written again is one copy."""
        with self._writing() as db:
            if kind != "download":
                db.execute("DELETE FROM copied WHERE path = ?", (path,))
            db.execute("INSERT INTO copied (path, at, kind) VALUES (?, ?, ?)", (path, _now(), kind))

    def copies(self) -> list[Copy]:
        """Return what left the file, in order of time."""
        rows = self._rows("SELECT path, at, kind, stale FROM copied ORDER BY at")
        return [Copy(path, at, kind, bool(stale)) for path, at, kind, stale in rows]

    def withdraw(self, person: str) -> None:
        """Delete a person and everything of theirs; the bytes in the file are overwritten, and its log is emptied.

        Of the person stays the time of withdrawing alone. Downloads are marked: they may have the person's answers.
        Where another program reads the file meanwhile, its log is emptied when that program is done.
        Files that this program wrote are the caller's to write anew.
        """
        with self._writing() as db:
            self._known.pop(person, None)
            self.changes += 1
            if db.execute("DELETE FROM person WHERE id = ?", (person,)).rowcount:
                db.execute("INSERT INTO withdrawn VALUES (?)", (_now(),))
                db.execute("UPDATE copied SET stale = 1 WHERE kind = 'download'")
        # The log keeps old pages until it is emptied, for which all readers have to be done.
        for _ in range(50):
            if self._empty_log():
                return
            sleep(0.1)
        self._has_traces = True

    def _empty_log(self) -> bool:
        """Move all of the write-ahead log into the file, and tell whether nobody kept it from that."""
        with self._lock:
            self._db.execute("PRAGMA busy_timeout = 0")
            busy, *_ = self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            self._db.execute(f"PRAGMA busy_timeout = {1000 * _PATIENCE}")
            self._has_traces &= bool(busy)
            return not busy

    def mark_stale(self, path: str) -> None:
        """Mark a copy from which somebody who withdrew could not be deleted."""
        with self._writing() as db:
            db.execute("UPDATE copied SET stale = 1 WHERE path = ?", (path,))

    def forget_copy(self, path: str) -> None:
        """Forget a file that was written and is there no more."""
        with self._writing() as db:
            db.execute("DELETE FROM copied WHERE path = ?", (path,))

    def withdrawals(self) -> list[str]:
        """Return when people withdrew."""
        return [at for (at,) in self._rows("SELECT at FROM withdrawn ORDER BY at")]

    def backup(self, path: str | os.PathLike[str]) -> None:
        """Write a whole copy of the file while people work; see `Store.note_copy`.

        The copy knows of no copies: who tries it out, or goes on with it, changes none of this file's.
        """
        file = Path(path).resolve()
        temporary = hidden_beside(file)
        self.note_copy(str(temporary), "backup")  # Else no withdrawal reaches it when this program is killed.
        withdrawn = -1
        try:
            while withdrawn != (withdrawn := len(self.withdrawals())):  # Nobody may withdraw before the copy is noted.
                _make(temporary)
                with closing(sqlite3.connect(temporary)) as copy, copy:
                    with self._lock:
                        self._db.backup(copy)
                    copy.execute("DELETE FROM copied")
                temporary.replace(file)
                self.note_copy(str(file), "backup")
        finally:
            temporary.unlink(missing_ok=True)
            self.forget_copy(str(temporary))


def _make(path: Path) -> None:
    """Make an empty file that its owner alone can read, as SQLite then makes the files beside it too."""
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def _last(db: sqlite3.Connection, person: str, screen: str) -> tuple[int, int, str, bool]:
    """Return the revision of a screen, the revision before, its answer as JSON, and whether it is done."""
    query = (
        "SELECT revision, before, value, done FROM answer WHERE person = ? AND screen = ? "
        "ORDER BY revision DESC LIMIT 1"
    )
    revision, before, value, done = db.execute(query, (person, screen)).fetchone() or (0, 0, "", False)
    return revision, before, value, bool(done)


def _states(db: sqlite3.Connection, person: str, screen: str | None = None) -> dict[str, Saved]:
    """Return the last state of each screen of a person, or of one screen."""
    query = "SELECT screen, value, revision, done, seconds, saved FROM answer WHERE person = ?"
    where, values = (" AND screen = ?", (person, screen)) if screen is not None else ("", (person,))
    found = db.execute(f"{query}{where} ORDER BY screen, revision", values)
    states: dict[str, Saved] = {}
    for name, group in groupby(found, itemgetter(0)):
        revisions = list(group)
        _, value, revision, done, _, saved = revisions[-1]
        states[name] = Saved(json.loads(value), revision, bool(done), sum(row[4] for row in revisions), saved)
    return states
