"""The job `predict`: a person is asked what a model is asked, sees no annotation, and becomes run files."""

import json
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from annotating import ORIGIN, Somebody
from commands import Call
from telling_conversation import ASKED, CONVERSATION, PAIRS, WORDS

from attune_bench import score
from attune_bench.annotate.app import Application
from attune_bench.annotate.guard import Limits
from attune_bench.annotate.store import Store, StoreError
from attune_bench.annotate.texts import Texts
from attune_bench.benchmarks.attunebench.annotation.predict import Predict
from attune_bench.benchmarks.attunebench.baselines import MASKS
from attune_data import Conversation, Conversations, load, load_codebook, load_runs

pytestmark = pytest.mark.slow

MISFIT, FIT = "Mostly off-target or intrusive", "Mostly well-matched"


def other(**changes: Any) -> Conversation:
    """Return the telling conversation with other content."""
    return Conversation.model_validate(json.loads(CONVERSATION.to_json()) | changes)


class Setting:
    """A study with a file, and people who predict."""

    def __init__(self, folder: Path, *conversations: Conversation) -> None:
        self.folder, self.output = folder, folder / "human"
        given = conversations or (CONVERSATION,)
        self.job = Predict(given, {one.id: f"data/{one.id}.json" for one in given}, load_codebook())
        self.store = Store.create(folder / "study.db", "predict", self.job.about)
        limits = Limits(per_link=10_000.0)  # No person is as fast as a test.
        self.app = Application(self.store, self.job, origin=ORIGIN, output=self.output, limits=limits)

    def somebody(self, name: str = "ann", **answers: Any) -> Somebody:
        with patch("attune_bench.annotate.store.choice", return_value=name[0].upper()):  # of which the id is made
            _, self.secret = self.store.add_person(language="en", name=name)
        return Somebody(self.app.asgi, self.secret, **{"drafted_response": "", **answers})

    def screens(self, person: int = 0) -> dict[str, Any]:
        found = self.job.screens(self.store.people()[person], {}, Texts("en"))
        return {screen.key: screen for screen in found}


@pytest.fixture
def setting(tmp_path: Path) -> Setting:
    return Setting(tmp_path)


@pytest.mark.parametrize("fit", [FIT, MISFIT])
def test_the_share_that_is_done_never_falls(tmp_path: Path, fit: str) -> None:
    person = Setting(tmp_path, CONVERSATION, other(conversationId="c2")).somebody(q3_modelFit=fit)
    shares = []
    while person.place != "/done":
        shares.append(person.share)
        person.answer()
    assert shares == sorted(shares)


def test_each_answer_stands_in_the_run_file_where_a_model_has_it(setting: Setting) -> None:
    person = setting.somebody(
        **{"/screen/1/turn-2/draft#drafted_response": "I am\r\nsorry."},
        **{"/screen/1/turn-1/read#emotions.Proud": "5", "/screen/1/turn-1/read#emotions.Upset": "felt"},
        **{"/screen/1/turn-1/read#B11.observed": "no", "/screen/1/turn-1/read#B1.preferred": "no"},
        **{"/screen/1/turn-1/read-hp#B501.observed": "no", "/screen/1/turn-1/read-hp#B11.preferred": "no"},
        **{"/screen/1/turn-1/pairwise#0": "A", "/screen/1/turn-1/pairwise#1": "B", "/screen/1/turn-1/pairwise#2": "B"},
        **{"/screen/1/post/panas#Alert": "7", "/screen/1/post/panas#Guilty": "6"},
        q3_modelFit=MISFIT,
        managing="7",
        q1_lookingFor=["To just listen or let me vent", "Other"],
        q3_followUp_whatFeltOff="Cold\n\n too long ",
    )
    person.answer_all()
    [file] = setting.output.iterdir()
    assert file.name == "c1_human_ann_default.json"
    run = json.loads(file.read_bytes())
    first, second, _ = run["turns"]
    yes = dict.fromkeys(ASKED, "yes")
    assert first == {
        "turnNumber": 1,
        "em_emotion_tags": [{"emotion": "Proud", "intensity": 5}, {"emotion": "Upset", "intensity": None}],
        "em_binary_om_assessment": yes | {"B11": "no"},
        "em_binary_human_prediction": yes | {"B1": "no"},
        "em_binary_om_assessment_hp": yes | {"B501": "no"},
        "em_binary_human_prediction_hp": yes | {"B11": "no"},
        "em_pairwise_selections": {"0": "A", "1": "B", "2": "B"},
        "pairwise_assignment": {str(place): {"A": a, "B": b} for place, (_, a, b) in enumerate(PAIRS)},
    }  # fmt: skip
    assert (second["em_drafted_response"], second["em_emotion_tags"]) == ("I am\nsorry.", [])
    assert run["post_conversation"] == {
        "panas_strategy": "absolute",
        "pre_panas_shown": {"totalPositiveAffect": 30, "totalNegativeAffect": 20},
        "predicted_post_panas": {
            "totalPositiveAffect": 16,
            "totalNegativeAffect": 15,
            "items": dict.fromkeys(WORDS, 1) | {"Alert": 7, "Guilty": 6},
        },
        "predicted_conversation_wide": {
            "q1_lookingFor": ["To just listen or let me vent", "Other"],
            "q2_emotionClarity": "Clear and explicitly stated",
            "q3_modelFit": MISFIT,
            "q3_followUp_whatFeltOff": ["Cold", "too long"],
            "fourBranchScores": {"perceiving": 1, "facilitating": 1, "understanding": 1, "managing": 7},
        },
    }
    saved = setting.store.answers(setting.store.people()[0].id)
    seconds = sum(one.seconds for key, one in saved.items() if key != "begin")
    assert run["duration_seconds"] == pytest.approx(seconds, abs=1e-3)
    assert (run["em_model"], run["mode"], run["provider"], run["language"], run["source_file"]) == (
        "human/ann", "default", "human", "en", "c1.json",
    )  # fmt: skip
    assert run["run_timestamp"][:16] == max(one.saved for one in saved.values())[:16]
    assert run["codebook_hash"] == setting.job.about["--codebook"]
    assert load_runs(setting.output).issues.height == 0
    assert score(Conversations([CONVERSATION]), load_runs(setting.output)).models == ("human/ann",)


def _annotated_otherwise(content: Any, mark: str) -> Any:
    """Return every annotation of a conversation with another value, which says so where it is a text."""
    turned = {"yes": "no", "no": "yes", "A": "B", "B": "A"}
    if isinstance(content, dict):
        return {key: _annotated_otherwise(value, mark) for key, value in content.items()}
    if isinstance(content, list):
        return [_annotated_otherwise(value, mark) for value in content]
    if isinstance(content, str):
        return content if content == "na" else turned.get(content, mark)
    if content is None or isinstance(content, bool):
        return content
    return 8 - content if content < 8 else content + 1


def test_nobody_sees_an_annotation(tmp_path: Path) -> None:
    content = json.loads(load("demo")[0].to_json())
    planted = json.loads(json.dumps(content))
    for name in ("metadata", "participant_profile", "postPanas", "conversationWideQuestions"):
        planted[name] = _annotated_otherwise(content[name], "PLANTED")
    for turn in planted["turns"]:
        turn["moodShiftTags"] = _annotated_otherwise(turn["moodShiftTags"], "PLANTED")
        own = turn["annotations"]
        own["selectedPairwiseQuestions"] = ["PLANTED"]
        for judgement in own["binaryJudgements"]:
            judgement["note"] = "PLANTED"
            for side in ("observedBehavior", "preferredBehavior"):
                judgement[side] = _annotated_otherwise(judgement[side], "PLANTED")
        for pair in own["pairwiseComparisons"]:
            pair |= {"winner": "B" if pair["winner"] == "A" else "A", "reason": "PLANTED"}
    pages = []
    for name, one in (("as it is", content), ("planted", planted)):
        (tmp_path / name).mkdir()
        setting = Setting(tmp_path / name, Conversation.model_validate(one))
        person = setting.somebody()
        pages.append({key: person.open(f"/screen/{key}").page for key in setting.screens()})
        assert len(pages[-1]) > 20
        assert all("<form" in page for page in pages[-1].values())
        if name == "planted":
            person.answers["q3_modelFit"] = MISFIT
            person.open("/").answer_all()
            shown = [person.open(place).page for place in dict.fromkeys(person.seen)]
            assert "PLANTED" not in "".join((*shown, *pages[-1].values(), person.open("/withdraw").page))
    assert pages[0] == pages[1]


def test_comparisons_come_in_the_order_of_a_model_and_hide_who_wrote_what(setting: Setting) -> None:
    for name in "abcdefgh":
        setting.somebody(name)
    orders = set()
    for person in range(8):
        screens = setting.screens(person)
        for number, turn in enumerate(CONVERSATION.turns, 1):
            screen = screens[f"1/turn-{number}/pairwise"]
            texts = {said.speaker: said.text for said in screen.talk[-3:]}
            assert list(texts) == ["The assistant's reply", "Other reply 1", "Other reply 2"]
            orders.add(tuple(texts.values()))
            assert [one.name for one in screen.fields] == ["0", "1", "2"]
            assert screen.fields[2].label == "Warmer?"
            for one, (_, a, b) in zip(screen.fields, PAIRS, strict=True):
                chosen = {option.value: texts[option.text] for option in one.options}
                assert chosen == {"A": turn.responses[a], "B": turn.responses[b]}
            words = " ".join([screen.title, screen.lead, *(one.label for one in screen.fields), *texts])
            assert not any(label in words.casefold() for label in MASKS)
    assert len(orders) == 2 * len(CONVERSATION.turns)


def test_a_page_shows_no_more_of_the_conversation_than_a_model_has_seen(setting: Setting) -> None:
    setting.somebody()
    shown = {key: {said.text for said in screen.talk} for key, screen in setting.screens().items()}
    assert shown["1/turn-1/draft"] == {"MESSAGE-1"}
    assert shown["1/turn-1/read"] == shown["1/turn-1/read-hp"] == {"MESSAGE-1", "REPLY-1"}
    assert shown["1/turn-1/pairwise"] == {"MESSAGE-1", "REPLY-1", "IMPROVED-1", "EDITED-1"}
    assert shown["1/turn-2/draft"] == {"MESSAGE-1", "REPLY-1", "MESSAGE-2"}
    assert shown["1/post/panas"] == {f"{what}-{number}" for what in ("MESSAGE", "REPLY") for number in (1, 2, 3)}


def test_an_answer_is_kept_once_more_of_the_conversation_was_seen(setting: Setting) -> None:
    person = setting.somebody(drafted_response="My reply.").answer_until("/screen/1/turn-1/draft")
    older = person.page
    person.post(action="save", drafted_response="Changed.")
    person.answer()
    assert person.place == "/screen/1/turn-1/read"
    person.page = older  # The reply was seen.
    person.post(action="next", drafted_response="Changed after the reply.")
    person.open("/screen/1/turn-1/draft")
    assert "My reply." in person.page
    assert "your answer stays as it is" in person.text
    before = setting.store.answers(setting.store.people()[0].id)
    for action in ("next", "save", "undo", "back"):
        person.open("/screen/1/turn-1/draft").post(action=action, drafted_response="Too late.")
    assert setting.store.answers(setting.store.people()[0].id)["1/turn-1/draft"].value == before["1/turn-1/draft"].value
    # The questions in the other phrasing show nothing new.
    person.open("/").answer_until("/screen/1/turn-1/read-hp")
    assert "stays as it is" not in person.open("/screen/1/turn-1/read").text
    person.open("/").answer()
    assert person.place == "/screen/1/turn-1/pairwise"
    assert "stays as it is" in person.open("/screen/1/turn-1/read").text


@pytest.mark.slow
def test_a_run_file_has_the_language_of_its_conversation_whatever_is_chosen_later(tmp_path: Path) -> None:
    setting = Setting(tmp_path, CONVERSATION, other(conversationId="c2"))
    person = setting.somebody().answer_until("/screen/1/turn-1/read")
    person.client.post("/language", data={"language": "de"})
    person.answer_all()
    runs = [json.loads(file.read_bytes()) for file in setting.output.iterdir()]
    assert {run["conversationId"]: run["language"] for run in runs} == {"c1": "en", "c2": "de"}


def test_a_finished_conversation_is_written_while_the_next_is_not(tmp_path: Path) -> None:
    setting = Setting(tmp_path, CONVERSATION, other(conversationId="c2"))
    person = setting.somebody(q3_modelFit=FIT).answer_until("/screen/2/turn-1/draft")
    assert "1/post/felt-off" not in setting.store.answers(setting.store.people()[0].id)
    assert [path.name for path in setting.output.iterdir()] == ["c1_human_ann_default.json"]
    person.answer_until("/screen/2/post/whole")
    setting.app.export()
    assert [path.name for path in setting.output.iterdir()] == ["c1_human_ann_default.json"]
    # Another answer asks for more, until when the conversation is not finished.
    person.answers["q3_modelFit"] = MISFIT
    person.open("/screen/1/post/whole").answer()
    assert person.place == "/screen/1/post/felt-off"
    assert list(setting.output.iterdir()) == []
    person.answer()
    assert person.place == "/screen/2/post/whole"
    person.answer_all()
    runs = load_runs(setting.output)
    assert [run.conversation_id for run in runs] == ["c1", "c2"]


def test_a_study_goes_on_with_the_same_data_alone(setting: Setting, tmp_path: Path) -> None:
    person = setting.somebody().answer_until("/screen/1/turn-2/read")
    setting.store.close()
    again = Setting(tmp_path)
    person.client.close()
    more = Somebody(again.app.asgi, setting.secret, drafted_response="")
    assert more.place == "/screen/1/turn-2/read"
    more.answer_all()
    assert len(load_runs(again.output)) == 1
    again.store.close()
    # Annotations are not shown, and may be mended meanwhile.
    Setting(tmp_path, other(postPanas={"responses": {"proud": 2}})).store.close()
    with pytest.raises(StoreError, match="was begun with another DATA; choose another file, or give the same DATA"):
        Setting(tmp_path, other(conversationId="c2"))


def test_conversations_whose_files_have_one_name_are_refused_before_anybody_answers(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="the run files of the conversations 'c1' and 'C1' have the same name"):
        Setting(tmp_path, CONVERSATION, other(conversationId="C1"))


def test_who_withdraws_takes_the_run_files_along(setting: Setting) -> None:
    setting.somebody("bob").answer_all()
    person = setting.somebody("ann")
    person.answer_all()
    assert len(list(setting.output.iterdir())) == 2
    person.client.post("/withdraw")
    assert [path.name for path in setting.output.iterdir()] == ["c1_human_bob_default.json"]


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Return the names with new links of each time that the command came to serve."""
    found: list[list[str]] = []

    def serve(store: Store, _job: Any, links: Any, **_: Any) -> None:
        found.append([person.name for person, _ in links])
        store.close()

    monkeypatch.setattr("attune_bench.benchmarks.attunebench.annotation.predict.serve_study", serve)
    return found


def test_the_command_adds_names_and_refuses_others(call: Call, tmp_path: Path, served: list[list[str]]) -> None:
    line = ("annotate", "predict", "demo", "--file", str(tmp_path / "a.db"), "-o", str(tmp_path / "human"), "--as")
    assert call(*line, "ann", "--as", "bob")[0] == 0
    status, out, _ = call(*line, "ann", "--as", "eve")
    assert (status, served) == (0, [["ann", "bob"], ["eve"]])
    assert out == "ann: goes on by the link of before; the administrator's page makes a new one\n"
    for name in ("", "../ann", "ann b", "A" * 41, "Ann"):
        status, _, err = call(*line, name)
        assert (status, f"--as {name!r}" in err) == (2, True)
    assert len(served) == 2
