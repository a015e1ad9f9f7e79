"""Tags: facets of events and statements (topic, relationship, action required, category), set by rules."""

from __future__ import annotations

import re

from everyword.knowledge.legacy.extract.noise import MOST_READ
from everyword.knowledge.legacy.extract.rules.kin import FAMILY, OTHERS, PETS
from everyword.types.events import Event
from everyword.types.statements import Category, StatementDraft, StatementKind

ACTION_REQUIRED = "action:required"
MOST_TOPICS = 3  # an event about more than three things is tagged with those that it names most often

# Words that name a topic; each is looked up whole, in lower case, without its plural's s.
_TOPIC_WORDS = {
    Category.RELATIONSHIPS: """
        wedding marriage divorce family friend date girlfriend boyfriend husband wife partner anniversary
        sibling
    """,
    Category.WORK_CAREER: """
        job work office boss colleague manager salary promotion interview client project meeting deadline career
        company team contract startup business invoice budget report server api database code bug release deploy
        sprint
    """,
    Category.LEARNING: """
        school university college course class degree exam study thesis lesson language homework lecture student
        teacher
    """,
    Category.WELLNESS: """
        doctor hospital surgery therapy therapist health gym diet sleep illness medicine medication allergy
        allergic pain anxiety stress anxious injury diabetes asthma pregnant dentist meditation yoga
    """,
    Category.LIFESTYLE: """
        home house flat apartment rent kitchen garden commute car cooking recipe dinner lunch breakfast
        restaurant shopping pet dog cat vegetarian vegan food
    """,
    Category.INTERESTS: """
        music guitar piano band concert film movie book novel game football tennis hiking running painting
        photography travel trip museum art pottery chess cycling swimming camping dance
    """,
    Category.PLANS_GOALS: "plan goal hope dream intend trip holiday vacation save wedding",
    Category.EXPERIENCES: "went visited trip holiday festival party birthday graduation funeral accident moved",
    Category.IDENTITY: "name born age birthday nationality religion hometown grew",
    Category.OPINIONS: "opinion believe overrated underrated convinced disagree",
    Category.PREFERENCES: "favourite favorite prefer love hate like dislike enjoy rather",
}
_TOPICS: dict[str, tuple[Category, ...]] = {}
for _category, _words in _TOPIC_WORDS.items():
    for _word in _words.split():
        _TOPICS[_word] = (*_TOPICS.get(_word, ()), _category)
_WORD = re.compile(r"[a-z'-]+")
_RELATIONS = (
    ("family", frozenset(FAMILY)),
    ("pet", frozenset(PETS)),
    ("work", frozenset("boss manager colleague colleagues coworker client supervisor".split())),
)
_FRIENDS = frozenset(OTHERS)
_ACTION = re.compile(
    r"\b(?:(?:need|have|has|needs|got|ought|supposed) to|must|remind me|don['’]t forget|todo|to-do|deadline|due"
    r"|by (?:mon|tues|wednes|thurs|fri|satur|sun)day|by tomorrow|asap|please (?:send|call|book|check|review|reply"
    r"|confirm|fix)|follow up|i['’]ll|we['’]ll)\b",
    re.IGNORECASE,
)
_ACTION_KINDS = frozenset((StatementKind.TODO, StatementKind.REMINDER))


def tags_of(draft: StatementDraft) -> tuple[str, ...]:
    """Tag a statement."""
    tags = [f"category:{draft.category.value}", *_topics(draft.quote, 1), *_relations(draft.quote)]
    if draft.kind in _ACTION_KINDS and not draft.negated and draft.valid_to is None:
        tags.append(ACTION_REQUIRED)
    return tuple(dict.fromkeys(tags))


def tags_of_event(event: Event) -> tuple[str, ...]:
    """Tag an event by its words."""
    text = event.text[:MOST_READ]
    tags = [*_topics(text, MOST_TOPICS), *_relations(text)]
    if _ACTION.search(text) and not text.rstrip().endswith("?"):
        tags.append(ACTION_REQUIRED)
    return tuple(dict.fromkeys(tags))


def _topics(text: str, most: int) -> list[str]:
    counts: dict[Category, int] = {}
    for word in _WORD.findall(text.lower()):
        for category in _TOPICS.get(word) or _TOPICS.get(word.removesuffix("s"), ()):
            counts[category] = counts.get(category, 0) + 1
    # A sort keeps the order of those that are equal: the order in which they were named.
    return [f"topic:{category.value}" for category in sorted(counts, key=lambda key: -counts[key])[:most]]


def _relations(text: str) -> list[str]:
    words = set(_WORD.findall(text.lower()))
    found = [f"relationship:{name}" for name, members in _RELATIONS if words & members]
    if not found and words & _FRIENDS:
        found.append("relationship:other")
    return found
