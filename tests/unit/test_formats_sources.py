"""Where imports come from: zips, folders, databases, repositories; large, broken and hostile ones too."""

from __future__ import annotations

import base64
import json
import os
import pickle
import resource
import sqlite3
import struct
import subprocess
import sys
import tracemalloc
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.imported_items import each_item, format_names

from everyword import Memory
from everyword.errors import BadLocation, EverywordError, InvalidInput
from everyword.ingest.importers import FORMATS, Recognised, recognise
from everyword.ingest.importers.other_memories import _point, tables
from everyword.ingest.importers.records import Read, Skipped
from everyword.ingest.importers.sources import Source, open_source

IMPORTS = Path(__file__).parent.parent / "data" / "imports"


def _texts(found: Recognised, after: Any = None, *, field: str = "text") -> list[str]:
    return [item.event[field] for _, item in each_item(found, after) if isinstance(item, Read)]


# Recognising


def test_an_unknown_file_is_refused_with_all_that_could_be_read(memory: Memory, tmp_path: Path) -> None:
    file = tmp_path / "photo.jpg"
    file.write_bytes(b"\xff\xd8\xff\xe0 not words")
    for path in (file, tmp_path):
        with pytest.raises(InvalidInput, match=r"no known format.*format: claude-code, .*whatsapp"):
            memory.import_events(path)


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("cut.json", '[{"role": "us', "is not valid JSON"),
        ("list.json", "[]", "holds no entries"),
        ("nothing.json", "", "is empty"),
        ("file", '{"a": 1}', "a name with a suffix"),
    ],
)
def test_a_file_that_can_have_no_format_says_why(
    memory: Memory, tmp_path: Path, name: str, content: str, why: str
) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(InvalidInput, match=why):
        memory.import_events(tmp_path / name)


def test_of_two_formats_the_likelier_is_taken_and_another_can_be_named(tmp_path: Path) -> None:
    file = tmp_path / "talk.md"
    file.write_text("Ana: one\nBen: two\nAna: three\nBen: four\n")
    assert _texts(recognise(file)) == ["one", "two", "three", "four"]
    assert len(_texts(recognise(file, "markdown"))) == 1


def test_a_format_that_does_not_exist_and_a_path_that_does_not(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="Unknown format 'icq'"):
        recognise(IMPORTS / "slack", "icq")
    with pytest.raises(InvalidInput, match=r"these read \.csv: table"):
        recognise(IMPORTS / "slack", "csv")
    with pytest.raises(InvalidInput, match="holds no files that the format mbox reads"):
        recognise(IMPORTS / "slack", "mbox")
    for path in (tmp_path / "nowhere", "\x00"):
        with pytest.raises(BadLocation) as refused:
            recognise(path)
        assert "Path(" not in str(refused.value)


def test_a_folder_of_code_gives_its_history_and_a_folder_of_notes_its_notes(
    memory: Memory, repository: Path, tmp_path: Path
) -> None:
    for number in range(20):
        (repository / f"module{number}.py").write_text("x = 1\n")
    (repository / "events.jsonl").write_text('{"text": "a fixture"}\n')
    done = memory.import_events(repository)
    assert (done.format, done.added) == ("git", 3)
    assert done.skipped == {"a file beside a git history; name its format to read it": 21}
    for path in repository.glob("*.py"):
        path.rename(path.with_suffix(".md"))
    done = memory.import_events(repository)
    assert (done.format, done.added) == ("markdown, everyword", 21)
    assert done.skipped == {"a git history beside notes; read it with --format git": 1}


# Zips


def _zipped(folder: Path, target: Path) -> Path:
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(folder.rglob("*")):
            if file.is_file():
                archive.write(file, file.relative_to(folder).as_posix())
    return target


@pytest.mark.parametrize(
    "name",
    ["chatgpt", "claude-ai", "claude-code", "codex", "gemini-jsonl", "mail", "slack", "telegram", "vault", "whatsapp"],
)
def test_a_zip_is_read_like_the_folder_it_was_made_of(name: str, tmp_path: Path) -> None:
    packed = recognise(_zipped(IMPORTS / name, tmp_path / "export.zip"))
    folder = recognise(IMPORTS / name)
    assert format_names(packed) == format_names(folder)
    assert _texts(packed) == _texts(folder)
    assert _texts(packed, field="key") == _texts(folder, field="key")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["export.zip"], "nothing is unpacked"
    packed.source.close()


def test_a_zip_in_a_folder_is_closed_also_where_the_import_stops(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Source] = []

    def watched(path: Path) -> Source:
        opened.append(open_source(path))
        return opened[-1]

    def stop(source: Source, *_: object) -> None:
        if source in opened:
            raise KeyboardInterrupt

    _zipped(IMPORTS / "slack", tmp_path / "export.zip")
    (tmp_path / "talk.txt").write_text("Ana: one\nBen: two\nAna: three\nBen: four\n")
    monkeypatch.setattr("everyword.ingest.importing.open_source", watched)
    monkeypatch.setattr("everyword.ingest.importing._Import._read", lambda _, *given: iter(stop(*given) or ()))
    with pytest.raises(KeyboardInterrupt):
        memory.import_events(tmp_path)
    assert len(opened) == 1
    assert "archive" not in opened[0].notes


@pytest.mark.slow
def test_a_zip_that_unpacks_to_far_more_than_it_weighs_is_refused(tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.zip"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(5):
            archive.writestr(f"conversations-{number}.json", b"[" + b" " * 20_000_000)
    with pytest.raises(InvalidInput, match="unpacks to 100,000,005 bytes"):
        recognise(bomb)


def test_names_in_a_zip_lead_nowhere(memory: Memory, tmp_path: Path) -> None:
    evil = tmp_path / "in" / "evil.zip"
    evil.parent.mkdir()
    with zipfile.ZipFile(evil, "w") as archive:
        archive.writestr("../../conversations.json", (IMPORTS / "chatgpt" / "conversations.json").read_text())
    with pytest.raises(InvalidInput, match="a zip of 0 files, has no known format"):
        memory.import_events(evil)
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


@pytest.mark.parametrize("kept", [0.3, 0.9])
def test_a_zip_that_was_cut_short_says_so(kept: float, tmp_path: Path) -> None:
    whole = _zipped(IMPORTS / "chatgpt", tmp_path / "whole.zip").read_bytes()
    cut = tmp_path / "cut.zip"
    cut.write_bytes(whole[: int(len(whole) * kept)])
    with pytest.raises(InvalidInput, match="not a complete zip"):
        recognise(cut)


def test_a_damaged_member_is_an_error_of_ours(tmp_path: Path) -> None:
    content = bytearray(_zipped(IMPORTS / "chatgpt", tmp_path / "whole.zip").read_bytes())
    content[200:260] = bytes(60)
    damaged = tmp_path / "damaged.zip"
    damaged.write_bytes(content)
    with pytest.raises(InvalidInput, match=r"conversations\.json can't be read"):
        _texts(recognise(damaged, "chatgpt"))


def test_links_that_lead_out_of_a_folder_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("not yours")
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "note.md").write_text("mine")
    (vault / "link.md").symlink_to(tmp_path / "secret.md")
    (vault / "up").symlink_to(tmp_path)
    assert _texts(recognise(vault, "markdown")) == ["mine"]


# What old and odd files hold


def _read(path: Path, format: str) -> list[dict[str, Any]]:
    found = recognise(path, format)
    return [item.event for _, item in each_item(found) if isinstance(item, Read)]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252", "latin-1"])
def test_a_note_is_read_in_the_letters_it_was_written_in(encoding: str, tmp_path: Path) -> None:
    (tmp_path / "note.md").write_bytes("# Café\n\nHerr Müller kommt.\n".encode(encoding))
    assert [event["text"] for event in _read(tmp_path / "note.md", "markdown")] == ["# Café\n\nHerr Müller kommt."]


def test_lines_of_utf16_that_is_still_written_are_read_when_they_are_whole(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    lines = [json.dumps({"text": text}, ensure_ascii=False) + "\r\n" for text in ("Ċ čeká 🌊", "ਊ one", "two")]
    content = "".join(lines).encode("utf-16")
    texts, position = list[str](), None
    for end in [*range(0, len(content), 3), len(content)]:
        path.write_bytes(content[:end])
        after = {"part": path.name, "position": position} if position else None
        for _, item in each_item(recognise(path, "everyword"), after):
            position = item.position or position
            texts += [item.event["text"]] if isinstance(item, Read) else []
    assert list(dict.fromkeys(texts)) == ["Ċ čeká 🌊", "ਊ one", "two"]  # what had no end yet came twice


def test_a_transcript_of_old_letters(tmp_path: Path) -> None:
    (tmp_path / "talk.txt").write_bytes("Müller: schön\nAna: nö\n".encode("cp1252"))
    assert [(one["speaker"], one["text"]) for one in _read(tmp_path / "talk.txt", "transcript")] == [
        ("Müller", "schön"),
        ("Ana", "nö"),
    ]


def test_a_note_of_headings_alone_says_what_they_say(tmp_path: Path) -> None:
    (tmp_path / "Shopping.md").write_text("# Milk\n\n# Bread\n")
    (tmp_path / "Stub.md").write_text("# Stub\n")
    assert [event["text"] for event in _read(tmp_path, "markdown")] == ["# Milk\n\n# Bread"]


def test_whatsapp_names_with_nicknames_and_clocks_with_dots(tmp_path: Path) -> None:
    long = "Ana Maria " * 9 + "Silva"
    rows = [
        '3/4/24, 3:05 p. m. - Bo "Boo" Lima: hello',
        f"3/4/24, 3:06 p. m. - {long}: hi",
        '3/4/24, 3:07 p. m. - Bo changed the group name from "A" to "B: C"',
    ]
    (tmp_path / "chat.txt").write_text("\n".join(rows))
    assert [(one["speaker"], one["at"]) for one in _read(tmp_path / "chat.txt", "whatsapp")] == [
        ('Bo "Boo" Lima', "2024-04-03T15:05:00"),
        (long, "2024-04-03T15:06:00"),
    ]
    (tmp_path / "chat.txt").write_text("3/4/24, 3:05 PM - Bo: hello\n")
    assert _read(tmp_path / "chat.txt", "whatsapp")[0]["at"] == "2024-03-04T15:05:00"


def _mail(number: int, body: str, kind: str = "text/plain") -> str:
    head = f"From a@example.org Mon Jan 01 10:00:0{number} 2024\nFrom: Ana <a@example.org>\nSubject: Mail {number}\n"
    return f"{head}Message-ID: <m{number}@example.org>\nContent-Type: {kind}\n\n{body}\n\n"


def test_mail_without_a_body_or_without_the_end_of_a_head(tmp_path: Path) -> None:
    page = "<html><head><title>T</title><style>b {}</style><body><p>Hello <b>you</b></p></body></html>"
    bare = "<head><meta charset=utf-8><p>Hello you"
    (tmp_path / "in.mbox").write_text(_mail(1, page, "text/html") + _mail(2, "") + _mail(3, bare, "text/html"))
    assert [event["text"] for event in _read(tmp_path / "in.mbox", "mbox")] == [
        "Subject: Mail 1\n\nHello you",
        "Subject: Mail 2",
        "Subject: Mail 3\n\nHello you",
    ]


@pytest.mark.parametrize("missing", [1, 2, 3, 9, 14])
def test_a_mailbox_that_was_read_while_a_mail_was_written_loses_nothing(missing: int, tmp_path: Path) -> None:
    path, whole = tmp_path / "in.mbox", _mail(1, "First.") + _mail(2, "Second line.\nThird line.")
    with Memory.open(":memory:", embedder="none") as memory:
        path.write_text(whole[:-missing])
        assert memory.import_events(path).added == 2
        path.write_text(whole + _mail(3, "Fourth."))
        done = memory.import_events(path)
        assert "before the first mail" not in done.skipped
        texts = [event.text for event in memory.events()]
        assert any(text.endswith("Second line.\nThird line.") for text in texts)
        assert texts[-1].endswith("Fourth.")


# Large and broken files


def test_what_is_no_file_is_not_waited_for_and_a_link_to_itself_costs_no_other(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# Boat\n\nShe is red.\n")
    os.mkfifo(tmp_path / "b.md")
    (tmp_path / "c.md").symlink_to("c.md")
    with Memory.open(":memory:", embedder="none") as memory:
        done = memory.import_events(tmp_path)
        assert (done.added, done.skipped) == (1, {"a file that can't be read": 1})
        with pytest.raises(BadLocation):
            memory.import_events(tmp_path / "b.md")


def test_a_folder_that_can_not_be_looked_into_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "talk.txt").write_text("Ana: one\nBen: two\n")
    deep = tmp_path / "deep"
    for _ in range(30):  # its path is longer than any system takes
        deep.mkdir(exist_ok=True)
        monkeypatch.chdir(deep)
        deep = Path("d" * 200)
    with Memory.open(":memory:", embedder="none") as memory:
        done = memory.import_events(tmp_path, format="transcript")
        assert (done.added, done.skipped) == (2, {"a folder that can't be read": 1})
        (tmp_path / "talk.txt").unlink()
        with pytest.raises(BadLocation, match="can't be read"):
            memory.import_events(tmp_path)
    monkeypatch.undo()
    subprocess.run(["rm", "-rf", str(tmp_path / "deep")], check=True)


def test_names_of_any_script_are_read_and_those_that_are_not_are_counted(tmp_path: Path) -> None:
    for name in ("👩\u200d🚀.md", "le 3\u202fmai.md", "soft\u00adhyphen.md", "bell\a.md", "txt\u202e.md"):
        (tmp_path / name).write_text(f"# Note\n\nIn {name.strip()}.\n")
    with zipfile.ZipFile(tmp_path.parent / "all.zip", "w") as archive:
        for path in tmp_path.iterdir():
            archive.write(path, path.name)
    for source in (tmp_path, tmp_path.parent / "all.zip"):
        with Memory.open(":memory:", embedder="none") as memory:
            done = memory.import_events(source)
            assert (done.added, done.skipped) == (3, {"a file whose name has control characters": 2})


def test_every_way_of_packing_that_was_damaged_is_an_error_of_ours(tmp_path: Path) -> None:
    for method in (zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        path = tmp_path / f"{method}.zip"
        with zipfile.ZipFile(path, "w", method) as archive:
            archive.writestr("a.md", "# Boat\n\n" + "She is red. " * 1000)
        content = bytearray(path.read_bytes())
        content[60:90] = b"\xff" * 30
        path.write_bytes(content)
        with Memory.open(":memory:", embedder="none") as memory, pytest.raises(InvalidInput):
            memory.import_events(path, format="markdown")


def _conversation(number: int) -> dict[str, Any]:
    said = [
        {
            "id": f"{number}-{place}",
            "author": {"role": "user"},
            "content": {"content_type": "text", "parts": ["word " * 200]},
        }
        for place in range(20)
    ]
    nodes = {one["id"]: {"id": one["id"], "message": one, "parent": None, "children": []} for one in said}
    return {"id": str(number), "create_time": 1.7e9, "mapping": nodes, "current_node": None}


@pytest.mark.slow
def test_a_large_export_never_lies_in_memory_as_a_whole(tmp_path: Path) -> None:
    file = tmp_path / "conversations.json"
    with file.open("w") as out:
        out.write("[" + ",".join(json.dumps(_conversation(number)) for number in range(150)) + "]")
    size = file.stat().st_size
    assert size > 3_000_000
    found = recognise(file)
    tracemalloc.start()
    count = sum(isinstance(item, Read) for _, item in each_item(found))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 3000
    assert peak < 2_000_000, "no more than a few pieces of the file at a time"


def test_values_on_the_border_of_what_is_read_at_once_come_out_whole(tmp_path: Path) -> None:
    """Numbers, words, escapes and signs of several bytes, each cut by the end of a piece at some place."""
    texts = [f"{'x' * pad}é\\u20ac\ud83c\udf0a\n" for pad in range(262_130, 262_160)]
    messages = [
        {"id": n, "type": "message", "date_unixtime": "1780815660", "from_id": "u", "text": t}
        for n, t in enumerate(texts)
    ]
    file = tmp_path / "result.json"
    encoded = json.dumps({"name": "c", "id": 1, "messages": messages}, ensure_ascii=True)
    file.write_text(encoded)
    assert _texts(recognise(file)) == [json.loads(json.dumps(text)) for text in texts]


@pytest.mark.parametrize("kept", [0.5, 0.8, 0.99])
def test_an_export_that_breaks_off_gives_what_was_there_and_says_so(kept: float, tmp_path: Path) -> None:
    whole = json.dumps([_conversation(number) for number in range(4)])
    file = tmp_path / "conversations.json"
    file.write_text(whole[: int(len(whole) * kept)])
    found = recognise(file)
    items = [item for _, item in each_item(found)]
    assert sum(isinstance(item, Read) for item in items) == 20 * int(4 * kept)
    last = items[-1]
    assert isinstance(last, Skipped)
    assert "malformed here" in last.reason
    assert not last.expected


def test_what_is_skipped_is_shown_without_its_secrets(tmp_path: Path) -> None:
    file = tmp_path / "s.jsonl"
    secret = "ghp_" + "a1B2" * 9
    file.write_text(
        f'{{"type":"user","parentUuid":null,"uuid":"1","sessionId":"s","message":{{}}}}\n{secret} not json\n'
    )
    skipped = [item for _, item in each_item(recognise(file)) if isinstance(item, Skipped)]
    assert any("[redacted: github token]" in item.sample for item in skipped)
    assert not any(secret in item.sample for item in skipped)


HOSTILE = {
    "nothing": b"",
    "zeros": bytes(100_000),
    "noise": bytes(range(256)) * 50,
    "deep": b"[" * 50_000,
    "deep objects": b'{"a":' * 50_000,
    "surrogates": rb'{"text": "\ud800\udfff\ud800", "type": "message", "mapping": {}, "messages": [1, null, "x"]}',
    "wrong kinds": json.dumps(
        [
            *(
                {"mapping": [1], "current_node": 5},
                {"mapping": {"a": 1, "b": {"message": {"content": 3, "author": []}}}},
            ),
            *({"chat_messages": [1, {"sender": [], "content": "x"}]}, None, 1, "x", [[]], {"docs": 7}),
        ]
    ).encode(),
    "odd lines": b"\n".join(
        json.dumps(line).encode()
        for line in (
            *({"type": "user", "message": 1}, {"type": "assistant", "message": {"content": [1, None, {"type": 3}]}}),
            *(
                {"type": "response_item", "payload": []},
                {"type": "response_item", "payload": {"type": "message", "content": 1}},
            ),
            *(
                {"id": 1, "type": "gemini", "toolCalls": [1, {"result": 3}]},
                {"type": "summary", "summary": 1, "leafUuid": {}},
            ),
            *(
                {"type": "user", "timestamp": 1e400, "uuid": 3, "message": {"content": "x"}, "cwd": 3, "sessionId": []},
                7,
                None,
            ),
        )
    ),
    "huge numbers": b'[{"id": 1, "type": "message", "mapping": {"a": {"message": {"create_time": '
    + b"9" * 5000
    + b"}}}}]",
    "large numbers": b'{"type": "user", "uuid": "1", "timestamp": ' + b"9" * 400 + b', "message": {"content": "x"}}\n',
    "long line": b"a: " + b"x" * 200_000,
    "colons": b": " * 100_000,
    "dates": b"1/1/26, 1:1" * 20_000 + b"\n" + b"[1/1/26, 1:11:11 PM] " * 1000,
    "headings": b"# a\n" * 300,
    "fences": b"```\n" * 300,
    "from": b"From a 10:10\n\n" * 200,
    "mime": b"From a 10:10\nFrom: a\nContent-Type: multipart/mixed; boundary=b\n\n" + b"--b\n" * 200,
    "headers": b"From a 10:10\nFrom: a\nSubject: " + b"=?utf-8?q?=ff?=" * 300 + b"\n\nx\n",
    "commits": b"commit 1234567\n" * 300,
}


# A process that reads it says no to all that is no such file in one way.
READ_BY_A_CHILD = ("git", "pdf")


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_no_content_makes_a_reader_fail_in_a_way_that_is_not_ours(name: str, tmp_path: Path) -> None:
    for format in FORMATS:
        if format.NAME in READ_BY_A_CHILD and name not in ("nothing", "noise", "deep"):
            continue
        folder = tmp_path / format.NAME
        folder.mkdir()
        _read_hostile(format, HOSTILE[name], folder)


def _read_hostile(format: Any, content: bytes, folder: Path) -> None:
    for suffix in format.SUFFIXES[:2] or (".db",):
        file = folder / f"conversations{suffix}"
        file.write_bytes(content)
        source = open_source(file)
        assert 0 <= format.recognise(source, file.name) <= 1
        try:
            for item in format.read(source, file.name):
                json.dumps(item.position)
        except EverywordError:
            pass


# Repositories


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    path = tmp_path / "harbour"
    path.mkdir()
    _git(path, "init", "-q", "-b", "main")
    for number, message in enumerate(["Start", "Add tides\n\nIn metres.", "Grüße 🌊"]):
        _commit(path, message, f"2026-03-0{number + 1}T10:00:00+01:00")
    return path


def _git(path: Path, *arguments: str, **more: str) -> None:
    who = {f"GIT_{kind}_{what}": value for kind in ("AUTHOR", "COMMITTER") for what, value in WHO.items()}
    subprocess.run(
        ["git", "-C", str(path), *arguments], check=True, env={"HOME": str(path), "PATH": PATH, **who, **more}
    )


PATH = "/usr/local/bin:/usr/bin:/bin"
WHO = {"NAME": "Ana Reis", "EMAIL": "ana@example.org"}


def _commit(path: Path, message: str, date: str) -> None:
    _git(path, "commit", "-q", "--allow-empty", "-m", message, GIT_AUTHOR_DATE=date, GIT_COMMITTER_DATE=date)


def test_a_repository_tells_its_history_and_later_only_what_is_new(repository: Path) -> None:
    found = recognise(repository)
    items = [item for _, item in each_item(found)]
    events = [item.event for item in items if isinstance(item, Read)]
    assert [event["text"] for event in events] == ["Start", "Add tides\n\nIn metres.", "Grüße 🌊"]
    assert {(event["speaker"], event["wing"]) for event in events} == {("Ana Reis", "harbour")}
    assert events[0]["at"] == "2026-03-01T10:00:00+01:00"
    _commit(repository, "One more", "2026-03-09T10:00:00+01:00")
    assert _texts(found, {"part": ".git", "position": items[-1].position}) == ["One more"]


def test_a_repository_can_not_make_us_run_its_programs(repository: Path) -> None:
    trap = repository / "trap.sh"
    trap.write_text("#!/bin/sh\ntouch sprung\n")
    trap.chmod(0o755)
    for setting in ("gpg.program", "core.pager", "core.fsmonitor", "diff.external"):
        _git(repository, "config", setting, str(trap))
    _git(repository, "config", "log.showSignature", "true")
    assert len(_texts(recognise(repository))) == 3
    assert not list(repository.rglob("sprung"))


def test_a_repository_that_misses_a_commit_starts_no_fetch(repository: Path) -> None:
    sprung = repository.parent / "sprung"
    for setting, value in {
        "extensions.partialClone": "origin",
        "remote.origin.url": str(repository),
        "remote.origin.promisor": "true",
        "remote.origin.uploadpack": f"touch {sprung}; git-upload-pack",
        "protocol.file.allow": "always",
    }.items():
        _git(repository, "config", setting, value)
    missing = subprocess.run(
        ["git", "-C", str(repository), "rev-parse", "HEAD~1"], check=True, capture_output=True, text=True
    ).stdout.strip()
    (repository / ".git" / "objects" / missing[:2] / missing[2:]).unlink()
    with pytest.raises(InvalidInput, match="git can't read the history"):
        _texts(recognise(repository))
    assert not sprung.exists()


def test_a_repository_without_commits_is_empty_and_a_broken_one_is_refused(tmp_path: Path) -> None:
    _git(tmp_path, "init", "-q", "-b", "main")
    assert _texts(recognise(tmp_path)) == []
    (tmp_path / ".git" / "HEAD").write_text("nonsense")
    with pytest.raises(InvalidInput, match="git can't read the history"):
        _texts(recognise(tmp_path))


# Databases of other systems


class _Point:
    """As Qdrant's local store pickles it: an object with its members in `__dict__`."""

    def __init__(self, point_id: str, payload: dict[str, Any]) -> None:
        self.state = {"__dict__": {"id": point_id, "payload": payload, "vector": [0.1]}, "__fields_set__": {"id"}}

    def __getstate__(self) -> dict[str, Any]:
        return self.state


class _Trap:
    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.target,)


@pytest.fixture
def mem0(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "mem0"
    (folder / "qdrant" / "collection" / "mem0").mkdir(parents=True)
    with sqlite3.connect(folder / "history.db") as history:
        history.execute(
            "CREATE TABLE history (id TEXT PRIMARY KEY, memory_id TEXT, old_memory TEXT, new_memory TEXT, event TEXT,"
            " created_at DATETIME, updated_at DATETIME, is_deleted INTEGER, actor_id TEXT, role TEXT)"
        )
        history.execute(
            "CREATE TABLE messages (id TEXT PRIMARY KEY, session_scope TEXT, role TEXT, content TEXT, name TEXT,"
            " created_at DATETIME)"
        )
        add = "INSERT INTO history VALUES (?, ?, ?, ?, ?, ?, ?, ?, NULL, NULL)"
        when = "2026-01-0{}T10:00:00-08:00"
        history.execute(add, ("h1", "m1", None, "Ana likes tea", "ADD", when.format(1), None, 0))
        history.execute(
            add, ("h2", "m1", "Ana likes tea", "Ana likes coffee", "UPDATE", when.format(1), when.format(2), 0)
        )
        history.execute(add, ("h3", "m2", None, "Ben's old address", "ADD", when.format(3), None, 0))
        history.execute(add, ("h4", "m2", "Ben's old address", None, "DELETE", when.format(3), when.format(4), 1))
        message = ("x1", "user_id=ana", "user", "I switched to coffee.", None, "2026-01-02T18:00:00+00:00")
        history.execute("INSERT INTO messages VALUES (?, ?, ?, ?, ?, ?)", message)
    with sqlite3.connect(folder / "qdrant" / "collection" / "mem0" / "storage.sqlite") as points:
        points.execute("CREATE TABLE points (id TEXT PRIMARY KEY, point BLOB)")
        for point_id, payload in {
            "m1": {"data": "Ana likes coffee", "user_id": "ana"},
            "m9": {"data": "Cy plays chess", "user_id": "cy", "created_at": "2026-02-01T00:00:00+00:00"},
        }.items():
            name = base64.b64encode(pickle.dumps(point_id)).decode()
            points.execute("INSERT INTO points VALUES (?, ?)", (name, pickle.dumps(_Point(point_id, payload))))
        points.execute("INSERT INTO points VALUES ('trap', ?)", (pickle.dumps(_Trap(tmp_path / "sprung")),))
    history.close()
    points.close()
    yield folder
    assert not (tmp_path / "sprung").exists(), "a pickle ran code"


def test_mem0_gives_every_version_of_what_was_not_removed(mem0: Path) -> None:
    found = recognise(mem0)
    items = [item for _, item in each_item(found)]
    events = [item.event for item in items if isinstance(item, Read)]
    assert [(event["text"], event.get("speaker"), event["at"][:10]) for event in events] == [
        ("Ana likes tea", "ana", "2026-01-01"),
        ("Ana likes coffee", "ana", "2026-01-02"),
        ("I switched to coffee.", "user", "2026-01-02"),
        ("Cy plays chess", "cy", "2026-02-01"),
    ]
    skipped = {item.reason: item.expected for item in items if isinstance(item, Skipped)}
    assert skipped == {
        "removed in mem0": True,
        "read from the history already": True,
        "a point that can't be read": False,
    }


def test_mem0_goes_on_from_every_position(mem0: Path) -> None:
    found = recognise(mem0)
    whole = list(each_item(found))
    for number, (part, item) in enumerate(whole):
        rest = _texts(found, {"part": part, "position": json.loads(json.dumps(item.position))})
        assert rest == [one.event["text"] for _, one in whole[number + 1 :] if isinstance(one, Read)]


@pytest.fixture
def palace(tmp_path: Path) -> Path:
    folder = tmp_path / "palace"
    folder.mkdir()
    with sqlite3.connect(folder / "chroma.sqlite3") as chroma:
        chroma.executescript(
            """
            CREATE TABLE collections (id TEXT PRIMARY KEY, name TEXT NOT NULL);
            CREATE TABLE segments (id TEXT PRIMARY KEY, type TEXT, scope TEXT, collection TEXT);
            CREATE TABLE embeddings (id INTEGER PRIMARY KEY, segment_id TEXT, embedding_id TEXT, seq_id BLOB,
                created_at TIMESTAMP NOT NULL DEFAULT '2026-01-01 00:00:00');
            CREATE TABLE embedding_metadata (id INTEGER, key TEXT, string_value TEXT, int_value INTEGER,
                float_value REAL, bool_value INTEGER, PRIMARY KEY (id, key));
            INSERT INTO collections VALUES ('c1', 'mempalace_drawers'), ('c2', 'mempalace_closets');
            INSERT INTO segments VALUES ('s1', 'metadata', 'METADATA', 'c1'), ('s2', 'metadata', 'METADATA', 'c2');
            """
        )
        drawers = [
            ("s1", "drawer_1", {"chroma:document": "We chose SQLite.", "wing": "harbour", "room": "decisions"}),
            ("s2", "closet_1", {"chroma:document": "SQLite|decisions|0:chose"}),
            ("s1", "drawer_2", {"chroma:document": "Tides are in metres.", "filed_at": "2026-05-15T10:23:45"}),
        ]
        for number, (segment, name, about) in enumerate(drawers, 1):
            chroma.execute(
                "INSERT INTO embeddings (id, segment_id, embedding_id) VALUES (?, ?, ?)", (number, segment, name)
            )
            about |= {"source_file": "/somewhere/else/notes.md"}
            for key, value in about.items():
                chroma.execute(
                    "INSERT INTO embedding_metadata (id, key, string_value) VALUES (?, ?, ?)", (number, key, value)
                )
            chroma.execute(
                "INSERT INTO embedding_metadata (id, key, int_value) VALUES (?, 'chunk_index', 4)", (number,)
            )
    chroma.close()
    return folder


def test_mempalace_gives_its_drawers_with_wing_room_and_time(palace: Path) -> None:
    found = recognise(palace)
    items = [item for _, item in each_item(found)]
    first, closet, second = items
    assert isinstance(first, Read)
    assert isinstance(second, Read)
    assert isinstance(closet, Skipped)
    assert closet.expected
    assert first.event["text"] == "We chose SQLite."
    assert (first.event["wing"], first.event["meta"]["room"]) == ("harbour", "decisions")
    assert first.event["meta"]["source"] == {
        "format": "mempalace",
        "drawer": "drawer_1",
        "file": "notes.md",
        "chunk": 4,
    }
    assert second.event["at"] == "2026-05-15T10:23:45"
    after = {"part": "chroma.sqlite3", "position": closet.position}
    assert _texts(found, after) == ["Tides are in metres."]


def test_a_database_is_read_while_its_program_writes_to_it_and_is_left_as_it_was(palace: Path) -> None:
    writing = sqlite3.connect(palace / "chroma.sqlite3")
    writing.execute("PRAGMA journal_mode=WAL")
    writing.execute("INSERT INTO collections VALUES ('c3', 'other')")
    assert len(_texts(recognise(palace))) == 2
    writing.rollback()
    writing.close()
    before = (palace / "chroma.sqlite3").read_bytes()
    assert len(_texts(recognise(palace))) == 2
    assert (palace / "chroma.sqlite3").read_bytes() == before
    assert [path.name for path in palace.iterdir()] == ["chroma.sqlite3"], "nothing is left beside it"


def test_a_pickle_that_asks_for_room_is_not_read() -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert _point(b"\x80\x04Nr" + struct.pack("<I", 10**8) + b".") == ("", {})
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown * (1 if sys.platform == "darwin" else 1024) < 500 << 20


def test_a_table_that_makes_its_texts_is_not_read(tmp_path: Path) -> None:
    made = (
        "id TEXT, session_scope TEXT, role TEXT, name TEXT, created_at TEXT, content TEXT AS (hex(zeroblob(1000000)))"
    )
    with sqlite3.connect(tmp_path / "history.db") as history:
        history.execute(f"CREATE TABLE messages ({made})")
        history.execute("INSERT INTO messages VALUES ('x', 'user_id=ana', 'user', NULL, '2026-01-02T18:00:00+00:00')")
    history.close()
    assert tables(tmp_path / "history.db") == {}
