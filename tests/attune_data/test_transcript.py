"""A conversation in a terminal and in a notebook: one line, a transcript with its annotations, HTML."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from notebook_pages import Page
from slow_cases import slow_except
from terminals import show_on_terminal

from attune_data import Collection, Conversation, Conversations, Issue, Run, Runs, load
from attune_data.kinds import CONVERSATION
from attune_data.text import width

Json = dict[str, Any]

transcript = CONVERSATION.transcript

EVIL = "<img src=x onerror=alert(1)>\x1b[31m\u202e{0}%s"

RECORD: Json = {
    "conversationId": "c1",
    "metadata": {"model": "om-1", "category": "Work", "subtopic": "Team"},
    "participant_profile": {
        "participant_id": "P1",
        "demographics": {"age_range": "25-34", "diagnoses": ["ADHD", "Migraine"]},
        "computed_scores": {"who_5": 15, "promis_sleep_t": 43.8},
        "conversation_topic_attitude": "Mixed/Conflicted",
    },
    "prePanas": {"totalPositiveAffect": 20, "responses": {"proud": 2, "upset": 4}},
    "postPanas": {"totalPositiveAffect": 31, "responses": {"proud": 5, "calm": 3}},
    "conversationWideQuestions": {"q1_lookingFor": ["Other"], "fourBranchScores": {"perceiving": 6, "managing": 2}},
    "turns": [
        {
            "turnNumber": 1,
            "userMessage": "They moved my desk again.\n\nTo the hall.",
            "llmResponse": "That is a lot of moving for one week, and nobody asked.",
            "moodShiftTags": [{"emotion": "Upset", "intensity": 6}, {"emotion": "Alert", "intensity": None}],
            "annotations": {
                "binaryJudgements": [
                    {"questionId": "B13", "observedBehavior": "no", "preferredBehavior": "yes"},
                    {"questionId": "B1", "observedBehavior": "yes", "preferredBehavior": "yes", "llmValue": "no"},
                    {"questionId": "B3", "observedBehavior": "yes", "preferredBehavior": "yes"},
                    {"questionId": "B14", "observedBehavior": "no", "preferredBehavior": "no"},
                    {"questionId": "B18", "observedBehavior": "na", "preferredBehavior": "na"},
                    {"questionId": "X9", "observedBehavior": None, "preferredBehavior": "no", "llmValue": "yes"},
                ],
                "alternateResponses": {"llmImproved": "Again!", "humanEdited": None},
                "pairwiseComparisons": [
                    {"questionId": "general", "responseA": "original", "responseB": "alternate", "winner": "B"},
                    {"questionId": "general", "responseA": "alternate", "responseB": "human", "winner": "A"},
                    {"questionId": "PW4", "responseA": "human", "responseB": "original", "winner": None},
                ],
            },
        }
    ],
}

# Laid out by hand: labels in 14 columns after 2, everything within 60; wins are B (alternate), A (alternate), none.
TEXT = """\
Conversation c1
  topic         Work: Team
  attitude      Mixed/Conflicted
  model         om-1
  participant   P1, 25-34
  diagnoses     ADHD, Migraine (in groups ADHD, other)
  scores        who_5 15 of 0-25: screen-negative (positive
                  below 13)
                promis_sleep_t 43.8 of 32-73.3: within
                  normal limits

Felt: emotions with intensity, 1-7; original: what the model
answered; alternate: the answer as a model improved it;
human: the answer as the participant edited it; preferred:
how often each response was chosen; unwanted: done, though
not wanted; missed: wanted, but not done; as wanted: wanted
and done; avoided: neither wanted nor done; n/a: not
applicable.

TURN 1 -----------------------------------------------------

Participant
  They moved my desk again.

  To the hall.

Model (original)
  That is a lot of moving for one week, and nobody asked.

  felt          Upset 6, Alert
  alternate     Again!
  preferred     alternate 2, original 0, human 0
  choices       general: Overall, which of the two responses
                  to your message do you prefer? alternate
                  over original, alternate over human
                PW4: Which of the two responses to your
                  message is more supportive? no choice of
                  human and original
  missed        B13: Does the response ask a follow-up
                  question about your message?
  as wanted     B1 (a model said no): Does the response
                  acknowledge the emotion expressed in your
                  message?
                B3: Does the response mirror at least one
                  concrete detail from your message?
  avoided       B14: Does the response pass moral judgement
                  on you or on anything in your message?
  n/a           B18: If your message calls for it, does the
                  response address safety?
  other         observed not answered, preferred no: X9 (a
                  model said yes)

THE CONVERSATION AS A WHOLE --------------------------------

  looking for   Other
  branches      perceiving 6, managing 2

PANAS, before->after
  positive      total 20->31: proud 2->5
  negative      upset 4->-
  other         calm -->3"""


def _conversation(**changes: Any) -> Conversation:
    return Conversation.model_validate(RECORD | changes)


def test_transcript() -> None:
    assert transcript(_conversation(), 60) == TEXT


def test_scores_say_what_cut_offs_and_bands_say_of_them() -> None:
    scores = {"asrs_6": 4, "who_5": 12, "aq_10": 11, "promis_anxiety_t": 70, "tipi_openness": 10}
    text = transcript(_conversation(participant_profile={"participant_id": "P1", "computed_scores": scores}), 100)
    for said in (
        "asrs_6 4 of 0-6: screen-positive (positive from 4)", "who_5 12 of 0-25: screen-positive (positive below 13)",
        "aq_10 11 of 0-10", "promis_anxiety_t 70 of 40.3-81.6: severe", "tipi_openness 10 of 2-14",
    ):  # fmt: skip
        assert re.search(rf"{re.escape(said)}$", text, re.MULTILINE)


@pytest.mark.parametrize("columns", slow_except([40, 60, 80, 100], 40, 100))
def test_transcripts_keep_to_their_width(columns: int) -> None:
    for conversation in [*load("demo")[:5], _conversation()]:
        assert max(map(width, transcript(conversation, columns).splitlines())) <= columns


def test_a_bare_conversation() -> None:
    conversation = Conversation(conversation_id="c1")
    assert (repr(conversation), transcript(conversation, 60)) == ("<Conversation c1: 0 turns>", "Conversation c1")


def test_print_wraps_at_the_width_of_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    # What is no terminal has 100 columns, whatever the machine says.
    monkeypatch.setenv("COLUMNS", "60")
    assert str(_conversation()) == transcript(_conversation(), 100)
    show_on_terminal(monkeypatch, 60)
    assert str(_conversation()) == transcript(_conversation(), 60)
    show_on_terminal(monkeypatch, 500)
    assert str(_conversation()) == transcript(_conversation(), 100)


def test_one_line() -> None:
    assert repr(_conversation()) == "<Conversation c1: Work, 1 turn, om-1>"
    run = Run.model_validate({"conversationId": "c1", "em_model": "v/m", "mode": "default", "turns": []})
    assert repr(run) == str(run) == "<Run c1/v/m/default: 0 turns, incomplete>"
    assert repr(run.model_copy(update={"em_model": "\x1b\n"})) == "<Run c1/\ufffd\ufffd/default: 0 turns, incomplete>"


def test_showing_changes_nothing() -> None:
    conversation, before = _conversation(), _conversation()
    assert conversation._repr_html_()
    assert str(conversation)
    assert (conversation, conversation.to_json()) == (before, before.to_json())


# HTML.


CLOSED = {"observedBehavior", "preferredBehavior", "llmValue", "responseA", "responseB", "winner"}


def _evil(value: Any) -> Any:
    """Return a record with the same markup after every text of free content and every PANAS word."""
    if isinstance(value, dict):
        changed = {key: item if key in CLOSED else _evil(item) for key, item in value.items()}
        if "responses" in changed:
            changed["responses"] = {f"{word}{EVIL}": rating for word, rating in changed["responses"].items()}
        return changed
    if isinstance(value, list):
        return [_evil(item) for item in value]
    return f"{value}{EVIL}" if isinstance(value, str) else value


def _evils(value: Any) -> Iterator[str]:
    if isinstance(value, str) and value.endswith(EVIL):
        yield value
    for item in [*value, *value.values()] if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _evils(item)


def test_html_has_every_annotation() -> None:
    page = Page(_conversation()._repr_html_())
    assert page.open == []
    shown = " ".join(page.text.split())
    turn = RECORD["turns"][0]
    for judgement in turn["annotations"]["binaryJudgements"]:
        assert judgement["questionId"] in shown
    for text in ("Upset 6", "alternate over human", "no choice of human and original", "Again!", "proud 2->5"):
        assert text in shown
    assert turn["userMessage"] in page.text  # with its line breaks


def test_texts_of_a_conversation_are_escaped() -> None:
    record = _evil(RECORD)
    page = Page(Conversation.model_validate(record)._repr_html_())
    assert page.open == []
    assert "img" not in page.tags
    assert page.attributes == {"class", "dir"}
    texts = list(_evils(record))
    assert len(texts) > 20
    for text in texts:
        assert text.replace("\x1b", "\ufffd").replace("\u202e", "\ufffd") in page.text


def test_texts_drive_no_terminal() -> None:
    text = transcript(Conversation.model_validate(_evil(RECORD)), 80)
    assert all(character.isprintable() or character == "\n" for character in text)
    assert "{0}%s" in text


@pytest.mark.parametrize("what", ["conversations", "runs"])
def test_texts_of_a_collection_are_escaped(what: str) -> None:
    issue = Issue(EVIL, EVIL, "a-rule", "warning", EVIL, EVIL, EVIL)
    collections: dict[str, Callable[[], Collection[Any]]] = {
        "conversations": lambda: Conversations([Conversation.model_validate(_evil(RECORD))], [issue], filters=[EVIL]),
        "runs": lambda: Runs([Run(conversation_id=EVIL, em_model=EVIL, mode="default")], [issue], filters=[EVIL]),
    }
    page = Page(collections[what]()._repr_html_())
    assert page.open == []
    assert "img" not in page.tags
    assert page.attributes == {"class", "dir"}
    assert page.text.count("onerror") >= {"conversations": 5, "runs": 3}[what]


def test_a_collection_shows_its_first_ten() -> None:
    demo = load("demo")
    page = Page(demo.where(category=["Family", "Health"])._repr_html_())
    assert page.tags.count("tr") == 1 + 10
    assert "14 conversations, 8 participants, no issues" in page.text
    assert "category=Family or Health" in page.text
    assert "and 4 more" in page.text
    assert "more" not in Page(demo[:10]._repr_html_()).text
    assert Page(Conversations(())._repr_html_()).text.strip() == "0 conversations, no issues"


def test_pages_fetch_nothing_and_style_only_themselves() -> None:
    page = load("demo")[0]._repr_html_()
    assert not re.search(r"https?:|url\(|@import|<script|<link", page)
    style = page[page.index("<style>") + 7 : page.index("</style>")]
    for selectors in re.findall(r"([^{}]+)\{", style):
        for selector in selectors.split(","):
            assert selector.strip().startswith(".attune")
