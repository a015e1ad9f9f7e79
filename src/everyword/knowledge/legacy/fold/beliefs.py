"""Who knows what: where things are and how they stand, by what was said, and who was there when it changed.

Read by rules, sentence by sentence: moves of things, comings and goings of people, tellings, and what somebody missed.
Whoever is there when a thing changes sees it; whoever left before keeps the older belief until told. Coming back shows
nothing by itself: Sally looks for the ball where she left it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from everyword.knowledge.legacy.fold.goals import LONGEST, MOST_READ, Mark, MarkKind
from everyword.text.spans import sentences
from everyword.types.events import SILENT, Event, Json, Span
from everyword.types.graph import name_key
from everyword.types.intents import Belief, Evidence, KnownBy
from everyword.types.trust import states_nothing

MOST_STATES = 40  # marks of one event; a story in one event has its say, a log file does not


class Do(StrEnum):
    """What a sentence says happened."""

    MOVE = "move"  # a thing came to be somewhere, or otherwise
    ENTER = "enter"
    LEAVE = "leave"
    TELL = "tell"
    MISS = "miss"  # somebody was not there, or does not know


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """One such sentence, where it was said."""

    seq: int
    ground: Evidence
    session: str | None
    body: Mapping[str, Any]
    hearers: tuple[str, ...] = ()  # who spoke in the same session shortly before


# Reading

_NOT_A_NAME = (
    "The|A|An|My|Our|His|Her|Their|Its|This|That|These|Those|Then|After|Before|When|While|Where|It|There|Here"
    "|Today|Yesterday"
    "|Tomorrow|Now|Later|Meanwhile|Finally|Still|Also|And|But|So|If|In|On|At|As|Once|Everyone|Everybody|Nobody"
    "|Somebody|Someone|No|Not|I|We|You|He|She|They|Maybe|Perhaps|Possibly|Probably|Please|Let|Shall|Should|Would|Could"
    "|Might|Must|Can|Do|Does|Did|Is|Are|Was|Were|Has|Have|Had|What|Which|Who|Why|How"
)
_NAME = rf"(?!(?:{_NOT_A_NAME})\b)[A-Z][\w'-]{{0,30}}(?: (?!(?:{_NOT_A_NAME})\b)[A-Z][\w'-]{{0,30}}){{0,2}}"
_PEOPLE = rf"(?:{_NAME}(?:(?:, and|,| and) (?:{_NAME}|I)){{0,5}}|[Hh]e|[Ss]he|[Tt]hey|[Ww]e|I)"
_LEAD = r"^(?:(?:Then|Later|Meanwhile|After that|Today|Yesterday|Finally|And|But|So|Now),? )?"
_DET = r"(?:the|a|an|my|our|his|her|their|this|that)"
_THING = rf"(?:{_DET} [\w'# -]{{1,40}}?|[\w-]*[#\d][\w-]*|[A-Za-z]+ #?\d[\w-]*)"
_VALUE = (
    r"(?P<value>[^.,;!?\n]{1,60}?)(?=[.,;!?]|$| (?:and|but|while|because|when|so|since|again|yesterday|today"
    r"|this morning|for now)\b)"
)
_TO = r"(?: back)?(?: from [\w' -]{1,40}?)? (?:into|onto|in|on|to|at|under|behind|inside|until|till) "
_CARRY = (
    r"(?:moved|puts?|placed|places|hid|hides|stored|shifted|pushed|dragged|transferred|left|dropped|carried"
    r"|brought|took|changed"
    r"|postponed|rescheduled|assigned|shelved|returned|slid|threw|stuck)"
)
_BECOME = (
    r"(?:(?:has |have |had )?(?:just |now |finally )?(?:moved|went|changed|slipped|switched|came|fell|passed)"
    r"|(?:was|were|has been|have been|got|gets|is being) (?:just |now |finally )?(?:moved|put|placed|pushed"
    r"|postponed|changed|shifted|assigned"
    r"|rescheduled|transferred|brought|taken|returned|set)|(?:is|are|was|were|lies|stands|sits)(?: now"
    r"| currently| still)?)"
)
_ABSENT = (
    r"(?:away|out|off|absent|offline|asleep|gone|not there|not in|on (?:holiday|vacation|leave|a break|a trip)|sick"
    r"|at lunch|out of (?:the )?office|travelling|traveling)"
)
_MOVED = re.compile(
    rf"{_LEAD}(?P<who>{_PEOPLE}) (?:then |has |have |had |just )*{_CARRY} (?P<thing>{_THING}){_TO}(?:{_DET} )?{_VALUE}"
)
_BECAME = re.compile(
    rf"{_LEAD}(?P<thing>{_THING}|The [\w'# -]{{1,40}}?|[A-Z][\w-]* #?\d[\w-]*|(?:My"
    rf"|Our) [\w' -]{{1,40}}?) {_BECOME}{_TO}(?:{_DET} )?{_VALUE}"
)
_TOLD = re.compile(
    rf"{_LEAD}(?P<who>{_PEOPLE}) (?:have |has |had |just |already |then |finally )*(?:(?:told|informed|texted"
    rf"|emailed|messaged|showed|reminded|warned|called)"
    rf" (?P<whom>{_PEOPLE}|me|us|him|her|them)|let (?P<whom2>{_PEOPLE}|me|us|him|her|them) know) (?P<how>that"
    rf"|about) (?P<what>.+)$"
)
_LEARNED = re.compile(
    rf"{_LEAD}(?P<whom>{_PEOPLE}) (?:have |has |had |just |now |already |finally )*(?:found out|learned|learnt"
    rf"|heard|read|saw|noticed|knows?|discovered) (?P<how>that|about) (?P<what>.+)$"
)
_MISSED = re.compile(
    rf"{_LEAD}(?P<who>{_PEOPLE}) (?:was|were|wasn't there|is"
    rf"|has been) ?(?:{_ABSENT})?[\w ]{{0,20}}? when (?P<thing>{_THING}) (?:was |were |got )?(?:changed|moved"
    rf"|pushed|put|postponed|shifted|taken|decided)\b"
    rf"|{_LEAD}(?P<who2>{_PEOPLE}) (?:does not|doesn't|did not|didn't|do not|don't|hasn't"
    rf"|haven't) (?:yet )?(?:know|hear|heard|see|seen|notice)(?: yet)?(?: about"
    rf"| of)? (?P<thing2>{_THING})(?: change| move)?\b"
    rf"|(?:[Nn]obody|[Nn]o one) (?:has )?told (?P<who3>{_NAME}) (?:yet )?(?:about|of) (?P<thing3>{_THING})"
)
_ENTERED = re.compile(
    rf"{_LEAD}(?P<who>{_PEOPLE}) (?:then |just |has |have |had )*(?:entered|joined|came (?:back )?(?:in|to|into)"
    rf"|walked (?:back )?into|went (?:back )?into|returned to|got back to|is (?:back )?in|are (?:back )?in"
    rf"|was in|were in|re-entered|arrived (?:in|at)) (?:{_DET} )?(?P<place>[\w' -]{{1,40}}?)(?=[.,;!?]|$| (?:and"
    rf"|with|again|at)\b)"
    rf"|{_LEAD}(?P<who2>{_PEOPLE}) (?:is|are|was|were) back\b|{_LEAD}(?P<who3>{_PEOPLE}) (?:came|got) (?:back"
    rf"|online)\b|{_LEAD}(?P<who4>{_PEOPLE}) (?:returned|arrived)\b"
)
_LEFT = re.compile(
    rf"{_LEAD}(?P<who>{_PEOPLE}) (?:then |just |has |have |had )*(?:(?:left|exited|walked out of|went out of"
    rf"|stepped out of|dropped off)(?: {_DET} (?P<place>[\w' -]{{1,40}}?))?|went (?:away|out|home|offline"
    rf"|outside|on holiday|on vacation|on leave|to lunch|to sleep)|stepped out|logged off|(?:is|are|was|were"
    rf"|will be) {_ABSENT})(?=[.,;!?]|$| (?:and|for|until|at|early|this|today|again|since|all|because)\b)"
)
# In small letters alone: Will and May are names.
_SUPPOSED = re.compile(
    r"\b(?:if|would|should|shall|could|might|must|want|wants|need|needs|plan|plans|let's|hope|maybe|perhaps|possibly"
    r"|probably|not|never|cannot|(?-i:will|may))\b|n't\b",
    re.IGNORECASE,
)
_NOT_SO = re.compile(
    r"\b(?:if|would|should|shall|could|might|maybe|perhaps|not|never|wants? to)\b|n't\b", re.IGNORECASE
)
_ASKS = re.compile(r"\?[\"'”’)\]]*\s*$")
_CONTRACTED = re.compile(
    r"\b(?:(?P<who>I|we|you|he|she|they|it)'(?P<short>s|re|m|ve|ll|d)|(?P<other>\w+)'(?P<ahead>ve|ll|d))\b",
    re.IGNORECASE,
)
_OPENED = {"re": " are", "m": " am", "ve": " have", "ll": " will"}
# After "she's" and "she'd" these say what was done: "she's put it away", "she'd left". "She'd put" may be a wish.
_DONE_NEXT = re.compile(
    r" (?:(?:just|now|already|finally|then) )*(?:(?P<same>put)|\w+ed|hid|left|brought|taken|gone|thrown|stuck|told"
    r"|found|heard|been|got)\b"
)


def states_of(event: Event) -> list[Mark]:
    """Read what an event says of things that changed, and of who was there. Pure."""
    if event.record is not None or (event.role or "").casefold() in SILENT or states_nothing(event):
        return []
    marks: list[Mark] = []
    for span in sentences(event.text, Span(0, min(len(event.text), MOST_READ))):
        if span.end - span.start > LONGEST or len(marks) >= MOST_STATES:
            continue
        body = _read(event.text[span.start : span.end].replace("’", "'"))
        if body is not None:
            marks.append(Mark(kind=MarkKind.STATE, span=span, body=body))
    return marks


# No state is told without one of these: most sentences cost one look.
_WORTH_READING = re.compile(
    rf"\b(?:{_CARRY[3:-1]}|moved|went|slipped|switched|is|are|was|were|lies|stands|sits|has|have|had|came|fell"
    rf"|passed|got|told"
    r"|informed|texted|emailed|messaged|showed|reminded|warned|called|let|found|learned|learnt|heard|read|saw"
    r"|noticed|knows?"
    r"|know|discovered|entered|joined|walked|returned|re-entered|arrived|left|exited|stepped|logged|nobody|no one)\b",
    re.IGNORECASE,
)


def _read(sentence: str) -> dict[str, Json] | None:
    if not _WORTH_READING.search(sentence) or _ASKS.search(sentence):
        return None
    if "'" in sentence:
        sentence = _CONTRACTED.sub(_open, sentence)
    for rule in (_read_missed, _read_told, _read_moved, _read_place):
        body = rule(sentence)
        if body is not None:
            return body
    return None


def _open(match: re.Match[str]) -> str:
    """Open a contraction, so that a name ends where it ends: "I've" is I."""
    short = (match["short"] or match["ahead"]).lower()
    done = _DONE_NEXT.match(match.string, match.end())
    if short == "s":
        opened = " has" if done else " is"
    elif short == "d":
        opened = " had" if done and not done["same"] else " would"
    else:
        opened = _OPENED[short]
    return (match["who"] or match["other"]) + opened


def _read_missed(sentence: str) -> dict[str, Json] | None:
    match = _MISSED.search(sentence)
    if match is None:
        return None
    who = match["who"] or match["who2"] or match["who3"]
    thing = match["thing"] or match["thing2"] or match["thing3"]
    return {"do": Do.MISS, "who": _people(who), "thing": _bare(thing)}


def _read_told(sentence: str) -> dict[str, Json] | None:
    match = _TOLD.match(sentence)
    teller, hearers = (match["who"], match["whom"] or match["whom2"]) if match else (None, None)
    if match is None:
        match = _LEARNED.match(sentence)
        if match is None:
            return None
        hearers = match["whom"]
    if _SUPPOSED.search(sentence[: match.start("what")]):
        return None
    body: dict[str, Json] = {"do": Do.TELL, "who": _people(teller or ""), "whom": _people(hearers or "")}
    if match["how"] == "about":
        thing = re.match(rf"{_THING}(?=[.,;!?]|$| (?:and|but|yesterday|today|change|move)\b)", match["what"])
        return body | {"thing": _bare(thing[0])} if thing else None
    said = _read_moved(_opened(match["what"]))
    return body | {"thing": said["thing"], "value": said["value"]} if said else None


def _read_moved(sentence: str) -> dict[str, Json] | None:
    match = _MOVED.match(sentence)
    if match is None:
        match = _BECAME.match(sentence)
    if match is None or _SUPPOSED.search(sentence, 0, match.start("value")):
        return None
    who = _people(match["who"]) if "who" in match.re.groupindex else []
    value = match["value"].strip()
    return {"do": Do.MOVE, "who": who, "thing": _bare(match["thing"]), "value": value} if value else None


def _read_place(sentence: str) -> dict[str, Json] | None:
    match = _LEFT.match(sentence)
    if match is not None:
        return (
            None
            if _not_so(sentence)
            else {"do": Do.LEAVE, "who": _people(match["who"]), "place": _place(match["place"])}
        )
    match = _ENTERED.match(sentence)
    if match is None or _not_so(sentence):
        return None
    who = match["who"] or match["who2"] or match["who3"] or match["who4"]
    return {"do": Do.ENTER, "who": _people(who), "place": _place(match["place"])}


def _not_so(sentence: str) -> bool:
    return _NOT_SO.search(sentence) is not None


def _people(text: str) -> list[Json]:
    return [name.removesuffix("'s") for name in re.split(r", and |, | and ", text) if name]


def _bare(thing: str) -> str:
    return re.sub(rf"^{_DET} ", "", thing.strip(), flags=re.IGNORECASE)


def _place(place: str | None) -> str | None:
    return None if place is None else _bare(place).casefold()


def _opened(clause: str) -> str:
    """Let a clause begin as a sentence does, so that the same rules read it."""
    return clause[:1].upper() + clause[1:] if re.match(rf"{_DET} ", clause) else clause


# Believing


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """A thing came to stand otherwise, and who took notice."""

    thing: str
    value: str
    ground: Evidence
    believers: Mapping[str, KnownBy]  # by key of name
    audience: frozenset[str]  # who knows of one another that they took notice
    is_fact: bool  # False: only somebody's word to somebody


@dataclass(slots=True)
class Scene:
    """Who is where, and what was said so far. Sentences are taken in, in the order in which things happened."""

    updates: list[Update] = field(default_factory=list[Update])
    names: dict[str, str] = field(default_factory=dict[str, str])  # key -> as first written
    _there: dict[str | None, dict[str, str | None]] = field(default_factory=dict[str | None, dict[str, str | None]])
    _last: dict[str | None, list[str]] = field(default_factory=dict[str | None, list[str]])

    def take(self, state: State) -> None:
        """Follow one sentence."""
        body = state.body
        who = self._resolved(body.get("who", ()), state)
        there = self._there.setdefault(state.session, {})
        speaker = self._speaker(state)
        for person in [*map(self._key, state.hearers), *([speaker] if speaker is not None else [])]:
            there.setdefault(person, None)
        if body["do"] == Do.MOVE:
            for person in who:
                there.setdefault(person, None)
            self._move(state, who, speaker, there)
        elif body["do"] == Do.TELL:
            self._tell(state, who, self._resolved(body.get("whom", ()), state), speaker)
        elif body["do"] == Do.MISS:
            self._miss(who, str(body["thing"]))
        else:
            for person in who:
                if body["do"] == Do.ENTER:
                    there[person] = body.get("place")
                else:
                    there[person] = _AWAY
        if who:
            self._last[state.session] = who

    def _move(self, state: State, who: Sequence[str], speaker: str | None, there: Mapping[str, str | None]) -> None:
        here = there.get(who[0]) if who else None
        seen = {
            person: KnownBy.SAW
            for person, place in there.items()
            if place != _AWAY and (not who or place == here) and person != speaker
        }
        seen |= dict.fromkeys(who, KnownBy.DID)
        if speaker is not None and speaker not in who:
            seen[speaker] = KnownBy.SAID
        self._note(state, str(state.body["value"]), seen, frozenset(seen), is_fact=True)

    def _tell(self, state: State, who: Sequence[str], whom: Sequence[str], speaker: str | None) -> None:
        thing = str(state.body["thing"])
        value = state.body.get("value")
        if value is None:
            teller = who[0] if who else speaker
            known = self.last(thing, teller) if teller is not None else None
            known = known or self.last(thing, None)
            if known is None:
                return
            value, thing = known.value, known.thing
        believers = dict.fromkeys(whom, KnownBy.TOLD)
        self._note(state, str(value), believers, frozenset({*who, *whom}), is_fact=False, thing=thing)

    def _miss(self, who: Sequence[str], thing: str) -> None:
        """Take somebody out of those who noticed the latest change of a thing."""
        place = next(
            (p for p in range(len(self.updates) - 1, -1, -1) if same_thing(self.updates[p].thing, thing)), None
        )
        if place is None:
            return
        update = self.updates[place]
        believers = {person: by for person, by in update.believers.items() if person not in who}
        self.updates[place] = Update(
            thing=update.thing,
            value=update.value,
            ground=update.ground,
            believers=believers,
            audience=update.audience - set(who),
            is_fact=update.is_fact,
        )

    def _note(
        self,
        state: State,
        value: str,
        believers: Mapping[str, KnownBy],
        audience: frozenset[str],
        *,
        is_fact: bool,
        thing: str | None = None,
    ) -> None:
        self.updates.append(
            Update(
                thing=thing or str(state.body["thing"]),
                value=value,
                ground=state.ground,
                believers=believers,
                audience=audience,
                is_fact=is_fact,
            )
        )

    def last(self, thing: str, holder: str | None, of: str | None = None) -> Update | None:
        """Give the update that decides what somebody believes of a thing; holder None: how it is."""
        for update in reversed(self.updates):
            if same_thing(update.thing, thing) and _counts(update, holder, of):
                return update
        return None

    def _speaker(self, state: State) -> str | None:
        return self._key(state.ground.speaker) if state.ground.speaker else None

    def _resolved(self, names: Iterable[str], state: State) -> list[str]:
        """Give the keys of people; "I" is the speaker, "she" whoever was spoken of last."""
        found: list[str] = []
        for name in names:
            word = name.casefold()
            if word in ("i", "me", "we", "us"):
                speaker = self._speaker(state)
                found += [speaker] if speaker is not None else []
            elif word in ("he", "she", "they", "him", "her", "them"):
                found += self._last.get(state.session, [])
            else:
                found.append(self._key(name))
        return found

    def _key(self, name: str) -> str:
        key = name_key(name)
        self.names.setdefault(key, name)
        return key


_AWAY = "\0away"


def watched(states: Sequence[State]) -> Scene:
    """Take in everything that was said, in the order in which it happened."""
    scene = Scene()
    for state in sorted(states, key=lambda state: (state.ground.at, state.seq, state.ground.span)):
        scene.take(state)
    return scene


def beliefs(
    scene: Scene, *, holder: str | None = None, thing: str | None = None, of: str | None = None
) -> list[Belief]:
    """Tell what is believed of things, by one or by all; without a holder the first of each thing is how it is."""
    things = list(dict.fromkeys(_key_of(update.thing) for update in scene.updates))
    if thing is not None:
        things = [one for one in things if same_thing(one, _bare(thing))]
    people = list(scene.names) if holder is None else [name_key(holder)]
    found: list[Belief] = []
    for one in things:
        fact = scene.last(one, None)
        if holder is None and of is None and fact is not None:
            found.append(_belief(scene, fact, None, None, fact))
        about = None if of is None else name_key(of)
        found += [
            _belief(scene, known, person, about, fact)
            for person in people
            if person != about and (known := scene.last(one, person, about)) is not None
        ]
    return found


def _belief(scene: Scene, known: Update, holder: str | None, of: str | None, fact: Update | None) -> Belief:
    by = KnownBy.FACT if holder is None else known.believers.get(of or holder, KnownBy.TOLD)
    return Belief(
        holder=None if holder is None else scene.names.get(holder, holder),
        thing=known.thing,
        value=known.value,
        since=known.ground.at,
        ground=known.ground,
        by=by,
        current=fact is None or _key_of(fact.value) == _key_of(known.value),
        of=None if of is None else scene.names.get(of, of),
    )


def _counts(update: Update, holder: str | None, of: str | None) -> bool:
    if holder is None:
        return update.is_fact
    if of is None:
        return holder in update.believers
    return of in update.believers and {holder, of} <= update.audience


def same_thing(one: str, other: str) -> bool:
    """Tell whether two names mean one thing: the same words, or the head alone ("the date", of the launch date)."""
    mine, theirs = _key_of(one).split(), _key_of(other).split()
    shorter, longer = sorted((mine, theirs), key=len)
    return bool(shorter) and longer[-len(shorter) :] == shorter


def _key_of(words: str) -> str:
    return re.sub(r"[\s_]+", " ", _bare(words).casefold()).strip()
