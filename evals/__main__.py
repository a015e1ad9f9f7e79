"""`python -m evals`: run a task on a system, compare runs, write a report, or do all of it."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from evals.broad import QUESTIONS
from evals.errors import EvalError
from evals.packing import BUDGETS
from evals.runner import LINES_ASKED
from evals.shown import LABELS
from evals.tasks import TASKS, TaskOptions
from evals.tasks.cogeval import DEVELOPMENT
from evals.terminal import complain, say
from evals.updates import STORIES

if TYPE_CHECKING:
    from evals.results import Results


def main(arguments: list[str] | None = None) -> int:
    """Do what the command line asks; what can't be done is one line on stderr and exit status 2."""
    asked = _parser().parse_args(arguments)
    if threading.current_thread() is threading.main_thread():
        # As Ctrl-C does: a peer's own server must not outlive a run that somebody ends.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return asked.do(asked)
    except EvalError as error:
        complain(f"evals: {error}")
        return 2
    except KeyboardInterrupt:
        complain("evals: interrupted; the same command goes on from here")
        return 130


def _run(asked: argparse.Namespace) -> int:
    from evals.compare import grids, print_grids
    from evals.runner import run
    from evals.systems import SystemOptions
    from evals.tasks import load_task
    from evals.terminal import shown

    options = TaskOptions(
        data=asked.data,
        audit=asked.audit,
        union=asked.union,
        seed=asked.seed,
        held_back=asked.held_back,
        limit=asked.limit,
    )
    chosen = load_task(asked.task, options)
    system = "+".join([asked.system, *asked.set])
    with shown(f"{asked.task} · {system}") as progress:
        results = run(
            chosen,
            system,
            asked.json,
            options=options,
            k=asked.k,
            seed=asked.seed,
            made=SystemOptions(embedder=asked.embedder, budgets=asked.budgets, anew=asked.no_cache),
            fresh=asked.fresh,
            keep_contexts=asked.keep_contexts,
            timed=asked.timed,
            processes=asked.processes,
            progress=progress,
        )
    print_grids(grids([results]))
    for remark in chosen.task.remarks if asked.remarks else ():
        say(f"remark: {remark}")
    if chosen.task.remarks and not asked.remarks:
        say(f"{len(chosen.task.remarks)} remarks on the data; --remarks lists them.")
    return 1 if results.stopped else 0


def _ceiling(asked: argparse.Namespace) -> int:
    from evals.ceiling import ceiling
    from evals.compare import print_grids
    from evals.tasks import load_task
    from evals.terminal import shown

    chosen = load_task(asked.task, TaskOptions(data=asked.data, audit=asked.audit, union=asked.union))
    with shown(f"{asked.task} · evidence") as progress:
        found = ceiling(chosen, progress)
    print_grids([found])
    return 0


def _compare(asked: argparse.Namespace) -> int:
    from evals.compare import BY_CATEGORY, grids, print_grids
    from evals.results import read_results

    print_grids(grids([read_results(path) for path in asked.results], asked.metric or BY_CATEGORY))
    return 0


def _report(asked: argparse.Namespace) -> int:
    from evals.report import write_report
    from evals.results import read_results

    found = asked.results or sorted((Path(".evals") / "results").glob("*.jsonl"))
    if not found:
        raise EvalError("There are no results in .evals/results; run `make eval`, or name the files.")
    for path in write_report(_in_order([read_results(path) for path in found]), asked.to):
        say(str(path))
    return 0


def _in_order(runs: list[Results]) -> list[Results]:
    """Put each task's runs in the order of `make eval`, what Everyword ships first: others are compared with that."""
    from evals.systems import BASELINES, ablations, peer_names

    tasks = list(dict.fromkeys(one.header["task"] for one in runs))
    order = ["everyword", *ablations(), *BASELINES, *peer_names()]
    place = {name: number for number, name in enumerate(order)}
    return sorted(runs, key=lambda one: (tasks.index(one.header["task"]), place.get(one.title, len(order))))


def _third(asked: argparse.Namespace) -> int:
    from evals.third_stages import run_third_stages

    return run_third_stages(asked.data, asked.audit, asked.to, sample=asked.sample, llm_sample=asked.llm_sample)


def _page(asked: argparse.Namespace) -> int:
    from evals.page import refresh

    say(f"{refresh(asked.page, asked.results)} tables of {asked.page}")
    return 0


def _graph(asked: argparse.Namespace) -> int:
    from evals.compare import print_grids

    if asked.talk is not None:
        return _talks(asked.talk)
    from evals.graphs import grid, measure, write_rows
    from evals.terminal import shown

    with shown("cogeval · the concept graph") as progress:
        rows = measure(
            range(asked.seed, asked.seed + asked.seeds),
            held_back=asked.held_back,
            templates=asked.templates,
            llm=asked.llm,
            progress=progress,
        )
    if asked.json is not None:
        write_rows(rows, asked.json)
    print_grids([grid(rows, llm=asked.llm)])
    return 0


def _talks(path: Path) -> int:
    from evals.compare import print_grids
    from evals.talks import measure_talks, talks_grid
    from evals.tasks.locomo import locomo
    from evals.terminal import shown

    with shown("concepts of real talk") as progress:
        rows = measure_talks(locomo(path), progress=progress)
    print_grids([talks_grid(rows)])
    return 0


def _reading(asked: argparse.Namespace) -> int:
    from evals.reading import as_json, as_table, load, measure
    from everyword.models.reader.reader import TextReader

    reader = TextReader.shipped() if asked.model is None else TextReader.in_folder(asked.model)
    found, sure = measure(load(asked.data, split=asked.split), reader)
    if asked.json is not None:
        asked.json.write_text(as_json(found), encoding="utf-8")
    say(as_table(found, sure))
    return 0


def _asking(asked: argparse.Namespace) -> int:
    from evals.asking import as_table, measure
    from evals.reading import load
    from evals.terminal import shown
    from everyword import Memory, Settings

    conversations = load(asked.data, split=asked.split)[: asked.limit]
    settings = Settings(background=False)
    with shown("ask") as progress:
        found = measure(
            conversations,
            opened=lambda: Memory.open(":memory:", settings=settings, redact="none"),
            progress=lambda done, of: progress("conversations", done, of),
        )
    say(as_table(found))
    return 0


def _broad(asked: argparse.Namespace) -> int:
    from evals.broad import as_table, measure, read_questions

    found = measure(read_questions(asked.questions), asked.data, show=say if asked.show else None)
    say(as_table(found))
    return 0


def _updates(asked: argparse.Namespace) -> int:
    from evals.updates import as_table, measure, read_stories
    from everyword import Memory

    stories = read_stories(asked.data, held_back=asked.held_back)
    shown = asked.show and not asked.held_back
    say(as_table(measure(stories, opened=lambda: Memory.open(":memory:"), show=say if shown else None)))
    return 0


def _instructions(asked: argparse.Namespace) -> int:
    from evals.instructions import as_table, measure, read_instructions

    found = measure(
        read_instructions(held_back=asked.held_back), show=say if asked.show and not asked.held_back else None
    )
    say(as_table(found))
    return 0


def _shown(asked: argparse.Namespace) -> int:
    from evals import shown
    from evals.terminal import shown as progress_of

    if asked.take is not None:
        say(f"{shown.take_labels(asked.take, asked.labels)} labels taken into {asked.labels}")
        return 0
    labels = shown.read_labels(asked.labels)
    judged: dict[str, list[shown.Judged]] = {}
    for path in asked.data:
        told = shown.read_conversations(path)
        with progress_of(path.name) as progress:
            found = shown.measure(told, progress)
        judged[path.name.partition(".")[0]] = shown.judge(found, labels, told)
    if asked.missing is not None:
        written = shown.write_missing(asked.missing, chain.from_iterable(judged.values()))
        say(f"{written} things without a label in {asked.missing}")
    say(shown.as_table(judged))
    return 0


def _all(asked: argparse.Namespace) -> int:
    from evals.everything import PEER_MINUTES, run_everything

    given = PEER_MINUTES if asked.peer_minutes is None else asked.peer_minutes
    return run_everything(
        asked.folder,
        asked.to,
        systems=asked.systems,
        seed=asked.seed,
        limit=asked.limit,
        peer_minutes=0 if asked.no_peers else given,
        every_stage=asked.ablations,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m evals", description=__doc__)
    commands = parser.add_subparsers(required=True)

    run = commands.add_parser("run", help="ask a task's questions to a system")
    run.set_defaults(do=_run)
    run.add_argument("task", choices=list(TASKS))
    run.add_argument("--data", type=Path, help="the data set's file")
    run.add_argument("--audit", type=Path, help="corrected LoCoMo evidence, JSONL")
    run.add_argument("--union", action="store_true", help="LongMemEval: one store from all sessions of the file")
    run.add_argument("--system", default="everyword", help="everyword, everyword:-late, bm25, vectors, a peer ...")
    run.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="FIELD=VALUE",
        help="a field of Everyword's recipe; may be given again",
    )
    run.add_argument("--json", type=Path, required=True, help="where the rows go; an interrupted run goes on from it")
    run.add_argument("--limit", type=int, help="ask this many questions, taken evenly")
    run.add_argument("--k", type=int, default=LINES_ASKED, help="lines asked for (%(default)s)")
    run.add_argument("--seed", type=int, default=0, help="of generated tasks and of the intervals")
    run.add_argument(
        "--budgets",
        type=lambda text: [int(one) for one in text.split(",")],
        default=list(BUDGETS),
        help="tokens of the contexts (%(default)s)",
    )
    run.add_argument("--held-back", action="store_true", help="generated tasks: the templates kept for scoring")
    run.add_argument("--embedder", help="another one than the product's default")
    run.add_argument("--no-cache", action="store_true", help="encode everything anew; later runs take the new times")
    run.add_argument(
        "--timed", type=_positive, default=1, metavar="N", help="take the latency of each Nth question (1)"
    )
    run.add_argument("--processes", type=_positive, default=1, help="divide the stores of a system that is ours (1)")
    run.add_argument("--fresh", action="store_true", help="replace what is there")
    run.add_argument("--keep-contexts", action="store_true", help="keep the texts too, for a judge")
    run.add_argument("--remarks", action="store_true", help="list wrong or missing gold evidence")

    most = commands.add_parser("ceiling", help="tell how much of the gold answers the evidence itself holds")
    most.set_defaults(do=_ceiling)
    most.add_argument("task", choices=list(TASKS))
    most.add_argument("--data", type=Path, help="the data set's file")
    most.add_argument("--audit", type=Path, help="corrected LoCoMo evidence, JSONL")
    most.add_argument("--union", action="store_true", help="LongMemEval: one store from all sessions of the file")

    compare = commands.add_parser("compare", help="show runs side by side")
    compare.set_defaults(do=_compare)
    compare.add_argument("results", type=Path, nargs="+")
    compare.add_argument("--metric", action="append", help="show this one by category; may be given again")

    report = commands.add_parser("report", help="write markdown and a page with plots")
    report.set_defaults(do=_report)
    report.add_argument("results", type=Path, nargs="*", help="those in .evals/results where none are named")
    report.add_argument("--to", type=Path, default=Path(".evals") / "report")

    third = commands.add_parser("third", help="what each form of the third stage gains and costs, on samples of LoCoMo")
    third.set_defaults(do=_third)
    third.add_argument("--data", type=Path, required=True, help="the data set's file")
    third.add_argument("--audit", type=Path, help="corrected LoCoMo evidence, JSONL")
    third.add_argument("--sample", type=_positive, default=150, help="questions (%(default)s)")
    third.add_argument("--llm-sample", type=_positive, default=20, help="questions to the LLM (%(default)s)")
    third.add_argument("--to", type=Path, default=Path(".evals") / "results")

    page = commands.add_parser("page", help="make the tables of a markdown page anew from results")
    page.set_defaults(do=_page)
    page.add_argument("page", type=Path, nargs="?", default=Path("docs") / "benchmarks.md")
    page.add_argument("--results", type=Path, default=Path(".evals") / "results")

    graph = commands.add_parser("graph", help="measure the concept graph that is folded from CogEval's streams")
    graph.set_defaults(do=_graph)
    graph.add_argument("--seed", type=int, default=0, help="the first one (%(default)s)")
    graph.add_argument("--seeds", type=int, default=3, help="how many, of six streams a set each (%(default)s)")
    graph.add_argument("--held-back", action="store_true", help="the templates kept for scoring alone")
    graph.add_argument("--templates", nargs="+", choices=DEVELOPMENT, help="some of the sets to develop with")
    graph.add_argument("--llm", help="an LLM that looks at the concepts too, as Memory.open takes it: openai:MODEL@URL")
    graph.add_argument("--json", type=Path, help="keep the rows here")
    graph.add_argument("--talk", type=Path, help="instead, what becomes of the conversations in this file of LoCoMo's")

    reading = commands.add_parser("reading", help="compare what the reader finds with labelled conversations")
    reading.set_defaults(do=_reading)
    reading.add_argument("--data", type=Path, nargs="+", required=True, help="conversations, one a line (JSONL)")
    reading.add_argument("--split", choices=["train", "choose", "held"], help="only the conversations kept for this")
    reading.add_argument("--model", type=Path, help="folder of another reader than the installed one")
    reading.add_argument("--json", type=Path, help="keep the scores here")

    asking = commands.add_parser("ask", help="tell labelled conversations to a memory and ask their questions")
    asking.set_defaults(do=_asking)
    asking.add_argument("--data", type=Path, nargs="+", required=True, help="conversations, one a line (JSONL)")
    asking.add_argument("--split", choices=["train", "choose", "held"], help="only the conversations kept for this")
    asking.add_argument("--limit", type=_positive, help="take this many conversations")

    broad = commands.add_parser("broad", help="ask for an overview, and count the matters that contexts cover")
    broad.set_defaults(do=_broad)
    broad.add_argument("--data", type=Path, required=True, help="LoCoMo's conversations")
    broad.add_argument("--questions", type=Path, default=QUESTIONS, help="broad questions (JSONL); default: our own")
    broad.add_argument("--show", action="store_true", help="print each question with what was covered")
    rules = commands.add_parser(
        "instructions", help="make requests, and count the standing instructions that are found"
    )
    rules.set_defaults(do=_instructions)
    rules.add_argument("--held-back", action="store_true", help="the half that is kept for scoring")
    rules.add_argument("--show", action="store_true", help="print each request, of the half to develop with")
    updates = commands.add_parser("updates", help="tell stories in which something changes, and ask what holds now")
    updates.set_defaults(do=_updates)
    updates.add_argument("--data", type=Path, default=STORIES, help="stories, one a line (JSONL); default: our own")
    updates.add_argument("--held-back", action="store_true", help="the half that is kept for scoring")
    updates.add_argument("--show", action="store_true", help="print each answer, of the half to develop with")

    shown = commands.add_parser("shown", help="tell how much of what is shown unasked is right, by labels")
    shown.set_defaults(do=_shown)
    shown.add_argument("--data", type=Path, nargs="+", default=[], help="LoCoMo's file (.json), chats of days (.jsonl)")
    shown.add_argument("--labels", type=Path, default=LABELS, help="labels, JSONL; default: our own")
    shown.add_argument("--missing", type=Path, help="write what has no label here, with its text")
    shown.add_argument("--take", type=Path, help="instead, take in the labels that were filled in in such a file")

    everything = commands.add_parser("all", help="what `make eval` does: every task on the chosen systems")
    everything.set_defaults(do=_all)
    everything.add_argument("--folder", type=Path, required=True, help="where the development data lie")
    everything.add_argument("--to", type=Path, default=Path(".evals"))
    everything.add_argument("--systems", type=lambda text: text.split(","), help="names, with commas")
    everything.add_argument("--seed", type=int, default=0)
    everything.add_argument("--limit", type=int, help="ask this many questions of each task")
    everything.add_argument("--ablations", action="store_true", help="Everyword less each stage, not only three")
    everything.add_argument("--no-peers", action="store_true", help="only what is ours; installs nothing")
    everything.add_argument(
        "--peer-minutes", type=float, help="for all peers together; the next call goes on from there"
    )
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError
    return number


if __name__ == "__main__":
    sys.exit(main())
