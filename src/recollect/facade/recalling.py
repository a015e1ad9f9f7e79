"""Questions, as users ask them: hits, contexts and answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from recollect.core.errors import InvalidInput, ModelError
from recollect.core.values import Answer, Citation, Context, Event, Filter, Hit, Hits, Json
from recollect.engine.again import again
from recollect.engine.arguments import Time, checked_count, checked_id, checked_question, filter_of
from recollect.engine.asking import answered_by
from recollect.engine.passages import ask
from recollect.engine.serving import warm
from recollect.facade.handle import Handle
from recollect.inference.protocol import Embedder, Question, Reranker
from recollect.recall.analyse import analyse
from recollect.recall.answer import abstain, quoted
from recollect.recall.candidates import Candidate
from recollect.recall.instruct import STYLES, instruction
from recollect.recall.leads import leads
from recollect.recall.pack import pack
from recollect.recall.reread import reread
from recollect.recall.search import search

_MOST_HITS = 1_000
_TOKENS_A_LINE = 20  # a context rarely holds more lines than its budget has of these
_HITS_FOR_AN_ANSWER = 10


class Recalling(Handle):
    """What a memory finds."""

    def recall(
        self,
        query: str,
        k: int = 10,
        *,
        now: Time | None = None,
        as_of: Time | None = None,
        wing: str | None = None,
        session: str | None = None,
        speaker: str | None = None,
        since: Time | None = None,
        until: Time | None = None,
        tag: str | None = None,
        meta: Mapping[str, Json] | None = None,
    ) -> Hits:
        """Find the events that answer a question, best first; `confidence` tells whether an answer is there at all.

        since/until: when it happened (until is exclusive). as_of: only what was known then. now: the asker's clock,
        from which "last week" is counted.
        """
        which = self._filter(
            wing=wing, session=session, speaker=speaker, since=since, until=until, as_of=as_of, tag=tag, meta=meta
        )
        return self._search(checked_question(query), checked_count("k", k, _MOST_HITS), which, now)

    def context(
        self,
        query: str,
        budget: int = 1200,
        *,
        hits: Sequence[Hit] | None = None,
        style: str = "plain",
        now: Time | None = None,
        as_of: Time | None = None,
        wing: str | None = None,
        session: str | None = None,
        speaker: str | None = None,
        since: Time | None = None,
        until: Time | None = None,
        tag: str | None = None,
        meta: Mapping[str, Json] | None = None,
    ) -> Context:
        """Write the lines that answer a question, each with a citation mark, within a token budget.

        hits: what `recall` gave for the question, to be packed instead of searching again. style: "reasoning" puts an
        instruction before the lines that fits the kind of question, for an LLM that answers from them.
        """
        which = self._filter(
            wing=wing, session=session, speaker=speaker, since=since, until=until, as_of=as_of, tag=tag, meta=meta
        )
        question = checked_question(query)
        if style not in STYLES:
            raise InvalidInput(f"style={style!r} is not known.", fix=f"Choose {' or '.join(STYLES)}.")
        most = min(_MOST_HITS, max(10, checked_count("budget", budget, 1_000_000) // _TOKENS_A_LINE))
        if hits is None:
            hits = self._search(question, most, which, now)
        elif not isinstance(hits, Sequence) or not all(isinstance(hit, Hit) for hit in hits):
            raise InvalidInput("hits is what recall() gave: a list of hits.")
        elif which != filter_of(self._engine.settings, self._wing):
            raise InvalidInput("Give either hits or conditions on what to search, not both.")
        return self._packed(question, hits[:most], budget, which, style=style, now=now)

    def ask(
        self,
        query: str,
        budget: int = 1200,
        *,
        told: Callable[[str], None] | None = None,
        now: Time | None = None,
        as_of: Time | None = None,
        wing: str | None = None,
        session: str | None = None,
        speaker: str | None = None,
        since: Time | None = None,
        until: Time | None = None,
        tag: str | None = None,
        meta: Mapping[str, Json] | None = None,
    ) -> Answer:
        """Answer a question from the memory alone, with citations, or say that it holds no answer.

        Without an LLM the answer is a quote, or the date that the quote comes to. With one it is written from a context
        of `budget` tokens, and its citations are checked; told: gets the words as they are written.
        """
        question = checked_question(query)
        which = self._filter(
            wing=wing, session=session, speaker=speaker, since=since, until=until, as_of=as_of, tag=tag, meta=meta
        )
        checked_count("budget", budget, 1_000_000)
        moment = self._moment(now)
        most = max(_HITS_FOR_AN_ANSWER, min(_MOST_HITS, budget // _TOKENS_A_LINE))
        hits = self._search(question, most, which, moment)
        asked = analyse(question, moment)
        if abstain(hits):
            return Answer(question=question, confidence=hits.confidence)
        llm = self._engine.llm
        if llm is not None:
            context = self._packed(question, hits, budget, which, style="reasoning", now=moment)
            try:
                answer = answered_by(llm, question, context, hits.confidence, told)
                return replace(answer, quotes=self._quotes(answer.citations))
            except ModelError as error:
                self._engine.models.say(f"Answered by quoting: {error}")
        return quoted(question, asked, hits)

    def _quotes(self, citations: Sequence[Citation]) -> tuple[str, ...]:
        """Read the words that are cited, as they were said."""
        raw_ids = [checked_id(citation.event_id) for citation in citations]
        with self._engine.store.reader() as reader:
            found = reader.find(self._space, raw_ids)
        said = [found[raw_id].event.text if raw_id in found else "" for raw_id in raw_ids]
        return tuple(text[slice(*citation.span)] for text, citation in zip(said, citations, strict=True))

    def _packed(
        self, question: str, hits: Sequence[Hit], budget: int, which: Filter, *, style: str, now: Time | None
    ) -> Context:
        told = "" if style == "plain" else instruction(analyse(question, self._moment(now)))
        with self._engine.store.reader() as reader:
            # Hits may be older than a forget, or another space's.
            there = reader.fetch(self._space, [hit.seq for hit in hits])
            hits = [hit for hit in hits if hit.seq in there and there[hit.seq].id == hit.event.id]
            led = leads(reader, self._space, hits, reader.matching(self._space, which))
        return pack(hits, budget, self._engine.tokenizer, leads=led, instruction=told)

    def _search(self, query: str, k: int, which: Filter, now: Time | None) -> Hits:
        return again(self._engine, lambda: self._search_once(query, k, which, now))

    def _search_once(self, query: str, k: int, which: Filter, now: Time | None) -> Hits:
        engine = self._engine
        with engine.store.reader() as reader:
            model, embedder = engine.models.serving(reader)
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
                ask=lambda: self._asked(embedder, query),
                reread=None if engine.reranker is None else partial(self._reread, query, engine.reranker),
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
            return reread(query, ranked, events, self._engine.recipe, reranker)
        except ModelError as error:
            self._engine.models.say(f"The hits stay as they were before the reranker: {error}")
            return ranked

