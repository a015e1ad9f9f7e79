"""What people see of each format: their words, who said them and when, and a report of all that was left out."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from tests.imported_items import each_item, format_names

from everyword import Memory
from everyword.ingest.importers import recognise
from everyword.ingest.importers.records import Read, Skipped

IMPORTS = Path(__file__).parent.parent / "data" / "imports"
SESSION = "6f1d2c3b-0a9e-4d57-8c11-2b7f5e90aa01"
FORMATS = {
    "chatgpt": "chatgpt",
    "claude-ai": "claude-ai",
    "claude-code": "claude-code",
    "codex": "codex",
    "codex-early": "codex",
    "gemini": "gemini-cli",
    "gemini-jsonl": "gemini-cli",
    "gitlog/harbour-log.txt": "git",
    "mail": "mbox",
    "everyword": "everyword",
    "slack": "slack",
    "telegram": "telegram",
    "telegram-all": "telegram",
    "transcript": "transcript",
    "transcript-dated": "transcript",
    "vault/Daily": "markdown",
    "whatsapp": "whatsapp",
    "whatsapp-de": "whatsapp",
    "whatsapp-ios": "whatsapp",
    "whatsapp-us": "whatsapp",
}


def _items(name: str) -> list[Read | Skipped]:
    found = recognise(IMPORTS / name)
    return [item for _, item in each_item(found)]


def _events(name: str) -> list[dict[str, Any]]:
    return [item.event for item in _items(name) if isinstance(item, Read)]


def _said(name: str) -> list[tuple[str | None, str | None, str]]:
    return [(event.get("role"), event.get("speaker"), event["text"]) for event in _events(name)]


def _not_understood(name: str) -> list[str]:
    return [item.reason for item in _items(name) if isinstance(item, Skipped) and not item.expected]


# All formats


@pytest.mark.parametrize(("name", "format"), FORMATS.items())
def test_a_format_is_recognised_by_what_it_holds(name: str, format: str) -> None:
    assert format_names(recognise(IMPORTS / name)) == {format}


@pytest.mark.parametrize("name", FORMATS)
def test_everything_read_can_be_remembered_and_a_second_import_adds_nothing(name: str) -> None:
    events = _events(name)
    with Memory.open(":memory:", embedder="none") as memory:
        first = memory.import_events(IMPORTS / name)
        assert (first.format, first.added) == (FORMATS[name], len(events))
        again = memory.import_events(IMPORTS / name)
        assert (again.added, again.known) == (0, len(events))
        assert memory.add_many(events).known == memory.stats().events == len(events) > 0
        assert memory.admin.verify().ok


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("name", sorted(FORMATS.keys() - {"mail"}))  # a mail says itself what letters it is in
def test_files_in_the_letters_that_windows_writes_are_read_alike(name: str, encoding: str, tmp_path: Path) -> None:
    for path in IMPORTS.joinpath(name.split("/")[0]).rglob("*"):
        if path.is_file():
            copy = tmp_path / path.relative_to(IMPORTS)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(("\ufeff" + path.read_bytes().decode("utf-8-sig")).encode(encoding))
            os.utime(copy, (path.stat().st_mtime, path.stat().st_mtime))
    wide = recognise(tmp_path / name)
    found = list(each_item(wide))
    assert [item.event for _, item in found if isinstance(item, Read)] == _events(name)
    for number, (part, item) in enumerate(found):
        rest = [one for _, one in each_item(wide, after={"part": part, "position": item.position})]
        wanted = [one for _, one in found[number + 1 :]]
        assert _words(rest[len(rest) - len(wanted) :]) == _words(wanted)


@pytest.mark.parametrize("name", FORMATS)
def test_reading_goes_on_from_every_position_without_losing_anything(name: str) -> None:
    found = recognise(IMPORTS / name)
    whole = list(each_item(found))
    for number, (part, item) in enumerate(whole):
        after = json.loads(json.dumps({"part": part, "position": item.position}))
        rest = [one for _, one in each_item(found, after)]
        repeated = len(rest) - len(whole[number + 1 :])
        assert repeated >= 0
        assert _words(rest[repeated:]) == _words([one for _, one in whole[number + 1 :]])
        # Only what came of the same record of the file may come again; it has the same keys, so nothing doubles.
        assert set(_words(rest[:repeated])) <= set(_words([one for _, one in whole[: number + 1]]))
        assert repeated <= 3


def _words(items: list[Any]) -> list[str]:
    return [item.event["text"] if isinstance(item, Read) else f"{item.reason} {item.where}" for item in items]


@pytest.mark.parametrize("name", FORMATS)
def test_events_say_which_format_they_are_of_and_name_no_place_on_this_machine(name: str) -> None:
    for event in _events(name):
        if FORMATS[name] != "everyword":
            assert event["meta"]["source"]["format"] == FORMATS[name]
            assert event["key"].startswith(FORMATS[name] + ":")
        assert str(IMPORTS.parent.parent) not in json.dumps(event)


# Claude Code


def test_claude_code_keeps_what_user_assistant_and_tools_said() -> None:
    assert _said("claude-code") == [
        ("summary", None, "Tide tables for the harbour page"),
        ("user", "user", "Show the tide for Faro on the harbour page, please. Keep the old layout."),
        ("assistant", "assistant", "I'll read the page first."),
        ("tool", "assistant", 'Read {"file_path": "/home/ana/code/harbour/page.py"}'),
        ("tool", "tool", '     1→def page():\n     2→    return "harbour"'),
        ("assistant", "assistant", "Two calls now."),
        ("tool", "assistant", 'Bash {"command": "make page", "description": "Build"}'),
        ("tool", "assistant", 'Task {"prompt": "Find the tide source"}'),
        ("tool", "tool", "built in 2 s"),
        ("user", "assistant", "Find the tide source"),
        ("assistant", "assistant", "The hydrographic office has a table."),
        ("user", "user", "Here is a picture of the old layout"),
        ("summary", "assistant", "This session is continued from an earlier one: Ana wants tides for Faro."),
        ("tool", "tool", "<local-command-stdout>Set model</local-command-stdout>"),
        ("user", "user", "And in metres, not feet."),
        ("user", "user", "Grüße aus Faro 🌊 — deploy it after lunch."),
    ]
    assert _not_understood("claude-code") == ["unknown kind of line: hologram", "not JSON", "not a JSON object"]


def _heard(tmp_path: Path, message: dict[str, Any], kind: str = "user") -> list[tuple[str, str, str] | str]:
    file = tmp_path / "one.jsonl"
    line = {"type": kind, "sessionId": "s", "parentUuid": None, "uuid": "1", "timestamp": "2026-01-01T00:00:00Z"}
    file.write_text(json.dumps({**line, "message": message}) + "\n")
    found = recognise(file)
    items = [item for _, item in each_item(found)]
    return [
        (item.event["role"], item.event["speaker"], item.event["text"]) if isinstance(item, Read) else item.reason
        for item in items
    ]


@pytest.mark.parametrize(
    ("content", "heard"),
    [
        (
            "<command-name>/clear</command-name>\n<command-message>clear</command-message>\n<command-args></command-args>",
            "",
        ),
        (
            "<command-message>plan</command-message>\n<command-name>/plan</command-name>\n"
            "<command-args>the new pier\nin <b>green</b></command-args>",
            "the new pier\nin <b>green</b>",
        ),
        ("<user-memory-input>we use tabs</user-memory-input>", "we use tabs"),
        ("[Request interrupted by user]", ""),
        ("[Request interrupted by user for tool use]", ""),
        ("<local-command-caveat>Caveat: ...</local-command-caveat>", ""),
        (
            "<system-reminder>\nbe good\n</system-reminder>\nPaint it.\n<system-reminder>\nx\n</system-reminder>\n",
            "Paint it.",
        ),
        ("<system-reminder>a</system-reminder><system-reminder>b</system-reminder>", ""),
        ("<ide_opened_file>The user opened pier.py</ide_opened_file>\nWhat is this?", "What is this?"),
        # What somebody writes about such elements is theirs.
        ("Why is <system-reminder>x</system-reminder>", "Why is <system-reminder>x</system-reminder>"),
        (
            "<command-name>/model</command-name> stays there, why?",
            "<command-name>/model</command-name> stays there, why?",
        ),
        ("a\n<system-reminder>x</system-reminder>\nb", "a\n<system-reminder>x</system-reminder>\nb"),
        ("<system-reminder>never closed", "<system-reminder>never closed"),
        ("<div>a page</div>", "<div>a page</div>"),
        ("  as it was written\n", "  as it was written\n"),
    ],
)
def test_claude_code_s_markup_is_nobody_s_words(tmp_path: Path, content: str, heard: str) -> None:
    nobody = "markup written by the program"
    wanted = [("user", "user", heard)] if heard else [nobody]
    assert _heard(tmp_path, {"role": "user", "content": content}) == wanted
    assert _heard(tmp_path, {"role": "user", "content": [{"type": "text", "text": content}]}) == wanted


@pytest.mark.parametrize(
    ("content", "speaker"),
    [
        ("<bash-input>ls</bash-input>", "user"),
        ("<bash-stdout>a.py</bash-stdout><bash-stderr></bash-stderr>", "tool"),
        ("<local-command-stderr>no</local-command-stderr>", "tool"),
        ("<task-notification>\n<task-id>b2</task-id>\n</task-notification>", "tool"),
    ],
)
def test_what_the_user_ran_in_claude_code_is_a_tool_s(tmp_path: Path, content: str, speaker: str) -> None:
    assert _heard(tmp_path, {"role": "user", "content": content}) == [("tool", speaker, content)]


def test_an_answer_that_claude_code_made_up_is_left_out(tmp_path: Path) -> None:
    said = {"role": "assistant", "content": [{"type": "text", "text": "No response requested."}]}
    assert _heard(tmp_path, {**said, "model": "<synthetic>"}, "assistant") == ["synthetic: generated by the program"]
    assert _heard(tmp_path, {**said, "model": "claude-x"}, "assistant") == [
        ("assistant", "assistant", "No response requested.")
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "<system-reminder>" * 100_000,
        "<system-reminder></system-reminder>" * 100_000,
        "<ide_selection>" + "\n<system-reminder></system-reminder>" * 100_000,
        "</system-reminder>" * 100_000,
        "<a></a>" * 300_000,
        "<a>" * 300_000,
        " " * 1_000_000 + "<",
    ],
)
def test_hostile_markup_takes_no_time(tmp_path: Path, text: str) -> None:
    started = time.process_time()
    _heard(tmp_path, {"role": "user", "content": text})
    assert time.process_time() - started < 8


def test_claude_code_names_session_wing_time_and_agents() -> None:
    first, *_ = [event for event in _events("claude-code") if event["role"] == "user"]
    assert first["session"] == SESSION
    assert first["wing"] == "harbour"
    assert first["at"] == "2026-02-03T09:01:00+00:00"
    assert first["key"] == "claude-code:00000000-0000-4000-8000-000000000001"
    aside = [event for event in _events("claude-code") if event["meta"].get("sidechain")]
    assert {event["session"] for event in aside} == {f"{SESSION}/agent-a7487331"}


def test_a_session_that_is_still_written_is_followed(tmp_path: Path) -> None:
    file = tmp_path / "live.jsonl"
    line = {"type": "user", "sessionId": "s", "parentUuid": None, "timestamp": "2026-01-01T00:00:00Z"}
    half = json.dumps({**line, "uuid": "2", "message": {"role": "user", "content": "second"}})
    file.write_text(
        json.dumps({**line, "uuid": "1", "message": {"role": "user", "content": "first"}}) + "\n" + half[:40]
    )
    found = recognise(file)
    items = [item for _, item in each_item(found)]
    assert [type(item) for item in items] == [Read, Skipped]
    with file.open("a") as more:
        more.write(half[40:] + "\n")
    later = [item for _, item in each_item(found, {"part": "live.jsonl", "position": items[-1].position})]
    assert [item.event["text"] for item in later if isinstance(item, Read)] == ["second"]


# Other assistants


def test_chatgpt_keeps_every_branch_and_marks_those_that_were_left() -> None:
    branches = {event["text"]: event["meta"].get("branch") for event in _events("chatgpt")}
    assert branches["Overnight in the fridge, or two hours at 24 °C."] is None
    assert branches["About two hours."] == branches["In the fridge or out?"] == "a1"
    assert ("tool", "python", "250 °C reached after 40 min") in _said("chatgpt")
    assert _not_understood("chatgpt") == ["unknown kind of content: hologram", "unknown entry"]


def test_chatgpt_leaves_out_what_was_never_shown() -> None:
    assert not any("baker" in text for _, _, text in _said("chatgpt"))
    assert sum(isinstance(item, Skipped) and item.expected for item in _items("chatgpt")) == 3


def test_chatgpt_gives_a_message_without_a_time_that_of_its_conversation() -> None:
    (event,) = [event for event in _events("chatgpt") if event["text"] == "A loop walks into a bar"]
    assert event["at"] == "2025-12-29T09:20:00+00:00"


def test_claude_ai_reads_parts_attachments_tools_projects_and_memories() -> None:
    assert _said("claude-ai") == [
        ("user", "user", "When do I plant the beans?"),
        ("document", "user", "Bed 1: carrots\nBed 2: empty"),
        ("assistant", "assistant", "After the last frost, mid April."),
        ("tool", "assistant", 'web_search {"query": "last frost Porto"}'),
        ("tool", "tool", "Mid April"),
        ("summary", None, "Ana gardens in Porto."),
        ("summary", None, "The quince needs shade."),
        ("document", None, "Trees"),
        ("document", None, "Three apple trees, one quince."),
    ]
    assert _not_understood("claude-ai") == ["unknown sender: martian"]


def test_codex_leaves_out_what_the_program_put_in_and_what_is_said_twice() -> None:
    assert _said("codex") == [
        ("user", "user", "Round all sums half to even."),
        ("tool", "assistant", 'shell {"command":["rg","round"]}'),
        ("tool", "tool", "ledger.py:12: round(x)\n"),
        ("tool", "assistant", "apply_patch *** Begin Patch\n*** End Patch"),
        ("tool", "tool", "Done"),
        ("assistant", "assistant", "Done: decimal with ROUND_HALF_EVEN."),
        ("summary", "assistant", "Ben wants banker's rounding."),
    ]
    assert {event["wing"] for event in _events("codex")} == {"ledger"}
    assert _not_understood("codex") == ["unknown kind of item: telepathy"]
    assert [text for _, _, text in _said("codex-early")] == ["What does this repo do?", "It keeps a ledger."]


@pytest.mark.parametrize("name", ["gemini", "gemini-jsonl"])
def test_gemini_reads_both_its_forms_and_each_message_once(name: str) -> None:
    assert _said(name) == [
        ("user", "user", "List the files here"),
        ("tool", "assistant", 'list_directory {"path": "."}'),
        ("tool", "tool", "README.md\nplan.txt"),
        ("assistant", "assistant", "There are two files: README.md and plan.txt."),
        ("user", "user", "Read the plan aloud"),
    ]


# People


def test_slack_shows_words_as_people_saw_them() -> None:
    assert _said("slack") == [
        (
            "user",
            "Ana Reis",
            "@Ben the release is at 5 & not before, see the plan (https://example.org/plan) in #general @here",
        ),
        ("user", "Ben", "ok, 5 it is"),
        ("user", "Ana Reis", "lunch at 1?"),
        ("assistant", "deploybot", "Deployed 1.2.3 to staging"),
        ("user", "Guest Gil", "hello from outside"),
    ]
    first, answer, lunch, *_ = _events("slack")
    assert first["session"] == answer["session"] != lunch["session"]
    assert lunch["key"] == "slack:C01:1777626180.000400:1777626190.000000"
    assert _not_understood("slack") == ["unknown kind of entry: reminder"]


def test_telegram_reads_one_chat_or_all_of_them() -> None:
    club = [
        ("user", "Ana", "We start at 7 from the station."),
        ("user", "Ben", "See the map (https://example.org/map), bring water!"),
        ("user", "user3", "I left the club"),
        ("user", "Ana", "We start at 8."),
        ("user", "Ana", "Where next?\nCoast\nHills"),
    ]
    assert _said("telegram") == club
    assert _said("telegram-all") == [
        ("user", "user7", "Deleted account says hi"),
        *club,
        ("user", "Ana", "Last rehearsal was fun"),
    ]
    assert _events("telegram")[0]["at"] == "2026-06-07T07:02:00+00:00"


def test_whatsapp_joins_lines_and_leaves_out_notices_and_media() -> None:
    assert _said("whatsapp") == [
        ("user", "Ana", "Did you water the plants?"),
        ("user", "Ben", "Yes, all but two:\n- the fern\n- the cactus\n\nIt is a cactus after all."),
        ("user", "Ana", "ok"),
        ("user", "Ana", "ok"),
        ("user", "Ben", "IMG-20260214-WA0001.jpg (file attached)\nlook at this one"),
        ("user", "+351 912 345 678", "who is this: a bot?"),
    ]
    assert _not_understood("whatsapp") == ["a date that does not exist"]
    assert len({event["key"] for event in _events("whatsapp")}) == 6


@pytest.mark.parametrize(
    ("name", "times"),
    [
        ("whatsapp", ["2026-02-13T21:05", "2026-02-13T21:06"]),
        ("whatsapp-ios", ["2026-02-13T21:05", "2026-02-13T21:06", "2026-02-14T00:00"]),
        ("whatsapp-de", ["2026-02-01T09:05", "2026-02-03T09:06"]),
        ("whatsapp-us", ["2026-01-02T09:05", "2026-01-11T09:05", "2026-02-01T12:05"]),
    ],
)
def test_whatsapp_finds_the_order_of_day_and_month_and_the_clock(name: str, times: list[str]) -> None:
    assert [event["at"][:16] for event in _events(name)][: len(times)] == times


def test_whatsapp_takes_hidden_marks_for_what_they_are() -> None:
    assert _said("whatsapp-ios") == [
        ("user", "Ana", "Did you water the plants?"),
        ("user", "Ben", "Yes.\nBoth of them."),
        ("user", "Ben", "It is midnight \u200e<This message was edited>"),
    ]


def test_mail_is_read_whatever_its_charset_and_replies_keep_their_thread() -> None:
    first, reply, unnamed = _events("mail")
    assert first["text"] == "Subject: Café on Sunday\n\nSee you at the café.\n>From now on we meet at noon."
    assert first["speaker"] == "Ana Réis"
    assert first["at"] == "2026-03-01T11:00:00+01:00"
    assert reply["text"] == "Subject: Re: Café on Sunday\n\nFine.\nSee you at the café."
    assert reply["session"] == first["session"]
    assert unnamed["text"].endswith("From the sea is no border.")


def test_transcripts_know_who_speaks_from_who_speaks_again() -> None:
    texts = [text for _, _, text in _said("transcript")]
    assert texts[:3] == [
        "Welcome. We ship in May.",
        "Is that fixed?\nIt was June last week.\nNote: the clock is slow",
        "May it is.",
    ]
    assert {speaker for _, speaker, _ in _said("transcript")} == {"Ana", "Ben"}
    assert _not_understood("transcript") == ["before the first speaker"]
    assert [event["at"] for event in _events("transcript-dated")] == [
        "2026-05-01T10:00:00",
        "2026-05-01T10:01:00",
    ]
    assert all(event["meta"]["at_is_a_guess"] for event in _events("transcript"))


# Notes and code


def test_notes_become_sections_word_for_word() -> None:
    events = {event["text"]: event for event in _events("vault")}
    walked = events["Walked to the [[Harbour|old harbour]] before work."]
    assert walked["at"] == "2026-03-01T00:00:00"
    assert walked["wing"] == "vault"
    evening = next(event for text, event in events.items() if text.startswith("## Evening"))
    assert "# not a heading" in evening["text"]
    boat = events["# Boat\n\n![[boat.png]]\n\nThe hull needs two coats."]
    assert boat["at"] == "2025-11-20T18:30:00+01:00"
    assert events["## Boat\n\nThe hull needs two coats."]["meta"]["headings"] == ["Boat", "Boat"]
    assert events["No heading and no date here.\n\n---\n\nStill the same note."]["meta"]["at_is_a_guess"]


def test_a_saved_git_log_gives_messages_without_the_changes() -> None:
    merge, tides = _events("gitlog/harbour-log.txt")
    assert merge["meta"]["merge"]
    assert merge["at"] == "2026-03-03T10:00:00+01:00"
    assert tides["text"] == "Show tides in metres\n\nFeet confused everyone."
    assert tides["speaker"] == "Ben"


def test_our_own_export_comes_back_exactly() -> None:
    first, exact = _events("everyword")
    assert first == {
        "text": "Ana moved to Lisbon.",
        "session": "s1",
        "speaker": "Ana",
        "at": "2026-04-02T10:00:00+00:00",
    }
    assert exact["text"] == "\ud800\udc00"
    assert _not_understood("everyword") == ["no text", "unknown field colour", "not JSON"]
