"""Write docs/reference.md from the code: `python tools/make_reference.py`. A test checks that it is up to date."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

from msgspec.structs import fields

from everyword import Memory, errors
from everyword import settings as settings_module
from everyword.api.admin import Admin
from everyword.api.concepts import Concepts
from everyword.api.graph import Graph
from everyword.api.intents import Intents
from everyword.interfaces.operations import OPERATIONS, Operation, Parameter
from everyword.settings import Settings
from everyword.types import events as values
from everyword.types import intents as attention

REFERENCE = Path(__file__).parent.parent / "docs" / "reference.md"
PARTS = {"graph": Graph, "concepts": Concepts, "intents": Intents, "admin": Admin}
VALUES = (values.Event, values.Hit, values.Score, values.Context, values.Citation, values.Written, values.Session)
VALUES += (values.Receipt, values.Report, values.Problem, values.Stats, values.Imported)
VALUES += (attention.Intent, attention.Evidence, attention.Window, attention.WindowItem)
VALUES += (attention.Palace, attention.PalaceWing, attention.Room, attention.Hall, attention.Closet, attention.Drawer)


def reference() -> str:
    """Make the whole page."""
    parts = ["# Reference", "", "Made from the code by `tools/make_reference.py`.", ""]
    parts += ["## The library", "", inspect.getdoc(Memory) or "", "", *_methods(Memory)]
    for name, part in PARTS.items():
        parts += [f"## `memory.{name}`", "", inspect.getdoc(part) or "", "", *_methods(part)]
    parts += ["## Settings", "", "Keyword options of `Memory.open`, or a `Settings` object.", "", *_settings()]
    parts += ["## Values", "", *(_value(kind) for kind in VALUES)]
    parts += ["## The command line", "", _COMMAND_LINE, ""]
    parts += [line for operation in OPERATIONS for line in _operation(operation)]
    parts += ["## Errors", "", "```", *_error_tree(), "```", "", *_errors()]
    return "\n".join(parts).rstrip() + "\n"


_COMMAND_LINE = (
    "`everyword VERB ...`; `--memory PATH` (or `EVERYWORD_MEMORY`), `--space`, `--wing`, `--embedder` (or "
    "`EVERYWORD_EMBEDDER`) and `--json` go before or after the verb. `everyword doctor` looks at the installation, the "
    "file and the model, and says what to do; `everyword watch` prints what is new as it comes."
)


def _methods(kind: type) -> list[str]:
    lines: list[str] = []
    for name, method in inspect.getmembers(kind, inspect.isroutine):
        if name.startswith("_") or not callable(method):  # the parts are described by themselves
            continue
        signature = re.sub(r"\bself, ?|\bself\b", "", str(inspect.signature(method))).replace("'", "")
        signature = re.sub(r"everyword\.[\w.]+\.", "", re.sub(r"<function (\w+) at \w+>", r"\1", signature))
        configured = r"SearchConfig\(name=(\w+),.*?reranker_weight=[\d.]+\)"
        signature = re.sub(configured, lambda match: match[1].upper(), signature)
        lines += [f"### `{name}`", "", "```python", f"{name}{signature}", "```", "", f"{inspect.getdoc(method)}", ""]
    return lines


def _settings() -> list[str]:
    comments = dict(re.findall(r"((?:    # .*\n)+)    (\w+):", inspect.getsource(settings_module)))
    by_name = {name: " ".join(line.strip(" #") for line in text.splitlines()) for text, name in comments.items()}
    rows = [f"| `{one.name}` | `{one.default!r}` | {by_name.get(one.name, '')} |" for one in fields(Settings)]
    return ["| option | default | |", "|---|---|---|", *rows, ""]


def _value(kind: type) -> str:
    names = ", ".join(f"`{one.name}`" for one in fields(kind))  # type: ignore[arg-type]
    return f"- **{kind.__name__}**: {(inspect.getdoc(kind) or '').splitlines()[0]} Fields: {names}.\n"


def _operation(operation: Operation) -> list[str]:
    rows = [_parameter(one) for one in operation.parameters]
    table = ["| | |", "|---|---|", *rows, ""] if rows else []
    return [
        f"### `everyword {operation.name}`",
        "",
        f"{_sentence(operation.summary)} {operation.details}".strip(),
        "",
        *table,
    ]


def _parameter(one: Parameter) -> str:
    shown = one.name.upper() if one.positional else ", ".join(one.options) or "--" + one.name.replace("_", "-")
    return f"| `{shown}` | {one.option_help} |"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + "."


def _error_tree() -> list[str]:
    tree = (inspect.getdoc(errors) or "").split("\n\n")[1]
    return inspect.cleandoc(tree).splitlines()


def _errors() -> list[str]:
    kinds = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, errors.EverywordError)]
    rows = [f"| `{kind.__name__}` | {kind.status} | {kind.exit_code} | {inspect.getdoc(kind)} |" for kind in kinds]
    return ["| error | HTTP | exit code | |", "|---|---|---|---|", *rows, ""]


if __name__ == "__main__":
    REFERENCE.write_text(reference(), encoding="utf-8")
    print(f"wrote {REFERENCE.name}")
