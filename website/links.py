"""Full names of this project in code, such as `attune_data.load`, lead to the reference."""

import re
from typing import Any
from xml.etree.ElementTree import Element

from markdown import Markdown
from markdown.extensions import Extension
from markdown.treeprocessors import Treeprocessor

__all__ = ["makeExtension"]

_NAME = re.compile(r"attune_(?:data|metrics|bench)(?:\.\w+)*")
_NOT_WITHIN = {"a", "autoref", "pre", "h1", "h2", "h3", "h4", "h5", "h6"}


class _Links(Treeprocessor):  # type: ignore[misc,unused-ignore]
    def run(self, root: Element) -> None:
        for place, child in enumerate(root):
            if child.tag in _NOT_WITHIN:
                continue
            if child.tag == "code" and _NAME.fullmatch(child.text or ""):
                # mkdocstrings resolves it where the reference has the name, and leaves it out elsewhere.
                link = Element("autoref", {"identifier": str(child.text), "optional": ""})
                link.tail, child.tail = child.tail, None
                link.append(child)
                root[place] = link
            else:
                self.run(child)


class _LinksExtension(Extension):  # type: ignore[misc,unused-ignore]
    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802 - of the base class
        md.treeprocessors.register(_Links(md), "links", 15)


def makeExtension(**_: Any) -> Extension:  # noqa: N802 - the name that Markdown looks for
    """Return the extension."""
    return _LinksExtension()
