"""What a run of capitals names, judged by the lists, by its own words, and by the words around it."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from everyword.knowledge.legacy.extract.entities import lexicon
from everyword.knowledge.legacy.extract.entities.gazetteer import (
    BRAND_VERBS,
    GIVEN_NAMES,
    NAME_WORDS,
    ORGANISATIONS,
    PLACES,
    PRODUCTS,
    WORDY,
)
from everyword.knowledge.legacy.extract.entities.tokens import Run, Word
from everyword.knowledge.legacy.extract.rules.verbs import form_of
from everyword.types.graph import EntityType

# How sure each kind of evidence is, as the share of its finds that a reader would agree with.
CERTAIN = 0.97  # a title, a relation, a company's ending
LISTED = 0.9  # a name that is known everywhere
SHOWN = 0.85  # the words around it have one common meaning
HINTED = 0.7  # they have a likely one
WEAK = 0.6
MOST_HUMPS = 3  # capitals inside a word: PostgreSQL has three
MOST_WORDS_TOGETHER = 2  # GitHub has two; three are an identifier
_PERSON, _PLACE, _ORGANISATION = EntityType.PERSON, EntityType.PLACE, EntityType.ORGANISATION
_THING, _PROJECT = EntityType.THING, EntityType.PROJECT


class Verdict(NamedTuple):
    """What a name is of, how sure, and why."""

    type: EntityType
    score: float
    why: str


class Scene(NamedTuple):
    """A run and the words around it, in small letters; "" where there is none or a mark stands between."""

    words: list[Word]  # of the run
    key: str  # of the run as a whole
    before: str
    before2: str
    before3: str
    after: str
    after2: str
    initial: bool
    comma_before: bool
    at_end: bool


def scene_of(text: str, words: list[Word], run: Run) -> Scene:
    """Look around a run."""
    own = words[run.first : run.last + 1]
    before = _near(text, words, run.first, -1)
    before2 = _near(text, words, run.first - 1, -1) if before else ""
    after = _near(text, words, run.last, 1)
    return Scene(
        words=own,
        key=" ".join(word.key for word in own),
        before=before,
        before2=before2,
        before3=_near(text, words, run.first - 2, -1) if before2 else "",
        after=after,
        after2=_near(text, words, run.last + 1, 1) if after else "",
        initial=own[0].initial,
        comma_before=text[max(0, own[0].start - 2) : own[0].start] == ", ",
        at_end=run.last == len(words) - 1,
    )


def judge(scene: Scene) -> Verdict | None:
    """Tell what a run names; None where nothing shows that it is a name."""
    if _is_shouted_word(scene) or (len(scene.words) == 1 and _is_brand_verb(scene)):
        return None
    return _by_own_words(scene) or _by_lists(scene) or _by_context(scene)


def is_listed(key: str) -> bool:
    """Tell whether a name is known everywhere, and is no other word."""
    return (key in GIVEN_NAMES or key in PLACES or key in PRODUCTS or key in ORGANISATIONS) and key not in NAME_WORDS


def is_plain(word: Word) -> bool:
    """Tell whether a word with a capital is an ordinary word: one that a sentence begins with."""
    key = word.key
    if is_listed(key) or key in NAME_WORDS:
        return key in lexicon.COMMON_WORDS
    if key in lexicon.COMMON_WORDS or key in lexicon.DETERMINERS or key.endswith(_CONTRACTED):
        return True
    return word.initial and (form_of(key) is not None or key.endswith(("ing", "ly", "ed", "tion", "ness", "n't")))


_CONTRACTED = ("n't", "'ve", "'re", "'ll", "'d", "'m")


def _near(text: str, words: list[Word], index: int, step: int) -> str:
    other = index + step
    if not 0 <= other < len(words) or not 0 <= index < len(words):
        return ""
    left, right = (words[other], words[index]) if step < 0 else (words[index], words[other])
    between = text[left.end : right.start]
    if left.possessive:
        between = between[2:]
    return words[other].key if between.strip(" .") == "" and len(between) <= 3 else ""


def _is_shouted_word(scene: Scene) -> bool:
    word = scene.words[0]
    if len(scene.words) > 1 or not word.text.isupper() or len(word.text) < 2:
        return len(scene.words) > 1 and all(word.text.isupper() and len(word.text) > 1 for word in scene.words)
    if scene.key in ORGANISATIONS or scene.key in PLACES or scene.key in PRODUCTS:
        return False
    acronym = len(word.text) <= lexicon.SHORT_WORDS_SHOUTED
    return not (acronym and (scene.before in lexicon.ORGANISATION_BEFORE or _works_there(scene)))


def _is_brand_verb(scene: Scene) -> bool:
    if scene.key not in BRAND_VERBS:
        return False
    return scene.after in _AFTER_BRAND_VERB or scene.before in _BEFORE_BRAND_VERB


_AFTER_BRAND_VERB = frozenset("me it him her them you us that this everyone call calls".split())
_BEFORE_BRAND_VERB = frozenset("to i'll we'll i we they you can could will just please".split())


def _by_own_words(scene: Scene) -> Verdict | None:
    words = scene.words
    last = words[-1].key
    if words[0].key in lexicon.TITLE_WORDS and len(words) > 1:
        return Verdict(_PERSON, CERTAIN, f'"{words[0].text}" stands before it')
    if scene.before in lexicon.PROJECT_BEFORE or (words[0].key in lexicon.PROJECT_BEFORE and len(words) > 1):
        return Verdict(_PROJECT, SHOWN, '"project" stands before it')
    if scene.after in lexicon.PROJECT_AFTER and not is_plain(words[0]):
        return Verdict(_PROJECT, SHOWN, f'"{scene.after}" stands after it')
    if len(words) > 1 and not (len(words) == 2 and is_plain(words[0])):
        if any(word.capital and word.key in lexicon.COMMON_WORDS for word in words[1:-1]):
            return None
        if last in lexicon.ORGANISATION_TAILS or words[0].key in lexicon.OF_HEADS:
            return Verdict(_ORGANISATION, LISTED, f'its name ends in "{words[-1].text}"')
        if last in lexicon.PLACE_TAILS or words[0].key in lexicon.PLACE_HEADS:
            return Verdict(_PLACE, LISTED, "its name is one of places")
    if scene.after in lexicon.TEAM_AFTER and not is_plain(words[0]) and words[0].key not in GIVEN_NAMES:
        return Verdict(_ORGANISATION, SHOWN, f'"{scene.after}" stands after it')
    return None


def _by_lists(scene: Scene) -> Verdict | None:
    key, first = scene.key, scene.words[0].key
    if key in WORDY and (scene.initial or scene.before in {"a", "an", "the"}) and not _looks_like_place(scene):
        return None
    if first in NAME_WORDS:
        return _name_word(scene)
    given = first in GIVEN_NAMES
    if key in PLACES and not (given and not _looks_like_place(scene)):
        return Verdict(_PLACE, LISTED, "a place that is known everywhere")
    if given:
        whole = len(scene.words) == 1 or not is_plain(scene.words[1])
        return Verdict(_PERSON, LISTED if whole else WEAK, "a given name")
    if key in PRODUCTS:
        return Verdict(_THING, LISTED, "a product that is known everywhere")
    if key in ORGANISATIONS:
        return Verdict(_ORGANISATION, LISTED, "an organisation that is known everywhere")
    return None


def _name_word(scene: Scene) -> Verdict | None:
    """Will, Rose, May: a word that may be a name, where something else shows it."""
    if len(scene.words) > 1 and not scene.initial and not is_plain(scene.words[1]):
        return Verdict(_PERSON, HINTED, "a given name and another")
    if scene.key in PLACES and (_looks_like_place(scene) or scene.after not in lexicon.PERSON_DOES):
        told = scene.before in lexicon.TO_PERSON and scene.before not in ("love", "with", "miss", "missed", "saw")
        if not told:
            return Verdict(_PLACE, LISTED, "a place that is known everywhere")
    if scene.before in lexicon.TO_PERSON or _given_to(scene):
        return Verdict(_PERSON, SHOWN, f'"{scene.before}" stands before it')
    if scene.after in lexicon.PERSON_DOES and not (scene.key == "may" and scene.before in ("in", "last", "by")):
        return Verdict(_PERSON, HINTED, f'"{scene.after}" stands after it')
    if scene.initial or scene.key in {"may", "summer", "autumn", "winter", "king", "prince", "star", "angel"}:
        return None
    if scene.before in lexicon.DETERMINERS or scene.before in lexicon.PLACE_BEFORE or scene.words[0].text.isupper():
        return None
    return Verdict(_PERSON, HINTED, "a given name within a sentence")


_BEFORE_A_PLACE = frozenset("visited visiting at leave leaving left from".split())


def _looks_like_place(scene: Scene) -> bool:
    if scene.before in lexicon.PLACE_BEFORE or scene.before in _BEFORE_A_PLACE:
        return True
    return scene.before == "to" and scene.before2 in lexicon.GO_TO


def _works_there(scene: Scene) -> bool:
    return scene.before in {"at", "for", "with"} and (
        scene.before2 in lexicon.WORK_AT or scene.before3 in lexicon.WORK_AT
    )


def _by_context(scene: Scene) -> Verdict | None:
    """Judge a name that no list knows."""
    first = scene.words[0].key
    if is_plain(scene.words[0]) or first in NAME_WORDS or scene.key in WORDY or len(scene.key) < 3:
        return None
    if scene.before in {"class", "function", "method", "type", "struct", "module", "interface", "field", "variable"}:
        return None
    if scene.before in {"the", "this", "that", "these", "those", "every", "each", "no", "some", "any"}:
        return _described(scene)
    return _as_place(scene) or _as_organisation(scene) or _as_person(scene) or _as_thing(scene)


def _described(scene: Scene) -> Verdict | None:
    """ "The Kestrel app": the noun behind says what it is."""
    if scene.after in lexicon.THING_AFTER:
        return Verdict(_THING, HINTED, f'"{scene.after}" stands after it')
    if scene.before2 in {"at", "for"} and scene.before3 in lexicon.WORK_AT:
        return Verdict(_ORGANISATION, HINTED, f'"{scene.before3} {scene.before2} the" stands before it')
    return None


def _as_place(scene: Scene) -> Verdict | None:
    if scene.before == "in" and (scene.before2 in lexicon.PLACED or scene.before3 in lexicon.PLACED):
        return Verdict(_PLACE, SHOWN, f'"{scene.before2} in" stands before it')
    if scene.before in {"to", "towards", "toward"} and scene.before2 in lexicon.GO_TO:
        return Verdict(_PLACE, SHOWN, f'"{scene.before2} {scene.before}" stands before it')
    if scene.before == "from" and scene.before2 in lexicon.FROM_PLACE:
        return Verdict(_PLACE, HINTED, '"from" stands before it')
    if scene.before == "in" and scene.before2 in _IN_A_FIELD:
        return None
    if scene.before in lexicon.PLACE_BEFORE and scene.after not in lexicon.THING_AFTER and not _is_camel(scene):
        return Verdict(_PLACE, WEAK, f'"{scene.before}" stands before it')
    return None


# "Interested in", "a degree in": what follows is a field, not a place.
_IN_A_FIELD = frozenset(
    """interested degree believe trust major majored majoring minor fluent certified specialise specialize specialising
    specializing invest invested investing possibly bachelor's master's phd course courses experience storytelling
    interest written""".split()
)


def _as_organisation(scene: Scene) -> Verdict | None:
    if _works_there(scene):
        return Verdict(_ORGANISATION, SHOWN, f'"{scene.before2} {scene.before}" stands before it')
    if scene.before in lexicon.ORGANISATION_BEFORE and scene.after not in lexicon.PERSON_DOES:
        return Verdict(_ORGANISATION, HINTED, f'"{scene.before}" stands before it')
    if scene.after in lexicon.ORGANISATION_AFTER and not scene.initial:
        return Verdict(_ORGANISATION, WEAK, f'"{scene.after}" stands after it')
    if scene.before == "at":
        return Verdict(_ORGANISATION, WEAK, '"at" stands before it')
    return None


def _as_person(scene: Scene) -> Verdict | None:
    if scene.before == "with" and not _is_camel(scene):
        return Verdict(_PERSON, WEAK, '"with" stands before it')
    if scene.before in lexicon.TO_PERSON and not _is_camel(scene):
        return Verdict(_PERSON, HINTED, f'"{scene.before}" stands before it')
    if _given_to(scene):
        return Verdict(_PERSON, HINTED, f'"{scene.before2} to" stands before it')
    # "Package arrived": what a sentence begins with has a capital whatever it is.
    shows = not (scene.initial and len(scene.words) == 1 and _anything_does(scene.after, scene.after2))
    if scene.after in lexicon.PERSON_DOES and scene.before not in lexicon.DETERMINERS and shows:
        return Verdict(_PERSON, HINTED, f'"{scene.after}" stands after it')
    if scene.after == "and" and scene.after2 in {"i", "her", "his"}:
        return Verdict(_PERSON, HINTED, f'"and {scene.after2}" stands after it')
    if scene.initial:
        return None
    if scene.before == "by" and len(scene.words) > 1:
        return Verdict(_PERSON, HINTED, '"by" stands before it')
    if _acts(scene.after) and scene.before not in lexicon.DETERMINERS:
        return Verdict(_PERSON, WEAK, f'"{scene.after}" stands after it')
    if scene.words[-1].possessive and scene.after in lexicon.OWNED_BY_PERSON and not _is_camel(scene):
        return Verdict(_PERSON, WEAK, "something is theirs")
    if len(scene.words) == 1 and scene.comma_before and scene.at_end:
        return Verdict(_PERSON, WEAK, "called by name")
    return None


def _given_to(scene: Scene) -> bool:
    """Tell whether "talked to", "gave it to" stands before."""
    if scene.before != "to":
        return False
    return scene.before2 in lexicon.SPEAK_TO or (scene.before2 in _OBJECTS and scene.before3 in lexicon.SPEAK_TO)


_OBJECTS = frozenset("it this that them one everything something".split())

# What happens to things as it does to people: no sign of either.
_ANYTHING_DOES = frozenset(
    """crash fail launch release ship deploy run cost open close happen break expire start stop end work allow update
    fall be have do begin arrive change drop go come offer help use host present teach""".split()
)


# What makes such a verb a person's after all: "works at", "went home", "helped me".
_AS_PEOPLE_DO = {
    "work": frozenset("at for as with on from remotely nights part-time full-time".split()),
    **dict.fromkeys(("go", "come"), frozenset("to home with over back along".split())),
    **dict.fromkeys(("help", "teach", "use", "host"), frozenset("me us him her them my our out at".split())),
}


def _anything_does(word: str, following: str) -> bool:
    form = form_of(word)
    return form is not None and form.lemma in _ANYTHING_DOES and following not in _AS_PEOPLE_DO.get(form.lemma, ())


def _acts(word: str) -> bool:
    form = form_of(word)
    return form is not None and form.tense in ("past", "third") and form.lemma not in _ANYTHING_DOES


def _as_thing(scene: Scene) -> Verdict | None:
    if scene.initial:
        return None
    if scene.before2 in lexicon.DETERMINERS and scene.before3 in {"named", "name", "call", "called", "christened"}:
        return Verdict(_THING, HINTED, "a name was given")
    if scene.before in lexicon.THING_BEFORE:
        return Verdict(_THING, HINTED, f'"{scene.before}" stands before it')
    if scene.after in lexicon.THING_AFTER:
        return Verdict(_THING, HINTED, f'"{scene.after}" stands after it')
    return Verdict(_THING, HINTED, "written as products are") if _is_camel(scene) else None


def _is_camel(scene: Scene) -> bool:
    text = scene.words[0].text
    text = text.removesuffix("s")
    humps = sum(char.isupper() for char in text[2:])
    return len(text) >= 4 and text.isalpha() and 1 <= humps <= MOST_HUMPS and not text.isupper() and not _is_code(text)


def _is_code(text: str) -> bool:
    """Three words run together are an identifier: HttpClientFactory."""
    starts = sum(one.isupper() and two.islower() for one, two in pairwise(text))
    return starts > MOST_WORDS_TOGETHER
