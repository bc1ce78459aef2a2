"""The administration: who is let in, what is shown of people, and what its buttons do."""

import json
from collections.abc import Mapping, Sequence
from io import BytesIO
from math import isnan
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from starlette.testclient import TestClient

from attune_bench.annotate.admin import Administration, agreement
from attune_bench.annotate.app import Application, Progress
from attune_bench.annotate.guard import cookie
from attune_bench.annotate.screens import Choice, Option, Screen, Tags, Text
from attune_bench.annotate.store import COST, Person, Saved, Store, Value
from attune_bench.annotate.texts import Texts

ORIGIN = "http://127.0.0.1:8107"
LINK = "of-the-administrator"
STEPS = tuple(Option(str(step), str(step)) for step in range(1, 6))
WORDS = (Option("calm", "Calm"), Option("sad", "Sad"))


class Toy:
    """Four screens about units and one that each person has alone; a file for each person."""

    name = "toy"
    languages: tuple[str, ...] = ("en", "de")

    def title(self, language: str) -> str:
        del language
        return "A toy study"

    def screens(self, person: Person, answers: Mapping[str, Value], texts: Texts) -> Sequence[Screen]:
        del answers, texts
        fields = (
            Choice(name="warmth", label="How warm?", options=STEPS, is_scale=True, required=False),
            Tags(name="felt", label="What?", options=WORDS, highest=3),
            Text(name="why", label="Why?", most=100, required=False),
        )
        shared = [Screen(key=f"unit/{n}", title="", fields=fields, unit=f"u{n}") for n in range(4)]
        own = Choice(name="own", label=f"For {person.id}", options=STEPS)
        return [*shared, Screen(key="own", title="", fields=(own,))]

    def export(self, store: Store, folder: Path) -> list[Path]:
        written = []
        for person in store.people():
            path = folder / f"{person.id}.json"
            path.write_text(json.dumps([one.value for one in store.answers(person.id).values()]))
            written.append(path)
        return written


@pytest.fixture
def application(tmp_path: Path) -> Application:
    store = Store.create(tmp_path / "study.db", "toy", {})
    application = Application(store, Toy(), origin=ORIGIN, output=tmp_path / "out")
    Administration(application, LINK)
    return application


@pytest.fixture
def admin(application: Application) -> TestClient:
    client = TestClient(application.asgi, base_url=ORIGIN, headers={"origin": ORIGIN})
    assert "set-cookie" not in client.get(f"/admin/enter/{LINK}").headers
    entered = client.post(f"/admin/enter/{LINK}", follow_redirects=False)
    assert entered.headers["location"] == "/admin"
    assert "path=/admin" in (said := entered.headers["set-cookie"].lower())
    assert all(word in said for word in ("httponly", "samesite=strict"))
    return client


def answer(application: Application, person: Person, **values: Sequence[Any]) -> None:
    """Save the values of a field for the first screens, done."""
    [(name, given)] = values.items()
    for n, value in enumerate(given):
        saved = application.store.answers(person.id).get(f"unit/{n}")
        whole = {**(saved.value if saved else {}), name: value}
        application.store.save(person.id, f"unit/{n}", whole, revision=saved.revision if saved else 0, done=True)


def people(application: Application, count: int) -> list[Person]:
    return [application.store.add_person(language="en")[0] for _ in range(count)]


PAGES = ["/admin", "/admin/agreement"]
BUTTONS = ["people", "link", "export", "download", "backup", "forget"]


def test_nobody_else_is_let_in(application: Application) -> None:
    person, secret = application.store.add_person(language="en")
    client = TestClient(application.asgi, base_url=ORIGIN, headers={"origin": ORIGIN})
    client.post(f"/enter/{secret}")
    name = cookie(ORIGIN, administrator=True)
    for cookies in ({}, {name: secret}, {name: ""}):
        client.cookies.update(cookies)
        assert [client.get(page).status_code for page in PAGES] == [403, 403]
        form = {"count": "1", "language": "en", "person": person.id}
        assert {client.post(f"/admin/{button}", data=form).status_code for button in BUTTONS} == {403}
    assert [client.request(one, "/admin/enter/wrong").status_code for one in ("GET", "POST")] == [403, 403]
    assert application.store.people() == [person]
    assert application.store.person_of(secret) == person


def test_a_form_of_another_page_is_refused(application: Application, admin: TestClient) -> None:
    for origin in ("https://elsewhere.example", "null"):
        form = {"count": "1", "language": "en"}
        sent = [admin.post(f"/admin/{button}", data=form, headers={"origin": origin}) for button in BUTTONS]
        assert {one.status_code for one in sent} == {403}
    assert (application.store.people(), application.store.copies()) == ([], [])


def test_progress_and_cost_are_shown_and_no_answer(application: Application, admin: TestClient) -> None:
    ann, bob = people(application, 2)
    answer(application, ann, why=["a private thought", "another"])
    assert "US dollars" not in admin.get("/admin").text
    application.store.set_about(COST, 1.5)
    application.store.save(ann.id, COST, {"usd": 1.25}, revision=0, done=True)
    page = admin.get("/admin").text
    row = page[page.index(ann.id) :].partition("</tr>")[0]
    assert all(cell in row for cell in (">2 of 5</td>", ">0:00</td>", ">1.25</td>"))
    assert ">never</td>" in page[page.index(bob.id) :]
    assert "Answered everything: 0 of 2 people" in page
    assert "Models have cost 1.50 US dollars" in page
    assert "thought" not in page


def test_added_people_have_links_that_work_and_are_shown_once(application: Application, admin: TestClient) -> None:
    page = admin.post("/admin/people", data={"count": "2", "language": "de"}).text
    assert [one.language for one in application.store.people()] == ["de", "de"]
    links = [line.partition("<")[0] for line in page.split(f"{ORIGIN}/enter/")[1:]]
    assert {application.store.person_of(link) for link in links} == {*application.store.people()}
    assert all(link not in admin.get("/admin").text for link in links)
    for form in (
        {"count": "201", "language": "en"},
        {"count": "0", "language": "en"},
        {"count": "9" * 5000, "language": "en"},
        {"count": "1", "language": "fr"},
    ):
        assert admin.post("/admin/people", data=form).status_code == 422
    assert len(application.store.people()) == 2


def test_a_new_link_replaces_the_earlier_one(application: Application, admin: TestClient) -> None:
    person, secret = application.store.add_person(language="en")
    page = admin.post("/admin/link", data={"person": person.id}).text
    newer = page.split(f"{ORIGIN}/enter/")[1].partition("<")[0]
    assert application.store.person_of(newer) == person
    assert application.store.person_of(secret) is None
    assert admin.post("/admin/link", data={"person": "NOBODY"}).status_code == 404


def test_a_download_is_noted_and_stale_after_a_withdrawal(application: Application, admin: TestClient) -> None:
    ann, bob = people(application, 2)
    answer(application, ann, why=["leaves"])
    answer(application, bob, why=["stays"])
    taken = admin.post("/admin/download")
    with ZipFile(BytesIO(taken.content)) as archive:
        assert sorted(archive.namelist()) == sorted(f"{person.id}.json" for person in (ann, bob))
    [name] = [one.path for one in application.store.copies() if one.kind == "download"]
    assert name in taken.headers["content-disposition"]
    advice = "delete that copy, and take a new one"
    assert advice not in admin.get("/admin").text
    application.withdraw(ann)
    page = admin.get("/admin").text
    assert advice in page
    assert "Withdrawals: 1." in page
    with ZipFile(BytesIO(admin.post("/admin/download").content)) as archive:
        assert archive.namelist() == [f"{bob.id}.json"]
    admin.post("/admin/forget", data={"path": name})
    assert advice not in admin.get("/admin").text


def test_a_backup_that_was_moved_is_told_until_it_is_deleted(application: Application, admin: TestClient) -> None:
    [ann] = people(application, 1)
    admin.post("/admin/backup")
    [path] = [Path(one.path) for one in application.store.copies()]
    with Store(path) as copy:
        assert copy.people() == [ann]
    assert "no longer there" not in admin.get("/admin").text
    assert admin.post("/admin/forget", data={"path": str(path)}).status_code == 404
    path.unlink()
    assert "no longer there" in admin.get("/admin").text
    admin.post("/admin/forget", data={"path": str(path)})
    assert application.store.copies() == []


def test_a_backup_that_no_withdrawal_reached_is_deleted(application: Application, admin: TestClient) -> None:
    admin.post("/admin/backup")
    [path] = [Path(one.path) for one in application.store.copies()]
    application.store.mark_stale(str(path))
    assert "delete that copy, and take a new one" in admin.get("/admin").text
    admin.post("/admin/forget", data={"path": str(path)})
    assert (path.exists(), application.store.copies()) == (False, [])


def test_a_result_that_could_not_be_written_is_told_until_it_is(application: Application, admin: TestClient) -> None:
    people(application, 1)
    [result] = application.export()
    application.store.mark_stale(str(result.resolve()))
    advice = "It could not be written anew: close it in other programs, and write the results now."
    assert advice in admin.get("/admin").text
    admin.post("/admin/export")
    assert advice not in admin.get("/admin").text
    application.store.mark_stale(str(result.resolve()))
    admin.post("/admin/forget", data={"path": str(result.resolve())})
    assert (result.exists(), application.store.copies()) == (False, [])


def test_results_are_written_now(application: Application, admin: TestClient) -> None:
    [ann] = people(application, 1)
    admin.post("/admin/export")
    assert (application.output / f"{ann.id}.json").is_file()


def test_agreement_is_of_units_that_several_people_are_done_with(application: Application) -> None:
    ann, bob, eve = people(application, 3)
    assert agreement(map(application.progress, (ann, bob, eve))) == []
    answer(application, ann, warmth=["1", "2", "4", "5"])
    answer(application, ann, felt=[{"calm": 2}, {"calm": 1}, {}, {}])
    application.store.save(ann.id, "own", {"own": "1"}, revision=0, done=True)
    alone = agreement([application.progress(one) for one in (ann, bob, eve)])
    assert [(one.name, one.compared, isnan(one.alpha)) for one in alone] == [("warmth", 0, True), ("felt", 0, True)]
    answer(application, bob, warmth=["1", "2", "4"])
    answer(application, bob, felt=[{"calm": None}, {"sad": 1}, {}])
    application.store.save(bob.id, "own", {"own": "1"}, revision=0, done=True)
    application.store.save(eve.id, "unit/0", {"warmth": "5"}, revision=0, done=False)
    warmth, felt = agreement([application.progress(one) for one in (ann, bob, eve)])
    assert (warmth.level, warmth.compared, warmth.people, warmth.alpha) == ("ordinal", 3, 2, 1.0)
    # Six pairs of a word: four of them equal; among the 12 ratings are 2 + 1 + 1 of one kind.
    assert (felt.level, felt.compared, felt.people) == ("nominal", 6, 2)
    assert felt.alpha == pytest.approx(1 - 11 * 4 / (2 * 4 * 8))


def test_verdicts_are_compared_from_the_side_that_each_person_saw() -> None:
    verdict = Choice(name="verdict", label="Which?", options=tuple(Option(str(n), "") for n in (2, 1, 0, -1, -2)))
    ann, bob = (Person(name, "en") for name in ("ann", "bob"))

    def progress(person: Person, values: Sequence[str], *, is_swapped: bool) -> Progress:
        screens = [
            Screen(key=f"{person.id}{n}", title="", fields=(verdict,), unit=str(n), is_swapped=is_swapped)
            for n in range(len(values))
        ]
        saved = {s.key: Saved({"verdict": value}, 1, True) for s, value in zip(screens, values, strict=True)}
        return Progress(person, Texts("en"), saved, screens)

    both = [progress(ann, ["2", "0", "-1"], is_swapped=False), progress(bob, ["-2", "0", "1"], is_swapped=True)]
    [one] = agreement(both)
    assert (one.level, one.compared, one.alpha) == ("ordinal", 3, 1.0)


def test_the_page_of_agreement_says_what_cannot_be_computed(application: Application, admin: TestClient) -> None:
    ann, bob = people(application, 2)
    assert "Nothing can be compared yet" in admin.get("/admin/agreement").text
    answer(application, ann, warmth=["3", "3"])
    assert "not yet" in admin.get("/admin/agreement").text
    answer(application, bob, warmth=["3", "3"])
    page = admin.get("/admin/agreement").text
    assert "undefined: all answers are equal" in page
    assert "not yet" not in page
    answer(application, bob, warmth=["3", "1"])
    assert ">0.00<" in admin.get("/admin/agreement").text  # Of four ratings three are 3: no better than chance.


def test_a_person_whose_screens_cannot_be_made_hides_no_other(
    application: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann, bob = (application.store.add_person(language="en")[0] for _ in range(2))
    made = application.job.screens

    def screens(person: Person, *given: Any) -> Sequence[Screen]:
        if person == bob:
            raise KeyError("text")
        return made(person, *given)

    monkeypatch.setattr(application.job, "screens", screens)
    assert [progress.person for progress in application.everybody()] == [ann]
