"""Anthropic's memory tool (`memory_20250818`) on a memory. Pass an instance to the SDK's tool runner:

from anthropic import Anthropic
from everyword import Memory
from everyword.interfaces.adapters.anthropic_memory import MemoryTool

tool = MemoryTool(Memory.open("memory.db"))
Anthropic().beta.messages.tool_runner(model=..., max_tokens=..., messages=[...], tools=[tool]).until_done()

`AsyncMemoryTool` is for `AsyncAnthropic`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ParamSpec

from everyword.errors import EverywordError
from everyword.extras import need
from everyword.interfaces.adapters.documents import finished
from everyword.interfaces.adapters.memory_files import MemoryFiles

if TYPE_CHECKING:
    from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError
    from anthropic.types.beta import (
        BetaMemoryTool20250818CreateCommand,
        BetaMemoryTool20250818DeleteCommand,
        BetaMemoryTool20250818InsertCommand,
        BetaMemoryTool20250818RenameCommand,
        BetaMemoryTool20250818StrReplaceCommand,
        BetaMemoryTool20250818ViewCommand,
    )

    from everyword.interfaces.adapters.documents import AnyMemory
else:
    _tools = need("anthropic.lib.tools", extra="anthropic")
    BetaAbstractMemoryTool, ToolError = _tools.BetaAbstractMemoryTool, _tools.ToolError
    BetaAsyncAbstractMemoryTool = _tools.BetaAsyncAbstractMemoryTool

__all__ = ["AsyncMemoryTool", "MemoryTool"]

P = ParamSpec("P")


class MemoryTool(BetaAbstractMemoryTool):
    """The memory tool. Its files are events: searchable, dated, with all versions."""

    def __init__(
        self, memory: AnyMemory, *, wing: str | None = None, redact: str | None = None, cache_control: Any = None
    ) -> None:
        super().__init__(cache_control=cache_control)
        self.files = MemoryFiles(memory, wing=wing, redact=redact)

    def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """List a folder or show a file."""
        return _run(self.files.view, command.path, command.view_range)

    def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Write a new file."""
        return _run(self.files.create, command.path, command.file_text)

    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replace a text that occurs once."""
        return _run(self.files.str_replace, command.path, command.old_str, command.new_str)

    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Insert text after a line."""
        return _run(self.files.insert, command.path, command.insert_line, command.insert_text)

    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Delete a file or folder."""
        return _run(self.files.delete, command.path)

    def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Move a file or folder."""
        return _run(self.files.rename, command.old_path, command.new_path)

    def clear_all_memory(self) -> str:
        """Forget every file and its whole history."""
        return _run(self.files.clear_all)


class AsyncMemoryTool(BetaAsyncAbstractMemoryTool):
    """The same for asyncio: each command runs in a thread."""

    def __init__(
        self, memory: AnyMemory, *, wing: str | None = None, redact: str | None = None, cache_control: Any = None
    ) -> None:
        super().__init__(cache_control=cache_control)
        self.sync = MemoryTool(memory, wing=wing, redact=redact)

    async def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """List a folder or show a file."""
        return await finished(self.sync.view, command)

    async def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Write a new file."""
        return await finished(self.sync.create, command)

    async def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replace a text that occurs once."""
        return await finished(self.sync.str_replace, command)

    async def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Insert text after a line."""
        return await finished(self.sync.insert, command)

    async def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Delete a file or folder."""
        return await finished(self.sync.delete, command)

    async def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Move a file or folder."""
        return await finished(self.sync.rename, command)

    async def clear_all_memory(self) -> str:
        """Forget every file and its whole history."""
        return await finished(self.sync.clear_all_memory)


def _run(command: Callable[P, str], *args: P.args, **kwargs: P.kwargs) -> str:
    """Convert our errors to the SDK's, whose text the runner passes to the model. Other errors would end the run."""
    try:
        return command(*args, **kwargs)
    except EverywordError as error:
        raise ToolError(str(error)) from error
