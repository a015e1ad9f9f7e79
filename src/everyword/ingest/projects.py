"""Projects: which wing the folder of a coding session belongs to.

A project is a repository, wherever in it somebody works, and its wing has the name of its folder. Each of its events
says in `meta` which path that is, as a digest, so that two projects of one name can be told apart.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from types import MappingProxyType
from typing import Any, NamedTuple

from everyword.ingest.importers.records import as_name, digest
from everyword.storage.protocol import Reader
from everyword.types.events import Filter

MARK = "project"  # the member of meta


class Project(NamedTuple):
    """A project's wing, and the digest of its path."""

    wing: str
    mark: str

    def placed(self, event: Mapping[str, Any]) -> dict[str, Any]:
        """Put an event into the project's wing."""
        return {**event, "wing": self.wing, "meta": {**(event.get("meta") or {}), MARK: self.mark}}


class Projects:
    """The projects of a memory. read: opens it. wings: those that a person chose for a path."""

    def __init__(
        self, read: Callable[[], AbstractContextManager[Reader]], wings: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        self._read = read
        self._wings = wings
        self._known: dict[str, Project] = {}  # by path

    def of(self, folder: str) -> Project | None:
        """Return the project that a folder is in."""
        root = root_of(folder)
        if root is None:
            return None
        if root not in self._known:
            self._known[root] = self._named(root)
        return self._known[root]

    def _named(self, root: str) -> Project:
        """Give a project the wing that it has, or the name of its folder, with its parents' where that is taken."""
        home = _home()
        mark = digest(os.path.join("~", os.path.relpath(root, home)) if _is_in(root, home) else root)
        if root in self._wings:
            return Project(self._wings[root], mark)
        taken = {project.wing for project in self._known.values()}
        parts = [part for part in re.split(r"[/\\]", root) if part]
        names = [as_name("/".join(parts[-count:])) or "" for count in range(1, len(parts) + 1)]
        with self._read() as reader:
            own = reader.page(Filter(meta={MARK: mark}), newest_first=True, limit=1)
            if own and own[0][1].wing:
                return Project(own[0][1].wing, mark)
            free = (name for name in names if name not in taken and not reader.meta_values(MARK, wing=name))
            return Project(next(free, names[-1]), mark)


def root_of(folder: str) -> str | None:
    """Return the root of the repository that a folder is in, or else the folder; None if that is no project's.

    The user's home and what is above it are no project, also where dotfiles are kept in a repository.
    """
    if not os.path.isabs(folder):  # a path of another system
        return folder.rstrip("/\\") or None
    path, home = os.path.normpath(folder), _home()
    if _is_in(home, path):
        return None
    at = path
    while at not in (home, os.path.dirname(at)):
        if os.path.exists(os.path.join(at, ".git")):
            return at
        at = os.path.dirname(at)
    return path


def _home() -> str:
    return os.path.normpath(os.path.expanduser("~"))


def _is_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)
