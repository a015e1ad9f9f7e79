"""Questions, as users ask them: hits, contexts and answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Literal, Unpack

from everyword.engine.encoding import ask, warm
from everyword.engine.retry import again
from everyword.errors import InvalidInput, ModelError
from everyword.facade.arguments import Conditions, Time, checked_count, checked_id, checked_question, spelled_out
from everyword.facade.handle import Handle
from everyword.models.protocol import Embedder, Question, Reranker
from everyword.retrieval.answer import (
    abstain,
    answer_time_comparison,
    answer_with_llm,
    answer_with_quotes,
    is_grounded,
    parse_time_comparison,
)
from everyword.retrieval.candidates import Candidate
from everyword.retrieval.context import (
    LEADS,
    STYLES,
    corrections,
    current_statements,
    instruction,
    pack,
    preceding_turns,
)
from everyword.retrieval.query_analysis import Analysis, analyse
from everyword.retrieval.reranking import cross_encoder_stage
from everyword.retrieval.search import search
from everyword.settings import AUTO
from everyword.text.rendering import fenced, visible
from everyword.types.events import Answer, Citation, Context, Event, Filter, Hit, Hits
from everyword.types.statements import Artifact

_MOST_HITS = 1_000
_TOKENS_A_LINE = 20  # a context rarely holds more lines than its budget has of these
_HITS_FOR_AN_ANSWER = 10


class Recalling(Handle):
    """What a memory finds."""

    @spelled_out
    def recall(
        self,
        query: str,
        k: int | Literal["auto"] | None = 10,
        *,
        now: Time | None = None,
        **conditions: Unpack[Conditions],
    ) -> Hits:
        """Find the events that answer a question, best first; `confidence` tells whether an answer is there at all.

        k: "auto" or None lets the question decide: those near the best one, more where it asks for several things.
        since/until: when it happened (until is exclusive). as_of: only what was known then. now: the asker's clock,
        from which "last week" is counted.
        """
        which = self._filter(**conditions)
        count = None if k is None or k == AUTO else checked_count("k", k, _MOST_HITS)
        hits = self._search(checked_question(query), count, which, now, further=True)
        self._engine.accesses.note(self._space, (hit.seq for hit in hits), self._engine.clock())
        return hits

    @spelled_out
    def glance(
        self,
        query: str,
        k: int | Literal["auto"] | None = 10,
        *,
        now: Time | None = None,
        **conditions: Unpack[Conditions],
    ) -> Hits:
        """Find events by their words alone, in a moment: what a reader may look at while `recall` compares meanings.

        Takes what `recall` takes. No model is asked, so there is no confidence either.
        """
        which = self._filter(**conditions)
        count = None if k is None or k == AUTO else checked_count("k", k, _MOST_HITS)
        question, moment = checked_question(query), self._moment(now)
        with self._engine.store.reader() as reader:
            return search(
                reader,
                self._space,
                question,
                self._engine.recipe,
                k=count,
                now=moment,
                which=which,
                embedder=None,
                model=None,
                encode=lambda: None,
                deep=True,
            )

    @spelled_out
    def context(
        self,
        query: str,
        budget: int = 1200,
        *,
        hits: Sequence[Hit] | None = None,
        style: str = "plain",
        lead: str = "events",
        now: Time | None = None,
        **conditions: Unpack[Conditions],
    ) -> Context:
        """Write the lines that answer a question, each with a citation mark, within a token budget.

        hits: what `recall` gave for the question, to be packed instead of searching again. style: "reasoning" puts an
        instruction before the lines that fits the kind of question, for an LLM that answers from them. lead:
        "artifacts" begins with the statements that hold now and fit the question, each with its date and citation.
        """
        which = self._filter(**conditions)
        question = checked_question(query)
        if style not in STYLES:
            raise InvalidInput(f"style={style!r} is not known.", fix=f"Choose {' or '.join(STYLES)}.")
        if lead not in LEADS:
            raise InvalidInput(f"lead={lead!r} is not known.", fix=f"Choose {' or '.join(LEADS)}.")
        most = min(_MOST_HITS, max(10, checked_count("budget", budget, 1_000_000) // _TOKENS_A_LINE))
        if hits is None:
            hits = self._search(question, most, which, now)
        elif not isinstance(hits, Sequence) or not all(isinstance(hit, Hit) for hit in hits):
            raise InvalidInput("hits is what recall() gave: a list of hits.")
        elif which != self._filter():
            raise InvalidInput("Give either hits or conditions on what to search, not both.")
        return self._packed(question, hits[:most], budget, which, style=style, lead=lead, now=now)

    def fenced(self, text: str) -> str:
        """Put lines that quote this memory in a fence, for a prompt of your own: recorded text, not instructions.

        Hidden characters are replaced. Nobody who writes to the memory can know the fence, and the same text always
        gets the same one, so that it can be cached.
        """
        if not isinstance(text, str):
            raise InvalidInput(f"text must be a string, not {type(text).__name__}.")
        with self._engine.store.reader() as reader:
            return fenced(visible(text), self._engine.fence_key.of(reader))

    @spelled_out
    def ask(
        self,
        query: str,
        budget: int = 1200,
        *,
        told: Callable[[str], None] | None = None,
        now: Time | None = None,
        **conditions: Unpack[Conditions],
    ) -> Answer:
        """Answer a question from the memory alone, with citations, or say that it holds no answer.

        Without an LLM the answer is a quote, or the date that the quote comes to. With one it is written from a context
        of `budget` tokens, and its citations are checked; told: gets the words as they are written.
        """
        question = checked_question(query)
        which = self._filter(**conditions)
        checked_count("budget", budget, 1_000_000)
        moment = self._moment(now)
        most = max(_HITS_FOR_AN_ANSWER, min(_MOST_HITS, budget // _TOKENS_A_LINE))
        asked = analyse(question, moment)
        if self._engine.llm is None and (answer := self._elapsed(question, asked, which, moment)) is not None:
            return answer
        hits = self._search(question, most, which, moment)
        if abstain(hits):
            return Answer(question=question, confidence=hits.confidence)
        llm = self._engine.llm
        if llm is not None:
            context = self._packed(question, hits, budget, which, style="reasoning", now=moment)
            try:
                answer = answer_with_llm(llm, question, context, hits.confidence, told)
                # By itself: what an LLM has answered is not asked of it again.
                return replace(answer, quotes=again(self._engine, lambda: self._quotes(answer.citations)))
            except ModelError as error:
                self._engine.models.say(f"Answered by quoting: {error}")
        stated = again(self._engine, lambda: self._stated(hits[:_HITS_FOR_AN_ANSWER]))
        # Among many events confidence tells better whether there is an answer; here there are few, or no model told it.
        few = len(hits) < most or hits.confidence is None
        if few and not is_grounded(question, asked, hits, stated):
            return Answer(question=question, confidence=hits.confidence)
        return answer_with_quotes(question, asked, hits, stated)

    def _elapsed(self, question: str, asked: Analysis, which: Filter, now: datetime) -> Answer | None:
        """Compare the times of two things, where that is asked; each is looked for by itself."""
        what = parse_time_comparison(question)
        if what is None:
            return None
        one, two = (self._search(part, _HITS_FOR_AN_ANSWER, which, now) for part in (what.one, what.two))
        return None if abstain(one) or abstain(two) else answer_time_comparison(question, what, asked, one, two)

    def _stated(self, hits: Sequence[Hit]) -> list[Artifact]:
        with self._engine.store.reader() as reader:
            by_event = reader.artifacts_of(self._space, [hit.seq for hit in hits])
        return [one for several in by_event.values() for one in several]

    def _quotes(self, citations: Sequence[Citation]) -> tuple[str, ...]:
        """Read the words that are cited, as they were said."""
        raw_ids = [checked_id(citation.event_id) for citation in citations]
        with self._engine.store.reader() as reader:
            found = reader.find(self._space, raw_ids)
        said = [found[raw_id].event.text if raw_id in found else "" for raw_id in raw_ids]
        return tuple(text[slice(*citation.span)] for text, citation in zip(said, citations, strict=True))

    def _packed(
        self,
        question: str,
        hits: Sequence[Hit],
        budget: int,
        which: Filter,
        *,
        style: str,
        now: Time | None,
        lead: str = "events",
    ) -> Context:
        asked = analyse(question, self._moment(now))
        told = "" if style == "plain" else instruction(asked)
        with self._engine.store.reader() as reader:
            # Hits may be older than a forget, or another space's.
            there = reader.fetch(self._space, [hit.seq for hit in hits])
            hits = [hit for hit in hits if hit.seq in there and there[hit.seq].id == hit.event.id]
            key = self._engine.fence_key.of(reader)
            allowed = reader.matching(self._space, which)
            preceding = preceding_turns(reader, self._space, hits, allowed)
            known = corrections(reader, self._space, hits, which)
            if lead == "artifacts":
                told_already = {said.event.id for said in known}
                more = current_statements(
                    reader, self._space, question, asked, hits, allowed=allowed, as_of=which.as_of
                )
                known += [said for said in more if said.event.id not in told_already]
        return pack(
            hits,
            budget,
            self._engine.tokenizer,
            preceding=preceding,
            instruction=told,
            statements=known,
            fence_key=key,
        )

    def _search(self, query: str, k: int | None, which: Filter, now: Time | None, *, further: bool = False) -> Hits:
        engine = self._engine
        with engine.store.reader() as reader:
            model, embedder, _ = engine.models.serving(reader)
            if embedder is not None:
                warm(embedder)
            return search(
                reader,
                self._space,
                query,
                engine.recipe,
                k=k,
                now=self._moment(now),
                which=which,
                embedder=embedder,
                model=model if embedder is not None else None,
                encode=lambda: self._asked(embedder, query),
                rerank=None if engine.reranker is None else partial(self._reread, query, engine.reranker),
                deep=further,
            )

    def _asked(self, embedder: Embedder | None, query: str) -> Question | None:
        if embedder is None:
            return None
        try:
            return ask(embedder, query)
        except ModelError as error:
            self._engine.models.say(f"Searched by words alone: {error}")
            return None

    def _reread(
        self, query: str, reranker: Reranker, ranked: list[Candidate], events: Mapping[int, Event]
    ) -> list[Candidate]:
        try:
            return cross_encoder_stage(query, ranked, events, self._engine.recipe, reranker)
        except ModelError as error:
            self._engine.models.say(f"The hits stay as they were before the reranker: {error}")
            return ranked
