"""The TypeScript client: its generated files are current, and its own tests pass against a real service."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys

import pytest
from tools.make_typescript import GENERATOR, PACKAGE, generated

from everyword import __version__

SOURCE = PACKAGE.parent.parent / "src"
needs_node = pytest.mark.skipif(
    shutil.which("node") is None or not GENERATOR.exists(), reason="needs Node.js and: make typescript"
)


@needs_node
def test_the_generated_files_are_what_the_service_describes() -> None:
    for path, text in generated().items():
        assert path.read_text(encoding="utf-8") == text, "run: python tools/make_typescript.py"


@needs_node
@pytest.mark.slow
def test_the_tests_of_the_client_pass() -> None:
    environment = {**os.environ, "EVERYWORD_PYTHON": sys.executable, "PYTHONPATH": str(SOURCE)}
    done = subprocess.run(["npm", "test"], cwd=PACKAGE, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(re.findall(r"^# pass (\d+)$", done.stdout, re.MULTILINE)[0]) >= 13


def test_the_package_is_of_this_version_and_names_no_registry() -> None:
    package = json.loads((PACKAGE / "package.json").read_text(encoding="utf-8"))
    assert package["version"] == __version__
    assert "dependencies" not in package  # the core needs nothing at run time
    lock = (PACKAGE / "package-lock.json").read_text(encoding="utf-8")
    assert not re.search(r'"resolved"', lock)
