"""Recipes: a pipeline as a value. Every number that ranks stands here, with its unit and its reason.

The weights were chosen on development conversations, by the share of the evidence among the first ten hits.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """A source of candidates and how much its ranking counts."""

    depth: int  # candidates taken
    weight: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How a question becomes hits."""

    name: str
    words: Arm | None
    vectors: Arm | None
    rrf_k: int  # reciprocal rank: the larger, the less the first places stand out
    rerank_depth: int  # fused candidates that late interaction looks at; 0: none
    fused_weight: float  # how much of the fused score stays in the final one, beside late interaction's at 1


HYBRID = Recipe(
    name="hybrid",
    # A hundred of each lose under a hundredth of the recall that late interaction over everything has.
    words=Arm(depth=100, weight=0.4),
    vectors=Arm(depth=100, weight=0.6),
    rrf_k=10,
    rerank_depth=200,
    fused_weight=0.02,
)

WORDS = Recipe(name="words", words=Arm(depth=200, weight=1.0), vectors=None, rrf_k=10, rerank_depth=0, fused_weight=1.0)

POOLED = Recipe(
    name="pooled",
    words=Arm(depth=100, weight=0.5),
    vectors=Arm(depth=100, weight=0.5),
    rrf_k=10,
    rerank_depth=0,
    fused_weight=1.0,
)

RECIPES = {recipe.name: recipe for recipe in (HYBRID, WORDS, POOLED)}
