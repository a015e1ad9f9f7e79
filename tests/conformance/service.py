"""What the service keeps in a store: keys, webhooks, and numbers by which what happens can be followed."""

from __future__ import annotations

from msgspec.structs import replace

from conformance.making import NOW, SPACE, START, add_model, drafts, put, remove
from everyword.storage.protocol import Store
from everyword.types.events import Receipt
from everyword.types.service import ApiKey, Permission, Webhook

KEY = ApiKey(
    id="0a1b2c3d",
    name="laptop",
    permission=Permission.WRITE,
    spaces=("acme/*", "ünï"),
    created_at=START,
    expires_at=START.replace(year=START.year + 1),
)
HOOK = Webhook(
    id="wh_1", space=SPACE, url="https://example.org/x", kinds=("event",), created_at=START, position="event.0"
)


class ServiceConformance:
    """Holds a store to its promises to the service."""

    def test_keys_are_kept_found_and_ended(self, store: Store) -> None:
        with store.file_reader() as reader:
            assert not reader.any_key()
            assert reader.key(KEY.id) is None
        with store.file_writer() as writer:
            writer.put_key(KEY, b"hash")
        with store.file_reader() as reader:
            stored = reader.key(KEY.id)
            assert stored is not None
            assert (stored.key, stored.hash) == (KEY, b"hash")
            assert [one.key for one in reader.api_keys()] == [KEY]
        with store.file_writer() as writer:
            assert writer.revoke_key(KEY.id, at=NOW)
            assert not writer.revoke_key(KEY.id, at=NOW + 1)
            assert not writer.revoke_key("another", at=NOW)
        with store.file_reader() as reader:
            stored = reader.key(KEY.id)
            assert stored is not None
            assert stored.key.revoked_at is not None
            assert reader.any_key()  # it was made once: the door stays shut

    def test_a_webhook_moves_only_from_where_it_stands(self, store: Store) -> None:
        with store.file_writer() as writer:
            writer.put_webhook(HOOK, "secret")
            writer.fail_webhook(HOOK, error="no \ud800answer", due_at=NOW)
        with store.file_reader() as reader:
            [stored] = reader.webhooks()
            webhook = stored.webhook
            assert stored.secret == "secret"
            assert (webhook.attempts, webhook.error, webhook.delivered) == (1, "no \ufffdanswer", 0)
            assert webhook.due_at is not None
            assert replace(webhook, attempts=0, error=None, due_at=None) == HOOK
        with store.file_writer() as writer:
            assert writer.move_webhook(HOOK, "event.7", delivered=7)
            assert not writer.move_webhook(HOOK, "event.9", delivered=9)  # another sender, from the old position
            writer.fail_webhook(HOOK, error="late", due_at=NOW)
        with store.file_reader() as reader:
            webhook = reader.webhooks()[0].webhook
            assert (webhook.position, webhook.delivered, webhook.attempts, webhook.error) == ("event.7", 7, 0, None)
        with store.file_writer() as writer:
            assert writer.delete_webhook(HOOK.id)
            assert not writer.delete_webhook(HOOK.id)
            assert writer.webhooks() == []

    def test_numbers_grow_and_are_never_given_twice(self, store: Store) -> None:
        with store.reader(SPACE) as reader:
            tables = ("events", "statements", "receipts", "fold_journal", "jobs")
            assert {reader.last_number(table) for table in tables} == {0}
        seqs = put(store, drafts(["one", "two", "three"]))
        with store.reader(SPACE) as reader:
            assert reader.last_number("events") == seqs[-1]
        remove(store, seqs[-1:])
        with store.reader(SPACE) as reader:
            stands = reader.last_number("events")
            assert reader.log(after=stands, limit=1) == []
        assert put(store, drafts(["four"]))[0] > max(stands, seqs[-1])
        receipts = [Receipt(at=START, space=SPACE, dry_run=False, removed={"events": count}) for count in (1, 2, 3)]
        with store.writer(SPACE) as writer:
            for receipt in receipts:
                writer.put_receipt(receipt, [])
        with store.file_reader() as file:
            reader = file.reader(SPACE)
            first = reader.receipts_after(0, limit=2)
            rest = reader.receipts_after(first[-1][0], limit=2)
            assert [receipt.events for _, receipt in (*first, *rest)] == [1, 2, 3]
            assert file.reader("elsewhere").receipts_after(0, limit=2) == []

    def test_the_pulse_changes_with_everything_that_followers_see(self, store: Store) -> None:
        pulses: list[str] = []

        def felt() -> None:
            with store.file_reader() as reader:
                pulses.append(reader.pulse())

        felt()
        with store.writer(SPACE) as writer:
            add_model(writer)
        put(store, drafts(["one"]))
        felt()
        with store.file_writer() as writer:
            job = writer.jobs(limit=1)
            for one in job:
                writer.fail_job(one, error="no", due_at=NOW)
        felt()
        put(store, drafts(["two"]))
        felt()
        assert len(set(pulses)) >= 3
        felt()
        assert pulses[-1] == pulses[-2]

    def test_work_that_waits_is_listed_counted_and_due(self, store: Store) -> None:
        with store.reader(SPACE) as reader:
            assert reader.file.next_job_due() is None
            assert reader.job_counts() == {}
        with store.file_writer() as file:
            writer = file.writer(SPACE)
            writer.append(drafts(["one", "two"]), None, now=NOW, queue=True)
            file.writer("elsewhere").append(drafts(["three"]), None, now=NOW, queue=True)
            file.fail_job(file.jobs(limit=1)[0], error="no model", due_at=NOW)
        with store.reader(SPACE) as reader:
            rows = reader.jobs_of(limit=10)
            seen = [(row.kind, row.attempts, row.error) for row in rows]
            assert seen == [("embed", 1, "no model"), ("embed", 0, None)]
            assert reader.jobs_of(after=rows[0].id, limit=10) == rows[1:]
            assert (reader.jobs_of(kind="embed", limit=10), reader.jobs_of(kind="plan", limit=10)) == (rows, [])
            assert reader.job_counts() == {"embed": (2, 1)}
            assert reader.file.next_job_due() == 0
