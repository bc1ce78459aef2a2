"""A browser for tests of pages, with and without scripts, in windows of any width."""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def browsers() -> Iterator[Callable[..., Any]]:
    """Give what opens a browser of a width, with scripts or without; install one where there is none."""
    if not (shutil.which("chromium") and shutil.which("chromedriver")):
        for command in (["update", "-qq"], ["install", "-y", "-qq", "chromium", "chromium-driver"]):
            subprocess.run(["apt-get", *command], check=True, capture_output=True)  # noqa: S607
    opened: dict[bool, Any] = {}

    def start(width: int = 1280, *, script: bool = True) -> Any:
        if script not in opened:
            opened[script] = _browser(script)
        browser = opened[script]
        browser.get("about:blank")
        browser.get_log("browser")
        resize(browser, width)
        return browser

    yield start
    for browser in opened.values():
        browser.quit()


def resize(browser: Any, width: int) -> None:
    """Let pages see a window of a width."""
    # The window of a headless browser is not narrower than 500 pixels; what the page sees can be.
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def choose_scheme(browser: Any, scheme: str) -> None:
    """Let pages be shown in the light or the dark."""
    media = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": media})


def axe_script(folder: Path) -> str:
    """Return the script of axe-core, a checker of accessibility, which is fetched into a folder."""
    subprocess.run(["npm", "pack", "--silent", "axe-core@4"], cwd=folder, check=True, capture_output=True)  # noqa: S607
    [packed] = folder.glob("*.tgz")
    shutil.unpack_archive(packed, folder, filter="data")
    return (folder / "package" / "axe.min.js").read_text(encoding="utf-8")


def serious_violations(browser: Any, axe: str) -> list[Any]:
    """Return what axe-core finds serious or critical on the page that is open: the rule and the first elements."""
    return _found(_axe_run(browser, axe, ""), {"serious", "critical"})


def violations(browser: Any, axe: str) -> list[Any]:
    """Return all that axe-core finds by WCAG 2.2 (A and AA) and best practice, as `serious_violations` does."""
    tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
    return _found(_axe_run(browser, axe, f", runOnly: {tags}"), {"minor", "moderate", "serious", "critical"})


def _axe_run(browser: Any, axe: str, options: str) -> Any:
    browser.set_script_timeout(120)
    # Of the browser and not of the page, whose policy allows no other script than its own.
    browser.execute_cdp_cmd("Runtime.evaluate", {"expression": axe})
    found = browser.execute_async_script(f"axe.run({{resultTypes: ['violations']{options}}}).then(arguments[0])")
    assert found["passes"]
    return found


def _found(found: Any, impacts: set[str]) -> list[Any]:
    some = [one for one in found["violations"] if one["impact"] in impacts]
    return [(one["id"], [node["html"][:200] for node in one["nodes"][:5]]) for one in some]


def _browser(script: bool) -> Any:
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    for flag in ("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage", "hide-scrollbars"):
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    if not script:
        options.add_experimental_option("prefs", {"profile.managed_default_content_settings.javascript": 2})
    options.binary_location = str(shutil.which("chromium"))
    service = webdriver.ChromeService(executable_path=str(shutil.which("chromedriver")))
    return webdriver.Chrome(options=options, service=service)
