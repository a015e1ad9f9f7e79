"""Upkeep through `Memory`: forgetting, export and import, backups, scopes, closing, the async twin."""

from __future__ import annotations

import asyncio
import json
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from everyword import AsyncMemory, Memory
from everyword.errors import BadLocation, Closed, InvalidFilter, InvalidInput, NotFound

START = datetime(2026, 1, 1, tzinfo=UTC)


class Clock:
    """A clock that moves a minute at each look."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        self.now += timedelta(minutes=1)
        return self.now


@pytest.fixture
def memory():
    """Give a memory with events of two speakers, two sessions and a wing."""
    with Memory.open(":memory:", embedder="hashing", clock=Clock()) as memory:
        for n in range(12):
            memory.add(
                f"Event number{n}.",
                speaker="Ana" if n % 2 else "Bo",
                session=f"s{n % 3}",
                wing="w" if n >= 8 else None,
                at=START + timedelta(days=n),
                key=f"k{n}",
            )
        yield memory


def _left(memory: Memory) -> set[int]:
    return {int((event.key or "k-1")[1:]) for event in memory.events()}


# Forgetting


@pytest.mark.slow
@pytest.mark.parametrize(
    ("what", "gone"),
    [
        ({"session": "s1"}, {1, 4, 7, 10}),
        ({"speaker": "Ana"}, {1, 3, 5, 7, 9, 11}),
        ({"wing": "w"}, {8, 9, 10, 11}),
        ({"before": START + timedelta(days=3)}, {0, 1, 2}),
        ({"before": "2026-01-02"}, {0}),
        ({"keys": ["k3", "k5", "absent"]}, {3, 5}),
        ({"speaker": "Ana", "session": "s1"}, {1, 7}),
        ({"keys": ["k1", "k2", "k3"], "speaker": "Ana", "before": START + timedelta(days=3)}, {1}),
        ({"session": "absent"}, set()),
        ({"ids": []}, set()),
        ({"keys": []}, set()),
        ({"ids": [], "speaker": "Ana"}, set()),
    ],
)
def test_conditions_narrow_what_is_forgotten(memory: Memory, what: dict, gone: set[int]) -> None:
    events = {int((event.key or "")[1:]): event for event in memory.events()}
    dry = memory.forget(**what, dry_run=True)
    assert set(dry.ids) == {events[n].id for n in gone}
    assert _left(memory) == set(range(12))
    receipt = memory.forget(**what)
    assert set(receipt.ids) == set(dry.ids)
    assert receipt.events == dry.events == len(gone) == len(receipt.ids)
    assert _left(memory) == set(range(12)) - gone
    for n in range(12):
        found = [hit for hit in memory.recall(f"number{n}", k=12) if f"number{n}." in hit.text]
        assert bool(found) == (n not in gone)
    assert memory.stats().vectors == 12 - len(gone)
    assert memory.admin.verify().ok
    assert memory.admin.verify().checked.get("receipts", 0) == bool(gone)
    assert memory.forget(**what).events == 0


def test_forget_by_id(memory: Memory) -> None:
    event = memory.get(key="k4")
    assert memory.forget(ids=[event.id, event.id]).ids == (event.id,)
    with pytest.raises(NotFound):
        memory.get(event.id)
    with pytest.raises(NotFound):
        memory.get(key="k4")
    assert memory.forget(ids=[event.id]).events == 0


def test_a_receipt_holds_no_words(memory: Memory) -> None:
    receipt = memory.forget(session="s1")
    assert "number" not in repr(receipt)
    assert "Ana" not in repr(receipt)
    assert receipt.removed["events"] == 4
    assert receipt.removed["windows"] == 4
    assert receipt.space == "default"


def test_verify_checks_receipts_and_says_what_it_checked(memory: Memory) -> None:
    memory.forget(session="s1")
    report = memory.admin.verify()
    assert report.ok
    assert report.checked["events"] == 8
    assert report.checked["receipts"] == 1
    assert memory.admin.verify(deep=False).ok


# Export and import


def test_an_export_comes_back_whole_with_its_times(memory: Memory, tmp_path: Path) -> None:
    memory.add(
        "With é and 名前 \x00 \ud800.", meta={"a": [1, None, {"b": "é"}]}, role="user", at="0001-01-01T00:00+14:00"
    )
    path = tmp_path / "all.jsonl"
    assert memory.admin.export(path) == 13
    lines = path.read_text(encoding="ascii").splitlines()
    assert len(lines) == 13
    assert all(json.loads(line)["text"] for line in lines)
    with Memory.open(":memory:", embedder="hashing", clock=lambda: START + timedelta(days=400)) as other:
        assert other.import_events(path).added == 13
        assert list(other.events()) == list(memory.events())  # ids, times, zones, recorded_at, all
        middle = memory.get(key="k5").recorded_at
        known = [event.key for event in memory.events(as_of=middle)]
        assert len(known) == 6
        assert [event.key for event in other.events(as_of=middle)] == known
        assert other.recall("number5", as_of=middle)[0].event.key == "k5"
        again = other.import_events(path)
        assert (again.added, again.known) == (0, 13)
        assert other.admin.verify().ok
        assert other.admin.export(tmp_path / "again.jsonl") == 13
    assert (tmp_path / "again.jsonl").read_bytes() == path.read_bytes()


def test_an_import_that_breaks_off_can_be_run_again(tmp_path: Path) -> None:
    path = tmp_path / "half.jsonl"
    good = [json.dumps({"text": f"event {n}", "at": "2026-01-01"}) for n in range(600)]
    path.write_text("\n".join([*good, "broken"]))
    with Memory.open(":memory:", embedder="none") as memory:
        assert memory.import_events(path).skipped == {"the last line is incomplete": 1}
        before = memory.stats().events
        assert before == 600
        path.write_text("\n".join(["", *good, ""]))
        steps: list[tuple] = []
        outcome = memory.import_events(path, progress=lambda *step: steps.append(step))
        assert (outcome.added, outcome.known) == (600 - before, before)
        assert max(done for what, done, _ in steps if what == "events") == 600
        assert memory.admin.verify().ok


def test_an_import_never_claims_to_come_from_the_future(tmp_path: Path) -> None:
    path = tmp_path / "future.jsonl"
    path.write_text(json.dumps({"text": "x", "recorded_at": "2999-01-01T00:00:00Z"}))
    with Memory.open(":memory:", embedder="none", clock=lambda: START) as memory:
        memory.import_events(path)
        assert next(memory.events()).recorded_at == START


def test_what_comes_by_add_is_learned_now(memory: Memory) -> None:
    event = memory.get(key="k3")
    with Memory.open(":memory:", embedder="none", clock=lambda: START + timedelta(days=400)) as other:
        assert other.add_many([event])[0].event.recorded_at == START + timedelta(days=400)


def test_a_backup_opens(memory: Memory, tmp_path: Path) -> None:
    memory.admin.backup(tmp_path / "copy.db")
    memory.forget(session="s1")
    with Memory.open(tmp_path / "copy.db", embedder="hashing") as copy:
        assert _left(copy) == set(range(12))
        assert copy.recall("number4")[0].event.key == "k4"
        assert copy.admin.verify().ok


# Scopes


@pytest.mark.slow
@pytest.mark.parametrize("write", ["backup", "export"])
def test_several_that_write_one_file_at_once_leave_a_whole_one(tmp_path: Path, write: str) -> None:
    memory = Memory.open(tmp_path / "m.db", embedder="none", extract=False, fold=False)
    memory.add_many({"text": f"Event {number}. " + "words " * 1000} for number in range(500))
    target = tmp_path / "out"
    (tmp_path / "out.partial").write_text("left by somebody else")
    failed: list[Exception] = []

    def go() -> None:
        try:
            getattr(memory.admin, write)(target)
        except BadLocation:
            pass  # another was there first
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=go) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert sorted(path.name for path in tmp_path.glob("out*")) == ["out", "out.partial"]
    if write == "export":
        target = target.rename(tmp_path / "out.jsonl")
    with Memory.open(target if write == "backup" else ":memory:", embedder="none") as copy:
        if write == "export":
            copy.import_events(target)
        assert copy.stats().events == 500
    memory.close()


def test_spaces_never_see_each_other(memory: Memory, tmp_path: Path) -> None:
    acme = memory.space("acme/ana")
    assert acme.stats().events == 0
    secret = acme.add("Acme's secret number4.", key="k4", speaker="Ana", session="s1")
    assert secret.event.space == "acme/ana"
    assert all("Acme" not in hit.text for hit in memory.recall("acme secret number4", k=50))
    assert [hit.text for hit in acme.recall("event number4", k=50)] == ["Acme's secret number4."]
    assert memory.get(key="k4").text == "Event number4."
    nameless = acme.add("Without a key.", session="s1")
    with pytest.raises(NotFound):
        memory.get(nameless.id)
    assert memory.forget(ids=[nameless.id]).events == 0
    assert acme.forget(session="s1").events == 2
    assert memory.stats().events == 12
    assert memory.stats().spaces == 2
    acme.add("Another.")
    assert (memory.stats().events, memory.stats().events_total) == (12, 13)
    assert acme.admin.export(tmp_path / "acme.jsonl") == 1
    assert memory.admin.verify().ok


def test_a_walled_handle_tells_nothing_of_what_is_around_it(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "secret-name.db", embedder="hashing") as memory:
        memory.space("tenant").add("Mine.")
        memory.add_many([{"text": f"Of others, {n}."} for n in range(30)])
        walled = memory.space("tenant", walled=True)
        for handle in (walled, walled.wing("w")):
            assert handle.location == handle.stats().location == ""
            assert "secret-name" not in repr(handle)
            report = handle.admin.verify()
            assert report.ok
            assert (report.checked["events"], report.checked["spaces"]) == (1, 1)
            assert not {"pages", "bytes"} & report.checked.keys()
        assert memory.space("tenant").location.endswith("secret-name.db")
        assert memory.space("tenant").admin.verify().checked["events"] == 31


def test_a_wing_is_a_scope_inside_a_space(memory: Memory) -> None:
    wing = memory.wing("w")
    assert {event.key for event in wing.events()} == {"k8", "k9", "k10", "k11"}
    assert all(hit.event.wing == "w" for hit in wing.recall("event", k=50))
    assert wing.add("Of the wing.").event.wing == "w"
    assert wing.get(key="k9").wing == "w"
    with pytest.raises(NotFound):
        wing.get(key="k1")
    with pytest.raises(InvalidFilter):
        wing.recall("event", wing="other")
    assert wing.recall("event", wing="w")
    assert {session.name for session in wing.sessions()} == {"s0", "s1", "s2"}
    assert sum(session.events for session in wing.sessions()) == 4
    assert wing.context("event").citations
    with pytest.raises(InvalidInput):
        wing.add("Elsewhere.", wing="other")
    assert wing.forget(speaker="Ana").events == 2  # never beyond the wing
    assert memory.forget(keys=["k1"], wing="w").events == 0
    assert len(_left(memory) & {1, 3, 5, 7}) == 4


# Closing


def test_a_wing_s_jobs_are_listed_whoever_else_s_wait(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("everyword.api.admin._JOBS_AT_ONCE", 2)
    memory.add_many(({"text": f"Elsewhere {n}."} for n in range(5)), wait=False)
    written = memory.add("Of the wing.", wing="w", wait=False)
    assert [job.event_id for job in memory.wing("w").admin.jobs(limit=1)] == [written.id]
    assert len(memory.admin.jobs(limit=5)) == 5


def test_a_closed_memory_says_so(tmp_path: Path) -> None:
    memory = Memory.open(tmp_path / "memory.db", embedder="hashing")
    memory.add("x")
    other, events = memory.space("other"), memory.events()
    other.close()  # a handle leaves that to the memory that it came from
    memory.add("y")
    memory.close()
    memory.close()
    uses = (
        lambda: memory.add("z"),
        lambda: memory.recall("x"),
        lambda: memory.context("x"),
        lambda: memory.get(key="k"),
        lambda: next(events),
        lambda: memory.sessions(),
        lambda: memory.stats(),
        lambda: memory.forget(session="s"),
        lambda: memory.admin.verify(),
        lambda: memory.admin.rebuild(),
        lambda: memory.admin.settle(),
        lambda: memory.admin.backup(tmp_path / "b.db"),
        lambda: memory.admin.export(tmp_path / "e.jsonl"),
        lambda: other.add("z"),
    )
    for use in uses:
        with pytest.raises(Closed):
            use()
    assert not (tmp_path / "b.db").exists()
    assert not (tmp_path / "e.jsonl").exists()
    assert "memory.db" in repr(memory)


def test_a_with_block_closes_also_after_an_error(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), Memory.open(tmp_path / "memory.db", embedder="hashing") as memory:
        raise ZeroDivisionError
    with pytest.raises(Closed):
        memory.stats()


def test_closing_leaves_one_file_that_can_be_moved(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "memory.db", embedder="hashing") as memory:
        memory.add("x")
    assert {path.name for path in tmp_path.iterdir()} <= {"memory.db", "memory.db-lock"}
    (tmp_path / "memory.db").rename(tmp_path / "moved.db")
    with Memory.open(tmp_path / "moved.db", embedder="hashing") as moved:
        assert moved.recall("x")


# The async twin


def test_the_async_memory_works(tmp_path: Path) -> None:
    async def use() -> None:
        async with await AsyncMemory.open(tmp_path / "memory.db", embedder="hashing", tokenizer="words") as memory:
            written = await memory.add("I moved to Lisbon.", speaker="Ana", session="s")
            batch = await asyncio.gather(*(memory.add(f"Event number{n}.") for n in range(20)))
            assert all(one.new for one in batch)
            assert (await memory.recall("Lisbon", k=1))[0].event == written.event
            assert (await memory.context("Lisbon", budget=50)).citations
            assert await memory.get(written.id) == written.event
            assert len([event async for event in memory.events()]) == 21
            assert len([event async for event in memory.events(session="s")]) == 1
            assert len(await memory.sessions()) == 1
            await memory.wing("w").add("In the wing.")
            await memory.space("other").add("In another space.")
            assert (await memory.stats()).events == 22
            assert (await memory.forget(session="s")).events == 1
            await memory.admin.rebuild()
            assert await memory.admin.settle() == 0
            assert (await memory.admin.verify()).ok
            await memory.admin.backup(tmp_path / "copy.db")
            assert await memory.admin.export(tmp_path / "all.jsonl") == 21
            assert (await memory.import_events(tmp_path / "all.jsonl")).added == 0
            assert memory.location.endswith("memory.db")
            assert memory.notices == []
        with pytest.raises(Closed):
            await memory.stats()

    asyncio.run(use())
