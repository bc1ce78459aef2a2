"""People rate texts and compare two, blind, and their tables go into the commands that read them."""

import csv
import re
from collections.abc import Callable, Generator, Sequence
from datetime import date
from html import unescape
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from starlette.testclient import TestClient

from attune_bench import score
from attune_bench.annotate.admin import agreement
from attune_bench.annotate.app import Application
from attune_bench.annotate.guard import Limits
from attune_bench.annotate.potato import write_task
from attune_bench.annotate.rate import RateJob, Scale
from attune_bench.annotate.rated import RatedPair, RatedText, fingerprint, read_rated
from attune_bench.annotate.store import Person, Store
from attune_bench.annotate.texts import Texts
from attune_bench.benchmarks.attunebench.annotation.drafts import drafts
from attune_bench.cli import main
from attune_bench.cli.annotate import _new_raters
from attune_bench.stats.labels import draw_labels
from attune_data import load, load_runs

pytestmark = pytest.mark.slow

ORIGIN = "http://127.0.0.1:8017"
SCALE = Scale(0, 1, 5)
TEXTS = [
    RatedText(model=model, unit=unit, text=f"{unit} {word} <b>", talk=(("prompt", f"Question {unit}?"),))
    for unit in ("q1", "q2", "q3", "q4")
    for model, word in (("vendor/large", "Yes."), ("vendor/small", "No."))
]
PAIRS = [
    RatedPair(
        unit=f"q{n}",
        a="vendor/large",
        b="vendor/small",
        text_a="Yes, and why.",
        text_b="No.",
        columns={"topic": "x"},
    )
    for n in range(1, 9)
]


class Rater:
    """Somebody who rates without a script."""

    def __init__(self, store: Store, job: RateJob, output: Path, name: str) -> None:
        self.person, secret = store.add_person(language="en", name=name)
        fast = Limits(per_link=1e6, per_address=1e6)
        self.application = Application(store, job, origin=ORIGIN, output=output, limits=fast)
        self.client = TestClient(self.application.asgi, base_url=ORIGIN, headers={"origin": ORIGIN})
        self.pages: list[str] = [self.client.post(f"/enter/{secret}").text]

    def rate(self, choose: Callable[[Sequence[str]], int], *, most: int = 10_000) -> None:
        """Choose a value for the passages of each page, until all are done."""
        page = self.client.get("/").text
        while most and (form := re.search(r'<form method="post" action="(/screen/[^"]+)"', page)):
            self.pages.append(page)
            [revision] = re.findall(r'name="revision" value="(\d+)"', page)
            data: dict[str, str] = {"revision": revision, "action": "next"}
            if texts := passages(page):
                data["rating"] = str(choose(texts))
                most -= 1
            response = self.client.post(form[1], data=data)
            assert response.status_code == 200
            page = response.text

    @property
    def shown(self) -> list[list[str]]:
        """The texts of each page, in the order in which the person saw them."""
        return [texts for page in self.pages if (texts := passages(page))]


def passages(page: str) -> list[str]:
    """Return the texts that a page asks about."""
    found = re.findall(r'<article class="passage">.*?<div class="text">(.*?)</div>', page, re.DOTALL)
    return [unescape(text) for text in found]


def rows(path: Path) -> list[dict[str, str]]:
    """Return the rows of a CSV file."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.create(tmp_path / "ratings.db", "rate", {})


@pytest.fixture
def call(capfd: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Run a command that ends well, and return its output."""

    def run(*arguments: Any) -> str:
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        out, err = capfd.readouterr()
        assert not ended.value.code, err
        return out

    return run


def test_each_person_has_an_order_that_stays(store: Store, tmp_path: Path) -> None:
    job = RateJob(TEXTS, scale=SCALE)
    raters = [Rater(store, job, tmp_path / "out", name) for name in ("ann", "bob")]
    for rater in raters:
        rater.rate(lambda _: 3, most=3)
        rater.rate(lambda _: 3)
    ann, bob = (rater.shown for rater in raters)
    assert ann != bob
    everything = sorted([text.text] for text in TEXTS)
    assert sorted(ann) == sorted(bob) == everything
    turned = RateJob(TEXTS[::-1], scale=SCALE)
    keys = [[screen.key for screen in one.screens(raters[0].person, {}, Texts("en"))] for one in (job, turned)]
    assert keys[0] == keys[1]
    for shown in (ann, bob):  # Texts of one unit follow each other.
        units = [text.split()[0] for [text] in shown]
        assert units[::2] == units[1::2]


def test_no_page_tells_who_wrote_a_text(store: Store, tmp_path: Path) -> None:
    for job in (RateJob(TEXTS, scale=SCALE), RateJob(PAIRS)):
        rater = Rater(store, job, tmp_path / "out", job.title("en"))
        rater.rate(lambda _: 1)
        assert len(rater.shown) == len(job.items)
        seen = "".join(rater.pages).lower()
        assert [word for word in ("vendor", "large", "small") if word in seen] == []
        keys = re.findall(r'action="/screen/([^"]+)"', seen)
        assert all(key == "start" or re.fullmatch("[0-9a-f]{16}", key) for key in keys)
        assert "question q1?" in seen or job.scale is None
        assert "&lt;b&gt;" in seen or job.scale is None  # A text is shown, not executed.


def test_what_pages_show_does_not_tell_which_item_a_screen_has() -> None:
    person = Person("shown-in-the-page", "en")

    def seen(secret: str) -> list[tuple[str, bool]]:
        job = RateJob(PAIRS)
        job.secret = secret
        return sorted((screen.key, screen.is_swapped) for screen in job.screens(person, {}, Texts("en"))[1:])

    assert seen("one") == seen("one")
    assert not {key for key, _ in seen("one")} & {key for key, _ in (*seen("another"), *seen(""))}


def test_models_and_sides_are_in_random_order() -> None:
    people = [Person(f"person-{n}", "en") for n in range(100)]

    def first_texts(job: RateJob) -> list[str]:
        screens = (screen for person in people for screen in job.screens(person, {}, Texts("en")))
        return [screen.passages[0].text for screen in screens if screen.passages]

    rated = first_texts(RateJob(TEXTS, scale=SCALE))
    assert 25 < sum(text.endswith("Yes. <b>") for text in rated[:: len(TEXTS)]) < 75
    assert 320 < sum(text.startswith("Yes") for text in first_texts(RateJob(PAIRS))) < 480


def test_ratings_are_means_of_raters_who_rated_the_whole(store: Store, tmp_path: Path) -> None:
    halves = [
        RatedText(model="m", unit=unit, text=f"{unit} part {part}", part=str(part))
        for unit in ("q1", "q2")
        for part in (1, 2)
    ]
    job = RateJob(halves, scale=SCALE, dimension="warmth")
    ann, bob = (Rater(store, job, tmp_path / "out", name) for name in ("ann", "bob"))
    ann.rate(lambda texts: 5 if texts == ["q1 part 1"] else 2)
    bob.rate(lambda _: 1, most=3)  # of one unit the whole, of the other a half
    ann.application.export()
    units = [text.split()[0] for [text] in bob.shown]
    whole, half = units[0], units[2]
    assert units[:2] == [whole, whole] != [half, half]
    by_ann = {"q1": (1 + 0.25) / 2, "q2": 0.25}
    labels = {row["unit"]: (float(row["rating"]), row["raters"]) for row in rows(tmp_path / "out" / "labels.csv")}
    assert labels == {whole: (by_ann[whole] / 2, "2"), half: (by_ann[half], "1")}
    ratings = rows(tmp_path / "out" / "ratings.csv")
    assert len(ratings) == 4 + 3
    assert {(row["item"], row["rating"]) for row in ratings if row["rater"] == "ann"} == {
        ("q1/m/1", "1.0"), ("q1/m/2", "0.25"), ("q2/m/1", "0.25"), ("q2/m/2", "0.25"),
    }  # fmt: skip
    assert {(row["dimension"], row["cluster"]) for row in ratings} == {("warmth", "q1"), ("warmth", "q2")}
    assert all(float(row["seconds"]) >= 0 for row in ratings)


def test_ties_and_margins_are_of_the_models_whatever_side_they_were_on(
    store: Store, tmp_path: Path, call: Callable[..., str]
) -> None:
    job = RateJob(PAIRS)

    def prefers_yes(texts: Sequence[str]) -> int:
        return 2 if texts[0].startswith("Yes") else -2

    for name, choose in (("ann", prefers_yes), ("bob", lambda texts: -prefers_yes(texts)), ("cem", lambda _: 0)):
        Rater(store, job, tmp_path / "out", name).rate(choose)
    table = tmp_path / "out" / "comparisons.csv"
    found = rows(table)
    by_judge = {
        name: {(row["winner"], row["margin"]) for row in found if row["judge"] == f"human/{name}"}
        for name in ("ann", "bob", "cem")
    }
    assert by_judge == {"ann": {("vendor/large", "2")}, "bob": {("vendor/small", "-2")}, "cem": {("tie", "0")}}
    assert len({row["first"] for row in found}) == 2
    assert {(row["length_a"], row["length_b"], row["topic"]) for row in found} == {("13", "3", "x")}
    assert "Ranks by Rating\n" in call("rank", table)
    call("report", table, "--html", tmp_path / "page.html")
    assert "vendor/large" in (tmp_path / "page.html").read_text()


def test_the_administrator_sees_that_people_agree_whatever_the_order_and_the_side(store: Store, tmp_path: Path) -> None:
    pairs = [RatedPair(unit=f"q{n}", a="x", b="y", text_a=f"Yes {n}", text_b=f"No {n}") for n in range(8)]

    def choose(texts: Sequence[str]) -> int:
        margin = int(texts[0][-1]) % 4 - 1
        return margin if texts[0].startswith("Yes") else -margin

    raters = [Rater(store, RateJob(pairs), tmp_path / "out", name) for name in ("ann", "bob")]
    for rater in raters:
        rater.rate(choose)
    [one] = agreement(rater.application.progress(rater.person) for rater in raters)
    assert (one.level, one.compared, one.alpha) == ("ordinal", 8, 1.0)


@pytest.mark.slow
def test_a_drawn_sheet_of_the_demo_is_rated_and_corrects_the_judge(
    store: Store, tmp_path: Path, call: Callable[..., str]
) -> None:
    """The whole way: judge draw, annotate rate, judge correct and judge agree."""
    conversations, runs = load("demo"), load_runs("demo")
    scores, metric = score(conversations, runs), "avg_draft_judge_score"
    scores.write(tmp_path / "scores.json")
    sheet = tmp_path / "sheet.csv"
    call("judge", "draw", tmp_path / "scores.json", "--metric", metric, "--n", 6, "-o", sheet)
    items = read_rated(sheet, drafts(conversations, runs))
    drawn = pl.read_csv(sheet)
    assert {(item.model, item.unit) for item in items} == set(drawn.select("model", "unit").rows())  # type: ignore[union-attr]
    assert draw_labels(scores, 6, metric=metric).height == 12
    job = RateJob(items, scale=Scale(0, 1, 7), dimension=metric)
    output = tmp_path / "out"
    raters = [Rater(store, job, output, f"rater-{n}") for n in (1, 2, 3)]
    for n, rater in enumerate(raters):
        rater.rate(lambda texts, n=n: 1 + (len(texts[0]) + n) % 7)  # type: ignore[misc]
    assert len(rows(output / "labels.csv")) == 12
    assert all(row["raters"] == "3" for row in rows(output / "labels.csv"))
    said = call("judge", "correct", tmp_path / "scores.json", "--labels", output / "labels.csv", "--metric", metric)
    assert re.search(r"synthetic/attentive +people .* 6 \(", said)
    agreed = call("judge", "agree", output / "ratings.csv", "--expert", "rater-1", "rater-2", "--judge", "rater-3")
    assert metric in agreed
    # Nothing is left of people who withdraw.
    for rater in raters:
        rater.client.post("/withdraw")
    assert list(output.iterdir()) == []


SHEET = "model,unit,rating\nlarge,q1,\nsmall,q1,\n"


@pytest.mark.parametrize(
    ("sheet", "texts", "said"),
    [
        (SHEET, None, "no column 'text'"),
        (SHEET, "model,unit,text\nlarge,q1,Yes.\n", "row 3: there is no text of 'small' on 'q1'"),
        (SHEET + "large,q1,\n", "model,unit,text\nlarge,q1,Yes.\nsmall,q1,No.\n", "row 4: the same as row 2"),
        (SHEET, "model,unit\nlarge,q1\n", "no column 'text'; it has model, unit"),
        ("model,unit,text\n", None, "no rows"),
        ("model,unit,text\nlarge,q1,\n", None, "row 2: text is empty"),
        ("model,unit,text\na/b,q,x\nb,q/a,y\n", None, "two rows are both called 'q/a/b'"),
        ("unit,a,b,text_a,text_b\nq1,x,x,1,2\n", None, "row 2: 'x' is compared with itself"),
        ("unit,a,b,text_a,text_b\nq1,x,y,1,2\nq1,y,x,2,1\n", None, "row 3: the pair of row 2"),
        ("unit,a,text_a,text_b\nq1,x,1,2\n", None, "no column 'b'"),
        ("unit,a,b,text_a,text_b\nq1,x,y,1,2\n", SHEET, "leave the further texts out"),
    ],
)
def test_a_wrong_table_is_told(tmp_path: Path, sheet: str, texts: str | None, said: str) -> None:
    drawn, further = tmp_path / "sheet.csv", tmp_path / "texts.csv"
    drawn.write_text(sheet)
    further.write_text(texts or "")
    with pytest.raises(ValueError, match=said):
        read_rated(drawn, further if texts else None)


def test_texts_are_joined_to_the_rows_that_were_drawn(tmp_path: Path) -> None:
    (tmp_path / "sheet.csv").write_text(SHEET)
    (tmp_path / "texts.csv").write_text(
        "model,unit,text,prompt\nlarge,q1,Yes.,Why?\nlarge,q1,Because.,And?\nsmall,q1,No.,\nlarge,q2,Not drawn.,\n"
    )
    found = read_rated(tmp_path / "sheet.csv", tmp_path / "texts.csv")
    assert [(item.id, item.talk) for item in found] == [
        ("q1/large/1", (("prompt", "Why?"),)),
        ("q1/large/2", (("prompt", "And?"),)),
        ("q1/small", ()),
    ]


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[RateJob]:
    """Return the jobs that were served, in the place of serving them."""
    jobs: list[RateJob] = []
    monkeypatch.setattr("attune_bench.annotate.server.serve", lambda *given, **_: jobs.append(given[1]))
    return jobs


def test_the_command_says_what_steps_mean_and_gives_each_person_a_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Callable[..., str], served: list[RateJob]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sheet.csv").write_text("model,unit,text\nlarge,q1,Yes.\nsmall,q1,No.\n", encoding="utf-8")
    command = ("annotate", "rate", "sheet.csv", "--range", "1", "10", "--file", "r.db", "-o", "out", "--people")
    said = call(*command, "2")
    assert said.startswith("2 texts to rate, in random order for each person.\n")
    assert "7 steps: step 1 is written as rating 1, step 7 as 10.\n" in said
    assert "next: attune-bench judge correct SCORES --labels out/labels.csv\n" in said
    links = re.findall(r"^(rater-\d+): http://127\.0\.0\.1:8017/enter/\S{22}$", said, re.MULTILINE)
    assert links == ["rater-1", "rater-2"]
    assert "rater-" not in call(*command, "2")
    assert re.findall(r"^(rater-\d+):", call(*command, "3"), re.MULTILINE) == ["rater-3"]
    assert [job.scale and job.scale.rating(4) for job in served] == [5.5] * 3


@pytest.mark.usefixtures("served")
def test_a_study_keeps_its_secret_and_is_asked_one_question(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    call: Callable[..., str],
    served: list[RateJob],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sheet.csv").write_text("model,unit,text\nlarge,q1,Yes.\n", encoding="utf-8")
    command = ("annotate", "rate", "sheet.csv", "-o", "out", "--metric", "emotion_f1")
    for file in ("one.db", "one.db", "two.db"):
        call(*command, "--file", file)
    first, again, other = (job.secret for job in served)
    assert len(first) > 20
    assert (first == again, first == other) == (True, False)
    other_metric = (*command[:-2], "--range", "0", "1")
    for changed, said in ((other_metric, "another metric"), ((*command, "--question", "Warm?"), "another question")):
        with pytest.raises(SystemExit):
            main([*changed, "--file", "one.db"])
        assert f"one.db: was begun with {said}" in capfd.readouterr().err


def test_no_two_raters_have_one_name_wherever_the_program_is_stopped(store: Store) -> None:
    links = _new_raters(store, 2)
    assert isinstance(links, Generator)
    next(links)
    links.close()  # The link was not printed.
    assert len(list(_new_raters(store, 3))) == 2
    assert {person.name for person in store.people()} == {"rater-1", "rater-2", "rater-3"}


def test_a_date_beside_a_pair_is_kept(store: Store, tmp_path: Path) -> None:
    row = {"unit": "q1", "a": "x", "b": "y", "text_a": "Yes.", "text_b": "No."}
    frame = pl.DataFrame([{**row, "day": date(2026, 1, day)} for day in (1, 2)])
    found = []
    for n in range(2):
        frame[[n]].write_parquet(tmp_path / "pairs.parquet")
        found.append(read_rated(tmp_path / "pairs.parquet"))
    assert fingerprint(found[0]) != fingerprint(found[1])
    job = RateJob(found[0])
    Rater(store, job, tmp_path / "out", "ann").rate(lambda _: 1)
    [rated] = rows(tmp_path / "out" / "comparisons.csv")
    assert rated["day"] == "2026-01-01"
    write_task(job, tmp_path / "crowd", people=1)
    assert '"day": "2026-01-01"' in (tmp_path / "crowd" / "key.json").read_text()


@pytest.mark.usefixtures("served")
def test_nobody_is_added_whose_link_is_not_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], call: Callable[..., str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pairs.csv").write_text("unit,a,b,text_a,text_b\nq1,x,y,Yes.,No.\n", encoding="utf-8")
    command = ("annotate", "rate", "pairs.csv", "--file", "r.db", "-o", "out")
    with pytest.raises(SystemExit):
        main([*command, "--host", "0.0.0.0"])  # noqa: S104 - which is refused
    assert "TLS" in capfd.readouterr().err
    assert "rater-1: " in call(*command)
    Path("pairs.csv").write_text("unit,a,b,text_a,text_b\nq1,x,y,Yes.,No!\n", encoding="utf-8")
    with pytest.raises(SystemExit):
        main([*command])
    assert "r.db: was begun with another table" in capfd.readouterr().err


def test_the_command_compares_pairs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Callable[..., str], served: list[RateJob]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pairs.csv").write_text("unit,a,b,text_a,text_b\nq1,x,y,Yes.,No.\n", encoding="utf-8")
    said = call("annotate", "rate", "pairs.csv", "--file", "r.db", "-o", "out")
    assert said.startswith("1 pair to rate, in random order for each person; sides are random too.\n")
    assert "next: attune-bench rank out/comparisons.csv\n" in said
    assert served[0].scale is None


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "Name a --metric, or give a range, such as --range 0 1"),
        (("--range", "1", "1"), "ratings from 1 to 1 are no scale"),
        (("--metric", "warmth"), "--metric 'warmth' is not known here"),
        (("--metric", "emotion_f1", "--range", "0", "1"), "--metric says the range"),
        (("--data", "demo"), "give --results too"),
        (("--results", "demo"), "give --data"),
        (("--results", "demo", "--texts", "sheet.csv"), "given twice"),
        (("--drawn", "pairs.csv", "--range", "0", "1"), "compared without a scale"),
    ],
)
def test_a_wrong_command_is_told(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    options: tuple[str, ...],
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sheet.csv").write_text("model,unit,text\nlarge,q1,Yes.\n", encoding="utf-8")
    Path("pairs.csv").write_text("unit,a,b,text_a,text_b\nq1,x,y,Yes.,No.\n", encoding="utf-8")
    drawn, given = (options[1], options[2:]) if "--drawn" in options else ("sheet.csv", options)
    with pytest.raises(SystemExit) as ended:
        main(["annotate", "rate", drawn, "--file", "r.db", "-o", "out", *given])
    assert ended.value.code
    assert said in " ".join(capfd.readouterr().err.split())
    assert not Path("r.db").exists()
