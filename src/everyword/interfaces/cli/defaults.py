"""What the command line does without arguments: the text of `everyword --help`, and the memory if a command names none.

It imports late, so that the text is there at once, and `everyword hook run` and `everyword mcp` start fast. A test
checks that the text names every verb.
"""

from __future__ import annotations

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


def default_path(*, make_folder: bool = False) -> str:
    """Return where the memory is if a command names none: EVERYWORD_MEMORY, or memory.db in the user's data folder."""
    import os

    from everyword.errors import BadLocation
    from everyword.private_files import make_private_folder
    from everyword.settings import expanded, user_folder

    named = os.environ.get("EVERYWORD_MEMORY")
    if named is not None and not named.strip():
        raise BadLocation("EVERYWORD_MEMORY is set, but empty.", fix="Name a memory in it, or unset it.")
    if named and "://" in named:
        return named
    location = expanded(named) if named else user_folder("data") / "memory.db"
    if make_folder:
        try:
            make_private_folder(location.parent)
        except OSError as error:
            raise BadLocation(f"Can't create the folder of {location} ({error.strerror}).") from error
    return str(location)
