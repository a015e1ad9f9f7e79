"""The labelled conversations of the reader: loading, splitting, writing out, and the scores by which it is judged."""

from __future__ import annotations

import json
import lzma
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from training.reading import agreement, convert, corpus, external
from training.reading.corpus import Entity, Statement, Turn
from training.reading.examples import Writer, statements_of, tags
from training.reading.metrics import ReadingScores, answer_scores, best_least, match, pair_scores, union_share

from everyword.models.reader import decoding
from everyword.models.reader.decoding import PAIRS
from everyword.models.reader.rows import sentences

TOKENIZER = Path("packages/everyword-models/src/everyword_models/everyword-small/tokenizer.json")
WRITTEN = """
@conv gym-01 | phone-chat | en
[2026-03-02 19:40] Oyelaran: yo u still coming sat? i finaly quit the gym lol
S i finaly quit the gym | attribute | Oyelaran | member_of | gym |  | negated |
[2026-03-02 19:42] Bexley: sat works. bringing Pickle, he hates being alone
E Pickle | pet | Pickle
S sat works | plan | Bexley | attends |  | 2026-03-07 | asserted | open
S he hates being alone | preference | Pickle | dislikes | being alone |  | asserted |
[2026-03-05 08:10] Bexley: ugh cant make sat after all
S cant make sat after all | plan | Bexley | attends |  | 2026-03-07 | negated | dropped
U cant make sat after all | ends | 2 | sat works
Q Is Bexley coming on Saturday? | 3 | cant make sat after all
Q What is Oyelaran's dog called? | - | wrong_person
P 1 i finaly quit the gym | 3 cant make sat after all | unrelated
"""


@pytest.fixture(scope="module")
def writer() -> Writer:
    return Writer(TOKENIZER)


def test_questions_of_several_turns_name_turns_that_there_are() -> None:
    turns = {one.id: len(one.turns) for one in corpus.load()}
    rows = [json.loads(line) for line in (corpus.OWN.parent / "several.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len({row["id"] for row in rows}) == len(rows)
    for row in rows:
        for asked in row["questions"]:
            assert asked["question"].endswith("?")
            assert len(set(asked["turns"])) > 1
            assert set(asked["turns"]) <= set(range(1, turns[row["id"]] + 1)), (row["id"], asked)


def conversation() -> corpus.Conversation:
    return corpus.read_conversation(convert.parse(WRITTEN)[0])


def quoted(turn: Turn, start: int, end: int) -> str:
    return turn.text[start:end]


def test_a_written_conversation_has_spans() -> None:
    told = conversation()
    second = told.turns[1]
    assert [quoted(second, s.start, s.end) for s in second.statements] == ["sat works", "he hates being alone"]
    dislike = second.statements[1]
    assert (dislike.about, dislike.about_name) == ("name", "Pickle")
    assert dislike.value is not None
    assert quoted(second, *dislike.value) == "being alone"
    assert second.statements[0].about == "speaker"
    assert [(quoted(second, e.start, e.end), e.type) for e in second.entities] == [("Pickle", "pet")]
    assert sorted(pair.relation for pair in told.pairs) == ["ends", "unrelated"]
    assert [question.turn for question in told.questions] == [2, None]


@pytest.mark.slow
def test_own_conversations_load_and_split_by_conversation() -> None:
    found = corpus.load()
    splits = [one.split for one in found]
    assert len(found) >= 150
    assert 0.08 < splits.count("held") / len(found) < 0.25
    assert 0.08 < splits.count("choose") / len(found) < 0.25
    assert all(one.split == corpus.split_of(one.id) for one in found)


def test_sentences_end_at_marks_and_lines_and_long_ones_at_joining_words() -> None:
    text = "Hi there! how are you\n- buy milk\nok"
    assert [text[a:b] for a, b in sentences(text)] == ["Hi there!", "how are you", "- buy milk", "ok"]
    long = "i went to the shop and then i came back home " * 8
    assert len(sentences(long)) > 8
    assert "".join(long[a:b] for a, b in sentences(long)).replace(" ", "") == long.replace(" ", "")


def test_every_statement_has_tokens_that_stand_for_its_words(writer: Writer) -> None:
    for reading in writer.readings(conversation()):
        found = statements_of(reading)
        classes = tags(reading, [(s.start, s.end) for s in found], [0] * len(found))
        begins = np.flatnonzero(classes == 1)
        assert [reading.starts[n] for n in begins] == [s.start for s in found]
        assert (classes[[n for n, start in enumerate(reading.starts) if start < 0]] == -1).all()


def test_a_long_turn_is_read_in_windows_that_cover_it(writer: Writer) -> None:
    text = " ".join(f"Sentence number {n} says that nothing much happened." for n in range(60))
    windows = list(writer.windows(Turn("k", "2026-03-02", "Ida", text), None))
    assert len(windows) > 1
    assert all(len(row.ids) < 256 for row in windows)
    assert windows[0].window[0] == 0
    assert windows[-1].window[1] == len(text)
    assert all(a.window[1] == b.window[0] for a, b in pairwise(windows))


def test_spans_match_one_to_one_by_what_they_share() -> None:
    assert match([(0, 10)], [(4, 30)]) == {0: 0}  # 6 of the shorter one's 10 characters
    assert match([(0, 10)], [(6, 30)]) == {}
    assert match([(0, 30)], [(0, 10), (12, 30)]) in ({0: 0}, {0: 1})  # never both
    assert match([(0, 10)], [(0, 30)], union_share, 0.5) == {}


def test_scores_of_a_turn_count_what_was_found_missed_and_invented() -> None:
    said = Statement(0, 9, "plan", "speaker", "Bo", None, False, None, None, None, "asserted", "open")
    turn = Turn("k", None, "Bo", "sat works ok fine", (Entity(0, 3, "event", "Sat"),), (said,))
    right = decoding.FoundStatement(0, 9, 0.9, "plan", 0.9, "asserted", "open", "speaker", None, None, None, 0.5)
    wrong = decoding.FoundStatement(13, 17, 0.6, "fact", 0.9, "asserted", None, "other", None, None, None, 0.5)
    scores = ReadingScores()
    scores.turn(turn, [decoding.FoundEntity(0, 3, "place", 0.9)], [right, wrong])
    result = scores.result()
    assert (result["statements"]["p"], result["statements"]["r"]) == (0.5, 1.0)
    assert result["open goals"]["f1"] == 1.0
    assert result["accuracy"]["entity type"] == 0.0
    assert result["accuracy"]["kind"] == 1.0


def test_scores_of_pairs_and_answers() -> None:
    same, unrelated = PAIRS.index("same"), PAIRS.index("unrelated")
    scores = pair_scores([same, same, unrelated], [same, unrelated, unrelated])
    assert (scores["same"]["p"], scores["same"]["r"]) == (0.5, 1.0)
    assert "replaces" not in scores
    rows = [(3.0, True, True), (1.0, True, True), (2.0, False, True), (0.5, False, False), (2.5, False, False)]
    assert answer_scores(rows, 0.8) == {"right": 0.6667, "refused": 0.5, "answerable": 3, "unanswerable": 2}
    assert answer_scores(rows, best_least(rows, 0.5))["refused"] >= 0.5


def test_statements_are_decoded_from_the_words_that_are_likely_inside(writer: Writer) -> None:
    reading = next(writer.windows(conversation().turns[1], None))
    columns = {"statement": slice(0, 3)}
    told = np.tile(np.array([5.0, 0.0, 0.0]), (len(reading.ids), 1))
    classes = tags(reading, [(0, 9), (28, 48)], [0, 0])
    told[classes == 1], told[classes == 2] = [0.0, 5.0, 0.0], [0.0, 0.0, 5.0]
    spans = decoding.statement_spans(reading, told, columns, 0.5)
    found = [(reading.starts[tokens[0]], reading.ends[tokens[-1]]) for tokens, _ in spans]
    assert [quoted(reading.turn, *span) for span in found] == ["sat works", "he hates being alone"]


def test_external_labels_hold_offsets_and_join_with_their_text(tmp_path: Path) -> None:
    lines = [
        {"text": "Hi there."},
        {"text": "I live in Lisbon.", "speaker": "Ana", "date": "2026-03-02"},
        {"text": "(Bo leaves.)", "speaker": "#NOTE#"},
        {"text": "Ana moved to Porto.", "speaker": "Bo"},
    ]
    with lzma.open(tmp_path / external.POOLS, "wt") as file:
        file.write(json.dumps({"pool": 7, "lines": lines}))
    labels = tmp_path / "show-7.txt"
    labels.write_text(
        "#1\nE Lisbon | place | Lisbon\nS I live in Lisbon | attribute | Ana | lives_in | Lisbon |  | asserted | \n"
        "#3\nE Ana | person | Ana\nS Ana moved to Porto | event | Ana | lives_in | Porto |  | asserted | \n"
        "U Ana moved to Porto | replaces | 1 | I live in Lisbon\n@read 1-3\n"
    )
    rows = list(external.convert(labels, tmp_path))
    assert not list(external.problems(rows, {7: lines}))
    assert "Lisbon" not in json.dumps(rows)
    (tmp_path / "show.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (found,) = external.load(tmp_path, tmp_path)
    first, second = found.turns
    assert [first.text[s.start : s.end] for s in first.statements] == ["I live in Lisbon"]
    assert (first.statements[0].about, second.statements[0].about) == ("speaker", "listener")
    assert [(p.a[0], p.b[0], p.relation) for p in found.pairs] == [(0, 1, "replaces")]


@pytest.mark.slow
def test_a_second_reader_who_says_the_same_agrees_in_all() -> None:
    both = [(first, first) for first, _ in agreement.load()]
    result = agreement.compare(both)
    assert len(both) == 328
    assert {result[name]["f1"] for name in ("statements", "entities", "open goals", "updates")} == {1.0}
    assert result["accuracy"]["kind"] == 1.0
