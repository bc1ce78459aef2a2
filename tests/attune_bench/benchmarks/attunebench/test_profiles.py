"""Profiles asked for from the conversation alone, and their scores."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from model_server import ModelServer, answer_to, said

from attune_bench.benchmarks.attunebench.profile import (
    LISTS,
    SCORES,
    ProfilePrediction,
    TraitScore,
    read_predictions,
    score_profiles,
)
from attune_data import Conversation, load

Invoke = Callable[..., tuple[int, str, str]]


pytestmark = pytest.mark.usefixtures("elsewhere")


def test_a_profile_is_asked_for_without_showing_it(call: Invoke, tmp_path: Path) -> None:
    with ModelServer() as server:
        status, out, err = call("profile", "local", "m", "demo", "--base-url", server.url, "--limit", 5)
        assert (status, err) == (0, "")
        assert server.calls == 5
        asked = json.dumps(server.bodies)
    for conversation in load("demo")[:5]:
        assert str(conversation.participant_profile.participant_id) not in asked
    assert out.splitlines()[2].split() == ["trait", "measure", "told", "predicted", "score", "constant", "guess"]
    assert "lower is better" in out
    assert len(list((tmp_path / "profiles").glob("_profile_*.json"))) == 5


def test_a_profile_prompt_is_the_same_whoever_the_participant_is(call: Invoke, tmp_path: Path) -> None:
    """Of two data sets that differ in who is who, but not in who there is, the prompts are the same."""
    first, second = (json.loads(one.to_json()) for one in load("demo")[:2])
    for name, profiles in (("as", (first, second)), ("exchanged", (second, first))):
        (tmp_path / name).mkdir()
        for n, (content, other) in enumerate(zip((first, second), profiles, strict=True)):
            changed = {**content, "participant_profile": other["participant_profile"]}
            (tmp_path / name / f"{n}.json").write_text(json.dumps(changed))
    with ModelServer() as one, ModelServer() as two:
        call("profile", "local", "m", "as", "--base-url", one.url, "--concurrency", 1, "-o", "p1")
        call("profile", "local", "m", "exchanged", "--base-url", two.url, "--concurrency", 1, "-o", "p2")
        assert one.bodies == two.bodies
        assert one.calls == 2


@pytest.mark.slow
def test_a_profile_is_asked_for_anew_where_the_options_differ(call: Invoke) -> None:
    """The options of a trait are the values of all participants, so that fewer are others."""
    with ModelServer() as server:
        options = ["profile", "local", "m", "demo", "--base-url", server.url, "--limit"]
        call(*options, 2)
        call(*options, 5)
        assert server.calls == 7
        call(*options, 5)
        assert server.calls == 7


def test_an_unreadable_profile_is_asked_for_once_more(call: Invoke) -> None:
    with ModelServer(lambda number, body: said("Who knows?") if number == 1 else said(answer_to(body))) as server:
        status, _, _ = call("profile", "local", "m", "demo", "--base-url", server.url, "--limit", 1)
        assert (status, server.calls) == (0, 2)


def test_a_trait_with_a_single_option_is_not_asked(call: Invoke) -> None:
    """With one participant the only option of a trait would be the answer."""
    with ModelServer() as server:
        assert call("profile", "local", "m", "demo", "--base-url", server.url, "--limit", 1)[0] == 0
        (body,) = server.bodies
    asked = body["response_format"]["json_schema"]["schema"]["properties"]
    assert asked
    # A T-score follows from the raw one.
    assert not [name for name in asked if name.endswith("_t")]
    assert all(len((of.get("items") or of)["enum"]) > 1 for of in asked.values())
    assert set(asked) == set(SCORES) | {
        name for name in LISTS if len(getattr(load("demo")[0].participant_profile.demographics, name)) > 1
    }


def test_a_profile_is_read_as_other_answers_are(call: Invoke, tmp_path: Path) -> None:
    people = [json.loads(one.to_json()) for one in load("demo")[:2]]
    (tmp_path / "data").mkdir()
    for person, country in zip(people, ("New\n- Zealand", "Peru"), strict=True):
        person["participant_profile"]["demographics"]["country"] = country
        (tmp_path / "data" / f"{country[:3]}.json").write_text(json.dumps(person))
    answer = '{"who_5": 5.0, "asrs_6": "3", "aq_10": NaN, "promis_anxiety": 999, "country": "new - zealand"}'
    with ModelServer(lambda _number, _body: said(answer)) as server:
        assert call("profile", "local", "m", "data", "--base-url", server.url)[0] == 0
        assert "- country: New - Zealand | Peru\n" in server.bodies[0]["messages"][-1]["content"]
    for path in (tmp_path / "profiles").glob("_profile_*.json"):
        predicted = {"country": "New\n- Zealand", "who_5": 5, "asrs_6": 3}
        assert json.loads(path.read_bytes())["predicted"] == predicted


def test_traits_are_scored_beside_a_constant_guess() -> None:
    people = list(load("demo")[:3])
    changes = [("Female", ["A", "B"], 10), ("Female", ["A"], 14), ("Male", [], 24)]
    conversations = []
    for person, (gender, diagnoses, who_5) in zip(people, changes, strict=True):
        content = json.loads(person.to_json())
        content["participant_profile"]["demographics"] |= {"gender": gender, "diagnoses": diagnoses}
        content["participant_profile"]["computed_scores"] = {"who_5": who_5}
        conversations.append(Conversation.model_validate(content))
    said_of = [
        {"gender": "Male", "diagnoses": ["A"], "who_5": 12},
        {"gender": "Female", "diagnoses": ["A"]},
        {"gender": "Male", "who_5": 20},
    ]
    predictions = [
        ProfilePrediction(conversation_id=conversation.id, em_model="m", predicted=predicted)
        for conversation, predicted in zip(conversations, said_of, strict=True)
    ]
    scores = {one.trait: one for one in score_profiles(conversations, predictions)}
    # Two of three right; always Female is right as often.
    assert scores["gender"] == TraitScore("gender", "accuracy", 3, 3, 2 / 3, 2 / 3)
    # {A, B} against {A} is 1/2, {A} against {A} 1; nobody tells of the empty list. Always {A, B}: 1 and 1/2.
    assert scores["diagnoses"] == TraitScore("diagnoses", "jaccard", 2, 2, 0.75, 0.75)
    # |10 - 12| and |24 - 20|; the median of 10 and 24 is 17, 7 from both.
    assert scores["who_5"] == TraitScore("who_5", "mae", 3, 2, 3.0, 7.0)
    assert scores["country"].answered == 0
    assert str(scores["country"].score) == "nan"


def test_the_constant_guess_of_a_score_is_the_median() -> None:
    conversations, predictions = [], []
    for person, (told, guess) in zip(load("demo")[:3], [(10, 10), (12, 15), (24, 24)], strict=True):
        content = json.loads(person.to_json())
        content["participant_profile"]["computed_scores"] = {"who_5": told}
        conversations.append(Conversation.model_validate(content))
        predictions.append(ProfilePrediction(conversation_id=person.id, em_model="m", predicted={"who_5": guess}))
    (score,) = (one for one in score_profiles(conversations, predictions) if one.trait == "who_5")
    # 0, 3 and 0; the median is 12, from which 10, 12 and 24 are 2, 0 and 12.
    assert score.score == 1.0
    assert score.constant == pytest.approx(14 / 3, rel=1e-12)


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        ("", [], "the name of the model is empty"),
        ("m", ["--temperature", "nan"], "temperature is nan"),
        ("m", ["--max-tokens", 0], "max_tokens is 0"),
    ],
)
def test_mistakes_are_one_line(model: str, options: list[object], message: str, call: Invoke) -> None:
    status, out, err = call("profile", "local", model, "demo", "--base-url", "http://127.0.0.1:1/v1", *options)
    assert (status, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_models_in_one_folder_are_scored_apart(call: Invoke, tmp_path: Path) -> None:
    with ModelServer() as server:
        for model in ("one", "two"):
            call("profile", "local", model, "demo", "--base-url", server.url, "--limit", 2)
        for model in ("one", "two"):
            found = read_predictions(tmp_path / "profiles", model)
            assert [prediction.em_model for prediction in found] == [model] * 2


def test_no_text_of_the_conversation_leaves_its_block_in_a_profile_prompt(call: Invoke, tmp_path: Path) -> None:
    """The code of the blocks is another where a text of the conversation holds it."""
    (tmp_path / "data").mkdir()
    path, content = tmp_path / "data" / "one.json", json.loads(load("demo")[0].to_json())
    codes: list[str] = []
    with ModelServer() as server:
        for text in ("", None):
            content["turns"][0]["userMessage"] += codes[0] if text is None else text
            path.write_text(json.dumps(content))
            call("profile", "local", "m", "data", "--base-url", server.url)
            request = server.bodies[-1]["messages"][-1]["content"]
            codes.append(request.partition("<<<BEGIN ")[2][:16])
            assert request.count(f"<<<BEGIN {codes[-1]} ") == 2 * len(content["turns"])
    assert codes[0] != codes[1]
