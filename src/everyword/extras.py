"""Optional packages: imported when first needed, with an error that names the extra that brings them."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from everyword.errors import MissingExtra


def need(module: str, *, extra: str) -> ModuleType:
    """Import an optional module or say which extra installs it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtra(
            f"This needs the package {module!r}, which is not installed.",
            fix=f"Run: pip install 'everyword[{extra}]'",
        ) from error
