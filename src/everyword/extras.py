"""Optional packages: imported when first needed, with an error that names the extra that brings them."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType

from everyword.errors import MissingExtra


@contextmanager
def optional(extra: str) -> Generator[None]:
    """Import optional modules in the block, or say which extra installs them."""
    try:
        yield
    except ImportError as error:
        raise MissingExtra(
            f"This needs the package {error.name!r}, which is not installed.",
            fix=f"Run: pip install 'everyword[{extra}]'",
        ) from error


def need(module: str, *, extra: str) -> ModuleType:
    """Import an optional module or say which extra installs it."""
    with optional(extra):
        return import_module(module)
