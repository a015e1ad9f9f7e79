"""The temporal graph: entities and their names, and facts with the time in which each is true."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from types import MappingProxyType

from msgspec import Struct, field

from everyword.lazy_patterns import lazy_pattern
from everyword.types.events import DEFAULT_SPACE, Span, fingerprint

ENTITY_PREFIX = "en_"
FACT_PREFIX = "fa_"


class EntityType(StrEnum):
    """The type of an entity."""

    PERSON = "person"
    ORGANISATION = "organisation"
    PROJECT = "project"
    PLACE = "place"
    THING = "thing"  # a product, a work, a pet: something with a name of its own
    TOPIC = "topic"


class Mention(Struct, frozen=True, kw_only=True):
    """Words of an event that name an entity."""

    span: Span
    text: str  # verbatim
    type: EntityType
    score: float  # 0 to 1: confidence in the type


class Entity(Struct, frozen=True, kw_only=True):
    """A named person or thing with all its names."""

    id: str
    name: str
    type: EntityType
    space: str = DEFAULT_SPACE
    aliases: tuple[str, ...] = ()  # without the name itself
    events: int = 0  # number of events that mention it or are said by it
    first_at: datetime | None = None  # when it was first and last mentioned
    last_at: datetime | None = None


class KnownName(Struct, frozen=True, kw_only=True):
    """What is known about one name: its spellings, and votes for its type."""

    key: str  # the folded name
    written: Mapping[str, int] = field(default_factory=dict[str, int])  # spelling -> how often
    votes: Mapping[str, int] = field(default_factory=dict[str, int])  # type -> hundredths of a mention
    speaks: bool = False  # a speaker has this name


class Relation(Struct, frozen=True, kw_only=True):
    """A kind of fact."""

    name: str
    single: bool = False  # one object at a time: one home, one spouse
    symmetric: bool = False  # true in both directions
    object: EntityType | None = None  # None where the object is words, not an entity
    lasts: bool = True  # False for something that happened at a time


def _vocabulary(*relations: Relation) -> Mapping[str, Relation]:
    return MappingProxyType({relation.name: relation for relation in relations})


_PERSON, _PLACE, _ORGANISATION = EntityType.PERSON, EntityType.PLACE, EntityType.ORGANISATION
RELATIONS: Mapping[str, Relation] = _vocabulary(
    Relation(name="lives_in", single=True, object=_PLACE),
    Relation(name="comes_from", object=_PLACE),
    Relation(name="born_in", single=True, object=_PLACE),
    Relation(name="born_on", single=True),
    Relation(name="located_in", object=_PLACE),
    Relation(name="visited", object=_PLACE, lasts=False),
    Relation(name="works_at", single=True, object=_ORGANISATION),
    Relation(name="has_role", single=True),
    Relation(name="works_on", object=EntityType.PROJECT),
    Relation(name="leads", object=EntityType.PROJECT),
    Relation(name="founded", object=_ORGANISATION, lasts=False),
    Relation(name="member_of", object=_ORGANISATION),
    Relation(name="studies_at", single=True, object=_ORGANISATION),
    Relation(name="studies"),
    Relation(name="speaks"),
    Relation(name="married_to", single=True, symmetric=True, object=_PERSON),
    Relation(name="partner_of", single=True, symmetric=True, object=_PERSON),
    Relation(name="parent_of", object=_PERSON),
    Relation(name="sibling_of", symmetric=True, object=_PERSON),
    Relation(name="relative_of", symmetric=True, object=_PERSON),
    Relation(name="friend_of", symmetric=True, object=_PERSON),
    Relation(name="colleague_of", symmetric=True, object=_PERSON),
    Relation(name="knows", symmetric=True, object=_PERSON),  # a landlord, a dentist, a coach
    Relation(name="reports_to", single=True, object=_PERSON),
    Relation(name="owns_pet", object=EntityType.THING),
    Relation(name="owns"),
    Relation(name="uses"),
    Relation(name="likes"),
    Relation(name="dislikes"),
    Relation(name="allergic_to"),
    Relation(name="does"),  # a habit, a hobby, something under way
    Relation(name="age", single=True),
    Relation(name="diet", single=True),
    Relation(name="budget", single=True),
    Relation(name="rent", single=True),
    Relation(name="salary", single=True),
    Relation(name="deadline", single=True),
    Relation(name="version", single=True),
    Relation(name="decided", lasts=False),
    Relation(name="did", lasts=False),
)


class FactDraft(Struct, frozen=True, kw_only=True):
    """A claim of one event, with its quote.

    `valid_from` is the stated beginning; None where none is stated. `begun_by` is when it had certainly begun: "moved
    in March", said in April, began on the first of March and had begun by the first of April. `holds_at` is a moment
    at which the claim is true; None in "I moved there in 2019" and "I used to". `valid_to` is the stated end.
    """

    subject: str  # id of an entity
    subject_name: str
    relation: str
    object: str  # id of an entity, or the folded words where the object is no entity
    object_name: str
    event_id: str
    span: Span
    quote: str  # verbatim
    said_at: datetime  # when its event happened
    recorded_at: datetime  # when the memory learned it
    confidence: float  # 0 to 1
    valid_from: datetime | None = None
    begun_by: datetime | None = None
    holds_at: datetime | None = None
    valid_to: datetime | None = None  # exclusive
    ended_by: datetime | None = None  # when it had certainly ended: "left in March" had ended by the first of April
    # Ids of the names as said: whom "Mike" means can change when another Mike appears, the words can't.
    subject_form: str = ""
    object_form: str = ""  # empty where the object is no entity
    extractor: str = ""
    source: str = "user"  # of its event; a less trusted source does not end a more trusted claim
    voids: str = ""  # the `place` of a claim that a person retracted; it claims nothing itself

    @property
    def place(self) -> str:
        return f"{self.event_id}:{self.span.start}-{self.span.end}"


class Fact(Struct, frozen=True, kw_only=True):
    """Subject, relation and object in a window of time, with the claims that say so; open while `valid_to` is None."""

    id: str
    subject: str
    subject_name: str
    relation: str
    object: str
    object_name: str
    valid_from: datetime | None
    valid_to: datetime | None
    said_at: datetime  # when it was first said
    confidence: float
    sources: tuple[FactDraft, ...]
    conflicts: bool = False  # another fact contradicts it for the same time, and neither is later

    @property
    def recorded_at(self) -> datetime:
        """Return when the memory learned it. A claim that only ends it may be older."""
        saying = [source for source in self.sources if source.object == self.object]
        return min(source.recorded_at for source in saying or self.sources)

    @property
    def object_id(self) -> str | None:
        """Return the object's id where the object is an entity."""
        return self.object if self.object.startswith(ENTITY_PREFIX) else None

    @property
    def open(self) -> bool:
        return self.valid_to is None


class EntityEdit(Struct, frozen=True, kw_only=True):
    """A merge or split by hand."""

    number: int
    at: datetime
    kind: str  # "merge" or "split"
    what: str
    undone: bool


def entity_id(space: str, name: str) -> str:
    """Derive an entity's id from its space and folded name."""
    return ENTITY_PREFIX + fingerprint("entity", space, name_key(name)).hex()


def fact_id(subject: str, relation: str, object: str, valid_from: datetime | None) -> str:
    """Derive a fact's id from its content and beginning."""
    began = valid_from.isoformat() if valid_from else None
    return FACT_PREFIX + fingerprint("fact", subject, relation, object, began).hex()


TITLES = frozenset("mr mrs ms miss mx dr prof professor sir madam rev father sister captain judge sensei".split())
_COMPANY = lazy_pattern(r"(?<=\w),? (?:inc|ltd|llc|gmbh|corp|ag|plc|sa|co|bv|oy|ab|srl|spa|pty)$")
_LATIN_AND_NEAR = 0x0530  # Latin, Greek, Cyrillic: beyond them a combining mark makes another letter
_NO_DECOMPOSITION = str.maketrans({"ø": "o", "đ": "d", "ł": "l", "ħ": "h", "ı": "i", "æ": "ae", "œ": "oe"})
_NAME_NOISE = lazy_pattern(r"[^\w&+#'./-]+|(?<=\w)[.'](?=\s|$)")
_CACHED_NAMES = 1 << 14  # the same few thousand names come again and again
LONGEST_NAME = 120  # characters
_MOST_FOLDS = 8  # "Foo Inc Ltd" takes three


@lru_cache(maxsize=_CACHED_NAMES)
def name_key(name: str) -> str:
    """Fold a name so that its spellings agree: case, accents, white space, possessives, a title before a full name.

    Folding a key again gives the same key, since ids are made from names and from keys.
    """
    key = _folded_name(name)
    for _ in range(_MOST_FOLDS):
        if (again := _folded_name(key)) == key:
            break
        key = again
    return key


def _folded_name(name: str) -> str:
    # Cut again after folding, which can make a name longer: "ß" becomes "ss".
    plain = folded(name[:LONGEST_NAME].replace("’", "'"))[:LONGEST_NAME]
    words = _NAME_NOISE.sub(" ", plain).split()
    if words and words[-1].endswith("'s"):
        words[-1] = words[-1][:-2]
    if len(words) > 1 and words[0] == "the":
        del words[0]
    # "Dr Elena Alvarez" is Elena Alvarez; Mr Banks and Mrs Banks are two.
    if len(words) > 2 and words[0].rstrip(".") in TITLES:
        del words[0]
    return _COMPANY.sub("", " ".join(word for word in words if word)) or plain.strip()


def folded(text: str) -> str:
    """Fold case and accents."""
    text = unicodedata.normalize("NFKC", text).casefold()
    if text.isascii():
        return text
    letters: list[str] = []
    for char in unicodedata.normalize("NFKD", text):
        if unicodedata.combining(char) and letters and ord(letters[-1]) < _LATIN_AND_NEAR:
            continue
        letters.append(char)
    return unicodedata.normalize("NFC", "".join(letters)).translate(_NO_DECOMPOSITION)


class MapNode(Struct, frozen=True, kw_only=True):
    """A concept, entity or intent on the map."""

    id: str
    kind: str  # concept, entity or intent
    label: str
    description: str
    strength: float  # 0 to 1: by number of events
    weight: float  # 0 to 1: after decay
    events: int
    first_at: datetime
    last_at: datetime
    quotes: tuple[str, ...] = ()  # verbatim


class MapEdge(Struct, frozen=True, kw_only=True):
    """An edge of the map."""

    source: str
    target: str
    kind: str
    weight: float  # 0 to 1


class Map(Struct, frozen=True, kw_only=True):
    """The strongest concepts, entities and intents, with the edges between them."""

    nodes: tuple[MapNode, ...]
    edges: tuple[MapEdge, ...]
