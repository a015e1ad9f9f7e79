"""`everyword import`, as users call it: files as people and programs write them, mixed folders, and hostile files."""

from __future__ import annotations

import importlib.util
import json
import shutil
import sys
import zipfile
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.surfaces.command import Run, runner

from everyword import Memory
from everyword.ingest.importers import pdf, streaming
from everyword.types.times import utc_now

SAMPLES = Path(__file__).parent.parent / "data" / "imports"


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("EVERYWORD_MEMORY", str(tmp_path / "memory.db"))
    monkeypatch.setenv("EVERYWORD_EMBEDDER", "none")
    monkeypatch.setenv("EVERYWORD_READER", "none")
    return runner(capsys)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "things"
    path.mkdir()
    return path


def _imported(run: Run, *arguments: object) -> dict[str, Any]:
    done = run("import", *map(str, arguments), "--json")
    assert done.code == 0, done.err
    return done.json["files"][0]


def _events(run: Run) -> list[dict[str, Any]]:
    return run("events", "--json").json["events"]


def _said(run: Run) -> list[tuple[str | None, str | None, str]]:
    return [(event.get("role"), event.get("speaker"), event["text"]) for event in _events(run)]


# Chat messages

OPENAI = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": "Tide in Faro?"}, {"type": "image_url", "image_url": {}}]},
    {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "tide", "arguments": "{}"}}]},
    {"role": "tool", "tool_call_id": "c", "content": "2.1 m"},
    {"role": "assistant", "content": "High at nine.", "metadata": {"odd": 1}},
]
ANTHROPIC = [
    {"role": "user", "content": "Tide in Faro?"},
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "hm"},
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "c", "name": "tide", "input": {"at": "Faro"}},
        ],
    },
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "2.1 m"}]},
]
GOOGLE = [{"role": "user", "parts": [{"text": "Tide?"}]}, {"role": "model", "parts": [{"text": "High at nine."}]}]


@pytest.mark.parametrize(
    ("messages", "said"),
    [
        (
            OPENAI,
            [
                ("system", "system", "Be brief."),
                ("user", "user", "Tide in Faro?\n[image]"),
                ("tool", "tide", "tide({})"),
                ("tool", "tide", "2.1 m"),
                ("assistant", "assistant", "High at nine."),
            ],
        ),
        (
            ANTHROPIC,
            [
                ("user", "user", "Tide in Faro?"),
                ("assistant", "assistant", "I look."),
                ("tool", "tide", 'tide({"at": "Faro"})'),
                ("tool", "tide", "2.1 m"),
            ],
        ),
        (GOOGLE, [("user", "user", "Tide?"), ("assistant", "assistant", "High at nine.")]),
    ],
    ids=["openai", "anthropic", "google"],
)
@pytest.mark.parametrize("form", ["list", "lines", "conversation", "conversations", "conversation lines"])
def test_chat_messages_in_every_shape(
    run: Run, tmp_path: Path, messages: list[dict[str, Any]], said: list[Any], form: str
) -> None:
    whole: dict[str, Any] = {"title": "Tides", "messages": messages}
    contents = {
        "list": json.dumps(messages),
        "lines": "".join(json.dumps(one) + "\n" for one in messages),
        "conversation": json.dumps(whole),
        "conversations": json.dumps([whole]),
        "conversation lines": json.dumps(whole) + "\n",
    }
    file = tmp_path / ("chat.jsonl" if "lines" in form else "chat.json")
    file.write_text(contents[form])
    done = _imported(run, file)
    assert (done["format"], done["added"]) == ("messages", len(said))
    assert _said(run) == said
    session = "chat/Tides" if "conversation" in form else "chat"
    assert {event["session"] for event in _events(run)} == {session}
    assert _imported(run, file, "--again")["added"] == 0


def test_one_bad_line_is_told_and_the_others_are_kept(run: Run, tmp_path: Path) -> None:
    rows = [json.dumps({"role": "user", "content": f"Line {number}"}) for number in range(3)]
    (tmp_path / "chat.jsonl").write_text("\n".join([rows[0], "{oops", '{"role": 7}', *rows[1:]]) + "\n")
    events = [json.dumps({"text": f"Event {number}"}) for number in range(3)]
    (tmp_path / "events.jsonl").write_text("\n".join(["{oops", *events]) + "\n")
    chat, own = run("import", str(tmp_path / "chat.jsonl"), str(tmp_path / "events.jsonl"), "--json").json["files"]
    assert (chat["added"], own["added"]) == (3, 3)
    assert chat["not_understood"] == [
        "chat.jsonl, line 2: not JSON: {oops",
        'chat.jsonl, line 3: role is missing: {"role": 7}',
    ]
    assert own["not_understood"] == ["events.jsonl, line 1: not JSON: {oops"]


def test_lines_with_a_text_and_other_members_are_rows(run: Run, tmp_path: Path) -> None:
    (tmp_path / "notes.jsonl").write_text('{"text": "The hull is green.", "colour": "green", "author": "Ana"}\n')
    assert _imported(run, tmp_path / "notes.jsonl")["format"] == "table"
    (event,) = _events(run)
    assert (event["speaker"], event["meta"]["colour"]) == ("Ana", "green")


def test_what_has_no_words_is_counted(run: Run, tmp_path: Path) -> None:
    (tmp_path / "talk.json").write_text(json.dumps([{"role": "user", "content": "Hi."}, {"role": "user"}]))
    assert _imported(run, tmp_path / "talk.json")["skipped"] == {"a message without text": 1}
    chat = "01/02/2026, 10:00 - Ana: hello\n01/02/2026, 10:01 - Tom: This message was deleted\n"
    (tmp_path / "WhatsApp Chat with Ana.txt").write_text(chat)
    done = _imported(run, tmp_path / "WhatsApp Chat with Ana.txt")
    assert (done["added"], done["skipped"]) == (1, {"a deleted message": 1})


def test_an_import_goes_on_where_an_interrupted_one_left_vectors_to_make(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVERYWORD_EMBEDDER", "hashing")
    (tmp_path / "note.txt").write_text("We met.")
    with Memory.open(tmp_path / "memory.db", embedder="hashing", background=False) as memory:
        memory.import_events(tmp_path / "note.txt")
        assert memory.stats().pending == 1
    assert _imported(run, tmp_path / "note.txt")["added"] == 0
    assert run("stats", "--json").json["pending"] == 0


# Tables


@pytest.mark.parametrize(("suffix", "mark"), [("csv", ","), ("csv", ";"), ("tsv", "\t"), ("csv", "|")])
def test_a_table_with_named_columns(run: Run, tmp_path: Path, suffix: str, mark: str) -> None:
    rows = [["Speaker", "Text", "Date", "Mood"], ["Ana", '"We sail, at ""six""\nsharp."', "2026-03-01 10:00", "happy"]]
    (tmp_path / f"log.{suffix}").write_text("\n".join(mark.join(row) for row in rows) + "\n")
    assert _imported(run, tmp_path / f"log.{suffix}", "--tz", "+02:00")["added"] == 1
    (event,) = _events(run)
    assert (event["speaker"], event["text"]) == ("Ana", 'We sail, at "six"\nsharp.')
    assert (event["at"], event["meta"]["Mood"]) == ("2026-03-01T10:00:00+02:00", "happy")


def test_a_time_that_can_not_be_read_is_told(run: Run, tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("Text,Date\nWe met.,2026-03-01\nIt rained.,31 of Smarch\nNobody said when.,\n")
    done = _imported(run, tmp_path / "log.csv")
    assert (done["added"], done["unread_times"]) == (3, 1)
    assert done["not_understood"] == ["log.csv, line 3: a time that can't be read: 31 of Smarch"]
    shown = run("import", str(tmp_path / "log.csv"), "--again").out
    assert "stored with the time of the file, since its own can't be read: 1\n" in shown


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_dates_of_a_column_are_read_as_it_writes_them(run: Run, tmp_path: Path, suffix: str) -> None:
    dates = ["03/02/2026", "13/02/2026", "28.02.2026", "Mar 3 2026", "3/4/26 9:15 PM", "2026-05-06 10:11"]
    rows = [{"date": date, "text": f"row {number}"} for number, date in enumerate(dates)]
    lines = (
        ["date,text", *(f"{row['date']},{row['text']}" for row in rows)] if suffix == "csv" else map(json.dumps, rows)
    )
    (tmp_path / f"log.{suffix}").write_text("\n".join(lines) + "\n")
    assert _imported(run, tmp_path / f"log.{suffix}", "--tz", "UTC")["unread_times"] == 0
    days = ["02-03T00:00", "02-13T00:00", "02-28T00:00", "03-03T00:00", "04-03T21:15", "05-06T10:11"]
    assert [event["at"] for event in _events(run)] == [f"2026-{day}:00+00:00" for day in days]


def test_a_date_of_two_readings_is_told_in_its_own_words(run: Run, tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("date,text\n03/02/2026,hello\n")
    (told,) = _imported(run, tmp_path / "log.csv")["not_understood"]
    assert told == "log.csv, line 2: a time that can't be read: 03/02/2026 (the day or the month may come first)"


def test_a_table_without_a_text_gives_its_rows(run: Run, tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("Name,Birthday,Phone\nAna,3 May,\nBen,1 June,12\n")
    _imported(run, tmp_path / "people.csv")
    ana, ben = (text for _, _, text in _said(run))
    assert (ana, ben) == ("Name: Ana\nBirthday: 3 May", "Name: Ben\nBirthday: 1 June\nPhone: 12")


def test_a_million_columns_and_a_quote_that_never_closes(run: Run, tmp_path: Path) -> None:
    wide, open_quote = tmp_path / "wide.csv", tmp_path / "open.csv"
    wide.write_text("a," * 1_000_000 + "\n1,2\n")
    refused = run("import", str(wide))
    assert (refused.code, refused.err) == (2, "everyword: wide.csv has more than 1,000 columns.\n")
    open_quote.write_text('text\nfine\n"never closed\nand more\n')
    assert _imported(run, open_quote)["added"] == 2
    assert [text for _, _, text in _said(run)] == ["fine", "never closed\nand more\n"]
    (tmp_path / "long.csv").write_text("text,mood\nfine as well,good\na,b,c\n")
    assert "more cells than columns" in str(_imported(run, tmp_path / "long.csv")["not_understood"])


# Documents

_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def _word_file(path: Path, body: str, prolog: str = "", **more: str) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        document = f'{prolog}<w:document xmlns:w="{_WORD}"><w:body>{body}</w:body></w:document>'
        archive.writestr("word/document.xml", document)
        for name, content in more.items():
            archive.writestr(f"word/{name}.xml", content)
    return path


def _paragraph(text: str, style: str = "") -> str:
    style = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{style}<w:r><w:t>{text}</w:t></w:r></w:p>"


def test_a_word_file_by_its_headings(run: Run, folder: Path) -> None:
    body = _paragraph("Plan", "Heading1") + _paragraph("We sail &amp; rest.") + _paragraph("Crew", "Heading2")
    body += "<w:tbl><w:tr><w:tc>" + _paragraph("Ana") + "</w:tc><w:tc>" + _paragraph("Ben") + "</w:tc></w:tr></w:tbl>"
    body += "<w:p><w:r><w:delText>deleted</w:delText></w:r><w:r><w:t>a</w:t><w:tab/><w:t>b</w:t></w:r></w:p>"
    note = f'<w:footnotes xmlns:w="{_WORD}">{_paragraph("At six.")}</w:footnotes>'
    _word_file(folder / "plan.docx", body, footnotes=note)
    assert _imported(run, folder)["format"] == "docx"
    assert _said(run) == [
        ("document", None, "# Plan\n\nWe sail & rest."),
        ("document", None, "## Crew\n\nAna\n\nBen\n\na\tb\n\nAt six."),
    ]
    assert _imported(run, folder / "plan.docx")["format"] == "docx"


@pytest.mark.parametrize(
    ("body", "prolog", "why"),
    [
        ("<w:p>" + " " * (65 << 20) + "</w:p>", "", "unpacks to 68,1"),
        (_paragraph("&a;"), '<!DOCTYPE x [<!ENTITY a "aaaa">]>', "declares entities"),
        ("<w:p><w:r>", "", "can't be read as a Word file"),
    ],
    ids=["bomb", "entities", "cut"],
)
def test_a_hostile_word_file_is_one_clear_line(run: Run, folder: Path, body: str, prolog: str, why: str) -> None:
    _word_file(folder / "bad.docx", body, prolog)
    refused = run("import", str(folder))
    assert refused.code == 2
    assert refused.err.count("\n") == 1
    assert why in refused.err
    (folder / "good.txt").write_text("Kept.")
    done = _imported(run, folder)
    assert (done["added"], done["skipped"]) == (1, {"a file that can't be read": 1})
    assert why in done["not_understood"][0]


def _pdf_file(path: Path, *pages: str) -> Path:
    """Write a PDF with a line of text on each page."""
    objects = ["<</Type/Catalog/Pages 2 0 R>>", ""]
    for text in pages:
        stream = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET"
        font = "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"
        objects.append(
            f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources<</Font<</F1 {font}>>>>"
            f"/Contents {len(objects) + 2} 0 R>>"
        )
        objects.append(f"<</Length {len(stream)}>>stream\n{stream}\nendstream")
    kids = " ".join(f"{number} 0 R" for number in range(3, len(objects) + 1, 2))
    objects[1] = f"<</Type/Pages/Kids[{kids}]/Count {len(pages)}>>"
    content, places = "%PDF-1.4\n", list[int]()
    for number, one in enumerate(objects, 1):
        places.append(len(content))
        content += f"{number} 0 obj\n{one}\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    size = len(objects) + 1
    table = f"xref\n0 {size}\n0000000000 65535 f \n{table}trailer\n<</Size {size}/Root 1 0 R>>\n"
    path.write_text(f"{content}{table}startxref\n{len(content)}\n%%EOF\n")
    return path


@pytest.mark.skipif(importlib.util.find_spec("pypdf") is None, reason="needs pypdf")
def test_a_pdf_by_its_pages(run: Run, folder: Path) -> None:
    _pdf_file(folder / "plan.pdf", "We sail at six.", "And rest.")
    assert _imported(run, folder)["format"] == "pdf"
    assert [(event["text"], event["meta"]["source"]["page"]) for event in _events(run)] == [
        ("We sail at six.", 1),
        ("And rest.", 2),
    ]
    (folder / "cut.pdf").write_bytes(b"%PDF-1.4\n" + b"\x00" * 100)
    done = _imported(run, folder)
    assert done["skipped"] == {"a file that can't be read": 1}
    assert "cut.pdf: the PDF can't be read" in done["not_understood"][0]


def _fake_pypdf(folder: Path, monkeypatch: pytest.MonkeyPatch, extract: str) -> None:
    (folder / "pypdf.py").write_text(
        "import time\n"
        "class Page:\n"
        "    def __init__(self, number): self.number = number\n"
        f"    def extract_text(self): {extract}\n"
        "class PdfReader:\n"
        "    is_encrypted, metadata = False, None\n"
        "    def __init__(self, file): self.pages = [Page(number) for number in range(1, 9)]\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(folder))
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, "pypdf", raising=False)


@pytest.mark.parametrize(
    ("extract", "why"),
    [
        ("return 'page' if self.number < 3 else time.sleep(60)", "takes longer than 6 s to read further"),
        ("return 'page' if self.number < 3 else 'x' * (4 << 30)", "can't be read further (MemoryError"),
        ("return 'page' if self.number < 3 else 1 / 0", "can't be read further (ZeroDivisionError"),
        ("return 'page' if self.number < 3 else 'x' * 2000", "is too long; its first 3 pages were read"),
    ],
    ids=["hangs", "memory", "fails", "long"],
)
def test_a_pdf_that_never_ends_keeps_what_was_read(
    run: Run, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, extract: str, why: str
) -> None:
    (tmp_path / "lib").mkdir()
    _fake_pypdf(tmp_path / "lib", monkeypatch, extract)
    # The limits of the process that reads: it runs this file as a program.
    program = Path(pdf.__file__).read_text().replace("_MAX_CHARS = 32_000_000", "_MAX_CHARS = 1_000")
    (tmp_path / "pdf.py").write_text(program)
    monkeypatch.setattr(pdf, "__file__", str(tmp_path / "pdf.py"))
    monkeypatch.setattr(pdf, "_MAX_SECONDS", 6 if "sleep" in extract else 60)
    (folder / "odd.pdf").write_bytes(b"%PDF-1.4\n")
    done = _imported(run, folder)
    assert done["added"] >= 2
    assert why in done["not_understood"][0]


def test_without_the_extra_a_pdf_names_it(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pypdf", None)
    _pdf_file(folder / "plan.pdf", "We sail.")
    refused = run("import", str(folder))
    assert refused.code == 6
    assert "pip install 'everyword[pdf]'" in refused.err
    (folder / "note.txt").write_text("Kept.")
    done = _imported(run, folder)
    assert done["added"] == 1
    assert "pip install 'everyword[pdf]'" in done["not_understood"][0]


# Notes


def test_a_long_text_is_split_between_paragraphs_and_nothing_is_lost(run: Run, tmp_path: Path) -> None:
    paragraphs = [f"{number}. " + "word " * 200 for number in range(40)]
    (tmp_path / "book.txt").write_text("\n\n".join(paragraphs))
    assert _imported(run, tmp_path / "book.txt")["format"] == "text"
    texts = [text for _, _, text in _said(run)]
    assert 5 <= len(texts) <= 10
    assert "\n\n".join(texts) == "\n\n".join(paragraphs)
    assert {event["session"] for event in _events(run)} == {"book"}


def test_the_file_of_the_mcp_reference_server(run: Run, tmp_path: Path) -> None:
    rows = [
        {"type": "entity", "name": "Ana", "entityType": "person", "observations": ["likes tea", "sails"]},
        {"type": "relation", "from": "Ana", "to": "Ben", "relationType": "knows"},
        {"type": "thing"},
    ]
    (tmp_path / "memory.jsonl").write_text("\n".join(map(json.dumps, rows)))
    done = _imported(run, tmp_path / "memory.jsonl")
    assert (done["format"], done["skipped"]) == ("mcp-memory", {"neither an entity nor a relation": 1})
    assert [text for _, _, text in _said(run)] == ["Ana (person)", "Ana: likes tea", "Ana: sails", "Ana knows Ben"]


# Folders


def test_each_file_of_a_folder_has_its_own_format(run: Run, folder: Path) -> None:
    (folder / "note.txt").write_text("More: buy paint for the hull.\n\nIt must dry for two days.")
    (folder / "talk.txt").write_text("Ana: hello\nBen: hi\nAna: on Sunday?\nBen: yes\n")
    (folder / "boat.md").write_text("# Boat\n\nNeeds paint.\n")
    (folder / "photo.jpg").write_bytes(b"\xff\xd8\xff")
    shutil.copytree(SAMPLES / "chatgpt", folder / "one")
    shutil.copytree(SAMPLES / "slack", folder / "two")
    shutil.copytree(SAMPLES / "slack", folder / "three")
    for name in ("telegram", "claude-ai"):
        shutil.make_archive(str(folder / name), "zip", SAMPLES / name)
    (folder.parent / "secret.txt").write_text("not yours")
    (folder / "link.txt").symlink_to(folder.parent / "secret.txt")
    (folder / "up").symlink_to(folder.parent)
    done = _imported(run, folder)
    names = ("chatgpt", "slack", "telegram", "claude-ai")
    alone = {name: _imported(run, SAMPLES / name, "--space", name) for name in names}
    assert set(done["format"].split(", ")) == {"text", "transcript", "markdown", *alone}
    expected = 1 + 4 + 1 + sum(one["added"] for one in alone.values())
    assert done["added"] == expected
    assert done["known"] == alone["slack"]["added"], "the same export twice"
    assert done["skipped"][".jpg: no known format"] == 1
    assert done["skipped"]["a link that leads out of the folder"] == 2
    assert ("note", None, "More: buy paint for the hull.\n\nIt must dry for two days.") in _said(run)
    again = _imported(run, folder)
    assert (again["read"], again["unchanged"]) == (0, again["files"])
    assert run("import", str(folder)).out.splitlines()[0].endswith(f"already there {expected + done['known']:,}")


def test_a_zip_that_can_not_be_read_does_not_cost_the_others(run: Run, folder: Path) -> None:
    (folder / "note.txt").write_text("Kept.")
    with zipfile.ZipFile(folder / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", b" " * 100_000_000)
    (folder / "cut.zip").write_bytes((folder / "bomb.zip").read_bytes()[:1000])
    done = _imported(run, folder)
    assert (done["added"], done["skipped"]["a file that can't be read"]) == (1, 2)
    assert "bomb.zip unpacks to 100,000,000 bytes" in done["not_understood"][0]


def test_a_file_that_is_no_zip_does_not_cost_the_others(run: Run, folder: Path) -> None:
    (folder / "note.txt").write_text("Kept.")
    (folder / "chat.zip").write_text('{"messages": []}')
    (folder / "list.json").write_text('{"a": 1}')
    done = _imported(run, folder)
    assert (done["added"], done["skipped"]) == (1, {".zip: no known format": 1, ".json: no known format": 1})
    assert sorted(done["not_understood"]) == ["chat.zip: it is not a zip", "list.json: no known format"]


def test_a_bad_entry_of_a_zip_in_a_folder_does_not_cost_the_others(run: Run, folder: Path) -> None:
    (folder / "note.txt").write_text("Kept.")
    with zipfile.ZipFile(folder / "bad.zip", "w") as archive:
        archive.writestr("words.docx", b"PK\x03\x04 and nothing else")
    assert _imported(run, folder)["added"] == 1


@pytest.mark.parametrize("suffix", ["txt", "jsonl", "csv", "md", "json"])
def test_a_line_without_end_is_one_clear_line(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    for module in (streaming, *(sys.modules[f"everyword.ingest.importers.{name}"] for name in ("notes", "table"))):
        monkeypatch.setattr(module, "MAX_RECORD_BYTES", 300_000)
    head = {"txt": "", "md": "# x\n", "csv": "text\n", "json": '[{"role": "user", "content": "', "jsonl": ""}[suffix]
    if suffix == "jsonl":
        head = '{"role": "user", "content": "fine"}\n{"role": "user", "content": "'
    (folder / f"long.{suffix}").write_text(head + "x " * 400_000)
    done = _imported(run, folder)
    assert len(done["not_understood"]) == 1, done
    assert done["added"] == (suffix == "jsonl")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252", "latin-1"])
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("note.txt", "Grüße an Ana."),
        ("log.csv", "speaker,text\nJosé,Grüße an Ana.\n"),
    ],
)
def test_files_in_other_encodings(run: Run, tmp_path: Path, name: str, content: str, encoding: str) -> None:
    (tmp_path / name).write_bytes(content.encode(encoding))
    _imported(run, tmp_path / name)
    assert [event["text"] for event in _events(run)] == ["Grüße an Ana."]


# Names and times


def test_sessions_are_named_by_their_titles(run: Run) -> None:
    _imported(run, SAMPLES / "chatgpt")
    names = {session["name"] for session in run("sessions", "--json").json["sessions"]}
    assert {"Bread for Sunday (000001)", "loop (000003)"} <= names


def test_times_without_a_zone_are_in_the_zone_of_the_user(run: Run, tmp_path: Path) -> None:
    (tmp_path / "talk.txt").write_text("[2026-07-01 10:00] Ana: hi there\n[2026-12-01 10:00] Ben: hello\n")
    _imported(run, tmp_path / "talk.txt", "--tz", "Europe/Lisbon")
    assert [event["at"] for event in _events(run)] == ["2026-07-01T10:00:00+01:00", "2026-12-01T10:00:00+00:00"]
    assert "2026-07-01 18:00+09:00  Ana" in run("events", "--tz", "Asia/Tokyo").out
    refused = run("import", str(tmp_path / "talk.txt"), "--tz", "Mars/Base")
    assert (refused.code, refused.err.count("\n")) == (2, 1)


def test_times_are_given_and_shown_in_the_zone_of_the_user(run: Run) -> None:
    run("--tz", "+02:00", "add", "We meet.", "--at", "2026-11-15 19:00")
    assert _events(run)[0]["at"] == "2026-11-15T19:00:00+02:00"
    assert run("events", "--tz=-05:00").out.startswith("2026-11-15 12:00-05:00")
    assert run("events", "--tz", "+02:00", "--since", "2026-11-15 19:01").out == ""


@pytest.mark.parametrize(("words", "days"), [("yesterday", 1), ("3 days ago", 3), ("today", 0)])
def test_times_in_words(run: Run, words: str, days: int) -> None:
    midnight = utc_now().replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=days)
    for text, at in (("before", midnight - timedelta(minutes=5)), ("after", midnight + timedelta(minutes=5))):
        run("add", text, "--at", at.isoformat())
    found = run("events", "--since", words, "--tz", "UTC", "--json").json["events"]
    assert [event["text"] for event in found] == ["after"]
    refused = run("events", "--since", "the day of the cat")
    assert (refused.code, refused.err.count("\n")) == (2, 1)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("13/12/2025 9:15 pm", "2025-12-13T21:15"),
        ("12.07.2026", "2026-07-12T00:00"),
        ("2026-07", "2026-07-01T00:00"),
        ("12 July 2026 at 5pm", "2026-07-12T17:00"),
        ("July 2026 10:30", None),
        ("2026-07-12T25:00", None),
        ("2026-07-12 99:99", None),
        ("05/06/2026", None),
    ],
)
def test_a_time_is_read_whole_or_refused(run: Run, written: str, read: str | None) -> None:
    done = run("add", "We met.", "--at", written, "--tz", "UTC")
    assert done.code == (0 if read else 2)
    if read:
        assert [event["at"] for event in _events(run)] == [f"{read}:00+00:00"]
    else:
        assert written in done.err
