"""The command line, called in this process: what each verb prints, in text and as JSON."""

from __future__ import annotations

import io
import json
import re
import shutil
import sys
from pathlib import Path

import pytest
from tests.fences import inside
from tests.surfaces.command import Done, Run, runner

from everyword import Memory
from everyword.errors import BadLocation, ForeignFile, KeyConflict, NotFound, StoreUnreachable
from everyword.text.rendering import escaped


@pytest.fixture
def run(location: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    called = runner(capsys)

    def run(*arguments: str, stdin: bytes = b"") -> Done:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        return called(*arguments)

    return run


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """Write five events, once; the file, and their ids by key."""
    path = tmp_path_factory.mktemp("history") / "memory.db"
    events = [
        {"key": "lisbon", "text": "I moved to Lisbon in March. The flat is small.", "speaker": "Ana", "session": "s1"},
        {"key": "beta", "text": "We ship the beta on May 14.", "speaker": "Bo", "session": "s2", "role": "user"},
        {"key": "nuts", "text": "My sister is allergic to peanuts.", "speaker": "Ana", "session": "s1"},
        {"key": "cat", "text": "The cat is called Miso.", "speaker": "Chiara", "session": "s3"},
        {"key": "rain", "text": "It rained all day.", "session": "s3"},
    ]
    wings = {"s1": "home", "s2": "work", "s3": None}
    with Memory.open(path, embedder="hashing") as memory:
        batch = memory.add_many(
            {**event, "wing": wings[event["session"]], "at": f"2026-04-{day:02}T10:00Z"}
            for day, event in enumerate(events, 1)
        )
    return path, {event["key"]: id for event, id in zip(events, batch.ids, strict=True)}


@pytest.fixture
def history(location: Path, written: tuple[Path, dict[str, str]]) -> dict[str, str]:
    """Five events in the memory; their ids by key."""
    path, ids = written
    shutil.copy(path, location)
    return ids


def test_a_verb_may_be_written_with_a_hyphen(run: Run, history: dict[str, str]) -> None:
    assert run("wake-up", "--json").json == run("wake_up", "--json").json


def test_help_and_version_in_other_words(run: Run) -> None:
    assert run("help", "recall") == run("recall", "--help")
    assert run("help", "keys", "create") == run("keys", "create", "--help")
    assert run("--json", "help").out == run("help").out == run("--help").out
    assert run("-V") == run("--version") == run("--json", "-V")


def test_one_of_a_thing_is_counted_in_the_singular(run: Run) -> None:
    run("add", "I live in Lisbon.", "--speaker", "Ana", "--at", "2026-04-02")
    assert run("facts", "Ana").code == 0
    counted = run("stats").out
    assert "1 attribute\n" in counted
    assert "2 entities, 1 fact\n" in counted


@pytest.mark.parametrize("program", ["mcp", "serve"])
def test_a_server_names_its_default_memory(run: Run, program: str) -> None:
    told = " ".join(run(program, "--help").out.split())
    assert "[--memory PATH]" in told
    assert "(default: EVERYWORD_MEMORY, or memory.db in the user's data folder)" in told


class TestAdd:
    def test_stores_what_it_is_told(self, run: Run) -> None:
        told = "--speaker Ana --session s1 --at 2026-04-02T10:00+01:00 --key k --role user --wing home".split()
        done = run("add", "I moved.\nTo Lisbon.", *told, "--meta", '{"a": [1, null]}', "--json")
        assert done.code == 0
        assert done.err == ""
        event = done.json["event"]
        assert done.json["new"] is True
        assert event["text"] == "I moved.\nTo Lisbon."
        assert (event["speaker"], event["session"], event["key"]) == ("Ana", "s1", "k")
        assert (event["role"], event["wing"], event["meta"]) == ("user", "home", {"a": [1, None]})
        assert event["at"] == "2026-04-02T10:00:00+01:00"

    def test_again_changes_nothing(self, run: Run) -> None:
        assert run("add", "once", "--at", "2026-04-02").out.startswith("stored  ev_")
        assert run("add", "once", "--at", "2026-04-02").out.startswith("already there  ev_")

    def test_the_same_key_with_other_words_is_refused(self, run: Run) -> None:
        run("add", "one", "--key", "k")
        done = run("add", "two", "--key", "k", "--json")
        assert done.code == KeyConflict.exit_code
        assert done.error["type"] == "KeyConflict"
        assert done.out == ""

    def test_remembers_chat_messages(self, run: Run) -> None:
        talk = json.dumps([{"role": "user", "content": "Hello."}, {"role": "assistant", "content": "Good day."}])
        assert run("add", "--messages", talk, "--session", "s").out.count("stored") == 2
        done = run("add", "--messages", "-", "--session", "s", "--json", stdin=talk.encode())
        assert [one["new"] for one in done.json["written"]] == [True, True]  # at another time
        for wrong in ('{"role": "user"}', '"words"', "[1]", "[", "-"):
            assert (run("add", "--messages", wrong, stdin=b"[").code) == 2
        assert run("add", "words", "--messages", talk).err.startswith("everyword: Give either text or --messages.")

    @pytest.mark.parametrize("arguments", [["-"], []])
    @pytest.mark.parametrize(
        ("piped", "kept"),
        [(b"a word\n", "a word"), (b"a\r\n", "a"), ("  zwölf\n\n".encode(), "  zwölf\n"), (b"a\r\nb", "a\r\nb")],
    )
    def test_reads_standard_input(self, run: Run, arguments: list[str], piped: bytes, kept: str) -> None:
        assert run("add", *arguments, "--json", stdin=piped).json["event"]["text"] == kept

    @pytest.mark.parametrize(
        ("piped", "reason"),
        [(b"", "empty"), (b"\n", "empty"), (b"caf\xe9", "not UTF-8"), (b"\xff\xfe\x00", "not UTF-8")],
    )
    def test_refuses_what_is_no_text(self, run: Run, location: Path, piped: bytes, reason: str) -> None:
        done = run("add", stdin=piped)
        assert done.code == 2
        assert reason in done.err

    @pytest.mark.parametrize("meta", ["[1]", "{", "null", "[" * 100_000, '{"a": NaN}', "text"])
    def test_refuses_meta_that_is_no_object(self, run: Run, meta: str) -> None:
        done = run("add", "hello", "--meta", meta)
        assert done.code == 2
        assert done.err.startswith("everyword: ")

    def test_makes_the_default_folder_only_when_writing(
        self, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("EVERYWORD_MEMORY")
        for name in ("HOME", "USERPROFILE", "XDG_DATA_HOME", "LOCALAPPDATA"):
            monkeypatch.setenv(name, str(tmp_path / "home"))
        monkeypatch.setenv("WIN_PD_OVERRIDE_LOCAL_APPDATA", str(tmp_path / "home"))
        assert run("recall", "anything").code == BadLocation.exit_code
        assert not list(tmp_path.rglob("memory.db"))
        assert not (tmp_path / "home").exists()
        assert run("add", "hello").code == 0
        (path,) = tmp_path.rglob("memory.db")
        assert path.parent.name == "everyword"


class TestRecall:
    def test_prints_hits_with_date_speaker_session_score_and_citation(self, run: Run, history: dict[str, str]) -> None:
        done = run("recall", "Where is the flat in Lisbon?", "-k", "1")
        heading, text = done.out.splitlines()
        rank, day, clock, speaker, session, score, citation = heading.split()
        assert (rank, day, clock, speaker, session) == ("1", "2026-04-01", "10:00+00:00", "Ana", "s1")
        assert float(score) > 0
        assert citation == history["lisbon"]
        assert text == "   I moved to Lisbon in March. The flat is small."

    def test_says_beside_the_hits_how_sure_it_is(self, run: Run, tmp_path: Path) -> None:
        other = ("--memory", str(tmp_path / "other.db"), "--embedder", "everyword-small")
        run("add", "I moved to Lisbon in March.", *other)
        done = run("recall", "When did I move to Lisbon?", *other)
        assert (done.out.count("\n"), done.err) == (2, "note: The answer is probably among these.\n")

    def test_leaves_out_what_does_not_match(self, run: Run, history: dict[str, str]) -> None:
        assert not run("recall", "日本").out
        assert run("recall", "日本", "--explain").out

    def test_json_has_span_quote_and_stages(self, run: Run, history: dict[str, str]) -> None:
        hit = run("recall", "peanuts", "--json").json["hits"][0]
        assert hit["event"]["id"] == history["nuts"]
        start, end = hit["span"]
        assert hit["event"]["text"][start:end] == hit["quote"]
        assert [score["stage"] for score in hit["scores"]][:2] == ["words", "vectors"]

    def test_explain_adds_a_table_of_stages(self, run: Run, history: dict[str, str]) -> None:
        lines = run("recall", "peanuts", "-k", "2", "--explain").out.splitlines()
        head = next(line for line in lines if line.startswith("#"))
        assert head.split()[:4] == ["#", "words", "vectors", "fuse"]
        first = lines[lines.index(head) + 1]
        assert first.startswith("1  ")
        assert "#1" in first
        assert first.endswith("My sister is allergic to peanuts.")

    @pytest.mark.parametrize(
        ("options", "keys"),
        [
            (["--speaker", "Ana"], {"lisbon", "nuts"}),
            (["--session", "s3"], {"cat", "rain"}),
            (["--wing", "work"], {"beta"}),
            (["--since", "2026-04-03"], {"nuts", "cat", "rain"}),
            (["--until", "2026-04-03"], {"lisbon", "beta"}),
            (["--as-of", "2020-01-01"], set()),
            (["--meta", '{"a": 1}'], set()),
            (["--now", "2026-05-01", "-k", "50"], {"lisbon", "beta", "nuts", "cat", "rain"}),
        ],
    )
    def test_filters(self, run: Run, history: dict[str, str], options: list[str], keys: set[str]) -> None:
        hits = run("recall", "the sister, the cat, the beta, Lisbon and rain", *options, "--json").json["hits"]
        assert {hit["event"]["key"] for hit in hits} == keys

    def test_an_option_that_switches_something_off_says_so(self, run: Run) -> None:
        assert "do not wait for the vectors" in " ".join(run("add", "--help").out.split())

    def test_how_many_may_be_left_to_the_question(self, run: Run, history: dict[str, str]) -> None:
        hits = run("recall", "peanuts", "-k", "auto", "--json").json["hits"]
        assert hits[0]["event"]["id"] == history["nuts"]

    def test_finding_nothing_prints_nothing(self, run: Run, history: dict[str, str]) -> None:
        assert run("recall", "anything", "--session", "s1", "--speaker", "Bo") == (0, "", "")

    @pytest.mark.parametrize(
        ("arguments", "note"),
        [
            ("recall x --session none", "No event has the session 'none'."),
            ("events --role usre --role !tool", "No event has the role 'usre'."),
            ("recall x --source web", "No event has the source 'web'."),
            ("statements --wing nope", "No event has the wing 'nope'."),
            ("wake_up --wing nope", "No event has the wing 'nope'."),
            ("facts --known-at 2020-01-01 --tz UTC", "Nothing was recorded by 2020-01-01 00:00+00:00."),
            ("sessions --speaker Zed", "No event has the speaker 'Zed'."),
            ("recall x --tag nonsense", "No event has the tag 'nonsense'. The most frequent tags are category:"),
            ("recall x --space acme/*", "There are no events here. Check --memory and --space, or add some."),
            ("wake_up --topic Zed", "Nothing that lasts is known of 'Zed'; recall searches all events."),
            (
                "ask Who? --as-of 2020-01-01 --tz UTC",
                "Nothing was recorded by 2020-01-01 00:00+00:00; to leave out what happened later, use --until.",
            ),
        ],
    )
    def test_a_condition_that_nothing_meets_is_named(
        self, run: Run, history: dict[str, str], arguments: str, note: str
    ) -> None:
        done = run(*arguments.split())
        assert done.code == 0
        assert done.err.startswith(f"note: {note}")
        assert done.err.count("\n") == 1
        assert json.loads(run(*arguments.split(), "--json").err)["note"].startswith(note)

    def test_a_question_without_quotes_is_shown_with_them(self, run: Run, history: dict[str, str]) -> None:
        done = run("recall", "Where", "does", "Ana", "live", "--speaker", "Ana")
        assert (done.code, done.out) == (2, "")
        assert done.err.endswith('Quote the question: "Where does Ana live".\n')
        assert 'Quote the text: "I moved".' in run("add", "I", "moved").err
        assert "--help" in run("recall", "Where", "--colour", "red").err

    @pytest.mark.parametrize(
        "arguments",
        [
            ["recall", ""],
            ["recall", "x", "-k", "0"],
            ["recall", "x", "-k", "ten"],
            ["recall", "x", "-k", "9" * 5000],
            ["recall", "x", "--since", "whenever"],
            ["recall", "x", "--since", "2026-05-02", "--until", "2026-05-01"],
            ["facts", "--relation", "lives"],
            ["recall", "x", "--wing", ""],
            ["recall", "x", "--space", ""],
            ["recall", "x", "--embedder", "nonsense"],
            ["recall", "x", "--spea", "Ana"],
            ["context", "x", "--budget", "0"],
            ["show"],
            ["show", "nonsense"],
            ["forget", "--yes"],
            ["forget", "--wing", "", "--yes"],
            ["forget", "--id", "nonsense", "--yes"],
            ["nonsense"],
        ],
        ids=lambda arguments: " ".join(arguments)[:30],
    )
    def test_what_makes_no_sense_is_refused_with_a_reason(
        self, run: Run, history: dict[str, str], arguments: list[str]
    ) -> None:
        done = run(*arguments)
        assert (done.code, done.out) == (2, "")
        assert done.err.startswith("everyword: ")
        assert "should not have happened" not in done.err
        as_json = run(*arguments, "--json")
        assert as_json.error["detail"]

    @pytest.mark.parametrize("query", ['" OR 1=1; --', "*" * 50, "NEAR(a b)", "a\x00b", "\udcff", "word " * 10_000])
    def test_any_question_is_answered(self, run: Run, history: dict[str, str], query: str) -> None:
        assert run("recall", "--json", "--", query).code == 0

    def test_a_question_may_look_like_an_option(self, run: Run, history: dict[str, str]) -> None:
        assert run("recall", "-k", "1", "--", "--json").out.startswith("1  ")


@pytest.mark.parametrize("verb", [("context", "Lisbon"), ("window",)], ids=" ".join)
def test_a_budget_that_is_too_small_for_any_line_is_refused(
    run: Run, history: dict[str, str], verb: tuple[str, ...]
) -> None:
    done = run(*verb, "--budget", "10")
    assert (done.code, done.out) == (2, "")
    assert "A budget of 10 tokens is too small for any line." in done.err


def test_context_prints_just_the_text_when_piped(run: Run, history: dict[str, str]) -> None:
    text = run("context", "Lisbon", "--budget", "70").out
    assert inside(text.removesuffix("\n")).startswith(
        "1 April 2026\n[1] Ana: I moved to Lisbon in March. The flat is small."
    )
    written = run("context", "Lisbon", "--budget", "70", "--json").json
    assert text == written["text"] + "\n"
    assert written["tokens"] <= written["budget"] == 70
    assert written["citations"][0]["event_id"] == history["lisbon"]


class TestShowing:
    def test_show_by_id_or_key(self, run: Run, history: dict[str, str]) -> None:
        by_id = run("show", history["beta"])
        assert by_id == run("show", "--key", "beta")
        assert by_id == run("show", history["beta"][: len("ev_") + 6])
        lines = by_id.out.splitlines()
        assert lines[0].split() == ["id", history["beta"]]
        assert ["role", "user"] in [line.split() for line in lines]
        assert lines[-2:] == ["", "We ship the beta on May 14."]
        assert run("show", "--key", "beta", "--json").json["text"] == lines[-1]

    def test_a_key_that_is_not_there(self, run: Run, history: dict[str, str]) -> None:
        done = run("show", "--key", "none such", "--json")
        assert (done.code, done.error["type"]) == (NotFound.exit_code, "NotFound")

    def test_sessions_are_aligned(self, run: Run, history: dict[str, str]) -> None:
        head, *rows = run("sessions").out.splitlines()
        assert head.split() == ["session", "events", "first", "last", "speakers", "wings", "about"]
        assert [row.split()[:2] for row in rows] == [["s3", "2"], ["s1", "2"], ["s2", "1"]]
        assert rows[1].endswith("  I moved to Lisbon in March.")
        assert len({row.index("2026") for row in rows}) == 1
        sessions = run("sessions", "--json", "--speaker", "Bo").json["sessions"]
        assert [(session["name"], session["wings"]) for session in sessions] == [("s2", ["work"])]

    def test_events_in_order(self, run: Run, history: dict[str, str]) -> None:
        listed = run("events", "--json").json["events"]
        assert [event["key"] for event in listed] == list(history)
        newest = run("events", "--newest-first", "--limit", "1").out
        assert newest.splitlines() == [f"2026-04-05 10:00+00:00  s3  {history['rain']}", "  It rained all day."]
        assert run("events", "--json", "--session", "none such").json == {"events": []}

    def test_stats(self, run: Run, history: dict[str, str], location: Path) -> None:
        counted = run("stats", "--json").json
        assert (counted["events"], counted["sessions"], counted["wings"]) == (5, 3, 2)
        assert counted["bytes_by_part"] == {}
        assert run("stats", "--parts", "--json").json["bytes_by_part"]
        lines = run("stats", "--parts").out.splitlines()
        assert lines[0].split() == ["memory", str(location)]
        assert any(line.startswith("events ") and line.endswith("%") for line in lines)

    def test_spaces_are_apart(self, run: Run, history: dict[str, str]) -> None:
        run("--space", "acme", "add", "Something else.")
        assert run("events", "--space", "acme", "--json").json["events"][0]["space"] == "acme"
        assert len(run("events", "--json").json["events"]) == 5
        assert run("show", "--key", "beta", "--space", "acme").code == NotFound.exit_code

    def test_options_stand_before_or_after_the_verb(self, run: Run, history: dict[str, str], location: Path) -> None:
        before = run("--json", "--memory", str(location), "--wing", "work", "events")
        assert before == run("events", "--json", "--memory", str(location), "--wing", "work")
        assert [event["key"] for event in before.json["events"]] == ["beta"]


class TestForget:
    def test_without_a_terminal_it_wants_a_yes(self, run: Run, history: dict[str, str]) -> None:
        done = run("forget", "--session", "s1")
        assert (done.code, done.out) == (2, "")
        assert "--yes" in done.err
        assert run("forget").err == run("forget", "--yes").err
        assert "Say what to forget" in run("forget", "--scrub").err
        assert run("stats", "--json").json["events"] == 5

    def test_a_dry_run_shows_and_keeps(self, run: Run, history: dict[str, str]) -> None:
        done = run("forget", "--session", "s1", "--dry-run")
        assert done.out.splitlines()[0] == "2 events would be forgotten:"
        assert "I moved to Lisbon in March." in done.out
        receipt = run("forget", "--session", "s1", "--dry-run", "--json").json
        assert receipt["dry_run"] is True
        assert set(receipt["ids"]) == {history["lisbon"], history["nuts"]}
        assert run("stats", "--json").json["events"] == 5

    @pytest.mark.parametrize(
        ("conditions", "keys"),
        [
            (["--key", "cat", "--key", "rain"], {"cat", "rain"}),
            (["--session", "s1"], {"lisbon", "nuts"}),
            (["--speaker", "Bo"], {"beta"}),
            (["--wing", "home"], {"lisbon", "nuts"}),
            (["--wing", "home", "--before", "2026-04-02"], {"lisbon"}),
            (["--session", "none such"], set()),
        ],
    )
    def test_what_is_named_goes(
        self, run: Run, history: dict[str, str], location: Path, conditions: list[str], keys: set[str]
    ) -> None:
        receipt = run("forget", *conditions, "--yes", "--json").json
        assert {key for key, id in history.items() if id in receipt["ids"]} == keys
        left = {event["key"] for event in run("events", "--json").json["events"]}
        assert left == set(history) - keys
        assert run("verify").code == 0

    def test_by_id(self, run: Run, history: dict[str, str]) -> None:
        assert run("forget", "--id", history["cat"], "--yes").out.startswith("forgot 1 event")
        assert run("show", history["cat"]).code == NotFound.exit_code


class TestUpkeep:
    def test_export_then_import(self, run: Run, history: dict[str, str], tmp_path: Path) -> None:
        file, copy = tmp_path / "all.jsonl", tmp_path / "copy.db"
        assert run("export", str(file)).out == f"wrote 5 events to {file}\n"
        assert (
            run("import", str(file), "--memory", str(copy)).out
            == "read 5 events (format: everyword), stored 5, already there 0\n"
        )
        again = run("import", str(file), str(file), "--memory", str(copy), "--json").json
        assert (again["read"], again["added"], again["known"], len(again["files"])) == (0, 0, 10, 2)
        assert run("events", "--json", "--memory", str(copy)).json == run("events", "--json").json
        refused = run("export", str(file), "--json")
        assert (refused.code, refused.error["type"]) == (BadLocation.exit_code, "BadLocation")

    def test_import_of_what_is_no_jsonl(self, run: Run, tmp_path: Path) -> None:
        for content in (
            b"\x00\xff\xfe" * 50,
            b"[1]\n",
            b'{"text": 1}\n',
            b'{"text": "a", "colour": "red"}\n',
            b"{" * 9999,
        ):
            (tmp_path / "bad").write_bytes(content)
            done = run("import", str(tmp_path / "bad"), "--json")
            assert done.code == 2
            assert done.error["type"] in {"InvalidEvent", "InvalidInput"}
        assert run("import", str(tmp_path / "none"), "--json").error["type"] == "BadLocation"
        assert run("import", str(tmp_path), "--json").error["type"] == "InvalidInput"

    def test_backup(self, run: Run, history: dict[str, str], tmp_path: Path) -> None:
        copy = tmp_path / "copy.db"
        assert run("backup", str(copy)).out.startswith(f"wrote {copy} (")
        assert run("--memory", str(copy), "verify", "--json").json["ok"] is True
        assert run("backup", str(copy)).code == BadLocation.exit_code

    def test_verify_rebuild_settle(self, run: Run, history: dict[str, str]) -> None:
        assert run("verify").out.startswith("ok  ")
        assert "postings" not in run("verify", "--json").json["checked"]
        assert "postings" in run("verify", "--deep", "--json").json["checked"]
        assert run("rebuild").out == "rebuilt words and vectors\n"
        assert run("rebuild", "--words-only", "--json").json == {"rebuilt": True}
        assert run("settle").out == "the queue is empty\n"
        assert run("settle", "--json").json == {"done": 0}

    def test_verify_names_problems_and_fails(self, run: Run, history: dict[str, str], location: Path) -> None:
        import apsw

        connection = apsw.Connection(str(location))
        connection.execute("UPDATE events SET text = 'changed' WHERE text LIKE '%rained%'")
        connection.close()
        done = run("verify")
        assert done.code == 1
        assert re.match(r"\d problems?  ", done.out)
        assert "restore a backup" in done.out
        as_json = run("verify", "--json")
        assert as_json.code == 1
        assert as_json.json["ok"] is False

    def test_a_scope_that_makes_no_difference_is_told(self, run: Run, history: dict[str, str]) -> None:
        done = run("verify", "--wing", "home")
        assert done.code == 0
        assert done.err.startswith("note: verify concerns the whole file")
        assert json.loads(run("stats", "--wing", "home", "--json").err)["note"]


class TestErrors:
    @pytest.mark.parametrize(
        "verb",
        [
            "recall x",
            "context x",
            "sessions",
            "events",
            "show --key k",
            "stats",
            "verify",
            "rebuild",
            "settle",
            "backup copy",
            "export copy",
            "forget --session s --yes",
        ],
    )
    def test_no_memory_there(self, run: Run, location: Path, verb: str) -> None:
        done = run(*verb.split(), "--json")
        assert (done.code, done.error["type"]) == (BadLocation.exit_code, "BadLocation")
        assert not location.exists()

    @pytest.mark.parametrize("memory", ["", " "])
    def test_an_empty_name_of_a_memory_is_not_the_default_one(
        self, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, memory: str
    ) -> None:
        monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
        assert run("add", "x", "--memory", memory).err.startswith("everyword: Argument --memory: it is empty")
        monkeypatch.setenv("EVERYWORD_MEMORY", memory)
        assert run("add", "x").code == BadLocation.exit_code
        assert not (tmp_path / "data").exists()

    def test_a_foreign_file_stays_as_it_is(self, run: Run, location: Path) -> None:
        location.write_bytes(b"something else" * 100)
        for verb in ("add x", "recall x", "stats"):
            assert run(*verb.split()).code == ForeignFile.exit_code
        assert location.read_bytes() == b"something else" * 100

    def test_a_location_that_can_not_be(self, run: Run, tmp_path: Path) -> None:
        for place in (str(tmp_path), str(tmp_path / "no" / "folder.db"), "mysql://x", "a\x00b"):
            assert run("add", "x", "--memory", place).code == BadLocation.exit_code
        nobody_there = "postgresql://127.0.0.1:1/x"
        assert run("add", "x", "--memory", nobody_there).code == StoreUnreachable.exit_code

    def test_what_is_our_own_fault_is_told_without_a_traceback(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        def broken(*_: object, **__: object) -> None:
            raise ZeroDivisionError("by zero")

        monkeypatch.setattr(Memory, "add", broken)
        done = run("add", "x")
        assert done.code == 1
        assert "ZeroDivisionError" in done.err
        assert "Traceback" not in done.err

    def test_notices_are_notes(self, run: Run, history: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("EVERYWORD_EMBEDDER", "everyword-small")  # the file was written with another
        done = run("recall", "Lisbon", "-k", "1")
        assert done.code == 0
        assert done.err.startswith("note: This memory was written with hashing@")
        assert done.err.count("\n") == 1
        assert json.loads(run("recall", "Lisbon", "--json").err)["note"] == done.err.removeprefix("note: ").strip()


class TestDoctor:
    def test_all_well(self, run: Run, history: dict[str, str]) -> None:
        done = run("doctor", "--json")
        checks = {check["name"]: check for check in done.json["checks"]}
        assert done.code == 0
        assert done.json["ok"] is True
        assert {"everyword", "python", "apsw", "numpy", "onnxruntime", "model", "tokenizer"} <= set(checks)
        assert {"memory", "writable", "write-ahead log", "lock file", "schema", "queue", "verify"} <= set(checks)
        assert {check["state"] for check in checks.values()} == {"ok"}
        assert run("doctor").out.endswith("No problems.\n")

    def test_no_file_is_a_warning_with_what_to_do(self, run: Run, location: Path) -> None:
        done = run("doctor", "--json")
        assert done.code == 0
        (warning,) = [check for check in done.json["checks"] if check["state"] == "warning"]
        assert str(location) in warning["detail"]
        assert "everyword add" in warning["fix"]
        assert not location.exists()

    def test_a_foreign_file_is_a_problem(self, run: Run, location: Path) -> None:
        location.write_text("something else")
        done = run("doctor")
        assert done.code == 1
        assert "problem" in done.out
        assert location.read_text() == "something else"

    def test_a_folder_or_nonsense(self, run: Run, tmp_path: Path) -> None:
        for place in (str(tmp_path), "nonsense://x", str(tmp_path / "memory.db" / "below")):
            (tmp_path / "memory.db").touch()
            done = run("doctor", "--memory", place, "--json")
            assert done.code == 1
            assert [check["fix"] for check in done.json["checks"] if check["state"] == "problem"] > [""]
        assert run("doctor", "--embedder", "nonsense").code == 1

    def test_waiting_work_is_a_warning(self, run: Run, location: Path) -> None:
        with Memory.open(location, embedder="hashing", embed_on_write=False) as memory:
            memory.add("one")
            memory.add("two")
        checks = run("doctor", "--json").json["checks"]
        (waiting,) = [check for check in checks if check["name"] == "queue"]
        assert (waiting["state"], waiting["fix"]) == ("warning", "everyword settle")
        assert run("settle", "--json").json == {"done": 2}

    def test_without_weights_words_serve(
        self, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, history: dict[str, str]
    ) -> None:
        monkeypatch.delenv("EVERYWORD_EMBEDDER")
        monkeypatch.setattr("everyword.models.weights._package_folders", lambda _: [])
        done = run("doctor", "--json")
        (model,) = [check for check in done.json["checks"] if check["name"] == "model"]
        assert model["state"] == "warning"
        assert "pip install" in model["fix"]

    def test_who_holds_the_turn_to_write(self, run: Run, history: dict[str, str], location: Path) -> None:
        with Memory.open(location) as memory, memory.scope.engine.store.file_writer():
            checks = run("doctor", "--json").json["checks"]
        (lock,) = [check for check in checks if check["name"] == "lock file"]
        assert lock["state"] == "warning"
        assert "is writing" in lock["detail"]


def test_what_a_terminal_would_obey_is_made_visible() -> None:
    assert escaped("a\tb\nc") == "a\tb\nc"
    assert escaped("\x1b[31m\r\x07\x00\x7f\x9b") == "\\x1b[31m\\r\\x07\\x00\\x7f\\x9b"
    assert escaped("\u202eabc\u2028") == "\\u202eabc\\u2028"
    assert escaped("\udc80 é 里 😀") == "\\udc80 é 里 😀"


def test_a_wrong_argument_names_the_verb_whose_help_explains_it(run: Run) -> None:
    done = run("concepts", "--limit", "abc")
    assert done.code == 2
    assert "'abc' is not a whole number. See everyword concepts --help." in done.err
