"""Standing instructions: what counts as found, and that the file is whole."""

from __future__ import annotations

import json
from pathlib import Path

from evals.instructions import OWN, Instruction, as_table, measure, read_instructions

RULE = "Always reply to me in French from now on."


def test_an_instruction_counts_where_hits_and_context_have_it(tmp_path: Path) -> None:
    turns = [
        {"speaker": "user", "text": RULE, "statements": [{"kind": "instruction"}]},
        {"speaker": "assistant", "text": "D'accord.", "statements": []},
    ]
    (tmp_path / "made.jsonl").write_text(json.dumps({"id": "made-1", "turns": turns}), encoding="utf-8")
    one = Instruction("made-1", 1, "in French", True, ["write me a reply in French"], [])
    (found,) = measure([one], tmp_path)
    assert found.bears
    assert found.hit
    assert found.shown
    assert "| the instruction bears on it | 1 | 1.00 | 1.00 |" in as_table([found])


def test_every_instruction_is_in_its_turn() -> None:
    lines = (line for path in OWN.glob("*.jsonl") for line in path.read_text(encoding="utf-8").splitlines())
    told = {one["id"]: one for one in map(json.loads, lines)}
    both = [read_instructions(held_back=held) for held in (False, True)]
    assert not {one.conversation for one in both[0]} & {one.conversation for one in both[1]}
    for one in (*both[0], *both[1]):
        assert one.quote in told[one.conversation]["turns"][one.turn - 1]["text"]
        assert len(one.bears) == 2
        assert len(one.others) == (0 if one.general else 2)
