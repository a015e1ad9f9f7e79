"""The command line: a thin skin over `Memory`, generated from the table of operations."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from recollect.cli.parser import program_of, read
from recollect.cli.terminal import Terminal
from recollect.core.errors import RecollectError, StoreFull

# What a shell reports of a process that a signal ended: 128 and the number of SIGINT or SIGPIPE.
_INTERRUPTED = 130
_NOBODY_READS = 141


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; give the exit code."""
    arguments = sys.argv[1:] if argv is None else list(argv)
    terminal = Terminal(json_wanted="--json" in arguments)
    try:
        code = _run(arguments, terminal)
        terminal.flush()
        return code
    except KeyboardInterrupt:
        terminal.give_up()
        return _INTERRUPTED
    except BrokenPipeError:
        terminal.give_up()
        return _NOBODY_READS
    except OSError as error:
        terminal.give_up()
        terminal.error(StoreFull(f"The output can't be written ({error.strerror or error})."))
        return StoreFull.exit_code


def _program(name: str, arguments: list[str], terminal: Terminal) -> int:
    """Run what is more than a verb: it reads its own command line."""
    if name in ("keys", "webhooks"):
        from recollect.cli.access import main as access

        return access(name, arguments, terminal)
    if name == "init":
        from recollect.cli.init import main as init

        return init(arguments)
    if name == "hook":
        from recollect.hooks import main as hook

        return hook(arguments)
    if name == "worker":
        from recollect.cli.worker import main as worker

        return worker(arguments)
    if name == "migrate":
        from recollect.cli.migrate import main as migrate

        return migrate(arguments)
    from recollect.cli.verbs import default_path

    named = any(argument.split("=")[0] == "--memory" for argument in arguments) or {"-h", "--help"} & {*arguments}
    given = arguments if named else ["--memory", default_path(make_folder=True), *arguments]
    if name == "serve":
        from recollect.serve.http.__main__ import main as serve

        return serve(given)
    from recollect.serve.mcp.__main__ import main as mcp

    return mcp(given, program="recollect mcp")


def _run(arguments: Sequence[str], terminal: Terminal) -> int:
    try:
        program = program_of(arguments)
        if program is not None:
            return _program(*program, terminal)
        request = read(arguments)
        terminal.json_wanted = request.json
        # Imported after the command line was understood: a usage error or --help should cost nothing more.
        from recollect.cli.verbs import run

        return run(request, terminal)
    except SystemExit as done:  # argparse, after --help or --version
        return done.code if isinstance(done.code, int) else 0
    except RecollectError as error:
        terminal.error(error)
        return error.exit_code
    except Exception as error:
        # An error of the system that names no file is one of standard output; main() knows what to do.
        if os.environ.get("RECOLLECT_TRACEBACK") or (isinstance(error, OSError) and error.filename is None):
            raise
        fault = RecollectError(
            f"This should not have happened ({type(error).__name__}: {error}).",
            fix="Please report it with what RECOLLECT_TRACEBACK=1 shows.",
        )
        terminal.error(fault)
        return fault.exit_code
