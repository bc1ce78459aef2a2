"""The command line in a process of its own: the script, pipes, Ctrl-C, encodings, terminals."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from commands import Call, Scored, Spawn, bend

from attune_bench import Scores

Files = tuple[Path, Path]
SLOW = pytest.mark.slow
MAIN = "from attune_bench.cli import main; main()"


@pytest.mark.slow
def test_bars_of_the_demo_are_what_the_output_can_show(
    spawn: Spawn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for encoding, bar, other in (("utf-8", "\u2588", "#"), ("ascii", "#", "\\u2588")):
        monkeypatch.setenv("PYTHONIOENCODING", encoding)
        out = spawn("demo", "--benchmark", "sage").stdout.decode()
        assert 3 * bar in out
        assert other not in out


@pytest.mark.slow
def test_the_installed_script(files: Files) -> None:
    script = Path(sys.executable).with_name("attune-bench")
    done = subprocess.run([script, "validate", files[0]], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"2 conversations loaded" in done.stdout


def _closed() -> int:
    read, write = os.pipe()
    os.close(read)
    return write


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    ["help", "report", *(pytest.param(name, marks=SLOW) for name in ("validate", "score", "compare", "analyze"))],
)
def test_a_closed_pipe_gives_no_traceback(
    spawn: Spawn, files: Files, scores_file: Path, tmp_path: Path, command: str
) -> None:
    data, runs = files
    scores = ("--scores", scores_file, "--resamples", 50)
    arguments: dict[str, tuple[object, ...]] = {
        "validate": (data,),
        "score": ("--results", runs, "--ground-truth", data, "--output", tmp_path / "out.json"),
        **dict.fromkeys(("report", "compare", "analyze"), scores),
    }
    pipe = _closed()
    done = spawn(*(["--help"] if command == "help" else [command]), *arguments.get(command, ()), stdout=pipe)
    os.close(pipe)
    assert done.stderr == b""
    assert done.returncode in (0, 1, 141)


@pytest.mark.slow
def test_a_reader_that_stops_early_gives_no_traceback(make_scores: Callable[..., Scores], tmp_path: Path) -> None:
    # Far more than a pipe holds.
    make_scores([f"vendor/model-{i}" for i in range(60)]).write(tmp_path / "scores.json")
    command = [sys.executable, "-c", MAIN, "stats", "--scores", str(tmp_path / "scores.json"), "--format", "json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stderr
        assert process.stdout.readline() == b"{\n"
        process.stdout.close()
        assert process.stderr.read() == b""


@pytest.mark.slow
def test_ctrl_c_ends_with_130_and_no_traceback(tmp_path: Path, conversations: Scored) -> None:
    # Slow enough that the signal comes in the middle.
    command = [sys.executable, "-c", MAIN, "report", "--scores", str(conversations.scores), "--resamples", "10000000"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        time.sleep(2)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err.strip()) == (130, b"", b"")
    assert list(tmp_path.iterdir()) == []


ENCODINGS = {
    "UTF-8": {},
    "ascii": {"PYTHONIOENCODING": "ascii"},
    "latin-1": {"PYTHONIOENCODING": "latin-1"},
    "C": {"LC_ALL": "C"},
    "C-without-UTF-8": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
}


each_encoding = pytest.mark.parametrize(
    "env",
    # Quick is one that follows from the locale and does not show everything.
    [env if name == "C-without-UTF-8" else pytest.param(env, marks=SLOW) for name, env in ENCODINGS.items()],
    ids=ENCODINGS,
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "format_"),
    [*((name, "table") for name in ENCODINGS), *(("C-without-UTF-8", one) for one in ("markdown", "csv", "json"))],
)
def test_report_where_the_terminal_cannot_show_a_name(spawn: Spawn, scores_file: Path, name: str, format_: str) -> None:
    done = spawn("report", "--scores", scores_file, "--format", format_, "--resamples", 50, env=ENCODINGS[name])
    assert done.stderr == b""
    assert done.returncode == 0
    assert b"64.69" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    "flags", [(), pytest.param(("--format", "json"), marks=pytest.mark.slow)], ids=["text", "json"]
)
@each_encoding
def test_validate_where_the_terminal_cannot_show_a_value(
    spawn: Spawn, files: Files, env: dict[str, str], flags: tuple[str, ...]
) -> None:
    bend(files[0] / "conversation_1.json", conversationWideQuestions={"q3_modelFit": "ещё не знаю 深度"})
    done = spawn("validate", files[0], *flags, env=env)
    assert done.stderr == b""
    assert done.returncode == 0
    assert b"unknown-option" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("flags", [(), pytest.param(("--format", "json"), marks=SLOW)], ids=["text", "json"])
def test_validate_a_file_whose_name_is_no_text(spawn: Spawn, files: Files, flags: tuple[str, ...]) -> None:
    name = os.fsencode(files[0]) + b"/conversation_\xff.json"
    with open(name, "wb") as file:  # noqa: PTH123  # a name that is no text
        file.write(b"{")
    # As in a locale such as en_US.UTF-8.
    done = spawn("validate", files[0], *flags, env={"PYTHONIOENCODING": "utf-8:strict"})
    assert done.stderr == b""
    assert done.returncode == 1


@pytest.mark.slow
@each_encoding
def test_a_mistake_beyond_ascii(spawn: Spawn, env: dict[str, str]) -> None:
    done = spawn("validate", "нет-такого", env=env)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.count(b"\n") == 1


@pytest.mark.slow
def test_no_progress_where_standard_error_is_no_terminal(
    call: Call, files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("attune_bench.cli.output._QUIET_SECONDS", 0.0)
    status, _, err = call("score", "--results", files[1], "--ground-truth", files[0], "--output", tmp_path / "x.json")
    assert (status, err) == (0, "")


def _on_a_terminal(command: list[str], env: dict[str, str]) -> tuple[int, bytes]:
    """Run a command with standard error on a pseudo-terminal; return its status and what was shown there."""
    controller, terminal = os.openpty()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=terminal, env={**os.environ, **env}) as process:
        os.close(terminal)
        shown = b""
        try:
            while read := os.read(controller, 1024):
                shown += read
        except OSError:  # how Linux says that the other end is closed
            pass
        os.close(controller)
    return process.returncode, shown


@pytest.mark.slow
@pytest.mark.parametrize("term", ["xterm", "dumb"])
def test_a_quick_command_shows_no_progress_on_a_terminal(files: Files, term: str) -> None:
    command = [sys.executable, "-c", MAIN, "validate", str(files[0]), "--results", str(files[1])]
    assert _on_a_terminal(command, {"TERM": term}) == (0, b"")


@pytest.mark.slow
def test_a_slow_command_shows_progress_on_a_terminal(files: Files) -> None:
    code = "from attune_bench import cli; from attune_bench.cli import output; output._QUIET_SECONDS = 0.0; cli.main()"
    command = [sys.executable, "-c", code, "validate", str(files[0])]
    status, shown = _on_a_terminal(command, {"TERM": "xterm"})
    assert status == 0
    assert b"reading conversations" in shown


@pytest.mark.slow
def test_making_a_page_shows_its_phases_on_a_terminal(results_csv: Path, tmp_path: Path) -> None:
    code = "from attune_bench import cli; from attune_bench.cli import output; output._QUIET_SECONDS = 0.0; cli.main()"
    page = tmp_path / "page.html"
    command = [sys.executable, "-c", code, "report", "--scores", str(results_csv), "--html", str(page)]
    status, shown = _on_a_terminal(command, {"TERM": "xterm"})
    assert (status, page.exists()) == (0, True)
    assert b"statistics" in shown
    assert b"figures" in shown
