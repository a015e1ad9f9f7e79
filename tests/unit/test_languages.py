"""Text that is not plain English: found by its words, quoted where it says so, never cut within a character."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect import Memory
from recollect.core import words
from recollect.core.words import question_terms, term_counts

# Words


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ("скрипку", "скрипка"),
        ("ТРАМВАЙ", "трамвае"),
        ("за\u0301мок", "замок"),
        ("δικηγόρους", "ΔΙΚΗΓΟΡΟΣ"),
        ("الطاولة", "طاولة"),
        ("مَخبَز", "مخبز"),
        ("أحمد", "احمد"),
        ("٣٤٥", "345"),
        ("המטרייה", "מטרייה"),
        ("שָׁלוֹם", "שלום"),
        ("वकीलों", "वकील"),
        ("बाज़ार", "बाजार"),
        ("책을", "책은"),
        ("赤い傘を", "花子の傘"),
        ("parseUserConfig", "config"),
        ("ConnectionPool.acquire()", "pool"),
        ("HTTPServer", "server"),
        ("max_retry_count", "retry"),
        ("v2.3.1", "v2.3.1"),
        ("Donau\u00addampf\u00adschiff", "Donaudampfschiff"),
        ("می\u200cخواهم", "میخواهم"),
        ("葛\U000e0100城市", "葛城"),
        ("cafe\u0301", "CAFÉ"),
        ("１２３", "123"),
    ],
)
def test_a_word_is_found_by_another_form_of_it(said: str, asked: str) -> None:
    assert term_counts(said).keys() & question_terms(asked).keys()


def test_a_version_is_found_whole_with_and_without_its_letter() -> None:
    both = term_counts("v2.3.1").keys() & question_terms("2.3.1").keys()
    assert both - term_counts("v2.3.2").keys() - term_counts("3 1").keys()


def test_names_with_a_capital_within_stay_whole() -> None:
    assert not term_counts("LinkedIn McGee iPhone SQLite").keys() & term_counts("linked link gee phone lite").keys()


# Files of an older analysis


@pytest.fixture
def old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a file whose words were indexed without stems of other alphabets."""
    path = tmp_path / "old.db"
    words._known_piece.cache_clear()  # type: ignore[attr-defined]
    with monkeypatch.context() as then:
        then.setattr(words, "stemmer_of", lambda _: None)
        then.setattr("recollect.engine.write.ANALYSIS_VERSION", 1)
        with Memory.open(path, embedder="none") as memory:
            memory.add("Мы купили старую скрипку на рынке.")
            memory.add("Фёдор с марта работает в пекарне.")
    words._known_piece.cache_clear()  # type: ignore[attr-defined]
    return path


def test_a_file_of_an_older_analysis_is_searched_as_before_and_better_once_it_is_settled(old: Path) -> None:
    with Memory.open(old, embedder="none") as memory:
        assert len(memory.recall("скрипку")) == 1
        assert [problem.fix for problem in memory.verify(deep=False).problems] == ["recollect settle"]
        assert not memory.recall("скрипка")
        memory.settle()
        assert len(memory.recall("скрипка")) == 1
        assert memory.verify().ok


def test_forgetting_in_a_file_of_an_older_analysis_leaves_nothing_behind(old: Path) -> None:
    with Memory.open(old, embedder="none") as memory:
        memory.add("Мы продали деревянный стол соседям.")
        memory.forget(ids=[memory.recall("скрипку")[0].event.id])
        assert not memory.recall("скрипку")
        assert memory.verify().ok
