"""Pack hits into a context, and answer questions from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from datetime import datetime

from msgspec.structs import replace

from everyword.api.arguments import checked_id
from everyword.api.facts import facts_about
from everyword.api.questions import MOST_HITS, encoded_question, search_hits
from everyword.api.scope import Scope
from everyword.engine.retry import again
from everyword.errors import ModelError, NotFound
from everyword.knowledge.names import find_entity
from everyword.knowledge.reading import speaker_name, turn_of
from everyword.knowledge.sessions import summary_of, told_in
from everyword.knowledge.statements import event_before
from everyword.models.protocol import LateInteraction
from everyword.models.reader.decoding import FoundAnswer
from everyword.models.reader.reader import TextReader
from everyword.models.reader.rows import Side, Turn
from everyword.retrieval.answer import (
    ASKS_WHETHER,
    READ_HITS,
    Choose,
    ReadAnswer,
    abstain,
    answer_time_comparison,
    answer_with_llm,
    answer_with_quotes,
    asks_for_several,
    content_terms,
    has_all_words,
    is_grounded,
    parse_time_comparison,
    rank_answers,
    read_answers,
    refused,
    without_plans,
    without_what_is_over,
)
from everyword.retrieval.context import (
    LAYERED,
    NOT_HERE,
    SURE,
    Heading,
    absent,
    answer_first,
    asks_of_now,
    corrections,
    instruction,
    interleaved,
    is_absent,
    pack,
    periods,
    preceding_turns,
    what_holds,
)
from everyword.retrieval.instructions import Excerpt, bearing_on, sentences_around, standing_instructions
from everyword.retrieval.query_analysis import Analysis, Shape, analyse
from everyword.retrieval.superseded import slot_of
from everyword.storage.protocol import Reader
from everyword.storage.rows import FACTS, STATEMENTS, FactFilter
from everyword.text.terms import question_terms, term_counts
from everyword.types.events import Answer, Citation, Context, Filter, Hit, Hits, Span, SummaryPart
from everyword.types.graph import FactDraft
from everyword.types.statements import Statement, StatementKind, Status

_DEEDS = (StatementKind.EVENT, StatementKind.FACT, StatementKind.DECISION)
TOKENS_A_LINE = 20  # a context rarely holds more lines than its budget has of these
_HITS_FOR_AN_ANSWER = 10
_SESSIONS = 3  # whose summaries a layered context has
_READ_WHOLE = 600  # characters that the reader takes in; a longer text is read from the part on that matches


def answer_from_memory(
    scope: Scope, question: str, budget: int, which: Filter, now: datetime, on_text: Callable[[str], None] | None
) -> Answer:
    """Answer a question with an LLM, or with a quote; each step is retried by itself, since an LLM is asked once."""

    def found(query: str, k: int) -> Hits:
        return again(scope.engine, lambda: search_hits(scope, query, k, which, now))

    asked, llm = analyse(question, now), scope.engine.llm
    compared = None if llm is not None else _time_comparison(question, asked, found)
    if compared is not None:
        return compared
    most = max(_HITS_FOR_AN_ANSWER, min(MOST_HITS, budget // TOKENS_A_LINE))
    hits = found(question, most)
    if (
        llm is None
        and not asked.is_question
        and not (question_terms(question) and is_grounded(question, asked, hits, ()))
    ):
        return refused(question, asked, hits)
    model = scope.engine.reader
    read: list[ReadAnswer] = []
    by_reader = llm is None and model is not None
    told = again(scope.engine, lambda: _telling(scope, question, asked, hits)) if by_reader else None
    if llm is None and model is not None and hits:
        read, chance = again(scope.engine, lambda: _holding_answers(scope, model, question, asked, hits, which, now))
        if read or told is None:
            hits = Hits(hits, confidence=chance, pending=hits.pending)
        else:
            first = [told, *(one for one in hits if one is not told)]
            hits = Hits(first, confidence=hits.confidence, pending=hits.pending)
    if not read and ((by_reader and told is None) or abstain(hits)):
        return refused(question, asked, hits)
    if llm is not None:
        context = again(scope.engine, lambda: pack_hits(scope, question, hits, budget, which, now, style="reasoning"))
        try:
            answer = answer_with_llm(llm, question, context, hits.confidence, on_text)
            if not answer.answered:
                return refused(question, asked, hits, by=llm.name)
            return replace(answer, quotes=again(scope.engine, lambda: _quotes(scope, answer.citations)))
        except ModelError as error:
            scope.engine.models.say(f"Answered by quoting: {error}")
    stated = again(scope.engine, lambda: _stated(scope, hits[:_HITS_FOR_AN_ANSWER]))
    # Among many events confidence tells better whether there is an answer; here there are few, or no model told it.
    few = len(hits) < most or hits.confidence is None
    if few and not read and not is_grounded(question, asked, hits, stated):
        return refused(question, asked, hits)
    return answer_with_quotes(question, asked, hits, stated, read)


def _telling(scope: Scope, question: str, asked: Analysis, hits: Sequence[Hit]) -> Hit | None:
    """Find the hit that tells the whole of what is asked for, though no words of it are the answer.

    The day of a deed may stand in no text: it is the day when it was told. Nor has "Did they cancel it?" an answer in
    few words. In labelled conversations 30 of 34 statements of a deed with all words of such a question answer it.
    """
    if asked.shape is Shape.DATE:
        return next((hit for hit in hits[:1] if has_all_words(question, hit)), None)
    if ASKS_WHETHER.search(question) is None:
        return None
    deeds = [one for one in _stated(scope, hits[:READ_HITS]) if one.kind in _DEEDS]

    def tells(hit: Hit) -> bool:
        quotes = (hit.event.text[slice(*one.span)] for one in deeds if one.event_id == hit.event.id)
        return any(has_all_words(question, hit, quote) for quote in quotes)

    return next((hit for hit in hits[:READ_HITS] if tells(hit)), None)


def _holding_answers(
    scope: Scope, model: TextReader, question: str, asked: Analysis, hits: Sequence[Hit], which: Filter, now: datetime
) -> tuple[list[ReadAnswer], float]:
    """Read the answers that hold, the best first, and the chance that it is right."""
    before = _turns_before(scope, hits[:READ_HITS])
    read, stated = _read(model, question, hits, before), _stated(scope, hits[:READ_HITS])
    if ASKS_WHETHER.search(question):
        read = without_plans(read, stated)
    if not asked.past and which.as_of is None:  # statements are stored in their present state
        read = without_what_is_over(read, stated, model.answer_least, which.until or now)
    return rank_answers(read, _choosing(model, question, before), several=asks_for_several(question, asked))


def _read(model: TextReader, question: str, hits: Sequence[Hit], before: Mapping[int, Turn | None]) -> list[ReadAnswer]:
    """Let the reader look for the answer in the first hits, each with the turn before it."""

    def answer(hit: Hit) -> FoundAnswer | None:
        turn = turn_of(hit.event)
        skipped = hit.span.start if len(turn.text) > _READ_WHOLE else 0
        found = model.answer(question, replace(turn, text=turn.text[skipped:]), before[hit.seq])
        return None if found is None else replace(found, span=Span(*(skipped + place for place in found.span)))

    return read_answers(hits, answer, model.answer_rank)


def _choosing(model: TextReader, question: str, before: Mapping[int, Turn | None]) -> Choose:
    """Let the reader tell which of two answers is the one."""

    def side(one: ReadAnswer) -> Side:
        turn = turn_of(one.hit.event)
        first = max(0, one.span.start - _READ_WHOLE)
        part = replace(turn, text=turn.text[first : one.span.end + _READ_WHOLE])
        return Side(part, Span(one.span.start - first, one.span.end - first), "", before[one.hit.seq])

    def choose(earlier: ReadAnswer, later: ReadAnswer) -> tuple[float, float]:
        chances = model.choose(question, side(earlier), side(later))
        return chances["earlier"], chances["later"]

    return choose


def _turns_before(scope: Scope, hits: Sequence[Hit]) -> Mapping[int, Turn | None]:
    with scope.reader() as reader:
        before = {hit.seq: event_before(reader, hit.seq, hit.event) for hit in hits}
    return {seq: None if event is None else turn_of(event) for seq, event in before.items()}


def _replacing(model: TextReader) -> Callable[[Hit, Hit], float]:
    """Let the reader tell how likely the quote of the later of two hits takes the place of the earlier one's."""

    def side(hit: Hit) -> Side:
        return Side(turn_of(hit.event), hit.span, speaker_name(hit.event), None)

    def replaces(earlier: Hit, later: Hit) -> float:
        chances = model.compare(side(earlier), side(later))
        return sum(chances[one] for one in ("replaces", "ends", "fulfils"))

    return replaces


def _time_comparison(question: str, asked: Analysis, found: Callable[[str, int], Hits]) -> Answer | None:
    """Compare the times of two things, where that is asked; each is looked for by itself."""
    what = parse_time_comparison(question)
    if what is None:
        return None
    one, two = (found(part, _HITS_FOR_AN_ANSWER) for part in (what.one, what.two))
    return None if abstain(one) or abstain(two) else answer_time_comparison(question, what, asked, one, two)


def _stated(scope: Scope, hits: Sequence[Hit]) -> list[Statement]:
    with scope.reader(STATEMENTS, for_question=True) as reader:
        by_event = reader.statements_of([hit.seq for hit in hits])
    return [one for several in by_event.values() for one in several]


def _quotes(scope: Scope, citations: Sequence[Citation]) -> tuple[str, ...]:
    """Read the words that are cited, as they were said."""
    raw_ids = [checked_id(citation.event_id) for citation in citations]
    with scope.reader() as reader:
        found = reader.find(raw_ids)
    said = [found[raw_id].event.text if raw_id in found else "" for raw_id in raw_ids]
    return tuple(text[slice(*citation.span)] for text, citation in zip(said, citations, strict=True))


def pack_hits(
    scope: Scope,
    question: str,
    hits: Sequence[Hit],
    budget: int,
    which: Filter,
    now: datetime,
    *,
    style: str,
    most: int = MOST_HITS,
) -> Context:
    """Write the first `most` hits as cited lines within a token budget."""
    asked = analyse(question, now)
    confidence = hits.confidence if isinstance(hits, Hits) else None
    times = periods(asked, which)
    nothing_fits = isinstance(hits, Hits) and is_absent(question, asked, hits)
    hits = hits[:most]
    with scope.reader(FACTS if style == LAYERED else STATEMENTS, for_question=True) as reader:
        rules = _bearing_rules(scope, reader, question, which)
        told = told_in(reader, times, asked.names) if times else []
        nothing_fits = nothing_fits and not told
        if nothing_fits and not rules:
            return absent(budget, scope.engine.tokenizer)
        # Hits may be older than a forget, or another space's.
        there = reader.fetch([hit.seq for hit in hits])
        hits = [hit for hit in hits if hit.seq in there and there[hit.seq].id == hit.event.id]
        hits = [] if nothing_fits else interleaved(hits, told)
        key = scope.engine.fence_key.of(reader.file)
        preceding = preceding_turns(reader, hits, which)
        heads = {Heading.RULES: rules}
        if style == LAYERED:
            content = content_terms(question, hits) - term_counts(*asked.names).keys()
            heads[Heading.SESSIONS] = _session_lines(reader, hits, content, which)
            heads[Heading.FACTS] = _facts(scope, reader, asked, content, which, now)
        known = corrections(reader, hits, which)
        shown = {said.event.id for said in (*rules, *known)}
        model = scope.engine.reader
        replaces = None if model is None else _replacing(model)
        holding = what_holds(reader, question, asked, hits, now=now, replaces=replaces)
    # The reader tells better than the match of the hits whether one of them answers: "likely" is right in 94 of 100
    # labelled questions instead of 80. It judges neither periods nor comparisons of two times.
    judged = asked.is_question and confidence is not None and not times and parse_time_comparison(question) is None
    if model is not None and hits and (holding or judged):
        read, chance = _holding_answers(scope, model, question, asked, hits, which, now)
        best = read[0].hit if read else None
        if holding or (best is not None and chance >= SURE and asks_of_now(question, asked)):
            holding = answer_first(holding, best)
        if judged and (read or _telling(scope, question, asked, hits) is None):
            confidence = chance
    known += [one for one in holding if one.event.id not in shown]
    opening = instruction(asked) if style == "reasoning" else ""
    return pack(
        hits,
        budget,
        scope.engine.tokenizer,
        preceding=preceding,
        instruction=NOT_HERE if nothing_fits else opening,
        heads={**heads, Heading.HOLDS: known},
        confidence=None if nothing_fits else confidence,
        fence_key=key,
        project=which.project,
    )


def _session_lines(reader: Reader, hits: Sequence[Hit], content: AbstractSet[int], which: Filter) -> list[Excerpt]:
    """Read what the sessions of the best hits were about, as far as it still holds and has to do with the question."""
    sessions = dict.fromkeys(hit.event.session for hit in hits if hit.event.session is not None)
    about = [
        one
        for session in list(sessions)[:_SESSIONS]
        for one in summary_of(reader, session)
        if one.part is SummaryPart.ABOUT
    ]
    found = _excerpts(reader, [(one.event_id, one.span) for one in about], which)
    stated = reader.statements_of([one.seq for one in found], closed=True)
    said = {one.seq: stated.get(one.seq, ()) for one in found}
    holding = [one for one in found if all(of.status is Status.CURRENT for of in said[one.seq])]
    fits = {
        one.seq: _fit(content, one.event.text[slice(*one.span)], *map(slot_of, said.get(one.seq, ())))
        for one in holding
    }
    return sorted((one for one in holding if fits[one.seq]), key=lambda one: -fits[one.seq])


def _fit(content: AbstractSet[int], *words: str) -> int:
    """Count the content words of the question that texts have; a question without any fits all."""
    return len(content & term_counts(*words).keys()) if content else 1


def _facts(
    scope: Scope, reader: Reader, asked: Analysis, content: AbstractSet[int], which: Filter, now: datetime
) -> list[Excerpt]:
    """Read the quotes of facts about whom a question names that have to do with it; of equal ones the latest first."""
    found: list[tuple[int, FactDraft]] = []
    for name in asked.names:
        with suppress(NotFound):
            home = find_entity(reader, name)
            about = facts_about(scope, reader, home, FactFilter(as_of=which.as_of or now), which.as_of)
            for fact in (one for one in about if not one.conflicts):
                last = fact.sources[-1]
                found.append((_fit(content, fact.relation.replace("_", " "), fact.object_name, last.quote), last))
    best = sorted((one for one in found if one[0]), key=lambda one: (one[0], one[1].said_at), reverse=True)
    return _excerpts(reader, [(one.event_id, one.span) for _, one in best], which)


def _excerpts(reader: Reader, quoted: Sequence[tuple[str, Span]], which: Filter) -> list[Excerpt]:
    """Find the events of quotes, without those that a filter holds back."""
    known = reader.known(id for id, _ in quoted)
    allowed = reader.matching(which, among=[one.seq for one in known.values()])
    return [
        Excerpt(known[id].event, known[id].seq, sentences_around(known[id].event.text, span))
        for id, span in dict.fromkeys(quoted)
        if id in known and (allowed is None or known[id].seq in allowed)
    ]


def _bearing_rules(scope: Scope, reader: Reader, question: str, which: Filter) -> list[Excerpt]:
    """Choose the user's standing instructions that bear on a question."""
    rules = standing_instructions(reader, which)
    if not rules:
        return []
    model, embedder, _ = scope.engine.models.serving(reader.file)
    if model is None or not isinstance(embedder, LateInteraction):
        return []
    encoded = encoded_question(scope, embedder, question)
    return [] if encoded is None else bearing_on(reader, model, embedder, encoded, rules)
