"""What holds of every adapter without its framework; `make frameworks` runs the rest where it is installed."""

from __future__ import annotations

import sys
import tomllib
from importlib import import_module

import pytest
from tools.check_frameworks import ADAPTERS, FRAMEWORKS, OLDER, ROOT, Framework

from everyword.errors import MissingExtra

PACKAGES = {
    "langgraph": "langgraph",
    "langchain": "langchain_core",
    "llamaindex": "llama_index",
    "pydantic-ai": "pydantic_ai",
    "google-adk": "google.adk",
    "smolagents": "smolagents",
    "strands": "strands",
    "crewai": "crewai",
    "autogen": "autogen_core",
    "agent-framework": "agent_framework",
}


@pytest.mark.parametrize("framework", FRAMEWORKS, ids=lambda one: one.extra)
def test_a_missing_framework_is_named_with_the_line_that_installs_it(
    framework: Framework, monkeypatch: pytest.MonkeyPatch
) -> None:
    package, module = PACKAGES[framework.extra], f"everyword.interfaces.adapters.{framework.module}"
    for name in [name for name in sys.modules if name == module or name.startswith(f"{package}.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)  # as if it were not installed
    with pytest.raises(MissingExtra) as error:
        import_module(module)
    assert error.value.fix == f"Run: pip install 'everyword[{framework.extra}]'"


def test_every_adapter_has_an_extra_tests_and_an_example() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    page = (ROOT / "docs" / "frameworks.md").read_text(encoding="utf-8")
    tested = {framework.tests.name for framework in (*FRAMEWORKS, *OLDER)}
    assert {path.name for path in (ROOT / "tests" / "frameworks").glob("test_*.py")} == tested
    for framework in FRAMEWORKS:
        assert framework.extra in extras
        assert page.count(f"'everyword[{framework.extra}]'") == 1
        assert f"everyword.interfaces.adapters.{framework.module} import" in page
        assert (ADAPTERS / f"{framework.module}.py").exists()
