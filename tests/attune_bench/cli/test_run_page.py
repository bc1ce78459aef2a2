"""`run --html`: asked, scored and shown by one command, which says what the page lacks."""

import sys
from pathlib import Path

import pytest
from commands import Call
from model_server import Json, ModelServer, reply, said

pytestmark = pytest.mark.usefixtures("elsewhere")

RUN = ("run", "local", "m", "demo")


@pytest.mark.slow
def test_a_run_ends_with_its_page(call: Call) -> None:
    with ModelServer() as server:
        asked = (*RUN, "--base-url", server.url, "--limit", 8, "--html", "page.html")
        status, out, err = call(*asked)
        assert (status, err) == (0, "")
        assert "page.html: " in out
        assert "of 8 conversations" not in out
        assert "One model stands alone on the page; --baselines adds models to compare it with" in out
        assert "m has the value " in out.replace("\n", " ")
        assert "next: " not in out, "the page is made, and score would leave out the baselines"
        alone, calls = Path("page.html").read_text(encoding="utf-8"), server.calls
        assert "baseline/prior" not in alone
        status, out, err = call(*asked, "--baselines")
        assert (status, err, server.calls) == (0, "", calls), "nothing is asked twice"
        assert out.startswith("results: 8 runs, one conversation each; all from before, nothing was asked\n")
        assert "--baselines" not in out
        size, said, table = out.split("opens in any browser\n\n")[1].split("\n\n")
        assert size == "SYNTHETIC data of AttuneBench: 8 conversations, 1 model and 3 baselines"
        assert "baseline/prior gives the most frequent answers" in " ".join(said.split())
        ranked = [line.split()[0] for line in table.splitlines()[2:]]
        assert sorted(ranked) == ["baseline/chance", "baseline/lexicon", "baseline/prior", "m"]
        assert len(out.splitlines()) <= 20
        assert "baseline/prior" in Path("page.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_page_of_an_incomplete_run_is_of_the_finished_part(call: Call) -> None:
    too_long = reply("400 Bad Request", '{"error": {"message": "too long"}}')

    def fault(number: int, _body: Json) -> bytes | None:
        return too_long if number > 150 else None

    with ModelServer(fault) as server:
        asked = (*RUN, "--base-url", server.url, "--limit", 8, "--concurrency", 1, "--html", "page.html")
        status, out, err = call(*asked)
    assert (status, Path("page.html").exists()) == (1, True)
    finished = len([*Path("results").glob("[!._]*.json")])
    assert 0 < finished < 8
    assert f"page.html is of {finished} of 8 conversations; the others are not finished" in out
    assert f"{8 - finished} conversations not finished" in err


def test_a_page_of_a_run_needs_no_extra_and_says_why_it_has_no_score(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("altair", "vl_convert"):
        monkeypatch.setitem(sys.modules, name, None)
    with ModelServer() as server:
        asked = ("--benchmark", "eqbench", "--base-url", server.url, "--limit", 1, "--html", "page.html")
        status, out, err = call(*RUN, *asked)
    assert (status, err, Path("page.html").exists()) == (0, "", True)
    why = "m: 1 of 20 questions have a parseable answer, fewer than 83%; no score."
    assert out.endswith(f"\n\nNo model has a value of EQ-Bench score that can be shown.\n\n{why}\n")


def test_there_is_no_page_of_a_run_that_could_not_be_read(call: Call) -> None:
    with ModelServer(lambda *_: said("Hm.")) as server:
        status, _, err = call(*RUN, "--base-url", server.url, "--limit", 1, "--html", "page.html")
    assert (status, Path("page.html").exists()) == (1, False)
    assert "page.html is not written: no answer could be read" in err


def test_there_is_no_page_of_a_run_of_which_nothing_is_finished(call: Call) -> None:
    with ModelServer(lambda *_: reply("401 Unauthorized", "{}")) as server:
        status, _, err = call(*RUN, "--base-url", server.url, "--limit", 1, "--html", "page.html")
    assert (status, Path("page.html").exists()) == (1, False)
    assert "page.html is not written: nothing is finished" in err


def test_too_few_people_for_a_page_are_told_how_to_show_them(call: Call) -> None:
    with ModelServer() as server:
        status, _, err = call(*RUN, "--base-url", server.url, "--limit", 1, "--html", "page.html")
    assert (status, Path("page.html").exists(), Path("results").exists()) == (2, False, True)
    assert "page.html is not written: every model was run on fewer than 5 participants" in err
    report = "try attune-bench report --results results --data demo --html page.html --small-cells\n"
    assert f"whose values are not shown; show them with --small-cells; {report}" in err


def test_a_run_that_stopped_early_is_told_to_go_on(call: Call) -> None:
    refused = reply("401 Unauthorized", "{}")
    with ModelServer(lambda number, _: refused if number > 60 else None) as server:
        asked = ("--base-url", server.url, "--limit", 8, "--concurrency", 1, "--html", "page.html")
        _, _, err = call(*RUN, *asked)
    go_on = "show them with --small-cells; the same command goes on, and writes the page of all; or try attune-bench"
    assert go_on in err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--html", "page.txt"), "--html page.txt does not end in .html; try --html page.html"),
        (("--html", "no/page.html"), "no such folder: no"),
        (("--baselines",), "--baselines is for the page; give --html FILE too"),
        (("--benchmark", "eqbench", "--html", "page.html", "--baselines"), "EQ-Bench v2 has no baselines"),
    ],
)
def test_what_no_page_can_be_is_refused_before_the_first_call(options: tuple[str, ...], words: str, call: Call) -> None:
    with ModelServer() as server:
        status, out, err = call(*RUN, "--base-url", server.url, "--limit", 1, *options)
        assert (status, out, server.calls) == (2, "", 0)
    assert words in err
