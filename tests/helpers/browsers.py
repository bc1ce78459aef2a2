"""A browser for tests of pages, with and without scripts, in windows of any width."""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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
        # The window of a headless browser is not narrower than 500 pixels; what the page sees can be.
        metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        return browser

    yield start
    for browser in opened.values():
        browser.quit()


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
