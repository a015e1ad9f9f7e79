"""Search configurations: which stages run, and every number that ranks, with its unit and its reason.

The weights were chosen on development conversations, by the share of the evidence among the first ten hits
(docs/experiments.md lists the trials and what each stage is worth). Boosts use the unit of late interaction, the mean
cosine of the question's tokens, in which good and middling candidates are about .1 apart.
"""

from __future__ import annotations

from msgspec import Struct


class Arm(Struct, frozen=True, kw_only=True):
    """A source of candidates and the weight of its ranking."""

    depth: int  # candidates taken
    weight: float


class StatementArm(Arm, frozen=True, kw_only=True):
    """Candidates whose statements match the question."""

    reach: int  # best events by words whose statements are read, besides those that vectors found
    least: int  # question words that a statement must contain
    past: float  # weight of a statement that no longer holds


class Neighbours(Struct, frozen=True, kw_only=True):
    """How the turns around an event add to its match: an answer follows its question, a pronoun its name."""

    seeds: int  # best candidates whose surroundings are read
    # Weight of a token's match that is found one, two, three turns before or after the event instead of in it.
    before: tuple[float, ...]
    after: tuple[float, ...]
    # A long turn matches anything: each doubling beyond `long_from` tokens takes `long_cost` off that weight.
    long_from: float
    long_cost: float

    @property
    def reach(self) -> int:
        """Return the distance of the farthest neighbour, in turns."""
        return max(len(self.before), len(self.after))


class CausalChain(Struct, frozen=True, kw_only=True):
    """How causes and effects are followed: from the best hits, by rare words that two events share."""

    seeds: int  # hits that a hop starts from
    links: int  # events that each seed leads to
    hops: int
    cost: float  # taken off the seed's score at each hop
    strength: float  # given back when all rare words of the seed are shared, in part for a part


class NewestFirst(Struct, frozen=True, kw_only=True):
    """When a newer hit moves above an older one about the same matter."""

    depth: int  # first hits that are compared
    within: float  # by how much less the newer one may score
    share: float  # share of the older sentence's question words that the newer sentence must contain


class AutoK(Struct, frozen=True, kw_only=True):
    """How many hits to return where the caller does not say: those that score near the best."""

    margin: float  # below the best score
    least: int
    most: int
    several: int  # the most for a question that asks for several things


class SearchConfig(Struct, frozen=True, kw_only=True):
    """The stages of a search and their weights. A stage is off where its field is None or 0."""

    name: str
    words: Arm | None
    vectors: Arm | None
    times: Arm | None = None  # events in or near a time that the question names, by words and by vectors
    statements: StatementArm | None = None  # only where no late interaction follows
    rrf_k: int = 10  # the constant of reciprocal rank fusion: the larger, the less the first ranks stand out
    rerank_depth: int = 0  # fused candidates that late interaction rescores
    # A token that only some candidates match is more telling than one that all or none match. Its weight is the
    # difference between its best and its mean match, to this power.
    token_power: float = 0.0
    neighbours: Neighbours | None = None
    unread: float = 0.0  # worth of the best match by words, where the model can't read the question
    about: float = 0.0  # boost: the event is about a person whom the question names
    about_depth: int = 24  # candidates whose text is read for that; for the others only the speaker counts
    own: float = 0.0  # boost: the question asks about the asker, and the user spoke
    assistant: float = 0.0  # boost: the question asks what the assistant said, and the assistant spoke
    time: float = 0.0  # boost: the event lies in a time that the question names; less the farther outside
    untrusted: float = 0.0  # penalty, times the share of trust that the event's source lacks (types/trust.py)
    length: float = 0.0  # penalty for each doubling beyond `long_event`: a long event matches anything
    long_event: float = 48.0  # tokens
    newest: NewestFirst | None = None  # for questions about the current state
    current_first: bool = False  # what replaced a hit comes above it
    instructions: bool = False  # end with standing instructions that bear on the question
    chain: CausalChain | None = None  # for questions about causes or effects
    auto_k: AutoK | None = None
    dedup: bool = False  # drop a hit that repeats a better one of the same speaker and day
    echo: float = 0.0  # share of common words from which a stored question counts as the one asked, and goes last
    # The reranker runs only where a memory is opened with one: it costs more than all other stages together.
    reranker_depth: int = 20  # candidates that it reads
    reranker_weight: float = 0.25  # of its standardised scores; those of the earlier stages count 1


_ECHO = 0.8  # "Where does Ana live now?" echoes "Where does Ana live?"

HYBRID = SearchConfig(
    name="hybrid",
    # A hundred of each lose less than a hundredth of the recall of late interaction over all events.
    words=Arm(depth=100, weight=0.4),
    vectors=Arm(depth=100, weight=0.6),
    times=Arm(depth=30, weight=0.4),
    statements=StatementArm(depth=30, weight=0.2, reach=200, least=2, past=0.9),
    # With 260, .001 more of the evidence on development conversations is among the first ten.
    rerank_depth=130,
    token_power=0.75,
    neighbours=Neighbours(
        seeds=24, before=(0.95, 0.85, 0.80), after=(0.89, 0.83, 0.80), long_from=60.0, long_cost=0.07
    ),
    # Half as good a match by words is then as far behind as a middling candidate is behind a good one.
    unread=0.25,
    about=0.04,
    own=0.07,
    assistant=0.05,
    time=0.06,
    # A tool lacks .4 of trust: .08, most of the distance between a good and a middling candidate.
    untrusted=0.2,
    length=0.0125,
    newest=NewestFirst(depth=8, within=0.12, share=0.4),
    current_first=True,
    instructions=True,
    chain=CausalChain(seeds=3, links=4, hops=2, cost=0.08, strength=0.1),
    auto_k=AutoK(margin=0.06, least=3, most=20, several=30),
    dedup=True,
    echo=_ECHO,
)

WORDS = SearchConfig(name="words", words=Arm(depth=200, weight=1.0), vectors=None, dedup=True, echo=_ECHO)

POOLED = SearchConfig(
    name="pooled", words=Arm(depth=100, weight=0.5), vectors=Arm(depth=100, weight=0.5), dedup=True, echo=_ECHO
)

RECIPES = {config.name: config for config in (HYBRID, WORDS, POOLED)}  # by the name that `Memory.open(recipe=)` takes
