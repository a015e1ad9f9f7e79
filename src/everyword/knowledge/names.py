"""The names of a space and whom each belongs to: exact, nicknames, initials, first names, "my sister".

What a name belongs to follows from the set of names alone, never from the order in which they came: a log that is read
again gives the same entities. Two that could be meant stay two.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from everyword.knowledge.entity_merging import Pins
from everyword.knowledge.nicknames import WITH_SHORT_FORMS, given_forms, is_short
from everyword.types.events import DEFAULT_SPACE, Span
from everyword.types.graph import TITLES, Entity, EntityType, KnownName, Mention, entity_id, name_key

# How sure each way is, as the share of cases in which a reader would take the two for one.
EXACT = 1.0
FULLER = 0.9  # "Ana Silva" for "Ana Maria Silva"
BY_KIN = 0.9  # "my sister", once her name was said
BY_TITLE = 0.85  # "Dr Alvarez" for "Elena Alvarez"
FIRST_NAME = 0.8  # "Ana" for the only Ana with a full name
NICKNAME = 0.8
INITIALS = 0.7
AMBIGUOUS = 0.5  # it is somebody, but which of several is not said
TRUSTED = 85  # hundredths: a name that was only ever guessed at must not make the next guess sure
SPEAKER_VOTE = 500  # hundredths: who speaks is a person, whatever a few sentences look like
_MOST_PINS = 8  # followed one after another at most: more is a circle


def kin_of(word: str) -> str:
    """Fold the word for a relation."""
    return word.casefold()


def kin_name(owner: str, kin: str) -> str:
    """Name somebody by whose relation they are: "Ana's sister"."""
    return f"{owner}'s {kin}"


class Resolution(NamedTuple):
    """Whom a mention means, how sure, and why; None if the name is new or could be several."""

    entity_id: str | None
    score: float
    why: str


@dataclass(slots=True)
class _Name:
    key: str
    written: Counter[str] = field(default_factory=Counter[str])
    votes: Counter[EntityType] = field(default_factory=Counter[EntityType])  # in hundredths of a mention
    surest: int = 0  # hundredths: the surest of its mentions
    speaks: bool = False

    @property
    def type(self) -> EntityType:
        return min(self.votes, key=lambda type: (-self.votes[type], type.value), default=EntityType.THING)

    @property
    def shown(self) -> str:
        return min(self.written, key=lambda text: (-self.written[text], text.isupper(), text), default=self.key)


class NameIndex:
    """The names of one space, in memory. Not for several threads at once."""

    def __init__(self, space: str = DEFAULT_SPACE, *, pins: Pins | None = None) -> None:
        self.space = space
        self.pins: Mapping[str, str] = dict(pins or {})
        self._names: dict[str, _Name] = {}
        self._keys: dict[str, str] = {}  # id of a name -> its key
        self._firsts: dict[str, set[str]] = {}  # formal given name -> full names
        self._lasts: dict[str, set[str]] = {}
        self._initials: dict[str, set[str]] = {}
        self._kin: dict[tuple[str, str], set[str]] = {}  # (key of the owner, kin) -> keys of names
        self._bares: set[str] = set()  # names that only say whose relation somebody is: "ana's sister"
        self._uncased: dict[str, set[str]] = {}  # first character -> names in scripts without capitals

    def __len__(self) -> int:
        return len(self._names)

    # What is known

    def learn(self, mentions: Iterable[Mention], speaker: str | None = None) -> dict[str, str]:
        """Take in the names of an event; give the ids of known names that now belong elsewhere, and where."""
        touched: dict[str, str | None] = {}
        if speaker:
            self._note(name_key(speaker), speaker, EntityType.PERSON, SPEAKER_VOTE, touched, speaks=True)
        for mention in mentions:
            key = self.key_of(mention, speaker)
            shown = self.shown_of(mention, speaker)
            self._note(key, shown, mention.type, round(mention.score * 100), touched)
            if mention.kin and not mention.bare and (mention.owner or speaker):
                self._bind(name_key(mention.owner or speaker or ""), mention.kin, key, touched)
        moved = {key: self.home(key)[0] for key in touched}
        return {
            self._id(key): self._id(home) for key, home in sorted(moved.items()) if touched[key] not in (None, home)
        }

    def add(self, entity: Entity) -> None:
        """Take in an entity with all its names."""
        for name in (entity.name, *entity.aliases):
            self._note(name_key(name), name, entity.type, 100, {})
        for owner, kin in entity.kin:
            if owner in self._keys:
                self._bind(self._keys[owner], kin, name_key(entity.name), {})

    def bind(self, owner: str, kin: str, name: str) -> None:
        """Say that somebody's relation goes by a name: Ana's sister is Mia."""
        self._note(name_key(name), name, EntityType.PERSON, 100, {})
        self._bind(name_key(owner), kin_of(kin), name_key(name), {})

    def known(self, key: str) -> KnownName:
        """Give all that was learned of a name, as `restore` takes it."""
        name = self._names[key]
        bound = sorted(owner for owner, names in self._kin.items() if key in names)
        return KnownName(
            key=key,
            written=dict(sorted(name.written.items())),
            votes={type.value: votes for type, votes in sorted(name.votes.items())},
            surest=name.surest,
            speaks=name.speaks,
            kin=tuple(bound),
        )

    def restore(self, known: KnownName) -> None:
        """Take in a name as `known` gave it, in place of what was learned of it here."""
        key = known.key
        name = self._names[key] = _Name(key, surest=known.surest, speaks=known.speaks)
        name.written.update(known.written)
        name.votes.update({EntityType(type): votes for type, votes in known.votes.items()})
        self._keys[self._id(key)] = key
        self._note_bare(key)
        for shown in known.written:
            self._spell(key, shown)
        for owner in known.kin:
            self._kin.setdefault(owner, set()).add(key)
        self._place(key, name.type)

    def type_of(self, key: str) -> EntityType | None:
        """Give the type of what goes by a folded name; None if the name is not known, or not for sure."""
        name = self._names.get(key)
        return name.type if name and (name.speaks or name.surest >= TRUSTED) else None

    def within(self, text: str) -> list[Span]:
        """Find known names in a text whose script has no capitals; the longest at each place."""
        found: list[Span] = []
        place = 0
        while self._uncased and place < len(text):
            names = self._uncased.get(text[place], ())
            longest = max((len(name) for name in names if text.startswith(name, place)), default=0)
            if longest:
                found.append(Span(place, place + longest))
            place += longest or 1
        return found

    # Whom a name means

    def resolve(self, mention: Mention, speaker: str | None = None) -> Resolution:
        """Tell which entity a mention means."""
        key = self.key_of(mention, speaker)
        if key in self._names:
            home, score, why = self.home(key)
            return Resolution(self._id(home), score, why)
        home, score, why = self._elsewhere(key, mention.type)
        if home != key:
            return Resolution(self._id(home), score, why)
        return Resolution(None, 0.0, why if score == AMBIGUOUS else "a new name")

    def id_of(self, mention: Mention, speaker: str | None = None) -> str:
        """Give the id of what a mention means, or the one that it will get."""
        return self.resolve(mention, speaker).entity_id or self._id(self.key_of(mention, speaker))

    def form_of(self, mention: Mention, speaker: str | None = None) -> str:
        """Give the id of the name itself, whatever it means."""
        return self._id(self.key_of(mention, speaker))

    def key_of(self, mention: Mention, speaker: str | None = None) -> str:
        """Fold what a mention is called; a relation without a name is called by whose it is."""
        return name_key(self.shown_of(mention, speaker))

    def entity(self, id: str) -> Entity | None:
        """Give one entity with all its names."""
        key = self._keys.get(id)
        if key is None:
            return None
        home = self.home(key)[0]
        return next((entity for entity in self.entities(self._family(home)) if entity.id == self._id(home)), None)

    def entities(self, keys: Iterable[str] | None = None) -> list[Entity]:
        """List the entities, each with its names, in the order of their ids."""
        groups: dict[str, list[_Name]] = {}
        for key in sorted(self._names if keys is None else keys):
            groups.setdefault(self.home(key)[0], []).append(self._names[key])
        owners: dict[str, set[tuple[str, str]]] = {}
        for (owner, kin), bound in self._kin.items():
            for key in bound:
                owners.setdefault(self.home(key)[0], set()).add((self._id(self.home(owner)[0]), kin))
        made = [self._entity(home, names, owners.get(home, set())) for home, names in groups.items()]
        return sorted(made, key=lambda entity: entity.id)

    def homes(self) -> dict[str, str]:
        """Map the id of every name to the id of the entity that it belongs to."""
        return {id: self._id(self.home(key)[0]) for id, key in self._keys.items()}

    def home_of(self, id: str) -> str:
        """Give the id of the entity that a known name belongs to."""
        return self._id(self.home(self._keys[id])[0])

    def home(self, key: str) -> tuple[str, float, str]:
        """Give the name that a name belongs to, how sure, and why."""
        pinned = self._pinned(key)
        if pinned is not None:
            return pinned, EXACT, "by hand"
        name = self._names.get(key)
        return (key, EXACT, "the same name") if name is None else self._elsewhere(key, name.type)

    def _elsewhere(self, key: str, type: EntityType) -> tuple[str, float, str]:
        """Look for a fuller name that a name stands for."""
        if (owner := self._kin_owner(key)) is not None:
            bound = {self.home(name)[0] for name in self._bound(*owner)}
            return self._chosen(key, bound, BY_KIN, f"named as {key}")
        words = key.split()
        if type is not EntityType.PERSON:
            return self._by_initials(key)
        if len(words) == 1:
            candidates = self._full_names(key)
            if candidates:
                exact = any(other.split()[0] == key for other in candidates)
                return self._chosen(key, candidates, FIRST_NAME if exact else NICKNAME, "the only one of this name")
            formal = {other for other in given_forms(key) if is_short(key) and other in self._names and other != key}
            if formal:
                return self._chosen(key, formal, NICKNAME, "a short form")
            return self._by_initials(key)
        if words[0].rstrip(".") in TITLES and len(words) == 2:
            return self._chosen(key, self._lasts.get(words[-1], set()), BY_TITLE, "the only one of this surname")
        return self._fuller(key, words)

    def _full_names(self, given: str) -> set[str]:
        return {full for formal in given_forms(given) for full in self._firsts.get(formal, ())}

    def _fuller(self, key: str, words: list[str]) -> tuple[str, float, str]:
        """A short first name, an initial, or a middle name that is left out."""
        first, last = words[0].rstrip("."), words[-1]
        others = self._lasts.get(last, set()) - {key}
        if len(first) == 1:
            matching = {other for other in others if other[0] == first and len(other.split()[0].rstrip(".")) > 1}
            return self._chosen(key, matching, INITIALS, "an initial")
        if is_short(first):
            forms = given_forms(first)
            formal = {other for other in others if other.split()[0] in forms}
            if formal:
                return self._chosen(key, formal, NICKNAME, "a short form")
        if len(words) == 2:
            longer = {other for other in others if other.split()[0] == first and len(other.split()) > 2}
            return self._chosen(key, longer, FULLER, "with a middle name")
        return key, EXACT, "the same name"

    def _by_initials(self, key: str) -> tuple[str, float, str]:
        return self._chosen(key, self._initials.get(key.replace(".", ""), set()) - {key}, INITIALS, "its initials")

    def _chosen(self, key: str, candidates: set[str], score: float, why: str) -> tuple[str, float, str]:
        homes = {self._settle(other) for other in candidates if other != key}
        if key in self._names and self._names[key].speaks and any(self._names[home].speaks for home in homes):
            return key, EXACT, "the same name"  # two who speak are two
        if len(homes) == 1:
            return homes.pop(), score, why
        if homes:
            return key, AMBIGUOUS, f"could be any of {len(homes)}"
        return key, EXACT, "the same name"

    def _settle(self, key: str) -> str:
        """Follow a fuller name one step further: a full name leads to no more than another full name."""
        pinned = self._pinned(key)
        if pinned is not None:
            return pinned
        name = self._names[key]
        words = key.split()
        if name.speaks or len(words) < 2 or (words[0].rstrip(".") in TITLES and len(words) == 2):
            return key
        home = self._fuller(key, words)[0] if name.type is EntityType.PERSON else key
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
        self,
        key: str,
        shown: str,
        type: EntityType,
        votes: int,
        touched: dict[str, str | None],
        *,
        speaks: bool = False,
    ) -> None:
        if not key:
            return
        name = self._names.get(key)
        before = (name.type, name.speaks) if name else None
        if before != (type, speaks or (name is not None and name.speaks)):  # else nothing can move
            for other in self._dependent(self._affected(key)):
                touched.setdefault(other, self.home(other)[0] if other in self._names else None)
        if name is None:
            name = self._names[key] = _Name(key)
            self._keys[self._id(key)] = key
            self._note_bare(key)
        self._spell(key, shown)
        name.votes[type] += votes
        name.written[shown] += 1
        name.surest = max(name.surest, votes)
        name.speaks = name.speaks or speaks
        self._place(key, name.type)

    def _note_bare(self, key: str) -> None:
        if self._kin_owner(key) is not None:
            self._bares.add(key)

    def _spell(self, key: str, shown: str) -> None:
        if key[0].isalpha() and key[0].lower() == key[0].upper():
            self._uncased.setdefault(shown[0], set()).add(shown)

    def _place(self, key: str, type: EntityType) -> None:
        words = key.split()
        person = type is EntityType.PERSON and "'s" not in words[0]
        titled = words[0].rstrip(".") in TITLES
        if len(words) < 2 or (titled and len(words) == 2) or "'s" in key:
            return
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
        shorts = {short for form in forms for short in _shorts(form)} | forms | {words[0]}
        initials = "".join(word[0] for word in words)
        affected = {key, initials, *shorts, *(f"{title} {words[-1]}" for title in TITLES)}
        affected |= {other for other in self._lasts.get(words[-1], ()) if _may_be_one(words[0], other.split()[0])}
        return {other for other in affected if other in self._names} | {key}

    def _dependent(self, changing: set[str]) -> set[str]:
        """Add the names that follow others: relations without a name, and what was pinned to a name."""
        following = set(changing)
        for bare in self._bares:
            owner, _, kin = bare.rpartition("'s ")
            around = {owner, self.home(owner)[0], *self._kin.get((owner, kin), ())}
            if not around.isdisjoint(changing):
                following.add(bare)
        if self.pins:
            ids = {self._id(key) for key in changing}
            if not ids.isdisjoint(self.pins.values()):
                following |= {self._keys[id] for id in self.pins if id in self._keys}
        return following

    def _bind(self, owner: str, kin: str, name: str, touched: dict[str, str | None]) -> None:
        bare = name_key(kin_name(owner, kin_of(kin)))
        if bare in self._names:
            touched.setdefault(bare, self.home(bare)[0])
        self._kin.setdefault((owner, kin_of(kin)), set()).add(name)

    def _bound(self, owner: str, kin: str) -> set[str]:
        homes = self._namesakes(self.home(owner)[0]) | {owner}
        return {name for home in homes for name in self._kin.get((home, kin), ()) if name in self._names}

    def _family(self, home: str) -> set[str]:
        """List the names that belong to one entity."""
        return self._namesakes(home) | {bare for bare in self._bares if self.home(bare)[0] == home}

    def _namesakes(self, home: str) -> set[str]:
        """List the names that belong to one entity, less those that only say whose relation it is.

        These lead from one to another: were they looked at here, two sisters would be asked about in a circle.
        """
        near = self._affected(home) | {self._keys[id] for id in self.pins if id in self._keys}
        words = home.split()
        near |= self._lasts.get(words[-1], set()) if words else set()
        return {key for key in near if key in self._names and key not in self._bares and self.home(key)[0] == home}

    def _kin_owner(self, key: str) -> tuple[str, str] | None:
        owner, mark, kin = key.rpartition("'s ")
        return (owner, kin) if mark and owner else None

    @staticmethod
    def shown_of(mention: Mention, speaker: str | None) -> str:
        """Write what a mention is called: a relation without a name, by whose it is."""
        if mention.bare and mention.kin:
            return kin_name(mention.owner or speaker or "Speaker", mention.kin)
        return mention.text

    def _id(self, key: str) -> str:
        return entity_id(self.space, key)

    def _entity(self, home: str, names: list[_Name], kin: set[tuple[str, str]]) -> Entity:
        votes: Counter[EntityType] = Counter()
        for name in names:
            votes.update(name.votes)
        own = self._names.get(home) or names[0]
        best = min(votes, key=lambda type: (-votes[type], type.value))
        aliases = sorted({text for name in names for text in name.written} - {own.shown})
        return Entity(
            id=self._id(home),
            name=own.shown,
            type=best,
            space=self.space,
            aliases=tuple(aliases),
            kin=tuple(sorted(kin)),
        )


def _may_be_one(given: str, other: str) -> bool:
    """Tell whether two first names, or initials, can be one person's."""
    one, two = given.rstrip("."), other.rstrip(".")
    if len(one) == 1 or len(two) == 1:
        return one[:1] == two[:1]
    return one == two or not given_forms(one).isdisjoint(given_forms(two))


def _shorts(formal: str) -> frozenset[str]:
    return _SHORTS.get(formal, frozenset())


def _short_forms() -> dict[str, frozenset[str]]:
    shorts: dict[str, set[str]] = {}
    for name in WITH_SHORT_FORMS:
        for formal in given_forms(name):
            shorts.setdefault(formal, set()).add(name)
    return {formal: frozenset(names) for formal, names in shorts.items()}


_SHORTS = _short_forms()
