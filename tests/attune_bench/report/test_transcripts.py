"""Transcripts on a page: which results are shown, what is withheld and why, and that texts stay texts."""

import re
from os import fsdecode
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import unquote

import polars as pl
import pytest
from pages import Tags, text_of

from attune_bench import BENCHMARKS, Scores, score
from attune_bench.benchmarks import benchmark_in_use
from attune_bench.report import transcripts
from attune_bench.report.columns import Section
from attune_bench.report.elements import section_element
from attune_bench.report.page_scores import PageScores
from attune_bench.report.transcripts import TranscriptFolder, records_to_quote, transcript_section
from attune_data import Conversation, Run, load, load_records, load_runs
from attune_data.display import Compared, Part, fields_parts, parts_html
from attune_data.kinds import ANSWER, CONVERSATION, ITEM, PREDICTION, QUESTION
from attune_data.references import resolve
from attune_metrics.metric import MetricInputError

EVIL = "<img src=x onerror=alert(1)>{0}%s</details></section>"


def made(scores: Scores, *, small_cells: bool = False, folder: TranscriptFolder | None = None, **given: Any) -> Section:
    """Return the section of transcripts."""
    page = PageScores(table=scores, analyses={}, small_cells=small_cells, options={"resamples": 20})
    benchmark = benchmark_in_use(scores.provenance.benchmark)
    records = records_to_quote(scores, benchmark, given.get("data"), given.get("results"), is_asked=True)
    assert records
    return transcript_section(page, records, folder)


@pytest.fixture(scope="module")
def demo() -> SimpleNamespace:
    conversations, runs = load("demo"), load_runs("demo")
    return SimpleNamespace(scores=score(conversations, runs), data=conversations, results=runs)


@pytest.fixture(scope="module")
def few(demo: SimpleNamespace) -> SimpleNamespace:
    """Conversations of which each model's best and worst are nearly all."""
    data = demo.data[:8]
    runs = [run for run in demo.results if run.conversation_id in {one.id for one in data}]
    return SimpleNamespace(scores=score(data, runs), data=data, results=runs)


@pytest.fixture(scope="module")
def markup(demo: SimpleNamespace) -> str:
    return section_element(made(demo.scores, data=demo.data, results=demo.results))


@pytest.mark.parametrize(
    "benchmark",
    [
        pytest.param(one, marks=pytest.mark.slow if one.name in ("attunebench", "eibench") else ())
        for one in BENCHMARKS
        if one.row  # A score of answers judged in pairs is of no single result.
    ],
    ids=lambda one: one.name,
)
def test_every_benchmark_shows_its_records(benchmark: Any) -> None:
    sides = [side for side in ("data", "results") if getattr(benchmark, side)]
    given = {side: load_records("demo", resolve(getattr(benchmark, side))) for side in sides}
    if benchmark.name == "eibench":  # Each scenario has a figure.
        given["data"] = given["data"][:6]
        given["results"] = [one for one in given["results"] if one.scenario_id in given["data"]]
    if benchmark.name == "sage":  # Likewise.
        chosen = sorted({one.scenario_id for one in given["results"]})[:6]
        given["results"] = [one for one in given["results"] if one.scenario_id in chosen]
    scores = score(*given.values(), benchmark=benchmark.name)
    markup = section_element(made(scores, **given))
    tags = Tags(markup)
    assert tags.open == []
    for model in scores.models:
        assert model in text_of(markup)
    # Three of the best and three of the worst of each model, each with a link to it.
    links = [str(found["href"]) for tag, found in tags.found if tag == "a"]
    assert len(links) == 6 * len(scores.groups)
    assert {link.removeprefix("#") for link in links} <= {found.get("id") for _, found in tags.found}


@pytest.mark.slow
def test_the_best_and_the_worst_of_each_model(demo: SimpleNamespace, markup: str) -> None:
    for model in demo.scores.models:
        rows = sorted(demo.scores.values.filter(model=model).select("composite_score", "unit").rows())
        own = text_of(markup).partition(f" {model} best ")[2]
        best, _, worst = own.partition(" worst ")
        expected = [[f"{value:.2f} {unit}" for value, unit in part] for part in (rows[-3:][::-1], rows[:3])]
        assert best.startswith(" ".join(expected[0]))
        assert worst.startswith(" ".join(expected[1]))


def test_of_equal_results_the_first_by_name_are_shown() -> None:
    items, predictions = load_records("demo", ITEM), load_records("demo", PREDICTION)
    scores = score(items, predictions, benchmark="emobench")
    text = text_of(section_element(made(scores, data=items, results=predictions)))
    for model in scores.models:
        rows = scores.values.filter(model=model).select(pl.col(scores.primary), "unit").rows()
        lowest = sorted(rows)[:3]
        assert [value for value, _ in lowest] != [value for value, _ in sorted(rows)[-3:]]
        listed = " ".join(f"{100 * value:.1f} {unit}" for value, unit in lowest)
        assert text.partition(f" {model} best ")[2].partition(" worst ")[2].startswith(listed)


def test_few_results_are_shown_once(demo: SimpleNamespace) -> None:
    chosen = {one.id for one in demo.data[:5]}
    data, runs = demo.data[:5], [run for run in demo.results if run.conversation_id in chosen]
    text = text_of(section_element(made(score(data, runs), data=data, results=runs)))
    own = text.partition(" synthetic/hasty best ")[2]
    best, _, worst = own.partition(" worst ")
    # Of five, three are among the best and the other two among the worst.
    assert len(re.findall(r"\d\d\.\d\d [0-9a-f]{8}-", best)) == 3
    assert len(re.findall(r"\d\d\.\d\d [0-9a-f]{8}-", worst.partition(" one of ")[0])) >= 2


def test_agreement_is_that_of_the_scores(demo: SimpleNamespace) -> None:
    run = demo.results[0]
    conversation, model = demo.data[run.conversation_id], run.em_model
    assert CONVERSATION.beside is not None
    text = text_of("".join(parts_html(CONVERSATION.beside(conversation, [run]), "participant")))
    row = demo.scores.values.filter(model=model, unit=conversation.id)
    for heading, metric in (
        ("Did the response do it?", "avg_binary_om_accuracy"),
        ("Would the participant have wanted it?", "avg_binary_human_accuracy"),
        ("Which of two responses is preferred?", "avg_pairwise_accuracy"),
    ):
        shares = re.findall(rf"{re.escape(heading)} (\d+) of (\d+) the same", text)
        assert len(shares) == len(conversation.turns)
        mean = sum(int(same) / int(asked) for same, asked in shares) / len(shares)
        assert mean == pytest.approx(row[metric].item(), abs=1e-12)
    hits = re.findall(r"Emotions, intensity 1-7 (\d+) of (\d+) predicted", text)
    rates = [int(hit) / int(felt) for hit, felt in hits if int(felt)]
    # A turn without an emotion scores 1 where none was predicted, else 0.
    rates += [1.0] * text.count("none felt, none predicted") + [0.0] * sum(felt == "0" for _, felt in hits)
    assert sum(rates) / len(rates) == pytest.approx(row["avg_emotion_hit_rate"].item(), abs=1e-12)


def test_records_without_parts_of_their_own_are_shown_field_by_field() -> None:
    question, answer = load_records("demo", QUESTION)[0], load_records("demo", ANSWER)[0]
    assert [*(answer.model_extra or {})] == ["temperature"]
    said, known = (text_of("".join(parts_html(fields_parts(one, extra=False)))) for one in (answer, question))
    asked = question.reference_answer_fullscale
    assert f"emotion1: {asked.emotion1}" in known
    assert " ".join(answer.raw_inference.split()) in said
    rated = answer.respondent_answers.first_pass
    assert "first_pass: " + "; ".join(f"{emotion}: {score}" for emotion, score in rated.items()) in said
    # Nobody said what a key is that the class does not name.
    assert "temperature" not in said
    assert "temperature" in text_of("".join(parts_html(fields_parts(answer))))


def test_agreement_is_said_in_words() -> None:
    rows = [
        Compared("a", "yes", ["yes"], [True]),
        Compared("b", "yes", [""], [False]),
        Compared("c", "na", ["no"], [None]),
    ]
    said = text_of("".join(parts_html([Part(title="Asked", rows=rows, opened=True)], "participant")))
    assert said == (
        "Asked 1 of 2 the same asked participant model agreement a yes yes ✓ same b yes - ✗ differs c na no not scored"
    )


@pytest.mark.slow
def test_texts_are_texts() -> None:
    conversations, runs = load("demo"), load_runs("demo")
    evil = [
        one.model_copy(update={"turns": tuple(turn.model_copy(update={"user_message": EVIL}) for turn in one.turns)})
        for one in conversations
    ]
    named = [run.model_copy(update={"em_model": EVIL}) for run in runs if run.em_model == "synthetic/hasty"]
    markup = section_element(made(score(evil, named), data=evil, results=named))
    tags = Tags(markup)
    assert "img" not in {tag for tag, _ in tags.found}
    assert tags.open == []
    assert EVIL in tags.text


def test_nothing_of_the_participant_but_what_was_said(demo: SimpleNamespace, markup: str) -> None:
    said = text_of(markup)
    for conversation in demo.data:
        person = conversation.participant_profile
        assert str(person.participant_id) not in said
    assert demo.data[0].turns[0].user_message.split("\n")[0][:40] in said
    countries = {one.participant_profile.demographics.country for one in demo.data}
    shown = {name for name in countries if name and re.search(rf"\b(from|country) {name}\b", said)}
    assert shown == set()


# What is withheld.


def licensed(conversations: Any, licence: str, count: int) -> list[Conversation]:
    """Return conversations of which some state a licence."""
    return [
        one.model_copy(update={"licence": licence}) if place < count else one for place, one in enumerate(conversations)
    ]


@pytest.mark.parametrize(
    ("licence", "why"),
    [
        ("cc-by-nd-4.0", "cc-by-nd-4.0 allows nothing but the unchanged work"),
        pytest.param(
            "all rights reserved",
            'it states the licence "all rights reserved", which is not in the codebook',
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_licence_that_forbids_is_said_and_nothing_is_shown(demo: SimpleNamespace, licence: str, why: str) -> None:
    closed = licensed(demo.data, licence, 38)
    scores = score(closed, demo.results)
    markup = section_element(made(scores, data=closed, results=demo.results))
    # Two models of 38 conversations.
    assert f"76 runs not shown: {why}" in text_of(markup)
    assert not [one.id for one in closed[:38] if one.id in markup]
    assert all(one.id in markup for one in closed[38:])
    every = licensed(demo.data, licence, 40)
    found = made(score(every, demo.results), data=every, results=demo.results)
    assert found.parts == ()
    assert found.left_out.startswith(f"80 runs not shown: {why}")


def real(record: Any) -> Any:
    """Return a record that does not say of itself that it was generated."""
    content = record.model_dump(by_alias=True, exclude_unset=True, mode="json")
    content.pop("synthetic", None)
    content.get("metadata", {}).pop("synthetic", None)
    return type(record).model_validate(content)


@pytest.fixture(scope="module")
def people(demo: SimpleNamespace) -> SimpleNamespace:
    """Conversations and runs that might be of people."""
    data, results = [real(one) for one in demo.data], [real(one) for one in demo.results]
    assert not any(one.synthetic for one in data)
    return SimpleNamespace(scores=score(data, results), data=data, results=results)


@pytest.mark.slow
def test_conversations_of_people_need_more_than_the_option(people: SimpleNamespace) -> None:
    found = made(people.scores, data=people.data, results=people.results)
    assert found.parts == ()
    why = "a transcript shows a single conversation of a person (--small-cells)"
    assert found.left_out == f"80 runs not shown: {why}"
    shown = section_element(made(people.scores, small_cells=True, data=people.data, results=people.results))
    text = text_of(shown)
    assert people.data[0].turns[0].user_message[:30] in shown or text.count("Turn 1") == 12
    assert "Credit: AttuneBench, Creative Commons Attribution 4.0:" in text
    assert "Licence of the texts: Creative Commons Attribution 4.0, the licence of AttuneBench." in text
    assert "Not for training: attune-bench canary" in text


def test_other_records_than_those_scored_are_refused(demo: SimpleNamespace) -> None:
    with pytest.raises(MetricInputError, match="not the runs that were scored"):
        made(demo.scores, data=demo.data, results=demo.results[:-1])
    changed = [demo.data[0].model_copy(update={"turns": ()}), *demo.data[1:]]
    with pytest.raises(MetricInputError, match="not the conversations that were scored"):
        made(demo.scores, data=changed, results=demo.results)
    with pytest.raises(MetricInputError, match="transcripts need what was scored"):
        made(demo.scores, data=demo.data)
    with pytest.raises(MetricInputError, match="and its transcripts need both"):
        made(demo.scores, results=demo.results)
    with pytest.raises(ValueError, match="and transcripts are for format='html'"):
        demo.scores.report(transcripts=True)


@pytest.mark.slow
def test_means_over_repeats_have_no_transcript(demo: SimpleNamespace) -> None:
    again: list[Run] = [run.model_copy(update={"repeat": 2}) for run in demo.results]
    runs = [*demo.results, *again]
    with pytest.raises(MetricInputError, match="means over repeats, which have no transcripts"):
        made(score(demo.data, runs), data=demo.data, results=runs)


# Beside the page.


@pytest.fixture
def no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcripts, "_MOST_INLINE", 0)


@pytest.mark.slow
@pytest.mark.usefixtures("no_room")
def test_what_is_too_large_goes_beside_the_page(few: SimpleNamespace) -> None:
    folder = TranscriptFolder(name="a b#?-transcripts", page="a b#?.html")
    markup = section_element(made(few.scores, folder=folder, data=few.data, results=few.results))
    links = [str(found["href"]) for tag, found in Tags(markup).found if tag == "a"]
    assert len(links) == 12
    for link in links:
        path, _, anchor = link.partition("#")
        place, _, name = unquote(path).partition("/")
        assert place == folder.name
        tags = Tags(folder.files[name])
        assert anchor in {found.get("id") for _, found in tags.found}
        assert tags.open == []
        policy = next(found["content"] for _, found in tags.found if found.get("http-equiv"))
        assert str(policy).startswith("default-src 'none'; ")
        assert [found["href"] for tag, found in tags.found if tag == "a"] == ["../a%20b%23%3F.html"]
    assert len(set(links)) == 12
    assert len(folder.files) == len({link.partition("#")[0] for link in links})
    assert few.data[0].turns[0].user_message[:30] not in text_of(markup)
    assert len(markup) < 10_000


@pytest.mark.slow
@pytest.mark.usefixtures("no_room")
def test_a_page_whose_name_is_no_text_has_links(demo: SimpleNamespace) -> None:
    name = fsdecode(b"\xff")
    folder = TranscriptFolder(name=f"{name}-transcripts", page=f"{name}.html")
    markup = section_element(made(demo.scores, folder=folder, data=demo.data, results=demo.results))
    assert 'href="%FF-transcripts/001-' in markup
    assert 'href="../%FF.html"' in next(iter(folder.files.values()))


@pytest.mark.usefixtures("no_room")
def test_without_a_folder_everything_is_on_the_page(few: SimpleNamespace) -> None:
    markup = section_element(made(few.scores, data=few.data, results=few.results))
    assert "-transcripts/" not in markup
    assert few.data[0].turns[0].user_message[:30] in text_of(markup)


def test_a_folder_of_earlier_transcripts_gives_way(tmp_path: Path) -> None:
    folder = TranscriptFolder(name="p-transcripts", page="p.html", files={"001-a.html": "new"})
    place = tmp_path / "p-transcripts"
    place.mkdir()
    (place / "001-a.html").write_text("old")
    (place / "002-b.html").write_text("old")
    folder.write(tmp_path)
    assert {path.name: path.read_text() for path in place.iterdir()} == {"001-a.html": "new"}
    assert [path.name for path in tmp_path.iterdir()] == ["p-transcripts"]


def test_earlier_transcripts_stay_where_the_new_cannot_take_their_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = TranscriptFolder(name="p-transcripts", page="p.html", files={"001-a.html": "new"})
    place = tmp_path / "p-transcripts"
    place.mkdir()
    (place / "002-b.html").write_text("old")
    rename = Path.rename

    def interrupted(path: Path, target: Path) -> Path:
        if path.name == place.name and path != place:  # the new one, where it was written
            raise KeyboardInterrupt
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        folder.write(tmp_path)
    assert {path.name: path.read_text() for path in place.iterdir()} == {"002-b.html": "old"}
    assert [path.name for path in tmp_path.iterdir()] == ["p-transcripts"]


def test_nobody_elses_folder_is_replaced(tmp_path: Path) -> None:
    folder = TranscriptFolder(name="p-transcripts", page="p.html", files={"001-a.html": "new"})
    place = tmp_path / "p-transcripts"
    place.mkdir()
    (place / "notes.txt").write_text("mine")
    with pytest.raises(FileExistsError, match=r"has notes\.txt, which is no transcript"):
        folder.write(tmp_path)
    assert [path.name for path in place.iterdir()] == ["notes.txt"]
    (place / "notes.txt").unlink()
    place.rmdir()
    place.symlink_to(tmp_path)
    with pytest.raises(FileExistsError, match="in the way"):
        folder.write(tmp_path)
