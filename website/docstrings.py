"""What the reference shows of docstrings: citations as lists, fields of records with their descriptions."""

import ast
import re
from typing import Any

import griffe

_CITED = re.compile(r"\[(\d+)\]_")
_SOURCE = re.compile(r"^( *)\.\. \[(\d+)\] ", re.MULTILINE)
_LONGEST_VALUE = 120


class Reference(griffe.Extension):  # type: ignore[misc,unused-ignore]
    """Prepare a package for the reference."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Prepare the modules of a package, and list what the package itself exports."""
        _prepare(pkg)
        lines = [_line(pkg, str(name)) for name in pkg.exports or () if not str(name).startswith("_")]
        if pkg.docstring:
            pkg.docstring.value += "\n\n**Names**\n\n" + "\n".join(lines)


def _prepare(parent: griffe.Object) -> None:
    if parent.docstring:
        text = _SOURCE.sub(r"\1\2. ", parent.docstring.value)
        parent.docstring.value = _CITED.sub(r"\\[\1\\]", text)
    for member in parent.members.values():
        if isinstance(member, griffe.Alias):
            continue
        if isinstance(member, griffe.Attribute):
            _prepare_attribute(member)
            if parent.is_class and not member.docstring:
                member.public = False  # the docstring of the class describes it
        _prepare(member)


def _prepare_attribute(attribute: griffe.Attribute) -> None:
    """Take the description of a record's field as its docstring; leave out a value that fills the page."""
    value = str(attribute.value or "")
    if attribute.parent and attribute.parent.is_class and value.startswith("Field("):
        call = ast.parse(value, mode="eval").body
        texts = [key.value for key in getattr(call, "keywords", ()) if key.arg == "description"]
        if texts and isinstance(texts[0], ast.Constant):
            attribute.docstring = griffe.Docstring(str(texts[0].value), parent=attribute)
        attribute.value = None
    elif len(value) > _LONGEST_VALUE:
        attribute.value = None


def _line(package: griffe.Module, name: str) -> str:
    """Return an item of the list of a package's names, with its first sentence."""
    member = package.members[name]
    home = member.target_path if isinstance(member, griffe.Alias) else member.path
    try:
        found = package[home.removeprefix(f"{package.path}.")]
        sentence = found.docstring.value.split("\n\n")[0].replace("\n", " ") if found.docstring else ""
    except KeyError:
        sentence = ""
    return f"- [`{name}`][{home}]" + (f": {sentence}" if sentence else "")
