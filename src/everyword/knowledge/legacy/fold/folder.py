"""One event after the other: what it confirms, what it founds, and what the graph then owes."""

from __future__ import annotations

from everyword.knowledge.legacy.fold.concepts import (
    Scene,
    beside,
    founding,
    gathering,
    is_firm,
    reinforcing,
    scene_of,
    sheltering,
)
from everyword.knowledge.legacy.fold.debts import causing, completing, merging, relating
from everyword.knowledge.legacy.fold.executor import Cause, Executor
from everyword.knowledge.legacy.fold.moments import Moment
from everyword.types.concepts import Debt

# Sizes at which a concept is worded anew, and a lonely one looks for neighbours again: its words have settled more.
REWORDED_AT = frozenset((6, 12, 24, 48, 96, 192, 384, 768))


def fold_event(executor: Executor, moment: Moment) -> None:
    """Fold one event into the graph."""
    graph = executor.graph
    executor.begin(
        Cause(seq=moment.seq, event_id=moment.event_id, at=moment.at, recorded_at=moment.recorded_at), moment
    )
    scene = scene_of(graph, moment)
    plan, joined, best = reinforcing(graph, moment, scene)
    executor.run(plan, Debt.REINFORCEMENT)
    made: list[str] = []
    if not joined or not is_firm(graph, moment, graph.nodes[joined[0]].theme, best):
        made = _found(executor, moment, scene)
        if not made and moment.founds:
            executor.loosen(moment)
        if not made:
            executor.run(beside(graph, moment, scene, joined), Debt.COMPLETION)
    touched = [id for id in dict.fromkeys((*made, *joined)) if id in graph.nodes]
    if touched:
        _pay(executor, moment, touched, new=bool(made))
    if moment.seq not in graph.loose:
        graph.held.pop(moment.seq, None)  # it has its place: nothing more is to be known of it
    executor.rest()


def _found(executor: Executor, moment: Moment, scene: Scene) -> list[str]:
    graph = executor.graph
    found = founding(graph, moment, scene)
    if found is None:
        return []
    plan, group = found
    made = executor.run(plan, Debt.EMERGENCE)
    for id in (id for id in made if id in graph.nodes):
        executor.run(gathering(graph, graph.nodes[id], scene), Debt.REINFORCEMENT)
        if id in graph.nodes:
            executor.run(sheltering(graph, graph.nodes[id]), Debt.COMPLETION)
    founders = {one.seq for one in group.members if one.speaks_of(group.theme)}  # they have found what they looked for
    for one in (*group.members, *scene.loose):
        held = {id: graph.held.get(one.seq, {}).get(id, 0.0) for id in made}
        if one.seq in founders or any(is_firm(graph, one, group.theme, score) for score in held.values()):
            executor.settle([one])
        elif one.seq == moment.seq:
            executor.loosen(moment)  # it speaks of something else more clearly: that may find company yet
    if made:
        return list(made)
    # It was there already, under the same name: the founders confirm it now.
    return [id for id in graph.held.get(moment.seq, {}) if id in graph.nodes][:1]


def _pay(executor: Executor, moment: Moment, touched: list[str], *, new: bool) -> None:
    """Pay what the graph owes after an event: one merge, a cause, a relation, neighbours, words."""
    graph = executor.graph
    main = touched[0]
    executor.run(causing(graph, main, moment), Debt.STRUCTURE)
    executor.run(relating(graph, touched, moment), Debt.STRUCTURE)
    if new:
        executor.run(completing(graph, graph.nodes[main], moment), Debt.COMPLETION)
    for id in touched:
        if id in graph.nodes and graph.nodes[id].size in REWORDED_AT:
            executor.reword(id)
            if not executor.linked(id):
                executor.run(completing(graph, graph.nodes[id], moment), Debt.COMPLETION)
    if main in graph.nodes:
        executor.run(merging(graph, graph.nodes[main]), Debt.MERGING)
