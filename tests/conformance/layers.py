"""What a wake-up reads: the newest statements of a kind, and how often things were said again."""

from __future__ import annotations

from conformance.making import SPACE, START, draft
from conformance.statements import change, put_stated
from everyword.storage.protocol import Store
from everyword.types.statements import StatementKind, Status


class LayersConformance:
    """Holds a store to what layers need."""

    def test_the_newest_of_a_kind_come_first_and_only_what_is_current(self, store: Store) -> None:
        made = [put_stated(store, draft(f"Ana is {n}.", speaker="Ana", wing="w" if n % 2 else None)) for n in range(5)]
        put_stated(store, draft("Decided.", speaker="Ana"), kind=StatementKind.DECISION)
        put_stated(store, draft("Elsewhere.", speaker="Ana"), space="other")
        with store.writer(SPACE) as writer:
            writer.close_statement(made[4][1].id, status=Status.RETRACTED, valid_to=START, at=1)
        ids = [statement.id for _, statement in made]
        with store.file_reader() as file:

            def latest(wing: str | None = None, limit: int = 10, space: str = SPACE) -> list[str]:
                found = file.reader(space).latest_statements(StatementKind.ATTRIBUTE, wing=wing, limit=limit)
                return [statement.id for statement in found]

            assert latest() == [ids[3], ids[2], ids[1], ids[0]]
            assert latest(limit=2) == [ids[3], ids[2]]
            assert latest(wing="w") == [ids[3], ids[1]]
            assert latest(wing="nobody") == []
            assert latest(space="nowhere") == []

    def test_what_was_said_again_is_counted(self, store: Store) -> None:
        event = draft("Ana lives in Lisbon.", speaker="Ana")
        seq, often = put_stated(store, event)
        _, once = put_stated(store, draft("Ana sails.", speaker="Ana"))
        with store.writer(SPACE) as writer:
            said = [change(event.event, "none", target=one.id) for one in (often, often, once)]
            others = [change(event.event, "add", statement=often.id), change(event.event, "update", target=once.id)]
            writer.put_changes([(seq, one) for one in (*said, *others)])
        with store.file_reader() as file:
            reader = file.reader(SPACE)
            assert list(reader.confirmations(limit=10).items()) == [(often.id, 2), (once.id, 1)]
            assert reader.confirmations(limit=1) == {often.id: 2}
            assert file.reader("nowhere").confirmations(limit=1) == {}
