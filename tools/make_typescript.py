"""Write the generated part of the TypeScript client: `python tools/make_typescript.py`.

`schema.ts` has the types of the OpenAPI document, `operations.ts` a method for each operation. Needs Node.js and
`npm ci` in packages/typescript. A test checks that both files are up to date.
"""

from __future__ import annotations

import copy
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from everyword.interfaces.http.openapi import document
from everyword.interfaces.http.routes import operation_routes

PACKAGE = Path(__file__).parent.parent / "packages" / "typescript"
GENERATOR = PACKAGE / "node_modules" / ".bin" / "openapi-typescript"
_OPTIONS = ("--default-non-nullable=false", "--array-length")
_HEADER = "// Generated from the service's OpenAPI document by tools/make_typescript.py. Do not edit.\n\n"
_BY_HAND = ("add",)  # its result depends on its arguments, which takes overloads


def generated() -> dict[Path, str]:
    """Generate the files."""
    return {PACKAGE / "src" / "schema.ts": schema(), PACKAGE / "src" / "operations.ts": operations()}


def schema() -> str:
    """Generate the types of requests and results."""
    with tempfile.TemporaryDirectory() as folder:
        given, made = Path(folder, "openapi.json"), Path(folder, "schema.ts")
        given.write_text(json.dumps(_prepared(document())), encoding="utf-8")
        command = [str(GENERATOR), str(given), "--output", str(made), *_OPTIONS]
        done = subprocess.run(command, cwd=PACKAGE, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"openapi-typescript failed:\n{done.stdout}{done.stderr}")
        return _HEADER + made.read_text(encoding="utf-8")


def operations() -> str:
    """Generate a method for each operation, and a name for each type of result."""
    described = document()
    lines = [
        'import type { Arguments, CallOptions, OperationName, Result, Scope } from "./types.js";',
        'import type { components } from "./schema.js";',
        "",
        "/** One method for each operation of the service. */",
        "export abstract class Operations {",
        "  /** Run an operation; `scope` says which of space and wing it takes. */",
        "  abstract call<N extends OperationName>(",
        "    name: N, scope: Scope, body: Arguments<N>, options?: CallOptions,",
        "  ): Promise<Result<N>>;",
    ]
    for route in operation_routes():
        name, scope = route.operation.name, route.operation.scope
        if name in _BY_HAND:
            continue
        post = described["paths"][route.path]["post"]
        default = "" if post["requestBody"]["required"] else " = {}"
        method = re.sub(r"_(\w)", lambda match: match[1].upper(), name)
        lines += [
            "",
            f"  /** {post['summary']} */",
            f'  {method}(args: Arguments<"{name}">{default}, options?: CallOptions): Promise<Result<"{name}">> {{',
            f'    return this.call("{name}", "{scope}", args, options);',
            "  }",
        ]
    lines += ["}", ""]
    lines += [f'export type {name} = components["schemas"]["{name}"];' for name in described["components"]["schemas"]]
    return _HEADER + "\n".join(lines) + "\n"


def _prepared(described: dict[str, Any]) -> dict[str, Any]:
    """Leave out what the client does not use or TypeScript can't express."""
    simple = copy.deepcopy(described)
    for methods in simple["paths"].values():
        if "post" in methods:
            methods.pop("get", None)  # the client sends a body wherever it can
            for content in methods["post"]["requestBody"]["content"].values():
                # Conditions such as "one of these members" would become unions that accept anything.
                content["schema"] = {
                    name: value for name, value in content["schema"].items() if name not in ("anyOf", "oneOf")
                }
    return _open_objects(simple)


def _open_objects(value: Any) -> Any:
    """Let objects without described members have any; the generator would let them have none."""
    if isinstance(value, list):
        return [_open_objects(one) for one in value]
    if not isinstance(value, dict):
        return value
    opened = {name: _open_objects(one) for name, one in value.items()}
    kinds = value.get("type")
    is_object = kinds == "object" or (isinstance(kinds, list) and "object" in kinds)
    if is_object and not {"properties", "additionalProperties"} & value.keys():
        opened["additionalProperties"] = {}
    return opened


if __name__ == "__main__":
    if not GENERATOR.exists():
        sys.exit("Install the generator first: cd packages/typescript && npm ci")
    for path, text in generated().items():
        path.write_text(text, encoding="utf-8")
