"""Times by which something is due: by end of month, before year-end, EOD, within two weeks."""

from __future__ import annotations

import re
from dataclasses import replace

from recollect.core.dates.almanac import DAY, HOUR, MINUTE, Stretch, day_window, days
from recollect.core.dates.lexicon import FUNCTION_WORDS, GAP, MONTH, WEEKDAY, amount, pattern
from recollect.core.dates.relative_rules import SPAN, UNITS, moved, unit_by
from recollect.core.dates.scene import Rule, Scene, rule
from recollect.core.dates.values import Granularity

_THIRD = 3  # as of "the end of" a window: its last third
_SHORT = {"eod": "day", "cob": "day", "eow": "week", "eom": "month", "eoq": "quarter", "eoy": "year"}
_LENGTHS = {"second": 1, "minute": MINUTE, "hour": HOUR}
_DUE_BEFORE = rf"\b(?:by|before|until|till|(?P<at>at)|around|due|is|eta)(?:{GAP}(?:the|this))?{GAP}$"
_REACH = 16  # characters before a time in which such a word is looked for
_A_DAY_AFTER = rf",?{GAP}(?:on{GAP})?(?:the{GAP})?(?:{WEEKDAY}|{MONTH}|today|tomorrow|\d)"


def _closing(match: re.Match[str], scene: Scene) -> Stretch | None:
    """Read "by end of month", "before year-end", "by EOD": the last part of what is running now.

    At the end of the day much is said that has no time, and a year-end report is a kind of report.
    """
    due = pattern(_DUE_BEFORE).search(scene.text, max(0, match.start() - _REACH), match.start())
    if due is None or (match["day"] and due["at"]):
        return None
    follows = scene.after(match.end()).lower()
    if (follows and follows not in FUNCTION_WORDS) or pattern(_A_DAY_AFTER).match(scene.text, match.end()):
        return None  # "by close of business on Friday" is told from Friday
    unit = (match["unit"] or match["whole"] or _SHORT.get((match["short"] or "").lower(), "day")).lower()
    whole = unit_by(unit, 0, scene) if unit in UNITS else day_window(scene.day)
    if whole is None:
        return None
    last = max(1, (whole.end_day - whole.first_day) // _THIRD)
    return replace(whole, start=(whole.end_day - last) * DAY)


def _within(match: re.Match[str], scene: Scene) -> Stretch | None:
    """Read "within two weeks": from now up to then; "within two weeks of the move" hangs on another event."""
    unit, (low, high) = match["unit"].lower(), amount(match["n"])
    if high < 1 or scene.after(match.end()).lower() in {"of", "after"} or scene.leaning(*match.span()) is True:
        return None
    if unit in _LENGTHS:
        end = scene.now + _LENGTHS[unit] * int(high)
        return Stretch(start=scene.now, end=end, granularity=Granularity.MOMENT)
    return days(scene.day, moved(unit, scene.day, int(high)) + 1, Granularity.DAY, certain=low == high)


RULES: tuple[Rule, ...] = (
    rule(
        "end close month quarter year eod cob eow eom eoq eoy",
        rf"(?:(?:end|close){GAP}of{GAP}(?:(?:the{GAP})?(?P<day>day|business|play|work)|(?P<unit>week|month|quarter|year))"
        rf"|(?P<whole>month|quarter|year)(?:'s{GAP}|{GAP}|-)end|(?P<short>eo[dwmqy]|cob))\b",
        _closing,
    ),
    rule("within", rf"within{GAP}(?:the{GAP}(?:next{GAP}|coming{GAP})?)?{SPAN}\b", _within),
)
