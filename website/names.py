"""Full names of the packages' modules, functions and classes in the text of pages, as links to the reference."""

import re
from typing import Any
from xml.etree.ElementTree import Element

from markdown import Extension, Markdown
from markdown.treeprocessors import Treeprocessor

__all__ = ["Names", "makeExtension"]

_NAME = re.compile(r"attune_(?:data|metrics|bench)(?:\.\w+)+")


class Names(Extension):  # type: ignore[misc,unused-ignore]
    """Link every full name in inline code, such as `attune_metrics.emotion_f1`, where the reference has it."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802 - of Markdown
        """Add the processor, after inline code is found and before references are resolved."""
        md.treeprocessors.register(_Linker(md), "names", 15)


class _Linker(Treeprocessor):  # type: ignore[misc,unused-ignore]
    def run(self, root: Element) -> None:
        for parent in root.iter():
            if parent.tag in {"a", "autoref", "pre"} or parent.tag in {f"h{level}" for level in range(1, 7)}:
                continue
            for place, child in enumerate(list(parent)):
                if child.tag == "code" and _NAME.fullmatch(child.text or ""):
                    link = Element("autoref", {"identifier": child.text or "", "optional": ""})
                    link.tail, child.tail = child.tail, None
                    parent[place] = link
                    link.append(child)


def makeExtension(**options: Any) -> Names:  # noqa: N802 - of Markdown
    """Return the extension."""
    return Names(**options)
