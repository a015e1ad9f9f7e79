"""Contexts for systems that pack none of their own: the found lines, best first, while they fit a token budget."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from evals.values import Found, Line
from evals.wording import document

BUDGETS = (300, 600, 1200, 2000, 4000)  # tokens, as the product's default tokenizer counts them


def pack(
    found: Sequence[Found], lines: Mapping[str, Line], budgets: Sequence[int], count: Callable[[str], int]
) -> dict[int, str]:
    """Write whole lines, as the systems were told them, leaving out those that do not fit any more."""
    written = [document(lines[one.key]) for one in found if one.key in lines]
    return {budget: _fitting(written, budget, count) for budget in budgets}


def _fitting(written: Sequence[str], budget: int, count: Callable[[str], int]) -> str:
    taken: list[str] = []
    left = budget
    for line in written:
        cost = count(line + "\n")
        if cost <= left:
            taken.append(line)
            left -= cost
    return "\n".join(taken)
