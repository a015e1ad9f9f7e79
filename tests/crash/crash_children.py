"""What the child processes of these tests run, and how to listen to them."""

from __future__ import annotations

import subprocess

HOLD_THE_TURN = """
import sys
from everyword import Memory
from everyword.ingest.validation import drafts_of
from everyword.types.times import utc_now
from everyword.settings import Settings
from everyword.ingest.redaction.redact import rules_of

memory = Memory.open(sys.argv[1], embedder="hashing")
with memory.scope.engine.store.writer("default") as writer:
    settings = Settings()
    rules = rules_of(settings, None)
    drafts = drafts_of([{"text": "An uncommitted event."}], wing=None, clock=utc_now, settings=settings, rules=rules)
    writer.append(drafts, None, now=memory.scope.engine.now(), queue=True)
    print("holding", flush=True)
    sys.stdin.readline()
print("committed", flush=True)
"""

OPEN_AND_WRITE = """
import sys
from everyword import Memory
import everyword.storage.sqlite.store, everyword.models.embedders

print("ready", flush=True)
sys.stdin.readline()
with Memory.open(sys.argv[1], embedder="hashing") as memory:
    memory.add(f"Event {sys.argv[2]}")
"""

FORGET_AND_DIE = """
import os, sys
from everyword import Memory
from everyword.storage.sqlite import SqliteStore

SqliteStore.scrub = lambda self: os.kill(os.getpid(), 9)
memory = Memory.open(sys.argv[1], embedder="hashing")
memory.forget(session="secret")
"""

READ_ONLY = """
import os, sys
from everyword import Memory
from everyword.errors import StoreReadOnly

path = sys.argv[1]
with Memory.open(":memory:", embedder="hashing") as memory:  # loads all that only root may read
    memory.add("Warm.", speaker="Up")
    memory.recall("warm")
    memory.admin.verify()
if os.getuid() == 0:  # root may write anything, so that somebody else has to try
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
    if not os.access(path, os.R_OK):
        print("unreadable", flush=True)
with Memory.open(path, embedder="hashing") as memory:
    assert memory.recall("Lisbon")[0].text == "I moved to Lisbon."
    assert memory.admin.verify().ok
    for call in (lambda: memory.add("more"), lambda: memory.forget(speaker="Ana"), memory.admin.rebuild):
        try:
            call()
        except StoreReadOnly:
            continue
        raise SystemExit(f"no error from {call}")
print("kept", flush=True)
"""

READ_ON = """
import os, sys
from everyword import Memory

path = sys.argv[1]
with Memory.open(":memory:", embedder="none") as memory:  # loads all that only root may read
    memory.add("Warm.", speaker="Up")
    memory.recall("warm")
if os.getuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
with Memory.open(path, embedder="none") as memory:
    while True:
        print(memory.stats().events, len(memory.recall("Lisbon", k=1)), flush=True)
        if not sys.stdin.readline():
            break
"""


def heard(process: subprocess.Popen[str], word: str) -> None:
    """Wait until a process says a word."""
    assert process.stdout is not None
    line = process.stdout.readline().strip()
    assert line == word, (line, process.stderr.read() if process.stderr else "")
