"""`AsyncMemory` and `Client` have the methods of `Memory` and its parts, with the same signatures."""

from __future__ import annotations

import inspect
import sys
from types import ModuleType
from typing import Any, get_type_hints

import pytest

from everyword import AsyncMemory, Client, Memory
from everyword.aio import AsyncAdmin, AsyncConcepts, AsyncGraph, AsyncIntents
from everyword.api.admin import Admin
from everyword.client import RemoteAdmin, RemoteConcepts, RemoteGraph, RemoteIntents
from everyword.errors import EverywordError
from everyword.memory import parts

KINDS = (Memory, *parts().values())
ASYNC = dict(zip(KINDS, (AsyncMemory, AsyncGraph, AsyncConcepts, AsyncIntents, AsyncAdmin), strict=True))
REMOTE = dict(zip(KINDS, (Client, RemoteGraph, RemoteConcepts, RemoteIntents, RemoteAdmin), strict=True))
OPENED_OTHERWISE = {"open"}  # AsyncMemory.open forwards its arguments; a Client is made with an address
ITERATE = {"events", "watch", "follow"}  # `async for`, not awaited
NOT_AWAITED = {"space", "wing"}
# What belongs to the process that has the file.
NOT_FROM_AFAR = {
    Memory: {"open", "on", "watch"},
    Admin: {
        "add_webhook", "api_keys", "create_key", "deliver_webhooks", "fenced", "follow", "forgotten", "job_counts",
        "key_for", "needs_keys", "next_job_due", "pulse", "remove_webhook", "revoke_key", "webhooks",
        "work",
    },
}  # fmt: skip
OTHER_DEFAULTS = {"space": {"walled"}, "import_events": {"progress"}}  # a key decides; nothing is shown unless asked


def _methods(kind: type) -> dict[str, Any]:
    found = inspect.getmembers(kind, lambda one: inspect.isfunction(one) or inspect.ismethod(one))
    return {name: one for name, one in found if not name.startswith("_")}


@pytest.mark.parametrize("kind", ASYNC, ids=lambda kind: kind.__name__)
def test_the_async_memory_has_the_same_methods(kind: type) -> None:
    ours, theirs = _methods(kind), _methods(ASYNC[kind])
    assert ours.keys() == theirs.keys()
    for name in ours.keys() - OPENED_OTHERWISE:
        _same_parameters(name, ours[name], theirs[name])
        assert inspect.iscoroutinefunction(theirs[name]) == (name not in ITERATE | NOT_AWAITED), name


@pytest.mark.parametrize("kind", REMOTE, ids=lambda kind: kind.__name__)
def test_the_client_has_the_same_methods(kind: type) -> None:
    ours, theirs = _methods(kind), _methods(REMOTE[kind])
    assert theirs.keys() == ours.keys() - NOT_FROM_AFAR.get(kind, set())
    for name in theirs:
        _same_parameters(name, ours[name], theirs[name])


@pytest.mark.parametrize("other", [AsyncMemory, Client])
def test_properties_are_the_same(other: type) -> None:
    for name, one in vars(Memory).items():
        if isinstance(one, property):
            assert isinstance(vars(other)[name], property), name


def test_a_memory_has_few_methods_and_says_of_each_what_it_does() -> None:
    assert len(_methods(Memory)) <= 28
    for kind in KINDS:
        for name, method in _methods(kind).items():
            assert (method.__doc__ or "").strip(), name


def _same_parameters(name: str, ours: Any, theirs: Any) -> None:
    expected, found = inspect.signature(ours).parameters, inspect.signature(theirs).parameters
    assert list(expected) == list(found), name
    hints, others = _hints(ours), _hints(theirs)
    for parameter in expected.values():
        other = found[parameter.name]
        assert parameter.kind == other.kind, (name, parameter.name)
        if parameter.name in OTHER_DEFAULTS.get(name, ()):
            continue
        assert parameter.default == other.default, (name, parameter.name)
        assert hints.get(parameter.name) == others.get(parameter.name) or name == "on", (name, parameter.name)


def _hints(method: Any) -> dict[str, Any]:
    if "Found" in str(inspect.signature(method)):  # imported for type checkers alone
        return {one.name: one.annotation for one in inspect.signature(method).parameters.values()}
    return get_type_hints(method)


def test_calls_are_traced_where_the_program_uses_opentelemetry(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = pytest.importorskip("opentelemetry.trace")
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exported = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exported))
    monkeypatch.setattr(trace, "get_tracer", provider.get_tracer)
    with Memory.open(":memory:", embedder="hashing") as memory:
        with provider.get_tracer("caller").start_as_current_span("request") as request:
            memory.add("The safe is behind the painting.")
            memory.recall("Where is the safe?")
            memory.graph.entities()
        with pytest.raises(EverywordError):
            memory.recall("Where is the safe?", k=-7)
    spans = {span.name: span for span in exported.get_finished_spans()}
    assert {"everyword.add", "everyword.graph.entities", "everyword.recall"} <= set(spans)
    recalls = [span for span in exported.get_finished_spans() if span.name == "everyword.recall"]
    assert recalls[0].parent.span_id == request.get_span_context().span_id
    assert recalls[0].attributes == {"everyword.results": 1}
    assert (recalls[1].status.status_code.name, recalls[1].status.description) == ("ERROR", "InvalidInput")
    assert "safe" not in "".join(span.to_json() for span in spans.values())
    exported.clear()
    with Memory.open(":memory:", embedder="hashing") as memory:
        # As it is while another thread imports it.
        monkeypatch.setitem(sys.modules, "opentelemetry.trace", ModuleType("opentelemetry.trace"))
        memory.add("Half of it is there.")
        monkeypatch.delitem(sys.modules, "opentelemetry.trace")
        memory.add("Nobody looks.")
    assert exported.get_finished_spans() == ()
