"""Where a result comes from: the code, the machine and the versions that made it."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
_CODE = ("src/recollect", "evals")
_CODE_FILES = {".py", ".sql", ".npz", ".json"}
_PACKAGES = ("recollect", "numpy", "onnxruntime", "tokenizers", "apsw", "PyStemmer")


def code_hash() -> str:
    """Name the code that runs by its content, committed or not."""
    whole = hashlib.sha256()
    for folder in _CODE:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in _CODE_FILES and path.is_file():
                whole.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes())
    return whole.hexdigest()[:16]


def revision() -> str:
    """Name the commit; `+` says that files differ from it."""
    try:
        commit = _git("rev-parse", "--short=12", "HEAD")
        return f"{commit}+" if _git("status", "--porcelain", "--", *_CODE) else commit
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
