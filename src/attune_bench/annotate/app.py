"""The web application: a person's screens one by one, each saved at once; everything works without a script."""

import json
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from shutil import rmtree
from threading import Lock
from typing import Any
from urllib.parse import parse_qs, urlsplit

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from attune_bench.annotate import LOG
from attune_bench.annotate.guard import Guard, Limits, cookie, welcome
from attune_bench.annotate.screens import IMPOSSIBLE, Form, Job, Screen, Send, SendError, going_on_past
from attune_bench.annotate.store import NOTHING, Person, Saved, StaleError, Store, StoreError, Value
from attune_bench.annotate.texts import LANGUAGES, Texts

MOST_FIELDS = 500
"""The most fields of a form."""

_FORM = "application/x-www-form-urlencoded"
_UNFINISHED = ".unfinished"  # the folder, within the results, in which they are written

SEE_OTHER = 303
"""The status of an answer to a form: a GET of the page that comes next, so that going back sends no form again."""


@dataclass(frozen=True, slots=True)
class Progress:
    """A person, all of their screens, and what they have answered."""

    person: Person
    texts: Texts
    saved: Mapping[str, Saved]
    screens: Sequence[Screen]

    def state(self, screen: Screen) -> Saved:
        """Return what is saved of a screen."""
        return self.saved.get(screen.key, NOTHING)

    @property
    def done(self) -> int:
        """How many screens the person is done with."""
        return sum(self.state(screen).done for screen in self.screens)

    @property
    def more(self) -> int:
        """How many further screens there may be at most; answers decide about them."""
        return sum(screen.more for screen in self.screens)

    @property
    def total(self) -> int:
        """How many screens there are at most, so that the share that is done never falls while a person goes on."""
        return len(self.screens) + self.more

    def next_key(self) -> str | None:
        """Return the first screen that is not done; None where all are."""
        return next((screen.key for screen in self.screens if not self.state(screen).done), None)


@dataclass(frozen=True, slots=True)
class Visit(Progress):
    """A request of a person."""

    request: Request

    def position(self, key: str) -> int:
        """Return the position of a screen; 404 where the person has no such screen."""
        for position, screen in enumerate(self.screens):
            if screen.key == key:
                return position
        raise HTTPException(404)

    def is_open(self, position: int) -> bool:
        """Tell whether a screen may be answered: all before it are done, or it is done itself."""
        before = self.screens[:position]
        return self.state(self.screens[position]).done or all(self.state(one).done for one in before)


Handler = Callable[[Visit], Awaitable[Response]]


class Application:
    """The pages of one study.

    Parameters
    ----------
    store : Store
        The file of the study.
    job : Job
        What people are asked.
    origin : str
        Where people reach the server: scheme, host and port.
    output : path
        The folder to which the job's results are written: when a person has answered everything, when somebody
        withdraws, and by `export`.
    limits : Limits
        What one browser may send.

    Attributes
    ----------
    asgi : Guard
        The application that a server of ASGI serves.
    cookie_settings : dict
        Of every cookie: scripts and other sites do not have it, and https alone carries it where that is served.
    """

    def __init__(self, store: Store, job: Job, *, origin: str, output: Path, limits: Limits | None = None) -> None:
        self.store = store
        self.job = job
        self.origin = origin
        self.output = output
        self._cookie = cookie(origin)
        self.cookie_settings: dict[str, Any] = {
            "httponly": True,
            "samesite": "strict",
            "secure": origin.startswith("https:"),
        }
        self._exporting = Lock()
        self._exported = -1  # the changes of the store that results have
        self._pages = Environment(
            loader=PackageLoader("attune_bench.annotate"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        own = [
            Route("/enter/{secret}", self._enter, methods=["GET", "POST"]),
            Route("/", self.of_person(self._begin)),
            Route("/screen/{key:path}", self.of_person(self._show), methods=["GET"]),
            Route("/screen/{key:path}", self.of_person(self._save), methods=["POST"]),
            Route("/done", self.of_person(self._done)),
            Route("/language", self.of_person(self._language), methods=["POST"]),
            Route("/withdraw", self.of_person(self._ask_to_withdraw, with_screens=False), methods=["GET"]),
            Route("/withdraw", self.of_person(self._withdraw, with_screens=False), methods=["POST"]),
            Mount("/static", StaticFiles(directory=Path(__file__).parent / "static")),
        ]
        self._pages_served = Starlette(
            routes=own, exception_handlers={HTTPException: self._error, Exception: self._error}
        )
        self.asgi = Guard(self._pages_served, origin, limits or Limits())

    def add_routes(self, routes: Sequence[Route]) -> None:
        """Serve further pages."""
        self._pages_served.router.routes.extend(routes)

    # What pages do.

    def export(self) -> list[Path]:
        """Write the results of everybody in the store; a file that was written before and is not now is deleted.

        A file that cannot be written or deleted is marked as stale. A file of the same name that the study did not
        write stays as it is.

        Returns
        -------
        list of path
            What was written.
        """
        with self._exporting:
            self.output.mkdir(parents=True, exist_ok=True)
            folder = self.output.resolve()
            earlier = {path for path, is_stale in self._exports().items() if is_stale or folder in path.parents}
            written, changes = [], self.store.changes
            with self._unfinished(folder) as unfinished:
                made = {path: path.relative_to(unfinished) for path in self.job.export(self.store, unfinished)}
                for path, name in made.items():
                    target = folder / name
                    if target not in earlier and target.exists():
                        LOG.error("%s is not of this study, and stays as it is: move it away", target)
                        continue
                    target.parent.mkdir(exist_ok=True)
                    self.store.note_copy(str(target), "export")  # Before: else a kill leaves a file that nobody knows.
                    try:
                        path.replace(target)
                    except OSError:  # On Windows a program may keep it open.
                        self.store.mark_stale(str(target))
                    else:
                        written.append(self.output / name)
                self._delete(earlier - {folder / name for name in made.values()})
            self._exported = changes
            return written

    @contextmanager
    def _unfinished(self, folder: Path) -> Iterator[Path]:
        """Make a folder in which results are written before they are noted; what a kill left there is deleted."""
        unfinished = folder / _UNFINISHED
        if unfinished.exists():
            rmtree(unfinished)
        unfinished.mkdir(mode=0o700)
        try:
            yield unfinished
        finally:
            rmtree(unfinished)

    def _exports(self) -> dict[Path, bool]:
        """Return the results that were written, in whatever folder, and whether each is stale."""
        return {Path(copy.path): copy.stale for copy in self.store.copies() if copy.kind == "export"}

    def _delete(self, results: Iterable[Path]) -> None:
        for path in results:
            try:
                path.unlink(missing_ok=True)
            except OSError:
                self.store.mark_stale(str(path))
            else:
                self.store.forget_copy(str(path))

    def withdraw(self, person: Person) -> None:
        """Delete a person and everything of theirs: in the file, its backups and the results that were written.

        Results in another folder, where the study was served before, are deleted. A backup that is not where it was
        written, or cannot be changed, is marked as stale, and so are results that cannot be deleted.
        """
        # Before, as nobody knows whom to delete once the file does not; after, for a backup that was under way.
        self._withdraw_from_backups(person)
        self.store.withdraw(person.id)
        self._withdraw_from_backups(person)
        with self._exporting:  # What was under way may have the person too.
            self._delete(self._exports())  # First: whatever keeps results from being written, the person's are gone.
        try:
            self.export()
        except (OSError, sqlite3.Error) as error:
            LOG.error("the results could not be written: %s", type(error).__name__)

    def _withdraw_from_backups(self, person: Person) -> None:
        for copy in self.store.copies():
            if copy.kind == "backup" and not copy.stale:
                try:
                    with Store(copy.path) as backup:
                        backup.withdraw(person.id)
                except (OSError, StoreError, sqlite3.Error):
                    self.store.mark_stale(copy.path)

    def progress(self, person: Person) -> Progress:
        """Return all screens of a person, and what the person has answered."""
        texts, saved = Texts(person.language), self.store.answers(person.id)
        answers: dict[str, Value] = {key: {} for key in self.store.shown(person.id)}
        screens = self.job.screens(person, answers | {key: one.value for key, one in saved.items()}, texts)
        return Progress(person, texts, saved, screens)

    def everybody(self) -> list[Progress]:
        """Return the progress of everybody whose screens can be made."""
        found: list[Progress] = []
        for person in self.store.people():
            with going_on_past(person):
                found.append(self.progress(person))
        return found

    def page(self, name: str, texts: Texts, *, status: int = 200, **given: Any) -> HTMLResponse:
        """Return a page of a template; every value is escaped."""
        study = self.job.title(texts.language)
        values = {"t": texts, "languages": LANGUAGES, "job": self.job, "study": study, "person": None, **given}
        return HTMLResponse(self._pages.get_template(name).render(values), status)

    def of_person(self, handler: Handler, *, with_screens: bool = True) -> Callable[[Request], Awaitable[Response]]:
        """Return an endpoint that a person's link alone opens."""

        async def endpoint(request: Request) -> Response:
            return await handler(await run_in_threadpool(self._visit, request, with_screens=with_screens))

        return endpoint

    def _visit(self, request: Request, *, with_screens: bool = True) -> Visit:
        secret = request.cookies.get(self._cookie, "")
        person = self.store.person_of(secret)
        if person is None:
            raise HTTPException(403)
        welcome(request, secret)
        if not with_screens:  # Whatever keeps screens from being made, people can withdraw.
            return Visit(person, Texts(person.language), {}, (), request)
        progress = self.progress(person)
        return Visit(progress.person, progress.texts, progress.saved, progress.screens, request)

    def _error(self, request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 500
        person = self.store.person_of(request.cookies.get(self._cookie, "")) if status < 500 else None
        texts = Texts(person.language if person else self.job.languages[0])
        key = {403: "no_link", 404: "no_page"}.get(status, "failed")
        return self.page("message.html", texts, status=status, title=texts(f"{key}_title"), text=texts(key))

    # Pages.

    async def _enter(self, request: Request) -> Response:
        """Show whose link it is by a button, which lets the browser in.

        A page elsewhere can open a link, by which a browser could go on as somebody else; it cannot press the button.
        """
        secret = request.path_params["secret"]
        person = await run_in_threadpool(self.store.person_of, secret)
        if person is None:
            raise HTTPException(403)
        welcome(request, secret)
        if request.method != "POST":
            return self.page("enter.html", Texts(person.language))
        response = RedirectResponse("/", SEE_OTHER)
        response.set_cookie(self._cookie, secret, max_age=90 * 86400, **self.cookie_settings)
        return response

    async def _begin(self, visit: Visit) -> Response:
        key = visit.next_key()
        return RedirectResponse(f"/screen/{key}" if key else "/done", SEE_OTHER)

    async def _show(self, visit: Visit) -> Response:
        position = visit.position(visit.request.path_params["key"])
        if not visit.is_open(position):
            return await self._begin(visit)
        screen = visit.screens[position]
        if not screen.refusal:  # Of a person who refuses, nothing is kept.
            await run_in_threadpool(self.store.show, visit.person.id, screen.key)
        return self._screen(visit, screen, visit.state(screen))

    def _screen(
        self,
        visit: Visit,
        screen: Screen,
        state: Saved,
        *,
        problems: Mapping[str, str] | None = None,
        notice: str = "",
        status: int = 200,
    ) -> Response:
        position = visit.position(screen.key)
        return self.page(
            screen.page,
            visit.texts,
            status=status,
            person=visit.person,
            screen=screen,
            state=state,
            problems=problems or {},
            notice=notice,
            done=visit.done,
            total=visit.total,
            is_at_most=visit.more > 0,
            back=visit.screens[position - 1].key if position else None,
            is_right=screen.is_right(state.value),
        )

    async def _save(self, visit: Visit) -> Response:
        """Save what a form says. A script sends ``save`` after each click and is answered in JSON."""
        form = await self._form(visit)
        position = visit.position(visit.request.path_params["key"])
        if not visit.is_open(position):
            raise HTTPException(404)
        screen, was_done = visit.screens[position], visit.state(visit.screens[position]).done
        action = form.get("action", ["next"])[0]
        revision = _number(form.get("revision", ["0"])[0])
        by_script = visit.request.headers.get("accept") == "application/json"
        if action == "send" and screen.send:
            return await self._send(visit, screen, screen.send, form, by_script=by_script)
        value, problems = screen.read(form)
        if not IMPOSSIBLE.isdisjoint(problems.values()):
            sent = replace(visit.state(screen), value=value | screen.written(form))
            return self._screen(visit, screen, sent, problems=problems, status=422)
        if not screen.can_change:
            value = dict(visit.state(screen).value)
        if action != "undo" and screen.refuses(value):
            return await self._refused(visit, screen, action, by_script=by_script)
        if action == "back" and not revision and not any(value.get(one.name) for one in screen.fields):
            return RedirectResponse(f"/screen/{visit.screens[max(position - 1, 0)].key}", SEE_OTHER)
        wrong = screen.is_check and not screen.is_right(value)
        goes_on = action == "next" and not problems and not wrong
        done = not problems and not wrong and (goes_on or was_done)
        try:
            if action == "undo" and screen.can_change:
                new = await run_in_threadpool(self.store.undo, visit.person.id, screen.key, revision=revision)
            else:
                save = partial(self.store.save, visit.person.id, screen.key, value, revision=revision, done=done)
                new = await run_in_threadpool(save)
        except StaleError:
            if by_script:
                return JSONResponse({"message": visit.texts("stale")}, 409)
            return await self._again(visit, screen, notice=visit.texts("stale"), status=409)
        except KeyError:
            raise HTTPException(403) from None
        if by_script:
            return JSONResponse({"revision": new, "message": visit.texts("saved")})
        if action == "back" and position:
            return RedirectResponse(f"/screen/{visit.screens[position - 1].key}", SEE_OTHER)
        if action == "next" and not goes_on:
            notice = screen.explanation if wrong and not problems else screen.waits or visit.texts("look_again")
            return await self._again(visit, screen, problems=problems, notice=notice, status=422)
        if not goes_on or (screen.expected and not screen.is_check and not was_done):  # Now with the explanation.
            return RedirectResponse(f"/screen/{screen.key}", SEE_OTHER)
        # Which screens follow may depend on the answer.
        response = await self._begin(await run_in_threadpool(self._visit, visit.request))
        response.background = BackgroundTask(self.export) if screen.is_end else None
        return response

    async def _again(self, visit: Visit, screen: Screen, form: Form | None = None, **given: Any) -> Response:
        """Return a screen as it is saved now, with the texts of a form."""
        now = await run_in_threadpool(self._visit, visit.request)
        screen = now.screens[now.position(screen.key)]
        state = now.state(screen)
        return self._screen(now, screen, replace(state, value=state.value | screen.written(form or {})), **given)

    async def _form(self, visit: Visit) -> Form:
        """Return what a form says; 403 for a page of another person, whose link was opened in this browser before."""
        form = await read_form(visit.request)
        if form.get("person", [visit.person.id]) != [visit.person.id]:
            raise HTTPException(403)
        return form

    async def _send(self, visit: Visit, screen: Screen, send: Send, form: Form, *, by_script: bool) -> Response:
        """Do what a job does by the button ``send``; a script is answered by a line of JSON each time there is more."""
        if by_script:
            return StreamingResponse(_lines(send(form), visit.texts), media_type="application/x-ndjson")
        try:
            async for _ in send(form):
                pass
        except SendError as error:
            return await self._again(visit, screen, form, notice=visit.texts(str(error)), status=422)
        return RedirectResponse(f"/screen/{screen.key}#asked", SEE_OTHER)  # what came last

    async def _refused(self, visit: Visit, screen: Screen, action: str, *, by_script: bool) -> Response:
        """Save nothing; when the person goes on with the refusal, delete what was saved before."""
        if by_script:
            return JSONResponse({"revision": visit.state(screen).revision, "message": ""})
        if action != "next":
            return RedirectResponse(f"/screen/{screen.key}", SEE_OTHER)
        if visit.saved:
            await run_in_threadpool(self.withdraw, visit.person)
        return self._farewell(visit.texts, "declined")

    async def _done(self, visit: Visit) -> Response:
        if key := visit.next_key():
            return RedirectResponse(f"/screen/{key}", SEE_OTHER)
        if self._exported != self.store.changes:
            await run_in_threadpool(self.export)
        last = visit.screens[-1].key if visit.screens else None
        return self.page("done.html", visit.texts, person=visit.person, back=last)

    async def _language(self, visit: Visit) -> Response:
        form = await self._form(visit)
        language = form.get("language", [""])[0]
        if language not in self.job.languages:
            raise HTTPException(404)
        await run_in_threadpool(self.store.set_language, visit.person.id, language)
        try:
            came_from = urlsplit(visit.request.headers.get("referer", "")).path
        except ValueError:  # no address
            came_from = ""
        return RedirectResponse(came_from if came_from.startswith("/screen/") else "/", SEE_OTHER)

    async def _ask_to_withdraw(self, visit: Visit) -> Response:
        copies = sorted({(copy.at[:10], copy.kind) for copy in await run_in_threadpool(self.store.copies)})
        return self.page("withdraw.html", visit.texts, person=visit.person, copies=copies)

    async def _withdraw(self, visit: Visit) -> Response:
        await self._form(visit)
        await run_in_threadpool(self.withdraw, visit.person)
        return self._farewell(visit.texts, "withdrawn")

    def _farewell(self, texts: Texts, key: str) -> Response:
        """Return the last page of somebody of whom nothing stays, also in the browser."""
        response = self.page("message.html", texts, title=texts(f"{key}_title"), text=texts(key))
        response.delete_cookie(self._cookie, **self.cookie_settings)
        return response


async def read_form(request: Request) -> Form:
    """Return what a form says, every value of every name; 415 for a form with files, 413 for too many fields."""
    if request.headers.get("content-type", _FORM).partition(";")[0].strip().lower() != _FORM:
        raise HTTPException(415)
    body = (await request.body()).decode("utf-8", "replace")
    try:
        return parse_qs(body, keep_blank_values=True, max_num_fields=MOST_FIELDS)
    except ValueError:
        raise HTTPException(413) from None


async def _lines(texts_so_far: AsyncIterator[str], texts: Texts) -> AsyncIterator[str]:
    """Yield lines of JSON: ``text``, all that has come so far, and in the end ``done``, or ``message`` if it failed."""
    try:
        async for text in texts_so_far:
            yield json.dumps({"text": text}) + "\n"
    except SendError as error:
        yield json.dumps({"message": texts(str(error))}) + "\n"
    else:
        yield json.dumps({"done": True}) + "\n"


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
