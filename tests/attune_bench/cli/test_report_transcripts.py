"""The option ``--transcripts`` of the command `report`."""

import re
from pathlib import Path

import pytest
from commands import QUICK, Call, Scored
from pages import section

from attune_bench.report import transcripts


@pytest.mark.slow
def test_the_command_writes_the_page_and_what_goes_beside_it(
    call: Call, dialogues: Scored, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transcripts, "_MOST_INLINE", 0)
    page = tmp_path / "page.html"
    given = ("report", "--scores", dialogues.scores, "--html", page, "--results", dialogues.results, "--transcripts")
    status, out, err = call(*given, *QUICK)
    assert (status, err) == (0, "")
    beside = tmp_path / "page-transcripts"
    size = r"\d+ kB"
    assert re.fullmatch(
        rf"{re.escape(str(page))}: {size}, opens in any browser\n"
        rf"{re.escape(str(beside))}: 6 transcripts, {size}; pass it on with the page\n",
        out,
    )
    names = sorted(path.name for path in beside.iterdir())
    text = section(page.read_text(encoding="utf-8"), "Transcripts")
    assert [name for name in names if f"page-transcripts/{name}#transcript-" in text] == names
    (beside / "mine.txt").write_text("mine")
    status, out, err = call(*given, *QUICK)
    assert (status, out) == (2, "")
    assert "has mine.txt, which is no transcript; move it, or choose another --html" in err
    (beside / "mine.txt").unlink()
    monkeypatch.undo()
    status, out, err = call(*given, *QUICK)
    assert (status, err) == (0, "")
    assert f"{beside}: transcripts of an earlier page, which this one does not need; remove them\n" in out


def test_the_command_says_what_transcripts_need(call: Call, tmp_path: Path, conversations: Scored) -> None:
    page = ("--html", tmp_path / "page.html")
    given = ("report", "--scores", conversations.scores, "--transcripts", *QUICK)
    assert "--transcripts shows what was scored; give --results and --data too" in call(*given, *page)[2]
    assert "shows what was scored; give --data too" in call(*given, *page, "--results", "demo")[2]
    assert "give --html FILE too" in call(*given)[2]
    (tmp_path / "table.csv").write_text("model,unit,metric,value\na,q1,hit,1\nb,q1,hit,0\n")
    of_table = ("report", "--scores", tmp_path / "table.csv", "--transcripts", *page)
    assert "scores of a table have no records to show" in call(*of_table)[2]
    assert not (tmp_path / "page.html").exists()
