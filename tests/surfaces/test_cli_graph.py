"""The temporal graph on the command line, called in this process: what each verb prints, in text and as JSON."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.surfaces.command import Run, runner

from everyword import Memory
from everyword.errors import InvalidFilter, NotFound


@pytest.fixture
def run(location: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    with Memory.open(location, embedder="hashing", durability="normal") as memory:
        memory.add("I live in Leeds.", speaker="Ana", at="2026-01-10T10:00Z", session="s1")
        memory.add("I moved to Porto in March.", speaker="Ana", at="2026-04-02T10:00Z", session="s2")
        memory.add("Michael Chen works at Siemens. I had lunch with Mike.", speaker="Ana", at="2026-04-03T10:00Z")

    return runner(capsys)


def test_entities_and_one_of_them(run: Run) -> None:
    head, *rows = run("entities").out.splitlines()
    assert head.split() == ["name", "type", "events", "last", "also"]
    assert rows[0].split() == ["Ana", "person", "3", "2026-04-03"]
    assert [one["name"] for one in run("entities", "--type", "place", "--json").json["entities"]] == ["Leeds", "Porto"]
    assert run("entity", "mike").out.splitlines()[0].split() == ["name", "Michael", "Chen"]
    assert run("entity", "nobody").code == NotFound.exit_code
    assert run("entities", "--type", "animal").code == InvalidFilter.exit_code


def test_facts_with_their_times_and_quotes(run: Run) -> None:
    assert run("facts", "Ana", "--relation", "lives_in").out.splitlines() == [
        "Ana  lives in  Leeds  said 2026-01-10, until 2026-03-01",
        "  2026-01-10 “I live in Leeds”",
        "  2026-04-02 “I moved to Porto in March” ended it",
        "Ana  lives in  Porto  since 2026-03-01",
        "  2026-04-02 “I moved to Porto in March”",
    ]
    assert run("facts", "Ana", "--relation", "lives in").out == run("facts", "Ana", "--relation", "lives_in").out
    assert "Choose one of lives_in, comes_from" in run("facts", "Ana", "--relation", "lives").err
    (fact,) = run("facts", "Ana", "--as-of", "2026-02-01", "--json").json["facts"]
    assert (fact["object"], fact["valid_to"][:10]) == ("Leeds", "2026-03-01")
    assert run("facts", "Ana", "--known-at", "2020-01-01", "--json").json == {"facts": []}


def test_a_timeline(run: Run) -> None:
    told = run("timeline", "Porto", "--json").json["timeline"]
    assert [(fact["subject"], fact["relation"]) for fact in told] == [("Ana", "lives_in")]


def test_who_is_who_by_hand(run: Run) -> None:
    assert run("split", "Michael Chen", "--name", "Mike", "--json").json["name"] == "Mike"
    assert run("entity", "Mike", "--json").json["name"] == "Mike"
    (edit,) = run("edits", "--json").json["edits"]
    assert "undone" in run("undo", str(edit["number"])).out
    assert run("merge", "Michael Chen", "Ana", "--json").json["name"] == "Ana"
    assert "Michael Chen" in run("edits").out


def test_conflicts_are_listed_and_doctor_names_them(run: Run) -> None:
    assert run("conflicts", "--json").json == {"conflicts": []}
    run("add", "Tom lives in Oslo.", "--speaker", "Ana", "--at", "2026-04-05T10:00Z")
    run("add", "Tom lives in Rome.", "--speaker", "Bo", "--at", "2026-04-05T10:00Z")
    assert [fact["object"] for fact in run("conflicts", "--json").json["conflicts"]] == ["Oslo", "Rome"]
    checks = run("doctor", "--json").json["checks"]
    assert "Tom lives in Oslo" in [check["detail"] for check in checks if check["name"] == "conflict"]


def test_the_graph_goes_out_as_notes_and_as_a_file(run: Run, tmp_path: Path) -> None:
    assert run("export", "--wiki", str(tmp_path / "notes")).out == f"wrote 5 notes to {tmp_path / 'notes'}\n"
    assert (tmp_path / "notes" / "people" / "Ana.md").exists()
    assert run("export", "--graph", str(tmp_path / "g.graphml")).code == 0
    assert run("export").code != 0


def test_sessions_and_stats_say_what_the_graph_knows(run: Run) -> None:
    first = run("sessions", "--json").json["sessions"][0]
    assert first["keys"] == ["Porto"]
    assert first["summary"][0]["text"] == "I moved to Porto in March."
    assert run("stats", "--json").json["graph"]["entities"] == 5
    assert "5 entities" in run("stats").out
