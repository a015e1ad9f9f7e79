"""Sources: each event keeps where it comes from, and filters by role and source choose among all events."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from conformance.making import NOW, SPACE, draft, put
from everyword.storage.protocol import Store
from everyword.storage.rows import Draft
from everyword.types.events import Filter

ROLES = (None, "user", "assistant", "Tool", "system")
SOURCES = ("user", "user", "assistant", "tool", "web")


def _from(one: Draft, source: str) -> Draft:
    return replace(one, event=replace(one.event, source=source))


def _filled(store: Store) -> list[int]:
    made = [draft(f"event {n}", role=role) for n, role in enumerate(ROLES)]
    return put(store, [_from(one, source) for one, source in zip(made, SOURCES, strict=True)])


class SourcesConformance:
    """Holds a store to the sources of its events."""

    def test_an_event_keeps_its_source(self, store: Store) -> None:
        seqs = _filled(store)
        with store.reader(SPACE) as reader:
            assert [reader.fetch([seq])[seq].source for seq in seqs] == list(SOURCES)
            assert [event.source for _, event in reader.log(limit=9)] == list(SOURCES)
            outlines = reader.outlines(seqs)
        assert [outlines[seq].source for seq in seqs] == list(SOURCES)
        assert {outline.recorded_at for outline in outlines.values()} == {NOW}

    def test_an_event_without_a_source_gets_that_of_its_role(self, store: Store) -> None:
        seqs = put(store, [draft(f"event {n}", role=role) for n, role in enumerate(ROLES)])
        with store.reader(SPACE) as reader:
            found = [reader.fetch([seq])[seq].source for seq in seqs]
        assert found == ["user", "user", "assistant", "tool", "assistant"]

    @pytest.mark.parametrize(
        ("which", "places"),
        [
            (Filter(source=("user",)), [0, 1]),
            (Filter(source=("tool", "web")), [3, 4]),
            (Filter(source=("!tool",)), [0, 1, 2, 4]),
            (Filter(source=("!tool", "!web")), [0, 1, 2]),
            (Filter(source=("!web", "tool", "web")), [3]),
            (Filter(role=("tool",)), [3]),
            (Filter(role=("user", "assistant")), [1, 2]),
            (Filter(role=("!tool",)), [0, 1, 2, 4]),
            (Filter(role=("!user",), source=("!web",)), [0, 2, 3]),
            (Filter(role=("nobody's",)), []),
        ],
    )
    def test_filters_choose_by_role_and_source(self, store: Store, which: Filter, places: list[int]) -> None:
        seqs = _filled(store)
        put(store, [_from(draft("elsewhere"), "tool")], space="other")
        wanted = [seqs[place] for place in places]
        with store.reader(SPACE) as reader:
            matching = reader.matching(which)
            assert matching is not None
            assert matching.tolist() == wanted
            assert sorted(cursor.seq for cursor, _ in reader.page(which, limit=9)) == wanted
            newest = reader.page(which, newest_first=True, limit=9)
            assert sorted(cursor.seq for cursor, _ in newest) == wanted

    def test_what_no_llm_is_to_read_is_left_out_by_source(self, store: Store) -> None:
        seqs = _filled(store)
        with store.reader(SPACE) as reader:
            assert reader.unread(but_roles=["nobody"], but_sources=["tool", "web"], limit=9) == seqs[2::-1]
            assert reader.unread(but_roles=["assistant"], but_sources=["web"], limit=9) == [
                seqs[3],
                seqs[1],
                seqs[0],
            ]
