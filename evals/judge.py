"""Answer-level scores: a language model answers from the packed context, and a second prompt judges the answer.

For whoever sets a model endpoint (OpenAI-compatible): EVAL_LLM_URL, EVAL_LLM_MODEL, EVAL_LLM_KEY. The rows come from a
run with its texts:

    python -m evals run locomo --data FILE --system everyword --keep-contexts --json RUN
    python -m evals.judge RUN --json JUDGED --budget 1200

The prompts follow the published protocols in words of our own: LoCoMo's as mem0 and others judge it (the same
topic and the same date are enough), LongMemEval's with its rule for each type of question. What fails is a row with its
kind of failure and counts neither as right nor as wrong; the same command asks it again. Published figures have another
reader and another judge, most of them GPT-4o: the file's first line says which model made these.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import re
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from evals.errors import EvalError
from evals.results import Row, read_results
from evals.summary import Estimate, estimates
from evals.terminal import Progress, complain, say, shown, silent

URL_VARIABLE = "EVAL_LLM_URL"
MODEL_VARIABLE = "EVAL_LLM_MODEL"
KEY_VARIABLE = "EVAL_LLM_KEY"
TEMPERATURE_VARIABLE = "EVAL_LLM_TEMPERATURE"  # "none" for models that refuse any

BUDGET = 1200  # tokens of context, one of those that a run packs for
WORKERS = 4  # questions at once: an endpoint is waited for, not computed on
FIRST_WAIT = 1.0  # seconds before the second attempt; doubled at each further one
LONGEST_WAIT = 30.0  # seconds
RETRIED = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})  # statuses that pass by themselves
MAX_ANSWER = 4 * 2**20  # bytes of a response: far more than any answer has
SHOWN_CHARACTERS = 200  # of an endpoint's own words in a failure

Kind = Literal["unreachable", "timeout", "busy", "refused", "garbage", "unclear"]
Stage = Literal["reader", "judge"]
NO_ANSWER = "I don't know."


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where the model is, and how patiently it is asked. The key is never shown."""

    url: str  # up to and without /chat/completions
    model: str
    key: str | None = field(default=None, repr=False)
    temperature: float | None = 0.0
    timeout: float = 120.0  # seconds for a whole response
    attempts: int = 4

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Endpoint:
        """Read the endpoint from the environment, or say which variable is missing."""
        missing = [name for name in (URL_VARIABLE, MODEL_VARIABLE) if not environment.get(name)]
        if missing:
            raise EvalError(
                f"No model to answer and judge: set {' and '.join(missing)} (any OpenAI-compatible endpoint, "
                f"as in {URL_VARIABLE}=http://localhost:11434/v1)."
            )
        given = environment.get(TEMPERATURE_VARIABLE, "0")
        try:
            temperature = None if given == "none" else float(given)
        except ValueError:
            raise EvalError(f"{TEMPERATURE_VARIABLE}={given!r} is neither a number nor none.") from None
        url = environment[URL_VARIABLE].rstrip("/").removesuffix("/chat/completions")
        if not url.startswith(("http://", "https://")):
            raise EvalError(f"{URL_VARIABLE}={url!r} is not an address that begins with http:// or https://.")
        return cls(
            url=url, model=environment[MODEL_VARIABLE], key=environment.get(KEY_VARIABLE), temperature=temperature
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why a question has no verdict."""

    kind: Kind
    stage: Stage
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What the reader answered to one question, and what the judge said of it."""

    id: str
    category: str
    answerable: bool
    answered: str | None = None
    correct: bool | None = None  # None: no verdict, see `failure`
    failure: Failure | None = None
    tokens: int = 0  # of both calls, as the endpoint counts them
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One question with its context, its gold answer and its date."""

    id: str
    question: str
    context: str
    answer: str
    category: str
    answerable: bool = True
    now: str | None = None


class AskingFailed(Exception):
    """An endpoint gave no usable answer, however often it was asked."""

    def __init__(self, kind: Kind, detail: str) -> None:
        super().__init__(f"{kind}: {detail}")
        self.kind: Kind = kind
        self.detail = detail


def judge_run(
    run: Path,
    out: Path,
    endpoint: Endpoint,
    *,
    budget: int = BUDGET,
    workers: int = WORKERS,
    limit: int | None = None,
    progress: Progress = silent,
) -> list[Judged]:
    """Judge each question of a run that has no verdict in `out` yet; give all of them, in the run's order."""
    results = read_results(run)
    task = str(results.header["task"])
    header = {
        "kind": "judged",
        **{name: results.header.get(name) for name in ("task", "system", "data_hash", "code", "seed")},
        "model": endpoint.model,
        "budget": budget,
    }
    cases = [_case(row, budget) for row in list(results.questions.values())[:limit]]
    known = {one.id: one for one in _begun(out, header) if one.failure is None}
    waiting = [case for case in cases if case.id not in known]
    with out.open("a", encoding="utf-8") as file, ThreadPoolExecutor(workers) as pool:
        for one in pool.map(lambda case: judge_case(case, endpoint, task=task), waiting):
            file.write(json.dumps(asdict(one)) + "\n")
            file.flush()
            known[one.id] = one
            progress(one.category, len(known), len(cases))
    return [known[case.id] for case in cases]


def judge_case(case: Case, endpoint: Endpoint, *, task: str, sleep: Callable[[float], None] = time.sleep) -> Judged:
    """Let the model answer from the context, then let it judge that answer. Never raises for what an endpoint does."""
    begun = time.perf_counter()
    answered: str | None = None
    correct: bool | None = None
    failure: Failure | None = None
    tokens = 0
    stage: Stage = "reader"
    try:
        reply, used = ask(endpoint, reader_prompt(case, task), sleep=sleep)
        tokens += used
        answered = reply.strip() or NO_ANSWER
        stage = "judge"
        reply, used = ask(endpoint, judge_prompt(case, task, answered), sleep=sleep)
        tokens += used
        correct = verdict(reply)
    except AskingFailed as error:
        failure = Failure(kind=error.kind, stage=stage, detail=error.detail)
    return Judged(
        id=case.id,
        category=case.category,
        answerable=case.answerable,
        answered=answered,
        correct=correct,
        failure=failure,
        tokens=tokens,
        seconds=round(time.perf_counter() - begun, 3),
    )


def accuracy(judged: Sequence[Judged]) -> dict[str, Estimate]:
    """Give the share of right answers among those with a verdict, by category and over all, with 95% intervals."""
    groups: dict[str, list[Mapping[str, float]]] = {}
    for one in judged:
        if one.correct is not None:
            for group in ("all", one.category):
                groups.setdefault(group, []).append({"correct": float(one.correct)})
    return {group: estimates(scores)["correct"] for group, scores in groups.items()}


def reader_prompt(case: Case, task: str) -> str:
    """Ask for a short answer from the context alone."""
    who = (
        "a conversation between two people"
        if task.startswith("locomo")
        else "earlier chats of a user with an assistant"
    )
    today = f"Today is {case.now}.\n" if case.now else ""
    return READER.format(who=who, today=today, context=case.context or "(nothing was found)", question=case.question)


def judge_prompt(case: Case, task: str, answered: str) -> str:
    """Ask whether an answer is right, by the rule of the task and of the type of question."""
    if not case.answerable:
        return JUDGE_ABSTENTION.format(question=case.question, answered=answered)
    rule = LONGMEMEVAL_RULES.get(case.category, SAME_FACT) if task.startswith("longmemeval") else GENEROUS
    return JUDGE.format(rule=rule, question=case.question, gold=case.answer, answered=answered)


def verdict(reply: str) -> bool:
    """Read the last CORRECT or WRONG of a judge's reply; one that has neither is unclear."""
    words = VERDICT.findall(reply)
    if not words:
        raise AskingFailed("unclear", f"no verdict in {reply[:SHOWN_CHARACTERS]!r}")
    return words[-1].upper() == "CORRECT"


READER = """Below is what a memory found in {who}, each line with its date where that is known.

{context}

{today}Answer the question from these lines alone. Where a line says "yesterday" or "last week", count from the date \
of that line. Where lines contradict each other, the latest holds. Answer in a few words, without repeating the \
question. If the lines do not hold the answer, write: I don't know.

Question: {question}
Answer:"""

JUDGE = """You are given a question about past conversations, the right answer, and a given answer. Say whether the \
given answer is right.

{rule}

Question: {question}
Right answer: {gold}
Given answer: {answered}

Say in one sentence why. Then write on a line of its own one word: CORRECT or WRONG."""

# LoCoMo's answers are a few words; what is judged is whether the answer names the same thing.
GENEROUS = (
    "Be generous: an answer that names the same thing as the right answer is right, however long it is and however it "
    "is worded. A date is right if it means the same day, month or year as the right answer does, whatever its form, "
    'and if it is told relative to another day ("the week before 9 June"). An answer that says that it does not know '
    "is wrong."
)

SAME_FACT = (
    "The given answer is right if it holds the right answer, means the same, or holds every step that leads to it. It "
    "is wrong if it holds only a part of what the right answer says, or says that it does not know."
)
LONGMEMEVAL_RULES: Mapping[str, str] = {
    "temporal-reasoning": f"{SAME_FACT} A number of days, weeks or months may be off by one.",
    "knowledge-update": (
        "The right answer is the latest state of something that changed. The given answer is right if it tells that "
        "state, even if it also tells an earlier one as earlier. It is wrong if it tells only an earlier one."
    ),
    "single-session-preference": (
        "The right answer describes what a reply that suits this user takes into account. The given answer is right if "
        "it recalls and uses what the user said of themselves; it need not take up every point."
    ),
}

JUDGE_ABSTENTION = """You are given a question that the past conversations do not answer, and a given answer. The \
given answer is right if it says that this is not known, was not mentioned, or that the question rests on something \
that did not happen. It is wrong if it answers the question.

Question: {question}
Given answer: {answered}

Say in one sentence why. Then write on a line of its own one word: CORRECT or WRONG."""

VERDICT = re.compile(r"\b(CORRECT|INCORRECT|WRONG)\b", re.IGNORECASE)


def ask(endpoint: Endpoint, prompt: str, *, sleep: Callable[[float], None] = time.sleep) -> tuple[str, int]:
    """Send one prompt until it is answered; give the reply and the tokens that both took."""
    trouble = AskingFailed("unreachable", "never asked")
    for attempt in range(endpoint.attempts):
        if attempt:
            sleep(min(FIRST_WAIT * 2 ** (attempt - 1), LONGEST_WAIT))
        try:
            return _reply(_post(endpoint, prompt))
        except AskingFailed as error:
            if error.kind == "refused":
                raise
            trouble = error
    raise AskingFailed(trouble.kind, f"{trouble.detail}, {endpoint.attempts} times")


def _post(endpoint: Endpoint, prompt: str) -> bytes:
    body: dict[str, Any] = {"model": endpoint.model, "messages": [{"role": "user", "content": prompt}]}
    if endpoint.temperature is not None:
        body["temperature"] = endpoint.temperature
    headers = {"content-type": "application/json"}
    if endpoint.key:
        headers["authorization"] = f"Bearer {endpoint.key}"
    request = urllib.request.Request(f"{endpoint.url}/chat/completions", json.dumps(body).encode(), headers)
    deadline = time.monotonic() + endpoint.timeout
    try:
        with urllib.request.urlopen(request, timeout=endpoint.timeout) as response:
            return b"".join(_parts(response, deadline))
    except urllib.error.HTTPError as error:
        kind: Kind = "busy" if error.code in RETRIED else "refused"
        raise AskingFailed(kind, f"HTTP {error.code}: {_complaint(error)}") from None
    except TimeoutError:
        raise AskingFailed("timeout", f"no answer in {endpoint.timeout:g} s") from None
    except urllib.error.URLError as error:
        if isinstance(error.reason, TimeoutError):
            raise AskingFailed("timeout", f"no connection in {endpoint.timeout:g} s") from None
        raise AskingFailed("unreachable", str(error.reason)) from None
    except http.client.IncompleteRead:
        raise AskingFailed("garbage", "the answer broke off") from None
    except (http.client.HTTPException, OSError) as error:
        raise AskingFailed("unreachable", f"{type(error).__name__}: {error}") from None


def _complaint(error: urllib.error.HTTPError) -> str:
    try:
        with error:
            return error.read(SHOWN_CHARACTERS).decode(errors="replace")
    except (http.client.HTTPException, OSError):
        return "(its words broke off)"


def _parts(response: http.client.HTTPResponse, deadline: float) -> Iterator[bytes]:
    """Read a response piece by piece: the socket's own limit starts anew with each byte that drips in."""
    taken = 0
    while part := response.read1(65_536):
        taken += len(part)
        if taken > MAX_ANSWER:
            raise AskingFailed("garbage", f"more than {MAX_ANSWER} bytes")
        if time.monotonic() > deadline:
            raise TimeoutError
        yield part
    if response.length:
        raise AskingFailed("garbage", f"the answer broke off, {response.length} bytes before its end")


def _reply(body: bytes) -> tuple[str, int]:
    try:
        answer = json.loads(body)
        text = answer["choices"][0]["message"]["content"]
        used = (answer.get("usage") or {}).get("total_tokens") or 0
    except (ValueError, LookupError, TypeError, AttributeError):
        shown = body[:SHOWN_CHARACTERS].decode(errors="replace")
        raise AskingFailed("garbage", f"not a chat completion: {shown!r}") from None
    if not isinstance(text, str):
        raise AskingFailed("garbage", f"a reply that is no text: {text!r}"[:SHOWN_CHARACTERS])
    return text, used if isinstance(used, int) else 0


def _case(row: Row, budget: int) -> Case:
    if "contexts" not in row:
        raise EvalError("The run kept no texts to judge; run it again with --keep-contexts.")
    contexts: Mapping[str, str] = row["contexts"]
    if str(budget) not in contexts:
        raise EvalError(f"The run packed no context of {budget} tokens; it has {', '.join(contexts)}.")
    return Case(
        id=row["id"],
        question=row["question"],
        context=contexts[str(budget)],
        answer=row["answer"],
        category=row["category"],
        answerable=row["answerable"],
        now=row.get("now"),
    )


def _begun(out: Path, header: Mapping[str, Any]) -> list[Judged]:
    """Read what an earlier, interrupted call judged, or begin the file."""
    if not out.exists() or not out.stat().st_size:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(json.dumps(header) + "\n", encoding="utf-8")
        return []
    lines = out.read_text(encoding="utf-8").split("\n")
    if lines.pop():  # half a row, from a process that was killed as it wrote
        out.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    try:
        found, *rows = [json.loads(line) for line in lines]
        judged = [_judged(row) for row in rows]
    except (ValueError, TypeError):
        raise EvalError(f"{out} is not a file of judged rows; remove it or name another.") from None
    if found != header:
        raise EvalError(f"{out} holds judged rows of another run, model or budget: {found}. Name another file.")
    return judged


def _judged(row: Row) -> Judged:
    failure = row.pop("failure", None)
    return Judged(**row, failure=Failure(**failure) if failure else None)


def main(arguments: list[str] | None = None) -> int:
    """Judge a run from the command line; exit status 1 where questions were left without a verdict."""
    parser = argparse.ArgumentParser(prog="python -m evals.judge", description=__doc__.split("\n")[0])
    parser.add_argument("run", type=Path, help="the rows of a run with --keep-contexts")
    parser.add_argument("--json", type=Path, required=True, help="where the verdicts go")
    parser.add_argument("--budget", type=int, default=BUDGET, help="tokens of context (%(default)s)")
    parser.add_argument("--workers", type=int, default=WORKERS, help="questions at once (%(default)s)")
    parser.add_argument("--limit", type=int, help="judge only the first so many questions")
    asked = parser.parse_args(arguments)
    try:
        endpoint = Endpoint.from_environment()
        with shown(f"judging · {endpoint.model}") as progress:
            judged = judge_run(
                asked.run,
                asked.json,
                endpoint,
                budget=asked.budget,
                workers=asked.workers,
                limit=asked.limit,
                progress=progress,
            )
    except EvalError as error:
        complain(f"evals: {error}")
        return 2
    for group, estimate in accuracy(judged).items():
        say(f"{group}: {estimate}")
    failed = [one.failure.kind for one in judged if one.failure]
    for kind in sorted(set(failed)):
        say(f"without a verdict, {kind}: {failed.count(kind)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
