"""The table of operations, the command line and Memory can't drift apart."""

from __future__ import annotations

import argparse
import inspect
import subprocess
import sys

import pytest

from everyword.interfaces.cli import main
from everyword.interfaces.cli.parser import VERBS, parser_of, read
from everyword.interfaces.operations import OPERATIONS, Operation
from everyword.memory import method_named

EVERYWHERE = {"memory", "space", "wing", "embedder", "llm", "reranker", "tz", "json"}
ONLY_HERE = {"recall": {"explain"}, "forget": {"yes"}, "import": {"watch"}, "wake_up": {"explain"}}
ONLY_IN_PYTHON = {"hits", "on_text", "on_found", "on_done"}  # objects of the library: no surface can give them


def actions(verb: str) -> dict[str, argparse.Action]:
    return {action.dest: action for action in parser_of(VERBS[verb])._actions if action.dest != "help"}


def test_the_help_names_every_verb_on_80_columns_and_12_with_what_they_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert main(["--json", "--help"]) == 0
    assert capsys.readouterr().out == shown
    assert max(map(len, shown.splitlines())) <= 80
    assert {verb.split()[0] for verb in VERBS} <= set(shown.split())
    every_day = shown.split("every day:\n")[1].split("\n\n")[0]
    assert len(every_day.splitlines()) == 12
    assert all(f"--{option}" in shown for option in EVERYWHERE)


def test_every_option_of_every_verb_may_stand_before_it() -> None:
    options = {name: action for name, action in actions("doctor").items() if name in EVERYWHERE}
    assert set(options) == EVERYWHERE
    for name, action in options.items():
        given = [f"--{name}"] if action.nargs == 0 else [f"--{name}", "serve"]
        assert read([*given, "stats"]).words == tuple(given)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_a_verb_takes_exactly_the_parameters_of_its_operation(operation: Operation) -> None:
    names = {parameter.name for parameter in operation.parameters}
    assert set(actions(operation.name)) == names | EVERYWHERE | ONLY_HERE.get(operation.name, set())


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_an_operation_has_exactly_the_parameters_of_its_method(operation: Operation) -> None:
    taken = dict(inspect.signature(method_named(operation.method)).parameters)
    del taken["self"]
    assert (taken.pop("progress", None) is not None) == operation.progress
    assert set(taken) - ONLY_IN_PYTHON == {parameter.argument for parameter in operation.parameters}
    for parameter in operation.parameters:
        if parameter.fills:
            continue
        theirs = taken[parameter.name].default
        assert parameter.required == (theirs is inspect.Parameter.empty), parameter.name
        if not parameter.required:
            assert parameter.default == theirs, parameter.name


def test_every_parameter_is_explained() -> None:
    for verb in VERBS:
        for action in actions(verb).values():
            assert action.help, f"{verb} {action.dest}"


def test_help_and_usage_errors_import_nothing_heavy() -> None:
    script = (
        "import sys; from everyword.interfaces.cli import main; code = main(sys.argv[1:])\n"
        "heavy = {'numpy', 'apsw', 'onnxruntime', 'tokenizers', 'platformdirs', 'everyword.memory'}\n"
        "print(code, sorted(heavy & set(sys.modules)))"
    )
    for arguments, code in ((["--help"], 0), (["recall", "--help"], 0), (["recall"], 2), (["nonsense"], 2), ([], 2)):
        done = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=True)
        assert done.stdout.splitlines()[-1] == f"{code} []", arguments


def test_a_program_calls_itself_by_the_verb_that_runs_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mcp", "--help"]) == 0
    assert capsys.readouterr().out.startswith("usage: everyword mcp ")
