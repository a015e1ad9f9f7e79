"""Anthropic's memory tool (`memory_20250818`) on a memory. Pass an instance to the SDK's tool runner:

from anthropic import Anthropic
from everyword import Memory
from everyword.interfaces.adapters.anthropic_memory import MemoryTool

tool = MemoryTool(Memory.open("memory.db"))
Anthropic().beta.messages.tool_runner(model=..., max_tokens=..., messages=[...], tools=[tool]).until_done()
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from everyword.errors import EverywordError
from everyword.extras import need
from everyword.interfaces.adapters.memory_files import MemoryFiles
from everyword.memory import Memory

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
    """The memory tool. Its files are events: searchable, dated, with all versions."""

    def __init__(self, memory: Memory, *, wing: str | None = None, redact: str | None = None) -> None:
        super().__init__()
        self.files = MemoryFiles(memory, wing=wing, redact=redact)

    def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """List a folder or show a file."""
        return _run(lambda: self.files.view(command.path, command.view_range))

    def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Write a new file."""
        return _run(lambda: self.files.create(command.path, command.file_text))

    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replace a text that occurs once."""
        return _run(lambda: self.files.str_replace(command.path, command.old_str, command.new_str))

    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Insert text after a line."""
        return _run(lambda: self.files.insert(command.path, command.insert_line, command.insert_text))

    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Delete a file or folder."""
        return _run(lambda: self.files.delete(command.path))

    def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Move a file or folder."""
        return _run(lambda: self.files.rename(command.old_path, command.new_path))

    def clear_all_memory(self) -> str:
        """Forget every file and its whole history."""
        return _run(self.files.clear_all)


def _run(command: Callable[[], str]) -> str:
    """Convert our errors to the SDK's, whose text the runner passes to the model. Other errors would end the run."""
    try:
        return command()
    except EverywordError as error:
        raise ToolError(str(error)) from error
