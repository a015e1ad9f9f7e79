"""smolagents: an agent that calls our tools."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from smolagents import ChatMessage, CodeAgent, MessageRole, Model, ToolCallingAgent
from smolagents.models import ChatMessageToolCall, ChatMessageToolCallFunction

from everyword.interfaces.adapters.smolagents_tools import everyword_tools


class Calls(Model):
    """Calls one tool, then answers with what it has seen."""

    def __init__(self, name: str, **arguments: Any) -> None:
        super().__init__(model_id="test")
        self.call = (name, arguments)
        self.offered: list[str] = []

    def generate(self, messages: list[Any], **kwargs: Any) -> ChatMessage:
        self.offered = [tool.name for tool in kwargs.get("tools_to_call_from") or []]
        seen = [message for message in messages if message.role == MessageRole.TOOL_RESPONSE]
        name, arguments = ("final_answer", {"answer": str(seen[-1].content)}) if seen else self.call
        function = ChatMessageToolCallFunction(name=name, arguments=arguments)
        return ChatMessage(
            role=MessageRole.ASSISTANT,
            content="",
            tool_calls=[ChatMessageToolCall(function=function, id="c", type="function")],
        )


class Writes(Model):
    """Writes Python that searches the memory."""

    def generate(self, messages: list[Any], **kwargs: Any) -> ChatMessage:
        code = "<code>\nfinal_answer(recall(question='Who moved to Lisbon?'))\n</code>"
        return ChatMessage(role=MessageRole.ASSISTANT, content=f"Thought: look it up.\n{code}")


def test_a_tool_calling_agent_recalls(memory: Any) -> None:
    memory.add("I moved to Lisbon.", speaker="Ana")
    model = Calls("recall", question="Who moved to Lisbon?")
    agent = ToolCallingAgent(tools=everyword_tools(memory), model=model, verbosity_level=0)
    assert "Ana: I moved to Lisbon." in str(agent.run("Who moved?"))
    assert {"recall", "remember"} <= set(model.offered)


def test_a_code_agent_recalls(memory: Any) -> None:
    memory.add("I moved to Lisbon.", speaker="Ana")
    agent = CodeAgent(tools=everyword_tools(memory, read_only=True), model=Writes(model_id="test"), verbosity_level=0)
    assert "Ana: I moved to Lisbon." in str(agent.run("Who moved?"))


def test_an_agent_remembers(memory: Any) -> None:
    tools = everyword_tools(memory, wing="w", session="s1")
    agent = ToolCallingAgent(
        tools=tools, model=Calls("remember", text="I prefer tea.", speaker="Ana"), verbosity_level=0
    )
    agent.run("I prefer tea.")
    (event,) = memory.events(session="s1")
    assert (event.text, event.speaker, event.wing) == ("I prefer tea.", "Ana", "w")


def test_the_model_is_told_what_tools_do(memory: Any) -> None:
    recall, remember = everyword_tools(memory)
    assert recall.description.startswith("Search long-term memory")
    assert "full question" in str(recall.inputs["question"]["description"])
    assert set(remember.inputs) == {"text", "speaker"}
    assert remember.inputs["speaker"].get("nullable")  # may be left out
    assert [one.name for one in everyword_tools(memory, read_only=True)] == ["recall"]


def test_the_example_of_the_documentation_runs(run_example: Callable[[str], None]) -> None:
    run_example("smolagents")
