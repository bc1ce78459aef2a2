"""The administration of a study: who is where, links, cost, agreement, and what left the file."""

import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from hmac import compare_digest
from io import BytesIO
from pathlib import Path
from typing import Any, Literal
from warnings import catch_warnings, simplefilter
from zipfile import ZIP_DEFLATED, ZipFile

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from attune_bench.annotate.app import SEE_OTHER, Application, Progress, read_form
from attune_bench.annotate.guard import cookie, welcome
from attune_bench.annotate.screens import Choice, Field, Form, Tags, Text
from attune_bench.annotate.store import COST, NOTHING, Copy, Person, Value, hashed
from attune_bench.annotate.texts import Texts
from attune_metrics.metric import UndefinedMetricWarning
from attune_metrics.stats.agreement import krippendorff_alpha

MOST_ADDED = 200
"""The most people who are added at once."""

_NUMBER = re.compile(r"-?\d+")
_TEXTS = Texts("en")  # The administration is in English, as the commands are.


@dataclass(frozen=True, slots=True)
class Row:
    """What the administrator sees of a person: no answer.

    Attributes
    ----------
    person : Person
        Who answers.
    done, total : int
        Screens; of screens that depend on answers the total has the most that there may be.
    time : str
        Hours and minutes from when screens were first shown until they were answered, with breaks.
    last : str
        When something was saved last, ISO 8601 in UTC; empty for never.
    usd : float, optional
        What models have cost for the person; None where no cost is kept.
    """

    person: Person
    done: int
    total: int
    time: str
    last: str
    usd: float | None


@dataclass(slots=True)
class Agreement:
    """How far people agree in one field.

    Attributes
    ----------
    name, label : str
        The field; the label is empty where screens word it differently.
    level : {"nominal", "ordinal"}
        Ordinal for options that are numbers, in the order in which they are shown.
    ratings : dict
        By what was rated (a unit; of a field with several options a unit and an option): the rating by person.
    """

    name: str
    label: str
    level: Literal["nominal", "ordinal"]
    ratings: dict[tuple[str, str], dict[str, int]] = field(default_factory=dict)

    @property
    def compared(self) -> int:
        """How many ratings of two or more people there are."""
        return sum(len(by_person) > 1 for by_person in self.ratings.values())

    @property
    def people(self) -> int:
        """How many people have a rating that is compared."""
        return len({person for by_person in self.ratings.values() if len(by_person) > 1 for person in by_person})

    @property
    def alpha(self) -> float:
        """Krippendorff's alpha; nan where nothing is compared yet, or all ratings are equal."""
        people = sorted({person for by_person in self.ratings.values() for person in by_person})
        table = [[by_person.get(person) for person in people] for by_person in self.ratings.values()]
        if not self.compared:
            return float("nan")
        with catch_warnings():
            simplefilter("ignore", UndefinedMetricWarning)
            return krippendorff_alpha(table, level=self.level)


def agreement(everybody: Iterable[Progress]) -> list[Agreement]:
    """Return how far people agree so far, for each field of screens about a unit.

    Answers that are done are compared. Of a field in which several options may be chosen, each option is rated as
    chosen or not; texts are not compared.
    """
    found: dict[str, Agreement] = {}
    for progress in everybody:
        for screen in progress.screens:
            if not screen.unit or not progress.state(screen).done:
                continue
            value = progress.state(screen).value
            for one in screen.fields:
                if (rated := _ratings(one, value, is_swapped=screen.is_swapped)) is None:
                    continue
                of = found.setdefault(one.name, Agreement(one.name, one.label, _level(one)))
                if of.label != one.label:
                    of.label = ""
                for part, rating in rated.items():
                    of.ratings.setdefault((screen.unit, part), {})[progress.person.id] = rating
    return list(found.values())


def _level(one: Field) -> Literal["nominal", "ordinal"]:
    if not isinstance(one, Choice) or one.multiple:
        return "nominal"
    return "ordinal" if all(_NUMBER.fullmatch(option.value) for option in one.options) else "nominal"


def _ratings(one: Field, value: Value, *, is_swapped: bool) -> dict[str, int] | None:
    """Return the ratings in a field by option, or under an empty name where one option is chosen."""
    if isinstance(one, Text):
        return None
    options = [option.value for option in one.options]
    said = value.get(one.name)
    if isinstance(one, Tags) or one.multiple:
        return {option: int(option in (said or ())) for option in options}
    if said not in options:
        return None
    return {"": options[::-1].index(said) if is_swapped else options.index(said)}


class Administration:
    """The pages of the administrator, who is let in by a link of this start of the server alone.

    Parameters
    ----------
    application : Application
        The study; these pages are added to its own.
    secret : str
        The secret of the link; the page keeps its hash alone.
    """

    def __init__(self, application: Application, secret: str) -> None:
        self._application = application
        self._store = application.store
        self._link = hashed(secret)
        self._cookie = cookie(application.origin, administrator=True)
        posts = {
            "people": self._add,
            "link": self._renew,
            "export": self._export,
            "download": self._download,
            "backup": self._backup,
            "forget": self._forget,
        }
        application.add_routes(
            [
                Route("/admin/enter/{secret}", self._enter, methods=["GET", "POST"]),
                Route("/admin", self._let_in(self._overview)),
                Route("/admin/agreement", self._let_in(self._agreement)),
                *(Route(f"/admin/{name}", self._let_in(handler), methods=["POST"]) for name, handler in posts.items()),
            ]
        )

    def _let_in(self, handler: Callable[[Form], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            secret = request.cookies.get(self._cookie, "")
            if not compare_digest(hashed(secret), self._link):
                raise HTTPException(403)
            welcome(request, secret)
            return await handler(await read_form(request) if request.method == "POST" else {})

        return endpoint

    async def _enter(self, request: Request) -> Response:
        secret = request.path_params["secret"]
        if not compare_digest(hashed(secret), self._link):
            raise HTTPException(403)
        if request.method != "POST":
            return self._page("admin_enter.html")
        response = RedirectResponse("/admin", SEE_OTHER)
        response.set_cookie(self._cookie, secret, path="/admin", **self._application.cookie_settings)
        return response

    def _page(self, name: str, **given: Any) -> HTMLResponse:
        return self._application.page(name, _TEXTS, **given)

    # Pages.

    async def _overview(self, form: Form) -> Response:
        del form
        return await run_in_threadpool(self._rows_and_copies)

    def _rows_and_copies(self) -> Response:
        rows = [_row(progress) for progress in self._application.everybody()]
        return self._page(
            "admin.html",
            rows=rows,
            finished=sum(0 < row.total == row.done for row in rows),
            usd=self._store.about(COST),
            copies=[
                (copy, advice)
                for copy in self._store.copies()
                if (advice := _advice(copy)) or copy.kind != "export"  # Results that are in their place are no news.
            ],
            withdrawals=self._store.withdrawals(),
            output=self._application.output,
            most=MOST_ADDED,
        )

    async def _agreement(self, form: Form) -> Response:
        del form

        def found() -> list[Agreement]:
            return agreement(self._application.everybody())

        return self._page("admin_agreement.html", fields=await run_in_threadpool(found))

    # What the buttons do.

    async def _add(self, form: Form) -> Response:
        count, language = _first(form, "count"), _first(form, "language")
        if not re.fullmatch("[0-9]{1,3}", count) or not 1 <= int(count) <= MOST_ADDED:
            raise HTTPException(422)
        if language not in self._application.job.languages:
            raise HTTPException(422)
        add = partial(self._store.add_person, language=language)
        return self._links([await run_in_threadpool(add) for _ in range(int(count))])

    async def _renew(self, form: Form) -> Response:
        asked = _first(form, "person")
        person = next((one for one in await run_in_threadpool(self._store.people) if one.id == asked), None)
        if person is None:  # They have withdrawn meanwhile.
            raise HTTPException(404)
        return self._links([(person, await run_in_threadpool(self._store.new_link, person.id))])

    def _links(self, links: Sequence[tuple[Person, str]]) -> Response:
        origin = self._application.origin
        return self._page("admin_links.html", links=[(one, f"{origin}/enter/{secret}") for one, secret in links])

    async def _export(self, form: Form) -> Response:
        del form
        await run_in_threadpool(self._application.export)
        return RedirectResponse("/admin", SEE_OTHER)

    async def _download(self, form: Form) -> Response:
        del form
        name = f"results-{_stamp()}.zip"
        content = await run_in_threadpool(self._zipped, name)
        headers = {"content-disposition": f'attachment; filename="{name}"'}
        return Response(content, media_type="application/zip", headers=headers)

    def _zipped(self, name: str) -> bytes:
        # Noted first: who withdraws while the file is made is told of it, and the administrator too.
        self._store.note_copy(name, "download")
        content = BytesIO()  # In memory, so that no file of answers is left behind.
        with ZipFile(content, "w", ZIP_DEFLATED) as archive:
            for path in self._application.export():
                archive.write(path, path.relative_to(self._application.output))
        return content.getvalue()

    async def _backup(self, form: Form) -> Response:
        del form
        path = self._store.path
        await run_in_threadpool(self._store.backup, path.with_name(f"{path.stem}-{_stamp()}{path.suffix}"))
        return RedirectResponse("/admin", SEE_OTHER)

    async def _forget(self, form: Form) -> Response:
        """Forget a copy that the administrator has deleted; what is still where it was written is deleted."""
        copies = await run_in_threadpool(self._store.copies)
        copy = next((one for one in copies if one.path == _first(form, "path")), None)
        if copy is None or not (copy.kind == "download" or _advice(copy)):
            raise HTTPException(404)
        if copy.kind != "download":
            await run_in_threadpool(partial(Path(copy.path).unlink, missing_ok=True))
        await run_in_threadpool(self._store.forget_copy, copy.path)
        return RedirectResponse("/admin", SEE_OTHER)


def _row(progress: Progress) -> Row:
    states = [progress.state(screen) for screen in progress.screens]
    minutes = timedelta(seconds=sum(state.seconds for state in states)) // timedelta(minutes=1)
    return Row(
        progress.person,
        progress.done,
        progress.total,
        f"{minutes // 60}:{minutes % 60:02}",
        max((state.saved for state in states), default="")[:16].replace("T", " "),
        progress.saved.get(COST, NOTHING).value.get("usd"),
    )


def _advice(copy: Copy) -> str:
    """Return what the administrator should do about a copy; empty for nothing."""
    if copy.stale and copy.kind == "export":
        return "It could not be written anew: close it in other programs, and write the results now."
    if copy.stale and (copy.kind == "download" or Path(copy.path).exists()):
        return "Somebody has withdrawn since: delete that copy, and take a new one."
    if copy.kind == "download" or Path(copy.path).exists():
        return ""
    return "It is no longer there. If it was moved, no withdrawal reaches it: delete it where it is now."


def _first(form: Form, name: str) -> str:
    return form.get(name, [""])[0]


def _stamp() -> str:
    return datetime.now(UTC).strftime("%Y%m%dT%H%M%S%fZ")
