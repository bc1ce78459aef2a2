"""A small study, and somebody who takes part."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from toy_study import Browser, toy_application

from attune_bench.annotate.app import Application


@pytest.fixture
def application(tmp_path: Path) -> Iterator[Application]:
    application = toy_application(tmp_path)
    yield application
    application.store.close()


@pytest.fixture
def ann(application: Application) -> Browser:
    return Browser(application)
