"""Anthropic's memory tool (`memory_20250818`) on a memory: give an instance to the SDK's tool runner.

from anthropic import Anthropic
from recollect import Memory
from recollect.adapters.anthropic_memory import MemoryTool

tool = MemoryTool(Memory.open("memory.db"))
Anthropic().beta.messages.run_tools(model=..., max_tokens=..., messages=[...], tools=[tool]).until_done()
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from recollect.adapters.memory_files import MemoryFiles
from recollect.core.errors import RecollectError
from recollect.core.extras import need
from recollect.memory import Memory

if TYPE_CHECKING:
    from anthropic.lib.tools import BetaAbstractMemoryTool, ToolError
    from anthropic.types.beta import (
        BetaMemoryTool20250818CreateCommand,
        BetaMemoryTool20250818DeleteCommand,
        BetaMemoryTool20250818InsertCommand,
        BetaMemoryTool20250818RenameCommand,
        BetaMemoryTool20250818StrReplaceCommand,
        BetaMemoryTool20250818ViewCommand,
    )
else:
    _tools = need("anthropic.lib.tools", extra="anthropic")
    BetaAbstractMemoryTool, ToolError = _tools.BetaAbstractMemoryTool, _tools.ToolError

__all__ = ["MemoryTool"]


class MemoryTool(BetaAbstractMemoryTool):
    """The memory tool, its files kept as events: searchable, dated, and with every version that there was."""

    def __init__(self, memory: Memory, *, wing: str | None = None, redact: str | None = None) -> None:
        super().__init__()
        self.files = MemoryFiles(memory, wing=wing, redact=redact)

    def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """List a folder or show a file."""
        return _told(lambda: self.files.view(command.path, command.view_range))

    def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Write a new file."""
        return _told(lambda: self.files.create(command.path, command.file_text))

    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replace a text that occurs once."""
        return _told(lambda: self.files.str_replace(command.path, command.old_str, command.new_str))

    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Put text after a line."""
        return _told(lambda: self.files.insert(command.path, command.insert_line, command.insert_text))

    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Take away a file or folder."""
        return _told(lambda: self.files.delete(command.path))

    def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Move a file or folder."""
        return _told(lambda: self.files.rename(command.old_path, command.new_path))

    def clear_all_memory(self) -> str:
        """Forget every file and its whole history."""
        return _told(self.files.clear_all)


def _told(command: Callable[[], str]) -> str:
    """Turn our errors into the SDK's: its runner hands their words to the model, and ends on any other."""
    try:
        return command()
    except RecollectError as error:
        raise ToolError(str(error)) from error
