"""The file of a study: nothing lost, nothing twice, nothing left of those who withdraw."""

import os
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from attune_bench.annotate import store as store_module
from attune_bench.annotate.store import NOTHING, Person, StaleError, Store, StoreError


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.create(tmp_path / "study.db", "toy", {"seed": 1})


def test_an_answer_is_saved_once_and_undone_step_by_step(store: Store) -> None:
    person, _ = store.add_person(language="en")
    for n, value in enumerate("abc"):
        assert store.save(person.id, "screen", {"x": value}, revision=n, done=False) == n + 1
    assert store.save(person.id, "screen", {"x": "c"}, revision=2, done=False) == 3  # The same form once more.
    seen = []
    for n in range(3, 7):
        assert store.undo(person.id, "screen", revision=n) == n + 1
        seen.append(store.answers(person.id)["screen"].value)
    assert seen == [{"x": "b"}, {"x": "a"}, {}, {}]


def test_answers_are_those_of_the_file_whoever_has_written_them(store: Store) -> None:
    person, _ = store.add_person(language="en")
    other, _ = store.add_person(language="en")
    for n, value in enumerate("abc"):
        store.save(person.id, "one", {"x": value}, revision=n, done=n == 2)
        store.save(other.id, "one", {"x": "other"}, revision=0, done=True)
        if n:
            store.answers(person.id)  # of which something is kept
    store.save(person.id, "two", {"y": 1}, revision=0, done=True)
    with Store(store.path) as again:
        expected = again.answers(person.id)
        assert store.answers(person.id) == expected
        assert [(one.value, one.revision, one.done) for one in expected.values()] == [
            ({"x": "c"}, 3, True),
            ({"y": 1}, 1, True),
        ]
        assert again.save(person.id, "two", {"y": 2}, revision=1, done=True) == 2
        assert store.answers(person.id)["two"].value == {"y": 2}
        store.undo(person.id, "one", revision=3)
        assert again.answers(person.id)["one"].value == store.answers(person.id)["one"].value == {"x": "b"}
        again.withdraw(person.id)
        assert store.answers(person.id) == {}
    assert store.answers(other.id)["one"].value == {"x": "other"}


def test_an_answer_to_an_older_state_is_refused(store: Store) -> None:
    person, _ = store.add_person(language="en")
    store.save(person.id, "screen", {"x": "a"}, revision=0, done=True)
    with pytest.raises(StaleError):
        store.save(person.id, "screen", {"x": "b"}, revision=0, done=True)
    with pytest.raises(StaleError):
        store.undo(person.id, "screen", revision=0)
    assert store.answers(person.id)["screen"].value == {"x": "a"}


def test_links_open_one_person_and_are_not_in_the_file(store: Store) -> None:
    person, secret = store.add_person(language="en", name="ann")
    assert store.person_of(secret) == person
    newer = store.new_link(person.id)
    assert store.person_of(secret) is None
    assert store.person_of(newer) == person
    store.close()
    assert newer.encode() not in store.path.read_bytes()


def test_nothing_stays_of_a_person_who_withdraws(store: Store, tmp_path: Path) -> None:
    person, _ = store.add_person(language="en", name="pseudonym-of-ann")
    other, _ = store.add_person(language="en")
    for n in range(20):
        store.save(person.id, f"screen-{n}", {"x": "a secret thought " * 500}, revision=0, done=True)
    store.save(other.id, "screen", {"x": "stays"}, revision=0, done=True)
    store.show(person.id, "screen-0")
    store.withdraw(person.id)
    left = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    for trace in (person.id, "pseudonym-of-ann", "secret thought"):
        assert trace.encode() not in left
    assert b"stays" in left
    assert len(store.withdrawals()) == 1
    with pytest.raises(KeyError):
        store.save(person.id, "screen-0", {"x": "late"}, revision=20, done=True)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"model,unit\n", "file is not a database"),
        (b"", "another program"),
        (b"SQLite format 3\0" + bytes(84), "backup"),
    ],
)
def test_a_file_that_is_no_study_is_refused(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "other.db"
    path.write_bytes(content)
    with pytest.raises(StoreError, match=said):
        Store(path)
    assert path.read_bytes() == content


def test_a_damaged_file_is_refused(store: Store) -> None:
    person, _ = store.add_person(language="en")
    for n in range(10):
        store.save(person.id, f"screen-{n}", {"x": "y" * 1000}, revision=0, done=True)
    store.close()
    damaged = bytearray(store.path.read_bytes())
    damaged[4096 * 3 : 4096 * 3 + 200] = b"\xff" * 200
    store.path.write_bytes(damaged)
    with pytest.raises(StoreError, match="last backup"):
        Store(store.path)


def test_a_study_of_another_job_or_of_a_newer_version_is_refused(store: Store) -> None:
    store.close()
    with pytest.raises(StoreError, match="'toy'"):
        Store.create(store.path, "rate", {})
    with pytest.raises(StoreError, match="another seed"):
        Store.create(store.path, "toy", {"seed": 2})
    with sqlite3.connect(store.path) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(StoreError, match="newer version"):
        Store(store.path)


def test_a_backup_is_whole_while_people_work(store: Store, tmp_path: Path) -> None:
    person, _ = store.add_person(language="en")
    store.save(person.id, "screen", {"x": "a"}, revision=0, done=True)
    store.backup(tmp_path / "copy.db")
    with Store(tmp_path / "copy.db") as copy:
        assert copy.answers(person.id)["screen"].value == {"x": "a"}
    assert [(one.kind, one.stale) for one in store.copies()] == [("backup", False)]


def test_files_are_the_owners_alone_whatever_the_mask(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        with Store.create(tmp_path / "study.db", "toy", {}) as store:
            store.add_person(language="en")
            store.backup(tmp_path / "copy.db")
            modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    finally:
        os.umask(old)
    assert modes == dict.fromkeys(("study.db", "study.db-wal", "study.db-shm", "copy.db"), 0o600)


def test_traces_in_the_log_go_when_another_program_is_done_with_reading(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("attune_bench.annotate.store.sleep", lambda _: None)
    person, _ = store.add_person(language="en")
    other, _ = store.add_person(language="en")
    store.save(person.id, "screen", {"x": "a secret thought"}, revision=0, done=True)
    reader = sqlite3.connect(store.path, isolation_level=None)
    reader.execute("BEGIN")
    assert reader.execute("SELECT count(*) FROM answer").fetchone() == (1,)
    store.withdraw(person.id)
    assert b"a secret thought" in b"".join(path.read_bytes() for path in tmp_path.iterdir())
    reader.execute("COMMIT")
    reader.close()
    store.save(other.id, "screen", {"x": "next"}, revision=0, done=True)
    assert b"a secret thought" not in b"".join(path.read_bytes() for path in tmp_path.iterdir())


def test_a_log_that_a_killed_server_left_is_emptied_at_the_start(store: Store, tmp_path: Path) -> None:
    person, _ = store.add_person(language="en")
    store.save(person.id, "screen", {"x": "a secret thought"}, revision=0, done=True)
    with store._writing() as db:
        db.execute("DELETE FROM person")  # A withdrawal after which the server was killed at once.
    killed = tmp_path / "killed"
    killed.mkdir()
    for path in tmp_path.glob("study.db*"):
        (killed / path.name).write_bytes(path.read_bytes())
    assert b"a secret thought" in (killed / "study.db-wal").read_bytes()
    with Store(killed / "study.db") as again:
        assert again.people() == []
        assert b"a secret thought" not in b"".join(path.read_bytes() for path in killed.iterdir())


def test_a_change_that_fails_leaves_the_file_as_it_was(store: Store) -> None:
    person, _ = store.add_person(language="en")
    full = "CREATE TEMP TRIGGER full BEFORE INSERT ON answer BEGIN SELECT RAISE(ROLLBACK, 'the disk is full'); END"
    store._db.execute(full)
    with pytest.raises(sqlite3.Error, match="full"):
        store.save(person.id, "screen", {"x": "a"}, revision=0, done=True)
    store._db.execute("DROP TRIGGER full")
    assert store.answers(person.id) == {}
    assert store.save(person.id, "screen", {"x": "a"}, revision=0, done=True) == 1


def test_nobody_is_deleted_twice_and_nothing_is_shown_to_who_is_deleted(store: Store) -> None:
    person, _ = store.add_person(language="en")
    store.withdraw(person.id)
    store.withdraw(person.id)
    store.show(person.id, "screen")
    assert len(store.withdrawals()) == 1
    assert store._rows("SELECT * FROM shown") == []


def test_an_answer_takes_from_the_first_showing_since_the_answer_before(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    person, _ = store.add_person(language="en")
    taken = []
    # Shown, reloaded and saved; two more clicks; later shown, reloaded and saved.
    for at, event in ((100, ""), (130, ""), (140, "a"), (145, "b"), (147, "c"), (9000, ""), (9001, ""), (9005, "d")):
        monkeypatch.setattr(store_module, "time", lambda at=at: float(at))
        if not event:
            store.show(person.id, "screen")
            continue
        now = store.answers(person.id).get("screen", NOTHING)
        store.save(person.id, "screen", {"x": event}, revision=now.revision, done=True)
        taken.append(store.answers(person.id)["screen"].seconds - now.seconds)
    assert taken == [40.0, 5.0, 2.0, 5.0]


def test_a_clock_that_is_set_back_makes_no_negative_time(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    person, _ = store.add_person(language="en")
    store.show(person.id, "screen")
    monkeypatch.setattr(store_module, "time", lambda: 0.0)
    store.save(person.id, "screen", {"x": "a"}, revision=0, done=True)
    assert store.answers(person.id)["screen"].seconds == 0.0


def test_a_file_that_another_program_holds_is_not_called_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Store.create(tmp_path / "study.db", "toy", {}).close()
    monkeypatch.setattr(store_module, "_PATIENCE", 0)
    other = sqlite3.connect(tmp_path / "study.db", isolation_level=None)
    other.execute("PRAGMA journal_mode = DELETE")
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(StoreError, match="database is locked; try again"):
        Store(tmp_path / "study.db")
    other.close()


def test_one_server_alone_serves_a_study(store: Store, tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to(store.path)
    with Store(tmp_path / "link.db") as second, store.served():
        with pytest.raises(StoreError, match="another server serves this study; stop that one first"), second.served():
            pass
        store.backup(tmp_path / "backup.db")  # Other commands work meanwhile.
    with store.served():
        pass


_SERVE = """
import sys, time
from attune_bench.annotate.store import Store
with Store(sys.argv[1]).served():
    print("served", flush=True)
    time.sleep(60)
"""


@pytest.mark.slow
def test_a_server_that_was_killed_keeps_no_other_away(store: Store) -> None:
    command = [sys.executable, "-c", _SERVE, str(store.path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "served\n"
        with pytest.raises(StoreError, match="another server"), store.served():
            pass
        process.kill()
    with store.served():
        pass


def test_a_backup_that_fails_leaves_no_copy_of_the_answers(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    person, _ = store.add_person(language="en")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", full)
        with pytest.raises(OSError, match="No space"):
            store.backup(tmp_path / "copy.db")
        assert [path.name for path in tmp_path.iterdir() if person.id.encode() in path.read_bytes()] == ["study.db-wal"]
        assert store.copies() == []

    def killed(path: Path, _: Path) -> None:
        noted = [copy.path for copy in store.copies()]
        assert noted == [str(path.resolve())]
        raise SystemExit

    monkeypatch.setattr(Path, "replace", killed)
    with pytest.raises(SystemExit):
        store.backup(tmp_path / "copy.db")


def test_a_study_that_two_commands_begin_at_once_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    added: list[Person] = []

    def make(path: Path) -> None:
        monkeypatch.undo()
        with Store.create(tmp_path / "study.db", "toy", {}) as first:
            added.append(first.add_person(language="en")[0])
        path.touch(exist_ok=False)

    monkeypatch.setattr("attune_bench.annotate.store._make", make)
    with Store.create(tmp_path / "study.db", "toy", {}) as second:
        assert second.people() == added
    assert [path.name for path in tmp_path.iterdir()] == ["study.db"]
