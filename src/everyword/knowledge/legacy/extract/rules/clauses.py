"""Sentences -> clauses, each read as subject, helping words, verb and the rest."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import StrEnum

from everyword.knowledge.legacy.extract.rules.kin import KIN_PATTERN
from everyword.knowledge.legacy.extract.rules.tools import OF_A_PROJECT
from everyword.knowledge.legacy.extract.rules.verbs import FORMS, SAME_IN_PAST, form_of
from everyword.types.events import Span

# Where one clause ends and the next begins: before a new subject, or at a strong mark.
_NEW_SUBJECT = r"(?=(?:I|[Ww]e|[Mm]y|[Oo]ur|[Hh]e|[Ss]he|[Tt]hey|[Pp]lease|[Dd]on't|[Nn]ever|[Aa]lways)\b)"
_ASKED = r"(?=(?:can|could|would|do|does|did|what|how|where|any|is|are|should|will|which|who|why|when)\b)"
# "Luis doesn't eat fish, Nora is vegetarian": chats put a comma where a stop belongs.
_SOMEBODY = r"(?=[A-Z][\w'-]{1,24} (?:is|isn't|was|wasn't|has|hasn't|had|will|won't|doesn't|didn't)\b)"
_BREAK = re.compile(
    rf"(?P<mark>;|\s[–—-]{{1,2}}\s|:\s(?=(?:I|[Ww]e|[Mm]y|[Oo]ur)\b)|[–—])\s{{0,4}}|,?\s{{1,4}}(?P<word>but|so|because|since|though|although"
    rf"|while|and|as|plus|cause|where|which|that)\s{{1,4}}{_NEW_SUBJECT}|(?P<but>,\s{{1,4}}but\s{{1,4}})(?=not\b"
    rf"|\w+\b)|(?P<comma>,\s{{1,4}})(?:{_NEW_SUBJECT}|{_ASKED}|{_SOMEBODY})"
)
# A reason belongs to what it gives the reason for: it stays in the quote.
_REASONS = frozenset(("because", "since", "as", "cause", "so"))
_BEFORE_THAT = frozenset(
    "me us him her them you out is was be sure glad happy proud afraid mind so fact know now hope say true".split()
)
_RELATIVE = frozenset(("which", "where", "that"))  # what it is about stands before it: the sentence is cited whole

# "As I wrote in the mail" points at the talk itself.
_SAYING = frozenset("say write tell mention note explain promise announce report post expect hope fear think".split())

_OPENING = re.compile(
    r"(?:(?:small |quick |minor |one )?correction[:,]\s{1,3}"
    r"|I (?:just |also |actually ){0,2}(?:reali[sz]ed|noticed) (?:that )?(?=I have\b)"
    r"|I am (?:happy|proud|glad|pleased) to (?:report|say|announce)(?: that)? (?=I\b)"
    r"|(?-i:[A-Z][a-z]{2,12}),\s{1,3}(?=(?:I|we|my|our|guess|after|last|yesterday)\b)|(?:well|yup|nah|aww|man|dude"
    r"|oof|whoa|phew|yay|omg|so|oh|ah|aw|hey|hi|hello|yeah|yes|yep|no|nope|ok|okay|and|but|also|actually|honestly|btw"
    r"|by the way|plus|anyway|anyways|thanks|sorry|wow|haha|lol|fyi|basically|sure|great|cool|nice|to be honest"
    r"|personally|luckily|unfortunately|sadly|in fact|guess what|you know|as for me|for me|for what it's worth"
    r"|fortunately|apparently|obviously|speaking of which|finally|then|besides|not gonna lie|ngl|tbh|ugh|hmm|mm|right"
    r"|true|absolutely|definitely|of course|good news|update|[-*•]|\d{1,2}[.)])(?:[,!:.…]{1,3}\s{1,3}|\s{1,3}))",
    re.IGNORECASE,
)
# What can stand before the subject: when, where, or after what. Its words are few, or a comma ends it.
_LEAD = re.compile(
    r"(?:(?:when|since|after|before|while|as|until|once|ever since)\s(?:I|we|my)\b[^.;!?]{2,60}?,?\s(?=(?:I|we)\b)"
    r"|(?:yesterday|today|tonight|recently|lately|earlier|now|currently|nowadays|once)\s(?=(?:I|we|my|our)\b)"
    r"|(?:yesterday|today|tonight|tomorrow|recently|lately|earlier|last|next|on|in|at|during|over|after|before|since"
    r"|this (?:morning|afternoon|evening|week|weekend|month|year|summer|winter|spring|autumn|fall|past|last|coming"
    r"|monday|tuesday|wednesday|thursday|friday|saturday|sunday)|back|for|two|three|four|five|six|a few|a couple"
    r"|a while|a year|a month|a week|the other|the day|ever since|once|nowadays|these days|currently|right now|now"
    r"|every|each|with|as|when|until|by|from)\b(?!\s(?:I|we)\b)[^.;!?]{0,60}?,?\s(?=(?:I|we|my|our)\b))",
    re.IGNORECASE,
)
# A time before a comma belongs to what follows it.
_ONLY_WHEN = re.compile(
    r"(?:(?:so|and|but|well|also|yeah|oh),? )?(?:yesterday|today|tonight|tomorrow|recently|lately|earlier|last|this"
    r"|next|on|in|at|during|over|after|before|back|for|two|three|four|a few|a couple|a while|a year|a month|a week"
    r"|the other|the day|these days|nowadays|every)\b(?:\s[\w']+){0,5}",
    re.IGNORECASE,
)
_CONTRACTION = re.compile(
    r"\b(?:(?P<let>let's)|(?P<cant>can't)|(?P<wont>won't)|(?P<not>\w{2,8})n't|(?P<who>I|we|you|they|he|she|it|that"
    r"|there|who)'(?P<short>m|re|ve|ll|d|s))\b",
    re.IGNORECASE,
)
_AFTER_HAD = re.compile(
    r"\s{1,4}(?:been|better|had|never|always|already|just|\w+ed|gone|done|got|seen|known|lost|left)\b",
)
_AFTER_HAS = re.compile(r"\s{1,4}(?:been|got|had|never been|already|just \w+ed)\b")
_OPENED = {"m": " am", "re": " are", "ve": " have", "ll": " will"}
_SPACES = re.compile(r"\s+")
_PLEASE = re.compile(r"\bpl[sz]\b", re.IGNORECASE)

_HELPER = re.compile(
    r"(?P<many>used to|have got to|has got to|had to|have to|has to|need to|needs to|ought to|am going to"
    r"|are going to|is going to|was going to|were going to|am gonna|are gonna|gonna|am supposed to|are supposed to"
    r"|is supposed to|would rather|had better|no longer|am about to|are about to|wanna|gotta)\b\s?|(?P<one>am|is|are"
    r"|was|were|have|has|had|do|does|did|will|would|could|can|cannot|might|may|should|must|shall|been|be)\b\s?"
    r"|(?P<no>not|never|hardly|barely|rarely)\b\s?|(?P<adverb>really|just|also|still|now|always|often|usually|finally"
    r"|recently|currently|already|both|all|even|kind of|sort of|once|sometimes|first|so|totally|actually|ever|only"
    r"|mostly|generally|quite|pretty much|at last|almost|nearly|[a-z]{3,12}ly)\b,?\s?",
    re.IGNORECASE,
)
_NOT_ADVERBS = frozenset(
    "family reply apply supply rely fly only ally bully lovely lonely july italy friendly likely ugly".split()
)
_MAIN_HELPERS = frozenset("am is are was were have has had do does did be been".split())
_BE = frozenset("am is are was were be been".split())
_HAVE = frozenset("have has had".split())

_WORD = re.compile(r"[^\W\d_][\w'’-]*|\d[\d.,:]*\w*")
_NAME = r"[A-Z][\w'’-]{1,24}(?:\s[A-Z][\w'’-]{1,24}){0,2}"
_OWN_KIN = re.compile(
    rf"(?i:my|our)\s(?:(?:old|older|younger|little|big|best|new|late|twin|good|close|dear|eldest|oldest|youngest"
    rf"|former|then|own|other|baby|step)\s){{0,2}}(?P<kin>{KIN_PATTERN})\b(?:,?\s(?P<name>{_NAME}),?)?"
)
_NAMES_KIN = re.compile(
    rf"(?P<owner>{_NAME})'s\s(?:\w{{3,8}}\s)?(?P<kin>{KIN_PATTERN})\b(?:,?\s(?P<name>{_NAME}),?)?",
)
# "Lost my job yesterday": in a chat the I is often left out.
_SUBJECT_LEFT_OUT = re.compile(
    r"(?:[Jj]ust |[Ff]inally |[Rr]ecently |[Aa]ctually ){0,2}(?P<verb>[A-Za-z][a-z]{2,11}) (?:my|our|a|an|the|to|this"
    r"|some|back|up|out|married|promoted|fired|engaged|\w{2,12}ing)\b"
)
_BEEN = re.compile(
    r"(?:Been|been|Just been) (?:really |also |just |so )?\w{2,14}ing\b|Was (?:so |super |really |a bit )?(?:nervous"
    r"|sad|upset|proud|scared|worried)\b",
)
_NAMED = re.compile(rf"(?P<name>{_NAME})")
# "Deadline for the migration is 15 March": notes leave the article out.
_BARE_THING = re.compile(
    r"(?P<thing>(?:(?:[Nn]ew|[Nn]ext|[Cc]urrent|[Ff]inal|[Tt]otal|[Mm]ain|[Bb]illing|[Ss]taging|[Pp]roduction"
    r"|[Mm]onthly|[Yy]early) ){0,2}(?:[a-z]+ )?(?P<noun>[A-Za-z][a-z-]+)"
    r"(?: (?:for|of|at|on|in|to|with) (?:the |our |my |an? )?[\w'-]+(?: [\w'-]+){0,2}?)?)"
    r" (?=(?:is|was|will be)\b)"
)
_AND_I = re.compile(r"(?:(?:[Mm]y|[Oo]ur) )?[\w'-]+(?: [\w'-]+){0,3} and I\b")
_NO_COMPANY = _MAIN_HELPERS | frozenset("i we he she they you it this that there can will must may".split())
_GERUND_NEXT = re.compile(r"\S+ \w+ing\b")
_NOT_NAMES = frozenset(
    """The A An This That These Those It He She They You We I My Our Your His Her Their There Here What When Where
        Who Why How Which If Unless Because Since While After Before As At In On By For From With Without About
        And But Or So Yet Not No Nor Yes Everyone Everybody Someone Somebody Nobody Anyone People Most Some Many
        Few All Both Each Every Either Neither One Two Three Life Time Water Love Work School Money Weather Food
        Music Dinner Lunch Breakfast Dogs Cats Kids Children Today Tomorrow Yesterday Monday Tuesday Wednesday
        Thursday Friday Saturday Sunday January February March April May June July August September October
        November December Maybe Perhaps Always Never Sometimes Please Let Thanks Thank Sorry Oh Well Just Really
        Being Having Going Getting Doing Making Nothing Everything Something Anything Then Now Still Also Even
        Only Once Such Same Rumour Rumor Word Someone's Sure Great Good Nice Wow Yeah Okay Ok Hey Hi Hello
        Congrats God Christmas Easter TODO""".split()
)


_MORE_NOT_NAMES = frozenset(
    """must can could would should will shall might may do does did is are was were been have has had what's
        that's it's there's lots plenty another any everything looks sounds seems remember glad happy sorry
        excited definitely absolutely especially hopefully luckily unfortunately honestly additionally however
        although though also besides anyway speaking talking seeing watching reading playing working spending
        taking trying looking feeling thinking knowing hearing being nice cool awesome amazing right yes no not
        too more most much less first second third last next new old good best better bad big small wow yay
        super pretty quite totally""".split()
)


class Who(StrEnum):
    """What kind of subject a clause has."""

    SELF = "self"  # I
    US = "us"  # we
    PERSON = "person"  # somebody named, or somebody's relation
    PRONOUN = "pronoun"  # he, she, they
    THING = "thing"
    NONE = "none"  # an imperative, or something that was not understood


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """Whom a clause speaks of."""

    who: Who
    words: str = ""
    name: str | None = None  # a proper name
    kin: str | None = None  # "sister"
    owner: str | None = None  # whose: None is the speaker's


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """A clause and how it reads."""

    span: Span  # of the words that were read
    quote: Span  # of the words to cite: with a reason that follows
    plain: str  # contractions opened, one space between words
    lead: str  # what stood before the subject
    subject: Subject
    helpers: frozenset[str] = frozenset()
    adverbs: frozenset[str] = frozenset()
    negated: bool = False
    verb: str = ""  # lemma
    tense: str = ""
    rest: str = ""  # after the verb
    predicate: str = ""  # after the subject
    relative: bool = False  # "which I bought on Friday"

    @property
    def past(self) -> bool:
        """Tell whether it speaks of what was."""
        if self.tense in ("past", "participle"):
            return not self.helpers & {"will", "would", "do", "does"}
        return bool(self.helpers & {"was", "were", "had", "did", "had to"})


def clauses(text: str, sentence: Span) -> list[Clause]:
    """Cut a sentence into clauses and read each."""
    cuts = _cuts(text, sentence)
    found: list[Clause] = []
    for index, (start, end, _) in enumerate(cuts):
        last = end
        for _, further, connector in cuts[index + 1 :]:
            if connector not in _REASONS:
                break
            last = further
        relative = cuts[index][2] in _RELATIVE
        whole = len(cuts) == 1 or (index == 0 and last == cuts[-1][1])
        cited = sentence if whole or relative else Span(start, last)
        clause = read(text, Span(start, end), cited)
        if clause is not None and not (cuts[index][2] == "as" and clause.verb in _SAYING):
            found.append(replace(clause, relative=True) if relative else clause)
    return found


def read(text: str, span: Span, quote: Span) -> Clause | None:
    """Read one clause; None if nothing is in it."""
    verbatim = text[span.start : span.end]
    plain = opened(verbatim)
    plain = _without_opening(plain)
    if not plain:
        return None
    lead, plain = _lead(plain)
    quote = _trimmed(text, quote)
    subject, after = _subject(plain)
    if subject.who is Who.NONE:
        return Clause(span=span, quote=quote, plain=plain, lead=lead, subject=subject, rest=plain, predicate=plain)
    return _with_verb(Clause(span=span, quote=quote, plain=plain, lead=lead, subject=subject, predicate=after))


def opened(text: str) -> str:
    """Open contractions ("I'm" -> "I am"), straighten apostrophes and collapse white space."""
    text = _PLEASE.sub("please", _SPACES.sub(" ", text.replace("’", "'")).strip())
    return _CONTRACTION.sub(_open, text) if "'" in text else text


def _open(match: re.Match[str]) -> str:
    if match["let"]:
        return match["let"][:3] + " us"
    if match["cant"]:
        return "can not"
    if match["wont"]:
        return "will not"
    if match["not"]:
        return match["not"] + " not"
    short = match["short"].lower()
    tail = match.string[match.end() : match.end() + 24]
    if short == "d":
        return match["who"] + (" had" if _AFTER_HAD.match(tail) else " would")
    if short == "s":
        return match["who"] + (" has" if _AFTER_HAS.match(tail) else " is")
    return match["who"] + _OPENED[short]


def _cuts(text: str, sentence: Span) -> list[tuple[int, int, str]]:
    """List clauses as start, end and the word that joins each to the one before."""
    cuts: list[tuple[int, int, str]] = []
    start, connector = sentence.start, ""
    for match in _BREAK.finditer(text, sentence.start, sentence.end):
        if match["comma"] and _ONLY_WHEN.fullmatch(text, start, match.start()):
            continue
        if match["word"] == "that" and _is_said_before(text[start : match.start()]):
            continue
        if match["word"] == "and" and _is_one_subject(text[start : match.end() + 2]):
            continue
        if match.start() > start:
            cuts.append((start, match.start(), connector))
            start, connector = match.end(), (match["word"] or "")
    cuts.append((start, sentence.end, connector))
    return cuts


def _is_said_before(words: str) -> bool:
    """Tell "realised that I work" from "the bike that I bought": only a noun is told more about."""
    last = words.rsplit(None, 1)[-1].lower() if words.strip() else ""
    return form_of(last) is not None or last in _BEFORE_THAT


def may_be_name(words: str) -> bool:
    """Tell whether words with capitals can name somebody: a day can't."""
    return words.split()[0] not in _NOT_NAMES


def _is_one_subject(words: str) -> bool:
    """Tell "Marc and I are separated" from "I cook and I bake": in the first no verb stands before the "and"."""
    if not _AND_I.fullmatch(words.strip()):
        return False
    before = words.split()[:-2]
    return not any(form_of(word) or word.lower().split("'")[0] in _NO_COMPANY for word in before)


def _without_opening(plain: str) -> str:
    for _ in range(4):
        match = _OPENING.match(plain)
        if match is None or match.end() >= len(plain):
            return plain
        plain = plain[match.end() :]
    return plain


def _lead(plain: str) -> tuple[str, str]:
    match = _LEAD.match(plain)
    return (plain[: match.end()].strip(" ,"), plain[match.end() :]) if match else ("", plain)


def _trimmed(text: str, span: Span) -> Span:
    start, end = span
    while start < end and (text[start].isspace() or text[start] in ",;–—-*•"):
        start += 1
    while end > start and (text[end - 1].isspace() or text[end - 1] in ",;–—"):
        end -= 1
    return Span(start, end)


def _subject(plain: str) -> tuple[Subject, str]:
    first, _, after = plain.partition(" ")
    word = first.strip(",")
    if _BEEN.match(plain):
        return Subject(who=Who.SELF), plain
    if _SUBJECT_LEFT_OUT.match(plain) and (form := form_of(_first_verb(plain))) and form.tense == "past":
        return Subject(who=Who.SELF), plain
    if word == "I":
        return Subject(who=Who.SELF, words="I"), after
    lower = word.lower()
    if lower == "we":
        return Subject(who=Who.US, words=word), after
    if lower in ("he", "she", "they"):
        return Subject(who=Who.PRONOUN, words=word), after
    if both := _AND_I.match(plain):
        return Subject(who=Who.US, words=both[0]), plain[both.end() :].lstrip()
    if lower in ("my", "our"):
        kin = _OWN_KIN.match(plain)
        if kin:
            return _own_kin(plain, kin)
    if lower in ("my", "our", "the", "this", "that"):
        return _thing(plain)
    if bare := _BARE_THING.match(plain):
        words = bare["thing"]
        if OF_A_PROJECT.fullmatch(bare["noun"]) and lower not in _NO_COMPANY:
            return Subject(who=Who.THING, words=words), plain[bare.end("thing") :].lstrip()
    return _somebody(plain, word)


def _first_verb(plain: str) -> str:
    match = _SUBJECT_LEFT_OUT.match(plain)
    return match["verb"].lower() if match else ""


def _own_kin(plain: str, kin: re.Match[str]) -> tuple[Subject, str]:
    name = kin["name"]
    if name is not None and name.endswith("'s"):  # "my manager Olga's team" is about the team
        return Subject(who=Who.NONE), plain
    if name is None or name.split()[0] in _NOT_NAMES:
        cut = kin.end("kin")
        return Subject(who=Who.PERSON, words=plain[:cut], kin=kin["kin"].lower()), plain[cut:].lstrip(" ,")
    subject = Subject(who=Who.PERSON, words=plain[: kin.end()], kin=kin["kin"].lower(), name=name)
    return subject, plain[kin.end() :].lstrip(" ,")


def _thing(plain: str) -> tuple[Subject, str]:
    """A thing's name goes on up to its verb."""
    words = plain.split(" ")
    for index in range(2, min(len(words), 9)):
        form = FORMS.get(words[index].lower().strip(","))
        if words[index].lower() in _MAIN_HELPERS or words[index].lower() in (
            "can",
            "will",
            "must",
            "should",
            "may",
            "might",
            "would",
            "could",
            "now",
        ):
            break
        if form and (form.tense in ("third", "past") or form.lemma in SAME_IN_PAST) and words[index].islower():
            break
    else:
        return Subject(who=Who.NONE), plain
    return Subject(who=Who.THING, words=" ".join(words[:index])), " ".join(words[index:])


def _somebody(plain: str, word: str) -> tuple[Subject, str]:
    if not word[:1].isupper() or word in _NOT_NAMES or word.lower() in FORMS or word.lower() in _MORE_NOT_NAMES:
        return Subject(who=Who.NONE), plain
    kin = _NAMES_KIN.match(plain)
    if kin:
        subject = Subject(
            who=Who.PERSON, words=kin[0].rstrip(","), kin=kin["kin"].lower(), name=kin["name"], owner=kin["owner"]
        )
        return subject, plain[kin.end() :].lstrip(" ,")
    named = _NAMED.match(plain)
    # "Networking", "Recently", "Strength training": no names, though a sentence begins with them.
    if word.endswith(("ing", "ly", "tion", "ness", "ment")) or _GERUND_NEXT.match(plain):
        return Subject(who=Who.NONE), plain
    if named and named["name"].split()[-1] not in _NOT_NAMES and "'s" not in named["name"]:
        after = plain[named.end() :].lstrip(" ,")
        return Subject(who=Who.PERSON, words=named["name"], name=named["name"]), after
    return Subject(who=Who.NONE), plain


def _with_verb(clause: Clause) -> Clause:
    helpers: list[str] = []
    adverbs: set[str] = set()
    negated = False
    rest, before = clause.predicate, clause.predicate
    while match := _HELPER.match(rest):
        if match["adverb"]:
            word = match["adverb"].lower()
            if word in _NOT_ADVERBS:
                break
            adverbs.add(word)
        elif match["no"]:
            negated = True
            adverbs.add(match["no"].lower())
        else:
            helper = (match["many"] or match["one"]).lower()
            negated = negated or helper in ("no longer", "cannot")
            helpers.append(helper)
            before = rest
        rest = rest[match.end() :]
    return _verb_of(clause, helpers, frozenset(adverbs), negated, rest, before)


def _verb_of(
    clause: Clause, helpers: list[str], adverbs: frozenset[str], negated: bool, rest: str, before: str
) -> Clause:
    word = _WORD.match(rest)
    lower = word[0].lower() if word else ""
    form = form_of(lower)
    last = next((helper for helper in reversed(helpers) if helper != "no longer"), "")  # "is no longer" is a being
    main = ""
    if last in _BE and not (form and form.tense == "ing"):
        main = "be"
    elif last in _HAVE and lower == "got":
        main, rest = "have", rest[word.end() :].lstrip(" ") if word else rest
    elif last in _HAVE and not ((form and form.tense in ("past", "participle")) or lower in SAME_IN_PAST):
        main = "have"
    elif last in ("do", "does", "did") and not negated and not (form and form.tense == "base"):
        main = "do"
    if main:
        tense = "past" if last in ("was", "were", "had", "did") else "base"
        verb, after = main, rest
    else:
        verb, tense = (form.lemma, form.tense) if form else (lower, "base")
        if last in _HAVE and lower in SAME_IN_PAST:
            tense = "participle"  # "have read", "have cut"
        after = rest[word.end() :].lstrip(" ") if word else rest
    return Clause(
        span=clause.span,
        quote=clause.quote,
        plain=clause.plain,
        lead=clause.lead,
        subject=clause.subject,
        helpers=frozenset(helpers),
        adverbs=adverbs,
        negated=negated,
        verb=verb,
        tense=tense,
        rest=after.rstrip(" .!…"),
        predicate=clause.predicate.rstrip(" "),
    )
