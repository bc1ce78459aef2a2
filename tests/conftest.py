"""Builders shared by all tests: a small valid conversation, a valid run of it, and ways to bend and read them."""

import gc
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import count
from pathlib import Path
from ssl import SSLContext
from types import SimpleNamespace
from typing import Any

import httpcore2
import pytest
from httpcore2 import default_ssl_context
from hub_server import HubServer
from hypothesis import HealthCheck, settings

from attune_data import Collection, Conversations, Runs, load, load_runs
from attune_data.io.documents import Document
from attune_data.loading import Reader

Json = dict[str, Any]


# Properties are tried on fewer examples than by default: there are several hundred of them. How long one takes says
# more of the machine than of the code.
settings.register_profile("quick", max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
# Where an example is a whole collection, eight of many records each find what more would.
settings.register_profile("collections", settings.get_profile("quick"), max_examples=8)
settings.load_profile("quick")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let the nightly run try more cases of the hostile tests than a submission does."""
    parser.addoption("--scale", type=int, default=1, help="multiply the cases of the hostile tests by this")


@pytest.fixture
def scale(request: pytest.FixtureRequest) -> int:
    """Return how many times as many hostile cases are tried as for a submission."""
    chosen: int = request.config.getoption("--scale")
    return chosen


# Files of slow tests that take minutes, most of them as they install what they need.
LONGEST = (
    "test_same_digits.py",
    "test_harnesses.py",
    "test_trl.py",
    "test_site.py",
    "test_similarity.py",
    "test_streams.py",
    "test_verifiers.py",
    "test_real_model.py",
    "test_typing.py",
    "test_ray.py",
    "test_pages.py",
    "test_interrupts.py",
)


# Marks of tests that a system cannot run.
LACKING = {"win32": {"posix", "linux"}, "darwin": {"linux"}}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest files, so that where a file is the work of one process none begins last.

    Skip what the system cannot run.
    """
    items.sort(key=lambda item: LONGEST.index(item.path.name) if item.path.name in LONGEST else len(LONGEST))
    if lacking := LACKING.get(sys.platform):
        for item in items:
            if not lacking.isdisjoint(mark.name for mark in item.iter_markers()):
                item.add_marker(pytest.mark.skip(reason="this system lacks what the test needs"))


def pytest_collection() -> None:
    """Do not look for garbage while thousands of tests are made, which stay: a tenth of the time went there."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Take what thousands of tests are made of out of the garbage collector's rounds, and let it make fewer."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def certificates_read_once() -> Iterator[None]:
    """Let all clients of one environment share the system's certificates, which take 20 ms to read."""
    read = cache(lambda _environment, trust_env: default_ssl_context(_trust_env=trust_env))

    def shared(*, _trust_env: bool = True) -> SSLContext:
        return read((os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")), _trust_env)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(httpcore2, "default_ssl_context", shared)
        yield


@pytest.fixture(scope="session", autouse=True)
def demo_parsed_once() -> Iterator[None]:
    """Parse each record of the demos once in a process: nothing changes records, and hundreds of tests load them."""
    read = Reader.read
    parsed: dict[tuple[Any, bytes], Any] = {}

    def shared(self: Reader[Any], document: Document) -> Any:
        if not re.fullmatch(r"demo[a-z_]*\.jsonl:[0-9]+", document.name):
            return read(self, document)
        key = (self.kind, document.data)
        if key not in parsed:
            first = Reader(self.kind)
            parsed[key] = read(first, document)
            assert not [*first.issues]
        self.own += 1
        return parsed[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Reader, "read", shared)
        yield


Triple = tuple[str, str, str]

POSITIVE = "proud alert inspired determined attentive active excited strong enthusiastic interested".split()
NEGATIVE = "irritable ashamed nervous jittery distressed afraid upset guilty scared hostile".split()
CONVERSATION_ID = "5f0c8a52-0000-4000-8000-000000000001"


def _panas(positive: int, negative: int) -> Json:
    ratings = {**dict.fromkeys(POSITIVE, positive), **dict.fromkeys(NEGATIVE, negative)}
    totals = {"totalPositiveAffect": 10 * positive, "totalNegativeAffect": 10 * negative}
    return {**totals, "responses": ratings}


def _turn(number: int) -> Json:
    pairs = [("original", "alternate"), ("alternate", "human"), ("human", "original")]
    return {
        "turnNumber": number,
        "userMessage": f"The pottery class starts on day {number} and I keep circling the block.",
        "llmResponse": "Circling is allowed. What would make the door easier?",
        "moodShiftTags": [{"emotion": "Nervous", "intensity": 5}, {"emotion": "Excited", "intensity": None}],
        "annotations": {
            "binaryJudgements": [
                {"questionId": "B1", "observedBehavior": "yes", "preferredBehavior": "na"},
                {"questionId": "B501", "observedBehavior": "no", "preferredBehavior": None},
            ],
            "alternateResponses": {
                "llmImproved": "It makes sense to circle. What would make the door easier?",
                "humanEdited": "That sounds tense. Shall we plan the first five minutes?",
            },
            "pairwiseComparisons": [
                {"questionId": question, "responseA": a, "responseB": b, "winner": "A"}
                for question in ("general", "PW7", "custom:Which one would you frame?")
                for a, b in pairs
            ],
            "selectedPairwiseQuestions": ["PW7", "PW4", "PW3"],
        },
    }


def _conversation() -> Json:
    return {
        "conversationId": CONVERSATION_ID,
        "metadata": {
            "model": "kiln-mini",
            "category": "Leisure",
            "subtopic": "New hobby",
            "text": "Leisure: New hobby",
        },
        "participant_profile": {
            "schema_version": "2.0",
            "participant_id": "A90001",
            "profile_type": "shortened",
            "demographics": {
                "country": "Chile",
                "education": "High school",
                "work_edu_background": ["Ceramics"],
                "gender": "Female",
                "age_range": "35-44",
                "english_proficiency": "Fluent",
                "diagnoses": ["None of the above"],
            },
            "computed_scores": {"who_5": 14, "asrs_6": 2, "promis_anxiety": 9, "promis_anxiety_t": 57.5},
            "conversation_topic_attitude": "Excited/Optimistic",
        },
        "prePanas": _panas(3, 2),
        "postPanas": _panas(4, 1),
        "conversationWideQuestions": {
            "fourBranchScores": {"perceiving": 5, "facilitating": 4, "understanding": 6, "managing": 3},
            "q1_lookingFor": ["To help me calm down or feel steadier", "Other"],
            "q2_emotionClarity": "Mixed or conflicted",
            "q3_modelFit": "Mixed, some good moments, some misses",
            "q3_followUp_whatFeltOff": ["It hurried me."],
        },
        "turns": [_turn(1), _turn(2)],
    }


def _run_turn(number: int) -> Json:
    answers = {"B1": "yes", "B501": "no", "B7": "na"}
    return {
        "turnNumber": number,
        "em_emotion_tags": [{"emotion": "Nervous", "intensity": 4}, {"emotion": "Proud", "intensity": None}],
        "em_drafted_response": "Walking past twice still counts as coming closer.",
        "response_reasoning": None,
        "emotion_reasoning": None,
        "em_binary_om_assessment": dict(answers),
        "em_binary_human_prediction": dict(answers),
        "em_binary_om_assessment_hp": dict(answers),
        "em_binary_human_prediction_hp": dict(answers),
        "em_pairwise_selections": {"0": "A", "1": "B", "8": "A"},
        "pairwise_assignment": {"0": {"A": "original", "B": "alternate"}},
        "em_four_branch_scores": {},
        "em_draft_judge_scores": {"overall_score": 5, "tone_match": 4.5},
        "em_draft_judge_scores_by_model": {},
        "em_draft_binary_assessment": dict(answers),
        "em_draft_binary_assessment_by_model": {},
    }


def _run() -> Json:
    ratings = {word.title(): 3 for word in (*POSITIVE, *NEGATIVE)}
    return {
        "conversationId": CONVERSATION_ID,
        "source_file": "conversation_1.json",
        "em_model": "kiln/glaze-1",
        "run_timestamp": "2026-04-01T10:00:00Z",
        "mode": "default",
        "api_cost": None,
        "duration_seconds": 12.5,
        "turns": [_run_turn(1), _run_turn(2)],
        "post_conversation": {
            "panas_strategy": "absolute",
            "pre_panas_shown": {"totalPositiveAffect": 30, "totalNegativeAffect": 20},
            "predicted_post_panas": {
                "totalPositiveAffect": 30,
                "totalNegativeAffect": 30,
                "items": ratings,
            },
            "predicted_panas_delta": {},
            "predicted_conversation_wide": {
                "q1_lookingFor": ["Other"],
                "q2_emotionClarity": "Implied or indirect",
                "q3_modelFit": "Mostly off-target or intrusive",
                "q3_followUp_whatFeltOff": ["It rushed."],
                "fourBranchScores": {
                    "perceiving": 4,
                    "facilitating": 4,
                    "understanding": 4,
                    "managing": 4,
                },
            },
        },
    }


def _steps(path: str) -> list[str | int]:
    """Return the steps of a JSON path such as ``$.turns[0].annotations``."""
    return [name or int(index) for name, index in re.findall(r"\.([^.\[\]]+)|\[(\d+)\]", path)]


def _pick(record: Any, path: str) -> Any:
    for step in _steps(path):
        record = record[step]
    return record


def _put(record: Json, path: str, value: Any) -> Json:
    *way, last = _steps(path)
    place: Any = record
    for step in way:
        place = place[step]
    place[last] = value
    return record


def _drop(record: Json, path: str) -> Json:
    *way, last = _steps(path)
    place: Any = record
    for step in way:
        place = place[step]
    del place[last]
    return record


def _paths(value: Any, path: str = "$") -> Iterator[str]:
    """Yield the path of every key in a record, in lists that of the first item only."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield f"{path}.{key}"
            yield from _paths(item, f"{path}.{key}")
    elif isinstance(value, list) and value:
        yield from _paths(value[0], f"{path}[0]")


REQUIRED = frozenset(
    (
        "$.conversationId",
        "$.em_model",
        "$.mode",  # may be absent, not null
        "$.turns[0].turnNumber",
        "$.turns[0].moodShiftTags[0].emotion",
        "$.turns[0].em_emotion_tags[0].emotion",
        "$.turns[0].annotations.binaryJudgements[0].questionId",
    )
)


@pytest.fixture(scope="session")
def conversation_paths() -> list[str]:
    """Return every optional path of the built conversation."""
    return [path for path in _paths(_conversation()) if path not in REQUIRED]


@pytest.fixture(scope="session")
def run_paths() -> list[str]:
    """Return every optional path of the built run."""
    return [path for path in _paths(_run()) if path not in REQUIRED]


_folders = count()


@pytest.fixture
def tmp_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an empty folder: pytest's own has the name of the test, and searches all folders for a free one."""
    path = tmp_path_factory.getbasetemp() / f"folder{next(_folders)}"
    path.mkdir()
    return path


@pytest.fixture
def conversation() -> Json:
    """Return a valid conversation in current spelling, which loads without an issue."""
    return _conversation()


@pytest.fixture
def run() -> Json:
    """Return a valid run of `conversation`, which loads without an issue."""
    return _run()


@pytest.fixture
def record(conversation: Json) -> Callable[[str], bytes]:
    """Return a maker of the bytes of a conversation with an id."""
    return lambda name: json.dumps({**conversation, "conversationId": name}).encode()


@pytest.fixture(scope="session")
def pick() -> Callable[[Any, str], Any]:
    """Return the function ``pick(record, "$.turns[0].turnNumber")``."""
    return _pick


@pytest.fixture(scope="session")
def put() -> Callable[[Json, str, Any], Json]:
    """Return the function ``put(record, path, value)``, which changes the record and returns it."""
    return _put


@pytest.fixture(scope="session")
def drop() -> Callable[[Json, str], Json]:
    """Return the function ``drop(record, path)``, which changes the record and returns it."""
    return _drop


@pytest.fixture
def save(tmp_path: Path) -> Callable[[Any, str], Path]:
    """Return the function ``save(value, name)``: bytes as they are, anything else as JSON, below `tmp_path`."""

    def write(value: Any, name: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(value if isinstance(value, bytes) else json.dumps(value).encode())
        return path

    return write


def _read(records: Collection[Any]) -> tuple[Json, list[Triple]]:
    assert len(records) == 1, [str(issue) for issue in records.found]
    written: Json = json.loads(records[0].to_json())
    return written, [(issue.path, issue.rule, issue.severity) for issue in records.found]


@pytest.fixture
def load_conversation(save: Callable[[Any, str], Path]) -> Callable[[Any], Conversations]:
    """Return the function that loads one conversation from a JSON value or bytes."""
    return lambda value: load(save(value, "conversation_1.json"))


@pytest.fixture
def load_run(save: Callable[[Any, str], Path]) -> Callable[[Any], Runs]:
    """Return the function that loads one run from a JSON value or bytes."""
    return lambda value: load_runs(save(value, "run_1.json"))


@pytest.fixture
def read_conversation(
    load_conversation: Callable[[Any], Conversations],
) -> Callable[[Any], tuple[Json, list[Triple]]]:
    """Return the function from a conversation to what is written back and its issues (path, rule, severity)."""
    return lambda value: _read(load_conversation(value))


@pytest.fixture
def read_run(load_run: Callable[[Any], Runs]) -> Callable[[Any], tuple[Json, list[Triple]]]:
    """Return the function from a run to what is written back and its issues (path, rule, severity)."""
    return lambda value: _read(load_run(value))


@pytest.fixture
def hub(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    """Yield a Hub on the loopback interface that this process and those it starts use, with an empty cache, no token.

    huggingface_hub and datasets read the environment when they are imported, so that both are told here too.
    """
    from huggingface_hub import close_session, constants, file_download
    from huggingface_hub.utils import _http

    server = HubServer()
    for module in (_http, file_download):  # Where a request fails, the client waits before it asks again.
        monkeypatch.setattr(module, "time", SimpleNamespace(sleep=lambda _seconds: None))
    home = tmp_path_factory.mktemp("hf_home")
    switches = {f"HF_HUB_DISABLE_{what}": "1" for what in ("XET", "TELEMETRY", "PROGRESS_BARS")}
    environment = {"HF_ENDPOINT": server.url, "HF_HOME": str(home), **switches}
    for name in ("HF_TOKEN", "HF_HUB_CACHE", "HF_HUB_OFFLINE", "HUGGING_FACE_HUB_TOKEN", "HF_DATASETS_CACHE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    for name in switches:
        monkeypatch.setattr(constants, name, True)
    monkeypatch.setattr(constants, "ENDPOINT", server.url)
    monkeypatch.setattr(
        constants, "HUGGINGFACE_CO_URL_TEMPLATE", f"{server.url}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
    )
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(home / "hub"))
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(home / "token"))
    monkeypatch.setattr(constants, "HF_STORED_TOKENS_PATH", str(home / "stored_tokens"))
    if "datasets" in sys.modules:
        from datasets import config

        monkeypatch.setattr(config, "HF_ENDPOINT", server.url)
        monkeypatch.setattr(
            config, "HUB_DATASETS_URL", f"{server.url}/datasets/{{repo_id}}/resolve/{{revision}}/{{path}}"
        )
        monkeypatch.setattr(config, "HF_DATASETS_CACHE", home / "datasets")
        monkeypatch.setattr(config, "HF_MODULES_CACHE", str(home / "modules"))
    close_session()
    yield server
    close_session()
    server.close()


@pytest.fixture(scope="session")
def spawn() -> Callable[..., subprocess.CompletedProcess[bytes]]:
    """Return the function that runs Python in a process of its own: ``-c`` code, or the command line without it."""

    def run(
        *arguments: object,
        code: str = "from attune_bench.cli import main; main()",
        env: Mapping[str, str] | None = None,
        stdout: int = subprocess.PIPE,
    ) -> subprocess.CompletedProcess[bytes]:
        command = [sys.executable, "-c", code, *map(str, arguments)]
        environment = {**os.environ, "PYTHONWARNINGS": "error", **(env or {})}
        return subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, env=environment, check=False)

    return run
