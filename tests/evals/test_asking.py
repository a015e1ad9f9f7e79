"""Asking the questions of labelled conversations: what counts as right, stale and refused."""

from __future__ import annotations

from collections import Counter

from evals.asking import as_table, measure
from training.reading.convert import parse
from training.reading.corpus import read_conversation

from everyword import Memory, Settings

TOLD = """
@conv gym-01 | phone-chat | en
[2026-03-02 19:40] Oyelaran: The door code of the gym is 2209.
S The door code of the gym is 2209 | fact | gym | door_code | 2209 |  | asserted
[2026-03-05 08:10] Bexley: My cat Pickle sleeps on the piano all day.
E Pickle | pet | Pickle
S My cat Pickle sleeps on the piano all day | habit | Pickle | sleeps | piano |  | asserted
[2026-04-05 08:10] Oyelaran: The door code of the gym is 4771 now.
S The door code of the gym is 4771 now | fact | gym | door_code | 4771 |  | asserted
Q What is the door code of the gym? | 3 | 4771
Q Where does the cat Pickle sleep? | 2 | piano
Q What is the door code of the gym? | 1 | 2209
Q Which dentist fixed Bexley's crown? | - | never_told
P 1 The door code of the gym is 2209 | 3 The door code of the gym is 4771 now | replaces
"""


def test_outcomes_are_counted_by_what_is_cited() -> None:
    conversation = read_conversation(parse(TOLD)[0])
    settings = Settings(background=False)
    found = measure(
        [conversation],
        opened=lambda: Memory.open(":memory:", settings=settings, redact="none"),
        progress=lambda done, of: None,
    )
    # The third question has the old code as its answer, and the memory rightly gives the new one.
    assert found == Counter(
        {"answerable, right": 2, "answerable, other turn": 1, "changed, right": 1, "unanswerable, refused": 1}
    )
    assert "right 0.67, stale 0.00, other turn 0.33" in as_table(found)
