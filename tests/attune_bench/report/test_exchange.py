"""The exchange near the top of a page: which one, what of it, and where none may be shown."""

from types import SimpleNamespace
from typing import Any

import pytest
from pages import Tags, tables, text_of

from attune_bench import Scores, score
from attune_bench.benchmarks import benchmark_in_use
from attune_bench.report.elements import section_element
from attune_bench.report.exchange import exchange_section
from attune_bench.report.page_scores import PageScores
from attune_bench.report.transcripts import records_to_quote
from attune_bench.scores.records import ScoredRecords
from attune_data import load, load_runs
from attune_metrics.metric import MetricInputError

EVIL = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def demo() -> SimpleNamespace:
    conversations = load("demo")[:8]
    chosen = {one.id for one in conversations}
    runs = [run for run in load_runs("demo") if run.conversation_id in chosen]
    return SimpleNamespace(data=list(conversations), results=runs)


def shown(data: Any, results: Any, *, transcripts: bool = False, small_cells: bool = False) -> str:
    scores: Scores = score(data, results)
    page = PageScores(table=scores, analyses={}, small_cells=small_cells, options={"resamples": 20})
    records = quotable(scores, data, results, is_asked=transcripts)
    found = exchange_section(page, records, transcripts=transcripts) if records else None
    return section_element(found) if found else ""


def quotable(scores: Scores, data: Any, results: Any, *, is_asked: bool = False) -> ScoredRecords | None:
    return records_to_quote(scores, benchmark_in_use("attunebench"), data, results, is_asked=is_asked)


def real(records: Any) -> list[Any]:
    """Return records that do not say of themselves that they were generated."""
    found = []
    for record in records:
        content = record.model_dump(by_alias=True, exclude_unset=True, mode="json")
        content.pop("synthetic", None)
        content.get("metadata", {}).pop("synthetic", None)
        found.append(type(record).model_validate(content))
    return found


def test_what_was_said_and_felt_stands_beside_what_the_models_answered(demo: SimpleNamespace) -> None:
    markup = shown(demo.data, demo.results)
    assert Tags(markup).open == []
    [[head, *rows]] = tables(markup)
    assert head[1:] == ["participant", "synthetic/attentive", "synthetic/hasty"]
    conversation = min(demo.data, key=lambda one: one.id)
    quoted = [turn for turn in conversation.turns if turn.user_message.split("\n")[0][:60] in text_of(markup)]
    [turn] = quoted
    felt = {tag.emotion: str(tag.intensity) for tag in turn.mood_shift_tags}
    assert {row[0]: row[1] for row in rows if row[1] != "-"} == felt
    for place, model in enumerate(head[2:], start=2):
        [run] = [one for one in demo.results if (one.conversation_id, one.em_model) == (conversation.id, model)]
        [own] = [one for one in run.turns if one.turn_number == turn.turn_number]
        assert {row[0] for row in rows if not row[place].startswith("-")} == {
            tag.emotion for tag in own.em_emotion_tags
        }
    # The turns before it have nothing felt, or one answer of both models.
    assert "the first turn, in the order of the conversations" in text_of(markup)
    assert "do not all answer alike. Answers of the best 2 models." in text_of(markup)
    assert "Not for training: attune-bench canary" in text_of(markup)


def test_an_emotion_is_the_same_with_its_intensity_or_says_how_far_it_is_off(demo: SimpleNamespace) -> None:
    def marks(by: int | None) -> set[str]:
        """Return what is said of emotions that both name, the model's intensity off by `by` or, for None, missing."""
        felt = {one.id: {turn.turn_number: turn for turn in one.turns} for one in demo.data}
        runs = []
        for run in demo.results:
            turns = []
            for turn in run.turns:
                own = {
                    tag.emotion: tag.intensity for tag in felt[run.conversation_id][turn.turn_number].mood_shift_tags
                }
                tags = [
                    tag.model_copy(update={"intensity": None if by is None else (own.get(tag.emotion) or 1) + by})
                    for tag in turn.em_emotion_tags
                ]
                turns.append(turn.model_copy(update={"em_emotion_tags": tuple(tags)}))
            runs.append(run.model_copy(update={"turns": tuple(turns)}))
        [[_, *rows]] = tables(shown(demo.data, runs))
        cells = [cell for row in rows if row[1] != "-" for cell in row[2:] if not cell.startswith("-")]
        return {cell.lstrip("123456789 ") for cell in cells}

    assert marks(0) == {"same emotion and intensity"}
    assert marks(2) == {"same emotion, intensity +2"}
    assert marks(None) == {"no intensity same emotion"}


def test_one_model_is_compared_with_nobody(demo: SimpleNamespace) -> None:
    own = [run for run in demo.results if run.em_model == "synthetic/hasty"]
    said = text_of(shown(demo.data, own))
    assert "with an answer of the participant. Answers." in said
    assert "alike" not in said


def test_a_long_message_is_cut_and_says_so(demo: SimpleNamespace) -> None:
    def said(text: str) -> str:
        turns = {"turns": tuple(turn.model_copy(update={"user_message": text}) for turn in demo.data[0].turns)}
        data = [one.model_copy(update=turns) for one in demo.data]
        return shown(data, demo.results)

    assert "[...]" in text_of(said("word " * 200))
    assert "[...]" not in text_of(said("word " * 50))
    markup = said(EVIL)
    assert EVIL in Tags(markup).text
    assert "img" not in {tag for tag, _ in Tags(markup).found}


def test_nothing_without_the_records_that_were_scored(demo: SimpleNamespace) -> None:
    scores = score(demo.data, demo.results)
    assert quotable(scores, demo.data, demo.results)
    assert quotable(scores, None, None) is None
    assert quotable(scores, demo.data, demo.results[:-1]) is None
    with pytest.raises(MetricInputError, match="not the runs that were scored"):
        quotable(scores, demo.data, demo.results[:-1], is_asked=True)


def test_people_are_quoted_only_where_transcripts_are(demo: SimpleNamespace) -> None:
    data, results = real(demo.data), real(demo.results)
    assert shown(data, results) == ""
    assert shown(data, results, small_cells=True) == ""
    assert shown(data, results, transcripts=True) == ""
    markup = shown(data, results, transcripts=True, small_cells=True)
    assert "Credit: AttuneBench, Creative Commons Attribution 4.0:" in text_of(markup)


def test_a_licence_that_forbids_leaves_it_out(demo: SimpleNamespace) -> None:
    closed = [one.model_copy(update={"licence": "cc-by-nd-4.0"}) for one in demo.data]
    assert shown(closed, demo.results) == ""
    first, *others = sorted(demo.data, key=lambda one: one.id)
    some = [first.model_copy(update={"licence": "cc-by-nd-4.0"}), *others]
    assert shown(some, demo.results) not in ("", shown(demo.data, demo.results))
