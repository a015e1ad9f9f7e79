"""Check the layers of ARCHITECTURE.md: import directions, drivers behind their seams, SQL in its files."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "everyword"
MODULES = sorted(SOURCE.rglob("*.py"))
PARTS = {path.relative_to(SOURCE).parts[0].removesuffix(".py") for path in MODULES}
# Each part may import itself and the parts before it.
LAYERS = (
    "errors", "settings", "extras", "lazy_patterns", "fair_semaphore", "fork_safety", "private_files", "types", "text",
    "storage", "models", "engine", "knowledge", "ingest", "retrieval", "jobs", "api", "memory", "aio", "client",
    "interfaces",
)  # fmt: skip
# Imports that still point upwards. Remove entries; never add one.
UPWARDS = {
    ("client", "interfaces"),
    ("engine", "retrieval"),
}
# A driver or a heavy package is imported only below these paths.
ONLY_IN = {
    "apsw": ("storage/sqlite/",),
    "psycopg": ("storage/postgres/",),
    "onnxruntime": ("models/",),
    "tokenizers": ("models/",),
    "Stemmer": ("text/terms.py",),
    "fcntl": ("storage/sqlite/write_lock.py",),
    "msvcrt": ("storage/sqlite/write_lock.py",),
}
SQL = re.compile(
    r"\b(SELECT\s.+?\sFROM|INSERT\s+(OR\s+\w+\s+)?INTO|UPDATE\s+\w+\s+SET|DELETE\s+FROM|CREATE\s+(TABLE|INDEX|UNIQUE))\b",
    re.DOTALL,
)
TRANSACTION_STATEMENTS = re.compile(r"(BEGIN|COMMIT|ROLLBACK|VACUUM|PRAGMA|SAVEPOINT|RELEASE)\b")


def test_imports_point_downwards() -> None:
    wrong: list[str] = []
    for module in MODULES:
        part = _part(module)
        if part.startswith("__"):
            continue
        assert part in LAYERS, f"{part} is a new part: place it in ARCHITECTURE.md and in LAYERS"
        allowed = {*LAYERS[: LAYERS.index(part) + 1], *(upper for lower, upper in UPWARDS if lower == part)}
        wrong += [f"{_relative(module)} imports {name}" for name in _ours(module) if name.split(".")[1] not in allowed]
    assert not wrong


def test_only_the_factory_knows_the_backends() -> None:
    backends = ("everyword.storage.sqlite", "everyword.storage.postgres")
    for module in MODULES:
        if _part(module) in ("retrieval", "knowledge", "ingest", "jobs", "engine", "memory", "api", "aio"):
            assert not [name for name in _imports(module) if name.startswith(backends)], _relative(module)


def test_drivers_stay_behind_their_seam() -> None:
    for module in MODULES:
        for package in {name.split(".")[0] for name in _imports(module)} & ONLY_IN.keys():
            assert _relative(module).startswith(ONLY_IN[package]), f"{_relative(module)} imports {package}"


def test_sql_lives_in_sql_files() -> None:
    for module in MODULES:
        nodes = _nodes(module)
        docstrings = {
            id(node.body[0].value)
            for node in nodes
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            and node.body
            and isinstance(node.body[0], ast.Expr)
        }
        for node in nodes:
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
                assert not SQL.search(node.value), f"{_relative(module)}:{node.lineno}: move the SQL to a .sql file"
                if TRANSACTION_STATEMENTS.match(node.value):
                    assert _relative(module).startswith("storage/"), f"{_relative(module)}:{node.lineno}"


def test_every_module_says_what_it_is_for() -> None:
    for module in MODULES:
        assert ast.get_docstring(_nodes(module)[0]), _relative(module)  # type: ignore[arg-type]


def test_the_map_names_every_package() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    folders = {path.parent.relative_to(SOURCE).as_posix() for path in MODULES} - {"."}
    missing = sorted(name for name in folders if f"`{name}/`" not in text)
    missing += sorted(path.name for path in SOURCE.glob("*.py") if path.name[0] != "_" and path.name not in text)
    assert not missing, f"ARCHITECTURE.md does not name {missing}"


def test_importing_the_package_loads_nothing_heavy() -> None:
    """`everyword --help` must not pay for numpy."""
    code = (
        "import sys, everyword, everyword.errors; "
        "heavy = {'numpy', 'apsw', 'onnxruntime', 'tokenizers'} & set(sys.modules); "
        "raise SystemExit(str(heavy) if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def _relative(module: Path) -> str:
    return module.relative_to(SOURCE).as_posix()


def _part(module: Path) -> str:
    return _relative(module).split("/")[0].removesuffix(".py")


def _ours(module: Path) -> list[str]:
    return [name for name in _imports(module) if name.startswith("everyword.") and name.split(".")[1] in PARTS]


@cache
def _nodes(module: Path) -> list[ast.AST]:
    """List the nodes of a module's syntax tree, the module itself first."""
    return list(ast.walk(ast.parse(module.read_text(encoding="utf-8"))))


@cache
def _imports(module: Path) -> tuple[str, ...]:
    """List every module that a module imports, also inside functions and for type checking."""
    return tuple(_imported(module))


def _imported(module: Path) -> Iterator[str]:
    for node in _nodes(module):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: imports are absolute"
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names if node.module == "everyword")
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == "import_module"
            and node.args
            and isinstance(node.args[0], ast.Constant)
        ):
            yield str(node.args[0].value)
