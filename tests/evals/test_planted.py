"""Planted facts: one seed, one set of talks; each fact stands where its question says; nothing is in both sets."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from evals.tasks.planted import KINDS, Book, facts_needed, planted, read_book, score_planted
from evals.tasks.planted_words.slots import CLOSED, SLOT, with_articles
from evals.values import Asked, Task

VARIANTS = [(held_back, multihop) for held_back in (False, True) for multihop in (False, True)]


@pytest.fixture(params=VARIANTS, ids=lambda variant: "-".join(name for name in name_of(variant)), scope="module")
def task(request: pytest.FixtureRequest) -> Task:
    """Make one task of each variant."""
    held_back, multihop = request.param
    return planted(11, stores=12, held_back=held_back, multihop=multihop)


def name_of(variant: tuple[bool, bool]) -> tuple[str, str]:
    held_back, multihop = variant
    return ("held_back" if held_back else "development", "multihop" if multihop else "single")


def text_of(task: Task, asked: Asked) -> dict[str, str]:
    return {line.key: line.text for line in task.stores[asked.store]}


@pytest.mark.parametrize(("held_back", "multihop"), VARIANTS)
def test_the_same_seed_gives_the_same_talks_and_another_seed_gives_others(held_back: bool, multihop: bool) -> None:
    first, again, other = (planted(seed, stores=2, held_back=held_back, multihop=multihop) for seed in (5, 5, 6))
    assert first == again
    assert first.data_hash != other.data_hash


def test_more_stores_do_not_change_the_first_ones() -> None:
    few, many = planted(5, stores=2), planted(5, stores=4)
    assert [many.stores[store] for store in few.stores] == list(few.stores.values())


def test_every_evidence_key_is_a_line_that_holds_the_needle_verbatim(task: Task) -> None:
    for asked in task.questions:
        texts = text_of(task, asked)
        if not asked.answerable:
            assert not asked.evidence
            continue
        facts = facts_needed(asked)
        assert len(facts) == len(asked.evidence) >= (2 if asked.category in ("causal", "impact") else 1)
        for key, fact in zip(asked.evidence, facts, strict=True):
            assert fact["needle"] in texts[key]
            assert fact["keywords"]


def test_the_evidence_scores_full_and_the_rest_of_the_talk_does_not(task: Task) -> None:
    for asked in task.questions:
        if not asked.answerable:
            continue
        texts = text_of(task, asked)
        assert score_planted(asked, "\n".join(texts.values())) == {"recall": 1.0, "exact": 1.0, "coverage": 1.0}
        rest = "\n".join(text for key, text in texts.items() if key not in asked.evidence)
        assert score_planted(asked, rest)["exact"] == 0.0
        assert score_planted(asked, rest)["recall"] == 0.0


def test_a_talk_has_the_turns_asked_for_over_some_weeks_in_order(task: Task) -> None:
    for lines in task.stores.values():
        assert len(lines) == 100
        assert len({line.key for line in lines}) == 100
        times = [line.at for line in lines if line.at]
        assert times == sorted(times)
        assert 14 <= (times[-1] - times[0]).days <= 90
        assert len({line.session for line in lines}) >= 6


def test_each_kind_is_asked_for_in_every_talk_and_some_questions_have_no_answer() -> None:
    task = planted(2)
    for store in task.stores:
        asked = Counter(question.category for question in task.questions if question.store == store)
        assert asked == {**dict.fromkeys(KINDS, 3), "unanswerable": 2}


def test_multi_hop_asks_for_reasons_and_effects_equally() -> None:
    counts = Counter(asked.category for asked in planted(2, multihop=True).questions)
    assert counts["causal"] == counts["impact"] == 80


def test_a_replaced_value_is_said_before_the_fact_that_replaces_it() -> None:
    task = planted(3)
    replaced = [asked for asked in task.questions if asked.notes]
    assert len(replaced) >= 10
    changes = read_book(held_back=False).talk["change"]
    for asked in replaced:
        assert text_of(task, asked)[asked.evidence[0]].startswith(changes)


def test_nothing_is_left_unfilled(task: Task) -> None:
    texts = [line.text for lines in task.stores.values() for line in lines]
    texts += [asked.text for asked in task.questions]
    assert not [text for text in texts if re.search(r"[{}\[\]|]", text)]


@pytest.mark.parametrize("turns", [8, 20, 200])
@pytest.mark.parametrize("multihop", [False, True])
def test_talks_may_be_short_or_long(turns: int, multihop: bool) -> None:
    task = planted(1, stores=2, turns=turns, multihop=multihop)
    assert {len(lines) for lines in task.stores.values()} == {2 * turns}
    assert all(asked.evidence for asked in task.questions if asked.answerable)


def templates(book: Book) -> set[str]:
    topics = [topic for kind in KINDS for topic in book.topics[kind]]
    found = {text for topic in topics for text in (*topic.facts, *topic.asks, *topic.near, *topic.before)}
    found |= {text for chain in book.chains for text in (*chain.facts, chain.why, chain.effect, *chain.near)}
    found |= {text for exchange in book.filler for text in exchange}
    return found | {text for texts in book.talk.values() for text in texts}


def test_templates_held_back_are_none_of_the_development_ones() -> None:
    shared = templates(read_book(held_back=False)) & templates(read_book(held_back=True))
    assert not shared


def test_words_held_back_are_none_of_the_development_ones() -> None:
    development, held_back = read_book(held_back=False).words, read_book(held_back=True).words
    assert development.keys() == held_back.keys()
    for slot in development:
        assert not {word.lower() for word in development[slot]} & {word.lower() for word in held_back[slot]}, slot
    assert sum(map(len, development.values())) >= 400
    assert sum(map(len, held_back.values())) >= 200


@pytest.mark.parametrize("held_back", [False, True])
def test_every_slot_of_a_template_has_words(held_back: bool) -> None:
    book = read_book(held_back=held_back)
    slots = {base for text in templates(book) for base, _ in SLOT.findall(text)}
    assert slots <= {*book.words, *CLOSED, "about"}


def test_there_are_sixty_templates_a_kind_and_several_ways_to_ask() -> None:
    for held_back, least in ((False, 60), (True, 24)):
        book = read_book(held_back=held_back)
        for kind in KINDS:
            topics = book.topics[kind]
            assert len({fact for topic in topics for fact in topic.facts}) >= least
            assert all(len(topic.asks) >= 2 and len(topic.near) >= 2 for topic in topics)


def test_talks_vary(task: Task) -> None:
    said = [line.text for lines in task.stores.values() for line in lines if line.role == "user"]
    words = [word for text in said for word in re.findall(r"\w+", text.lower())]
    # Type/token ratio of the user's side in one talk; prose of this length has about .5.
    talk = re.findall(r"\w+", " ".join(line.text for line in next(iter(task.stores.values()))).lower())
    assert len(set(talk)) / len(talk) > 0.4
    assert len(set(words)) > 800
    assert len(set(said)) / len(said) > 0.75


@pytest.mark.parametrize(("held_back", "share"), [(False, 0.55), (True, 0.8)])
def test_a_run_uses_most_fact_templates(held_back: bool, share: float) -> None:
    task = planted(4, held_back=held_back)
    needles = [fact["needle"] for asked in task.questions if asked.answerable for fact in facts_needed(asked)]
    book = read_book(held_back=held_back)
    patterns = [
        re.compile(SLOT.sub("(?:.+?)", re.sub(r"([.?+*()$^])", r"\\\1", fact[fact.index("[") + 1 : fact.index("]")])))
        for kind in KINDS
        for topic in book.topics[kind]
        for fact in topic.facts
    ]
    used = sum(any(pattern.fullmatch(needle) for needle in needles) for pattern in patterns)
    assert used >= share * len(patterns)


def test_recall_wants_the_values_and_exact_wants_the_qualifier_too() -> None:
    expects = {
        "needle": "the billing data goes into DuckDB, for this year at least",
        "keywords": ("DuckDB", "data", "goes"),
        "values": ("DuckDB",),
    }
    asked = Asked(id="q", store="s", text="Which database for billing?", category="decision", expects=expects)
    assert score_planted(asked, "So the billing data goes into DuckDB,\nfor this year at least.")["exact"] == 1
    summary = score_planted(asked, "The user's billing data goes into DuckDB.")
    assert (summary["recall"], summary["exact"]) == (1, 0)
    assert score_planted(asked, "The billing data goes into SQLite.")["recall"] == 0
    scattered = "DuckDB is fun. " + "And so on. " * 60 + "The data goes elsewhere."
    assert score_planted(asked, scattered)["recall"] == 0
    assert score_planted(asked, "") == {"recall": 0, "exact": 0, "coverage": 0}


def test_a_question_of_several_facts_passes_only_with_all_of_them() -> None:
    task = planted(9, stores=1, multihop=True)
    asked = next(question for question in task.questions if len(question.evidence) == 2)
    texts = text_of(task, asked)
    assert score_planted(asked, texts[asked.evidence[0]]) == {"recall": 0.0, "exact": 0.0, "coverage": 0.5}


def test_scoring_a_question_without_answer_is_refused() -> None:
    asked = next(question for question in planted(1, stores=1).questions if not question.answerable)
    with pytest.raises(ValueError, match="confidence"):
        score_planted(asked, "anything")


def test_articles_follow_the_sound() -> None:
    assert (
        with_articles("a olive, a [apple], a user, a one-off, a pear")
        == "an olive, an [apple], a user, a one-off, a pear"
    )
