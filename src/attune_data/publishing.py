"""Publishing records: their schema, their card, and the upload.

The card of a published data set
--------------------------------
The card says what the data set contains, its licence, and how to load it. It shows counts and canaries of the records
only, no text of a participant.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from attune_data.collection import Collection, Kind
from attune_data.columns import RECORDS_TABLE, Column
from attune_data.io.hub import client, is_commit, is_offline, is_token, redacted, timeout, trouble
from attune_data.issues import PublishError, shown
from attune_data.kinds import KINDS
from attune_data.licences import Benchmark, Licence, Publishing, canary, permitted
from attune_data.query import count_people
from attune_data.record import is_generated
from attune_data.tables import Frames
from attune_data.text import did_you_mean, plural, sanitize

if TYPE_CHECKING:
    import polars as pl
    from huggingface_hub import DatasetCard, HfApi
    from huggingface_hub.hf_api import DatasetInfo


def dataset_card(
    repo_id: str,
    kind: Kind[Any, Any],
    records: Sequence[Any],
    frames: "Mapping[str, pl.LazyFrame]",
    licence: Licence,
    benchmarks: Sequence[Benchmark],
) -> "DatasetCard":
    """Return the card of a repository, read back by the Hub's own class.

    Parameters
    ----------
    repo_id : str
        ``owner/name``.
    kind : Kind
        What the records are.
    records : sequence
        The records.
    frames : mapping of str to polars.LazyFrame
        The tables by name; each with a row is a config that is loaded from ``<name>.parquet``.
    licence : Licence
        The licence of the publication.
    benchmarks : sequence of Benchmark
        The benchmarks that own the data.
    """
    import polars as pl
    from huggingface_hub import DatasetCard, DatasetCardData

    rows = {name: frame.select(pl.len()).collect().item() for name, frame in frames.items()}
    name = repo_id.partition("/")[2]
    default = next(name for name in (*kind.tables.names, "records") if name in rows)
    # The library datasets cannot load a config without a row.
    filled = [config for config in rows if rows[config]]
    split = _split(records)
    configs: list[dict[str, Any]] = [
        {"config_name": config, "data_files": [{"split": split, "path": f"{config}.parquet"}]} for config in filled
    ]
    configs[filled.index(default)]["default"] = True
    data = DatasetCardData(
        license=licence.id,
        pretty_name=name,
        size_categories=_size(rows[default]),
        tags=["attune-bench", "emotional-intelligence", "evaluation"],
        configs=configs,
    )
    body = [
        f"# {name}",
        _summary(kind, records, rows),
        *_synthetic(records),
        *_request(kind, records),
        *_licence_section(licence, benchmarks),
        *_contents(kind.tables, rows),
        *_use(repo_id, kind, default, split),
        *_fields(kind.tables, frames),
    ]
    return DatasetCard(f"---\n{data.to_yaml()}\n---\n\n" + "\n\n".join(body) + "\n")


def _split(records: Sequence[Any]) -> str:
    """Return the split of the Hub: ``train`` where every record says so of itself, else ``test``.

    Without a split in the card all files would be of the split ``train``, as which data for evaluation are not meant.
    """
    return "train" if {getattr(record, "split", None) for record in records} == {"train"} else "test"


def _size(rows: int) -> str:
    """Return the Hub's size category.

    Examples
    --------
    >>> [_size(rows) for rows in (999, 1000, 2_000_000)]
    ['n<1K', '1K<n<10K', '1M<n<10M']
    """
    bounds = {10**3: "1K", 10**4: "10K", 10**5: "100K", 10**6: "1M", 10**7: "10M"}
    if rows < 10**3:
        return "n<1K"
    between = (f"{low}<n<{high}" for (_, low), (bound, high) in pairwise(bounds.items()) if rows < bound)
    return next(between, "n>10M")


def _summary(kind: Kind[Any, Any], records: Sequence[Any], rows: Mapping[str, int]) -> str:
    parts = [plural(len(records), kind.noun, kind.plural)]
    people = count_people(getattr(record, "participant_id", None) for record in records)
    parts += [plural(people, "participant")] if people else []
    parts += [plural(rows[table], noun) for table, noun in kind.tables.counted.items() if rows.get(table)]
    return f"{', '.join(parts)}. Made with the library attune-bench."


def _synthetic(records: Sequence[Any]) -> list[str]:
    count = sum(map(is_generated, records))
    if not count:
        return []
    which = "Every record says" if count == len(records) else f"{count} of the {len(records)} records say"
    return [f"**Synthetic data.** {which} of itself that it was generated: no person wrote or annotated it."]


def _request(kind: Kind[Any, Any], records: Sequence[Any]) -> list[str]:
    if kind.request is None:
        return []
    found = canary(records)
    longest = max(map(len, re.findall("`+", "".join(found.texts))), default=0)
    fence = "`" * max(3, longest + 1)
    which = "The canary of the data" if found.is_own else "The data have no canary of their own; this one stands in"
    return [
        "## Please do not train on these data",
        kind.request,
        f"{which}:",
        "\n".join([f"{fence}text", *map(sanitize, found.texts), fence]),
    ]


def _licence_section(licence: Licence, benchmarks: Sequence[Benchmark]) -> list[str]:
    sources = [
        f"Contains data of {benchmark.name}, published by its authors under [{benchmark.licence.title}]"
        f"({benchmark.licence.url}): {benchmark.attribution}. Changed: what loading corrected, older spellings "
        "too, and the tables that are made of the records."
        for benchmark in benchmarks
    ]
    own = "A licence that a record states of itself is in the record."
    return ["## Licence", f"[{licence.title}]({licence.url}). {own}", *sources]


def _contents(tables: type[Frames], rows: Mapping[str, int]) -> list[str]:
    lines = [f"| `{name}` | {count:,} | {_about(tables, name)} |" for name, count in rows.items() if count]
    table = "\n".join(["| config | rows | content |", "| --- | ---: | --- |", *lines])
    empty = ", ".join(f"`{name}.parquet`" for name, count in rows.items() if not count)
    return ["## Configs", table, *([f"Without a row, and so no config: {empty}."] if empty else [])]


def _about(tables: type[Frames], table: str) -> str:
    if table == "records":
        return "One row a record: all of it, as JSON, nothing left out."
    return (getattr(tables, table).__doc__ or "").partition("\n")[0]


def _use(repo_id: str, kind: Kind[Any, Any], default: str, split: str) -> list[str]:
    loader = kind.loader
    code = [
        "```python",
        f"from attune_data import {loader}  # pip install attune-bench",
        "",
        f'records = {loader}("hf://{repo_id}")',
        "",
        "from datasets import load_dataset  # pip install datasets",
        "",
        f'{default} = load_dataset("{repo_id}", "{default}", split="{split}")',
        "```",
    ]
    return ["## Use", "\n".join(code)]


def _fields(tables: type[Frames], frames: "Mapping[str, pl.LazyFrame]") -> list[str]:
    parts = ["## Fields"]
    meanings = {**tables.meanings(), "records": RECORDS_TABLE}
    for table, frame in frames.items():
        lines = [
            f"| `{column}` | {_type(dtype)} | {meanings[table][column].description} |"
            for column, dtype in frame.collect_schema().items()
        ]
        parts += [f"### `{table}`", "\n".join(["| column | type | meaning |", "| --- | --- | --- |", *lines])]
    return parts


def _type(dtype: "pl.DataType") -> str:
    import polars as pl

    if isinstance(dtype, pl.Enum):
        return " or ".join(f"`{value}`" for value in dtype.categories)
    return f"list of {_type(dtype.inner)}" if isinstance(dtype, pl.List) else str(dtype).lower()  # type: ignore[arg-type]


# In the order of the card. What was published before and is not written any more is deleted.
_NAMES = [name for kind in KINDS for name in kind.tables.names]
_OURS = [f"{name}.parquet" for name in dict.fromkeys((*_NAMES, "records"))]


def publish(collection: Collection[Any], repo_id: str, *, licence: str, private: bool = True) -> str:
    """Publish a collection as a data set of the Hugging Face Hub, in one commit.

    The repository has what `to_parquet` writes, every table as a config that ``datasets.load_dataset(repo_id,
    "turns")`` loads, the default being the first table, and ``records``, from which the loader of ``hf://owner/name``
    gives equal records; and a card: fields, counts, licence, how to load it, what the authors of the benchmark ask for.
    The token comes from ``hf auth login`` or ``HF_TOKEN``; ``HF_ENDPOINT`` is asked if it is set.

    Parameters
    ----------
    collection : Collection
        What to publish.
    repo_id : str
        ``owner/name``. It is created if it does not exist; else the card and the tables are replaced, tables of an
        earlier publication that are not written any more are deleted, and other files stay.
    licence : str
        What the data are published under: an id of the Hub, for instance ``cc-by-4.0``, that
        ``codebook/publishing.toml`` describes.
    private : bool
        Who sees a repository that is created: its owner, or everybody. With True an existing one that is public
        is refused; an existing private one stays private.

    Returns
    -------
    str
        ``hf://owner/name@commit``, which the loader takes.

    Raises
    ------
    PublishError
        If the licence that a record states, or the licence of its benchmark, does not allow this one (see
        `attune_data.licences.permitted`), or the repository cannot be written. One that was created is deleted then.

    Examples
    --------
    >>> from attune_data import Conversations, PublishError, load
    >>> own = load("demo")[0].model_copy(update={"licence": "CC BY-NC 4.0"})
    >>> try:
    ...     publish(Conversations([own]), "owner/name", licence="mit")
    ... except PublishError as error:
    ...     print(str(error).partition(": ")[2].partition(";")[0])
    it is under cc-by-nc-4.0, which does not allow publishing under 'mit'
    """
    import polars as pl
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete

    _check_name(repo_id)
    if not len(collection):
        raise PublishError(f"nothing to publish as {repo_id}: the collection is empty")
    chosen, benchmarks = permitted(collection, licence)
    check_writable(repo_id)
    with TemporaryDirectory() as temporary:
        folder = Path(temporary, "tables")
        collection.to_parquet(folder)
        paths = sorted(folder.iterdir(), key=lambda path: _OURS.index(path.name))
        frames = {path.stem: pl.scan_parquet(path) for path in paths}
        card = str(dataset_card(repo_id, collection.kind, collection, frames, chosen, benchmarks))
        with _created(repo_id) as created, writing(repo_id) as api:
            before = _repository(api, repo_id, private=private, created=created)
            there = {file.rfilename for file in before.siblings or ()}
            gone = there.intersection(_OURS).difference(path.name for path in paths)
            commit = api.create_commit(
                repo_id,
                [
                    CommitOperationAdd("README.md", card.encode()),
                    *(CommitOperationAdd(path.name, path) for path in paths),
                    *(CommitOperationDelete(name) for name in sorted(gone)),
                ],
                commit_message=f"Publish {plural(len(collection), 'record')} with attune-bench",
                repo_type="dataset",
                parent_commit=before.sha,
            )
            if not is_commit(commit.oid):
                raise LookupError("its commit is no hash")
    return f"hf://{repo_id}@{commit.oid}"


def check_writable(repo_id: str) -> None:
    """Raise a `PublishError` where nothing can be written to a repository: its name is none, no token, no network."""
    from huggingface_hub import get_token

    _check_name(repo_id)
    token = get_token()
    if token is None or not is_token(token):
        what = "needs a token of the Hub" if token is None else "needs a token, and this has a character that none has"
        raise PublishError(f"writing to {repo_id} {what}: hf auth login, or set HF_TOKEN")
    if is_offline():
        raise PublishError(f"writing to {repo_id} needs the network, and HF_HUB_OFFLINE is set")


@contextmanager
def writing(repo_id: str) -> Iterator["HfApi"]:
    """Give the client library to write to a repository; what goes wrong is one `PublishError`.

    Uploads are small and go by HTTP: the program that uploads to the Hub's storage Xet is not tested here.
    """
    from huggingface_hub import constants

    uses_no_xet, constants.HF_HUB_DISABLE_XET = constants.HF_HUB_DISABLE_XET, True
    try:
        with _explained(repo_id):
            yield client()
    finally:
        constants.HF_HUB_DISABLE_XET = uses_no_xet


def _check_name(repo_id: str) -> None:
    """Refuse a name that is not ``owner/name``; the finer rules for names are the client library's."""
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", str(repo_id), re.ASCII):
        inner = re.search(r"[\w.-]+/[\w.-]+$", str(repo_id), re.ASCII)
        hint = f"; did you mean {inner[0]!r}?" if inner else ""
        raise PublishError(f"{shown(repo_id)} is not the name of a repository, owner/name{hint}")


@contextmanager
def _created(repo_id: str) -> Iterator[list[str | None]]:
    """Yield the list of the first commits of a repository that is created here, empty where it is not.

    Where the writing fails, the repository that was created is deleted, unless it has another commit by now: the answer
    to a commit may be lost although the commit came.
    """
    first: list[str | None] = []
    try:
        yield first
    except BaseException as error:
        left = _deleted(repo_id, first[-1]) if first else ""
        if left and isinstance(error, PublishError):
            raise PublishError(f"{error}; {left}") from None
        raise


def _deleted(repo_id: str, commit: str | None) -> str:
    """Delete a repository that has this commit alone; return a sentence about the remains."""
    try:
        with writing(repo_id) as api:
            now = commit and api.dataset_info(repo_id, timeout=timeout()).sha
            if now != commit:
                return f"but the repository has a commit of what was sent, hf://{repo_id}@{now}"
            api.delete_repo(repo_id, repo_type="dataset", missing_ok=True)
    except PublishError:
        return "the empty repository that was created for it could not be deleted: delete it on the Hub"
    return ""


def _repository(api: "HfApi", repo_id: str, *, private: bool, created: list[str | None]) -> "DatasetInfo":
    """Return the repository as it is; one that was not there is created, and its first commit added to `created`."""
    from huggingface_hub.errors import RepositoryNotFoundError

    try:
        found = api.dataset_info(repo_id, timeout=timeout())
    except RepositoryNotFoundError:
        api.create_repo(repo_id, repo_type="dataset", private=private)
        created.append(None)
        made = api.dataset_info(repo_id, timeout=timeout())
        created.append(made.sha)
        return made
    if private and not found.private:
        raise PublishError(f"{repo_id} is public: private=False publishes there, or make it private before")
    return found


_ANSWERS = {
    401: "the Hub does not accept the token; hf auth login, or set HF_TOKEN to a valid one",
    403: "the token may not write there; it needs write permission for this owner",
    409: "the name is taken by a repository that the token cannot see, or somebody else writes to it now",
    412: "it was changed while this was published, and is as that change left it; publish again",
}


@contextmanager
def _explained(repo_id: str) -> Iterator[None]:
    """Turn what the client library raises into one error that says what to do."""
    import httpx2
    from huggingface_hub.errors import HfHubHTTPError

    try:
        yield
    except PublishError:
        raise
    except (
        *(OSError, RuntimeError, ValueError, httpx2.HTTPError, httpx2.InvalidURL),
        # What the client library raises where a server answers that is no Hub.
        *(LookupError, TypeError, AttributeError, AssertionError),
        ImportError,  # A proxy of SOCKS needs a package.
    ) as error:
        # Errors of an upload come wrapped.
        cause = error.__cause__ if type(error) is RuntimeError and error.__cause__ else error
        if isinstance(cause, HfHubHTTPError):
            status = cause.response.status_code
            said = f"the Hub answered {status} {_line(cause.server_message or '')[:200]}".strip()
            why = _ANSWERS.get(status, said)
        elif isinstance(cause, ImportError) or (
            isinstance(cause, ValueError) and not isinstance(cause, json.JSONDecodeError | UnicodeError)
        ):
            why = _line(cause)[:300]
        else:
            why = trouble(cause)
        raise PublishError(f"{repo_id} was not published: {why}") from None


def _line(text: object) -> str:
    """Return a text in which the Hub may have a say as one line without the token."""
    return sanitize(" ".join(redacted(str(text)).split()))


_MODELS: Mapping[str, Any] = {
    **{kind.noun: kind.model for kind in KINDS},
    **{name: model for kind in KINDS for name, model in kind.codebook_files.items()},
    "publishing": Publishing,
}

SCHEMA_KINDS = tuple(_MODELS)
"""What `json_schema` describes: kinds of record, then files of the codebook."""

TABLE_SCHEMA_KINDS = tuple(kind.noun for kind in KINDS)
"""What `table_schema` describes."""


def json_schema(kind: str) -> dict[str, Any]:
    """Return the JSON Schema of a kind of record, or of a file of the codebook.

    It describes files in current spelling: the names that they use, null where null is read, unknown keys allowed in a
    record. Older spellings, which loading translates, are not in it, nor is what compares one value with another, such
    as a reference to another table.

    Parameters
    ----------
    kind : str
        One of `SCHEMA_KINDS`: a kind of record, such as ``conversation``, ``run`` or ``scenario``, or a file of the
        codebook (``codebook``, ``subsets``, ``instruments``, ``diagnoses``, ``scenes``, ``publishing``).

    Returns
    -------
    dict
        A schema of JSON Schema 2020-12, a description at every field.

    Raises
    ------
    ValueError
        The kind is not one of these.

    Examples
    --------
    >>> schema = json_schema("run")
    >>> schema["required"]
    ['conversationId', 'em_model']
    >>> schema["properties"]["api_cost"]["description"]
    'Cost of all calls, USD.'
    """
    if kind not in SCHEMA_KINDS:
        raise ValueError(f"no schema of {kind!r}; {did_you_mean(kind, SCHEMA_KINDS)}")
    schema = TypeAdapter(_MODELS[kind]).json_schema(schema_generator=_Generator)
    return {"$schema": GenerateJsonSchema.schema_dialect, **_plain(schema)}


class _Generator(GenerateJsonSchema):
    """Leaves out what only Python needs: titles made of names, defaults of absent keys, examples of code."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002  # what the base class asks
        return False

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        described = super().default_schema(schema)
        if not isinstance(described.get("default"), str) or not described["default"]:
            described.pop("default", None)
        return described

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        described = super().model_schema(schema)
        if "description" in described:
            first = described["description"].partition("\n\n")[0]
            described["description"] = " ".join(first.replace("``", "`").split())
        return described


def _plain(node: Any) -> Any:
    """Return a schema with alternatives as types: validators word errors of a type better than of an alternative."""
    if isinstance(node, list):
        return [_plain(item) for item in node]
    if not isinstance(node, dict):
        return node
    node = {key: _plain(value) for key, value in node.items()}
    choices = node.pop("anyOf", None)
    if choices is None:
        return node
    # An integer is a number.
    choices = [one for one in choices if one.get("type") != "integer" or {**one, "type": "number"} not in choices]
    null = {"type": "null"}
    match [one for one in choices if one != null]:
        case [{"type": kind} as only] if null in choices:
            values = {"enum": [*only["enum"], None]} if "enum" in only else {}
            return {**node, **only, "type": [kind, "null"], **values}
        case [only] if null not in choices:
            return {**node, **only}
    return {**node, "anyOf": choices}


def table_schema(kind: str) -> dict[str, dict[str, dict[str, Any]]]:
    """Return the columns of every table of a kind of record, as `to_arrow` and `to_parquet` write them.

    Parameters
    ----------
    kind : str
        One of `TABLE_SCHEMA_KINDS`, such as ``conversation``. Runs have the table ``runs``, and the others beside their
        conversations: ``runs.joined(conversations)``.

    Returns
    -------
    dict of str to dict
        By table and column, in order: ``type``, the Arrow type; ``values``, a closed list; ``low`` and
        ``high``, where numbers have a range; ``null``, whether null occurs; ``description``; ``source``, the key in the
        record's JSON, or what the column is computed of.

    Raises
    ------
    ValueError
        The kind is not one of these.

    Examples
    --------
    >>> intensity = table_schema("conversation")["mood_tags"]["intensity"]
    >>> intensity["type"], intensity["low"], intensity["high"], intensity["null"], intensity["description"]
    ('int8', 1, 7, True, 'Intensity, 1-7, or null where it was not given.')
    """
    if kind not in TABLE_SCHEMA_KINDS:
        raise ValueError(f"no tables of {kind!r}; {did_you_mean(kind, TABLE_SCHEMA_KINDS)}")
    (known,) = [one for one in KINDS if one.noun == kind]
    joined = {} if known.joined is None else known.joined.meanings()
    tables = {"records": RECORDS_TABLE, **known.tables.meanings(), **joined}
    return {table: {name: _described(column) for name, column in columns.items()} for table, columns in tables.items()}


def _described(column: Column) -> dict[str, Any]:
    import polars as pl

    dtype = column.dtype
    values = {"values": dtype.categories.to_list()} if isinstance(dtype, pl.Enum) else {}
    range_ = {name: value for name in ("low", "high") if (value := getattr(column, name)) is not None}
    source = {"source": column.source} if column.source else {}
    return {
        "type": _arrow_type(dtype),
        **values,
        **range_,
        "null": column.null,
        "description": column.description,
        **source,
    }


def _arrow_type(dtype: "pl.DataType") -> str:
    """Return the name that Arrow has for what polars exports a dtype as."""
    import polars as pl

    match dtype:
        case pl.List():
            return f"large_list<{_arrow_type(dtype.inner)}>"  # type: ignore[arg-type]  # an instance, never a class
        case pl.Enum():
            return "dictionary<large_string>"  # The type of the indices depends on the version of polars.
    return {pl.String: "large_string", pl.Float64: "double", pl.Boolean: "bool"}.get(type(dtype)) or str(dtype).lower()
