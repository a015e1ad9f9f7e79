"""What folding takes of an event: its vector, telling words, names and themes, and what it calls a cause."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from everyword.knowledge.legacy.fold.phrases import COMMON_WORDS
from everyword.knowledge.legacy.fold.standing import things_of
from everyword.knowledge.legacy.fold.themes import Profile
from everyword.knowledge.legacy.fold.titles import title_end
from everyword.text.terms import STOPWORDS, finder, stem
from everyword.types.events import SILENT, Event, Json
from everyword.types.times import to_micros
from everyword.types.trust import states_nothing

MOST_READ = 2_000  # characters: what is longer was pasted, and its beginning tells what it is
MOST_TERMS = 24  # of an event: a longer one says many things, and the first ones name the topic
MOST_NAMES = 8
_MOST_LINKS = 8  # words of cause that are tried in one event
MOST_DIMENSIONS = 256  # of a vector: the first ones say most, and a graph of thousands must fit into memory
SHORTEST_TERM = 3  # letters
LONGEST_TERM = 40
_LONGEST_WRITTEN = LONGEST_TERM + 2  # with its possessive
_VOCABULARY = 1 << 15  # words that need not be looked at again
WORD = "="  # before a word that serves as a theme where the profile has none
WORD_SAYS = 0.7  # how clearly a word speaks of itself: less than what a profile was told
ASSISTANTS = frozenset(("assistant", "ai", "model", "bot"))
# Words of counting and of the clock: they stand in events of every kind.
_MEASURES = frozenset(
    """one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen twenty thirty forty fifty hundred thousand million half minute minutes hour hours day days week
    weeks month months year years today noon midnight morning evening afternoon night first second third""".split()
)
# Past forms of irregular verbs, but those that are nouns as well: they tell that something was done, not what it was
# about. Regular ones stay: "translated" and "translation" are one stem, and name one thing.
_DEEDS = frozenset(
    """arisen arose ate awoke became began begun bent bitten bled blew blown bred broke broken brought built bought
    caught chose chosen clung crept dealt drank drawn dreamt drew driven drove dug eaten fallen fell fled flew flown
    forbade forbidden forgave forgiven forgot forgotten fought froze frozen grew grown hid hidden held hung kept knelt
    laid leant leapt learned learnt led lent lit lost meant met overcame paid rang ridden risen rode sang sank sent
    sewn shaken shone shook shown shrank shrunk shut slept slid sold sought spat sped spent spoke spoken sprang stole
    stolen stood strove struck stuck stung sung sunk swam swept swore sworn swum swung taken taught threw thrown tore
    torn understood undertook undid withdrew withdrawn withstood woke woken won wore worn wove woven wrote written
    wrung""".split()
)
# How people say what they feel and think of something, and verbs of every talk: they stand beside any theme.
_TALK = frozenset(
    """adorable agree agreed agrees amazed awful beautiful blessed blown bunch cheer cherish cherished chill chilling
    closer continue continued continues crucial cute delighted deserve deserved deserves determined embrace embraced
    embracing enjoyable enjoyed enjoying entire exciting expected extra fam fantastic fascinating fave favorite
    favourite filled folks forget forward fulfilling full glad gorgeous grateful grown hang hanging happen happening
    happens heartwarming helpful hit hopeful hopefully huh imagine imagined important impressed impressive insane
    inspire inspired inspires inspiring involved keeping kinda knowing known letting lovely loving lucky main matter
    matters meaningful mention mentioned miss missed misses motivated notice noticed noted noting obvious
    optimistic own pic posted powerful precious previous proud pumped push pushed pushes pushing ready realise realised
    realize realized refreshing remind reminded reminds rewarding rough sad scared scary showed showing shown
    shows similar sitting sort spot stand standing starting starts stay stayed staying stays stick stoked stressful
    strong stunning sweet tackle talented terrible thankful thrilled ton touched uplifting vibe vibes wait waited
    waits weird wild woah woohoo worried worry yay yup""".split()
)
# What joins, places and orders the words that tell.
_JOINING = frozenset(
    """above amid among amongst anywhere apart aside below beneath beside besides beyond despite elsewhere everywhere
    except forever furthermore hence indeed meanwhile moreover nevertheless nonetheless nor nowhere off once onto
    otherwise overall seldom sometime sometimes somewhere somehow straight than therefore thereby thus toward towards
    twice underneath unless unlike unlikely upon whatever whenever whereas wherever whoever""".split()
)
# How something was done is not what it was about; the nouns that end alike are few.
_ADVERB = re.compile(
    r"(?!(?:ally|anomaly|assembly|belly|bully|butterfly|dragonfly|family|folly|fly|gully|homily|jelly|lily|monopoly|"
    r"rally|reply|supply|tally|trolley|underbelly)$)[^\W\d_]{2,}ly"
)
_ORDINAL = re.compile(
    r"(?:(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)(?:-\w+)?|\w*(?:fourth|fifth|sixth|seventh|eighth|ninth"
    r"|tenth|eleventh|twelfth|teenth|tieth))"
)
_words = finder("LETTERS(?:['’-]LETTERS)*")
_POSSESSIVE = re.compile(r"['’]s$")
_SENTENCE_END = ".!?:\n\"'“”("


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Moment:
    """An event as folding sees it."""

    seq: int
    event_id: str
    at: int  # microseconds: when it happened
    recorded_at: int  # when the memory learned it
    founds: bool  # whether it may found a concept: an assistant's words only confirm what others began
    vector: NDArray[np.int8]  # empty where there is no model
    terms: tuple[str, ...] = ()
    things: frozenset[str] = frozenset()  # those of its telling words that stand as names of things
    names: tuple[str, ...] = ()
    themes: Mapping[str, float] = field(default_factory=dict[str, float])
    cause: str = ""  # the words that it gives as a cause of the rest
    effect: str = ""

    def speaks_of(self, theme: str | None) -> float:
        """Tell how clearly it speaks of a theme of the profile, or of a word that serves as one; 0 to 1."""
        if theme is None:
            return 0.0
        if theme.startswith(WORD):
            return WORD_SAYS if theme[len(WORD) :] in self.terms else 0.0
        return min(1.0, self.themes.get(theme, 0.0))

    def as_json(self) -> Json:
        """Write what can't be read from the log without reading the text again."""
        return {
            "id": self.event_id,
            "recorded": self.recorded_at,
            "founds": self.founds,
            "terms": self.terms,
            "things": sorted(self.things),
            "names": self.names,
            "themes": dict(self.themes),
        }


def moment_of(event: Event, seq: int, vector: NDArray[np.int8] | None, profile: Profile) -> Moment | None:
    """Read an event for folding; None where it says nothing that folds."""
    role = (event.role or "").lower()
    if event.record is not None or role in SILENT or states_nothing(event):
        return None
    text = event.text[:MOST_READ]
    terms, names = words_of(text)
    themes = profile.read(text)
    if not terms and not themes:
        return None
    cause, effect = causal(text)
    return Moment(
        seq=seq,
        event_id=event.id,
        at=to_micros(event.at)[0],
        recorded_at=to_micros(event.recorded_at)[0],
        founds=role not in ASSISTANTS,
        vector=_bounded(vector),
        terms=terms,
        things=things_of(text).intersection(terms),
        names=names,
        themes=themes,
        cause=cause,
        effect=effect,
    )


def bare_moment(event: Event, seq: int, vector: NDArray[np.int8] | None) -> Moment:
    """Take an event as it is, with nothing read from it: somebody may put even a silent one into a concept."""
    return Moment(
        seq=seq,
        event_id=event.id,
        at=to_micros(event.at)[0],
        recorded_at=to_micros(event.recorded_at)[0],
        founds=False,
        vector=_bounded(vector),
    )


def stored_moment(seq: int, at: int, vector: bytes, body: Mapping[str, Json]) -> Moment:
    """Read back what `as_json` wrote."""
    return Moment(
        seq=seq,
        event_id=body["id"],
        at=at,
        recorded_at=body["recorded"],
        founds=body["founds"],
        vector=np.frombuffer(vector, np.int8),
        terms=tuple(body["terms"]),
        things=frozenset(body.get("things", body["terms"])),  # older versions did not tell
        names=tuple(body["names"]),
        themes=body["themes"],
    )


def words_of(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Give the telling words of a text as stems, and the names in it."""
    terms: dict[str, None] = {}
    names: dict[str, None] = {}
    named, title = -2, title_end(text)
    for match in _words(text).finditer(text):
        written = match[0]
        term = _term(written) if len(written) <= _LONGEST_WRITTEN else ""
        if not term:
            continue
        if written[0].isupper() and match.start() >= title and not _begins_sentence(text, match.start()):
            names[_POSSESSIVE.sub("", written)] = None
            named = match.end()
        elif match.start() == named + 1 and text[named] == " ":
            continue  # the rest of a name: "the Nimbus router"
        else:
            terms[term] = None
    return tuple(terms)[:MOST_TERMS], tuple(names)[:MOST_NAMES]


def is_telling(word: str) -> bool:
    """Tell whether a word says anything of what a text is about."""
    return bool(_term(word))


@lru_cache(maxsize=_VOCABULARY)
def _term(written: str) -> str:
    """Give a word's stem; nothing where it tells nothing."""
    lower = _POSSESSIVE.sub("", written).lower().replace("’", "'")
    telling = SHORTEST_TERM <= len(lower) <= LONGEST_TERM and lower not in _LEFT_OUT
    if not telling or "'" in lower or _ADVERB.fullmatch(lower) or _ORDINAL.fullmatch(lower):
        return ""
    return stem(lower)


def causal(text: str) -> tuple[str, str]:
    """Split a sentence at a word that gives a cause: (cause, effect); empty where there is none."""
    for match in islice(_LINKING.finditer(text), _MOST_LINKS):
        before = _SENTENCE_BREAK.split(text[: match.start()])[-1].strip(_LOOSE)
        after = _SENTENCE_BREAK.split(text[match.end() :], maxsplit=1)[0].strip(_LOOSE)
        cause, effect = _sides(match[0].lower().strip(_LOOSE), before, after)
        if cause and effect:
            return cause, effect
    return "", ""


def _sides(word: str, before: str, after: str) -> tuple[str, str]:
    if word in _FORWARD:
        return before, after
    if before:
        return ("", "") if word in _ONLY_FIRST else (after, before)
    # At the beginning of a sentence the cause ends at a comma: "Because it rained, we stayed."
    cause, comma, effect = after.partition(",")
    return (cause.strip(_LOOSE), effect.strip(_LOOSE)) if comma else ("", "")


_LEFT_OUT = STOPWORDS | COMMON_WORDS | _MEASURES | _DEEDS | _TALK | _JOINING
_LOOSE = " ,;:."
_SENTENCE_BREAK = re.compile(r"[.!?]+\s+|\n")
_FORWARD = frozenset(
    ("led to", "caused", "resulted in", "is why", "was why", "so", "therefore", "hence", "as a result")
)
_ONLY_FIRST = frozenset(("after", "as", "with", "following", "from"))  # "from" amid a sentence gives no cause
_LINKING = re.compile(
    r"\b(?:led to|caused(?! by)|resulted in|is why|was why|because of|because|due to|owing to|thanks to|caused by"
    r"|as a result of)\b|(?:, | ; ?|; )(?:so|therefore|hence|as a result|since)\b"
    r"|(?:\A|(?<=[.!?] ))(?:after|since|as|with|following|from)\b",
    re.IGNORECASE,
)


def _begins_sentence(text: str, start: int) -> bool:
    while start and text[start - 1] == " ":
        start -= 1
    return not start or text[start - 1] in _SENTENCE_END


def _bounded(vector: NDArray[np.int8] | None) -> NDArray[np.int8]:
    return np.zeros(0, np.int8) if vector is None else vector[:MOST_DIMENSIONS]
