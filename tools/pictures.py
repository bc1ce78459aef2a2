"""Make the pictures of README.md anew: `make pictures`, with Chromium on the path.

The model on a server is the server of the tests, whose answers are of the right form and random.
"""

import random
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from model_server import ModelServer

PICTURES = Path(__file__).parents[1] / "pictures"
COMMAND = [sys.executable, "-m", "attune_bench"]
SHARES = {"lab/large": 0.85, "lab/medium": 0.8, "lab/small": 0.55}


def main() -> None:
    """Run the recipes in an empty folder, and take a picture of the top of each page."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        source = random.Random(0)
        answers = [(model, unit, source.random() < share) for model, share in SHARES.items() for unit in range(80)]
        rows = [f"{model},q{unit},accuracy,{right:d}" for model, unit, right in answers]
        (folder / "results.csv").write_text("\n".join(["model,unit,metric,value", *rows]), encoding="utf-8")
        run(folder, "demo", "--html", "report.html")
        run(folder, "figure", "results.csv", "-o", str(PICTURES / "ranking.png"))
        with ModelServer() as server:
            asked = ("local", "my-model", "demo", "--base-url", server.url, "--limit", "8", "--baselines")
            run(folder, "run", *asked, "--html", "run.html")
        run(folder, "describe", "demo", "--where", "diagnosis=ADHD", "--compare", "--html", "conversations.html")
        shoot(folder / "report.html", 640)
        shoot(folder / "run.html", 560)
        shoot(folder / "conversations.html", 560)


def run(folder: Path, *arguments: str) -> None:
    """Run a command of this project in a folder."""
    subprocess.run([*COMMAND, *arguments], cwd=folder, check=True)  # noqa: S603 - our own command


def shoot(page: Path, height: int) -> None:
    """Take a picture of the top of a page."""
    picture = PICTURES / f"{page.stem}.png"
    flags = ("--headless=new", "--no-sandbox", "--hide-scrollbars", f"--window-size=1280,{height}")
    command = ["chromium", *flags, f"--screenshot={picture}", page.as_uri()]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)  # noqa: S603 - our own page


if __name__ == "__main__":
    main()
