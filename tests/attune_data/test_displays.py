"""What a notebook shows of runs, tables and the codebook: in brief, and every text escaped."""

from typing import Any

import pytest
from notebook_pages import Page

from attune_data import Conversation, Run, load, load_codebook, load_runs, load_scenarios, show
from attune_data.attunebench.codebook import Codebook
from attune_data.display import entries_html, titled

EVIL = '<img src=x onerror="alert(1)">'


def test_a_run_in_brief() -> None:
    run = Run.model_validate(
        {
            "conversationId": "c1",
            "em_model": "vendor/model",
            "turns": [
                {
                    "turnNumber": 1,
                    "em_emotion_tags": [{"emotion": "Upset", "intensity": 6}],
                    "em_drafted_response": "I see.\nTell me.",
                    "em_binary_om_assessment": {"B1": "yes", "B7": "no", "B8": "yes", "B12": None},
                    "em_pairwise_selections": {"0": "A"},
                }
            ],
            "post_conversation": {"predicted_conversation_wide": {"q2_emotionClarity": "Implied or indirect"}},
        }
    )
    page = Page(run._repr_html_())
    assert page.open == []
    for text in (
        "Run c1/vendor/model/default",
        "Turn 1",
        "I see.\nTell me.",
        "Upset 6",
        "yes: B1, B8; no answer: B12; no: B7",
        "0: A",
        "Implied or indirect",
    ):
        assert text in page.text
    assert "wanted" not in page.text.partition("Answers, by question")[0]
    assert "The conversation as a whole" not in Page(Run(conversation_id="c", em_model="m")._repr_html_()).text


def test_texts_of_a_run_are_escaped() -> None:
    turn = {"turnNumber": 1, "em_drafted_response": EVIL, "em_binary_om_assessment": {EVIL: "yes"}}
    run = Run.model_validate({"conversationId": EVIL, "em_model": EVIL, "turns": [turn]})
    page = Page(run._repr_html_())
    assert (page.open, "img" in page.tags, page.attributes) == ([], False, {"class", "dir"})
    assert page.text.count(EVIL) >= 5


def test_tables_show_the_rows_and_columns_of_each() -> None:
    conversations = load("demo").where(category="Family")
    page = Page(conversations.tables._repr_html_())
    assert page.open == []
    assert "Asked for: category=Family" in page.text
    for name, frame in conversations.tables._frames():
        assert name in page.text
        assert f"{frame.height:,}" in page.text
        assert all(column in page.text for column in frame.columns)
    assert "Tables of 80 runs, 24 participants" in Page(load_runs("demo").joined(load("demo"))._repr_html_()).text
    assert "Tables of 16 scenarios" in Page(load_scenarios("demo").tables._repr_html_()).text


def test_the_codebook() -> None:
    book = load_codebook()
    assert repr(book) == str(book) == "<Codebook of 20 emotions, 36 yes/no questions, 17 comparing questions>"
    page = Page(book._repr_html_())
    assert page.open == []
    # Every table of it, with what each entry says.
    shown = {name for name in Codebook.model_fields if name != "issues"}
    assert all(f"{name.replace('_', ' ')}, {len(getattr(book, name))}" in page.text for name in shown)
    assert book.binary["B7"].text in page.text
    assert book.emotions["proud"].word in page.text
    assert "... (200)" in page.text


@pytest.mark.parametrize("entries", [{EVIL: "a"}, {"a": EVIL}, {"a": load_codebook().pairwise["PW1"]}])
def test_entries_are_escaped(entries: dict[str, Any]) -> None:
    page = Page(entries_html(EVIL, {EVIL: entries}, [EVIL]))
    assert (page.open, "img" in page.tags, page.attributes) == ([], False, {"class", "dir"})
    assert page.text.count(EVIL) >= 3


@pytest.mark.parametrize("columns", [40, 100])
def test_answers_that_do_not_fit_beside_each_other_stand_by_answer(columns: int) -> None:
    conversation = load("demo")[0]
    (first, second) = (run for run in load_runs("demo") if run.conversation_id == conversation.id)
    names = [f"m{place:02}" for place in range(20)]
    runs = [
        run.model_copy(update={"em_model": name}) for run, name in zip([first] * 10 + [second] * 10, names, strict=True)
    ]
    text = show(conversation, runs, columns=columns)
    assert max(map(len, text.splitlines())) <= columns
    assert all(f"  {place}  " in text for place in range(1, 21))
    # Of B206 the participant and the second run say yes, the first says no.
    asked = " ".join(text[text.index("B206 ") :].split()).partition("B11 ")[0]
    assert asked.endswith(
        "yes: participant, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20 no*: 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 "
    )


def test_a_result_alone_is_shown_as_in_a_list() -> None:
    conversation = load("demo")[0]
    run = load_runs("demo")[0]
    assert show(conversation, run, columns=80) == show(conversation, [run], columns=80)


def test_the_title_of_a_record_says_whether_it_was_generated() -> None:
    written, generated = (
        Conversation.model_validate({"conversationId": "c", "metadata": about}) for about in ({}, {"synthetic": True})
    )
    assert titled("conversation", written) == "Conversation c"
    assert titled("conversation", generated) == "Conversation c (synthetic)"
