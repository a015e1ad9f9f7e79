"""Which rules are asked about a clause, and in which order: the first that finds something has it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from everyword.knowledge.legacy.extract.noise import MOST_READ
from everyword.knowledge.legacy.extract.rules import doing, facts, intending, liking, places, settling, state, telling
from everyword.knowledge.legacy.extract.rules.clauses import Clause
from everyword.knowledge.legacy.extract.rules.found import Found

Rule = Callable[[Clause], Found | None]

_BY_WORDING: tuple[Rule, ...] = (
    telling.reminds,
    telling.lists_todo,
    telling.aims,
    telling.instructs,
    intending.let_us,
    facts.found_cause,
    facts.thinks,
    facts.took,
    liking.favourite,
    settling.is_due,
    settling.was_done,
    state.own_things,
)
_BY_HELPER: tuple[Rule, ...] = (liking.rather, intending.will_use, intending.must, intending.will)
_LIKES: tuple[Rule, ...] = (liking.likes,)
_DECIDES: tuple[Rule, ...] = (intending.decided,)
_LEARNS: tuple[Rule, ...] = (facts.learnt,)
_PLANS: tuple[Rule, ...] = (intending.plans,)
_BY_VERB: dict[str, tuple[Rule, ...]] = {
    **dict.fromkeys(("love", "like", "enjoy", "adore", "prefer", "fancy", "cherish"), _LIKES),
    **dict.fromkeys(("hate", "dislike", "detest", "despise", "loathe"), _LIKES),
    **dict.fromkeys(("stand", "bear", "tolerate", "handle"), (liking.cannot_stand,)),
    **dict.fromkeys(("eat", "drink", "consume", "touch"), (liking.does_without,)),
    **dict.fromkeys(("decide", "choose", "agree", "settle", "opt", "pick"), _DECIDES),
    **dict.fromkeys(("realise", "realize", "discover", "figure", "notice", "find"), _LEARNS),
    **dict.fromkeys(("hope", "intend", "aim", "promise", "plan"), _PLANS),
    "be": (places.new_job, liking.keen, state.being, doing.befell, doing.been, doing.feeling),
    "have": (liking.cannot_have, doing.had, state.having),
    "come": (state.coming_from,),
    "feel": (doing.feeling,),
    "want": (liking.unwanted, intending.plans),
    "live": (places.living,),
    "reside": (places.living,),
    "move": (places.moving,),
    "relocate": (places.moving,),
    "work": (places.working,),
    "grow": (places.growing_up,),
    "become": (state.becoming,),
    **dict.fromkeys(("start", "begin", "take", "accept"), (places.new_job,)),
    "get": (places.new_job, doing.got),
    "go": (intending.going_with,),
    "end": (intending.ended_up,),
    "make": (intending.ended_up,),
    "switch": (intending.switched,),
    "learn": (facts.learnt,),
    "train": (intending.plans,),
    "need": (intending.needs,),
    "owe": (intending.owes,),
    "miss": (doing.misses,),
    "expect": (doing.expecting,),
    "use": (facts.uses,),
}
_LAST: tuple[Rule, ...] = (
    facts.advised,
    doing.arranged,
    state.counted,
    state.lasting,
    state.habits,
    state.ongoing,
    state.regular,
    doing.visited,
    doing.happened,
    facts.out_of_service,
    facts.things,
)
# An assistant's own words are advice and courtesy; what it found out and what was settled may be worth keeping.
_HINTS_OF_ASSISTANTS = re.compile(
    r"\b(?:caused by|turns out|turned out|reason|cause|culprit|problem|issue|bug|error|decided|agreed|chose|settled"
    r"|opted)\b",
)
_OF_ASSISTANTS: tuple[Rule, ...] = (facts.found_cause, intending.decided)


def worth_asking_assistant(text: str) -> bool:
    """Tell at little cost whether an assistant's text, which is long and mostly advice, can hold a find at all."""
    return _HINTS_OF_ASSISTANTS.search(text, 0, MOST_READ) is not None


def first_find(clause: Clause) -> Found | None:
    """Ask the rules in order."""
    return next((found for rule in _rules(clause) if (found := rule(clause)) is not None), None)


def first_find_of_assistant(clause: Clause) -> Found | None:
    """Ask the few rules that hold for an assistant's words."""
    return next((found for rule in _OF_ASSISTANTS if (found := rule(clause)) is not None), None)


def _rules(clause: Clause) -> Iterator[Rule]:
    yield from _BY_WORDING
    if clause.helpers:
        yield from _BY_HELPER
    if clause.verb:
        yield from _BY_VERB.get(clause.verb, ())
        yield from _LAST
