"""Builders for these tests: small conversations and runs, one worked example, ways to call the command line."""

import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import interrupts
import pytest
from documentation import blocks_of
from environments import Shell, new_shell

from attune_bench import Scores, score
from attune_bench.benchmarks.attunebench.detail import records_of
from attune_bench.benchmarks.attunebench.scoring import provenance_of
from attune_bench.benchmarks.attunebench.scoring import scores_of as scores_of_records
from attune_bench.cli import main
from attune_bench.runner import client
from attune_data import Conversation, Run, load

Json = dict[str, Any]

VECTORS = Path(__file__).parent.parent / "golden" / "vectors"
POSITIVE = "proud alert inspired determined attentive active excited strong enthusiastic interested".split()

# The worked example; test_scoring.py derives every number of it.
TURNS = [
    {
        "turnNumber": 1,
        "llmResponse": "a b c d",
        "moodShiftTags": [{"emotion": "Upset", "intensity": 6}, {"emotion": "Nervous", "intensity": 3}],
        "annotations": {
            "binaryJudgements": [
                {"questionId": "B1", "observedBehavior": "yes", "preferredBehavior": "yes"},
                {"questionId": "B2", "observedBehavior": "no", "preferredBehavior": None},
                {"questionId": "B3", "observedBehavior": None, "preferredBehavior": "no", "llmValue": "yes"},
                {"questionId": "B4", "observedBehavior": "na", "preferredBehavior": "na", "llmValue": "yes"},
                {"questionId": "B5", "observedBehavior": "yes", "preferredBehavior": "na"},
            ],
            "alternateResponses": {"llmImproved": "a b", "humanEdited": None},
            "pairwiseComparisons": [
                {"questionId": "general", "responseA": "original", "responseB": "alternate", "winner": "B"},
                {"questionId": "general", "responseA": "alternate", "responseB": "human", "winner": "B"},
                {"questionId": "general", "responseA": "human", "responseB": "original", "winner": "A"},
                {"questionId": "PW7", "responseA": "original", "responseB": "human", "winner": None},
            ],
        },
    },
    {
        "turnNumber": 2,
        "llmResponse": "x y",
        "moodShiftTags": [{"emotion": "Proud", "intensity": None}],
        "annotations": {
            "binaryJudgements": [{"questionId": "B1", "observedBehavior": "no", "preferredBehavior": "yes"}],
            "alternateResponses": {"llmImproved": "x z", "humanEdited": "x y z w"},
            "pairwiseComparisons": [
                {"questionId": "general", "responseA": "alternate", "responseB": "human", "winner": "A"}
            ],
        },
    },
    {"turnNumber": 3, "llmResponse": "x", "moodShiftTags": [], "annotations": None},
]
RUN_TURNS = [
    {
        "turnNumber": 1,
        "em_emotion_tags": [{"emotion": "upset", "intensity": 4}, {"emotion": "Excited", "intensity": 5}],
        "em_drafted_response": "A b  c",
        "em_binary_om_assessment": {"B1": "yes", "B2": "yes", "B3": "no", "B4": "yes"},
        "em_binary_human_prediction": {"B1": "yes", "B3": "yes"},
        "em_binary_om_assessment_hp": {"B1": "yes", "B2": "no", "B3": "yes", "B5": "no"},
        "em_binary_human_prediction_hp": {"B1": "no", "B2": "no", "B3": "yes"},
        "em_pairwise_selections": {"0": "B", "1": "A", "2": "A", "3": "A"},
        "pairwise_assignment": {"0": {"A": "alternate", "B": "original"}},
        "em_draft_judge_scores": {"overall_score": 5, "tone_match": 4, "helpfulness": None},
        "em_draft_binary_assessment": {"B1": "yes", "B2": "na", "B5": "yes"},
    },
    {
        "turnNumber": 2,
        "em_emotion_tags": [{"emotion": "Proud", "intensity": 4}, {"emotion": "Alert", "intensity": 3}],
        "em_drafted_response": "x z",
        "em_binary_om_assessment": {"B1": "na"},
        "em_binary_human_prediction": {"B1": "yes"},
        "em_binary_om_assessment_hp": {"B1": "yes"},
        "em_binary_human_prediction_hp": {"B1": "yes"},
        "em_pairwise_selections": {"0": None},
    },
    {"turnNumber": 3, "em_emotion_tags": None, "em_draft_binary_assessment": {"B1": "yes"}},
]
EXAMPLE = {
    "conversationId": "c1",
    "participant_profile": {"participant_id": "P1"},
    "prePanas": {
        "totalPositiveAffect": 30,
        "totalNegativeAffect": 25,
        "responses": {"nervous": 4, "upset": 1},
    },
    "postPanas": {
        "totalPositiveAffect": 50,
        "totalNegativeAffect": 30,
        "responses": {**dict.fromkeys(POSITIVE, 4), "nervous": 5, "upset": 3},
    },
    "conversationWideQuestions": {
        "q1_lookingFor": ["To just listen or let me vent", "Other"],
        "q2_emotionClarity": "Implied or indirect",
        "q3_modelFit": "Mixed, some good moments, some misses",
        "q3_followUp_whatFeltOff": ["It rushed me"],
        "fourBranchScores": {"perceiving": 6, "managing": 2},
    },
    "turns": TURNS,
}
EXAMPLE_RUN = {
    "conversationId": "c1",
    "em_model": "vendor/model",
    "mode": "default",
    "source_file": "conversation_1.json",
    "turns": RUN_TURNS,
    "post_conversation": {
        "predicted_post_panas": {"totalPositiveAffect": 46, "items": {"Nervous": 3, "Upset": 4}},
        "predicted_conversation_wide": {
            "q1_lookingFor": ["to just listen or let me vent ", "To help me calm down or feel steadier", "OTHER"],
            "q2_emotionClarity": " implied or indirect",
            "q3_modelFit": "Very well-matched and adaptive",
            "q3_followUp_whatFeltOff": ["it rushed"],
            "fourBranchScores": {"perceiving": 5},
        },
    },
}


def _copy(value: Json, changes: Json) -> Json:
    copied: Json = json.loads(json.dumps(value))
    return copied | changes


@pytest.fixture(scope="session")
def vectors() -> Path:
    """Return the folder of the scoring vectors."""
    return VECTORS


@pytest.fixture(scope="session")
def make_conversation() -> Callable[..., Conversation]:
    """Return the function that builds the example's conversation with fields (names as in files) exchanged."""
    return lambda **changes: Conversation.model_validate(_copy(EXAMPLE, changes))


@pytest.fixture(scope="session")
def make_run() -> Callable[..., Run]:
    """Return the function that builds the example's run with fields (names as in files) exchanged."""
    return lambda **changes: Run.model_validate(_copy(EXAMPLE_RUN, changes))


@pytest.fixture(scope="session")
def make_record(
    make_conversation: Callable[..., Conversation], make_run: Callable[..., Run]
) -> Callable[..., dict[str, Any]]:
    """Return the function that builds the example's conversation score with keys exchanged."""
    [example] = records_of(score([make_conversation()], [make_run()]))
    return lambda **changes: _copy(dict(example), changes)


@pytest.fixture(scope="session")
def make_scores(make_record: Callable[..., Json]) -> Callable[..., Scores]:
    """Return the function that builds scores of models in modes on conversations, with record keys exchanged."""

    def build(
        models: Sequence[str] = ("vendor/model",),
        modes: Sequence[str] = ("default",),
        *,
        conversations: int = 2,
        synthetic: bool = False,
        **changes: Any,
    ) -> Scores:
        records: list[Any] = [
            make_record(
                **{"em_model": model, "mode": mode, "conversationId": f"c{i}", "participant_id": f"P{i}"} | changes
            )
            for model in models
            for mode in modes
            for i in range(conversations)
        ]
        return Scores.of(scores_of_records(records, provenance_of(protocol="documented", synthetic=synthetic)))

    return build


@pytest.fixture(scope="session")
def scores_of(make_record: Callable[..., Json]) -> Callable[..., Scores]:
    """Return the function that builds scores from record keys: {model: {conversation: changes}}.

    Conversations are by a participant each, or as `people` says; `modes` names the mode of a label that is no model.
    """

    def build(
        table: Mapping[str, Mapping[str, Json]],
        *,
        people: Mapping[str, str | None] | None = None,
        modes: Mapping[str, tuple[str, str]] | None = None,
    ) -> Scores:
        records: list[Any] = []
        for label, conversations in table.items():
            model, mode = (modes or {}).get(label, (label, "default"))
            for unit, changes in conversations.items():
                identity = {"em_model": model, "mode": mode, "conversationId": unit}
                person = (people or {}).get(unit, f"P-{unit}")
                records.append(make_record(**identity, participant_id=person, **changes))
        return Scores.of(scores_of_records(records, provenance_of(protocol="documented")))

    return build


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """Return a folder of two conversations and one of two runs, which load without an error."""
    data, runs = tmp_path / "data", tmp_path / "runs"
    data.mkdir()
    runs.mkdir()
    for i in (1, 2):
        name = f"c{i}"
        conversation = _copy(EXAMPLE, {"conversationId": name})
        (data / f"conversation_{i}.json").write_text(json.dumps(conversation), encoding="utf-8")
        run = _copy(EXAMPLE_RUN, {"conversationId": name})
        (runs / f"{name}_vendor_model_default.json").write_text(json.dumps(run), encoding="utf-8")
    return data, runs


@pytest.fixture(scope="session")
def written_scores(make_scores: Callable[..., Scores], tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Return the content of a file of scores of a model with a name beyond ASCII."""
    path = tmp_path_factory.mktemp("written") / "scores.json"
    make_scores(["модель/深度-1", "b"]).write(path)
    return path.read_bytes()


@pytest.fixture
def scores_file(written_scores: bytes, tmp_path: Path) -> Path:
    """Return a file of scores of a model with a name beyond ASCII."""
    path = tmp_path / "scores.json"
    path.write_bytes(written_scores)
    return path


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Return the function that runs a command in this process: exit status, standard output, standard error."""

    def run(*arguments: object) -> tuple[int, str, str]:
        capsys.readouterr()
        with pytest.raises(SystemExit) as stopped:
            main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        assert isinstance(stopped.value.code, int)
        return stopped.value.code, out, err

    return run


# Runs of models.


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
    for name in ("OPENROUTER_API_KEY", "OPENAI_API_KEY", "OPENAI_COMPATIBLE_API_KEY", "LOCAL_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the client wait milliseconds between tries, and no longer than 50 where the server asks for more."""
    monkeypatch.setattr(client, "_BACKOFF", 0.001)
    monkeypatch.setattr(client, "_LONGEST_WAIT", 0.05)


@pytest.fixture(scope="session")
def run_files() -> Callable[[Path], dict[str, bytes]]:
    """Return the function that reads the run files of a folder, by name, without time stamps and durations."""
    return interrupts.run_files


# Pages of the documentation.


@pytest.fixture(scope="session")
def page_shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Shell]]:
    """Yield what returns the shell of a page: the base install and what the page installs; pages of equals share it."""
    home = tmp_path_factory.mktemp("environments")
    made: dict[str, Shell] = {}

    def shell_of(page: str, section: str = "", *, torch: bool = False) -> Shell:
        lines = "".join(block.text for block in blocks_of(page, section)).splitlines()
        install = "\n".join(line for line in lines if line.startswith("pip install "))
        if install not in made:
            folder = home / str(len(made))
            folder.mkdir()
            shell = new_shell(folder, torch=torch)
            shell(install, folder)
            made[install] = shell
        return made[install]

    yield shell_of
    shutil.rmtree(home)
