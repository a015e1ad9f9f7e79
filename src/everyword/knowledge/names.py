"""The names of a space and whom each belongs to: exact, nicknames, initials, first names.

What a name belongs to follows from the set of names alone, never from the order in which they came: a log that is read
again gives the same entities. Two that could be meant stay two.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from everyword.errors import InvalidInput, NotFound, OutOfDate
from everyword.storage.protocol import Reader
from everyword.storage.rows import Edit, NameRow
from everyword.types.events import DEFAULT_SPACE
from everyword.types.graph import (
    ENTITY_PREFIX,
    TITLES,
    Entity,
    EntityType,
    Fact,
    KnownName,
    Mention,
    entity_id,
    name_key,
)
from everyword.types.times import from_micros

SPEAKER_VOTE = 500  # hundredths: who speaks is a person, whatever a few sentences look like
_MOST_PINS = 8  # followed one after another at most: more is a circle


class _Name(Struct):
    written: Counter[str] = field(default_factory=Counter[str])
    votes: Counter[EntityType] = field(default_factory=Counter[EntityType])  # in hundredths of a mention
    speaks: bool = False

    @property
    def type(self) -> EntityType:
        return min(self.votes, key=lambda type: (-self.votes[type], type.value), default=EntityType.THING)


class NameIndex:
    """The names of one space, in memory. Not for several threads at once."""

    def __init__(self, space: str = DEFAULT_SPACE, *, pins: Mapping[str, str] | None = None) -> None:
        self.space = space
        self.pins: Mapping[str, str] = dict(pins or {})
        self._names: dict[str, _Name] = {}
        self._keys: dict[str, str] = {}  # id of a name -> its key
        self._firsts: dict[str, set[str]] = {}  # formal given name -> full names
        self._lasts: dict[str, set[str]] = {}
        self._initials: dict[str, set[str]] = {}

    # What is known

    def learn(self, mentions: Iterable[Mention], speaker: str | None = None) -> dict[str, str]:
        """Take in the names of an event; give the ids of known names that now belong elsewhere, and where."""
        touched: dict[str, str | None] = {}
        if speaker:
            self._note(speaker, EntityType.PERSON, SPEAKER_VOTE, touched, speaks=True)
        for mention in mentions:
            self._note(mention.text, mention.type, round(mention.score * 100), touched)
        moved = {key: self.home(key) for key in touched}
        return {
            self._id(key): self._id(home) for key, home in sorted(moved.items()) if touched[key] not in (None, home)
        }

    def known(self, key: str) -> KnownName:
        """Give all that was learned of a name, as `restore` takes it."""
        name = self._names[key]
        return KnownName(
            key=key,
            written=dict(sorted(name.written.items())),
            votes={type.value: votes for type, votes in sorted(name.votes.items())},
            speaks=name.speaks,
        )

    def restore(self, known: KnownName) -> None:
        """Take in a name as `known` gave it, in place of what was learned of it here."""
        name = self._names[known.key] = _Name(speaks=known.speaks)
        name.written.update(known.written)
        name.votes.update({EntityType(type): votes for type, votes in known.votes.items()})
        self._keys[self._id(known.key)] = known.key
        self._place(known.key, name.type)

    # Whom a name means

    def form_of(self, mention: Mention) -> str:
        """Give the id of the name itself, whatever it means."""
        return self._id(mention.text)

    def homes(self) -> dict[str, str]:
        """Map the id of every name to the id of the entity that it belongs to."""
        return {id: self._id(self.home(key)) for id, key in self._keys.items()}

    def home_of(self, id: str) -> str:
        """Give the id of the entity that a known name belongs to."""
        return self._id(self.home(self._keys[id]))

    def home(self, key: str) -> str:
        """Give the name that a name belongs to."""
        pinned = self._pinned(key)
        if pinned is not None:
            return pinned
        name = self._names.get(key)
        return key if name is None else self._elsewhere(key, name.type)

    def _elsewhere(self, key: str, type: EntityType) -> str:
        """Look for a fuller name that a name stands for."""
        if "'s " in key:
            return key  # "Ana's sister" is nobody's short name
        words = key.split()
        if type is not EntityType.PERSON:
            return self._by_initials(key)
        if len(words) == 1:
            formal = {other for other in given_forms(key) if is_short(key) and other in self._names and other != key}
            full = {name for form in given_forms(key) for name in self._firsts.get(form, ())}
            candidates = full or formal
            return self._chosen(key, candidates) if candidates else self._by_initials(key)
        if words[0].rstrip(".") in TITLES and len(words) == 2:
            return self._chosen(key, self._lasts.get(words[-1], set()))
        return self._fuller(key, words)

    def _fuller(self, key: str, words: list[str]) -> str:
        """Complete a short first name, an initial, or a middle name that is left out."""
        first, last = words[0].rstrip("."), words[-1]
        others = self._lasts.get(last, set()) - {key}
        if len(first) == 1:
            matching = {other for other in others if other[0] == first and len(other.split()[0].rstrip(".")) > 1}
            return self._chosen(key, matching)
        if is_short(first):
            forms = given_forms(first)
            formal = {other for other in others if other.split()[0] in forms}
            if formal:
                return self._chosen(key, formal)
        if len(words) == 2:
            longer = {other for other in others if other.split()[0] == first and len(other.split()) > 2}
            return self._chosen(key, longer)
        return key

    def _by_initials(self, key: str) -> str:
        return self._chosen(key, self._initials.get(key.replace(".", ""), set()))

    def _chosen(self, key: str, candidates: set[str]) -> str:
        """Give the one name that is meant; where it could be several, the name itself."""
        homes = {self._settle(other) for other in candidates if other != key}
        if key in self._names and self._names[key].speaks and any(self._names[home].speaks for home in homes):
            return key  # two who speak are two
        return homes.pop() if len(homes) == 1 else key

    def _settle(self, key: str) -> str:
        """Follow a fuller name one step further: a full name leads to no more than another full name."""
        pinned = self._pinned(key)
        if pinned is not None:
            return pinned
        name = self._names[key]
        words = key.split()
        if name.speaks or len(words) < 2 or (words[0].rstrip(".") in TITLES and len(words) == 2):
            return key
        home = self._fuller(key, words) if name.type is EntityType.PERSON else key
        return home if len(home.split()) >= len(words) else key

    def _pinned(self, key: str) -> str | None:
        id, target = self._id(key), None
        for _ in range(_MOST_PINS):
            following = self.pins.get(id)
            if following is None or following == id:
                return self._keys.get(id, key) if following is not None or target is not None else None
            id = target = following
        return self._keys.get(id, key)

    # Keeping

    def _note(
        self, shown: str, type: EntityType, votes: int, touched: dict[str, str | None], *, speaks: bool = False
    ) -> None:
        key = name_key(shown)
        if not key:
            return
        name = self._names.get(key)
        before = (name.type, name.speaks) if name else None
        if before != (type, speaks or (name is not None and name.speaks)):  # else nothing can move
            for other in self._dependent(self._affected(key)):
                touched.setdefault(other, self.home(other) if other in self._names else None)
        if name is None:
            name = self._names[key] = _Name()
            self._keys[self._id(key)] = key
        name.votes[type] += votes
        name.written[shown] += 1
        name.speaks = name.speaks or speaks
        self._place(key, name.type)

    def _place(self, key: str, type: EntityType) -> None:
        words = key.split()
        titled = words[0].rstrip(".") in TITLES
        if len(words) < 2 or (titled and len(words) == 2) or "'s" in key:
            return
        person = type is EntityType.PERSON
        initials = "".join(word[0] for word in words if word not in ("of", "the", "and", "de"))
        self._initials.setdefault(initials, set()).add(key)
        given = words[0].rstrip(".")
        for form in given_forms(given):
            self._keep(self._firsts, form, key, person and len(given) > 1)
        self._keep(self._lasts, words[-1], key, person)

    @staticmethod
    def _keep(index: dict[str, set[str]], at: str, key: str, belongs: bool) -> None:
        if belongs:
            index.setdefault(at, set()).add(key)
        elif at in index:
            index[at].discard(key)

    def _affected(self, key: str) -> set[str]:
        """List names whose home may change when this one comes or becomes of another type."""
        words = key.split()
        forms = given_forms(words[0])
        shorts = {short for form in forms for short in _SHORTS.get(form, ())} | forms | {words[0]}
        initials = "".join(word[0] for word in words)
        affected = {key, initials, *shorts, *(f"{title} {words[-1]}" for title in TITLES)}
        affected |= {other for other in self._lasts.get(words[-1], ()) if _may_be_one(words[0], other.split()[0])}
        return {other for other in affected if other in self._names} | {key}

    def _dependent(self, changing: set[str]) -> set[str]:
        """Add the names that were pinned to a name."""
        if not self.pins or {self._id(key) for key in changing}.isdisjoint(self.pins.values()):
            return changing
        return changing | {self._keys[id] for id in self.pins if id in self._keys}

    def _id(self, name: str) -> str:
        return entity_id(self.space, name)


def _may_be_one(given: str, other: str) -> bool:
    """Tell whether two first names, or initials, can be one person's."""
    one, two = given.rstrip("."), other.rstrip(".")
    if len(one) == 1 or len(two) == 1:
        return one[:1] == two[:1]
    return one == two or not given_forms(one).isdisjoint(given_forms(two))


def given_forms(name: str) -> frozenset[str]:
    """Give the formal names that a given name, folded, can stand for; itself if there is none."""
    return _FORMAL.get(name) or frozenset((name,))


def is_short(name: str) -> bool:
    """Tell whether a given name is a short form of others."""
    return name in _FORMAL and name not in _FORMAL[name]


def _forms() -> tuple[dict[str, frozenset[str]], dict[str, frozenset[str]]]:
    """Map each given name to the formal names that it can stand for, and each formal name to all of its forms.

    A short form of two names (Sam, Alex) stands for either.
    """
    formal: dict[str, set[str]] = {}
    shorts: dict[str, frozenset[str]] = {}
    for entry in Path(__file__).with_name("given_names.txt").read_text(encoding="utf-8").splitlines():
        name, _, short = entry.partition(":")
        shorts[name] = frozenset((name, *short.split()))
        for form in shorts[name]:
            formal.setdefault(form, set()).add(name)
    return {form: frozenset(names) for form, names in formal.items()}, shorts


_FORMAL, _SHORTS = _forms()


# Entities, read from their names, and their merges and splits by hand


def find_entity(reader: Reader, name: str) -> str:
    """Find the entity that a name or id means; return its id."""
    ids, keys = ((name,), ()) if name.startswith(ENTITY_PREFIX) else ((), (name_key(name),))
    rows = reader.names_of(ids=ids, keys=keys)
    if not rows:
        raise NotFound(f"Unknown entity {name!r}.", fix="`entities` lists the known names.")
    return rows[0].home


def read_entities(reader: Reader, homes: Sequence[str]) -> list[Entity]:
    """Read entities by id, in the given order; skip unknown ids."""
    by_home: dict[str, list[NameRow]] = {}
    for row in reader.names_of(homes=homes):
        by_home.setdefault(row.home, []).append(row)
    return [_entity(reader.space, home, by_home[home]) for home in dict.fromkeys(homes) if home in by_home]


def with_names(reader: Reader, facts: Sequence[Fact]) -> list[Fact]:
    """Put the current names of subjects and objects into facts."""
    ids = {id for fact in facts for id in (fact.subject, fact.object) if id.startswith(ENTITY_PREFIX)}
    names = {entity.id: entity.name for entity in read_entities(reader, sorted(ids))}
    return [
        replace(
            fact,
            subject_name=names.get(fact.subject, fact.subject_name),
            object_name=names.get(fact.object, fact.object_name),
        )
        for fact in facts
    ]


def describe_edit(reader: Reader, edit: Edit) -> str:
    """Describe a merge or split in words; an entity without a name is shown as "?"."""
    ids = sorted({*edit.pins, *edit.pins.values()})
    names = {row.id: _shown(row) for row in reader.names_of(ids=ids)}
    by_target: dict[str, list[str]] = {}
    for name, target in edit.pins.items():
        if name != target:
            by_target.setdefault(names.get(target, "?"), []).append(names.get(name, "?"))
    if edit.kind == "merge":
        return "; ".join(f"{', '.join(sorted(own))} is {target}" for target, own in sorted(by_target.items()))
    targets = sorted({names.get(target, "?") for target in edit.pins.values()})
    return f"{' and '.join(targets)} are two"


def in_window(fact: Fact, since: datetime | None, until: datetime | None) -> bool:
    """Tell whether a fact held or happened in a window that excludes `until`."""
    if until is not None and fact.valid_from is not None and fact.valid_from >= until:
        return False
    if since is None or fact.valid_to is None or fact.valid_to > since:
        return True
    return fact.valid_from == fact.valid_to == since


def _entity(space: str, home: str, rows: Sequence[NameRow]) -> Entity:
    votes: Counter[str] = Counter()
    for row in rows:
        votes.update(row.known.votes)
    own = next((row for row in rows if row.id == home), rows[0])
    name = _shown(own)
    spellings = {text for row in rows for text in row.known.written}
    return Entity(
        id=home,
        name=name,
        type=EntityType(min(votes, key=lambda type: (-votes[type], type))),
        space=space,
        aliases=tuple(sorted(spellings - {name})),
        events=sum(row.events for row in rows),
        first_at=from_micros(min(row.first_at for row in rows)),
        last_at=from_micros(max(row.last_at for row in rows)),
    )


def _shown(row: NameRow) -> str:
    written = row.known.written
    return min(written, key=lambda text: (-written[text], text.isupper(), text), default=row.known.key)


def merging_pins(gone: Entity, into: Entity) -> dict[str, str]:
    """Make two entities one: pin every name of the first to the second."""
    if gone.id == into.id:
        raise OutOfDate(f"{gone.name} and {into.name} are one already.")
    if gone.space != into.space:
        raise InvalidInput("Entities of two spaces can't be merged; nothing crosses a space.")
    return dict.fromkeys((gone.id, *_name_ids(gone)), into.id)


def splitting_pins(entity: Entity, names: Iterable[str]) -> dict[str, str]:
    """Give some names of an entity to an entity of their own, which goes by the first of them."""
    chosen = list(dict.fromkeys(names))
    own = _name_ids(entity)
    ids = [entity_id(entity.space, name) for name in chosen]
    unknown = [name for name, id in zip(chosen, ids, strict=True) if id not in own]
    if not chosen or unknown:
        raise OutOfDate(f"{entity.name} does not go by {', '.join(unknown) or 'no name'}; name some of its aliases.")
    if len(set(ids)) == len(own):
        raise OutOfDate(f"These are all names of {entity.name}; keep one of them.")
    left = [id for id in own if id not in ids]
    # What stays is pinned too, so that no rule brings the two together again by another way.
    stays = entity.id if entity.id in left else left[0]
    return {**dict.fromkeys(left, stays), **dict.fromkeys(ids, ids[0])}


def _name_ids(entity: Entity) -> list[str]:
    return list(dict.fromkeys(entity_id(entity.space, name) for name in (entity.name, *entity.aliases)))
