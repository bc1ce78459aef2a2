"""What the pages do with answers: saving, going on and back, undoing, two tabs, withdrawing, results."""

from pathlib import Path
from threading import Event, Thread

import pytest
from toy_study import ORIGIN, WHOLE, Browser

from attune_bench.annotate import LOG
from attune_bench.annotate.app import Application
from attune_bench.annotate.store import Person, Store

SAVED = {**WHOLE, "tags": {}}


@pytest.fixture
def logged(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the errors that are logged."""
    lines: list[str] = []
    monkeypatch.setattr(LOG, "error", lambda line, *values: lines.append(line % values))
    return lines


def test_clicks_are_saved_and_the_screen_is_done_by_going_on(ann: Browser) -> None:
    ann.go_to("ask/1")
    assert ann.send("ask/1", action="save", script=True, one="yes").json()["revision"] == 1
    assert (ann.state("ask/1").value, ann.state("ask/1").done) == ({"one": "yes", "tags": {}}, False)
    assert ann.send("ask/1", action="save", script=True, **WHOLE).json()["revision"] == 2
    found = ann.send("ask/1", **WHOLE)
    assert (found.status_code, found.headers["location"]) == (303, "/screen/ask/2")
    assert (ann.state("ask/1").value, ann.state("ask/1").done) == (SAVED, True)
    assert ann.client.get("/").headers["location"] == "/screen/ask/2"
    assert ann.send("ask/2", action="back", one="no").headers["location"] == "/screen/ask/1"
    assert ann.state("ask/2").value["one"] == "no"  # Going back saves too.


def test_a_form_without_its_names_is_not_done_and_says_so(ann: Browser) -> None:
    ann.go_to("ask/1")
    found = ann.client.post("/screen/ask/1")
    assert found.status_code == 422
    assert found.text.count("Please answer this question.") == 2
    assert ann.state("ask/1").done is False


def test_a_screen_whose_answer_was_cleared_is_not_done_any_more(ann: Browser) -> None:
    ann.go_to("ask/2")
    ann.send("ask/1", action="save", script=True, one="yes")
    assert (ann.state("ask/1").value, ann.state("ask/1").done) == ({"one": "yes", "tags": {}}, False)
    assert ann.client.get("/").headers["location"] == "/screen/ask/1"
    ann.send("ask/1", action="undo")
    assert (ann.state("ask/1").value, ann.state("ask/1").done) == (SAVED, True)


def test_a_screen_that_is_not_done_waits_for_those_before_it(ann: Browser) -> None:
    ann.go_to("ask/2")
    ann.send("ask/2", action="save", script=True, one="yes")
    ann.send("check", action="undo")
    assert ann.client.get("/screen/ask/2").headers["location"] == "/screen/check"
    assert ann.send("ask/2", **WHOLE).status_code == 404
    assert ann.client.get("/screen/ask/1").status_code == 200  # It is done.


def test_going_back_saves_nothing_where_nothing_was_chosen(ann: Browser) -> None:
    ann.go_to("ask/2")
    assert ann.send("ask/2", action="back").headers["location"] == "/screen/ask/1"
    assert ann.state("ask/2").revision == 0
    ann.send("ask/1", action="back")
    assert ann.state("ask/1").value == {"tags": {}}  # Here there was an answer, which the person has cleared.


def test_a_text_that_is_too_long_is_told_and_shown_again(ann: Browser) -> None:
    ann.go_to("ask/1")
    found = ann.send("ask/1", one="yes", why="w" * 201)
    assert (found.status_code, ann.state("ask/1").revision) == (422, 0)
    assert "w" * 201 in found.text
    assert 'value="yes" checked' in found.text


def test_who_has_screens_that_cannot_be_made_can_withdraw(application: Application, ann: Browser) -> None:
    application.job.failure = KeyError("text")  # type: ignore[attr-defined]
    assert ann.client.get("/withdraw").status_code == 200
    assert ann.client.post("/withdraw", data={"person": ann.person.id}).status_code == 200
    assert application.store.people() == []


def test_undo_goes_back_to_what_was_seen_and_whether_it_was_done(ann: Browser) -> None:
    ann.go_to("ask/1")
    ann.send("ask/1", action="save", script=True, one="yes")
    ann.send("ask/1", action="save", script=True, **WHOLE)
    ann.send("ask/1", **WHOLE)
    seen = []
    for _ in range(3):
        assert ann.send("ask/1", action="undo").headers["location"] == "/screen/ask/1"
        seen.append((ann.state("ask/1").value, ann.state("ask/1").done))
    assert seen == [({"one": "yes", "tags": {}}, False), ({}, False), ({}, False)]


def test_another_tab_is_told_and_shown_what_is_saved(ann: Browser) -> None:
    ann.go_to("ask/1")
    ann.send("ask/1", **WHOLE)
    found = ann.send("ask/1", revision=0, **{**WHOLE, "one": "no"})
    assert found.status_code == 409
    assert "changed in another window" in found.text
    assert 'name="revision" value="1"' in found.text
    assert 'value="yes" checked' in found.text
    assert ann.send("ask/1", revision=0, script=True, action="save", one="no").status_code == 409
    assert ann.state("ask/1").value == SAVED


def test_an_exercise_is_explained_once_and_a_check_has_to_be_right(ann: Browser) -> None:
    ann.go_to("exercise")
    assert ann.send("exercise", right="no").headers["location"] == "/screen/exercise"
    page = ann.client.get("/screen/exercise").text
    assert "That is not quite right. So." in page
    assert ann.send("exercise", right="no").headers["location"] == "/screen/check"
    found = ann.send("check", right="no")
    assert (found.status_code, ann.state("check").done) == (422, False)
    assert '<p class="notice" role="alert">No.</p>' in found.text
    assert ann.send("check", right="yes").headers["location"] == "/screen/ask/1"


def test_a_page_elsewhere_makes_nobody_go_on_as_somebody_else(application: Application, ann: Browser) -> None:
    bob, secret = application.store.add_person(language="de")
    link = f"/enter/{secret}"
    page = ann.client.get(link)  # A page elsewhere can have a browser open this.
    assert '<form method="post"><button class="primary">Beginnen</button></form>' in page.text
    forged = ann.client.post(link, headers={"origin": "https://elsewhere.example"})
    assert forged.status_code == 403
    assert [one.headers.get("set-cookie") for one in (page, forged)] == [None, None]
    assert f'value="{ann.person.id}"' in ann.client.get("/screen/read").text
    assert ann.client.post(link).headers["location"] == "/"
    assert f'value="{bob.id}"' in ann.client.get("/screen/read").text


@pytest.mark.parametrize(
    ("referer", "then"),
    [
        (f"{ORIGIN}/screen/ask/1", "/screen/ask/1"),
        (f"{ORIGIN}/done", "/"),
        ("", "/"),
        (f"{ORIGIN}//elsewhere.example/screen/", "/"),
        ("http://[", "/"),
        ("https://elsewhere.example/", "/"),
    ],
)
def test_another_language_shows_the_same_screen(ann: Browser, referer: str, then: str) -> None:
    ann.go_to("ask/1")
    found = ann.client.post("/language", data={"language": "de"}, headers={"referer": referer})
    assert (found.status_code, found.headers["location"]) == (303, then)
    page = ann.client.get("/screen/ask/1").text
    assert all(said in page for said in ('<html lang="de">', '<p class="study">Eine Spielstudie</p>'))
    assert '<html lang="de">' in ann.client.get("/screen/nothing").text
    assert ann.client.post("/language", data={"language": "tlh"}).status_code == 404


def test_results_are_written_when_all_is_done_and_deleted_with_the_person(
    application: Application, ann: Browser
) -> None:
    ann.go_to("ask/2")
    ann.send("ask/2", **WHOLE)
    assert ann.client.get("/done").status_code == 200
    result = application.output / f"{ann.person.id}.json"
    assert result.exists()
    page = ann.client.get("/withdraw").text
    assert "written anew without your answers" in page
    assert ann.client.post("/withdraw", data={"person": ann.person.id}).status_code == 200
    assert not result.exists()
    assert application.store.people() == []
    assert ann.client.get("/").status_code == 403
    assert ann.send("ask/2", revision=1, **WHOLE).status_code == 403


def test_results_are_written_again_only_where_an_answer_was_changed(application: Application, ann: Browser) -> None:
    ann.go_to("ask/2")
    ann.send("ask/2", **WHOLE)
    ann.client.get("/done")
    result = application.output / f"{ann.person.id}.json"
    written = result.stat().st_ino  # Each time that it is written, it is another file.
    ann.client.get("/screen/ask/1")
    ann.client.get("/done")
    assert result.stat().st_ino == written
    ann.send("ask/1", **{**WHOLE, "one": "no"})
    ann.client.get("/done")
    assert result.stat().st_ino != written
    assert '"one": "no"' in result.read_text()


def test_a_withdrawal_reaches_backups_and_marks_those_that_it_does_not_reach(
    application: Application, ann: Browser, tmp_path: Path
) -> None:
    ann.go_to("ask/2")
    for name in ("stays.db", "moved.db", "other.db"):
        application.store.backup(tmp_path / name)
    (tmp_path / "moved.db").rename(tmp_path / "somewhere.db")
    (tmp_path / "other.db").write_bytes(b"something else")
    page = ann.client.get("/withdraw").text
    assert page.count("a backup on the researchers") == 1  # One line a day.
    assert ann.client.post("/withdraw", data={"person": ann.person.id}).status_code == 200
    assert {Path(copy.path).name: copy.stale for copy in application.store.copies() if copy.kind == "backup"} == {
        "stays.db": False,
        "moved.db": True,
        "other.db": True,
    }
    with Store(tmp_path / "stays.db") as backup:
        assert (backup.people(), len(backup.withdrawals())) == ([], 1)
    assert b"secret thought" not in b"".join(path.read_bytes() for path in tmp_path.glob("st*.db*"))
    assert (tmp_path / "other.db").read_bytes() == b"something else"


@pytest.mark.slow
def test_results_and_backups_are_whole_while_people_save(
    application: Application, ann: Browser, tmp_path: Path
) -> None:
    stop, failed = Event(), []

    def save(person: Person) -> None:
        n = 0
        while not stop.is_set():
            n = application.store.save(person.id, "ask/1", {"one": str(n), "again": str(n)}, revision=n, done=True)

    def copy() -> None:
        try:
            for n in range(10):
                application.export()
                application.store.backup(tmp_path / f"{n}.db")
        except Exception as error:
            failed.append(error)
        stop.set()

    people = [ann.person, *(application.store.add_person(language="en")[0] for _ in range(3))]
    threads = [Thread(target=save, args=(person,)) for person in people] + [Thread(target=copy)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    for n in range(10):
        with Store(tmp_path / f"{n}.db") as backup:
            values = [one.value for person in people for one in backup.answers(person.id).values()]
        assert all(value["one"] == value["again"] for value in values)
    for person in people:
        states = application.store.answers(person.id)["ask/1"]
        assert int(states.value["one"]) == states.revision - 1  # Each save is there, and is there once.


def test_trying_out_a_backup_changes_nothing_of_the_study(
    application: Application, ann: Browser, tmp_path: Path
) -> None:
    application.export()
    application.store.backup(tmp_path / "first.db")
    application.store.backup(tmp_path / "trial.db")
    with Store(tmp_path / "trial.db") as trial:
        other = Application(trial, application.job, origin=ORIGIN, output=tmp_path / "elsewhere")
        other.export()
        other.withdraw(ann.person)
        assert list(other.output.iterdir()) == []
    assert [path.name for path in application.output.iterdir()] == [f"{ann.person.id}.json"]
    with Store(tmp_path / "first.db") as backup:
        assert backup.people() == [ann.person]


def test_results_in_an_earlier_folder_stay_until_somebody_withdraws(
    application: Application, ann: Browser, tmp_path: Path
) -> None:
    application.export()
    [earlier] = application.output.iterdir()
    moved = Application(application.store, application.job, origin=ORIGIN, output=tmp_path / "later")
    moved.export()
    assert earlier.exists()
    moved.withdraw(ann.person)
    assert not earlier.exists()
    assert (list(moved.output.iterdir()), application.store.copies()) == ([], [])


def test_a_file_that_the_study_did_not_write_stays_as_it_is(
    application: Application, ann: Browser, logged: list[str]
) -> None:
    own = application.output / f"{ann.person.id}.json"
    own.parent.mkdir()
    own.write_text("somebody's own file")
    assert application.export() == []
    assert logged == [f"{own.resolve()} is not of this study, and stays as it is: move it away"]
    application.withdraw(ann.person)
    assert own.read_text() == "somebody's own file"


def test_an_export_that_fails_midway_leaves_nothing_that_a_withdrawal_does_not_reach(
    application: Application, ann: Browser, monkeypatch: pytest.MonkeyPatch, logged: list[str]
) -> None:
    application.export()

    def full(store: Store, folder: Path) -> list[Path]:
        (folder / "half.json").write_text(f"of {store.people() and ann.person.id}")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(application.job, "export", full)
    with pytest.raises(OSError, match="No space"):
        application.export()
    assert [path.name for path in application.output.iterdir()] == [f"{ann.person.id}.json"]
    assert ann.client.post("/withdraw", data={"person": ann.person.id}).status_code == 200
    assert (list(application.output.iterdir()), application.store.people()) == ([], [])
    assert logged == ["the results could not be written: OSError"]


def test_a_server_that_is_killed_while_it_writes_results_leaves_none_of_who_withdraws(
    application: Application, ann: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    (application.output / ".unfinished").mkdir(parents=True)
    (application.output / ".unfinished" / "half.json").write_text(ann.person.id)

    def killed(path: Path, target: Path) -> None:
        target.write_bytes(path.read_bytes())
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", killed)
        with pytest.raises(SystemExit):
            application.export()
    assert [path.name for path in application.output.iterdir()] == [f"{ann.person.id}.json"]
    application.withdraw(ann.person)
    assert list(application.output.iterdir()) == []


def test_a_result_that_another_program_keeps_open_is_told_until_it_is_deleted(
    application: Application, ann: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    application.export()
    [result] = application.output.iterdir()

    def is_open(*_: object, **__: object) -> None:
        raise PermissionError(13, "the process cannot access the file")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", is_open)
        patch.setattr(Path, "replace", is_open)
        assert application.export() == []
        assert ann.client.post("/withdraw", data={"person": ann.person.id}).status_code == 200
    [copy] = application.store.copies()
    assert (copy.path, copy.stale, result.exists()) == (str(result.resolve()), True, True)
    application.export()
    assert (application.store.copies(), result.exists()) == ([], False)
