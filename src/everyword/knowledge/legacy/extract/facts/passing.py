"""What is told in passing, wherever in a sentence it stands: "the pictures from my trip to Rome"."""

from __future__ import annotations

import re
from collections.abc import Iterator

from everyword.knowledge.legacy.extract.facts.claims import LIKELY, Claim, Course

_NAME = r"(?P<v>(?:the )?[^\W\d_a-z][^,;!?]{1,80})"
_TRIP = re.compile(
    r"\b(?:back from|took|during|on|from|after|with|of|about|since|had|last) (?:an? |my |our |the |that |this )"
    r"(?:[\w-]+ ){0,4}?(?:trip|holiday|vacation|visit|honeymoon|getaway|weekend) (?:last \w+ |back )?(?:to|in) "
    rf"{_NAME}"
)
_HOME_COUNTRY = re.compile(rf"\bmy (?:home|native) ?(?:country|town|city|village)(?: of|,) {_NAME}")
_HOME_IS = re.compile(rf"\bmy (?:home ?town|home country|home city) is {_NAME}", re.IGNORECASE)
_OWN = re.compile(r"\b(?:I|my|we|our|me|us)\b", re.IGNORECASE)
_AHEAD = re.compile(
    r"\b(?:plan(?:s|ned|ning)?|think(?:ing)?|want|would|next|upcoming|going to|will|hop(?:e|ing)|['’]ll|['’]d"
    r"|consider\w*|book(?:ed|ing)?|excited|looking forward|dream\w*|if|might|maybe|should|could|wish|prepar\w+"
    r"|pack(?:ing)?|not|never|n['’]t)\b",
    re.IGNORECASE,
)


def in_passing(sentence: str) -> Iterator[Claim]:
    """Read claims about the speaker that hang on no verb of their own."""
    if not _OWN.search(sentence):
        return
    for pattern in (_HOME_COUNTRY, _HOME_IS):
        if home := pattern.search(sentence):
            yield Claim(relation="comes_from", object=home["v"], confidence=LIKELY)
    trip = _TRIP.search(sentence)
    if trip and not _AHEAD.search(sentence):
        yield Claim(relation="visited", object=trip["v"], course=Course.HAPPENED, confidence=LIKELY)
