"""CogEval: gold graphs within their stated ranges for every seed and scenario; metrics against graphs done by hand."""

from __future__ import annotations

import itertools
import json
import math
import random
import re
import warnings
from typing import Any

import pytest
from evals.graphs import LOOKED_AT_EVERY, SHOWN, grid, measure_stream
from evals.metrics_graph import (
    best_pairs,
    chain_discovery,
    clustering,
    compression,
    edge_type_entropy,
    gold_f1,
    graph_metrics,
    intent_scores,
    modularity,
    pagerank,
    pagerank_gini,
    proactivity,
    purity,
)
from evals.tasks import TaskOptions, load_task
from evals.tasks.cogeval import (
    DEVELOPMENT,
    FIRST,
    FOLDER,
    FOURTH,
    HELD_BACK,
    KINDS,
    SCENARIOS,
    TEMPLATES,
    Scenario,
    cogeval,
    event_texts,
    read_scenario,
)
from evals.tasks.planted_words.slots import CLOSED, SLOT

from everyword.knowledge.concept_graph import load_profile
from everyword.knowledge.llm.plans import SCHEMA
from everyword.models.embedders import load_embedder
from llm_server import Asked, chat, serving

SEEDS = range(30)


@pytest.fixture(scope="module", params=TEMPLATES)
def tasks(request: pytest.FixtureRequest) -> list[Any]:
    """Make all scenarios for thirty seeds."""
    return [cogeval(seed, templates=request.param) for seed in SEEDS]


def test_the_same_seed_gives_the_same_stream_and_another_seed_another() -> None:
    assert cogeval(3) == cogeval(3)
    assert cogeval(3).data_hash != cogeval(4).data_hash
    assert len({cogeval(3, templates=templates).data_hash for templates in TEMPLATES}) == len(TEMPLATES)


def test_one_scenario_is_the_same_alone_and_among_all() -> None:
    alone, among = cogeval(3, scenario="news"), cogeval(3)
    assert alone.stores["news"] == among.stores["news"]
    assert alone.graph["news"] == among.graph["news"]


def test_an_unknown_scenario_is_named_with_those_there_are() -> None:
    with pytest.raises(ValueError, match="software, health"):
        cogeval(1, scenario="cooking")


def test_unknown_templates_are_named_with_those_there_are() -> None:
    with pytest.raises(ValueError, match="first, second, third, fourth, held_back"):
        cogeval(1, templates="fifth")


def test_a_task_says_of_which_templates_it_is() -> None:
    assert [cogeval(1, templates=templates).name for templates in TEMPLATES] == [
        "cogeval",
        "cogeval-second",
        "cogeval-third",
        "cogeval-fourth",
        "cogeval-held-back",
    ]
    assert cogeval(1, scenario="news", templates=HELD_BACK).name == "cogeval-news-held-back"
    assert load_task("cogeval", TaskOptions(seed=1)).task == cogeval(1)
    assert load_task("cogeval", TaskOptions(seed=1, held_back=True)).task == cogeval(1, templates=HELD_BACK)


def test_graphs_have_the_stated_shape(tasks: list[Any]) -> None:
    for task in tasks:
        assert tuple(task.graph) == SCENARIOS
        for graph in task.graph.values():
            labels = {concept["label"] for concept in graph["concepts"]}
            parents = {parent["label"] for parent in graph["parents"]}
            assert 8 <= len(labels) <= 9
            assert all(len(concept["events"]) >= 3 for concept in graph["concepts"])
            assert 1 <= len(parents) <= 3
            assert 9 <= len(graph["relations"]) <= 14
            assert {relation["kind"] for relation in graph["relations"]} == set(KINDS)
            for relation in graph["relations"]:
                assert relation["source"] in labels
                assert relation["target"] in (parents if relation["kind"] == "part_of" else labels)
            for parent in graph["parents"]:
                assert len(parent["children"]) >= 2
            assert len(graph["intents"]) == 2
            for intent in graph["intents"]:
                assert intent["trigger"] in intent["concepts"]
                assert set(intent["concepts"]) <= labels
                assert len(intent["events"]) >= 2


def test_chains_are_three_or_four_hops_in_order_of_time_and_are_relations(tasks: list[Any]) -> None:
    for task in tasks:
        for graph in task.graph.values():
            assert len(graph["chains"]) == 2
            pairs = {(relation["source"], relation["target"]) for relation in graph["relations"]}
            for chain in graph["chains"]:
                assert 3 <= len(chain["concepts"]) - 1 == len(chain["kinds"]) <= 4
                assert chain["events"] == sorted(chain["events"])
                assert set(itertools.pairwise(chain["concepts"])) <= pairs


def test_streams_have_some_forty_events_a_tenth_of_them_noise_over_days(tasks: list[Any]) -> None:
    for task in tasks:
        for store, lines in task.stores.items():
            graph = task.graph[store]
            assert 40 <= len(lines) <= 44
            assert 0.10 <= len(graph["distractors"]) / len(lines) <= 0.15
            times = [line.at for line in lines]
            assert times == sorted(times)
            assert 3 <= (times[-1] - times[0]).days <= 60
            grounded = [key for concept in graph["concepts"] for key in concept["events"]]
            assert sorted([*grounded, *graph["distractors"]]) == [line.key for line in lines]


def test_chain_events_are_not_told_in_one_breath(tasks: list[Any]) -> None:
    apart = [
        later - earlier > 1
        for task in tasks
        for graph in task.graph.values()
        for chain in graph["chains"]
        for earlier, later in itertools.pairwise(int(key.split(":")[1]) for key in chain["events"])
    ]
    assert sum(apart) / len(apart) > 0.7


def test_every_question_has_evidence_that_exists_and_look_ups_hold_their_answer(tasks: list[Any]) -> None:
    for task in tasks:
        for store in task.stores:
            texts = event_texts(task, store)
            questions = [asked for asked in task.questions if asked.store == store]
            assert len([asked for asked in questions if asked.category == "lookup"]) >= 4
            assert len([asked for asked in questions if asked.category.startswith("chain-")]) == 4
            for asked in questions:
                assert set(asked.evidence) <= set(texts)
                assert asked.answer
                if asked.category.startswith("chain-"):
                    assert len(asked.evidence) >= 4


def test_nothing_is_left_unfilled(tasks: list[Any]) -> None:
    for task in tasks:
        texts = [line.text for lines in task.stores.values() for line in lines]
        texts += [text for asked in task.questions for text in (asked.text, asked.answer)]
        texts += [intent["statement"] for graph in task.graph.values() for intent in graph["intents"]]
        assert not [text for text in texts if re.search(r"[{}\[\]|]|\?\?|=>|\bthe the\b", text, re.IGNORECASE)]


def templates(scenario: Scenario) -> set[str]:
    found = {template.text for concept in scenario.concepts.values() for template in concept}
    found |= {text for intent in scenario.intents for text in (intent.goal, *intent.events)}
    found |= {text for chain in scenario.chains for _, text in chain.steps}
    return found | {ask.ask for chain in scenario.chains for ask in chain.asks} | set(scenario.distractors)


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_sets_of_a_scenario_share_no_template_or_word(name: str) -> None:
    sides = [read_scenario(name, templates) for templates in TEMPLATES]
    for one, other in itertools.combinations(sides, 2):
        assert not templates(one) & templates(other)
        words, others = ({word for words in side.words.values() for word in words} for side in (one, other))
        assert not words & others
    for scenario in sides:
        slots = {base for text in templates(scenario) for base, _ in SLOT.findall(text)}
        assert slots <= {*scenario.words, *CLOSED}


def test_no_concept_of_any_set_is_one_of_another_set() -> None:
    labels = [{label.lower() for name in SCENARIOS for label in read_scenario(name, one).concepts} for one in TEMPLATES]
    for one, other in itertools.combinations(labels, 2):
        assert not one & other


@pytest.mark.parametrize("templates", [FOURTH, HELD_BACK])
@pytest.mark.parametrize("name", SCENARIOS)
def test_events_written_by_the_paper_s_recipe_have_titles_and_speak_of_their_keywords(
    name: str, templates: str
) -> None:
    scenario = read_scenario(name, templates)
    assert all(len(scenario.keywords[label]) >= 4 for label in scenario.concepts)
    texts = [(label, one.text) for label, events in scenario.concepts.items() for one in events]
    assert all(0 < text.find(": ") <= 60 for _, text in texts)
    speaking = [
        any(word.lower()[:5] in text.lower() for key in scenario.keywords[label] for word in key.split())
        for label, text in texts
    ]
    assert sum(speaking) / len(speaking) > 0.8


def test_held_back_streams_have_people_of_their_own() -> None:
    known = {name for one in DEVELOPMENT for name in read_scenario("news", one).words["name"]}
    for scenario in SCENARIOS:
        own = read_scenario(scenario, HELD_BACK).words["name"]
        assert not known & set(own)
        known |= set(own)


def test_every_scenario_file_belongs_to_a_set() -> None:
    endings = [f"_{one}.txt" for one in TEMPLATES if one != FIRST]
    wanted = {f"{name}{ending}" for name in SCENARIOS for ending in (".txt", *endings)}
    assert {file.name for file in FOLDER.iterdir()} == wanted | {"distractors.txt"}


@pytest.mark.parametrize("name", SCENARIOS)
def test_no_profile_tells_an_llm_a_label_of_a_scenario(name: str) -> None:
    shipped = ("general", "news", "personal", "research", "software", "support", "teamwork")
    told = " ".join(load_profile(one).prompt for one in shipped).lower()
    for one in TEMPLATES:
        labels = [label.lower() for label in read_scenario(name, one).concepts]
        assert not [label for label in labels if re.search(rf"\b{re.escape(label)}\b", told)]


def test_streams_of_one_scenario_vary_with_the_seed() -> None:
    streams = [cogeval(seed, scenario="health") for seed in SEEDS]
    texts = [line.text for stream in streams for line in stream.stores["health"]]
    assert len(set(texts)) / len(texts) > 0.4
    graphs = {repr(stream.graph["health"]["relations"]) for stream in streams}
    assert len(graphs) >= 10


AXES = {"cat": (1.0, 0.0), "kitten": (0.8, 0.6), "dog": (0.0, 1.0), "hound": (0.6, 0.8), "stone": (-1.0, 0.0)}


def embed(text: str) -> tuple[float, ...]:
    """Look a word up; the vectors are unit vectors in the plane."""
    return AXES[text]


def graph(
    concepts: dict[str, list[str]],
    edges: str = "",
    intents: list[dict[str, Any]] | None = None,
    kind: str = "related_to",
) -> dict[str, Any]:
    """Write a graph briefly: `a-b b-c` are edges, `a-b:causes` one with a kind."""
    return {
        "concepts": [{"label": label, "events": events} for label, events in concepts.items()],
        "edges": [
            {"source": source, "target": target.partition(":")[0], "kind": target.partition(":")[2] or kind}
            for source, target in (edge.split("-") for edge in edges.split())
        ],
        "intents": intents or [],
    }


def nodes(names: str) -> dict[str, list[str]]:
    return {name: [] for name in names}


def test_gold_f1_matches_labels_one_to_one_above_the_threshold() -> None:
    gold = graph({"cat": [], "dog": []})
    made = graph({"kitten": [], "hound": [], "stone": []})
    # kitten-cat .8, hound-dog .8, stone matches nothing: two of three, two of two.
    assert gold_f1(made, gold, embed) == pytest.approx((2 / 3, 1.0, 0.8))
    assert gold_f1(made, gold, embed, threshold=0.81) == (0.0, 0.0, 0.0)
    # Two labels near to one gold concept count once.
    assert gold_f1(graph({"cat": [], "kitten": []}), graph({"cat": []}), embed) == pytest.approx((0.5, 1.0, 2 / 3))
    assert gold_f1(graph({}), gold, embed) == (0.0, 0.0, 0.0)


def test_gold_f1_takes_a_given_embedding_for_the_label() -> None:
    made = {"concepts": [{"label": "unknown", "events": [], "embedding": (0.0, 2.0)}], "edges": [], "intents": []}
    assert gold_f1(made, graph({"dog": []}), embed) == (1.0, 1.0, 1.0)


def test_purity_averages_pairs_within_concepts_then_concepts() -> None:
    texts = {"1": "cat", "2": "kitten", "3": "dog", "4": "stone"}
    # 1-2 .8, 1-3 0, 2-3 .6: mean 1.4/3; the concept of 1 and 4 has -1; single events do not count.
    made = graph({"a": ["1", "2", "3"], "b": ["1", "4"], "c": ["2"]})
    assert purity(made, texts, embed) == pytest.approx((1.4 / 3 - 1) / 2)
    assert purity(graph({"c": ["2"]}), texts, embed) == 0.0


def test_chain_discovery_needs_a_path_between_two_concepts() -> None:
    gold = {"chains": [{"events": ["1", "2", "3"]}, {"events": ["4", "5"]}]}
    line = graph({"a": ["1"], "b": ["2"], "c": ["3"], "d": ["4"], "e": ["5"]}, "b-a b-c")
    assert chain_discovery(line, gold) == 0.5
    assert chain_discovery(line, gold, longest=1) == 0.0
    assert chain_discovery(line, gold, longest=2) == 0.5
    one_heap = graph({"all": ["1", "2", "3", "4", "5"]})
    assert chain_discovery(one_heap, gold) == 0.0
    by_shared_event = graph({"a": ["1", "2"], "b": ["2", "3"], "d": ["4"], "e": ["5"]})
    assert chain_discovery(by_shared_event, gold) == 0.5
    assert chain_discovery(graph({}), gold) == 0.0


def test_clustering_of_a_triangle_with_a_tail() -> None:
    # a and b: 1; c has neighbours a, b, d with one of three pairs joined; d has one neighbour.
    made = graph(nodes("abcd"), "a-b b-c c-a c-d d-d")
    assert clustering(made) == pytest.approx((1 + 1 + 1 / 3 + 0) / 4)
    assert clustering(graph({})) == 0.0


def test_modularity_of_two_triangles_joined_by_an_edge() -> None:
    made = graph(nodes("abcdef"), "a-b b-c c-a d-e e-f f-d c-d")
    # Seven edges; each triangle has three inside and degrees of seven: 2 * (3/7 - (7/14)^2).
    assert modularity(made) == pytest.approx(2 * (3 / 7 - 0.25))
    assert modularity(graph(nodes("ab"))) == 0.0
    assert modularity(graph(nodes("abcd"), "a-b c-d")) == pytest.approx(0.5)


def test_edge_type_entropy_in_bits() -> None:
    made = graph(nodes("abc"), "a-b:causes b-c:causes c-a:part_of a-c:triggers")
    assert edge_type_entropy(made) == pytest.approx(0.5 * 1 + 2 * 0.25 * 2)
    assert edge_type_entropy(graph(nodes("ab"), "a-b")) == 0.0
    assert edge_type_entropy(graph({})) == 0.0


def test_compression_is_events_by_concepts() -> None:
    assert compression(graph(nodes("abcdefgh")), 42) == 5.25
    assert compression(graph({}), 42) == 0.0


def test_pagerank_and_its_gini() -> None:
    ring = graph(nodes("abc"), "a-b b-c c-a")
    assert pagerank(ring) == pytest.approx({"a": 1 / 3, "b": 1 / 3, "c": 1 / 3})
    assert pagerank_gini(ring) == pytest.approx(0.0)
    # a -> b with b loose: a = .075 + .425 b, b = a + .85 a, hence a = 1/2.85.
    pair = graph(nodes("ab"), "a-b")
    assert pagerank(pair) == pytest.approx({"a": 1 / 2.85, "b": 1.85 / 2.85})
    assert pagerank_gini(pair) == pytest.approx((1.85 - 1) / 2.85 / 2)
    assert pagerank_gini(graph({})) == 0.0


def test_proactivity_counts_intents_with_two_links() -> None:
    intents = [
        {"statement": "cat", "events": ["1", "2"], "concepts": []},
        {"statement": "cat", "events": ["1"], "concepts": ["a"]},
        {"statement": "cat", "events": ["1", "1"], "concepts": []},
        {"statement": "cat", "events": [], "concepts": []},
    ]
    assert proactivity(graph({}, intents=intents)) == 0.5
    assert proactivity(graph({})) == 0.0


def test_intents_match_by_wording_or_by_grounds_one_to_one() -> None:
    gold = graph(
        {"a": ["1", "2", "3"], "b": ["4", "5"]},
        intents=[
            {"statement": "cat", "events": ["1", "2"], "concepts": ["a"]},
            {"statement": "dog", "events": ["4"], "concepts": ["b"]},
        ],
    )
    by_wording = {"statement": "kitten", "events": ["9"], "concepts": []}
    by_grounds = {"statement": "stone", "events": ["4", "5"], "concepts": []}
    mostly_elsewhere = {"statement": "stone", "events": ["4", "7", "8"], "concepts": []}
    no_goal_event = {"statement": "stone", "events": ["3"], "concepts": []}
    assert intent_scores(graph({}, intents=[by_wording, by_grounds]), gold, embed) == (1.0, 1.0)
    assert intent_scores(graph({}, intents=[mostly_elsewhere, no_goal_event]), gold, embed) == (0.0, 0.0)
    assert intent_scores(graph({}, intents=[by_wording, dict(by_wording)]), gold, embed) == (0.5, 0.5)
    assert intent_scores(graph({}), gold, embed) == (0.0, 0.0)


def test_pairing_is_the_best_there_is() -> None:
    rng = random.Random(8)
    for _ in range(150):
        rows, columns = rng.randint(1, 5), rng.randint(1, 5)
        weights = [[rng.choice([0.0, rng.random(), -rng.random()]) for _ in range(columns)] for _ in range(rows)]
        pairs = best_pairs(weights)
        assert len(pairs) == min(rows, columns)
        assert len({row for row, _ in pairs}) == len({column for _, column in pairs}) == len(pairs)
        best = max(
            sum(weights[row][column] for row, column in zip(some, order, strict=True))
            for some in itertools.combinations(range(rows), min(rows, columns))
            for order in itertools.permutations(range(columns), min(rows, columns))
        )
        assert sum(weights[row][column] for row, column in pairs) == pytest.approx(best)
    assert best_pairs([]) == []


def test_the_gold_graph_itself_scores_full() -> None:
    task = cogeval(2, scenario="support")
    gold = task.graph["support"]

    def by_letters(text: str) -> list[float]:
        return [text.lower().count(letter) + 1e-6 for letter in "abcdefghijklmnopqrstuvwxyz"]

    produced = {"concepts": gold["concepts"], "edges": gold["relations"], "intents": gold["intents"]}
    scores = graph_metrics(produced, gold, texts=event_texts(task, "support"), embed=by_letters, threshold=1.0)
    full = ("gold_precision", "gold_recall", "gold_f1", "chain_discovery", "proactivity")
    assert [scores[name] for name in full] == [1.0] * 5
    assert (scores["intent_precision"], scores["intent_recall"]) == (1.0, 1.0)
    assert 4 <= scores["compression"] <= 5.5
    assert scores["edge_type_entropy"] <= math.log2(len(KINDS))


def row(templates: str, stream: str, value: float) -> dict[str, Any]:
    return {"seed": 4, "templates": templates, "stream": stream, **dict.fromkeys(SHOWN, value)}


def test_the_table_shows_each_set_of_templates_by_itself_where_there_are_more() -> None:
    both = grid([row("first", "news", 0.2), row("first", "team", 0.4), row("second", "news", 0.6)])
    assert "first and second templates, 3 streams" in both.title
    assert both.columns == ["metric", "all", "first", "second", "news", "team"]
    assert both.rows[0][0] == "gold_f1"
    assert both.rows[0][1].startswith("0.400 [")
    assert both.rows[0][2:] == ["0.300", "0.600", "0.400", "0.400"]
    alone = grid([row("held_back", "news", 0.2)])
    assert "held-back templates" in alone.title
    assert alone.columns == ["metric", "all", "news"]


def test_an_llm_looks_at_the_window_as_a_stream_goes_on() -> None:
    asked: list[int] = []

    def made_of_all(request: Asked):
        shown = json.loads(request.prompt)
        if "turns" in shown:  # of a session, which is summarised
            return chat('{"sentences": []}')(request)
        asked.append(len(shown["events"]))
        events = [one["number"] for one in shown["events"][:3]]
        quote = shown["events"][0]["text"].split(": ")[-1]
        made = {"label": "first things", "description": quote[:100], "events": events}
        made["quotes"] = [{"event": events[0], "quote": quote}]
        return chat(json.dumps({part: [] for part in SCHEMA["properties"]} | {"concepts": [made]}))(request)

    task = cogeval(5, templates=FOURTH)
    (store, *_) = task.stores
    with serving(made_of_all) as server, warnings.catch_warnings(action="ignore"):
        row = measure_stream(task, store, load_embedder("hashing"), llm=f"openai:m@{server.url}")
    assert 2 <= len(asked) <= math.ceil(len(task.stores[store]) / LOOKED_AT_EVERY)
    assert asked[0] == LOOKED_AT_EVERY < asked[-1]
    assert row["concepts"] > 0
