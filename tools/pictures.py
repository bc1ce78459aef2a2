"""Make the pictures of README.md and of docs/collecting.md anew: `make pictures`, with Chromium on the path.

The model on a server is the server of the tests, whose answers are of the right form and random.
"""

import random
import re
import subprocess
import sys
import time
from base64 import b64decode
from pathlib import Path
from tempfile import TemporaryDirectory

from annotating import Patient
from browsers import browsers
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
        shoot_study(folder)


def run(folder: Path, *arguments: str) -> None:
    """Run a command of this project in a folder."""
    subprocess.run([*COMMAND, *arguments], cwd=folder, check=True)  # noqa: S603 - our own command


def shoot(page: Path, height: int) -> None:
    """Take a picture of the top of a page."""
    picture = PICTURES / f"{page.stem}.png"
    flags = ("--headless=new", "--no-sandbox", "--hide-scrollbars", f"--window-size=1280,{height}")
    command = ["chromium", *flags, f"--screenshot={picture}", page.as_uri()]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)  # noqa: S603 - our own page


def shoot_study(folder: Path) -> None:
    """Take pictures of the demo of annotation: a question, on a desk and on a telephone, and the administration."""
    command = [*COMMAND, "annotate", "demo", "--port", "8196"]
    log = folder / "annotate.txt"
    with (
        log.open("w") as out,
        subprocess.Popen(command, cwd=folder, stdout=out, stderr=subprocess.DEVNULL) as served,  # noqa: S603 - our own
        browsers() as start,
    ):
        while "Ctrl-C" not in (printed := log.read_text(encoding="utf-8")):
            time.sleep(1)
        time.sleep(1)
        links = re.findall(r"(http://127.0.0.1:8196)(/(?:admin/)?enter/)(\S+)", printed)
        (origin, enter, first), (_, _, second), (_, enter_admin, administrator) = links
        messages = ("I start a new job on Monday, and I keep thinking that they will find me out.", "It is a lot.")
        Patient(origin, first, messages=messages).answer_all()
        own = {"/screen/turn/1/edited#text": "Starting somewhere new is frightening. What would you fear most?"}
        Patient(origin, second, messages=messages, **own).answer_until("/screen/turn/1/pair/0")
        for name, address, width, height in (
            ("pictures/annotate.png", f"{enter}{second}", 1280, 560),
            ("docs/assets/annotate.webp", f"{enter}{second}", 400, 760),
            ("docs/assets/administration.webp", f"{enter_admin}{administrator}", 1000, 520),
        ):
            browser = start(width)
            browser.get(f"{origin}{address}")
            browser.find_element("css selector", "main button.primary").click()
            while (
                "/enter/" in browser.current_url or browser.execute_script("return document.readyState") != "complete"
            ):
                time.sleep(0.1)
            metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
            browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
            taken = {"format": "webp", "quality": 55} if name.endswith("webp") else {"format": "png"}
            picture = browser.execute_cdp_cmd("Page.captureScreenshot", taken)
            (PICTURES.parent / name).write_bytes(b64decode(picture["data"]))
        served.terminate()


if __name__ == "__main__":
    main()
