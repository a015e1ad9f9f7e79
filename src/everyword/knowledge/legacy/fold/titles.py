"""What some events begin with before they tell anything: a lead ("Note to self: ..."), which may be a title.

A lead names what an event is about, not what is to be done. A title is a lead that is written large, "Second Tester
Missing: I have been the only one since April", so that capitals make no names of its words.
"""

from __future__ import annotations

import re

LONGEST = 80  # characters of a lead; what is longer is a sentence with a colon in it
_LEAD = re.compile(rf"[^.!?:\n]{{1,{LONGEST}}}(?::\s|\n)")
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_LEAST_LETTERS = 4  # shorter words may be small in a title too: "Bread and Butter for Four"
_LEAST_WORDS = 2  # "Oona: she paid" begins with a name


def lead_end(text: str) -> int:
    """Tell where what follows a lead begins; 0 where there is none."""
    lead = _LEAD.match(text)
    return lead.end() if lead else 0


def title_end(text: str) -> int:
    """Tell where what follows a title begins; 0 where there is none."""
    end = lead_end(text)
    words = [word for word in _WORD.findall(text, 0, end) if len(word) >= _LEAST_LETTERS]
    return end if len(words) >= _LEAST_WORDS and all(word[0].isupper() for word in words) else 0
