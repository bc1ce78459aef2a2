"""Addresses of data sets on the Hugging Face Hub: ``hf://owner/name[@revision][/path]``."""

import re
from dataclasses import dataclass
from typing import TypeGuard
from urllib.parse import quote, unquote

from attune_data.issues import SourceError
from attune_data.text import printable

__all__ = ["Address", "is_address", "is_commit", "parse_address"]

_FORM = "hf://owner/name, hf://owner/name@revision or hf://owner/name@revision/folder"
_ADDRESS = re.compile(
    r"hf://(?:datasets/)?(?!(?:datasets|models|spaces|kernels|buckets)/)(?P<repo>[\w.-]+/[\w.-]+)"
    r"(?:@(?P<revision>refs/(?:convert|pr)/[^/@]+|[^/@]+))?(?:/(?P<path>[^@]*))?"
)
# As git has it, which keeps the name of one within the folder of the cache.
_REVISION = re.compile(
    r"(?!.*(?:\.\.|//|/\.))[^./\x00-\x20\x7f\\:?*~^\[\ud800-\udfff][^\x00-\x20\x7f\\:?*~^\[\ud800-\udfff]*(?<!/)"
)
_PAGE = re.compile(
    r"https?:/+(?:huggingface\.co|hf\.co)/+(?:datasets/)?([^/]+/[^/?]+)(?:/(?:tree|blob|resolve)/([^/?]+)(/[^?]*)?)?/*(?:\?.*)?"
)


@dataclass(frozen=True, slots=True)
class Address:
    """What ``hf://owner/name[@revision][/path]`` says; `text` is the address as it was given."""

    text: str
    repo: str
    revision: str | None
    path: str


def is_address(source: str) -> bool:
    """Tell whether a source is meant as an address on the Hub, well formed or not."""
    return re.match(r"\s*(?:hf:|https?:/)", source, re.IGNORECASE) is not None


def is_commit(text: object) -> TypeGuard[str]:
    """Tell whether a text is the full hash of a commit."""
    return isinstance(text, str) and re.fullmatch(r"[0-9a-f]{40}", text) is not None


def parse_address(text: str) -> Address:
    """Return the parts of an address; in a revision ``/`` is written ``%2F``.

    Raises
    ------
    SourceError
        Where it is not of that form; names the nearest address that is.
    """
    match = _ADDRESS.fullmatch(text)
    if match is None:
        near = _nearest(text.strip())
        hint = f"did you mean {near}?" if _ADDRESS.fullmatch(near) else f"the form is {_FORM}"
        raise SourceError(f"{text[:200]!r} is not the address of a data set on the Hub; {hint}")
    revision = match["revision"] and unquote(match["revision"])
    if revision and not _REVISION.fullmatch(revision):
        raise SourceError(f"{printable(text[:200])!r}: no branch, tag or commit can have the name {revision[:200]!r}")
    return Address(text, match["repo"], revision, (match["path"] or "").strip("/"))


def _nearest(text: str) -> str:
    if page := _PAGE.fullmatch(text):
        revision = f"@{page[2]}" if page[2] else ""
        return f"hf://{page[1]}{revision}{page[3] or ''}"
    rest = re.sub(r"(?i)^hf:/*(?:datasets/+)?", "", text)
    before, at, after = rest.partition("@")
    parts = [part for part in before.split("/") if part]
    if after and len(parts) > 2:  # The revision comes after the folder.
        return f"hf://{'/'.join(parts[:2])}@{quote(unquote(after), safe='')}/{'/'.join(parts[2:])}"
    return f"hf://{'/'.join(parts)}{at if after else ''}{after}"
