"""Formulas as MathML, which browsers draw without a library."""

from typing import Any

from latex2mathml.converter import convert

__all__ = ["formula"]


def formula(source: str, language: str, css_class: str, options: Any, md: Any, **_: Any) -> str:  # noqa: ARG001 - of superfences
    """Return a fenced block of LaTeX, ``math``, as MathML."""
    return f'<div class="formula">{convert(source.strip(), display="block")}</div>'
