"""The stages of recall, with a model whose tokens are plain words: what each adds can be told to the last digit."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from msgspec.structs import replace
from tests.fences import inside

from everyword import Memory
from everyword.models.embedders import HashingEmbedder
from everyword.models.protocol import Matches, ModelCard, Passage, Question
from everyword.retrieval.config import HYBRID, POOLED, WORDS, SearchConfig
from everyword.types.events import Hit, Hits

MONDAY = datetime(2023, 5, 8, 10, tzinfo=UTC)
WORD = re.compile(r"\w+")
TOKEN_BYTES = 4


class WholeWords:
    """A late-interaction embedder: a token of the question is matched by the same word, and by nothing else."""

    card = ModelCard(name="whole-words", version="1", dims=256, token_dims=1)

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._pooled = HashingEmbedder()

    def passages(self, texts: Sequence[str]) -> list[Passage]:
        """Encode texts, word by word."""
        pooled = self._pooled.passages(texts)
        return [
            Passage(pooled=one.pooled, tokens=np.array(self._words(text), np.uint32).tobytes())
            for one, text in zip(pooled, texts, strict=True)
        ]

    def question(self, text: str) -> Question:
        """Encode a question, word by word."""
        tokens = np.array(self._words(text), np.float32).reshape(-1, 1)
        return Question(pooled=self._pooled.question(text).pooled, tokens=tokens)

    def late_matches(self, question: Question, passages: Sequence[bytes]) -> Matches:
        """Give 1 for each word of the question that a passage has."""
        asked = question.tokens[:, 0].astype(np.uint32)
        best = [np.isin(asked, np.frombuffer(packed, np.uint32)) for packed in passages]
        lengths = np.array([len(packed) / TOKEN_BYTES for packed in passages], np.float32)
        return Matches(np.array(best, np.float32).reshape(len(passages), len(asked)), lengths)

    def _words(self, text: str) -> list[int]:
        return [self._numbers.setdefault(word, len(self._numbers)) for word in WORD.findall(text.lower())]


Open = Callable[..., Memory]


@pytest.fixture
def opened():
    """Open memories with the model of whole words; close them at the end."""
    memories: list[Memory] = []

    def open_one(recipe: SearchConfig = HYBRID, **options) -> Memory:
        memories.append(Memory.open(":memory:", embedder=WholeWords(), tokenizer="words", recipe=recipe, **options))
        return memories[-1]

    yield open_one
    for memory in memories:
        memory.close()


def talk(memory: Memory, session: str | None, *turns: str, at: datetime = MONDAY, **fields) -> None:
    """Say some turns a minute apart: `Ana: Hello.`"""
    events = []
    for number, turn in enumerate(turns):
        speaker, _, text = turn.partition(": ")
        events.append({"text": text, "speaker": speaker, "session": session, "at": at + timedelta(minutes=number)})
    memory.add_many([event | fields for event in events])


def texts(hits: Sequence[Hit]) -> list[str]:
    return [hit.text for hit in hits]


def of(hits: Sequence[Hit], text: str) -> Hit:
    """Find the hit with a text."""
    return next(hit for hit in hits if hit.text == text)


def gain(hit: Hit, stage: str) -> float:
    """Tell what a stage that does not rank added; 0 where it did not touch the hit."""
    return sum(score.score for score in hit.scores if score.stage == stage and score.rank is None)


# Neighbours

ASKED = "What instrument does your niece play?"
ANSWER = "The cello, since she was six."


def test_an_answer_that_shares_no_word_with_the_question_is_found_beside_it(opened: Open) -> None:
    memory = opened()
    talk(memory, "s1", "Ana: Good to see you.", f"Ana: {ASKED}", f"Bo: {ANSWER}", "Ana: How nice.")
    talk(memory, "s2", "Ana: What a game!", "Bo: Does anybody play here?", "Ana: Only your neighbours.")
    hits = memory.recall(ASKED)
    assert hits[0].text == ANSWER
    assert gain(hits[0], "late") == 0
    assert gain(hits[0], "nearby") > 0.9
    assert texts(hits)[-1] == ASKED


def test_a_turn_found_by_an_arm_and_beside_a_hit_is_one_hit(opened: Open) -> None:
    memory = opened(replace(HYBRID, rerank_depth=1, dedup=False))
    talk(memory, "s1", "Ana: Why did the pipe burst?", "Bo: The pipe froze.", "Ana: A burst pipe!", "Bo: Yes, burst.")
    hits = memory.recall("Where did the pipe burst?")
    assert len({hit.event.id for hit in hits}) == len(hits)


def test_an_answer_that_no_arm_finds_says_that_its_neighbours_did(opened: Open) -> None:
    memory = opened(replace(HYBRID, vectors=replace(HYBRID.vectors, depth=1), words=None, rerank_depth=1))
    talk(memory, "s1", f"Ana: {ASKED}", f"Bo: {ANSWER}")
    hit = of(memory.recall("Which instrument does the niece play?"), ANSWER)
    stages = [score.stage for score in hit.scores]
    assert "fuse" not in stages
    assert "vectors" not in stages
    (nearby,) = [score for score in hit.scores if score.stage == "nearby"]
    assert "found it" in nearby.why


def test_nothing_is_said_across_sessions_nor_outside_of_one(opened: Open) -> None:
    for first, second in (("s1", "s2"), (None, None), ("s1", None), ("s1", "S1")):
        memory = opened()
        talk(memory, first, f"Ana: {ASKED}")
        talk(memory, second, f"Bo: {ANSWER}", at=MONDAY + timedelta(minutes=1))
        assert gain(of(memory.recall("instrument niece play"), ANSWER), "nearby") == 0


def test_a_neighbour_helps_less_the_further_away_and_not_beyond_reach(opened: Open) -> None:
    neighbours = HYBRID.neighbours
    assert neighbours is not None
    memory = opened()
    turns = [f"turn{n}" for n in range(13)]
    turns[6] = ASKED
    talk(memory, "s", *(f"Bo: {turn}" for turn in turns))
    hits = memory.recall("instrument niece play", k=50)
    gains = [gain(of(hits, turn), "nearby") for turn in turns]
    # What stands before the question hears it after itself, what stands behind it before.
    expected = [0, 0, 0, *reversed(neighbours.after), 0, *neighbours.before, 0, 0, 0]
    assert gains == [pytest.approx(share, abs=1e-5) for share in expected]
    assert list(neighbours.before) == sorted(neighbours.before, reverse=True)


def test_a_long_neighbour_helps_less(opened: Open) -> None:
    memory = opened()
    long = ASKED + " and so on" * 100
    talk(memory, "s1", f"Ana: {ASKED}", "Bo: Cello.")
    talk(memory, "s2", f"Ana: {long}", "Bo: Viola.")
    hits = memory.recall("instrument niece play")
    assert gain(of(hits, "Cello."), "nearby") - gain(of(hits, "Viola."), "nearby") > 0.1


@pytest.mark.parametrize("condition", ["speaker", "wing", "as_of", "until", "meta"])
def test_a_neighbour_that_a_condition_excludes_neither_appears_nor_helps(opened: Open, condition: str) -> None:
    learned = {"now": MONDAY}
    with_it, without = (opened(clock=lambda: learned["now"]) for _ in range(2))
    for memory in (with_it, without):
        turns = ("Bo: Since she was six.", "Bo: Here we are.", "Bo: Cello lessons.", "Bo: And so on, a niece.")
        talk(memory, "s", *turns, wing="w", meta={"n": 1})
    learned["now"] += timedelta(days=1)
    hidden = MONDAY + timedelta(minutes=10 if condition == "until" else -1)
    with_it.add(ASKED, speaker="Ana", session="s", at=hidden, wing="other", meta={"n": 2})
    filters = {
        "speaker": {"speaker": "Bo"},
        "wing": {"wing": "w"},
        "as_of": {"as_of": MONDAY},
        "until": {"until": MONDAY + timedelta(minutes=10)},
        "meta": {"meta": {"n": 1}},
    }[condition]
    question = "Which instrument does the niece play, cello?"

    def scores(memory: Memory, **filters) -> dict[str, float]:
        return {hit.text: pytest.approx(hit.score, abs=1e-6) for hit in memory.recall(question, **filters)}

    assert scores(with_it, **filters) == scores(without, **filters) == scores(without)
    assert scores(with_it) != {**scores(without), ASKED: scores(with_it)[ASKED]}  # it would have helped


def test_a_neighbour_does_not_come_nearer_when_what_stands_between_is_excluded(opened: Open) -> None:
    memory = opened()
    talk(memory, "s", f"Bo: {ASKED}", "Ana: Hmm.", f"Bo: {ANSWER}")
    assert gain(of(memory.recall("instrument niece"), ANSWER), "nearby") > 0.5
    assert gain(of(memory.recall("instrument niece", speaker="Bo"), ANSWER), "nearby") == 0


# Boosts


@pytest.mark.parametrize(
    ("question", "speaker", "boosted"),
    [
        ("What did Ana buy?", "Ana", True),
        ("what did ana buy", "Ana", True),
        ("What did ANA'S sister buy?", "Ana", True),
        ("Ana?", "Ana", True),
        ("What did José buy?", "josé", True),
        ("What did Ana buy?", "Ana Maria Lopes", True),
        ("What did Dr. Lopes buy?", "Ana Lopes", True),
        ("What did Anna buy?", "Ana", False),
        ("What did banana cost?", "Ana", False),
        ("What did Will buy?", "Will", True),
        ("What will Ana buy?", "Will", False),
        ("Will Ana buy it?", "Will", False),
        ("What did May buy?", "May", True),
        ("Is it that May's brother came?", "May", True),
        ("What may Ana buy?", "May", False),
        ("May I know what it cost?", "May", False),
        ("Where is it?", "It", False),
        ("What did she buy?", None, False),
    ],
)
def test_the_one_whom_a_question_names_is_favoured(
    opened: Open, question: str, speaker: str | None, boosted: bool
) -> None:
    memory = opened()
    memory.add("A lamp, a table and a chair.", speaker=speaker, at=MONDAY)
    (hit,) = memory.recall(question)
    # A line that says nothing of anybody is most likely about the one who says it.
    assert gain(hit, "about") == pytest.approx(HYBRID.about * 0.75 if boosted else 0)


@pytest.mark.parametrize(
    ("speaker", "text", "share"),
    [
        ("Ana", "I leave on Friday.", 1.0),
        ("Ana", "my train leaves on Friday", 1.0),
        ("Bo", "Ana leaves on Friday.", 0.75),
        ("Bo", "On Friday the train takes Ana's bike along.", 0.75),
        (None, "Told the landlord that ana is leaving.", 0.75),
        ("Ana", "On Friday, I think.", 1.0),
        ("Ana", "On Friday.", 0.75),
        ("Ana", "You leave on Friday, don't you?", 0.75),
        ("Ana", "Dmitri leaves on Friday.", 0.0),
        ("Ana", "Ask the landlord whether Dmitri leaves.", 0.0),
        ("Bo", "I leave on Friday.", 0.0),
        ("Bo", "Hey Ana! I leave on Friday.", 0.0),
        ("Bo", "Oh, Ana, the train leaves on Friday.", 0.0),
        ("Bo", "Banana bread leaves crumbs.", 0.0),
    ],
)
def test_a_line_gains_by_being_about_whom_the_question_names(
    opened: Open, speaker: str | None, text: str, share: float
) -> None:
    memory = opened()
    memory.add(text, speaker=speaker, at=MONDAY)
    hit = of(memory.recall("When does Ana leave on the train on Friday?"), text)
    assert gain(hit, "about") == pytest.approx(HYBRID.about * share)


@pytest.mark.parametrize(
    ("role", "text", "share"),
    [
        ("user", "I leave on Friday.", 1.0),
        ("Human", "my train leaves on Friday", 1.0),
        ("user", "On Friday, the train.", 0.75),
        ("user", "Ask the landlord whether Dmitri leaves.", 0.0),
        ("assistant", "Your train leaves on Friday.", 0.0),
        (None, "I leave on Friday.", 0.0),
    ],
)
def test_a_line_gains_by_being_about_the_user_who_asks(opened: Open, role: str | None, text: str, share: float) -> None:
    memory = opened()
    memory.add("Thanks.", speaker="Ana", role="user", at=MONDAY)
    memory.add(text, speaker="Ana", role=role, at=MONDAY)
    assert gain(of(memory.recall("When do I leave on the train on Friday?"), text), "about") == pytest.approx(
        HYBRID.about * share
    )
    # Told by whom, or of somebody else: then it is not the user's own words that are looked for.
    assert gain(of(memory.recall("On which day did you tell me that my train leaves?"), text), "about") == 0


def test_who_asks_is_not_guessed_where_nobody_is_the_user(opened: Open) -> None:
    memory = opened()
    talk(memory, None, "Ana: I leave on Friday.", "Bo: I leave on Sunday.")
    assert [gain(hit, "about") for hit in memory.recall("When do I leave?")] == [0, 0]


def test_of_a_users_notes_their_own_come_before_what_they_tell_of_others(opened: Open) -> None:
    memory = opened()
    for text in ("Dmitri's train leaves on Friday.", "I leave by train on Sunday."):
        memory.add(text, speaker="Ana", role="user", at=MONDAY)
    assert memory.recall("When does my train leave?")[0].text == "I leave by train on Sunday."


def test_what_is_told_of_the_one_named_comes_before_what_they_tell_of_another(opened: Open) -> None:
    memory = opened()
    talk(memory, None, "Ana: Dmitri leaves on Friday.", "Cy: Ana leaves on Sunday.", "Dmitri: Hey Ana! The bus leaves.")
    assert memory.recall("Who knows when Ana leaves?")[0].text == "Ana leaves on Sunday."


def test_only_so_many_texts_are_read_for_whom_they_are_about(opened: Open) -> None:
    memory = opened(replace(HYBRID, name="mine", about_depth=1))
    talk(memory, None, "Cy: When Ana leaves, the train leaves.", "Dmitri: Ana leaves.", "Ana: Dmitri leaves.")
    gains = [(hit.event.speaker, gain(hit, "about")) for hit in memory.recall("When leaves Ana, when does the train?")]
    # The best one's text is read; of the others only who spoke is known.
    assert sorted(gains) == [("Ana", HYBRID.about), ("Cy", pytest.approx(HYBRID.about * 0.75)), ("Dmitri", 0.0)]


def test_of_two_who_say_the_same_the_one_named_comes_first(opened: Open) -> None:
    for name in ("Ana", "Bo", "Cy"):
        memory = opened()
        talk(memory, None, *(f"{who}: My car broke down again." for who in ("Cy", "Ana", "Bo")))
        assert memory.recall(f"Whose car broke down, that of {name.lower()}?")[0].event.speaker == name


@pytest.mark.parametrize(
    ("question", "favoured"),
    [
        ("What is my favourite tea?", "user"),
        ("Which tea did I like?", "user"),
        ("Which tea was liked?", None),
        ("Which tea did you recommend?", "assistant"),
        ("What tea did you tell me about?", "assistant"),
        ("Remind me which tea you suggested for my mother", "assistant"),
        ("Which tea is in the article about mining me?", "user"),
        ("Which tea do mexican mystics like?", None),
    ],
)
@pytest.mark.parametrize(("user", "assistant"), [("user", "assistant"), ("human", "ai"), ("User", "Assistant")])
def test_own_words_and_the_assistants_are_told_apart(
    opened: Open, question: str, favoured: str | None, user: str, assistant: str
) -> None:
    memory = opened()
    memory.add("A tea of mint.", role=user, at=MONDAY)
    memory.add("A tea of sage.", role=assistant, at=MONDAY)
    memory.add("A tea of lime.", role="system", at=MONDAY)
    hits = memory.recall(question)
    mint, sage, lime = (of(hits, f"A tea of {name}.") for name in ("mint", "sage", "lime"))
    assert gain(mint, "own words") == (HYBRID.own if favoured == "user" else 0)
    assert gain(sage, "assistant") == (HYBRID.assistant if favoured == "assistant" else 0)
    assert gain(lime, "own words") == gain(lime, "assistant") == 0
    if favoured is not None:
        assert hits[0].text == {"user": mint, "assistant": sage}[favoured].text


def test_the_nearer_to_the_time_asked_for_the_higher(opened: Open) -> None:
    memory = opened(replace(HYBRID, neighbours=None))
    days = (0, 4, 14, 40)
    for days_ago in days:
        memory.add(f"A walk {days_ago}.", at=MONDAY - timedelta(days=days_ago))
    hits = memory.recall("Which walk did we take two weeks ago?", now=MONDAY)
    gains = {days_ago: gain(of(hits, f"A walk {days_ago}."), "time") for days_ago in days}
    assert hits[0].text == "A walk 14."
    assert gains[14] == HYBRID.time
    assert gains[14] > gains[4] > gains[0] > gains[40] > 0
    assert gains[40] < HYBRID.time / 4


def test_without_a_time_in_the_question_no_time_counts(opened: Open) -> None:
    memory = opened()
    memory.add("A walk.", at=MONDAY)
    for question in ("Which walk?", "Which walk a while ago?", "Which walk every Monday?", "Which walk as a child?"):
        (hit,) = memory.recall(question, now=MONDAY)
        assert "time" not in {score.stage for score in hit.scores}, question


@pytest.mark.slow
@pytest.mark.parametrize("recipe", [HYBRID, replace(HYBRID, time=0.0)])
def test_what_was_said_in_a_time_is_found_among_hundreds_that_match_better(opened: Open, recipe: SearchConfig) -> None:
    question = "Which walk by the river with the dog did we take in March 2021?"
    then = datetime(2021, 3, 9, tzinfo=UTC)
    filler = [
        {"text": f"Which walk by the river with the dog did we take number{n}?", "at": MONDAY + timedelta(hours=n)}
        for n in range(300)
    ]
    ranks: dict[bool, int | None] = {}
    for arm in (True, False):
        memory = opened(recipe if arm else replace(recipe, times=None))
        memory.add_many(filler)
        memory.add("Walk to a mill.", at=then)
        hits = memory.recall(question, k=400, now=MONDAY)
        ranks[arm] = next((rank for rank, hit in enumerate(hits) if hit.text == "Walk to a mill."), None)
        if arm:
            stages = [score for score in of(hits, "Walk to a mill.").scores if score.rank is not None]
            assert "then" in {score.stage for score in stages}
    assert ranks[True] is not None
    assert ranks[True] < ranks[False] == len(filler)  # drowned: a hundred of each arm are looked at


def test_a_window_of_time_never_widens_a_condition(opened: Open) -> None:
    memory = opened()
    memory.add("A walk to the mill.", speaker="Ana", wing="a", at=datetime(2021, 3, 9, tzinfo=UTC))
    memory.add("A walk to the sea.", speaker="Bo", wing="b", at=datetime(2021, 3, 9, tzinfo=UTC))
    question = "Which walk in March 2021?"
    assert texts(memory.recall(question, speaker="Bo")) == ["A walk to the sea."]
    assert texts(memory.wing("a").recall(question)) == ["A walk to the mill."]
    assert memory.recall(question, since="2022-01-01") == []


@pytest.mark.parametrize(
    "question", ["What was in the year 1?", "What of 31 December 9999?", "What of 1 January 0001?"]
)
def test_a_question_about_the_ends_of_the_calendar_is_answered(opened: Open, question: str) -> None:
    memory = opened()
    memory.add("Nothing was there.", at=datetime(1, 1, 1, tzinfo=UTC))
    memory.add("Nothing will be there.", at=datetime(9999, 12, 31, 23, tzinfo=UTC))
    for now in (MONDAY, datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)):
        assert len(memory.recall(question, now=now)) == 2


def test_a_long_event_loses_a_little_for_each_doubling(opened: Open) -> None:
    memory = opened(replace(HYBRID, neighbours=None))
    for words in (20, 90, 190):
        memory.add(f"Size{words} " + "lamp " * words, at=MONDAY)
    hits = memory.recall("lamp")
    short, long, longer = (next(hit for hit in hits if f"Size{n}" in hit.text) for n in (20, 90, 190))
    assert [hit.text.split()[0] for hit in hits] == ["Size20", "Size90", "Size190"]
    assert gain(short, "length") == 0
    assert gain(longer, "length") - gain(long, "length") == pytest.approx(-HYBRID.length, abs=0.001)


# The asker's clock


def test_last_week_is_counted_from_now(opened: Open) -> None:
    memory = opened(replace(HYBRID, neighbours=None))
    for week in range(6):
        memory.add(f"A walk in week {week}.", at=MONDAY + timedelta(weeks=week))
    for week in (1, 3, 5):
        now = MONDAY + timedelta(weeks=week + 1)
        assert memory.recall("Which walk did we take last week?", now=now)[0].text == f"A walk in week {week}."
        assert memory.recall("Which walk did we take last week?", now=now.isoformat())[0].event.at == (
            MONDAY + timedelta(weeks=week)
        )


def test_without_now_the_memorys_own_clock_is_asked(opened: Open) -> None:
    clock = {"now": MONDAY}
    memory = opened(replace(HYBRID, neighbours=None), clock=lambda: clock["now"])
    for week in range(6):
        memory.add(f"A walk in week {week}.", at=MONDAY + timedelta(weeks=week))
    for week in (4, 2):
        clock["now"] = MONDAY + timedelta(weeks=week + 1)
        question = "Which walk did we take last week?"
        assert memory.recall(question)[0].text == f"A walk in week {week}."
        assert memory.recall(question) == memory.recall(question, now=clock["now"])
        assert inside(memory.context(question, budget=40).text).endswith(f"A walk in week {week}.")


# What is left out, and what goes last


@pytest.mark.parametrize(
    "echo", ["Where is the key?", "where is the key", "“Where is the key?!”", "Where   is the\nkey"]
)
def test_the_questions_own_echo_goes_last(opened: Open, echo: str) -> None:
    memory = opened()
    memory.add(echo, session="s", at=MONDAY)
    memory.add("Nobody said a thing.", session="t", at=MONDAY)
    memory.add("Somewhere.", session="t", at=MONDAY)
    assert texts(memory.recall("Where is the key?"))[-1] == echo
    assert len(memory.recall("Where is the key?")) == 3
    assert memory.recall("Where is the key?", k=1)[0].text != echo


def test_punctuation_that_stands_alone_makes_no_other_sentence(opened: Open) -> None:
    memory = opened()
    talk(memory, None, "Ana: Where is the key ?", "Ana: The key is under the pot.", "Ana: The key is under the pot …")
    assert texts(memory.recall("Where is the key?")) == ["The key is under the pot …", "Where is the key ?"]


def test_what_is_looked_for_in_its_own_words_is_no_echo(opened: Open) -> None:
    memory = opened()
    talk(memory, None, "Ana: The key is under the pot.", "Bo: The key.", "Bo: Under a tree.")
    assert memory.recall("The key is under the pot.")[0].text == "The key is under the pot."


def test_a_repetition_is_left_out_but_not_one_by_another(opened: Open) -> None:
    memory = opened()
    said = "The key is under the pot"
    for number, (who, ending) in enumerate((("Ana", "."), ("Ana", "!"), ("Bo", "."), (None, "."), (None, "?!"))):
        memory.add(said + ending, speaker=who, session=f"s{number}", at=MONDAY + timedelta(days=number))
    hits = memory.recall("Where is the key?")
    assert sorted(hit.event.speaker or "" for hit in hits) == ["", "Ana", "Bo"]


def test_thanks_twice_are_two_times_thanks(opened: Open) -> None:
    memory = opened()
    for number in range(3):
        memory.add("Thanks a lot!", speaker="Ana", session=f"s{number}", at=MONDAY + timedelta(days=number))
    assert len(memory.recall("Who said thanks?")) == 3


def test_many_repetitions_leave_as_many_hits_as_were_asked_for(opened: Open) -> None:
    memory = opened()
    for number in range(60):
        memory.add("The boat is painted blue and white, boat boat.", speaker="Ana", session=f"s{number}", at=MONDAY)
    for number in range(12):
        memory.add(f"Boat number {number} lies in the harbour.", speaker="Ana", session=f"h{number}", at=MONDAY)
    for k in (5, 10, 13, 50):
        assert len(memory.recall("boat", k=k)) == min(k, 13)


@pytest.mark.slow
@pytest.mark.parametrize("recipe", [HYBRID, POOLED, WORDS])
def test_a_larger_k_keeps_the_first_hits_and_adds_further_ones(opened: Open, recipe: SearchConfig) -> None:
    memory = opened(recipe=recipe)
    said = [
        {"text": f"The boat of harbour number {n} is painted.", "at": MONDAY + timedelta(hours=n)} for n in range(420)
    ]
    memory.add_many(said)
    few, many, all_there = (memory.recall("painted boat", k=k) for k in (20, 300, 1000))
    assert (len(many), len(all_there)) == (300, 420)
    assert len({hit.event.id for hit in all_there}) == 420
    assert [hit.event.id for hit in few] == [hit.event.id for hit in many][:20]
    assert [hit.score for hit in all_there] == sorted((hit.score for hit in all_there), reverse=True)


def test_repetitions_do_not_take_the_place_of_other_hits(opened: Open) -> None:
    memory = opened()
    for number in range(8):
        memory.add("The key is under the pot.", session=f"s{number}", at=MONDAY + timedelta(days=number))
    memory.add("One more key.", session="t", at=MONDAY)
    memory.add("A pot of keys.", session="u", at=MONDAY)
    assert len(memory.recall("Where is the key, under a pot?", k=3)) == 3


# Explaining


def test_the_parts_that_are_added_make_the_score(opened: Open) -> None:
    memory = opened(clock=lambda: MONDAY + timedelta(days=7))
    talk(
        memory, "s1", "Ana: I went for a walk.", "Bo: Where to?", "Ana: " + "The mill by the river. " * 30, role="user"
    )
    talk(
        memory, "s2", "Bo: My dog came along for a walk.", "Ana: Yes.", at=MONDAY - timedelta(days=60), role="assistant"
    )
    seen: set[str] = set()
    for question in (
        "Where did Ana walk last week?",
        "Which walk to the mill did I take?",
        "What walk did you recommend?",
        "Ana",
        "Where?",
    ):
        for hit in memory.recall(question):
            stages = [score.stage for score in hit.scores]
            parts = [score.score for score in hit.scores if score.rank is None]
            assert sum(parts) == pytest.approx(hit.score, abs=1e-5)
            assert (stages[-1], hit.scores[-1].score) == ("rank", hit.score)
            assert all(score.why for score in hit.scores)
            assert hit.explain()[0].keys() == {"stage", "score", "rank", "why"}
            seen.update(stages)
    assert seen == {
        *("words", "vectors", "then", "time", "fuse"),
        *("late", "nearby", "about", "own words", "assistant", "length", "rank"),
    }


def test_ranks_count_from_one_and_scores_fall(opened: Open) -> None:
    memory = opened()
    talk(memory, "s", *(f"Ana: walk number{n} " + "to the mill " * (n % 4) for n in range(30)))
    hits = memory.recall("Which walk to the mill was number7 ?", k=30)
    assert [hit.scores[-1].rank for hit in hits] == list(range(1, 31))
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_no_stage_has_the_name_of_another(opened: Open) -> None:
    memory = opened()
    memory.add("A walk.", at=MONDAY)
    (hit,) = memory.recall("Which walk last week?", now=MONDAY + timedelta(days=7))
    stages = [score.stage for score in hit.scores]
    assert len(stages) == len(set(stages))


# Recipes

OFF = [
    {"neighbours": None},
    {"words": None},
    {"vectors": None},
    {"times": None},
    {"rerank_depth": 0},
    {"rerank_depth": 1},
    {"token_power": 0.0},
    {"about": 0.0, "own": 0.0, "assistant": 0.0, "time": 0.0, "length": 0.0},
]
GONE = {"neighbours": {"nearby"}, "words": {"words"}, "about": {"about", "own words", "assistant", "length"}}


@pytest.mark.parametrize("fields", OFF, ids=lambda fields: "+".join(fields))
def test_each_stage_can_be_switched_off(opened: Open, fields: dict) -> None:
    memory = opened(replace(HYBRID, name="mine", **fields))
    talk(memory, "s1", "Ana: I went for a walk.", "Bo: Where to?", "Ana: To the old mill.", role="user")
    talk(memory, "s2", "Bo: My dog barks.", "Ana: Yes.", "Bo: " + "It does. " * 60)
    hits = memory.recall("Where did I, Ana, walk last week?", now=MONDAY + timedelta(days=7))
    assert hits[0].event.session == "s1"
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    stages = {score.stage for hit in hits for score in hit.scores}
    assert not stages & GONE.get(next(iter(fields)), set())
    assert memory.context("Where did Ana walk?", budget=100, hits=hits).citations


def test_with_no_arm_nothing_is_found(opened: Open) -> None:
    memory = opened(SearchConfig(name="nothing", words=None, vectors=None))
    memory.add("A walk.")
    assert memory.recall("Which walk?") == []
    assert memory.recall("Which walk?").confidence == 0


@pytest.mark.parametrize("recipe", [WORDS, POOLED])
def test_simple_recipes_leave_the_close_look_out(opened: Open, recipe: SearchConfig) -> None:
    memory = opened(recipe)
    talk(memory, "s", f"Ana: {ASKED}", f"Bo: {ANSWER}")
    hits = memory.recall("Which instrument does the niece of Ana play?")
    assert hits[0].text == ASKED
    assert hits.confidence is None
    assert {score.stage for hit in hits for score in hit.scores} <= {"words", "vectors", "fuse"}


# Confidence where nothing can be told


def test_an_empty_memory_is_sure_to_have_no_answer(opened: Open) -> None:
    memory = opened()
    hits = memory.recall("Where is the key?")
    assert isinstance(hits, Hits)
    assert (hits, hits.confidence) == ([], 0.0)
    memory.add("Under the pot.", speaker="Ana")
    assert memory.recall("Where is the key?", speaker="Bo").confidence == 0
    assert memory.space("other").recall("Where is the key?").confidence == 0


@pytest.mark.parametrize("embedder", ["none", "hashing"])
def test_words_alone_can_not_tell_whether_there_is_an_answer(embedder: str) -> None:
    with Memory.open(":memory:", embedder=embedder) as memory:
        assert memory.recall("Where is the key?").confidence == 0
        memory.add("The key is under the pot.")
        assert memory.recall("Where is the key?").confidence is None


def test_confidence_is_a_probability(opened: Open) -> None:
    memory = opened()
    talk(memory, "s", "Ana: The key is under the pot.", "Bo: Thanks.")
    for question in ("Where is the key?", "Where does Ana hide the key?", "x", "Ana" * 500, "key " * 2000):
        sure = memory.recall(question).confidence
        assert sure is not None
        assert 0 < sure < 1


def test_a_question_of_which_a_model_sees_no_token_is_answered_all_the_same(opened: Open) -> None:
    memory = opened()
    memory.add("Under the pot?", at=MONDAY)
    assert texts(memory.recall("?!")) == ["Under the pot?"]


# Events without vectors


def test_events_that_still_wait_for_their_vectors_come_behind_but_are_there(opened: Open) -> None:
    memory = opened(embed_on_write=False)
    talk(memory, "s", "Ana: A walk to the mill.", "Bo: Nice.")
    hits = memory.recall("Which walk to the mill?")
    assert texts(hits) == ["A walk to the mill."]
    assert hits.confidence is None
    memory.admin.settle()
    talk(memory, "s", "Ana: Which walk to the mill was it?", "Ana: Another walk.", at=MONDAY + timedelta(days=1))
    hits = memory.recall("Which walk to the mill was it by the river?")
    assert memory.stats().pending == 2
    assert texts(hits)[:1] == ["A walk to the mill."]
    assert set(texts(hits)[2:]) == {"Which walk to the mill was it?", "Another walk."}
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    waiting = of(hits, "Another walk.")
    assert {score.stage for score in waiting.scores} == {"words", "fuse"}
    assert memory.context("Which walk to the mill?", budget=100).citations
    memory.admin.settle()
    hits = memory.recall("Which walk to the mill was it by the river?")
    assert texts(hits)[0] == "Which walk to the mill was it?"
    assert "late" in {score.stage for score in of(hits, "Another walk.").scores}


# Hostile questions


@pytest.mark.slow
@pytest.mark.parametrize(
    "question",
    [
        "\x00a",
        "\ud800 where",
        "?" * 100_000 + "a",
        "Ana " * 50_000,
        "last week " * 20_000,
        "a\u0301" * 50_000,
        "[[[(((" * 20_000 + "a",
        "who's " * 30_000 + "?",
        "鍵はどこですか？",
    ],
    ids=lambda text: f"{text[:6]!r} of {len(text)}",
)
def test_no_question_breaks_recall(opened: Open, question: str) -> None:
    memory = opened()
    talk(memory, "s", "Ana: The key is under the pot.", "Bo: 鍵はどこ", "Ana: \x00 Who's there?", "Bo: last week")
    assert len(memory.recall(question, now=MONDAY)) == 4


def test_fillers_make_no_other_statement_but_another_day_may(opened: Open) -> None:
    memory = opened()
    talk(memory, "s", "Ana: The key is under the pot.", "Ana: Well, yes, the key is really under the pot!")
    talk(memory, "t", "Ana: I start the new job tomorrow.", at=MONDAY)
    talk(memory, "u", "Ana: I start the new job tomorrow.", at=MONDAY + timedelta(days=30))
    assert len(memory.recall("Where is the key?", session="s")) == 1
    assert len(memory.recall("Who has a new job?", speaker="Ana")) == 3
    everything = opened(replace(HYBRID, dedup=False))
    talk(everything, "s", "Ana: The key is under the pot.", "Ana: Well, yes, the key is really under the pot!")
    assert len(everything.recall("Where is the key?")) == 2


def test_a_question_in_almost_the_same_words_is_an_echo_too(opened: Open) -> None:
    memory = opened()
    talk(memory, "s", "Ana: So where does the old cat sleep now?", "Bo: In the attic.")
    question = "Where does the old cat sleep now?"
    assert texts(memory.recall(question)) == ["In the attic.", "So where does the old cat sleep now?"]
    kept = opened(replace(HYBRID, echo=0.0))
    talk(kept, "s", "Ana: So where does the old cat sleep now?", "Bo: In the attic.")
    assert kept.recall(question)[0].text == "So where does the old cat sleep now?"


# Causes and effects

PIPE = (
    "Ana: The pipe over the nursery burst.",
    "Ana: So the nursery floor came out.",
    "Ana: No floor: we stay at Bo's.",
)
SMALL_TALK = tuple(f"Ana: Weather number {number} again." for number in range(30))


def chained(opened: Open, recipe: SearchConfig = HYBRID) -> Memory:
    memory = opened(recipe)
    for day, turn in enumerate((*PIPE, *SMALL_TALK)):
        talk(memory, f"day {day}", turn, at=MONDAY + timedelta(days=day))
    return memory


def test_causes_are_followed_backwards_from_the_best_hit(opened: Open) -> None:
    question = "Why do we stay at Bo's?"
    assert {turn.partition(": ")[2] for turn in PIPE} <= set(texts(chained(opened).recall(question, k=5)))
    assert "The pipe over the nursery burst." not in texts(
        chained(opened, replace(HYBRID, chain=None)).recall(question, k=5)
    )


def test_effects_are_followed_forwards(opened: Open) -> None:
    hits = chained(opened).recall("What did the burst pipe lead to?", k=5)
    reached = next(hit for hit in hits if hit.text == "No floor: we stay at Bo's.")
    assert gain(reached, "chain") > 0
    assert gain(hits[0], "chain") == 0


def test_a_question_that_asks_for_no_cause_is_not_led_away(opened: Open) -> None:
    assert not any(gain(hit, "chain") for hit in chained(opened).recall("Where do we stay?"))


# What a recipe may ask for beside what ships


def test_the_question_decides_how_many_where_nobody_says(opened: Open) -> None:
    memory = opened(replace(HYBRID, neighbours=None))
    talk(memory, "s", "Ana: The red pot leaks.", *(f"Ana: Word {number}." for number in range(30)))
    talk(memory, "t", *(f"Bo: A blue cup, number {number}." for number in range(28)))
    assert len(memory.recall("Where is the red pot?", k=None)) == 3
    assert len(memory.recall("Where is the blue cup?", k=None)) == 20
    assert len(memory.recall("List all the blue cups, each cup", k=None)) == 28
    assert len(opened(WORDS).recall("Where is the red pot?", k=None)) == 0
