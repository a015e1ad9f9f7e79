"""Events -> claims about entities, each with the words that it rests on."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple, Protocol

from everyword.knowledge.legacy.extract.facts.claims import TURNS_OUT, Claim, Course
from everyword.knowledge.legacy.extract.facts.kinship import kinship, no_longer
from everyword.knowledge.legacy.extract.facts.passing import in_passing
from everyword.knowledge.legacy.extract.facts.rules import claims_of
from everyword.knowledge.legacy.extract.facts.when import When, lasted, when
from everyword.knowledge.legacy.extract.noise import MOST_READ, asks, is_question, worth_reading
from everyword.knowledge.legacy.extract.rules import guards
from everyword.knowledge.legacy.extract.rules.apply import ASSISTANTS
from everyword.knowledge.legacy.extract.rules.clauses import Clause, Subject, Who, clauses
from everyword.knowledge.legacy.extract.rules.clauses import read as read_clause
from everyword.knowledge.legacy.extract.rules.found import needs_third
from everyword.knowledge.legacy.extract.rules.kin import kin_name
from everyword.text.spans import composed, sentences
from everyword.types.events import Event, Span
from everyword.types.graph import ANY, EntityType, FactDraft, Mention, name_key
from everyword.types.trust import source_of, states_nothing

EXTRACTOR = "facts/2"  # the number changes whenever the same event would give other facts
MOST_FACTS = 40  # of one event: a message that claims more is a document
LONGEST_OBJECT = 80  # characters
# A sentence without any of these can't claim a fact; looking for them first saves reading most sentences.
_TRIGGER = re.compile(
    r"\b(?:liv(?:e[sd]?|ing)|resid\w+|mov(?:e[sd]?|ing)|relocat\w+|work(?:s|ed|ing)?|start(?:s|ed)?|began|took|accepted"
    r"|join(?:s|ed)?|left|quit|resigned|am|is|are|was|were|been|I['’]m|we['’]re|(?:he|she)['’]s|married|got|divorced"
    r"|split|broke|separated|dat(?:es?|ing|ed)|stud(?:y|ies|ied|ying)|graduated|speaks?|likes?|loves?|enjoys?|adores?"
    r"|prefers?|hates?|dislikes?|detests?|loathes?|us(?:es?|ed|ing)|switched|ha(?:ve|s|d)|I['’]ve|adopted|owns?|rescued"
    r"|decided|visited|went|travelled|traveled|flew|grew|comes?|leads?|led|manages?|founded|co-?founded|reports?|lost|attend(?:s|ed)?|retired|fired)\b",
    re.IGNORECASE,
)


class Names(Protocol):
    """Whom names mean in a space."""

    @property
    def space(self) -> str:
        """Give the space whose names these are."""
        ...

    def id_of(self, mention: Mention, speaker: str | None = None) -> str:
        """Give the id of what a mention means, or the one that it will get."""
        ...

    def form_of(self, mention: Mention, speaker: str | None = None) -> str:
        """Give the id of the name itself, whatever it means."""
        ...


class _Party(NamedTuple):
    """One side of a fact: the id of an entity, its name, and the id of the name as it was said."""

    id: str
    name: str
    form: str = ""


def extract_facts(event: Event, mentions: Sequence[Mention], index: Names) -> list[FactDraft]:
    """List what an event claims. Pure: the same event, mentions and names give the same drafts."""
    role = (event.role or "").lower()
    if states_nothing(event) or role in ASSISTANTS:
        return []
    if (letters := composed(event.text)) is not None:
        placed = [
            replace(one, span=letters.forth(one.span), text=unicodedata.normalize("NFC", one.text)) for one in mentions
        ]
        drafts = _Reading(replace(event, text=letters.text), placed, index).drafts()
        return [replace(one, span=letters.back(one.span), quote=letters.quote(one.span)) for one in drafts]
    return _Reading(event, mentions, index).drafts()


class _Reading:
    """One event while it is read."""

    def __init__(self, event: Event, mentions: Sequence[Mention], index: Names) -> None:
        self.event = event
        self.index = index
        self.mentions = mentions
        self.speaker = event.speaker or (event.role or "speaker").capitalize()
        self.text = guards.hide_quotations(event.text[:MOST_READ])
        self.last_person: Subject | None = None
        self.found: dict[tuple[object, ...], FactDraft] = {}

    def drafts(self) -> list[FactDraft]:
        self._kinships()
        kept, _ = worth_reading(self.text)
        for index, sentence in enumerate(kept):
            words = self.text[sentence.start : sentence.end]
            if index + 1 < len(kept) and guards.takes_back(self.text[slice(*kept[index + 1])]):
                continue
            if _TRIGGER.search(words) and guards.sentence_reason(words) is None:
                self._sentence(sentence, words)
                self._passing(sentence, words)
        return list(self.found.values())[:MOST_FACTS]

    def _kinships(self) -> None:
        named = [mention for mention in self.mentions if mention.kin and not mention.bare]
        if not named:
            return
        spans = sentences(self.text)
        for mention in named:
            sentence = next((span for span in spans if span.start <= mention.span.start < span.end), None)
            if sentence is None or "…" in self.text[mention.span.start : mention.span.end]:
                continue
            before, after = Span(sentence.start, mention.span.start), Span(mention.span.end, sentence.end)
            claim = kinship(mention, self.text[slice(*before)], self.text[slice(*after)])
            if claim is not None:
                owner = self._named(mention.owner) if mention.owner else self._self()
                # A name beside its relation is presupposed: no date in the sentence is its date. What was, was then.
                at = self.event.at
                times = When(holds_at=at)
                if claim.course is Course.ENDED:
                    times = (
                        lasted(self.text, sentence, sentence, at)
                        if _IS_SAID.match(self.text, after.start)
                        else When(valid_to=at)
                    )
                self._keep(claim, owner, self._entity(mention), sentence, times)

    def _sentence(self, sentence: Span, words: str) -> None:
        found = [self._turned_out(clause) for clause in clauses(self.text, sentence)]
        if is_question(words):
            spoken = [self.text[clause.span.start : clause.span.end] for clause in found]
            found = found[: next((index for index, part in enumerate(spoken) if asks(part)), 0)]
        for clause in found:
            clause = self._resolved(clause)
            verbatim = self.text[clause.span.start : clause.span.end]
            if guards.clause_reason(clause, verbatim) is not None or needs_third(clause) or clause.relative:
                continue
            subject = self._subject(clause)
            if subject is None:
                continue
            for claim in claims_of(clause):
                self._take(claim, clause, subject, sentence)
            if (over := no_longer(clause)) is not None:
                self._keep(
                    over,
                    self._self(),
                    subject,
                    clause.quote,
                    when(over.course, self.text, sentence, clause.span, self.event.at),
                )

    def _turned_out(self, clause: Clause) -> Clause:
        """Read what turned out by itself: "turns out I am not allergic to nuts"."""
        if (opening := _TURNS_OUT.match(self.text, clause.span.start, clause.span.end)) is None:
            return clause
        told = read_clause(self.text, Span(opening.end(), clause.span.end), clause.quote)
        return clause if told is None else replace(told, lead=TURNS_OUT)

    def _passing(self, sentence: Span, words: str) -> None:
        if is_question(words):
            return
        for claim in in_passing(words):
            target = self._object(claim, sentence)
            if target is not None:
                self._keep(
                    claim,
                    self._self(),
                    target,
                    sentence,
                    when(claim.course, self.text, sentence, sentence, self.event.at),
                )

    def _resolved(self, clause: Clause) -> Clause:
        subject = clause.subject
        if subject.who is Who.PERSON:
            named = self._mention(subject.name) if subject.name else None
            is_one = subject.kin is not None or (named is not None and named.type is EntityType.PERSON)
            self.last_person = subject if is_one else None
        elif subject.who is Who.PRONOUN and subject.words.lower() != "they":
            person = self.last_person or self._only_person_before(clause.span.start)
            return replace(clause, subject=person) if person else clause
        return clause

    def _only_person_before(self, place: int) -> Subject | None:
        """Give the one person who was named so far; two could both be "she"."""
        people = [m for m in self.mentions if m.type is EntityType.PERSON and m.span.start < place]
        if len({self.index.id_of(mention, self.speaker) for mention in people}) != 1:
            return None
        last = people[-1]
        name = None if last.bare else last.text
        return Subject(who=Who.PERSON, words=last.text, name=name, kin=last.kin, owner=last.owner)

    def _take(self, claim: Claim, clause: Clause, subject: _Party, sentence: Span) -> None:
        target = self._object(claim, clause.span)
        if target is None or target.id == subject.id:
            return
        if claim.relation == "born_on" and subject.id == self._self().id and not re.search(r"\d", target.name):
            return
        quote = clause.quote
        at = self.event.at
        # "Was laid off last week" has the verb of a state, and says when one ended.
        if claim.course is Course.ENDED and clause.verb in _STATES and clause.past and claim.object != ANY:
            times = lasted(self.text, sentence, clause.span, at)
        else:
            times = when(claim.course, self.text, sentence, clause.span, at)
        if claim.relation in ("born_on", "born_in"):
            times = When(holds_at=at)
        self._keep(claim, subject, target, quote, times)

    def _keep(self, claim: Claim, subject: _Party, target: _Party, quote: Span, times: When) -> None:
        if claim.turned:
            subject, target = target, subject
        event = self.event
        draft = FactDraft(
            subject=subject.id,
            subject_name=subject.name,
            subject_form=subject.form,
            relation=claim.relation,
            object=target.id,
            object_name=target.name,
            object_form=target.form,
            event_id=event.id,
            span=quote,
            quote=event.text[quote.start : quote.end],
            said_at=event.at,
            recorded_at=event.recorded_at,
            source=source_of(event),
            confidence=claim.confidence,
            extractor=EXTRACTOR,
            **times._asdict(),
        )
        self.found.setdefault((draft.subject, draft.relation, draft.object, claim.course), draft)

    # Whom and what

    def _self(self) -> _Party:
        return self._named(self.speaker)

    def _named(self, name: str) -> _Party:
        mention = Mention(span=Span(0, 0), text=name, type=EntityType.PERSON, score=1.0)
        return self._party(mention, name)

    def _entity(self, mention: Mention) -> _Party:
        name = mention.text
        if mention.bare and mention.kin:
            name = kin_name(mention.owner or self.speaker, mention.kin)
        return self._party(mention, name)

    def _party(self, mention: Mention, name: str) -> _Party:
        index, speaker = self.index, self.speaker
        return _Party(index.id_of(mention, speaker), name, index.form_of(mention, speaker))

    def _subject(self, clause: Clause) -> _Party | None:
        subject = clause.subject
        if subject.who in (Who.SELF, Who.US):
            return self._self()
        if subject.who is not Who.PERSON:
            return None
        if subject.name:
            mention = self._mention(subject.name)
            if mention is None or mention.type is not EntityType.PERSON:
                return None
            return self._entity(mention)
        bare = next(
            (m for m in self.mentions if m.bare and subject.words and m.text.lower() == subject.words.lower()), None
        )
        return self._entity(bare) if bare else None

    def _mention(self, name: str) -> Mention | None:
        key = name_key(name)
        return next((m for m in self.mentions if not m.bare and name_key(m.text) == key), None)

    def _object(self, claim: Claim, within: Span) -> _Party | None:
        words = claim.object.strip(" .,!")
        if claim.object == ANY:
            return _Party(ANY, ANY)
        if not claim.entity:
            name = words[:LONGEST_OBJECT].strip()
            return _Party(name_key(name), name) if len(name) > 1 and "…" not in name else None
        allowed = _ALLOWED.get(claim.relation)
        plain = re.sub(r"^the ", "", words.replace("’", "'"), flags=re.IGNORECASE)
        for mention in self.mentions:
            inside = within.start <= mention.span.start < within.end
            text = re.sub(r"^the ", "", mention.text.replace("’", "'"), flags=re.IGNORECASE)
            if not inside or mention.bare or not plain.startswith(text):
                continue
            if (allowed is None or mention.type in allowed) and _stands_alone(plain[len(text) :]):
                return self._entity(mention)
        return None


_TURNS_OUT = re.compile(r"\s*(?:and |but |so |well,? )?(?:as )?(?:it )?turn(?:s|ed) out,? (?:that )?", re.IGNORECASE)
_IS_SAID = re.compile(r"\s(?:was|used to be)\s")
_NEXT_WORD = re.compile(r"(?:'s)?\s(?P<word>[a-z][\w'-]*)")
# What can follow a name that is the object itself; a noun makes it a part of something else: "a Facebook group".
_MAY_FOLLOW = frozenset(
    """and or but in on at since for from with as by to near because so when while after before until last this next
    yesterday today tonight now again recently lately currently then two three four five six seven eight nine ten a an
    the my our years months weeks about around almost over full-time part-time remotely who which where every each all
    too also together back twice once any anymore ago earlier later during through via without these those right just
    mostly still instead permanently officially alone one several many some few""".split()
)


def _stands_alone(following: str) -> bool:
    if following.startswith("'s"):
        return False
    word = _NEXT_WORD.match(following)
    return word is None or word["word"] in _MAY_FOLLOW or word["word"].endswith("ly")


# "Lived in Oslo in 2015" says when the state was; "left Siemens in 2015" says when it ended.
_STATES = frozenset("live reside work study attend be use have own like love enjoy lead manage date dat report".split())
_PERSON, _PLACE, _ORGANISATION = EntityType.PERSON, EntityType.PLACE, EntityType.ORGANISATION
_PROJECT, _THING = EntityType.PROJECT, EntityType.THING
# What the object of each relation may be taken for; types are guesses, and some mistakes are harmless.
_ALLOWED: dict[str, frozenset[EntityType]] = {
    **dict.fromkeys(("lives_in", "comes_from", "born_in", "visited", "located_in"), frozenset((_PLACE,))),
    **dict.fromkeys(("works_at", "member_of", "studies_at", "founded"), frozenset((_ORGANISATION, _THING, _PROJECT))),
    **dict.fromkeys(("works_on", "leads"), frozenset((_PROJECT, _ORGANISATION, _THING))),
    **dict.fromkeys(("married_to", "partner_of", "friend_of", "reports_to"), frozenset((_PERSON,))),
    "owns_pet": frozenset((_THING, _PERSON)),
}
