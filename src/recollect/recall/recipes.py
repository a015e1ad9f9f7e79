"""Recipes: a pipeline as a value. Every number that ranks stands here, with its unit and its reason.

The weights were chosen on development conversations, by the share of the evidence among the first ten hits
(docs/benchmarks.md says on which, and what each stage is worth). Boosts are in the unit of late interaction: the mean
cosine of the question's tokens, in which good and middling candidates are some .1 apart.
"""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """A source of candidates and how much its ranking counts."""

    depth: int  # candidates taken
    weight: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Stated(Arm):
    """Candidates by what events state."""

    reach: int  # best events by words whose statements are read, beside those that vectors found
    least: int  # words of the question that a statement must hold
    past: float  # what a statement counts that holds no more


@dataclass(frozen=True, slots=True, kw_only=True)
class Linked(Arm):
    """Candidates by links between statements."""

    seeds: int  # best candidates from whose statements links are followed
    hops: int
    discount: float  # of what a candidate is worth, for each hop away from it


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbours:
    """How what was said around an event helps it: an answer often follows its question, a pronoun its name."""

    seeds: int  # best candidates whose surroundings are read
    # What a token's match counts when it is not in the event but one, two, three turns before or after it.
    before: tuple[float, ...]
    after: tuple[float, ...]
    # A long turn matches anything: beyond so many tokens each doubling takes so much off what its matches count.
    long_from: float
    long_cost: float

    @property
    def reach(self) -> int:
        """Tell how far away, in turns, a neighbour can be."""
        return max(len(self.before), len(self.after))


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """How causes and effects are followed: from the best hits, by the rare words that two events share."""

    seeds: int  # hits that a hop begins with
    links: int  # events that each of them leads to
    hops: int
    cost: float  # taken off a seed's score at each hop
    strength: float  # given back for all of the seed's rare words, in part for a part


@dataclass(frozen=True, slots=True, kw_only=True)
class Newest:
    """When a newer hit stands before an older one that speaks of the same matter."""

    depth: int  # first hits that are compared
    within: float  # how much less the newer one may match, in the unit of the score
    share: float  # of the question's words in the older one's sentence, those that the newer one's must hold too


@dataclass(frozen=True, slots=True, kw_only=True)
class TopDown:
    """From the entities of a question by way of sessions and claims to events."""

    depth: int  # candidates taken
    weight: float  # of its ranking among the arms
    gain: float  # added to how well the best of them matches, in the unit of late interaction; less for the others
    decay: float  # the shape of the Weibull decay, 0 to 1; 0: what is old counts as much
    # How much a session counts in a weighted sum with its claim; None: the harmonic mean, in which both must be good.
    sum_weight: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRank:
    """From the best candidates along names, claims and sessions to others."""

    depth: int
    weight: float
    gain: float
    seeds: int  # best candidates that it starts from
    restart: float  # share of what a node gets that stays with it
    rounds: int  # how often nodes pass on what they hold: an event, its names, their events, and once more
    least: float  # share of the whole below which nothing is passed on: bounds the cost
    mention: float  # what an edge between an event and a name in it counts
    claim: float  # and one between an event and whom it claims something of
    session: float  # and one between an event and its session


@dataclass(frozen=True, slots=True, kw_only=True)
class Enough:
    """How many hits there are where nobody says how many: those that score near the best."""

    margin: float  # in the unit of the boosts
    least: int
    most: int
    several: int  # the most where a question asks for several things


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How a question becomes hits. A stage is off where its field is None or 0."""

    name: str
    words: Arm | None
    vectors: Arm | None
    times: Arm | None = None  # what lies in or near a time that the question names, by meaning and by words
    artifacts: Stated | None = None  # what states what is asked
    links: Linked | None = None  # what is linked to what states it
    topdown: TopDown | None = None
    pagerank: PageRank | None = None
    rrf_k: int = 10  # reciprocal rank: the larger, the less the first places stand out
    rerank_depth: int = 0  # fused candidates that late interaction looks at
    # A token that only some candidates match tells more than one that all or none do: its weight is the distance of
    # its best match from its mean one, to this power.
    token_power: float = 0.0
    neighbours: Neighbours | None = None
    unread: float = 0.0  # what the best match by words is worth where the model can't read the question
    about: float = 0.0  # the line is about whom the question names
    about_depth: int = 24  # candidates whose text is read for that; of the others only who spoke is known
    own: float = 0.0  # it asks for what the user said of himself, and the user spoke
    told: float = 0.0  # it asks for what the assistant said, and the assistant spoke
    time: float = 0.0  # it names a time, and the event lies in it; less the further outside
    untrusted: float = 0.0  # taken off, times the share of trust that its source lacks (core/trust.py)
    superseded: float = 0.0  # taken off what it states where a later statement says otherwise
    length: float = 0.0  # taken off for each doubling beyond `long_event`: a long event matches anything
    long_event: float = 48.0  # tokens
    newest: Newest | None = None  # asked how things stand, the newer of two statements comes first
    recency: float = 0.0  # it was said lately, where what is so now is asked for
    diversity: float = 0.0  # taken off for each better hit of its session, where several things are asked for
    chain: Chain | None = None  # what leads to what, where causes or effects are asked for
    enough: Enough | None = None  # where `k` is left to the question
    once: bool = False  # what repeats a better hit of the same speaker and day goes
    echo: float = 0.0  # a question that shares so much of its words with the one asked comes last
    # The third stage works only where a memory is opened with a reranker: it costs more than all the others together.
    reread_depth: int = 20  # candidates that it reads
    reread_weight: float = 0.25  # of its standardised scores, beside those of the second stage at 1


_ECHO = 0.8  # share of all words of both: "Where does Ana live now?" echoes "Where does Ana live?"

HYBRID = Recipe(
    name="hybrid",
    # A hundred of each lose under a hundredth of the recall that late interaction over everything has.
    words=Arm(depth=100, weight=0.4),
    vectors=Arm(depth=100, weight=0.6),
    times=Arm(depth=30, weight=0.4),
    artifacts=Stated(depth=30, weight=0.2, reach=200, least=2, past=0.9),
    links=Linked(depth=20, weight=0.1, seeds=20, hops=2, discount=0.8),
    rerank_depth=260,
    token_power=0.75,
    neighbours=Neighbours(
        seeds=24,
        before=(0.95, 0.85, 0.80),
        after=(0.89, 0.83, 0.80),
        long_from=60.0,
        long_cost=0.07,
    ),
    # Half as good by words is then as far behind as a middling candidate is behind a good one.
    unread=0.25,
    about=0.04,
    own=0.07,
    told=0.05,
    time=0.06,
    # A tool lacks .4: .08, most of what lies between a good and a middling candidate.
    untrusted=0.2,
    superseded=0.03,
    recency=0.03,
    length=0.0125,
    newest=Newest(depth=8, within=0.12, share=0.4),
    chain=Chain(seeds=3, links=4, hops=2, cost=0.08, strength=0.1),
    enough=Enough(margin=0.06, least=3, most=20, several=30),
    once=True,
    echo=_ECHO,
)

WORDS = Recipe(name="words", words=Arm(depth=200, weight=1.0), vectors=None, once=True, echo=_ECHO)

POOLED = Recipe(
    name="pooled",
    words=Arm(depth=100, weight=0.5),
    vectors=Arm(depth=100, weight=0.5),
    once=True,
    echo=_ECHO,
)

# With what the temporal graph knows; docs/graph.md says what that is worth.
GRAPH = replace(
    HYBRID,
    name="graph",
    topdown=TopDown(depth=30, weight=0.3, gain=0.03, decay=0.5),
    pagerank=PageRank(
        depth=30,
        weight=0.2,
        gain=0.02,
        seeds=10,
        restart=0.3,
        rounds=4,
        least=0.002,
        mention=1.0,
        claim=1.5,
        session=0.3,
    ),
)

RECIPES = {recipe.name: recipe for recipe in (HYBRID, WORDS, POOLED, GRAPH)}
