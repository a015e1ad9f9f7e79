"""Where a result comes from: the code, the machine and the versions that made it."""

from __future__ import annotations

import ast
import hashlib
import os
import platform
import subprocess
from collections.abc import Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PRODUCT = "src/everyword"
# What makes figures of found lines.
SCORING = ("evals/metrics.py", "evals/packing.py", "evals/wording.py", "evals/tasks/planted.py")
_CODE_FILES = {".py", ".sql", ".npz", ".json"}
_PACKAGES = ("everyword", "numpy", "onnxruntime", "tokenizers", "apsw", "PyStemmer")


def code_hash(places: Sequence[str], *more: object) -> str:
    """Name the code in files and folders by what it does, committed or not."""
    whole = hashlib.sha256(repr(more).encode())
    for place in places:
        for path, meaning in _code(place):
            whole.update(path.encode() + b"\0" + meaning)
    return whole.hexdigest()[:16]


def hash_of(*values: object) -> str:
    """Name values by sixteen hex digits of what they look like."""
    return hashlib.sha256(repr(values).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def revision() -> str:
    """Name the commit; `+` says that files differ from it."""
    try:
        commit = _git("rev-parse", "--short=12", "HEAD")
        return f"{commit}+" if _git("status", "--porcelain", "--", PRODUCT, "evals") else commit
    except (OSError, subprocess.SubprocessError):
        return "unknown"


def machine() -> dict[str, Any]:
    """Tell what the times were taken on."""
    return {"system": platform.system(), "processor": _processor(), "cores": os.cpu_count()}


def versions() -> dict[str, str]:
    """Tell the versions of what takes part."""
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


@cache  # a process runs the code that it loaded, whatever happens to the files afterwards
def _code(place: str) -> list[tuple[str, bytes]]:
    found = [ROOT / place] if (ROOT / place).is_file() else sorted((ROOT / place).rglob("*"))
    return [
        (path.relative_to(ROOT).as_posix(), _meaning(path))
        for path in found
        if path.suffix in _CODE_FILES and path.is_file()
    ]


def _meaning(path: Path) -> bytes:
    """Give what must be equal; of an adapter not its comments and layout, since asking a peer again takes long."""
    content = path.read_bytes()
    is_adapter = path.suffix == ".py" and path.is_relative_to(ROOT / "evals")
    return ast.dump(ast.parse(content)).encode() if is_adapter else content


def _git(*command: str) -> str:
    done = subprocess.run(["git", *command], cwd=ROOT, capture_output=True, text=True, check=True, timeout=10)
    return done.stdout.strip()


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
            named = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "")
    except OSError:
        named = platform.processor()
    return named or platform.machine()  # ARM's Linux names no model
