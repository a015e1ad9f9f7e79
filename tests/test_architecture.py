"""The layers of design.md, read from the imports: they point one way, SQL stays in its files, modules stay small."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "recollect"
MODULES = sorted(SOURCE.rglob("*.py"))
MOST_LINES = 1500

# Each part and what it may import of ours, besides itself. Whatever is not named here fails: a new part is a decision.
MAY_IMPORT: dict[str, set[str]] = {
    "core": set(),
    "store": {"core"},
    "inference": {"core"},
    "capture": {"core", "store", "inference"},
    "extract": {"core", "store", "inference"},
    "fold": {"core", "store", "inference"},
    "recall": {"core", "store", "inference"},
    "engine": {"core", "store", "inference", "capture", "extract", "fold", "recall"},
    "facade": {"core", "store", "inference", "capture", "extract", "fold", "recall", "engine"},
    "memory": {"core", "store", "inference", "capture", "extract", "fold", "recall", "engine", "facade"},
    "aio": {"core", "memory"},
    "serial_derived": {"core"},
    "serial": {"core", "memory", "aio", "capture", "serial_derived"},
    "from_json": {"core"},
    "client": {"core", "capture", "memory", "operations", "from_json"},
    "operations": {"core", "memory", "aio", "serial", "capture", "engine"},
    "serve": {"*"},
    "cli": {"*"},
    "hooks": {"*"},
    "adapters": {"*"},
    "__init__": {"*"},
    "__main__": {"cli"},
}
# Nobody imports these, but `__main__` may start the command line.
TOP = {"serve", "cli", "hooks", "adapters", "__main__"}
# A surface may offer what an adapter makes of the memory; the command line starts the others.
ON_TOP = {("serve", "adapters"), ("cli", "serve"), ("cli", "hooks")}
# Drivers and heavy packages, each behind one seam.
ONLY_IN = {
    "apsw": ("store/sqlite/",),
    "psycopg": ("store/postgres/",),
    "onnxruntime": ("inference/",),
    "tokenizers": ("inference/",),
    "Stemmer": ("core/scripts.py",),
    "fcntl": ("store/sqlite/turn.py",),
    "msvcrt": ("store/sqlite/turn.py",),
    "rich": ("cli/",),
}
BAD_NAMES = re.compile(r"utils?|helpers?|managers?|misc|common|handlers?|processors?|base", re.IGNORECASE)
SQL = re.compile(
    r"\b(SELECT\s.+?\sFROM|INSERT\s+(OR\s+\w+\s+)?INTO|UPDATE\s+\w+\s+SET|DELETE\s+FROM|CREATE\s+(TABLE|INDEX|UNIQUE))\b",
    re.DOTALL,
)
ALLOWED_STATEMENTS = re.compile(r"(BEGIN|COMMIT|ROLLBACK|VACUUM|PRAGMA|SAVEPOINT|RELEASE)\b")


def _relative(module: Path) -> str:
    return module.relative_to(SOURCE).as_posix()


def _part(module: Path) -> str:
    return _relative(module).split("/")[0].removesuffix(".py")


@cache
def _imports(module: Path) -> tuple[str, ...]:
    """Name every module that a module imports, also inside functions and for type checking."""
    return tuple(_imported(module))


def _imported(module: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: imports are absolute"
            name = node.module or ""
            yield name
            yield from (f"{name}.{alias.name}" for alias in node.names if name in {"recollect", "recollect.store"})
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == "import_module"
            and node.args
            and isinstance(node.args[0], ast.Constant)
        ):
            yield str(node.args[0].value)


def _ours(module: Path) -> Iterator[tuple[str, str]]:
    for name in _imports(module):
        parts = name.split(".")
        if (
            parts[0] == "recollect"
            and len(parts) > 1
            and (SOURCE / parts[1]).with_suffix(".py").exists() | (SOURCE / parts[1]).is_dir()
        ):
            yield parts[1], name


@pytest.mark.parametrize("module", MODULES, ids=_relative)
def test_imports_point_one_way(module: Path) -> None:
    part = _part(module)
    assert part in MAY_IMPORT, f"{part} is a new part: say in design.md, ARCHITECTURE.md and here where it stands"
    allowed = MAY_IMPORT[part]
    for imported, name in _ours(module):
        assert imported == part or "*" in allowed or imported in allowed, f"{part} must not import {name}"
        on_top = imported in TOP and part not in {imported, "__main__"} and (part, imported) not in ON_TOP
        assert not on_top, f"{part} must not import {name}"


@pytest.mark.parametrize("part", ["recall", "extract", "fold", "capture", "engine", "memory", "aio", "serial"])
def test_only_opening_knows_which_store_it_is(part: str) -> None:
    for module in MODULES:
        if _part(module) == part:
            for name in _imports(module):
                assert not name.startswith(("recollect.store.sqlite", "recollect.store.postgres")), f"{module}: {name}"


@pytest.mark.parametrize("package", ONLY_IN)
def test_drivers_stay_behind_their_seam(package: str) -> None:
    for module in MODULES:
        names = {name.split(".")[0] for name in _imports(module)}
        if package in names:
            assert _relative(module).startswith(ONLY_IN[package]), f"{_relative(module)} imports {package}"


@pytest.mark.parametrize("module", MODULES, ids=_relative)
def test_sql_lives_in_sql_files(module: Path) -> None:
    tree = ast.parse(module.read_text(encoding="utf-8"))
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            assert not SQL.search(node.value), f"{_relative(module)}:{node.lineno}: SQL belongs into a .sql file"
            if ALLOWED_STATEMENTS.match(node.value):
                assert _relative(module).startswith("store/"), f"{_relative(module)}:{node.lineno}"


@pytest.mark.parametrize("module", MODULES, ids=_relative)
def test_modules_are_small_well_named_and_say_what_they_are_for(module: Path) -> None:
    text = module.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= MOST_LINES, f"{_relative(module)} wants to be two"
    for name in (*module.relative_to(SOURCE).parts[:-1], module.stem):
        assert not BAD_NAMES.fullmatch(name), f"{name} says nothing about what it is"
    assert ast.get_docstring(ast.parse(text)), f"{_relative(module)} does not say what it is for"


@pytest.mark.parametrize("module", MODULES, ids=_relative)
def test_classes_are_named_for_what_they_are(module: Path) -> None:
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ClassDef):
            assert not re.search(r"(Manager|Helper|Utils?|Processor|Handler)$", node.name), node.name


def test_the_map_names_every_part() -> None:
    page = ROOT / "ARCHITECTURE.md"
    if not page.exists():
        pytest.skip("ARCHITECTURE.md is not written yet")
    text = page.read_text(encoding="utf-8")
    folders = {
        folder.relative_to(SOURCE).as_posix()
        for folder in SOURCE.rglob("*")
        if folder.is_dir() and any(folder.glob("*.py"))
    }
    modules = {path.name for path in SOURCE.glob("*.py") if not path.name.startswith("__")}
    missing = [f"{name}/" for name in sorted(folders) if f"{name.split('/')[-1]}/" not in text]
    missing += [name for name in sorted(modules) if name not in text]
    assert not missing, f"ARCHITECTURE.md does not name {missing}"


def test_starting_the_command_line_does_not_load_the_heavy_parts() -> None:
    """`recollect --help` must not pay for numpy: nothing at the top of these modules may import it."""
    import subprocess
    import sys

    code = (
        "import sys, recollect, recollect.core.errors; "
        "heavy = {'numpy', 'apsw', 'onnxruntime', 'tokenizers', 'rich'} & set(sys.modules); "
        "raise SystemExit(str(heavy) if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
