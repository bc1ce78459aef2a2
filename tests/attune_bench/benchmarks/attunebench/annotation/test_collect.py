"""The job `collect`: from consent to a file that the benchmark takes, whatever fails in between."""

import json
import logging
import re
from collections.abc import Iterator
from hashlib import sha256
from io import StringIO
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

import pytest
from annotating import ORIGIN, Patient, Somebody
from commands import Call
from hub_server import TOKEN
from model_server import Json, ModelServer, reply
from reading import started

from attune_bench import score
from attune_bench.annotate import LOG
from attune_bench.annotate.app import Application
from attune_bench.annotate.guard import Limits
from attune_bench.annotate.store import Store
from attune_bench.benchmarks.attunebench.annotation.collect import Collect
from attune_bench.benchmarks.attunebench.annotation.study import EXAMPLE, read_study
from attune_bench.benchmarks.attunebench.annotation.talk import exchanges, responses
from attune_bench.benchmarks.attunebench.detail import records_of
from attune_data import Conversation, PublishError, Run, Runs, load, publish
from attune_data.licences import permitted

pytestmark = pytest.mark.slow

KEY = "sk-5f3a9c1b7e2d4a6f8c0b"
MESSAGES = ("I have quarrelled with <b>my</b> sister.", "She has not called for a week.")


def telling_run(one: Conversation) -> Run:
    """Return the run of a model that predicts everything as it was."""
    post, wide = one.post_panas, one.conversation_wide_questions
    turns = [
        {
            "turnNumber": turn.turn_number,
            "em_emotion_tags": [{"emotion": t.emotion, "intensity": t.intensity} for t in turn.mood_shift_tags],
            "em_binary_om_assessment": {j.question_id: j.observed_behavior for j in turn.annotations.binary_judgements},
            "em_binary_human_prediction": {
                j.question_id: j.preferred_behavior for j in turn.annotations.binary_judgements
            },
            "em_pairwise_selections": {
                str(place): c.winner for place, c in enumerate(turn.annotations.pairwise_comparisons)
            },
        }
        for turn in one.turns
    ]
    predicted = {
        "totalPositiveAffect": post.total_positive_affect,
        "totalNegativeAffect": post.total_negative_affect,
        "items": {word.title(): rating for word, rating in post.responses.items()},
    }
    answers = json.loads(wide.to_json())
    run = {
        "conversationId": one.id,
        "em_model": "seer",
        "turns": turns,
        "post_conversation": {"predicted_post_panas": predicted, "predicted_conversation_wide": answers},
    }
    return Run.model_validate(run)


def answered(body: Json) -> str:
    """Return the answer of a model: to a conversation, or an improved response."""
    asked = body["messages"][-1]["content"]
    return "That sounds painful; I am sorry." if "anew" in asked else f"You say: {asked[:60]}"


class Setting:
    """A study with a server of models, a file and people."""

    def __init__(self, folder: Path, server: ModelServer, **changes: str) -> None:
        text = EXAMPLE.read_text(encoding="utf-8").replace("http://localhost:8000/v1", server.url)
        for old, new in changes.items():
            assert old.replace("_is_", " = ") in text
            text = text.replace(old.replace("_is_", " = "), new)
        (folder / "study.toml").write_text(text, encoding="utf-8")
        self.folder, self.server, self.output = folder, server, folder / "conversations"
        self.open()

    def open(self) -> None:
        """Open the study, or open it again as after a kill."""
        self.store = Store.create(self.folder / "study.db", "collect", {})
        self.job = Collect(read_study(self.folder / "study.toml"), self.store)
        limits = Limits(per_link=10_000.0)  # No person is as fast as a test.
        self.app = Application(self.store, self.job, origin=ORIGIN, output=self.output, limits=limits)

    def somebody(self, **answers: Any) -> Somebody:
        _, self.secret = self.store.add_person(language="en")
        return Somebody(self.app.asgi, self.secret, **{"messages": MESSAGES, **answers})


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    monkeypatch.setenv("OPENAI_COMPATIBLE_API_KEY", KEY)
    with ModelServer(answer=answered) as one:
        yield one


@pytest.fixture
def log() -> Iterator[StringIO]:
    """Return what any logger says, at any level."""
    told = StringIO()
    handler = logging.StreamHandler(told)
    loggers = [logging.getLogger(), LOG, logging.getLogger("httpx2"), logging.getLogger("httpcore2")]
    levels = [one.level for one in loggers]
    for one in loggers:
        one.addHandler(handler)
        one.setLevel("DEBUG")
    yield told
    for one, level in zip(loggers, levels, strict=True):
        one.removeHandler(handler)
        one.setLevel(level)


@pytest.fixture
def setting(tmp_path: Path, server: ModelServer) -> Setting:
    return Setting(tmp_path, server)


@pytest.mark.usefixtures("hub")
def test_a_person_becomes_a_file_that_is_valid_and_scores(setting: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    person = setting.somebody(
        diagnoses=["ADHD", "Depression"],
        topic="Work",
        attitude="Anxious/Worried",
        q3_modelFit="Mixed, some good moments, some misses",
        **{"/screen/panas/after#Proud": "5"},
        **{"/screen/felt_off#text": "It repeated me\n\n It was cold ", "tags.Proud": "5", "tags.Upset": "felt"},
        **{"B11.observed": "no", "B4.preferred": "na", "winner": "B", "0": "6", "1": "6"},
        **{"/screen/turn/1/edited#text": "I would have wanted this."},
    )
    person.answer_all()
    [file, card] = sorted(setting.output.iterdir(), key=lambda path: path.suffix)
    assert (file.name, card.name) == ("conversation_1.json", "README.md")
    conversations = load(setting.output)
    assert conversations.issues.height == 0
    [one] = conversations
    record = json.loads(file.read_text(encoding="utf-8"))
    assert record["metadata"] == {
        "model": "MODEL", "category": "Work", "subtopic": "New role", "text": "Work: New role", "language": "en",
    }  # fmt: skip
    profile = record["participant_profile"]
    ids = [profile["participant_id"], record["conversationId"]]
    setting.app.export()
    again = json.loads(file.read_text(encoding="utf-8"))
    assert [again["participant_profile"]["participant_id"], again["conversationId"]] == ids
    assert profile["demographics"] == {
        "age_range": "18-24", "gender": "Female", "diagnoses": ["ADHD", "Depression"],
    }  # fmt: skip
    assert profile["computed_scores"] == {"tipi_extraversion": 8}  # 7, and 1 of the reversed item
    assert profile["conversation_topic_attitude"] == "Anxious/Worried"
    assert (one.pre_panas.total_positive_affect, one.post_panas.total_positive_affect) == (10, 14)
    assert one.conversation_wide_questions.q3_follow_up_what_felt_off == ("It repeated me", "It was cold")
    assert record["licence"] == "cc-by-4.0"
    first, second = one.turns
    assert (first.user_message, second.user_message) == MESSAGES
    assert first.llm_response == f"You say: {MESSAGES[0]}"
    assert [(tag.emotion, tag.intensity) for tag in first.mood_shift_tags] == [("Proud", 5), ("Upset", None)]
    judged = {j.question_id: (j.observed_behavior, j.preferred_behavior) for j in first.annotations.binary_judgements}
    assert (judged["B11"], judged["B4"], judged["B1"]) == (("no", "yes"), ("yes", "na"), ("yes", "yes"))
    assert first.responses["human"] == "I would have wanted this."
    assert second.responses["human"] == second.responses["alternate"] == "That sounds painful; I am sorry."
    for turn, count in ((first, 12), (second, 8)):  # In the second, two responses are the same text.
        compared = turn.annotations.pairwise_comparisons
        pairs = {(c.question_id, frozenset((c.response_a, c.response_b))) for c in compared}
        assert len(pairs) == len(compared) == count
        assert ({"alternate", "human"} in [pair for _, pair in pairs]) == (count == 12)
        assert {c.question_id for c in compared} == {"general", *turn.annotations.selected_pairwise_questions}
        assert {c.winner for c in compared} == {"B"}
    orders = [[(c.question_id, c.response_a) for c in turn.annotations.pairwise_comparisons] for turn in one.turns]
    assert orders[0] != orders[1]
    assert permitted(conversations, "cc-by-4.0")[1] == ()  # Published as the study's own, under its licence.
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    assert list(load(publish(conversations, "lab/data", licence="cc-by-4.0"))) == [one]
    with pytest.raises(PublishError, match=r"it is under cc-by-4\.0"):
        permitted(conversations, "mit")
    study, told = setting.job.study, card.read_text(encoding="utf-8")
    assert all(
        text in told for text in ("MODEL", "127.0.0.1", str(study.model.instruction), study.consent["en"].strip())
    )
    assert not any(message in told for message in MESSAGES)
    [scored] = records_of(score(conversations, Runs([telling_run(one)])))
    assert scored["composite_score"] == 100.0


@pytest.mark.parametrize("fit", ["Mostly well-matched", "Mostly off-target or intrusive"])
def test_the_share_that_is_done_never_falls(setting: Setting, fit: str) -> None:
    person = setting.somebody(topic="Work", q3_modelFit=fit)
    shares, said = [], []
    while person.place != "/done":
        shares.append(person.share)
        said.append(person.progress)
        person.answer()
    assert shares == sorted(shares)
    assert said[0] == "0 of at most 157"  # 12 pages or 13, and 18 of each of 8 messages
    assert said[-1] == ("40 of 41" if "off" in fit else "39 of at most 41")


def test_nothing_that_is_published_tells_the_id_beside_the_link(setting: Setting) -> None:
    setting.somebody().answer_all()
    [person] = setting.store.people()
    for path in setting.output.iterdir():
        assert person.id not in path.read_text(encoding="utf-8")
    [one] = load(setting.output)
    assert one.id != str(UUID(bytes=sha256(person.id.encode()).digest()[:16], version=4))
    answers = {key: one.value for key, one in setting.store.answers(person.id).items()}
    drawn = [*setting.job.comparisons(person, 1, responses(answers, 1)).values()]
    compared = [(c.question_id, c.response_a, c.response_b) for c in one.turns[0].annotations.pairwise_comparisons]
    assert compared == drawn
    # Who has the list of links could draw again, but for the secret in the file.
    setting.store.set_about("secret", "another")
    assert [*setting.job.comparisons(person, 1, responses(answers, 1)).values()] != drawn


def test_a_text_is_not_compared_with_itself(setting: Setting) -> None:
    setting.server._answer = lambda _body: "Yes."
    person = setting.somebody()
    person.answer_all()
    assert not any("pair" in place for place in person.seen)
    conversations = load(setting.output)
    assert conversations.issues.height == 0
    card = (setting.output / "README.md").read_text(encoding="utf-8")
    assert "Two responses that are the same text were not compared." in card
    assert [turn.annotations.pairwise_comparisons for turn in conversations[0].turns] == [(), ()]


def everything_stored(setting: Setting) -> bytes:
    """Return every byte of the file of the study, its log and what was exported."""
    files = [path for path in setting.folder.rglob("*") if path.is_file() and path.name != "study.toml"]
    return b"".join(path.read_bytes() for path in files)


def test_who_does_not_consent_leaves_nothing(setting: Setting) -> None:
    [person] = [setting.somebody(consent="no")]
    assert "127.0.0.1" in person.text  # where messages would be sent to
    before = setting.store.people()
    # Saved by a script at each click, or by the button Save, a refusal is not kept either.
    assert person.post(action="save", consent="no") == 200
    assert setting.store.answers(before[0].id) == {}
    assert person.answer() == 200
    assert "nothing of yours is stored" in person.text
    assert setting.store.people() == before
    assert setting.store.answers(before[0].id) == {}
    assert b"consent" not in everything_stored(setting)
    assert dict(person.client.cookies) == {}
    assert setting.server.calls == 0


def test_who_takes_consent_back_leaves_nothing(setting: Setting) -> None:
    person = setting.somebody(topic="Family")
    person.answer_until("/screen/attitude")
    person.open("/screen/consent").post(action="next", consent="no")
    assert "nothing of yours is stored" in person.text
    assert setting.store.people() == []
    assert b"Children" not in everything_stored(setting)
    assert dict(person.client.cookies) == {}
    again = person.client.get(f"/enter/{setting.secret}")
    assert again.status_code == 403
    assert "If your answers were deleted, the link has ended" in again.text


def test_before_consent_there_is_no_other_page(setting: Setting) -> None:
    person = setting.somebody()
    for place in ("participant", "talk", "panas/after", "turn/1/mood"):
        assert "There is no such page" in person.open(f"/screen/{place}").text


def test_a_wrong_answer_to_a_check_is_explained_and_lets_nobody_go_on(setting: Setting) -> None:
    person = setting.somebody(answer="No").answer_until("/screen/exercise/0")
    assert person.answer() == 422
    assert "It takes up the nervousness" in person.text
    person.answers["answer"] = "Yes"
    person.answer()
    assert person.place == "/screen/turn/1/mood"


def test_a_failed_call_is_told_and_repeated_and_the_message_is_kept(setting: Setting, log: StringIO) -> None:
    refused = reply("400 Bad Request", json.dumps({"error": {"message": f"about sisters, with the key {KEY}"}}))
    setting.server._fault = lambda number, _body: refused if number == 1 else None
    person = setting.somebody().answer_until("/screen/talk")
    assert person.post(action="send", message=MESSAGES[0]) == 422
    assert "No answer came. What you gave is saved" in person.text
    assert "quarrelled with <b>my</b>" in person.text
    assert "status 400" in log.getvalue()
    assert "sisters" not in log.getvalue()
    assert person.post(action="send") == 200
    assert f"You say: {MESSAGES[0]}" in person.text
    assert setting.server.bodies[0]["messages"] == setting.server.bodies[1]["messages"]


def test_an_empty_answer_is_none_and_half_a_character_spoils_no_answer(setting: Setting) -> None:
    said = [b'""', rb'"I see \ud83d."']
    choice = b'{"choices": [{"message": {"content": %s}, "finish_reason": "stop"}]}'
    setting.server._fault = lambda number, _body: reply("200 OK", (choice % said[number - 1]).decode())
    person = setting.somebody().answer_until("/screen/talk")
    assert person.post(action="send", message=MESSAGES[0]) == 422
    assert person.post(action="send") == 200
    assert "I see ?." in person.text


@pytest.mark.slow
def test_a_long_response_of_the_model_can_be_kept_as_it_is(tmp_path: Path, server: ModelServer) -> None:
    long = "It is hard. " * 500
    server._answer = lambda body: long if "anew" in body["messages"][-1]["content"] else "Yes."
    ann = Setting(tmp_path, server).somebody()
    ann.answer_until("/screen/turn/1/edited")
    assert ann.post(action="send") == 200
    assert ann.post(action="next") == 200
    assert ann.place != "/screen/turn/1/edited"
    assert long.strip() in ann.open("/screen/turn/1/edited").text


@pytest.mark.slow
def test_no_follow_up_after_a_model_that_fitted(setting: Setting) -> None:
    person = setting.somebody(q3_modelFit="Mostly off-target or intrusive").answer_until("/screen/felt_off")
    person.open("/screen/whole")
    person.answers["q3_modelFit"] = "Mostly well-matched"
    person.answer()
    assert person.place == "/done"
    assert load(setting.output)[0].conversation_wide_questions.q3_follow_up_what_felt_off == ()


@pytest.mark.slow
def test_people_read_the_language_that_they_choose_and_data_stay_the_same(setting: Setting) -> None:
    person = setting.somebody(topic="Work", gender="Another")
    person.client.post("/language", data={"language": "de"})
    person.open("/")
    assert "Bevor Sie beginnen" in person.text
    assert "inoffizielle Übersetzung" in person.text
    person.answer_until("/screen/topic")
    assert "Arbeit" in person.text
    person.answer_all()
    [one] = load(setting.output)
    assert (one.metadata.category, one.metadata.subtopic) == ("Work", "New role")
    assert one.participant_profile.demographics.gender == "Another"
    assert load(setting.output).issues.height == 0


def test_a_message_that_is_sent_twice_is_asked_about_once(setting: Setting) -> None:
    person = setting.somebody().answer_until("/screen/talk")
    older = person.page
    for _ in range(2):
        person.page = older
        person.post(action="send", message=MESSAGES[0])
    assert setting.server.calls == 1
    assert person.text.count("You say:") == 1


def test_a_message_that_is_not_sent_yet_is_kept_until_it_is_and_is_in_no_result(setting: Setting) -> None:
    person = setting.somebody(messages=("Sent at last.", *MESSAGES[1:])).answer_until("/screen/talk")
    person.post(action="back", message="A FIRST VERSION")
    again = Somebody(setting.app.asgi, setting.secret).open("/screen/talk")  # on another device
    assert again.form.texts == {"message": "A FIRST VERSION"}
    assert again.post(action="send", message="x" * 4001) == 422
    assert again.form.texts == {"message": "x" * 4001}
    person.open("/screen/talk").answer()
    assert (person.form.texts, "Sent at last." in person.text) == ({"message": ""}, True)
    # A browser that had no answer keeps the message that was sent.
    setting.store.save(setting.store.people()[0].id, "talk", {"message": "Sent at last."}, revision=2, done=False)
    assert person.open("/screen/talk").form.texts == {"message": ""}
    person.answer()
    person.post(ended="yes", message="NEVER SENT")
    person.answer_all()
    assert [turn.user_message for turn in load(setting.output)[0].turns] == ["Sent at last.", MESSAGES[1]]
    written = "".join(path.read_text(encoding="utf-8") for path in setting.output.iterdir())
    assert not any(text in written for text in ("A FIRST VERSION", "NEVER SENT"))


def test_a_conversation_ends_when_it_is_long_enough_and_then_stays(setting: Setting) -> None:
    person = setting.somebody().answer_until("/screen/talk")
    assert ("ended", "yes") not in person.form.buttons
    person.post(ended="yes")
    assert "can be ended after 2 of your messages" in person.text
    person.open("/screen/talk").post(action="send", message=" ")
    assert "Please write a message first" in person.text
    person.post(action="send", message="x" * 4001)
    assert "too long" in person.text
    for number in range(8):
        assert "message" in person.form.texts
        person.post(action="send", message=f"Message {number}")
    assert person.form.texts == {}  # the most messages
    person.post(ended="yes")
    assert person.place == "/screen/panas/after"
    for place in ("topic", "attitude", "panas/before", "talk"):
        person.open(f"/screen/{place}")
        assert not person.form.options
        assert not person.form.texts
        assert person.post(action="next") == 200
    saved = setting.store.answers(setting.store.people()[0].id)
    assert len(saved["panas/before"].value) == 20
    assert saved["talk"].value == {"ended": "yes"}


@pytest.mark.parametrize(("limit", "told"), [("person_is_0.5", "person = 0.0003"), ("study_is_10", "study = 0.0003")])
def test_a_limit_of_the_cost_ends_calls_also_after_a_kill(
    tmp_path: Path, server: ModelServer, limit: str, told: str, log: StringIO
) -> None:
    setting = Setting(tmp_path, server, **{limit: told})
    person = setting.somebody(messages=["Message"] * 8).answer_until("/screen/talk")
    sent = 0
    while person.answer() == 200:
        sent += 1
    assert 0 < sent < 8
    assert "No more answers can be paid for" in person.text
    assert f"[limits] {told} in the study file would be exceeded" in log.getvalue()
    calls, spent = server.calls, setting.store.about("cost")
    assert calls == sent
    price = sum(0.15 * 100 + 0.6 * (len(answered(body)) // 4) for body in server.bodies) / 1e6
    assert spent == pytest.approx(price)
    assert setting.store.answers(setting.store.people()[0].id)["cost"].value["usd"] == pytest.approx(price)
    setting.store.close()
    setting.open()
    again = Somebody(setting.app.asgi, setting.secret)
    assert again.open("/screen/talk").post(action="send") == 422
    assert server.calls == calls


def test_what_a_call_may_cost_is_noted_before_it_is_sent(tmp_path: Path, server: ModelServer) -> None:
    setting = Setting(tmp_path, server)
    noted: list[Any] = []
    server._fault = lambda _number, _body: noted.append(setting.store.about("cost"))
    person = setting.somebody().answer_until("/screen/talk")
    person.post(action="send", message=MESSAGES[0])
    assert noted[0] >= 400 * 0.6 / 1e6 > setting.store.about("cost")


@pytest.mark.slow
def test_the_key_of_the_model_is_nowhere(setting: Setting, log: StringIO) -> None:
    setting.server._answer = lambda _body: f"Your key is {KEY}, as sent."
    person = setting.somebody()
    pages = []
    for _ in range(200):
        if person.place == "/done":
            break
        person.answer()
        pages.append(person.page)
    assert person.place == "/done"
    assert "Your key is [redacted], as sent." in " ".join(pages)
    assert KEY.encode() in setting.server.headers
    for place in (" ".join(pages), log.getvalue(), everything_stored(setting).decode(errors="replace")):
        assert KEY not in place


@pytest.mark.slow
def test_people_go_on_where_they_were_after_a_kill(setting: Setting) -> None:
    person = setting.somebody().answer_until("/screen/talk")
    setting.store.save(setting.store.people()[0].id, "message/1", {"text": MESSAGES[0]}, revision=0, done=True)
    setting.open()  # killed between the message and its reply; nothing was closed
    again = Somebody(setting.app.asgi, setting.secret, messages=MESSAGES[1:])
    assert again.place == "/screen/talk"
    assert "The answer is not here yet" in again.text
    again.answer_all()
    [one] = load(setting.output)
    assert tuple(turn.user_message for turn in one.turns) == MESSAGES
    assert person.open("/").place == "/done"


@pytest.mark.slow
def test_a_withdrawal_deletes_the_file_and_no_other_takes_its_number(setting: Setting) -> None:
    first = setting.somebody(messages=["FIRST", "FIRST"])
    first.answer_all()
    first.client.post("/withdraw")
    assert list(setting.output.iterdir()) == []
    assert b"FIRST" not in everything_stored(setting)
    second = setting.somebody(messages=["SECOND", "SECOND"])
    second.answer_all()
    assert sorted(path.name for path in setting.output.iterdir()) == ["README.md", "conversation_2.json"]
    card = (setting.output / "README.md").read_text(encoding="utf-8")
    assert card.startswith("# Talking about what is on your mind\n\n1 conversation, each")
    assert "SECOND" not in card


def test_who_goes_back_to_another_topic_chooses_its_subtopic_before_the_conversation(setting: Setting) -> None:
    person = setting.somebody(topic="Family").answer_until("/screen/talk")
    person.post(action="back")
    person.open("/screen/topic").post(action="save", topic="Work")
    place = person.open("/screen/talk").place
    assert place.startswith("/screen/subtopic/")
    # A message that was under way meanwhile keeps nobody from choosing.
    saved = {"text": MESSAGES[0]}
    setting.store.save(setting.store.people()[0].id, "message/1", saved, revision=0, done=True)
    assert len(person.open(place).form.options["subtopic"]) > 1
    person.answer()
    assert (person.place, person.open(place).form.options) == ("/screen/talk", {})


@pytest.mark.slow
def test_one_person_who_has_no_result_keeps_it_from_no_other(setting: Setting, log: StringIO) -> None:
    good = setting.somebody(text="I would have wanted this.")
    good.answer_all()
    answers = setting.store.answers(setting.store.people()[0].id)
    broken, _ = setting.store.add_person(language="en")
    for key, one in answers.items():
        if key != "file":
            value = {} if key == "whole" else one.value
            setting.store.save(broken.id, key, value, revision=0, done=True)
    assert [path.name for path in setting.app.export()] == ["conversation_1.json", "README.md"]
    assert f"{broken.id}: left out because of a KeyError" in log.getvalue()
    good.client.post("/language", data={"language": "de"})
    good.open("/done")
    record = json.loads((setting.output / "conversation_1.json").read_text(encoding="utf-8"))
    assert record["metadata"]["language"] == "en"  # that of the conversation


def test_a_response_can_be_changed_until_one_was_chosen(setting: Setting) -> None:
    own = {"/screen/turn/1/edited#text": "I would have wanted this."}
    person = setting.somebody(**own).answer_until("/screen/turn/1/pair/0")
    [somebody] = setting.store.people()
    setting.store.save(somebody.id, "turn/1/pair/0", {}, revision=0, done=False)
    assert "text" in person.open("/screen/turn/1/edited").form.texts
    person.open("/screen/turn/1/pair/0").answer()
    assert person.open("/screen/turn/1/edited").form.texts == {}
    # In another window the response was taken back while the choice was under way.
    setting.store.undo(somebody.id, "turn/1/edited", revision=1)
    assert person.open("/").place == "/screen/turn/1/edited"
    assert "text" in person.form.texts


def test_the_later_of_two_messages_from_two_windows_is_told(setting: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    person = setting.somebody().answer_until("/screen/talk")
    [somebody] = setting.store.people()

    def meanwhile(form: Any) -> str:
        setting.store.save(somebody.id, "message/1", {"text": "EARLIER"}, revision=0, done=True)
        return str(form["message"][0])

    monkeypatch.setattr("attune_bench.benchmarks.attunebench.annotation.collect._message", meanwhile)
    assert person.post(action="send", message="LATER") == 422
    assert "changed in another window" in person.text
    assert "EARLIER" in person.text
    assert setting.server.calls == 0


def test_a_message_of_who_withdraws_meanwhile_is_stored_nowhere(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    person = setting.somebody().answer_until("/screen/talk")

    def meanwhile(form: Any) -> str:
        setting.app.withdraw(setting.store.people()[0])
        return str(form["message"][0])

    monkeypatch.setattr("attune_bench.benchmarks.attunebench.annotation.collect._message", meanwhile)
    assert person.post(action="send", message="LATER") == 403
    assert (b"LATER" in everything_stored(setting), setting.server.calls) == (False, 0)


def test_a_message_that_is_sent_while_the_conversation_ends_is_no_turn(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    person = setting.somebody().answer_until("/screen/talk")
    person.answer()
    person.answer()
    [somebody] = setting.store.people()

    def meanwhile(form: Any) -> str:
        setting.store.save(somebody.id, "talk", {"ended": "yes"}, revision=0, done=True)
        return str(form["message"][0])

    monkeypatch.setattr("attune_bench.benchmarks.attunebench.annotation.collect._message", meanwhile)
    person.post(action="send", message="LATER")
    assert setting.server.calls == 2
    answers = {key: one.value for key, one in setting.store.answers(somebody.id).items()}
    assert [one.message for one in exchanges(answers)] == list(MESSAGES)
    assert person.open("/").place == "/screen/panas/after"


@pytest.mark.parametrize("name", ["own #2", "own?", "50%25"])
def test_a_questionnaire_may_have_any_name(tmp_path: Path, server: ModelServer, name: str) -> None:
    setting = Setting(tmp_path, server, **{"questionnaires.tipi_extraversion": f'questionnaires."{name}"'})
    setting.somebody().answer_until("/screen/topic")


def test_answers_come_line_by_line_to_a_script(setting: Setting) -> None:
    person = setting.somebody().answer_until("/screen/talk")
    data = {"action": "send", "turn": "0", "message": MESSAGES[0]}
    told = person.client.post("/screen/talk", data=data, headers={"accept": "application/json"})
    lines = [json.loads(line) for line in told.text.splitlines()]
    assert lines[-1] == {"done": True}
    assert all({*line} == {"text"} for line in lines[:-1])
    setting.server._fault = lambda _number, _body: reply("401 Unauthorized", "{}")
    data |= {"turn": "1"}
    told = person.client.post("/screen/talk", data=data, headers={"accept": "application/json"})
    assert json.loads(told.text.splitlines()[-1])["message"].startswith("No answer came.")


def test_what_people_made_is_scored_judged_and_corrected_by_other_people(
    setting: Setting, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(setting.folder)
    for _ in range(5):  # No fewer are shown on a page.
        setting.somebody().answer_all()

    def done(line: str) -> str:
        status, out, err = call(*line.split())
        assert not status, err
        return out

    done("validate conversations --strict")
    with ModelServer() as models:
        for model in ("large", "small"):
            done(f"run local {model} conversations --base-url {models.url} --judge-model referee")
    done("score --data conversations --results results -o scores.json")
    done("report scores.json --html page.html")
    page = Path("page.html").read_text(encoding="utf-8")
    assert all(model in page for model in ("large", "small"))
    metric = "--metric avg_draft_judge_score"
    done(f"judge draw scores.json {metric} --n 4 -o sheet.csv")
    rate = f"rate sheet.csv --results results --data conversations {metric} --people 3 --file ratings.db -o ratings"
    with started(setting.folder, *rate.split()) as (process, origin, links):
        random, read = Random(0), ""
        for link in links:
            rater = Patient(origin, link.rpartition("/")[2])
            while rater.place != "/done":
                rater.answers["rating"] = str(random.randint(2, 6))
                rater.answer()
                read += rater.text
            rater.close()
        process.terminate()
        process.wait()
    assert all(message in read for message in MESSAGES)
    assert not any(word in read for word in ("large", "small", "referee"))
    told = done(f"judge correct scores.json --labels ratings/labels.csv {metric}")
    assert len(re.findall(r"^(large|small) +(judge|people|corrected) +0\.\d", told, re.MULTILINE)) == 6
    done("judge agree ratings/ratings.csv --expert rater-1 rater-2 --judge rater-3")
