"""Test the adapters of agent frameworks, each in an environment with the framework's real package.

    python -m tools.check_frameworks                   # all; the exit code counts the frameworks that failed
    python -m tools.check_frameworks llamaindex        # some

An environment is made on first use under .frameworks/NAME, and made anew when the extra changes. In it run the tests of
the adapter (tests/frameworks) and pyright. A framework that can't be installed counts as failed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

from evals.systems.peers.environment import CouldNotRun, Environment

ROOT = Path(__file__).parent.parent
ADAPTERS = ROOT / "src" / "everyword" / "interfaces" / "adapters"
TESTS = ROOT / "tests" / "frameworks"
ENVIRONMENTS = ROOT / ".frameworks"
# What the tests need beside the framework: a service for the adapters on a client.
FOR_TESTS = ("pytest>=8", "pytest-timeout>=2.3", "httpx>=0.27", "starlette>=1.0", "uvicorn>=0.30")
# Plugins and warnings of the frameworks and their dependencies.
WITHOUT = ("-p", "no:langsmith_plugin", "-p", "no:cacheprovider", "-p", "no:anyio", "-W", "ignore")


@dataclass(frozen=True, slots=True, kw_only=True)
class Framework:
    """A framework whose adapter is tested: its extra, its module, what only its tests need."""

    extra: str
    module: str
    needs: tuple[str, ...] = ()
    folder: Path = ADAPTERS  # of the module

    @property
    def tests(self) -> Path:
        """The file of its tests."""
        return TESTS / f"test_{self.module}.py"

    def environment(self) -> Environment:
        """Describe the environment: the extra, this distribution in place, and what tests need."""
        extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
        own = (str(ROOT / "packages" / "everyword-models"), "-e", str(ROOT))
        return Environment(name=self.extra, pins=(*own, *extras[self.extra], *self.needs, *FOR_TESTS))


FRAMEWORKS = (
    Framework(extra="langgraph", module="langgraph_store", needs=("langgraph>=1.0", "langmem>=0.0.30")),
    Framework(extra="langchain", module="langchain"),
    Framework(extra="llamaindex", module="llamaindex"),
    Framework(extra="pydantic-ai", module="pydantic_ai_toolset"),
    Framework(extra="google-adk", module="google_adk"),
    Framework(extra="smolagents", module="smolagents_tools"),
    Framework(extra="strands", module="strands_store"),
    Framework(extra="crewai", module="crewai_memory"),
    Framework(extra="autogen", module="autogen_memory", needs=("autogen-agentchat>=0.7",)),
    Framework(extra="agent-framework", module="agent_framework_providers"),
)
# The MCP server with version 1.x of the protocol's package; all other tests have 2.x.
OLDER = (Framework(extra="mcp", module="reference_server", folder=ADAPTERS.parent / "mcp", needs=("mcp<2",)),)


def main(names: list[str]) -> int:
    """Check the frameworks of these names, or all; return how many failed."""
    known = (*FRAMEWORKS, *OLDER)
    unknown = set(names) - {framework.extra for framework in known}
    if unknown:
        print(f"Unknown: {', '.join(sorted(unknown))}. Known: {', '.join(one.extra for one in known)}.")
        return 2
    failed: list[str] = []
    for framework in known:
        if names and framework.extra not in names:
            continue
        print(f"== {framework.extra}", flush=True)
        try:
            python = framework.environment().python(ENVIRONMENTS)
        except CouldNotRun as problem:
            print(f"not installed: {problem}")
            failed.append(framework.extra)
            continue
        if not (_tests_pass(framework, python) & _types_fit(framework, python)):
            failed.append(framework.extra)
    print(f"failed: {', '.join(failed)}" if failed else "all passed")
    return len(failed)


def _tests_pass(framework: Framework, python: Path) -> bool:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(ROOT)))}
    command = [str(python), "-m", "pytest", "-q", *WITHOUT, str(framework.tests)]
    return subprocess.run(command, cwd=ROOT, env=environment).returncode == 0


def _types_fit(framework: Framework, python: Path) -> bool:
    """Run pyright with the packages of the environment; without the framework its types are unknown."""
    environment = python.parents[1]
    config = {
        "include": [os.path.relpath(framework.folder / f"{framework.module}.py", environment)],
        "extraPaths": [str(ROOT / "src")],
        "venvPath": str(environment.parent),
        "venv": environment.name,
    }
    path = environment / "pyrightconfig.json"
    path.write_text(json.dumps(config))
    return subprocess.run([sys.executable, "-m", "pyright", "--project", str(path)], cwd=ROOT).returncode == 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
