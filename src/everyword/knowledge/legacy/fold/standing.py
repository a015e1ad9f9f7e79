"""How a word stands in its sentence: as the name of a thing, or for what is done and how things are.

"Booked flights to Porto" names flights, and no booking; "the booking is lost" does. The words around tell which,
without a table of all words: articles and prepositions come before names of things, pronouns and auxiliaries before
verbs. What nothing tells of is taken for a name, so that other languages than English lose nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache

from everyword.knowledge.legacy.fold.naming import is_known, names_well
from everyword.knowledge.legacy.fold.phrases import breaks
from everyword.knowledge.legacy.fold.titles import title_end
from everyword.text.terms import finder, stem

LONGEST_WORD = 42  # characters, with a possessive; what is longer is no word
NAMES_NOTHING = -1.5  # how well, at most, words name things that name none but with an article before them
LONGEST_NAME = 8  # letters: few names that are longer are given to people
NAMES_DEED = 1.0  # how well it must name things to begin with: "Swimming lessons", not "Spending money"
_SHORTEST_DEED = 5  # letters: "king" and "thing" are none
_SHORTEST_PAST = 4  # letters: "shed" is none
_REMEMBERED = 1024  # texts: those of the concepts that are being worded
_VOCABULARY = 1 << 15  # words that need not be looked at again
_pieces = finder(r"LETTERS(?:['’-]LETTERS)*|\d+|[^\w\s]+|\n+")
_ANY_NUMBER = "two"  # stands for all that are written in figures
_OWNED = "the"  # stands for a name with a possessive
_POSSESSIVE = re.compile(r"['’]s$")
_ENDS = frozenset('.!?:;\n"“”()[]-–—*•/|')

# What comes before a name of something, though perhaps with other words in between: "the long red scarf".
_BEFORE_NAMES = frozenset(
    """a an the this that these those my your his her its our their some any each every no another both all many few
    several much enough whose which what of in on at for with from about into over under through by between after
    before against without during within across along among around via per near behind beyond despite upon toward
    towards onto off than as like until since one two three four five six seven eight nine ten first second third last
    next new old other same own""".split()
)
_ARTICLES = frozenset("a an the my your his her its our their this these those another".split())
# What comes before a verb: "to paint", "we paint", "would paint".
_BEFORE_VERBS = frozenset(
    """to i you we they he she it who will would can could should must may might shall do does did not never let please
    have has had just also always still already even only help helped keep kept start started stop try tried want wanted
    let's don't didn't doesn't can't won't couldn't wouldn't shouldn't isn't aren't wasn't haven't hasn't i'll we'll
    you'll they'll he'll she'll it'll i'd we'd you'd they'd he'd she'd i've we've you've they've gonna wanna gotta
    cannot""".split()
)
# What comes before a word for how something is: "was glad", "so glad".
_BEFORE_QUALITIES = frozenset(
    """is are was were be been being am i'm you're we're they're it's that's he's she's there's what's who's so very too
    really quite pretty more most less how feel feels felt feeling seem seems look looks looked sound sounds get gets
    got getting stay stayed become became super totally""".split()
)
# What comes before the name of a deed: "loves swimming".
_BEFORE_DEEDS = frozenset("love loved loves enjoy enjoyed go going goes went start started try tried hate".split())
_JOINING = frozenset(("and", "or", "&"))
# What comes after a verb, and hardly ever after the name of a thing: "paint the fence", "paint it".
_AFTER_VERBS = frozenset(
    """a an the my your his her its our their this these those it them me us him you such something anything everything
    someone myself yourself ourselves""".split()
)
# What comes after the name of a thing: "the cost of", "rents are"; and after that of a deed: "swimming in the sea".
_AFTER_NAMES = frozenset("of is are was were has had will would can could should must may might which".split())
_AFTER_DEEDS = _AFTER_NAMES | frozenset(
    "in on at for with from and or but by after before during near than as that to".split()
)
# Endings of words for how things are, and those that such words share with names: "final", "hospital".
_QUALITY = re.compile(r"[^\W\d_]{2,}(?:ous|ful|ive|able|ible|less|ish|ical|iest)")
_MAYBE_QUALITY = re.compile(r"[^\W\d_]{3,}(?:ent|ant|al|ic|ate|ian)")
_LETTERS = re.compile(r"[^\W\d_]?[^a-z\W]+s?")  # "VAT", "PRs"
# Endings of words that are no names of people.
_BUILT = re.compile(r"(?:s|ing|ed|ion|ment|ness|ity|ance|ence|ship|age|ure|ism|ist)$|-|[A-Z]$")
# Names of anything and everything: they say nothing of what somebody speaks of.
_GENERAL = frozenset(
    """anytime area areas bet blast bringing brings bummer bunch case cases chat chats common count couple difference
    differences effect effects fact facts favorites favourites finding guts hold key kinds lack level levels life list
    lists lives loads luck mind minds moments name names news number numbers outside pays piece pieces prob problem
    problems range reminder reminders rest result results rush sense set sets situation situations sorts spread step
    steps throughout top track type types weekend weekends worries yum""".split()
)
# Words for how things are that no ending tells.
_QUALITIES = frozenset(
    """black blue brown gold golden gray green grey orange pink purple red silver white yellow young busy safe real free
    easy simple whole quick slow warm cold hot dark bright light heavy deep high low early late clean clear healthy
    local main live rich poor sick tired alone aware likely close close-by cosy cozy crazy tiny fresh rare rude wise
    friendly nearby annual daily weekly monthly yearly""".split()
)


@dataclass(frozen=True, slots=True)
class Standing:
    """A word in its place."""

    written: str  # without a possessive
    word: str  # in small letters
    term: str  # its stem
    thing: bool  # whether it stands as the name of something
    joined: bool  # whether it belongs to the word before: "release notes"
    begins: bool  # whether a sentence begins with it, so that its capital says nothing

    @property
    def shown(self) -> str:
        """Give it as it is written, without a capital that is due to its place alone."""
        large = not self.begins or may_be_name(self.written, self.term) or _LETTERS.fullmatch(self.written)
        return self.written if large else self.word


@dataclass(slots=True)
class _Run:
    """Words that follow one another with nothing between them, and what stands on either side."""

    pieces: list[str]
    before: str
    begins: bool  # a sentence
    after: str = ""
    follows: bool = False  # stands beside what names nothing
    titled: bool = False  # stands in a title, where capitals say nothing


@lru_cache(maxsize=_REMEMBERED)
def standings(text: str) -> tuple[Standing, ...]:
    """Tell how the words of a text stand, those of every talk left out."""
    found: list[Standing] = []
    thing = True  # whether the run before ended with the name of a thing
    for run in _runs(text):
        # "peaceful and serene", "grow and learn": the second stands as the first does
        run.follows = not thing and run.before in _JOINING
        judged = list(_judged(run))
        thing = judged[-1].thing
        found += judged
    return tuple(found)


def things_of(text: str) -> frozenset[str]:
    """Give the stems of the words that stand as names of things."""
    return frozenset(one.term for one in standings(text) if one.thing)


def _runs(text: str) -> Iterator[_Run]:
    """Cut a text at marks and at words of every talk."""
    before, begins, run, title = "", True, None, title_end(text)
    for match in _pieces(text).finditer(text):
        piece = match[0]
        plain = _plain(piece) if len(piece) <= LONGEST_WORD else ""
        if plain and not breaks(plain):
            if run is None:
                run = _Run([], before, begins, titled=match.start() < title)
            run.pieces.append(piece)
            if _POSSESSIVE.search(piece):  # what is somebody's comes next
                yield run
                run, before, begins = None, _OWNED, False
            continue
        if run is not None:
            run.after = plain or piece
            yield run
            run = None
        before = plain or (_ANY_NUMBER if piece.isdecimal() else piece)
        begins = piece[-1] in _ENDS
    if run is not None:
        yield run


def _judged(run: _Run) -> Iterator[Standing]:
    words = [_read(piece) for piece in run.pieces]
    verbs = _verbs(run, [word for _, word, _ in words])
    last = len(words) - 1
    for place, (written, word, term) in enumerate(words):
        # "release notes", "raising money"; but "booked flights" are two
        joined = place > 0 and place not in verbs and (place - 1 not in verbs or words[place - 1][1].endswith("ing"))
        if (
            place in verbs
            or word in _GENERAL
            or (names_well(term) <= NAMES_NOTHING and not _is_head(run, place, verbs))
        ):
            thing = False
        elif place < last and place + 1 not in verbs:
            # "budget talks", not "final talks"
            thing = not (is_quality(word) or _is_past(word) or _MAYBE_QUALITY.fullmatch(word))
        else:
            thing = not (is_quality(word) and _may_be_quality(run, place, verbs))
        begins = run.titled or (run.begins and place == 0)
        yield Standing(written, word, term, thing and not (begins and may_be_name(written, term)), joined, begins)


def _is_head(run: _Run, place: int, verbs: Set[int]) -> bool:
    """Tell "the goalkeeper saved": whatever else is known of a word, it names something with an article before it."""
    return run.before in _ARTICLES and (place + 1 == len(run.pieces) or place + 1 in verbs)


def _verbs(run: _Run, words: Sequence[str]) -> set[int]:
    """Tell which words of a run stand for a deed or a state."""
    verbs = {place for place in range(1, len(words)) if _is_past(words[place])}
    if _begins_with_verb(run, words):
        verbs.add(0)
    last, word = len(words) - 1, words[-1]
    if last > 0 and last - 1 not in verbs:
        # "school asks the", "a dog walking"
        walking = word.endswith("ing") and (run.before in ("a", "an") or run.after in _AFTER_VERBS)
        if walking or (run.after in _AFTER_VERBS and (word.endswith("s") or run.before not in _BEFORE_NAMES)):
            verbs.add(last)
    return verbs


def _begins_with_verb(run: _Run, words: Sequence[str]) -> bool:
    first, alone, named = words[0], len(words) == 1, run.before in _BEFORE_NAMES
    if run.before in _BEFORE_VERBS or (alone and run.follows):
        return True
    if alone and run.begins and run.after[:1] in (",", "!"):
        return True  # a call: "Melanie, look", "Wonderful!"
    if alone and run.before in _BEFORE_QUALITIES:
        return not first.endswith("s")
    if _is_past(first):
        return alone or not named  # "the stained glass"
    if first.endswith("ing") and len(first) > _SHORTEST_DEED:
        return not _names_deed(run, first, alone=alone, named=named)
    return alone and not named and run.after in _AFTER_VERBS


def _names_deed(run: _Run, first: str, *, alone: bool, named: bool) -> bool:
    """Tell "of swimming" and "swimming is" from "by painting the fence", "spending time" and "people swimming"."""
    if not alone:  # "the swimming lessons", "Swimming lessons"
        return named or (run.begins and names_well(stem(first)) >= NAMES_DEED)
    if run.before in _JOINING or named or run.before in _BEFORE_DEEDS:
        return not run.after[:1].isalpha() or run.after in _AFTER_DEEDS
    return run.begins and run.after in _AFTER_NAMES


def _is_past(word: str) -> bool:
    return len(word) > _SHORTEST_PAST and word.endswith("ed") and not word.endswith("eed")


def may_be_name(written: str, term: str) -> bool:
    """Tell whether a word that a sentence begins with may be somebody: no word that is known, nor built like one."""
    return written[0].isupper() and not (is_known(term) or _BUILT.search(written) or len(written) > LONGEST_NAME)


def is_quality(word: str) -> bool:
    """Tell whether a word is built like one for how things are."""
    return word in _QUALITIES or _QUALITY.fullmatch(word) is not None


def _may_be_quality(run: _Run, place: int, verbs: Set[int]) -> bool:
    """Tell whether nothing says that the last word of a run is a name: "the drive is", "an archive of"."""
    named = run.before in _BEFORE_NAMES if place == 0 else place - 1 not in verbs
    return run.pieces[place].lower() in _QUALITIES or not (named or run.after in _AFTER_NAMES)


def _plain(piece: str) -> str:
    """Give a piece in small letters without its possessive; nothing where it is no word."""
    return _POSSESSIVE.sub("", piece).lower().replace("’", "'") if piece[0].isalpha() else ""


@lru_cache(maxsize=_VOCABULARY)
def _read(piece: str) -> tuple[str, str, str]:
    written = _POSSESSIVE.sub("", piece)
    word = written.lower().replace("’", "'")
    return written, word, stem(word)
