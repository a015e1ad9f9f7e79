"""The graph written out: notes with links that follow what is known, and files for other programs."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from everyword import Memory
from everyword.engine.encoding import EverywordNotice
from everyword.errors import BadLocation, InvalidInput


@pytest.fixture
def memory() -> Memory:
    opened = Memory.open(":memory:", embedder="none")
    opened.add("I live in Leeds.", speaker="Ana", at="2026-01-10", session="s1")
    opened.add("I moved to Porto in March. My friend Tom helped.", speaker="Ana", at="2026-04-02", session="s2")
    return opened


def test_a_note_for_each_with_links_and_quotes(memory: Memory, tmp_path: Path) -> None:
    assert memory.admin.export(wiki=tmp_path / "notes") == 4
    ana = (tmp_path / "notes" / "people" / "Ana.md").read_text()
    assert "## Now" in ana
    assert "lives in [[Porto]] since 2026-03-01 — “I moved to Porto in March”" in ana
    assert "lives in [[Leeds]] since 2026-01-10 until 2026-03-01" in ana
    assert "[[Ana]] lives in" in (tmp_path / "notes" / "places" / "Porto.md").read_text()
    assert not list(tmp_path.rglob("*.partial"))


def test_sessions_stand_in_the_order_of_their_days(memory: Memory, tmp_path: Path) -> None:
    memory.add("I liked Leeds.", speaker="Ana", at="2026-04-02", session="s2")
    memory.add("Leeds is far away now.", speaker="Ana", at="2026-05-01", session="s1")  # which began in January
    memory.admin.export(wiki=tmp_path)
    _, _, sessions = (tmp_path / "places" / "Leeds.md").read_text().partition("## Sessions\n\n")
    assert [line.split(":")[0] for line in sessions.splitlines()] == ["- 2026-05-01 s1", "- 2026-04-02 s2"]


def test_what_did_not_change_is_not_written_again(memory: Memory, tmp_path: Path) -> None:
    memory.admin.export(wiki=tmp_path)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.md")}
    memory.add("Tom works at Siemens.", speaker="Ana", at="2026-04-03")
    memory.admin.export(wiki=tmp_path)
    changed = {path.stem for path, at in before.items() if path.stat().st_mtime_ns != at}
    assert "Tom" in changed
    assert "Leeds" not in changed
    assert (tmp_path / "organisations" / "Siemens.md").exists()


def test_what_people_write_stays(memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "places").mkdir()
    own = tmp_path / "places" / "Leeds.md"
    own.write_text("my own words")
    memory.admin.export(wiki=tmp_path)
    assert own.read_text() == "my own words"
    (ours,) = (tmp_path / "places").glob("Leeds (*).md")
    ours.write_text(ours.read_text() + "and mine")
    memory.forget(session="s1")
    with pytest.warns(EverywordNotice, match="by hand"):
        memory.admin.export(wiki=tmp_path)
    assert ours.read_text().endswith("and mine")


def test_notes_of_what_is_forgotten_go(memory: Memory, tmp_path: Path) -> None:
    memory.admin.export(wiki=tmp_path)
    memory.forget(session="s2")
    memory.admin.export(wiki=tmp_path)
    assert sorted(path.stem for path in tmp_path.rglob("*.md")) == ["Ana", "Leeds"]
    assert "Porto" not in (tmp_path / "people" / "Ana.md").read_text()


def test_names_that_no_file_can_have(tmp_path: Path) -> None:
    memory = Memory.open(":memory:", embedder="none")
    for speaker in ("../../evil", "CON", "a/b:c", "ana", "ANA", "...", "x" * 200, "[[Tom]]|"):
        memory.add(f"I live in Leeds, says {speaker}.", speaker=speaker, at="2026-01-10")
    memory.admin.export(wiki=tmp_path / "notes")
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert all(path.is_relative_to(tmp_path / "notes" / folder) for path in files for folder in [path.parent.name])
    assert len({path.name.casefold() for path in files}) == len(files) == len(memory.graph.entities())


@pytest.mark.parametrize("ending", ["json", "graphml"])
def test_the_graph_as_one_file(memory: Memory, tmp_path: Path, ending: str) -> None:
    memory.add("I like \x01<b> & \ud800 tea.", speaker="Ana", at="2026-04-05")
    path = tmp_path / f"graph.{ending}"
    count = memory.admin.export(graph=path)
    if ending == "json":
        graph = json.loads(path.read_text())
        relations = {(edge["relation"], edge["quotes"][0]) for edge in graph["edges"] if "quotes" in edge}
        assert ("lives_in", "I moved to Porto in March") in relations
        assert count == len(graph["nodes"]) + len(graph["edges"])
    else:
        root = ElementTree.fromstring(path.read_text())
        names = {data.text for data in root.iter("{http://graphml.graphdrawing.org/xmlns}data")}
        assert {"Ana", "Porto", "lives_in"} <= names
    with pytest.raises(BadLocation, match="nothing is overwritten"):
        memory.admin.export(graph=path)


def test_one_thing_at_a_time(memory: Memory, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="where to"):
        memory.admin.export()
    with pytest.raises(InvalidInput, match="where to"):
        memory.admin.export(tmp_path / "a", wiki=tmp_path / "b")
    with pytest.raises(BadLocation, match="graphml"):
        memory.admin.export(graph=tmp_path / "graph.txt")
    (tmp_path / "file").write_text("")
    with pytest.raises(BadLocation, match="can't be read or created"):
        memory.admin.export(wiki=tmp_path / "file")


@pytest.mark.parametrize("name", ["graph.json", "graph.graphml"])
def test_a_graph_that_does_not_fit_on_the_disk_leaves_nothing_behind(memory: Memory, tmp_path: Path, name: str) -> None:
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200, before[1]))
    try:
        with pytest.raises(BadLocation):
            memory.admin.export(graph=tmp_path / name)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert list(tmp_path.iterdir()) == []
    memory.admin.export(graph=tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == [name]
