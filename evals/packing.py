"""Contexts for systems that pack none of their own: the found lines, best first, while they fit a token budget."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from evals.values import Found, Line

BUDGETS = (300, 600, 1200, 2000)  # tokens, as the product's default tokenizer counts them


def pack(
    found: Sequence[Found], lines: Mapping[str, Line], budgets: Sequence[int], count: Callable[[str], int]
) -> dict[int, str]:
    """Write whole lines, `date speaker: text`, until the next one would not fit."""
    written = [_written(lines[one.key]) for one in found if one.key in lines]
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


def _written(line: Line) -> str:
    date = f"{line.at.date().isoformat()} " if line.at else ""
    who = f"{line.speaker}: " if line.speaker else ""
    return f"{date}{who}{line.text}"
