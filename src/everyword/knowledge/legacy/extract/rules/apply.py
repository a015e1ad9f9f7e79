"""Rules over the sentences of an event: what it states, with the words that state it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from everyword.knowledge.legacy.extract import (
    tags,  # as a module: it reads words of this package, and may be loading now
)
from everyword.knowledge.legacy.extract.noise import MOST_READ, Reason, Skipped, asks, is_question, worth_reading
from everyword.knowledge.legacy.extract.rules import ending, facts, guards, intending, relating, telling
from everyword.knowledge.legacy.extract.rules.clauses import Clause, Who, clauses
from everyword.knowledge.legacy.extract.rules.clauses import read as read_clause
from everyword.knowledge.legacy.extract.rules.found import TIME_HINT, Found
from everyword.knowledge.legacy.extract.rules.table import first_find, first_find_of_assistant, worth_asking_assistant
from everyword.knowledge.legacy.extract.rules.verbs import form_of
from everyword.knowledge.legacy.extract.rules.wording import names_in, whom, worded
from everyword.text.dates import LOOKS_BACK, DateMention, Granularity, find_dates
from everyword.text.spans import composed
from everyword.types.events import Event, Span
from everyword.types.statements import TO_DO, SaidDate, Slot, Stance, StatementDraft, StatementKind
from everyword.types.trust import states_nothing

EXTRACTOR = "rules/5"  # the number changes whenever the same event would give other statements
MOST_STATEMENTS = 50  # of one event: a message that states more is a document
ASSISTANTS = frozenset(("assistant", "ai", "model", "bot"))
_HIDDEN = re.compile("…{3,}")
_PUT_AHEAD = frozenset((StatementKind.DECISION, StatementKind.TODO))
_ASKING = frozenset("ask tell remind advise want".split())
_ONWARDS = re.compile(r"\bfrom\s+(?:the\s+)?$", re.IGNORECASE)
_TO_COME = re.compile(r"\b(?:to|will|we'll) [a-z]")
_TO_A_DAY = re.compile(
    r"\b(?:to|for|is|be|now) (?:the )?(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|(?:march|may) \d\d?"
    r"|\d\d? (?:march|may))\b"
    r"|\b(?-i:March|May) \d\d?\b|\b\d\d? (?-i:March|May)\b",
    re.IGNORECASE,
)
# In the present tense these speak of what is to come: "the meeting is on 18 March".
_AHEAD = frozenset(
    (StatementKind.TODO, StatementKind.REMINDER, StatementKind.EVENT, StatementKind.KEY_FACT, StatementKind.DECISION)
)
# A clause that hangs on a noun ("the shoes that I bought on Friday") tells what happened; what is liked is the noun.
_RELATIVE_KINDS = frozenset((StatementKind.EVENT, StatementKind.ATTRIBUTE))
_QUALIFIED = frozenset((StatementKind.PREFERENCE, StatementKind.REMINDER, StatementKind.DECISION))
# What lasts until it ends. A decision against something, or what happened once, does not end by being so.
_STATES = frozenset((StatementKind.ATTRIBUTE, StatementKind.PREFERENCE, StatementKind.RELATIONSHIP, StatementKind.TODO))


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """What was found in an event, and what was skipped and why."""

    statements: tuple[StatementDraft, ...] = ()
    skipped: tuple[Skipped, ...] = ()


def extract(event: Event, *, known_speakers: Collection[str] = ()) -> Extraction:
    """Read an event for statements. Pure: the same event gives the same drafts."""
    if (letters := composed(event.text)) is not None:
        found = extract(replace(event, text=letters.text), known_speakers=known_speakers)
        return Extraction(
            statements=tuple(
                replace(draft, quote=letters.quote(draft.span), span=letters.back(draft.span))
                for draft in found.statements
            ),
            skipped=tuple(replace(skip, span=letters.back(skip.span)) for skip in found.skipped),
        )
    role = (event.role or "").lower()
    if states_nothing(event) or (role in ASSISTANTS and not worth_asking_assistant(event.text)):
        return Extraction()
    text = guards.hide_quotations(event.text[:MOST_READ]) + event.text[MOST_READ:]
    kept, skipped = worth_reading(text)
    reading = _Reading(event=event, text=text, names=known_speakers)
    drafts: dict[tuple[object, ...], StatementDraft] = {}
    for index, sentence in enumerate(kept):
        if index + 1 < len(kept) and guards.takes_back(text[slice(*kept[index + 1])]):
            reason = Reason.SARCASM
        else:
            reason = guards.sentence_reason(text[sentence.start : sentence.end])
        if reason is not None:
            skipped.append(Skipped(span=sentence, reason=reason))
            continue
        for draft, reason in reading.read(sentence, assistant=role in ASSISTANTS):
            if reason is not None:
                skipped.append(Skipped(span=sentence, reason=reason))
            elif draft is not None and len(drafts) < MOST_STATEMENTS:
                drafts.setdefault((draft.span, draft.kind, draft.about, draft.slot), draft)
    skipped.sort(key=lambda skip: skip.span)
    return Extraction(statements=tuple(drafts.values()), skipped=tuple(skipped))


class _Reading:
    """One event while it is read: who was spoken of last, so that "she" has a name."""

    def __init__(self, *, event: Event, text: str, names: Collection[str]) -> None:
        self.event = event
        self.text = text
        self.names = {name.casefold(): name for name in names}
        self.speaker = event.speaker or (event.role or "speaker").capitalize()
        self.last_person: Clause | None = None

    def read(self, sentence: Span, *, assistant: bool) -> Iterator[tuple[StatementDraft | None, Reason | None]]:
        """Give the drafts of a sentence, and the reason of each clause that was skipped."""
        words = self.text[sentence.start : sentence.end]
        announced = (
            None if assistant else telling.announces(words) or facts.puts_right(words) or facts.helps_for_now(words)
        )
        if announced is not None and (whole := read_clause(self.text, sentence, sentence)) is not None:
            # "I was wrong about the exam, it's on Monday": what was wrong is past, what is so is not.
            wrong = announced.stance is Stance.CHANGED
            yield (
                self._draft(replace(whole, tense="base", helpers=frozenset()) if wrong else whole, announced, sentence),
                None,
            )
            return
        found = clauses(self.text, sentence)
        if is_question(self.text[sentence.start : sentence.end]):
            found = self._before_the_question(found)
            if not found:
                yield None, Reason.QUESTION
                return
        quoted = False  # what follows somebody's words is theirs too
        for clause in found:
            spoken, clause = clause, self._resolved(clause)
            if assistant:
                found_out = first_find_of_assistant(clause)
                if found_out is not None:
                    yield self._draft(clause, found_out, sentence), None
                continue
            considered = intending.considering(clause)
            if considered is not None:
                yield self._draft(clause, considered, sentence), None
                continue
            reason = guards.clause_reason(clause, self.text[clause.span.start : clause.span.end])
            if quoted or reason is not None:
                quoted = quoted or reason is Reason.QUOTED
                yield None, reason or Reason.QUOTED
                continue
            yield from self._relations(spoken, sentence)
            if relating.is_only_relation(clause):
                continue
            stated = ending.with_ending(clause, first_find(clause))
            if stated is None or (clause.relative and stated.kind not in _RELATIVE_KINDS):
                continue
            # To a wish or an order a condition is a qualifier, quoted with it; a fact it makes a mere possibility.
            if guards.is_conditional(clause) and stated.kind not in _QUALIFIED:
                yield None, Reason.HYPOTHETICAL
                continue
            yield self._draft(clause, stated, sentence), None

    def _before_the_question(self, found: list[Clause]) -> list[Clause]:
        """What is stated before a question counts: "I moved to Porto, can you recommend a gym?"."""
        spoken = [self.text[clause.span.start : clause.span.end] for clause in found]
        asked = next((index for index, words in enumerate(spoken) if asks(words)), 0)
        return found[:asked]

    def _resolved(self, clause: Clause) -> Clause:
        """Put the person that was last spoken of in the place of "he" or "she"."""
        if clause.subject.who is Who.PERSON:
            self.last_person = clause if self._may_be_he(clause) else None
        elif clause.subject.who is Who.PRONOUN and self.last_person and clause.subject.words.lower() != "they":
            return replace(clause, subject=self.last_person.subject)
        return clause

    def _may_be_he(self, clause: Clause) -> bool:
        """Tell whether "he" can mean a clause's subject: a place or a company can't, nor a name without a verb."""
        from everyword.knowledge.legacy.extract.entities.gazetteer import (  # it reads this package's words
            ORGANISATIONS,
            PLACES,
            PRODUCTS,
        )

        subject = clause.subject
        name = (subject.name or "").casefold()
        if subject.kin is not None or name in self.names:
            return True
        return form_of(clause.verb) is not None and not any(name in one for one in (PLACES, ORGANISATIONS, PRODUCTS))

    def _relations(self, clause: Clause, sentence: Span) -> Iterator[tuple[StatementDraft | None, Reason | None]]:
        dated = relating.is_only_relation(clause)
        for found in (relating.relation(clause), relating.implied(clause)):
            if found is not None:
                yield self._draft(clause, found, sentence, dated=dated or not relating.is_kin(found)), None

    def _draft(self, clause: Clause, found: Found, sentence: Span, *, dated: bool = True) -> StatementDraft:
        event = self.event
        quote = event.text[clause.quote.start : clause.quote.end]
        about = (found.about or self.speaker) if found.about is not None else whom(clause.subject, self.speaker)
        about = self.names.get(about.casefold(), about) if about else None
        negated = clause.negated if found.negated is None else found.negated
        stance = found.stance or Stance.HOLDS
        if stance is Stance.HOLDS and telling.corrects(event.text[sentence.start : sentence.end]):
            stance = Stance.CHANGED
        date = self._date(clause, sentence, found) if dated else None
        draft = StatementDraft(
            kind=found.kind,
            content=self._shown(
                worded(clause, found, self.speaker, self.text[sentence.start : sentence.end]), sentence
            ),
            category=found.category,
            quote=quote,
            event_id=event.id,
            span=clause.quote,
            speaker=event.speaker,
            about=about,
            confidence=found.confidence,
            date=date,
            valid_from=_begins(date, found, stance, event.at),
            valid_to=event.at if stance is Stance.ENDED and found.kind in _STATES else None,
            entities=names_in(quote, about),
            negated=negated,
            slot=Slot(about or "", self._shown(found.attribute, clause.span)) if found.attribute else None,
            value=self._shown(found.value, clause.span) if found.value else None,
            stance=stance,
            extractor=EXTRACTOR,
        )
        return replace(draft, tags=tags.tags_of(draft))

    def _shown(self, words: str, span: Span) -> str:
        """Put what was hidden between quotation marks back into its place."""
        if "…" not in words:
            return words
        hidden = (self.event.text[slice(*match.span())] for match in _HIDDEN.finditer(self.text, span.start, span.end))
        return _HIDDEN.sub(lambda match: next(hidden, match[0]), words)

    def _date(self, clause: Clause, sentence: Span, found: Found) -> SaidDate | None:
        """Resolve the time that the sentence names; one of the clause itself goes first."""
        words = self.text[sentence.start : sentence.end]
        if not TIME_HINT.search(words) and not _TO_A_DAY.search(words):
            return None
        past = True if clause.past else False if found.kind in _AHEAD else None
        own = Span(clause.span.start - sentence.start, clause.span.end - sentence.start)
        said = self._mentions(words, own, past)
        if said and past and (found.kind in _PUT_AHEAD or clause.verb in _ASKING):
            # "Decided to ship on May 14", "promised to call by Friday": deciding is past, what was decided is to come.
            # "Decided on May 14 to ship" is all past.
            ahead = _TO_COME.search(words, own.start, said[0].span.start)
            # What was decided can't lie before the deciding: "decided to set the novel in 1913" has no date.
            said = [one for one in self._mentions(words, own, False) if one.end > self.event.at] if ahead else said
        if found.kind in TO_DO and not clause.past:
            said = [one for one in said if one.end > self.event.at and not LOOKS_BACK.search(one.text)]
        if found.stance is Stance.DONE:
            # "Talked to Ann: the lease ends in July" has not been done in July.
            said = [one for one in said if one.start <= self.event.at or ": " not in words[own.start : one.span.start]]
        if not said:
            return None
        # "recently, on 3 March": the surer of two is meant.
        mention = min(said, key=lambda mention: (not mention.certain, mention.guessed))
        return SaidDate(mention.start, mention.end, mention.text, mention.certain and not mention.guessed)

    def _mentions(self, words: str, own: Span, past: bool | None) -> list[DateMention]:
        named = find_dates(words, self.event.at, past=past, mostly=bool(past), nearest=True)
        mentions = [mention for mention in named if _is_a_date(mention)]
        mentions = [mention for mention in mentions if own.start <= mention.span.start < own.end]
        # "Accepted a job from July" says when the job begins, not when it was accepted.
        return [one for one in mentions if not (past and _ONWARDS.search(words, own.start, one.span.start))]


def _is_a_date(mention: DateMention) -> bool:
    return not mention.repeats and mention.granularity is not Granularity.LIFE


def _begins(date: SaidDate | None, found: Found, stance: Stance, at: datetime) -> datetime | None:
    """Say since when it is true: since the date that was said where that has passed, else since it was said."""
    if stance is Stance.ENDED and found.kind in _STATES:
        return None
    if date is not None and date.start <= at and found.kind is not StatementKind.TODO:
        return date.start
    return at
