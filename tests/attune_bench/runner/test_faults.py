"""What servers do wrong, alone and mixed: every conversation ends finished or listed, in time, without leaks."""

import io
import json
import logging
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest
from model_server import Fault, Json, ModelServer, answer_to, reply, said
from slow_cases import slow_after, slow_except

from attune_bench import score
from attune_bench.benchmarks.attunebench.task import TASK, AttuneBenchSettings
from attune_bench.cli import main
from attune_bench.runner import RunOptions, RunOutcome, endpoint, run_sync
from attune_data import Conversation, load_runs

pytestmark = pytest.mark.usefixtures("impatient")

KEY = "sk-SECRET-0123456789abcdef"
HTML = "<html><body><h1>502 Bad Gateway</h1></body></html>"


def error(message: str) -> str:
    return json.dumps({"error": {"message": message, "type": "server_error"}})


def later(**ahead: float) -> str:
    return format_datetime(datetime.now(UTC) + timedelta(**ahead), usegmt=True)


# What a try may meet that another try gets past.
PASSING: dict[str, Callable[[Json], bytes | str]] = {
    "429": lambda _: reply("429 Too Many Requests", error(f"slow down, {KEY}")),
    "429 seconds": lambda _: reply("429 Too Many Requests", error("slow"), "Retry-After: 1"),
    "429 date": lambda _: reply("429 Too Many Requests", error("slow"), f"Retry-After: {later(seconds=1)}"),
    "429 days": lambda _: reply("429 Too Many Requests", error("slow"), f"Retry-After: {later(days=9)}"),
    "429 nonsense": lambda _: reply("429 Too Many Requests", error("slow"), "Retry-After: soon"),
    "429 year": lambda _: reply("429 Too Many Requests", error("slow"), f"Retry-After: 1 Jan {10**20} 00:00:00 GMT"),
    "429 twice": lambda _: reply("429 Too Many Requests", error("slow"), "Retry-After: 1", "Retry-After: -2"),
    "408": lambda _: reply("408 Request Timeout", ""),
    "409": lambda _: reply("409 Conflict", error("conflict")),
    "500": lambda _: reply("500 Internal Server Error", error(f"Authorization: Bearer {KEY} failed")),
    "502 page": lambda _: reply("502 Bad Gateway", HTML, kind="text/html"),
    "the key at the cut": lambda _: reply("500 Internal Server Error", error("x" * 185 + KEY)),
    "503": lambda _: reply("503 Service Unavailable", "\x1b[2J" + KEY, kind="text/plain"),
    "error in a success": lambda _: reply("200 OK", json.dumps({"error": {"code": 502, "message": KEY}})),
    "page in a success": lambda _: reply("200 OK", HTML, kind="text/html"),
    "half a body": lambda _: reply("200 OK", b'{"choices": [{"mess'),
    "less than was promised": lambda _: said("{}")[:-40],
    "no body": lambda _: reply("200 OK", b""),
    "not HTTP": lambda _: b"SSH-2.0-OpenSSH_9.6\r\n\r\n",
    "not UTF-8": lambda _: reply("200 OK", b"\xff\xfe\x00"),
    "deep": lambda _: reply("200 OK", b"[" * 100_000),
    "no choices": lambda _: reply("200 OK", json.dumps({"choices": []})),
    "odd choices": lambda _: reply("200 OK", json.dumps({"choices": [3], "usage": "x"})),
    "reset": lambda _: "reset",
    "5 MB": lambda _: said("x" * 5_000_000),
}

# What is an answer, of more use or less.
ANSWERS: dict[str, Callable[[Json], bytes | str]] = {
    "fenced": lambda body: said(f"Here you are:\n```json\n{answer_to(body)}\n```\n"),
    "prose around": lambda body: said(f"Sure! {answer_to(body)} Anything else?"),
    "prose only": lambda _: said("I would rather not answer that."),
    "cut off": lambda body: said(answer_to(body)[:-20]),
    "null": lambda _: said(None),
    "the word null": lambda _: said("null"),
    "parts": lambda body: said([{"type": "text", "text": answer_to(body)}]),
    "wrong types": lambda _: said(
        json.dumps({"drafted_response": 3, "answers": "yes", "emotions": {"a": 1}, "panas": []})
    ),
    "unknown emotions": lambda _: said(json.dumps({"emotions": [{"emotion": "Flabbergasted", "intensity": 99}]})),
    "echo of the key": lambda _: said(json.dumps({"drafted_response": f"Your key is {KEY}."})),
    "wrong content type": lambda body: said(answer_to(body)).replace(b"application/json", b"text/plain"),
    "odd usage": lambda body: said(answer_to(body), prompt_tokens="many", completion_tokens=-1, cost=float("inf")),
}
FAULTS = {**PASSING, **ANSWERS}


def run(server: ModelServer, conversations: list[Conversation], output: Path, **options: Any) -> RunOutcome:
    where = endpoint("local", base_url=server.url, api_key=KEY)
    chosen = RunOptions(**{"call_timeout": 1.0, "concurrency": 8, **options})
    settings = AttuneBenchSettings("vendor/model", judges=("judge/one",))
    return run_sync(TASK, conversations, settings, where, output=output, options=chosen)


class Ears(logging.Handler):
    """Hears every message of the log that holds a part of the key."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0
        self.heard: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.count += 1
        if KEY[:8] in (message := record.getMessage()):
            self.heard.append(message)


@pytest.fixture(autouse=True)
def without_leaks(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Iterator[None]:
    """Look for the key, after each test, in the log at its most talkative, all output and all files."""
    ears, loggers = Ears(), [logging.getLogger(name) for name in ("httpx2", "httpcore2", "asyncio")]
    for logger in loggers:
        logger.setLevel(logging.DEBUG)
        logger.addHandler(ears)
        logger.propagate = False
    yield
    for logger in loggers:
        logger.setLevel(logging.NOTSET)
        logger.removeHandler(ears)
        logger.propagate = True
    assert ears.count
    assert ears.heard == []
    out, err = capfd.readouterr()
    texts = [out, err, *map(str, tmp_path.rglob("*"))]
    assert [text for text in texts if KEY[:8] in text] == []
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files
    assert [path for path in files if KEY[:8].encode() in path.read_bytes()] == []


def accounted(outcome: RunOutcome, conversations: list[Conversation], output: Path) -> None:
    """Check that each conversation is finished, and can be scored and reported, or listed with a reason."""
    finished = {path.name.split("_")[0] for path in output.glob("[!._]*.json")}
    skipped = {one.unit_id: one.reason for one in outcome.skipped}
    assert finished | skipped.keys() == {conversation.id for conversation in conversations}
    assert not finished & skipped.keys()
    reasons = [*skipped.values(), *([] if outcome.stopped is None else [outcome.stopped])]
    assert all(reason and reason.isprintable() for reason in reasons)
    if finished:
        runs = load_runs(output)
        assert {issue.rule for issue in runs.found if issue.severity == "error"} == set()
        assert score(conversations, runs).report(resamples=20)


# One of a kind of fault is quick, and all of them mixed.
QUICK = ("500", "page in a success", "half a body", "reset", "fenced", "null")


def some(names: Iterable[str]) -> list[Any]:
    """Return names as parameters, those that are not quick with the mark."""
    return [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in names]


@pytest.mark.parametrize("name", slow_after(2, some(FAULTS)))
def test_a_fault_now_and_then(name: str, demo: list[Conversation], tmp_path: Path) -> None:
    seen: set[str] = set()

    def first_try_of_every_third(_number: int, body: Json) -> bytes | str | None:
        request, before = json.dumps(body["messages"]), len(seen)
        seen.add(request)
        return FAULTS[name](body) if len(seen) > before and before % 3 == 0 else None

    with ModelServer(first_try_of_every_third) as server:
        outcome = run(server, demo[:1], tmp_path)
    accounted(outcome, demo[:1], tmp_path)
    assert outcome.skipped == ()


@pytest.mark.parametrize("name", slow_after(2, some(PASSING)))
def test_a_fault_at_every_try(name: str, demo: list[Conversation], tmp_path: Path) -> None:
    fault = PASSING[name]
    with ModelServer(lambda _number, body: fault(body)) as server:
        outcome = run(server, demo[:2], tmp_path, call_timeout=0.3)
        # Not for ever: after eight calls that failed nothing more is sent.
        assert server.calls < 1000
    assert len(outcome.skipped) == 2
    assert outcome.stopped is not None
    accounted(outcome, demo[:2], tmp_path)


@pytest.mark.parametrize("name", slow_after(1, some(ANSWERS)))
def test_an_odd_answer_to_everything(name: str, demo: list[Conversation], tmp_path: Path) -> None:
    fault = ANSWERS[name]
    with ModelServer(lambda _number, body: fault(body)) as server:
        outcome = run(server, demo[:1], tmp_path)
    accounted(outcome, demo[:1], tmp_path)
    assert outcome.skipped == ()


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_faults_mixed(seed: int, demo: list[Conversation], tmp_path: Path) -> None:
    names = sorted(FAULTS)

    def mixed(number: int, body: Json) -> bytes | str | None:
        place = (number * 7919 + seed * 31) % (2 * len(names))
        return FAULTS[names[place]](body) if place < len(names) else None

    with ModelServer(mixed) as server:
        outcome = run(server, demo[:4], tmp_path, call_timeout=0.5)
        accounted(outcome, demo[:4], tmp_path)
        # The same again gets the rest, with the answers of before.
        for _ in range(5):
            outcome = run(server, demo[:4], tmp_path, call_timeout=0.5)
    assert outcome.skipped == ()
    accounted(outcome, demo[:4], tmp_path)


def test_a_model_that_refuses_everything_is_soon_left_alone(demo: list[Conversation], tmp_path: Path) -> None:
    refused = reply("400 Bad Request", error("vendor/model is not a valid model ID"))
    with ModelServer(lambda _number, _body: refused) as server:
        outcome = run(server, demo[:4], tmp_path, concurrency=1)
        assert server.calls == 8
    assert outcome.stopped is not None
    assert "not a valid model ID" in outcome.stopped
    accounted(outcome, demo[:4], tmp_path)


@pytest.mark.slow
def test_one_conversation_that_is_too_long_leaves_the_others(demo: list[Conversation], tmp_path: Path) -> None:
    first, *_, last = demo[2].turns
    said_in_it = {first.user_message, last.user_message}

    def too_long(_number: int, body: Json) -> bytes | None:
        texts = " ".join(message["content"] for message in body["messages"])
        is_it = any(text in texts for text in said_in_it)
        return reply("400 Bad Request", error("the prompt is too long")) if is_it else None

    with ModelServer(too_long) as server:
        outcome = run(server, demo[:4], tmp_path, concurrency=1)
    assert [one.unit_id for one in outcome.skipped] == [demo[2].id]
    assert outcome.stopped is None
    accounted(outcome, demo[:4], tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("how", slow_except(["stall", "trickle"], "trickle"))
def test_silence_ends_with_the_timeout(how: str, demo: list[Conversation], tmp_path: Path) -> None:
    began = time.monotonic()
    with ModelServer(lambda _number, _body: how) as server:
        outcome = run(server, demo[:1], tmp_path, call_timeout=0.2, concurrency=32)
    # 21 calls at once, each for five times the timeout at most.
    assert time.monotonic() - began < 10
    assert "no response within 0.2 s" in outcome.skipped[0].reason
    accounted(outcome, demo[:1], tmp_path)


def out_of_quota(name: str) -> bytes:
    """Return what OpenAI's server says, with a time after which another try would be as useless."""
    told = {"message": "You exceeded your quota", "type": None, "code": None, name: "insufficient_quota"}
    return reply("429 Too Many Requests", json.dumps({"error": told}), "Retry-After: 1")


REFUSALS: dict[str, tuple[bytes, str]] = {
    "401": (reply("401 Unauthorized", error(f"Incorrect API key provided: {KEY}")), "does not accept the key"),
    "402": (reply("402 Payment Required", error("no credit")), "asks for payment"),
    "no quota": (out_of_quota("type"), "(You exceeded your quota); the quota of the key is used up"),
    "no quota by its code": (out_of_quota("code"), "(You exceeded your quota); the quota of the key is used up"),
    "402 in a success": (reply("200 OK", '{"error": {"code": 402, "message": "no credit"}}'), "asks for payment"),
    "404": (reply("404 Not Found", error("no such model")), "knows no such model"),
    "redirect": (reply("302 Found", b"", f"Location: http://127.0.0.1:1/{KEY}"), "a redirect, which is not followed"),
}


@pytest.mark.parametrize("name", slow_after(3, REFUSALS))
def test_a_refusal_of_everything_is_met_once(name: str, demo: list[Conversation], tmp_path: Path) -> None:
    raw, reason = REFUSALS[name]
    with ModelServer(lambda _number, _body: raw) as server:
        outcome = run(server, demo[:4], tmp_path, concurrency=2)
        assert server.calls == 1
    assert outcome.stopped is not None
    assert reason in outcome.stopped
    accounted(outcome, demo[:4], tmp_path)


def test_other_refusals_are_not_the_schema_s(demo: list[Conversation], tmp_path: Path) -> None:
    with ModelServer(lambda _number, _body: reply("400 Bad Request", error("too long"))) as server:
        outcome = run(server, demo[:1], tmp_path, concurrency=1)
        assert server.calls == 8
    assert "status 400 (too long)" in outcome.skipped[0].reason


@pytest.mark.slow
def test_fewer_at_once_after_429(demo: list[Conversation], tmp_path: Path) -> None:
    under_way: list[int] = []

    def at_most_three(_number: int, _body: Json) -> bytes | float:
        under_way.append(server.under_way)
        return reply("429 Too Many Requests", error("busy")) if server.under_way > 3 else 0.005

    with ModelServer(at_most_three) as server:
        outcome = run(server, demo[:6], tmp_path, concurrency=32)
    assert outcome.skipped == ()
    refused = sum(count > 3 for count in under_way)
    # Without adapting, 29 of 32 at once would be refused, again and again.
    assert refused < len(under_way) / 2


def test_a_placeholder_for_a_key_changes_no_answer(demo: list[Conversation], tmp_path: Path) -> None:
    """Local servers are given keys such as none, which are words of answers too."""
    drafts = json.dumps({"drafted_response": "I feel none of it, and say so."})
    with ModelServer(lambda _number, _body: said(drafts)) as server:
        where = endpoint("local", base_url=server.url + "?version=feel", api_key="none")
        run_sync(TASK, demo[:1], AttuneBenchSettings("m"), where, output=tmp_path)
    (made,) = load_runs(tmp_path)
    assert {turn.em_drafted_response for turn in made.turns} == {"I feel none of it, and say so."}


def test_calls_that_are_made_once_more_are_among_those_expected(demo: list[Conversation], tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    with ModelServer(lambda number, body: said("?") if number % 2 else said(answer_to(body))) as server:
        where = endpoint("local", base_url=server.url)
        watch = lambda meter: seen.append((meter.responses, meter.calls))  # noqa: E731
        outcome = run_sync(
            TASK,
            demo[:1],
            AttuneBenchSettings("m"),
            where,
            output=tmp_path,
            options=RunOptions(concurrency=1),
            watch=watch,
        )
    assert outcome.meter.responses == outcome.meter.calls == server.calls > 26
    assert all(answers <= calls for answers, calls in seen)


def test_nothing_of_the_key_in_a_traceback(demo: list[Conversation], tmp_path: Path) -> None:
    def bug(_meter: object) -> None:
        raise ArithmeticError("a bug")

    where = endpoint("local", base_url="http://user:pass-SECRET@127.0.0.1:1/v1?token=query-SECRET", api_key=KEY)
    (tmp_path / "one").write_text("")
    try:
        run_sync(TASK, demo[:1], AttuneBenchSettings("m"), where, output=tmp_path / "runs", watch=bug)
    except ArithmeticError as caught:
        told = traceback.TracebackException.from_exception(caught, capture_locals=True)
        text = "".join(told.format())
    assert "a bug" in text
    assert not [secret for secret in (KEY, "pass-SECRET", "query-SECRET") if secret in text]


@pytest.mark.parametrize(
    "name", slow_except(["429", "500", "503", "error in a success", "reset", "401", "redirect"], "reset", "redirect")
)
def test_the_command_line_tells_no_key(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCAL_API_KEY", KEY)
    fault: Fault = (lambda _n, body: PASSING[name](body)) if name in PASSING else (lambda _n, _b: REFUSALS[name][0])
    out, err = io.StringIO(), io.StringIO()
    with ModelServer(fault) as server, redirect_stdout(out), redirect_stderr(err):
        url = server.url.replace("http://", f"http://user:{KEY}@") + f"?token={KEY}"
        options = [f"--base-url={url}", f"--output={tmp_path / 'runs'}", "--limit=1", "--call-timeout=0.6"]
        with pytest.raises(SystemExit) as stopped:
            main(["run", "local", "m", "demo", *options])
        assert f"Authorization: Bearer {KEY}".encode() in server.headers
        assert f"?token={KEY}".encode() in server.headers
    assert stopped.value.code == 1
    assert "Traceback" not in err.getvalue()
    assert KEY not in out.getvalue() + err.getvalue()
    listed = json.loads(next((tmp_path / "runs").glob("_skipped*")).read_bytes())
    assert f"--base-url {server.url} " in listed["command"] + " "
