"""Dates in words: "last Tuesday", "in March 2022", "a few weeks ago", as windows of time.

`find.py` goes over a text once and tries, at each word that a time can begin with, the forms of `calendar_rules.py`,
`period_rules.py`, `relative_rules.py` and `due_rules.py`; `context.py` reads what stands before a find ("the end of",
"three days before", "since"), `tense.py` the verbs around it; `almanac.py` is the calendar, `lexicon.py` the words.
"""

from __future__ import annotations

from everyword.text.dates.finder import find_dates
from everyword.text.dates.tense import LOOKS_BACK
from everyword.text.dates.windows import Bound, DateMention, Granularity

__all__ = ["LOOKS_BACK", "Bound", "DateMention", "Granularity", "find_dates"]
