"""Find dates in text ("last Tuesday", "in March 2022", "a few weeks ago") and return them as windows of time.

`finder.py` scans a text once. At each word that can start a date it tries the rules of `rules.py`, then reads the words
before the match ("the end of", "three days before", "since"). `tense.py` decides by the verbs whether a date is past or
future. `calendar.py` is the calendar.
"""

from __future__ import annotations

from everyword.text.dates.calendar import Bound, DateMention, Granularity
from everyword.text.dates.finder import date_notes, find_dates, first_and_last_day, write_date

__all__ = ["Bound", "DateMention", "Granularity", "date_notes", "find_dates", "first_and_last_day", "write_date"]
