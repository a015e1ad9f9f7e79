"""Statements and answers on the command line, called in this process: what each verb prints, in text and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.surfaces.command import Done, Run, runner

from everyword import Memory
from everyword.errors import InvalidFilter, InvalidInput, NotFound

SAID = (
    ("I live in Lisbon.", "Ana", None),
    ("I moved to Porto.", "Ana", None),
    ("I like jazz.", "Ana", "home"),
    ("I need to pay the gas bill by Friday.", "Bo", None),
    ("I went to the lake yesterday.", "Bo", None),
)


@pytest.fixture
def run(location: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    with Memory.open(location, embedder="hashing", durability="normal") as memory:
        for day, (text, speaker, wing) in enumerate(SAID, 1):
            memory.add(text, speaker=speaker, wing=wing, at=f"2026-04-{day:02}T10:00Z")
        memory.admin.settle()

    return runner(capsys)


def quotes(listed: Sequence[dict[str, Any]]) -> list[str]:
    return [one["quote"] for one in listed]


def id_of(run: Run, words: str) -> str:
    (found,) = [
        one["id"] for one in run("statements", "--status", "any", "--json").json["statements"] if words in one["quote"]
    ]
    return found


class TestStatements:
    def test_text(self, run: Run) -> None:
        lines = run("statements", "--about", "Ana", "--kind", "event").out.splitlines()
        assert "event" in lines[0]
        assert "Ana: I moved to Porto" in lines[0]
        assert "  2026-04-02  " in lines[0]
        assert id_of(run, "Porto") in lines[0]
        assert lines[1].strip() == "“I moved to Porto” (Ana)"
        assert len(lines) == 2

    def test_json(self, run: Run) -> None:
        (porto,) = run("statements", "--about", "Ana", "--kind", "event", "--json").json["statements"]
        event = run("show", porto["event_id"], "--json").json
        start, end = porto["span"]
        assert event["text"][start:end] == porto["quote"] == "I moved to Porto"
        assert (porto["status"], porto["about"], porto["valid_to"]) == ("current", "Ana", None)
        assert porto["valid_from"] == "2026-04-02T10:00:00+00:00"
        assert porto["replaces"] == id_of(run, "Lisbon")

    def test_a_date_said_in_passing(self, run: Run) -> None:
        (lake,) = run("statements", "--about", "Bo", "--kind", "event", "--json").json["statements"]
        assert lake["date"] == {
            "start": "2026-04-04T00:00:00+00:00",
            "end": "2026-04-05T00:00:00+00:00",
            "words": "yesterday",
            "certain": True,
            "before": False,
        }

    @pytest.mark.parametrize(
        ("conditions", "expected"),
        [
            (("--about", "bo", "--kind", "task"), ["I need to pay the gas bill by Friday"]),
            (("--tag", "action:required"), ["I need to pay the gas bill by Friday"]),
            (("--status", "superseded"), ["I live in Lisbon"]),
            (("--status", "retracted"), []),
            (("--limit", "1"), ["I moved to Porto"]),
            (("--wing", "home"), ["I like jazz"]),
            (("--space", "other"), []),
            (("--as-of", "2020-01-01"), []),
        ],
    )
    def test_conditions(self, run: Run, conditions: Sequence[str], expected: list[str]) -> None:
        assert quotes(run("statements", *conditions, "--json").json["statements"]) == expected

    def test_nothing_found_is_no_error(self, run: Run) -> None:
        assert run("statements", "--about", "Nobody") == Done(0, "", "")

    @pytest.mark.parametrize("wrong", [("--kind", "decisions"), ("--status", "old")])
    def test_a_wrong_choice_names_the_right_ones(self, run: Run, wrong: Sequence[str]) -> None:
        done = run("statements", *wrong, "--json")
        assert done.code == InvalidFilter.exit_code
        assert done.error["type"] == "InvalidFilter"
        assert {"--kind": "decision,", "--status": "superseded"}[wrong[0]] in done.error["fix"]


class TestHistory:
    def test_text(self, run: Run) -> None:
        out = run("history", id_of(run, "Porto")).out
        for part in (
            "“I live in Lisbon” (Ana)",
            "superseded",
            "since 2026-04-01 until 2026-04-02",
            "“I moved to Porto” (Ana)",
            "first said",
            "lives in: 'Lisbon' became 'Porto'",
        ):
            assert part in out, part
        assert out.index("Lisbon") < out.index("Porto")

    def test_json(self, run: Run) -> None:
        first, second = run("history", id_of(run, "Lisbon"), "--json").json["versions"]
        assert first["statement"]["status"] == "superseded"
        assert second["statement"]["replaces"] == first["statement"]["id"]
        assert [change["action"] for change in first["changes"]] == ["add", "update"]
        assert first["changes"][1]["event_id"] == second["statement"]["event_id"]

    def test_the_first_digits_of_an_id_are_enough(self, run: Run) -> None:
        id = id_of(run, "Lisbon")
        assert run("history", id[:12]).out == run("history", id).out
        assert run("correct", id_of(run, "jazz")[:12], "Bo likes rock.").code == 0

    @pytest.mark.parametrize("verb", [("history",), ("retract",), ("correct", "x")])
    def test_an_unknown_id(self, run: Run, verb: Sequence[str]) -> None:
        done = run(verb[0], "st_nothing", *verb[1:], "--json")
        assert done.code == NotFound.exit_code
        assert done.error["type"] == "NotFound"


class TestCorrections:
    def test_correct(self, run: Run) -> None:
        wrong = id_of(run, "Porto")
        done = run("correct", wrong, "Ana lives in Faro.", "--json")
        assert done.code == 0
        assert (done.json["content"], done.json["replaces"]) == ("Ana lives in Faro.", wrong)
        assert "Ana lives in Faro." in run("statements", "--about", "Ana").out
        assert [version["statement"]["quote"] for version in run("history", wrong, "--json").json["versions"]] == [
            "I live in Lisbon",
            "I moved to Porto",
            "Ana lives in Faro.",
        ]

    def test_retract(self, run: Run) -> None:
        jazz = id_of(run, "jazz")
        out = run("retract", jazz).out
        assert "retracted" in out
        assert "“I like jazz”" in out
        assert "I like jazz" not in quotes(run("statements", "--json").json["statements"])
        last = run("history", jazz, "--json").json["versions"][0]["changes"][-1]
        assert last["reason"] == "retracted by user: no longer true"

    def test_what_is_over_can_not_be_changed(self, run: Run) -> None:
        done = run("retract", id_of(run, "Lisbon"), "--json")
        assert done.code == InvalidInput.exit_code
        assert "superseded" in done.error["detail"]
        assert "history" in done.error["fix"]

    def test_a_rebuild_keeps_them(self, run: Run) -> None:
        run("correct", id_of(run, "Porto"), "Ana lives in Faro.")
        run("retract", id_of(run, "jazz"))
        before = run("statements", "--status", "any", "--json").json
        assert run("rebuild").code == 0
        assert run("statements", "--status", "any", "--json").json == before


def test_what_happened_has_a_day_and_no_duration(run: Run) -> None:
    shown = run("statements", "--kind", "event", "--about", "Bo").out
    assert "  2026-04-04  " in shown
    assert "since" not in shown


class TestAsk:
    def test_text(self, run: Run) -> None:
        (citation,) = run("ask", "When did Bo go to the lake?", "--json").json["citations"]
        assert run("ask", "When did Bo go to the lake?").out == (
            f"4 April 2026: “I went to the lake yesterday.” (Bo, 5 April 2026) [1]\n\n[1] {citation['event_id']}\n"
        )

    def test_json(self, run: Run) -> None:
        answer = run("ask", "What music does Ana like?", "--json").json
        assert answer["answered"] is True
        assert answer["quotes"] == ["I like jazz."]
        assert answer["written_by"] == "quote"
        (citation,) = answer["citations"]
        event = run("show", citation["event_id"], "--json").json
        start, end = citation["span"]
        assert event["text"][start:end] == "I like jazz."

    def test_no_answer_is_said_and_is_no_error(self, run: Run) -> None:
        done = run("ask", "Who likes jazz?", "--space", "other")
        assert (done.code, done.out) == (0, "Not in this memory.\n")
        assert run("ask", "Who likes jazz?", "--space", "other", "--json").json["answered"] is False

    def test_tags_narrow(self, run: Run) -> None:
        answer = run("ask", "What does Bo need to do by Friday?", "--tag", "action:required", "--json").json
        assert answer["quotes"] == ["I need to pay the gas bill by Friday."]
        assert (
            run("ask", "What does Bo need to do by Friday?", "--tag", "category:wellness", "--json").json["quotes"]
            == []
        )
        hits = run("recall", "What?", "--tag", "action:required", "--json").json["hits"]
        assert quotes(hits) == ["I need to pay the gas bill by Friday."]


class TestUpkeep:
    def test_stats(self, run: Run) -> None:
        counted = run("stats", "--json").json
        assert "attribute" not in counted["statements"]  # what is superseded does not count
        assert counted["statements"]["task"] == 1
        assert counted["tags"]["action:required"] == 1
        lines = {line.split()[0]: line for line in run("stats").out.splitlines()}
        assert "1 preference" in lines["statements"]
        assert "1 task" in lines["statements"]
        assert "action:required 1" in lines["tags"]

    def test_stats_shows_the_most_frequent_tags_alone(self, run: Run, location: Path) -> None:
        with Memory.open(location, embedder="hashing", durability="normal") as memory:
            for text in ("I'm allergic to nuts.", "I work at Acme.", "I live in Faro.", "The budget is 30k."):
                memory.add(text, speaker="Cy")
            memory.admin.settle()
            tags = memory.stats().tags
        line = next(line for line in run("stats").out.splitlines() if line.startswith("tags"))
        shown = line.removeprefix("tags").split(" and ")
        assert shown[0].strip().split(", ") == [f"{tag} {count}" for tag, count in list(tags.items())[:6]]
        assert shown[1] == f"{len(tags) - 6} more"

    def test_stats_of_an_empty_space_has_no_such_lines(self, run: Run) -> None:
        out = run("stats", "--space", "other").out
        assert "statements" not in out
        assert "tags" not in out

    def test_verify_says_how_much_it_checked(self, run: Run) -> None:
        checked = run("verify", "--json").json["checked"]
        assert checked["statements"] == len(run("statements", "--status", "any", "--json").json["statements"])
        assert checked["changes"] >= checked["statements"]
        assert "statements" in run("verify").out

    def test_forget_tells_how_many_statements_went_and_brings_back_what_was_before(self, run: Run) -> None:
        (moved,) = run("statements", "--about", "Ana", "--kind", "event", "--json").json["statements"]
        receipt = run("forget", "--id", moved["event_id"], "--yes", "--json").json
        assert receipt["removed"]["statements"] == 1
        assert quotes(run("statements", "--kind", "attribute", "--json").json["statements"]) == ["I live in Lisbon"]
