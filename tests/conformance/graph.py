"""The temporal graph as a store keeps it: names, mentions, claims, facts, edits."""

from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec.structs import replace

from conformance.making import NOW, SPACE, START, draft, put
from everyword.errors import StoreError
from everyword.knowledge.timeline import timeline
from everyword.storage.protocol import Store
from everyword.storage.rows import SPEAKS, Edit, FactFilter, FactKey, GraphState, MentionRow, NameRow
from everyword.storage.sql.graph import fact_line
from everyword.types.events import Event, Span
from everyword.types.graph import FactDraft, KnownName, entity_id
from everyword.types.times import from_micros

ANA, LEEDS, PORTO = (entity_id(SPACE, name) for name in ("Ana", "Leeds", "Porto"))


def name_row(name: str, type: str, home: str | None = None) -> NameRow:
    known = KnownName(key=name.casefold(), written={name: 1}, votes={type: 90})
    id = entity_id(SPACE, name)
    return NameRow(id, home or id, known, 1, 1_000, 2_000)


def claim(event: Event, place: str) -> FactDraft:
    return FactDraft(
        subject=ANA,
        subject_name="Ana",
        relation="lives_in",
        object=entity_id(SPACE, place),
        object_name=place,
        event_id=event.id,
        span=Span(0, 6),
        quote=event.text[:6],
        said_at=event.at,
        recorded_at=event.recorded_at,
        confidence=0.9,
        holds_at=event.at,
        subject_form=ANA,
        object_form=entity_id(SPACE, place),
        extractor="test",
    )


def known(store: Store) -> list[int]:
    """Write two events that say where Ana lives, with their names and claims."""
    made = [
        draft("I live in Leeds.", speaker="Ana", at=START),
        draft("I live in Porto.", speaker="Ana", at=START + timedelta(days=9)),
    ]
    seqs = put(store, made)
    with store.writer(SPACE) as writer:
        version = writer.next_graph_version()
        writer.put_names(
            [name_row("Ana", "person"), name_row("Leeds", "place"), name_row("Porto", "place")], version=version
        )
        writer.put_mentions([MentionRow(ANA, seq, SPEAKS, SPEAKS, "person", 500) for seq in seqs])
        writer.put_mentions([MentionRow(LEEDS, seqs[0], 10, 15, "place", 90)])
        writer.put_claims(
            [(seqs[0], claim(made[0].event, "Leeds")), (seqs[1], claim(made[1].event, "Porto"))],
        )
    return seqs


class GraphConformance:
    """What store/graph.py says."""

    def test_the_first_event_that_has_a_name_is_found(self, store: Store) -> None:
        first, second = known(store)
        porto = entity_id(SPACE, "Porto")
        with store.writer(SPACE) as writer:
            writer.put_mentions([MentionRow(porto, second, 10, 15, "place", 90)])
        with store.file_reader() as file:
            reader = file.reader(SPACE)
            assert reader.first_named([ANA, LEEDS, porto, "en_x"]) == {ANA: first, LEEDS: first, porto: second}
            assert file.reader("nowhere").first_named([ANA]) == reader.first_named([]) == {}

    def test_names_come_back_and_add_up(self, store: Store) -> None:
        known(store)
        with store.writer(SPACE) as writer:
            version = writer.next_graph_version(gone=True)
            writer.put_names([replace(name_row("Ana", "person"), first_at=1, last_at=9_000)], version=version)
            writer.move_names({PORTO: LEEDS}, version=version)
        with store.file_reader() as file:
            reader = file.reader(SPACE)
            (ana,) = reader.names_of(keys=["ana"])
            assert (ana.events, ana.first_at, ana.last_at) == (2, 1, 9_000)
            assert {row.id for row in reader.names_of(homes=[LEEDS])} == {LEEDS, PORTO}
            assert {row.id for row in reader.names(changed_after=version - 1)} == {ANA, PORTO}
            assert reader.graph_state() == GraphState(version, 1)
            assert reader.homes_by_prefix(prefix="l", type="place", wing=None, limit=9) == [LEEDS]
            assert file.reader("another").names() == []

    def test_mentions_are_read_by_event_and_by_entity(self, store: Store) -> None:
        seqs = known(store)
        with store.reader(SPACE) as reader:
            assert [row.start for row in reader.mentions(seqs=[seqs[0]])] == [SPEAKS, 10]
            assert [row.seq for row in reader.mentions(homes=[ANA])] == seqs
            assert [row.seq for row in reader.mentions_of_name(LEEDS)] == seqs[:1]

    def test_claims_belong_to_whom_their_names_belong(self, store: Store) -> None:
        known(store)
        with store.writer(SPACE) as writer:
            writer.move_names({LEEDS: PORTO}, version=writer.next_graph_version())
        with store.reader(SPACE) as reader:
            claims = reader.claims(FactKey(ANA, "lives_in"))
            assert [(row.draft.object, row.draft.object_form, row.draft.quote) for row in claims] == [
                (PORTO, LEEDS, "I live"),
                (PORTO, PORTO, "I live"),
            ]
            assert len(reader.claims_of(names=[LEEDS])) == 1
            assert len(reader.claims_of(homes=[PORTO])) == 2
            assert len(reader.claims(FactKey(ANA, "lives_in", PORTO))) == 2

    def test_facts_keep_their_windows_and_what_they_rest_on(self, store: Store) -> None:
        seqs = known(store)
        with store.writer(SPACE) as writer:
            claims = {row.draft: row.number for row in writer.claims_of(seqs=seqs)}
            facts = timeline(claims)
            numbers = [[claims[source] for source in fact.sources] for fact in facts]
            writer.put_facts([(fact, fact_line(fact, own), own) for fact, own in zip(facts, numbers, strict=True)])
        with store.reader(SPACE) as reader:
            assert reader.facts(FactFilter(), limit=9) == facts
            assert [fact.said_at for fact in facts] == [START, START + timedelta(days=9)]
            assert {fact.recorded_at for fact in reader.facts(FactFilter(), limit=9)} == {from_micros(NOW)}
            (then,) = reader.facts(FactFilter(subjects=(ANA,), as_of=START + timedelta(days=1)), limit=9)
            assert then.object == LEEDS
            assert [fact.object for fact in reader.facts(FactFilter(open=True), limit=9)] == [PORTO]
            assert reader.fact_keys(numbers[0]) == [FactKey(ANA, "lives_in")]

    def test_two_homes_at_a_time_are_impossible(self, store: Store) -> None:
        seqs = known(store)
        with store.reader(SPACE) as reader:
            facts = timeline(row.draft for row in reader.claims_of(seqs=seqs))
        both = [replace(fact, valid_to=None) for fact in facts]
        with pytest.raises(StoreError), store.writer(SPACE) as writer:
            writer.put_facts([(fact, fact_line(fact, ()), ()) for fact in both])
        with store.writer(SPACE) as writer:  # as a conflict both are kept
            writer.put_facts([(replace(fact, conflicts=True), fact_line(fact, ()), ()) for fact in both])
        with store.reader(SPACE) as reader:
            assert len(reader.facts(FactFilter(conflicts=True), limit=9)) == 2

    def test_edits_are_undone_once_and_go_with_their_names(self, store: Store) -> None:
        known(store)
        with store.writer(SPACE) as writer:
            number = writer.put_edit(at=5, kind="merge", pins={LEEDS: PORTO})
            assert writer.undo_edit(number)
            assert not writer.undo_edit(number)
        with store.reader(SPACE) as reader:
            assert reader.edits() == [Edit(number, 5, "merge", True, {LEEDS: PORTO})]
        with store.writer(SPACE) as writer:
            writer.drop_names([LEEDS])
            writer.drop_loose_pins()
            assert writer.edits() == []

    def test_dropping_the_graph_leaves_nothing_of_it(self, store: Store) -> None:
        known(store)
        with store.writer(SPACE) as writer:
            writer.drop_graph()
            assert not any(writer.graph_counts().values())

    def test_what_writers_remember_is_gone_when_one_fails(self, store: Store) -> None:
        with store.writer(SPACE) as writer:
            writer.memo()["names"] = 1
        with store.writer(SPACE) as writer:
            assert writer.memo() == {"names": 1}
        with pytest.raises(ZeroDivisionError), store.file_writer() as writer:
            raise ZeroDivisionError
        with store.writer(SPACE) as writer:
            assert writer.memo() == {}
