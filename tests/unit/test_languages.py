"""Text that is not plain English: found by its words, quoted where it says so, never cut within a character."""

from __future__ import annotations

import ast
import re
import sqlite3
import unicodedata
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from everyword import Memory
from everyword.interfaces.cli import main
from everyword.models.embedders import EverywordSmall
from everyword.models.tokenizers import load_tokenizer
from everyword.retrieval.subject_match import NamedPeople
from everyword.text import terms as words
from everyword.text.spans import Composed
from everyword.text.terms import question_terms, shortened, term_counts, whole_until
from everyword.types.events import Span

# In each language two things that are easily taken for each other, and questions in other forms of their words.
TALKS: dict[str, tuple[tuple[str, str], tuple[str, str]]] = {
    "German": (
        ("Die Äpfel vom Nachbarn sind sehr sauer.", "Wie schmeckt der Apfel des Nachbarn?"),
        ("Die Birnen vom Wochenmarkt waren zu weich.", "Wie war die Birne vom Wochenmarkt?"),
    ),
    "French": (
        ("Chloé a perdu ses clés dans le jardin public.", "Où Chloe a-t-elle perdu sa clé ?"),
        ("Chloé a cassé ses lunettes en montagne.", "Qui a cassé une lunette ?"),
    ),
    "Spanish": (
        ("Mi abuela guarda las recetas en un cuaderno azul.", "¿Dónde está la receta de la abuela?"),
        ("Mi tía guarda las fotografías en una caja.", "¿Dónde está la fotografía de mi tía?"),
    ),
    "Portuguese": (
        ("A Inês adotou dois cães abandonados.", "Que cão abandonado adotou a Ines?"),
        ("A Inês comprou três galinhas pretas.", "De que cor é a galinha?"),
    ),
    "Polish": (
        ("Łukasz pracuje od marca w łódzkiej drukarni.", "W jakich drukarniach jest zatrudniony Lukasz?"),
        ("Brat Łukasza studiuje historię w Krakowie.", "Kto jest studentem historii?"),
    ),
    "Turkish": (
        ("İbrahim mart ayından beri İzmir'de bir fırında çalışıyor.", "ibrahim hangi fırınlarda çalışır?"),
        ("İbrahim'in kardeşi Bursa'da tarih okuyor.", "Bursa hangi tarihçi kardeşin?"),
    ),
    "Russian": (
        ("Приём у стоматолога перенесли на четверг.", "Когда я иду к стоматологу?"),
        ("Фёдор с марта работает в пекарне.", "В каких пекарнях трудился Федор?"),
    ),
    "Greek": (
        ("Η Ελένη έχασε την κόκκινη ομπρέλα της στο τραμ.", "Πού είναι οι ΟΜΠΡΕΛΕΣ;"),
        ("Η συνάντηση με τον δικηγόρο είναι τη Δευτέρα.", "Πότε βλέπω τους δικηγόρους;"),
    ),
    "Arabic": (
        ("يعمل أحمد في مَخبَز في الإسكندرية منذ مارس.", "أين مخبز احمد؟"),
        ("بعنا الطاولة الخشبية لجيراننا.", "من عنده طاولة خشبية من الجيران؟"),
    ),
    "Hebrew": (
        ("מאיה איבדה את המטרייה האדומה ברכבת.", "באיזו רכבת מטרייה אדומה?"),
        ("יונתן עובד במאפייה בחיפה מאז מרץ.", "איפה המאפייה?"),
    ),
    "Hindi": (
        ("हमने बाज़ार से पुराना वायलिन खरीदा।", "बाजार से कौन सा वायलिन आया?"),
        ("वकील के साथ बैठक सोमवार को होगी।", "वकीलों की बैठक कब होगी?"),
    ),
    "Thai": (
        ("สมหญิงทำร่มสีแดงหายบนรถไฟ", "ร่มของสมหญิงสีอะไร"),
        ("เราซื้อไวโอลินเก่าจากตลาด", "ไวโอลินมาจากไหน"),
    ),
    "Chinese": (
        ("小红把红色雨伞忘在了地铁上。", "小红的雨伞在哪里？"),
        ("牙医的预约推迟到星期四。", "什么时候看牙医？"),
    ),
    "Japanese": (
        ("花子は赤い傘を電車に忘れました。", "花子の傘はどこですか？"),
        ("花子は青い鞄を図書館に置き忘れた。", "鞄はどの図書館にありますか？"),
    ),
    "Korean": (
        ("민수는 삼월부터 부산의 빵집에서 일한다.", "빵집은 어느 도시인가요?"),
        ("지영이는 어제 책을 샀다.", "책은 누가 샀나요?"),
    ),
    "code": (
        ("The build failed in parseUserConfig with error E4012 on release v2.3.1.", "what broke in 2.3.1"),
        ("The build failed in parseUserPrefs with error E4021 on release v2.3.2.", "E4021"),
    ),
}


@pytest.fixture(scope="module")
def talks() -> Iterator[Memory]:
    """Give a memory of everybody's talk."""
    with Memory.open(":memory:") as memory:
        # Sessions of their own, so that no line is helped by its neighbour; one day, because it is encoded too.
        said = [text for pairs in TALKS.values() for text, _ in pairs]
        memory.add_many([{"text": text, "session": text, "at": "2026-03-01T10:00Z"} for text in said])
        yield memory


@pytest.mark.parametrize("language", TALKS)
def test_what_was_said_in_any_language_is_found_first(talks: Memory, language: str) -> None:
    for text, question in TALKS[language]:
        assert talks.recall(question)[0].text == text


def test_a_context_cites_verbatim_in_any_language_within_its_budget(talks: Memory) -> None:
    for pairs in TALKS.values():
        for text, question in pairs:
            context = talks.context(question, budget=130)
            assert context.tokens <= 130
            assert text in context.text


def test_where_the_model_can_not_read_a_question_nobody_claims_to_be_sure(talks: Memory) -> None:
    for question in ("หนังเรื่องโปรดของฉันคืออะไร", "你最喜欢的电影是什么？", "Какой мой любимый фильм?"):
        assert talks.recall(question).confidence is None
    assert talks.recall("Who lost a red umbrella?").confidence is not None


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("Where did Ana put the umbrella?", 0.0),
        ("Où Chloé a-t-elle perdu ses clés ?", 0.0),
        ("I “really” paid 5 € for 🍕 — twice…", 0.0),
        ("ร่มของสมหญิง", 1.0),
        ("小红的雨伞", 1.0),
        ("Где зонт Ани?", 1.0),
        ("Where is 雨伞?", 0.5),
    ],
)
def test_a_model_tells_how_much_of_a_question_it_can_not_read(text: str, share: float) -> None:
    assert EverywordSmall().question(text).unread == pytest.approx(share)


def test_without_a_model_words_decide_in_scripts_without_spaces() -> None:
    with Memory.open(":memory:", embedder="hashing") as memory:
        memory.add_many([{"text": text} for pairs in TALKS.values() for text, _ in pairs])
        for language in ("Thai", "Chinese", "Japanese", "Korean"):
            for text, question in TALKS[language]:
                assert memory.recall(question)[0].text == text


# Quotes


@pytest.mark.slow
@pytest.mark.parametrize(
    ("around", "telling", "question"),
    [
        (
            "今天天气很好我们一起去公园散步。孩子们在草地上玩耍。",
            "保险柜的密码写在蓝色笔记本里。",
            "保险柜的密码在哪里？",
        ),
        ("วันนี้อากาศดีมากเราไปเดินเล่นที่สวนสาธารณะ ", "รหัสตู้เซฟอยู่ในสมุดสีฟ้า", " รหัสตู้เซฟอยู่ที่ไหน"),
        ("आज मौसम बहुत अच्छा है। हम सब पार्क में घूमने गए। ", "तिजोरी का पासवर्ड नीली कॉपी में है। ", "तिजोरी का पासवर्ड कहाँ है?"),
        ("الطقس جميل اليوم؟ ذهبنا إلى الحديقة معاً؟ ", "رقم الخزنة مكتوب في الدفتر الأزرق. ", "أين رقم الخزنة؟"),
        ("Сегодня хорошая погода. Дети играли на траве. ", "Код от сейфа записан в синей тетради. ", "Где коды сейфа?"),
        ("甲乙丙丁戊己庚辛壬癸", "紫色的大象住在雪山", "紫色的大象"),
    ],
)
def test_of_a_long_text_in_any_script_what_answers_is_quoted(around: str, telling: str, question: str) -> None:
    with Memory.open(":memory:") as memory:
        memory.add(around * 40 + telling + around * 40)
        (hit,) = memory.recall(question)
        assert telling.strip() in hit.quote
        assert len(hit.quote) <= 240
        context = memory.context(question, budget=300)
        assert telling.strip() in context.text
        assert context.tokens <= 300


def test_what_a_tokenizer_does_not_know_is_counted_by_its_letters() -> None:
    count = load_tokenizer().count
    assert count("สมหญิงทำร่มสีแดงหายบนรถไฟ") == len("สมหญิงทำร่มสีแดงหายบนรถไฟ")
    assert count("f" * 5_000) == 5_000
    assert count("hello world") == 2
    assert count("nice 🎉") == 2


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("We write the backend in C++", "We write the backend in C#"),
        ("The ticket to the museum costs 40 €", "The ticket to the museum costs 40 $"),
        ("The balance of my account is -50", "The balance of my account is 50"),
        ("เขาซื้อ เสื้อ ให้ ลูก เมื่อวาน", "เขาซื้อ เสือ ให้ ลูก เมื่อวาน"),
        ("मेरा दिन बहुत अच्छा था", "मेरा दान बहुत अच्छा था"),
    ],
)
def test_what_differs_in_a_sign_is_no_repetition(one: str, other: str) -> None:
    with Memory.open(":memory:", embedder="none") as memory:
        memory.add_many([{"text": text, "at": "2026-01-05T10:00Z"} for text in (one, other)])
        assert {hit.text for hit in memory.recall(one)} == {one, other}


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("保险柜在哪里？", "保险柜在床下"),
        ("أين المفتاح الجديد؟", "المفتاح الجديد تحت السجادة"),
        ("Πού είναι το κλειδί;", "Το κλειδί είναι κάτω από το χαλί."),
    ],
)
def test_a_question_in_any_script_is_not_answered_by_itself(question: str, answer: str) -> None:
    with Memory.open(":memory:", embedder="none") as memory:
        memory.add_many([{"text": text} for text in (question, answer)])
        assert memory.recall(question)[0].text == answer


# What is derived


def _derived(memory: Memory) -> tuple[list[str], list[tuple[str, ...]], list[str]]:
    memory.admin.settle()
    facts = [(one.subject_name, one.relation, one.object_name) for one in memory.facts()]
    found = [one.name for one in memory.graph.entities()], facts, [one.content for one in memory.statements()]
    plain = unicodedata.normalize("NFC", repr(found))
    return ast.literal_eval(plain)


def test_accents_that_stand_apart_change_nothing_of_what_is_derived() -> None:
    said = (
        "I met Zoë Müller in München last week.",
        "My sister Chloé lives in Málaga.",
        "Renée works at Citroën in Orléans.",
        "I went to Kraków with Łukasz Żółć.",
    )
    derived = []
    for form in ("NFC", "NFD"):
        with Memory.open(":memory:", embedder="none") as memory:
            for text in said:
                memory.add(unicodedata.normalize(form, text), speaker="Ana", at="2026-01-05T10:00Z")
            derived.append(_derived(memory))
            for one in memory.statements():
                text = memory.get(one.event_id).text
                assert text[one.span.start : one.span.end] == one.quote
            assert memory.admin.verify().ok
    assert derived[0] == derived[1]
    assert "Kraków" in derived[0][0]


@pytest.mark.parametrize("text", ["Zoë in Kraków", "한국어 각", "a\u0323\u0307b", "\u0301abc", "Åå x", "क़\u0958ख"])
def test_a_span_of_composed_letters_is_a_span_of_what_was_said(text: str) -> None:
    letters = Composed(unicodedata.normalize("NFD", text))
    assert letters.text == unicodedata.normalize("NFC", text)
    for start in range(len(letters.text)):
        for end in range(start + 1, len(letters.text) + 1):
            quote = unicodedata.normalize("NFC", letters.quote(Span(start, end)))
            assert quote.startswith(letters.text[start:end]) or unicodedata.combining(letters.text[start])


def test_any_character_alone_is_a_text() -> None:
    with Memory.open(":memory:", embedder="none") as memory:
        marks = [chr(code) for code in range(0x80, 0x3100) if unicodedata.category(chr(code)) != "Cn"]
        memory.add_many([{"text": f"a {mark} {mark}{mark}"} for mark in marks])
        assert memory.recall("\u05b0").pending == 0


def test_notes_have_names_that_any_file_system_takes(tmp_path: Path) -> None:
    with Memory.open(":memory:", embedder="none") as memory:
        for name in ("李" * 90, "สมหญิง" * 20, "👩‍👩‍👧‍👦" * 20, "e\u0301" * 99, "\u202eevil", "A\u200bna"):
            memory.add("I live in Lisbon.", speaker=name)
        memory.admin.export(wiki=tmp_path)
    names = [path.stem for path in tmp_path.rglob("*.md")]
    assert len(names) == 7
    for name in names:
        assert len(f"{name}.md.partial".encode()) <= 255
        assert not re.search("[\u200b\u202e]", name)
        assert name[-1] not in "\u200d\u0e2b\u0e0d"  # cut behind a joiner, or between a letter and its vowel
        assert unicodedata.is_normalized("NFC", name)


@pytest.mark.parametrize(
    ("text", "end", "whole"),
    [
        ("cafe\u0301s", 4, 3),
        ("cafés", 4, 4),
        ("a👩‍👩‍👧‍👦b", 4, 1),
        ("👍🏽", 1, 0),
        ("หญิง", 2, 1),
        ("plain", 3, 3),
        ("हिन्दी", 1, 0),
    ],
)
def test_a_cut_goes_through_no_character(text: str, end: int, whole: int) -> None:
    assert whole_until(text, end) == whole
    assert shortened(text, 100) == text


def test_a_speaker_is_named_in_any_script() -> None:
    for speaker, question in (
        ("Zoë", "Where does Zoe live?"),
        ("Zoe\u0308", "Where does Zoë live?"),
        ("李明", "李明的弟弟在哪里？"),
        ("Фёдор", "Где Федор?"),
        ("민수", "민수는 어디에 있나요?"),
    ):
        assert NamedPeople(question).include(speaker)
    assert not NamedPeople("क्या राम घर पर है?").include("रोहन")
    assert not NamedPeople("Where does Zoe live?").include("Zo")


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
        ("वायलिन खरीदा।", "खरीदा"),
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
    words._known_piece.cache_clear()
    with monkeypatch.context() as then:
        then.setattr(words, "stemmer_of", lambda _: None)
        then.setattr("everyword.storage.sql.snapshot.ANALYSIS_VERSION", 1)
        with Memory.open(path, embedder="none") as memory:
            memory.add("Мы купили старую скрипку на рынке.")
            memory.add("Фёдор с марта работает в пекарне.")
    words._known_piece.cache_clear()
    return path


def test_a_file_of_an_older_analysis_is_searched_as_before_and_better_once_it_is_settled(old: Path) -> None:
    with Memory.open(old, embedder="none") as memory:
        assert len(memory.recall("скрипку")) == 1
        assert not memory.recall("скрипка")
        memory.admin.settle()
        assert len(memory.recall("скрипка")) == 1
        assert memory.admin.verify().ok


def test_an_older_analysis_is_something_owed_and_no_problem(old: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Memory.open(old, embedder="none") as memory:
        memory.add("Мы продали деревянный стол соседям.")
        assert memory.admin.verify().ok
        assert memory.stats().behind["words"] == 3
        assert main(["--memory", str(old), "--embedder", "none", "doctor"]) == 0
        assert "of 3 events indexed by an older version" in capsys.readouterr().out
        memory.admin.settle()
        assert memory.admin.verify().ok
        assert memory.stats().behind == {}


def test_what_is_missing_from_an_index_of_an_older_analysis_is_still_told(old: Path) -> None:
    with closing(sqlite3.connect(old)) as file:
        file.execute("DELETE FROM word_tail WHERE seq = 1")
        file.commit()
    with Memory.open(old, embedder="none") as memory:
        assert [problem.what for problem in memory.admin.verify().problems] == ["it has 1 rows where 2 were written"]


def test_forgetting_in_a_file_of_an_older_analysis_leaves_nothing_behind(old: Path) -> None:
    with Memory.open(old, embedder="none") as memory:
        memory.add("Мы продали деревянный стол соседям.")
        memory.forget(ids=[memory.recall("скрипку")[0].event.id])
        assert not memory.recall("скрипку")
        assert memory.admin.verify().ok
