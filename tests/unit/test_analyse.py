"""What a question asks: its kind, the shape of its answer, its names, and the times it speaks of."""

from __future__ import annotations

import statistics
import time
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import effort
from everyword.retrieval.query_analysis import Analysis, Kind, Shape, analyse

NOW = datetime(2023, 5, 17, 14, 30, tzinfo=UTC)  # a Wednesday

# A question, its kind, the shape of its answer, the names in it. The first two lists were written before the rules; the
# third after them, with odd wordings (.70 of its kinds were right, and rules were added); the fourth after those, and
# no rule was made for it: it says how well an unknown question is understood.
KNOWN = [
    ("When did Priya move to Leeds?", "temporal", "date", ("Priya", "Leeds")),
    ("What year did Tomas graduate?", "temporal", "date", ("Tomas",)),
    ("In which month did we buy the car?", "temporal", "date", ()),
    ("On what date is the hearing?", "temporal", "date", ()),
    ("How long did the renovation take?", "temporal", "duration", ()),
    ("How long have Ida and Noor been married?", "temporal", "duration", ("Ida", "Noor")),
    ("How many days before the wedding did I order the cake?", "temporal", "duration", ()),
    ("How many weeks passed between the interview and the offer?", "temporal", "duration", ()),
    ("How many months ago did I start therapy?", "temporal", "duration", ()),
    ("What did I do last Saturday?", "temporal", "thing", ()),
    ("Which film did Omar see on 3 March 2023?", "temporal", "thing", ("Omar",)),
    ("What happened after Lena lost her job?", "temporal", "thing", ("Lena",)),
    ("What was the first concert Omar went to?", "temporal", "thing", ("Omar",)),
    ("Who finished first, Lena or Omar?", "temporal", "person", ("Lena", "Omar")),
    ("Why did Priya leave her job?", "causal", "reason", ("Priya",)),
    ("What was the reason for the delay?", "causal", "reason", ()),
    ("What made Tomas change his mind?", "causal", "reason", ("Tomas",)),
    ("How come the shop closed?", "causal", "reason", ()),
    ("What motivated Ida to run?", "causal", "reason", ("Ida",)),
    ("What led to the argument?", "causal", "reason", ()),
    ("What books has Omar read?", "listing", "thing", ("Omar",)),
    ("Which countries have I visited?", "listing", "place", ()),
    ("What are Lena's hobbies?", "listing", "thing", ("Lena",)),
    ("List all the restaurants we talked about.", "listing", "thing", ()),
    ("What kinds of tea does Noor drink?", "listing", "thing", ("Noor",)),
    ("Who are Priya's friends?", "listing", "person", ("Priya",)),
    ("What activities does Ida do with her kids?", "listing", "thing", ("Ida",)),
    ("Name the cities Tomas has lived in.", "listing", "thing", ("Tomas",)),
    ("How many pets does Lena have?", "counting", "number", ("Lena",)),
    ("How much did I spend on shoes?", "counting", "number", ()),
    ("How often do I go swimming?", "counting", "number", ()),
    ("What is the total amount I paid for repairs?", "counting", "number", ()),
    ("How many times did Omar miss practice?", "counting", "number", ("Omar",)),
    ("What do Priya and Tomas have in common?", "comparing", "thing", ("Priya", "Tomas")),
    ("Which city have both Ida and Noor visited?", "comparing", "place", ("Ida", "Noor")),
    ("Is Lena older than Omar?", "comparing", "yes_no", ("Lena", "Omar")),
    ("How does Priya's job differ from Tomas's?", "comparing", "thing", ("Priya", "Tomas")),
    ("What is Noor's favourite dish?", "preference", "thing", ("Noor",)),
    ("Does Ida prefer tea or coffee?", "preference", "thing", ("Ida",)),
    ("What music does Omar like?", "preference", "thing", ("Omar",)),
    ("Can you recommend a film for tonight?", "preference", "thing", ()),
    ("Any tips for keeping my desk tidy?", "preference", "thing", ()),
    ("What did you recommend for my back pain?", "assistant", "thing", ()),
    ("Which hostel did you tell me about?", "assistant", "thing", ()),
    ("Can you remind me of the recipe you gave me?", "assistant", "thing", ()),
    ("In our previous chat you listed five wines. Which was the third?", "assistant", "thing", ()),
    ("Where does Priya live?", "lookup", "place", ("Priya",)),
    ("Where did I park?", "lookup", "place", ()),
    ("Who is Tomas married to?", "lookup", "person", ("Tomas",)),
    ("What is my sister's name?", "lookup", "thing", ()),
    ("What does Lena do for work?", "lookup", "thing", ("Lena",)),
    ("What colour is Omar's bike?", "lookup", "thing", ("Omar",)),
    ("Did Ida pass her exam?", "lookup", "yes_no", ("Ida",)),
    ("Is Noor allergic to nuts?", "lookup", "yes_no", ("Noor",)),
    ("Which city does Priya's brother work in?", "lookup", "place", ("Priya",)),
    ("Whose guitar did Omar borrow?", "lookup", "person", ("Omar",)),
    ("How did Lena feel about the move?", "lookup", "thing", ("Lena",)),
    ("How tall is Tomas?", "lookup", "number", ("Tomas",)),
    ("How old is Noor's daughter?", "lookup", "number", ("Noor",)),
    ("What is Dr. Amari's phone number?", "lookup", "number", ("Dr. Amari",)),
    ("What phone did Mary Jane Okafor buy?", "lookup", "thing", ("Mary Jane Okafor",)),
    ("Would Ida enjoy a trip to New Zealand?", "preference", "yes_no", ("Ida", "New Zealand")),
]

UNSEEN = [
    ("Since when has Bruno been vegetarian?", "temporal", "date", ("Bruno",)),
    ("What day was the picnic?", "temporal", "date", ()),
    ("Around what time of year does Saskia go skiing?", "temporal", "date", ("Saskia",)),
    ("Do you know when the lease runs out?", "temporal", "date", ()),
    ("Tell me when Bruno adopted his cat.", "temporal", "date", ("Bruno",)),
    ("For how many years did Yusuf work at the bakery?", "temporal", "duration", ("Yusuf",)),
    ("How long ago was my last dentist visit?", "temporal", "duration", ()),
    ("How much time went by between the two surgeries?", "temporal", "duration", ()),
    ("What was Saskia up to two weekends ago?", "temporal", "thing", ("Saskia",)),
    ("What did Bruno mention yesterday?", "temporal", "thing", ("Bruno",)),
    ("Where was I in the summer of 2021?", "temporal", "place", ()),
    ("Which came earlier, the flood or the fire?", "temporal", "thing", ()),
    ("What did Yusuf do before he became a nurse?", "temporal", "thing", ("Yusuf",)),
    ("What's the most recent book Saskia finished?", "temporal", "thing", ("Saskia",)),
    ("In what order did I visit the three museums?", "temporal", "thing", ()),
    ("Who did Bruno meet in December?", "temporal", "person", ("Bruno",)),
    ("For what reason did Saskia sell her flat?", "causal", "reason", ("Saskia",)),
    ("What caused the power cut?", "causal", "reason", ()),
    ("What inspired Yusuf to paint?", "causal", "reason", ("Yusuf",)),
    ("Why isn't Bruno speaking to his dad?", "causal", "reason", ("Bruno",)),
    ("What's behind Saskia's decision to emigrate?", "causal", "reason", ("Saskia",)),
    ("Explain why the order was cancelled.", "causal", "reason", ()),
    ("Which instruments can Yusuf play?", "listing", "thing", ("Yusuf",)),
    ("What sports has Saskia tried?", "listing", "thing", ("Saskia",)),
    ("What allergies do I have?", "listing", "thing", ()),
    ("Give me every address I have lived at.", "listing", "thing", ()),
    ("What are the names of Bruno's dogs?", "listing", "thing", ("Bruno",)),
    ("What places did we go to in Peru?", "listing", "place", ("Peru",)),
    ("Which people did Saskia invite?", "listing", "person", ("Saskia",)),
    ("What classes is Yusuf taking?", "listing", "thing", ("Yusuf",)),
    ("What was the number of guests at the party?", "counting", "number", ()),
    ("How many siblings has Bruno got?", "counting", "number", ("Bruno",)),
    ("How much money did Saskia raise altogether?", "counting", "number", ("Saskia",)),
    ("In total, how many kilometres did I cycle?", "counting", "number", ()),
    ("How frequently does Yusuf call his mother?", "counting", "number", ("Yusuf",)),
    ("What's the average price I paid for a ticket?", "counting", "number", ()),
    ("What hobby do Saskia and Bruno share?", "comparing", "thing", ("Saskia", "Bruno")),
    ("Who earns more, Yusuf or Bruno?", "comparing", "person", ("Yusuf", "Bruno")),
    ("Did Saskia and Yusuf both study law?", "comparing", "yes_no", ("Saskia", "Yusuf")),
    ("What is the difference between Bruno's and Saskia's diets?", "comparing", "thing", ("Bruno", "Saskia")),
    ("What sort of films does Yusuf enjoy?", "preference", "thing", ("Yusuf",)),
    ("Which colour does Saskia like best?", "preference", "thing", ("Saskia",)),
    ("What food can't Bruno stand?", "preference", "thing", ("Bruno",)),
    ("Could you suggest a present for my aunt?", "preference", "thing", ()),
    ("What should I cook for dinner?", "preference", "thing", ()),
    ("Is Saskia a fan of opera?", "preference", "yes_no", ("Saskia",)),
    ("What was that website you mentioned?", "assistant", "thing", ()),
    ("You gave me a list of exercises; what was the last one?", "assistant", "thing", ()),
    ("What advice did you give me about the loan?", "assistant", "thing", ()),
    ("Remind me what you said about visas.", "assistant", "thing", ()),
    ("Earlier you suggested a hotel in Porto. What was its name?", "assistant", "thing", ("Porto",)),
    ("What is Yusuf's job?", "lookup", "thing", ("Yusuf",)),
    ("Who taught Saskia to drive?", "lookup", "person", ("Saskia",)),
    ("Has Bruno ever been to Japan?", "lookup", "yes_no", ("Bruno", "Japan")),
    ("What breed is Yusuf's dog?", "lookup", "thing", ("Yusuf",)),
    ("In which town was Saskia born?", "lookup", "place", ("Saskia",)),
    ("What was the title of the talk?", "lookup", "thing", ()),
    ("With whom does Bruno share a flat?", "lookup", "person", ("Bruno",)),
    ("What is the wifi password?", "lookup", "thing", ()),
    ("How does Yusuf get to work?", "lookup", "thing", ("Yusuf",)),
    ("Is my passport still valid?", "lookup", "yes_no", ()),
    ("Which company hired Saskia?", "lookup", "thing", ("Saskia",)),
    ("What did Bruno say about the landlord?", "lookup", "thing", ("Bruno",)),
    ("What size shoes does Yusuf wear?", "lookup", "thing", ("Yusuf",)),
    ("Where can I find the spare key?", "lookup", "place", ()),
    ("Could Saskia be pregnant?", "lookup", "yes_no", ("Saskia",)),
]
ODD = [
    ("What time of day did Hedda usually write?", "temporal", "date", ("Hedda",)),
    ("When will the new kitchen be ready?", "temporal", "date", ()),
    ("How soon after the operation could Rafael walk?", "temporal", "duration", ("Rafael",)),
    ("What were we arguing about the night before Easter?", "temporal", "thing", ()),
    ("Which of my trips was longer, Crete or Malta?", "comparing", "thing", ("Crete", "Malta")),
    ("Did Rafael start running before or after he met Hedda?", "temporal", "thing", ("Rafael", "Hedda")),
    ("Whom did I see at the gym on Monday?", "temporal", "person", ()),
    ("What was the weather like during our honeymoon?", "lookup", "thing", ()),
    ("What's the name of the dentist I go to?", "lookup", "thing", ()),
    ("Where's my warranty card?", "lookup", "place", ()),
    ("So who won the quiz in the end?", "lookup", "person", ()),
    ("Hedda works for which newspaper?", "lookup", "thing", ("Hedda",)),
    ("Is there anything Rafael is afraid of?", "lookup", "yes_no", ("Rafael",)),
    ("I forgot what Hedda's cat is called.", "lookup", "thing", ("Hedda",)),
    ("How is Rafael's knee doing?", "lookup", "thing", ("Rafael",)),
    ("Which floor does Hedda live on?", "lookup", "thing", ("Hedda",)),
    ("Does Rafael have a driving licence?", "lookup", "yes_no", ("Rafael",)),
    ("What languages do my neighbours speak?", "listing", "thing", ()),
    ("Which medicines am I taking?", "listing", "thing", ()),
    ("What has Hedda published?", "listing", "thing", ("Hedda",)),
    ("Who all came to the barbecue?", "listing", "person", ()),
    ("Tell me everything I own that needs batteries.", "listing", "thing", ()),
    ("Which cities are on Rafael's bucket list?", "listing", "place", ("Rafael",)),
    ("How many of my plants died?", "counting", "number", ()),
    ("What did the whole trip to Crete cost me?", "counting", "number", ("Crete",)),
    ("How big is my pension pot in total?", "counting", "number", ()),
    ("Number of books Hedda owns?", "counting", "number", ("Hedda",)),
    ("What drove Hedda to quit smoking?", "causal", "reason", ("Hedda",)),
    ("How did it come about that Rafael moved out?", "causal", "reason", ("Rafael",)),
    ("Why was I so upset with Hedda?", "causal", "reason", ("Hedda",)),
    ("What's Hedda's favourite season?", "preference", "thing", ("Hedda",)),
    ("How does Rafael take his coffee?", "preference", "thing", ("Rafael",)),
    ("I need a gift for Hedda, what would she be happy with?", "preference", "thing", ("Hedda",)),
    ("Which wine goes down well with Rafael?", "preference", "thing", ("Rafael",)),
    ("Is Rafael more into jazz or rock?", "preference", "thing", ("Rafael",)),
    ("What did you say my password hint was?", "assistant", "thing", ()),
    ("Which three stretches did you show me?", "assistant", "thing", ()),
    ("What was your advice on the mortgage?", "assistant", "thing", ()),
    ("Do Hedda and Rafael know each other?", "comparing", "yes_no", ("Hedda", "Rafael")),
    ("Between Hedda and Rafael, who is taller?", "comparing", "person", ("Hedda", "Rafael")),
]
FRESH = [
    ("When was the boiler serviced?", "temporal", "date", ()),
    ("What month is Lior's exam?", "temporal", "date", ("Lior",)),
    ("How long has Agnes lived in Ghent?", "temporal", "duration", ("Agnes", "Ghent")),
    ("What was I working on in February?", "temporal", "thing", ()),
    ("Who visited us last Christmas?", "temporal", "person", ()),
    ("What did Agnes cook three days ago?", "temporal", "thing", ("Agnes",)),
    ("When exactly does the visa expire?", "temporal", "date", ()),
    ("Which job did Lior have before joining the bank?", "temporal", "thing", ("Lior",)),
    ("When was the last time I changed the oil?", "temporal", "date", ()),
    ("Where did Agnes spend her 30th birthday?", "lookup", "place", ("Agnes",)),
    ("What instrument does Lior play?", "lookup", "thing", ("Lior",)),
    ("Who fixed our roof?", "lookup", "person", ()),
    ("What was the name of the hotel in Split?", "lookup", "thing", ("Split",)),
    ("Has Agnes sold her car?", "lookup", "yes_no", ("Agnes",)),
    ("What is Lior studying?", "lookup", "thing", ("Lior",)),
    ("What did Agnes think of the play?", "lookup", "thing", ("Agnes",)),
    ("Which school do the twins go to?", "lookup", "thing", ()),
    ("How do I reset the router?", "lookup", "thing", ()),
    ("What is the licence plate of the van?", "lookup", "thing", ()),
    ("Can Lior swim?", "lookup", "yes_no", ("Lior",)),
    ("What kind of car does Agnes drive?", "lookup", "thing", ("Agnes",)),
    ("Where do Lior's parents come from?", "lookup", "place", ("Lior",)),
    ("What projects is Agnes working on?", "listing", "thing", ("Agnes",)),
    ("What are my open tasks?", "listing", "thing", ()),
    ("Which museums has Lior been to?", "listing", "thing", ("Lior",)),
    ("What gifts did I get from Agnes?", "listing", "thing", ("Agnes",)),
    ("Who were the speakers at the meetup?", "listing", "person", ()),
    ("What tools do I need for the shelf?", "listing", "thing", ()),
    ("How many cousins does Agnes have?", "counting", "number", ("Agnes",)),
    ("How much do I pay for electricity?", "counting", "number", ()),
    ("How many times has Lior been to Rome?", "counting", "number", ("Lior", "Rome")),
    ("How often does Agnes see her physio?", "counting", "number", ("Agnes",)),
    ("Why did we choose Postgres?", "causal", "reason", ("Postgres",)),
    ("What was the reason Lior gave for leaving?", "causal", "reason", ("Lior",)),
    ("Why doesn't Agnes eat meat?", "causal", "reason", ("Agnes",)),
    ("What is Lior's favourite band?", "preference", "thing", ("Lior",)),
    ("Does Agnes like spicy food?", "preference", "yes_no", ("Agnes",)),
    ("What would be a good holiday for Lior?", "preference", "thing", ("Lior",)),
    ("Can you suggest a book I might enjoy?", "preference", "thing", ()),
    ("What did you tell me about interest rates?", "assistant", "thing", ()),
    ("Which of the options you gave me was the cheapest?", "assistant", "thing", ()),
    ("What do Agnes and Lior both collect?", "comparing", "thing", ("Agnes", "Lior")),
    ("Who is older, Agnes or Lior?", "comparing", "person", ("Agnes", "Lior")),
]
# Shares of a list that must be right: a little under what was reached, .98 of the fresh kinds and all of the rest.
FLOORS = {"kind": 0.95, "shape": 0.95, "names": 0.95}
ODD_FLOORS = {"kind": 0.85, "shape": 0.95, "names": 0.95}


def _misses(rows: list[tuple[str, str, str, tuple[str, ...]]], column: str) -> list[str]:
    place = ["kind", "shape", "names"].index(column) + 1
    missed: list[str] = []
    for row in rows:
        found = getattr(analyse(row[0], NOW), column)
        if found != row[place]:
            missed.append(f"{row[0]} -> {found}, not {row[place]}")
    return missed


@pytest.mark.parametrize("column", FLOORS)
@pytest.mark.parametrize("rows", [KNOWN, UNSEEN, ODD, FRESH], ids=["known", "unseen", "odd", "fresh"])
def test_most_questions_are_understood(rows: list[tuple[str, str, str, tuple[str, ...]]], column: str) -> None:
    missed = _misses(rows, column)
    floor = (ODD_FLOORS if rows is ODD else FLOORS)[column]
    assert 1 - len(missed) / len(rows) >= floor, "\n".join(missed)


def _day(written: str) -> datetime:
    return datetime.fromisoformat(written).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("question", "windows"),
    [
        ("What did I do last Saturday?", [("2023-05-13", "2023-05-14")]),
        ("Which film did Omar see on 3 March 2023?", [("2023-03-03", "2023-03-04")]),
        ("Who did Bruno meet in December?", [("2022-12-01", "2023-01-01")]),
        ("What are Bruno's plans for December?", [("2023-12-01", "2024-01-01")]),
        ("How many runs did I do between March and April?", [("2023-03-01", "2023-05-01")]),
        ("What did I eat on Monday and on Tuesday?", [("2023-05-15", "2023-05-16"), ("2023-05-16", "2023-05-17")]),
        ("Where was I in the summer of 2021?", [("2021-06-01", "2021-09-01")]),
        ("How much have I spent in the past two weeks?", [("2023-05-03", "2023-05-18")]),
        ("What did I do when I was in college?", []),
        ("What do I do every Tuesday?", []),
        ("Where does Priya live?", []),
        ("May I ask where June and April live?", []),
    ],
)
def test_the_times_of_a_question_are_windows_seen_from_now(question: str, windows: list[tuple[str, str]]) -> None:
    found = [(window.start, window.end) for window in analyse(question, NOW).windows]
    assert found == [(_day(start), _day(end)) for start, end in windows]


def test_a_vague_time_is_not_certain() -> None:
    (window,) = analyse("What did I buy a few months ago?", NOW).windows
    assert not window.certain


@pytest.mark.parametrize(
    ("question", "ahead"),
    [
        ("What are Bruno's plans for December?", True),
        ("Can you recommend a film for tonight?", True),
        ("Any tips for my trip this weekend?", True),
        ("What did I say today?", False),
        ("How many weddings have I attended this year?", False),
        ("Can you suggest something like what I cooked last Saturday?", False),
    ],
)
def test_a_time_is_ahead_if_nothing_can_have_been_said_in_it(question: str, ahead: bool) -> None:
    (window,) = analyse(question, NOW).windows
    assert window.ahead is ahead
    assert window.start >= NOW if ahead else window.start < NOW


def _having(flag: str, *questions: str) -> list[tuple[str, str]]:
    return [(flag, question) for question in questions]


@pytest.mark.parametrize(
    ("flag", "question"),
    [
        *_having(
            "past",
            "What did Ida do two days before the trip?",
            "Where did Noor live originally?",
            "What did Ida do in 2019?",
        ),
        *_having(
            "current",
            "Where does Priya live now?",
            "Where does Priya live?",
            "What is my current address?",
            "Which phone do I have these days?",
            "How many pets does Lena have?",
            "Is Noor still at the bank?",
        ),
        *_having(
            "addressed",
            "What did you recommend for my back pain?",
            "In our last conversation you named a book, which one?",
            "Which hostel did you tell me about?",
        ),
        *_having(
            "hypothetical",
            "Would Ida enjoy a trip to New Zealand?",
            "What job might Tomas take up?",
            "Is it likely that Noor moves?",
            "Could Saskia be pregnant?",
        ),
    ],
)
def test_what_else_a_question_shows_is_seen(flag: str, question: str) -> None:
    assert getattr(analyse(question, NOW), flag) is True


@pytest.mark.parametrize(
    ("flag", "question"),
    [
        *_having(
            "past",
            "How old is Ana?",
            "Do you know when the lease runs out?",
            "Where does Rachel from my previous company work now?",
            "Do I run more often than before?",
        ),
        *_having(
            "current",
            "Where did Priya live?",
            "Why does Priya live there?",
            "What did Omar do last May?",
            "When is the hearing?",
            "What is the total amount I spent on shoes?",
        ),
        *_having("addressed", "What did Tomas tell you?", "Can you recommend a film?", "Where do you live?"),
        *_having("hypothetical", "Could you tell me where Ida lives?", "What did Ida do?", "Would you remind me?"),
    ],
)
def test_and_not_where_it_is_not(flag: str, question: str) -> None:
    assert getattr(analyse(question, NOW), flag) is False


@pytest.mark.parametrize(
    ("question", "order"),
    [
        ("What was the first concert Omar went to?", "first"),
        ("What did I originally want to study?", "first"),
        ("What's the most recent book Saskia finished?", "last"),
        ("When was the last time I saw Noor?", "last"),
        ("What is Omar's latest address?", "last"),
        ("What did I do last week?", None),
        ("What is Noor's last name?", None),
        ("Where does Ida live?", None),
    ],
)
def test_the_first_and_the_last_of_their_kind_are_told_from_last_week(question: str, order: str | None) -> None:
    assert analyse(question, NOW).first_last == order


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("Wo wohnt Priya jetzt?", ("Priya",)),
        ("¿Dónde vive Inés?", ("Inés",)),
        ("Où habite Élodie Brûlé ?", ("Élodie Brûlé",)),
        ("Где живёт Анна?", ("Анна",)),
        ("田中さんはどこに住んでいますか？", ()),
        ("أين تسكن ليلى؟", ()),
    ],
)
def test_another_language_is_a_lookup_with_the_names_its_capitals_show(question: str, names: tuple[str, ...]) -> None:
    found = analyse(question, NOW)
    assert (found.kind, found.shape) == (Kind.LOOKUP, Shape.THING)
    assert set(names) <= set(found.names)


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("Did Jean-Luc's sister meet Ana-Maria O'Neill?", ("Jean-Luc", "Ana-Maria O'Neill")),
        ("What did Dr. Chen and J. K. Ode say?", ("Dr. Chen", "J. K. Ode")),
        ("Priya moved where?", ("Priya",)),
        ("What did I do on Monday in March?", ()),
        ("Is Boris' boat in New York, or in the Azores?", ("Boris", "New York", "Azores")),
        ("Where is Ana? Is Ana well?", ("Ana",)),
        ("what did ana say?", ()),
    ],
)
def test_names_are_whole_and_without_their_possessive(question: str, names: tuple[str, ...]) -> None:
    assert analyse(question, NOW).names == names


@pytest.mark.slow
@settings(max_examples=effort(30, 100), deadline=None)
@given(st.one_of(st.text(max_size=300), st.lists(st.sampled_from("When what? is Ana's or ' . , you tell me before the "
    "between May 8 \x00 \ud800 how many İ ſ Dr. who".split(" ")), max_size=40).map(" ".join)))  # fmt: skip
def test_any_text_is_analysed(text: str) -> None:
    assert isinstance(analyse(text, NOW), Analysis)


@pytest.mark.parametrize(
    "piece", ["tell me when i ", "May 8 ", "Ana ", "a, or ", "?", "what ", "Dr. ", "'s ", "x", "more than ", "\n", ". "]
)
def test_a_megabyte_of_anything_is_analysed_within_a_second(piece: str) -> None:
    text = piece * (1_000_000 // len(piece))
    started = time.process_time()
    analyse(text, NOW)
    assert time.process_time() - started < 4.0


def test_a_question_costs_a_fraction_of_a_millisecond() -> None:
    """The goal is 300 µs; the bar is far above it, since a loaded machine must not fail it."""
    questions = [row[0] for row in (*KNOWN, *UNSEEN)]
    for question in questions:
        analyse(question, NOW)
    spent: list[float] = []
    for question in questions:
        started = time.process_time()
        analyse(question, NOW)
        spent.append(time.process_time() - started)
    assert statistics.median(spent) < 0.002


@pytest.mark.parametrize(
    ("question", "effects"),
    [
        ("What did the strike lead to?", True),
        ("What were the consequences of the flood?", True),
        ("How did the merger affect the team?", True),
        ("What came of the audit?", True),
        ("Why did the team move?", False),
        ("What caused the flood?", False),
        ("What led to the merger?", False),
        ("Where is the team?", False),
    ],
)
def test_what_came_of_something_is_another_question_than_why(question: str, effects: bool) -> None:
    assert analyse(question, NOW).effects is effects


@pytest.mark.parametrize(
    ("question", "says"),
    [
        ("Where do I live now?", True),
        ("Is Ana still at Acme?", True),
        ("Does Ana swim more often than she did before?", True),
        ("Where do I live?", False),
        ("Who is Ana?", False),
    ],
)
def test_the_present_is_one_thing_and_saying_so_another(question: str, says: bool) -> None:
    assert (analyse(question, NOW).current, analyse(question, NOW).says_now) == (True, says)
