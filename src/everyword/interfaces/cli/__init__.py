"""The command line, generated from the registry of operations. It imports late, so that the help is there at once."""

from __future__ import annotations

import atexit
import contextlib
import gc
import sys

TYPE_CHECKING = False  # importing typing would take longer than writing the help text
if TYPE_CHECKING:
    from collections.abc import Sequence

    from everyword.interfaces.cli.parser import Request
    from everyword.interfaces.cli.terminal import Terminal

# Objects made between two collections of garbage. Nearly all that a command makes at its start, such as modules, stays:
# with Python's 700, looking for garbage among them is an eighth of what a question takes in a new process. A question
# makes 65,000 to 75,000.
_OBJECTS_BETWEEN_COLLECTIONS = 100_000
# Exit codes that shells report for signals: 128 + SIGINT, 128 + SIGPIPE.
_INTERRUPTED = 130
_BROKEN_PIPE = 141
# Where a verb runs that is no operation.
_MODULES = {
    "doctor": "cli.doctor",
    "init": "cli.init",
    "hook": "hooks.install",
    "serve": "http.serve",
    "mcp": "mcp.serve",
}

# Written here, so that it is there at once. A test checks that it names every verb.
HELP = """\
usage: everyword VERB ...

Long-term memory for AI agents. It keeps every word and finds it as soon as it
is written.

every day:
  add         remember something, word for word
  ask         answer a question with a quote, or say that there is no answer
  recall      find the events that answer a question, best first
  context     write a cited context for a prompt, within a token budget
  wake_up     tell an agent what it should know before a conversation
  facts       list what is true of a person or thing, and since when
  statements  list preferences, plans, decisions and more, with their quotes
  sessions    list conversations, latest first
  import      remember chats, mail, notes, documents and other memories
  forget      remove events and everything derived from them, for good
  init        set up a memory and your coding assistants; can be undone
  doctor      check the installation, the file, the model and assistants

look closer:  show events history entities entity timeline concepts concept
              intents window palace identity stats watch
correct:      correct retract merge split edits undo conflicts answer_intent
              fold journal undo_change records
keep safe:    backup export verify rebuild settle sync migrate
serve:        mcp serve hook keys webhooks worker

`everyword VERB --help` explains a verb. Options of every verb:
  --memory PATH    a file, or postgresql://... (default: EVERYWORD_MEMORY, or
                   memory.db in the user's data folder)
  --wing NAME      a person or project         --space NAME     the tenant
  --tz ZONE        the time zone of times      --json           JSON, not text
  --embedder NAME, --reranker NAME, --llm NAME                  the models

examples:
  everyword add "I moved to Lisbon in March." --speaker Ana --session s1
  everyword ask "Where does Ana live?"
  everyword forget --session s1 --dry-run
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    arguments = sys.argv[1:] if argv is None else list(argv)
    if arguments in (["--help"], ["-h"], ["help"], ["--version"], ["-V"]) and _write_help(arguments[0]):
        return 0
    if arguments[:2] == ["hook", "run"]:  # an assistant waits for it
        from everyword.interfaces.hooks.run_hook import main as hook

        return hook(arguments[1:])
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
    atexit.register(gc.freeze)  # else the interpreter looks for garbage once more at its end, for 40 ms
    from everyword.interfaces.cli.terminal import Terminal

    terminal = Terminal(json_wanted="--json" in arguments)
    if argv is None:
        _let_a_second_interrupt_end()
    try:
        code = _run(arguments, terminal)
        terminal.flush()
        return code
    except KeyboardInterrupt:
        terminal.give_up()
        return _INTERRUPTED
    except BrokenPipeError:
        terminal.give_up()
        return _BROKEN_PIPE
    except OSError as error:
        from everyword.errors import StoreFull

        terminal.give_up()
        terminal.error(StoreFull(f"Can't write the output ({error.strerror or error})."))
        return StoreFull.exit_code


def _let_a_second_interrupt_end() -> None:
    """Let the first Ctrl-C close the memory, and the second end the process at once; nothing stored is lost."""
    import signal

    def first(_number: int, _frame: object) -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        raise KeyboardInterrupt

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        with contextlib.suppress(ValueError):  # only the main thread may do so
            signal.signal(signal.SIGINT, first)


def _write_help(asked: str) -> bool:
    """Write the help text or the version at once; return False where that fails, which takes longer to report."""
    from everyword import __version__

    try:
        if sys.stdout is not None:  # pyright: ignore[reportUnnecessaryComparison]  it may be closed
            sys.stdout.write(f"everyword {__version__}\n" if asked in ("--version", "-V") else HELP)
            sys.stdout.flush()
    except OSError:
        return False
    return True


def _run(arguments: Sequence[str], terminal: Terminal) -> int:
    import os
    from importlib import import_module

    from everyword.errors import EverywordError
    from everyword.interfaces.cli.parser import read

    try:
        request = read(arguments)
        terminal.json_wanted = request.json
        model = _loading_model(request)  # kept till the end: the memory shares it from its first question on
        # Imported after parsing, so that --help and usage errors are fast.
        module = _MODULES.get(request.operation.name.split()[0], "cli.commands")
        code = import_module(f"everyword.interfaces.{module}").run(request, terminal)
        del model
        return code
    except SystemExit as done:  # argparse, after --help
        return done.code if isinstance(done.code, int) else 0
    except EverywordError as error:
        terminal.error(error)
        return error.exit_code
    except Exception as error:
        # An OSError without a file name comes from standard output; main() handles it.
        if os.environ.get("EVERYWORD_TRACEBACK") or (isinstance(error, OSError) and error.filename is None):
            raise
        fault = EverywordError(
            f"Unexpected error ({type(error).__name__}: {error}).",
            fix="Please report it with the output of EVERYWORD_TRACEBACK=1.",
        )
        terminal.error(fault)
        return fault.exit_code


def _loading_model(request: Request) -> object:
    """Begin to load the model that a question needs, while everything else is imported and the file is opened."""
    from everyword.errors import EverywordError

    if request.operation.parameter("query") is None:
        return None
    from everyword.models.embedders import load_embedder

    try:
        model = load_embedder(request.embedder)
    except EverywordError:  # it is told when the memory is asked
        return None
    if model is not None and (warm := getattr(model, "warm", None)) is not None:
        warm()
    return model
