"""Peers: the worker protocol with small workers of our own (real processes), and the embeddings server (real HTTP)."""

from __future__ import annotations

import base64
import json
import os
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evals.errors import OutOfTime
from evals.systems import peers
from evals.systems.peers import PEERS, CouldNotRun, EmbeddingServer, Limits, Peer, PeerFailed, available, hurried
from evals.systems.peers.client import Setup
from evals.systems.peers.environment import Environment
from evals.values import Line

from everyword.models.embedders import HashingEmbedder

PROTOCOL = Path(peers.__file__).parent
LIMITS = Limits(open=10.0, ingest=10.0, search=10.0)
LINES = [
    Line(key="1", text="my cat is called Miso", speaker="Ann", session="s1", at=datetime(2023, 5, 1)),
    Line(key="2", text="the rent went up in March", speaker="Bob", session="s1"),
    Line(key="3", text="I bought a violin", session="s2"),
]

# A peer in miniature, through the very protocol module that the real workers use.
WORKER = f"""
import sys
sys.path.insert(0, {str(PROTOCOL)!r})
from worker_protocol import Vectors, serve
import os, signal, subprocess, time

class Peer:
    def __init__(self, folder, url, dims, **options):
        self.vectors, self.lines, self.options, self.folder = Vectors(url), {{}}, options, folder
        print("a peer that greets on stdout")
        if options.get("refuses"):
            raise RuntimeError("no database here")

    def ingest(self, store, lines):
        texts = [line["text"] for line in lines]
        rows = list(zip(lines, self.vectors.passages(texts)))
        self.lines.setdefault(store, []).extend(rows)
        with open(self.folder + "/data/store", "a") as file:
            file.write("x" * 100 * len(lines))

    def search(self, store, question, k, now):
        do = question.split(":")[0]
        if do == "crash":
            print("about to fall over", file=sys.stderr, flush=True)
            os.kill(os.getpid(), signal.SIGSEGV)
        if do == "exit":
            os._exit(3)
        if do == "hang":
            child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
            with open(self.folder + "/child", "w") as file:
                file.write(str(child.pid))
            server = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True)
            with open(self.folder + "/server.pid", "w") as file:
                file.write(str(server.pid))
            time.sleep(60)
        if do == "garbage":
            os.write(self.options["answers"], b"hello\\n")
            time.sleep(60)
        if do == "fail":
            raise ValueError("this question is no question")
        if do == "environment":
            return [{{"key": f"{{name}}={{value}}", "score": 0}} for name, value in os.environ.items()]
        asked = self.vectors.questions([question])[0]
        scored = [(sum(a * b for a, b in zip(asked, row)), line) for line, row in self.lines[store]]
        best = sorted(scored, key=lambda pair: -pair[0])[:k]
        return [{{"key": line["key"], "score": score, "session": line["session"]}} for score, line in best]

    def close(self):
        pass

serve(Peer, ["numpy", "no-such-package"])
"""


class Ready(Environment):
    """An environment that is there already: the one that the tests run in."""

    def python(self, root: Path = Path()) -> Path:
        return Path(sys.executable)


def setup(folder: Path, source: str = WORKER, **changes: Any) -> Setup:
    worker = folder / "worker.py"
    worker.write_text(source)
    given = Setup(environment=Ready(name="mini", pins=("mini==1",)), worker=worker, notes="tiny", limits=LIMITS)
    return replace(given, **changes)


@contextmanager
def running(folder: Path, source: str = WORKER, **changes: Any) -> Iterator[Peer]:
    peer = Peer("mini", setup(folder, source, **changes), HashingEmbedder(), root=folder)
    try:
        yield peer
    finally:
        peer.close()


def found(peer: Peer, question: str, store: str = "a", k: int = 5) -> list[str]:
    return [one.key for one in peer.search(store, question, k=k, now=None).found]


def test_a_peer_finds_what_it_was_told_and_keeps_stores_apart(tmp_path: Path) -> None:
    with running(tmp_path) as peer:
        assert peer.ingest("a", LINES) > 0
        peer.ingest("b", [Line(key="x", text="another cat is called Rex")])
        answer = peer.search("a", "what is the cat called", k=2, now=datetime(2023, 6, 1))
        assert answer.found[0].key == "1"
        assert len(answer.found) == 2
        assert answer.found[0].session == "s1"
        assert answer.confidence is None, "the score of the first hit is not a word on how sure a peer is"
        assert answer.took_ms is not None
        assert answer.took_ms > 0
        assert found(peer, "what is the cat called", store="b") == ["x"]
        assert peer.size_bytes() == 400
        described = peer.describe()
        assert described["versions"]["numpy"] == np.__version__
        assert described["versions"]["no-such-package"] == "not installed"
        assert described["model"] == "hashing@1"
        assert described == peer.describe()  # a run that goes on must find itself described as it was


def test_many_lines_are_told_in_parts(tmp_path: Path) -> None:
    with running(tmp_path) as peer:
        peer.ingest("a", [Line(key=str(number), text=f"line {number}") for number in range(450)])
        assert len(found(peer, "line 449", k=1000)) == 450


def test_an_error_of_the_peer_fails_one_question_and_not_the_next(tmp_path: Path) -> None:
    with running(tmp_path) as peer:
        peer.ingest("a", LINES)
        with pytest.raises(PeerFailed, match="ValueError: this question is no question") as caught:
            peer.search("a", "fail: please", k=5, now=None)
        assert "Traceback" in str(caught.value)  # the tail of the worker's stderr
        assert found(peer, "violin")[0] == "3"


@pytest.mark.parametrize(("question", "status"), [("crash", "-11"), ("exit", "3")])
def test_a_worker_that_dies_says_how_and_each_later_call_fails_at_once(
    tmp_path: Path, question: str, status: str
) -> None:
    with running(tmp_path) as peer:
        peer.ingest("a", LINES)
        with pytest.raises(PeerFailed, match=f"ended during search .exit status {status}.") as caught:
            peer.search("a", question, k=5, now=None)
        if question == "crash":
            assert "about to fall over" in str(caught.value)
        begun = time.monotonic()
        with pytest.raises(PeerFailed, match="ended during search"):
            peer.search("a", "violin", k=5, now=None)
        assert time.monotonic() - begun < 0.1


def test_a_worker_that_hangs_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    limits = replace(LIMITS, search=1.0)
    with running(tmp_path, limits=limits, pid_file="server.pid") as peer:
        peer.ingest("a", LINES)
        begun = time.monotonic()
        with pytest.raises(PeerFailed, match="search took more than 1 s"):
            peer.search("a", "hang", k=5, now=None)
        assert time.monotonic() - begun < 20  # it would hang for a minute
        child, server = (int((peer.folder / name).read_text()) for name in ("child", "server.pid"))
        assert not _lives(child, wait=2.0)
        assert not _lives(server, wait=2.0)  # in a session of its own, as PostgreSQL is


def test_an_answer_that_is_none_ends_the_worker(tmp_path: Path) -> None:
    source = WORKER.replace(
        "serve(Peer,", "mine = os.dup(1)\n_make = Peer.__init__\nserve(lambda **o: Peer(**o, answers=mine),"
    )
    with running(tmp_path, source) as peer:
        with pytest.raises(PeerFailed, match="not an answer: 'hello"):
            peer.search("a", "garbage", k=5, now=None)
        with pytest.raises(PeerFailed, match="not an answer"):
            peer.search("a", "violin", k=5, now=None)


@pytest.mark.parametrize(
    ("source", "options", "why"),
    [
        (WORKER, {"refuses": True}, "no database here"),
        ("import no_such_module_anywhere", {}, "No module named 'no_such_module_anywhere'"),
        ("import sys; sys.stdin.read(3)", {}, "ended"),
    ],
)
def test_a_peer_that_does_not_open_says_why_in_one_line(
    tmp_path: Path, source: str, options: dict[str, Any], why: str
) -> None:
    with pytest.raises(CouldNotRun) as caught, running(tmp_path, source, options=options):
        pass
    assert why in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_worker_has_a_home_of_its_own_and_no_way_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example:80")
    with running(tmp_path) as peer:
        seen = dict(pair.split("=", 1) for pair in found(peer, "environment", k=1000))
    assert "OPENAI_API_KEY" not in seen
    assert seen["HTTPS_PROXY"] == "http://127.0.0.1:9"
    assert seen["NO_PROXY"] == "127.0.0.1,localhost"
    assert seen["ANONYMIZED_TELEMETRY"] == "False"
    assert seen["HOME"] != os.environ.get("HOME")
    assert not Path(seen["HOME"]).exists()  # closed: nothing is left behind


# What `python -m venv` and pip do, as far as an installation can see, in no time; it notes what it was asked.
TOOL = """#!/bin/sh
echo "$@" >> {log}
case "$*" in
    *broken*) echo 'WARNING: never mind' >&2; echo 'ERROR: No matching distribution found for broken' >&2; exit 1 ;;
    *freeze*) echo 'mini==1.0' ;;
    *venv*) mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;;
esac
"""


class Quick(Environment):
    """An environment that the tool above makes."""

    def base(self) -> str:
        return str(Path(self.name).parent / "tool")


@pytest.fixture
def quick(tmp_path: Path) -> Quick:
    tool = tmp_path / "tool"
    tool.write_text(TOOL.format(log=tmp_path / "log"))
    tool.chmod(0o755)
    return Quick(name=str(tmp_path / "mini"), pins=("mini==1.0",))


def asked_of(tmp_path: Path) -> list[str]:
    return [line.split()[-1] for line in (tmp_path / "log").read_text().splitlines() if " install " in line]


def test_an_environment_is_made_once_and_again_when_the_pins_change(quick: Quick, tmp_path: Path) -> None:
    for _ in range(2):
        assert quick.python(tmp_path) == tmp_path / "mini" / "bin" / "python"
    assert asked_of(tmp_path) == ["mini==1.0"]
    assert quick.installed(tmp_path)["packages"] == ["mini==1.0"]
    replace(quick, pins=("mini==2.0",)).python(tmp_path)
    assert asked_of(tmp_path) == ["mini==1.0", "mini==2.0"]
    assert (tmp_path / ".gitignore").read_text() == "*\n"


def test_what_can_not_be_installed_is_a_reason_and_is_tried_again(quick: Quick, tmp_path: Path) -> None:
    broken = replace(quick, pins=("broken==1.0",))
    for _ in range(2):
        with pytest.raises(CouldNotRun) as caught:
            broken.python(tmp_path)
    assert str(caught.value) == "`-m pip install` failed: ERROR: No matching distribution found for broken"
    assert asked_of(tmp_path) == ["broken==1.0"] * 2
    assert broken.installed(tmp_path) == {}
    quick.python(tmp_path)  # the half-made one is no obstacle


def test_without_a_python_there_is_a_reason_too(tmp_path: Path) -> None:
    with pytest.raises(CouldNotRun, match="No such file"):
        Quick(name=str(tmp_path / "mini"), pins=()).python(tmp_path)


def test_every_peer_is_pinned_and_can_be_asked_whether_it_runs(tmp_path: Path) -> None:
    standing = available(tmp_path)
    assert list(standing) == list(PEERS)
    assert {"mempalace", "mem0", "langgraph-memory", "langgraph-sqlite", "chroma"} < set(PEERS)
    for name, words in standing.items():
        assert words == "installs on first use" or words.startswith("could not run: "), name
        assert peers.SETUPS[name].worker.is_file()
        assert all("==" in pin for pin in peers.SETUPS[name].environment.pins)


def test_workers_import_nothing_of_ours() -> None:
    for worker in PROTOCOL.glob("worker_*.py"):
        source = worker.read_text()
        assert "import everyword" not in source
        assert "from everyword" not in source
        assert "evals" not in source.split('"""')[2].replace("everyword-evals", ""), worker.name


def post(url: str, body: Any) -> Any:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(f"{url}/embeddings", content, {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=5) as response:
        return json.load(response)


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddingServer]:
    serving = EmbeddingServer(HashingEmbedder())
    yield serving
    serving.close()


def test_passages_and_questions_have_their_own_vectors_each_of_unit_length(server: EmbeddingServer) -> None:
    texts = ["my cat is called Miso", "the rent went up"]
    for model, expected in (
        ("passage", [one.pooled / 127 for one in HashingEmbedder().passages(texts)]),
        ("question", [HashingEmbedder().question(text).pooled for text in texts]),
        ("text-embedding-3-small", [one.pooled / 127 for one in HashingEmbedder().passages(texts)]),
    ):
        answer = post(server.url, {"model": model, "input": texts})
        vectors = np.array([row["embedding"] for row in answer["data"]])
        assert [row["index"] for row in answer["data"]] == [0, 1]
        assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1])
        assert np.abs(vectors - np.array(expected)).max() < 0.01


def test_one_text_base64_and_no_text_are_answered_as_clients_ask(server: EmbeddingServer) -> None:
    plain = post(server.url, {"model": "passage", "input": "hello there"})["data"][0]["embedding"]
    coded = post(server.url, {"model": "passage", "input": ["hello there"], "encoding_format": "base64"})
    assert np.frombuffer(base64.b64decode(coded["data"][0]["embedding"]), "<f4").tolist() == pytest.approx(plain)
    assert post(server.url, {"model": "passage", "input": []})["data"] == []
    assert np.array(post(server.url, {"input": ""})["data"][0]["embedding"]).any() == False  # noqa: E712
    with urllib.request.urlopen(f"{server.url}/models", timeout=5) as response:
        assert [one["id"] for one in json.load(response)["data"]] == ["passage", "question"]


@pytest.mark.parametrize("body", [b"{", b"[]", {"input": 3}, {"input": [[1, 2]]}, {}])
def test_a_request_that_makes_no_sense_is_refused_with_words(server: EmbeddingServer, body: Any) -> None:
    with pytest.raises(urllib.error.HTTPError) as caught:
        post(server.url, body)
    with caught.value as error:
        assert error.code == 400
        assert json.load(error)["error"]["message"]


def test_an_embedder_that_fails_is_an_answer_and_the_server_goes_on() -> None:
    class Failing(HashingEmbedder):
        def passages(self, texts: Any) -> Any:
            if "boom" in texts:
                raise RuntimeError("no model")
            return super().passages(texts)

    serving = EmbeddingServer(Failing())
    try:
        with pytest.raises(urllib.error.HTTPError) as caught:
            post(serving.url, {"input": ["boom"]})
        with caught.value as error:
            assert error.code == 500
            assert "no model" in json.load(error)["error"]["message"]
        assert post(serving.url, {"input": ["fine"]})["data"]
    finally:
        serving.close()


def _lives(process: int, wait: float = 0.0) -> bool:
    """Tell whether a process runs, and still does after a while; one that ended and was not collected does not."""
    end = time.monotonic() + wait
    while _runs(process) and time.monotonic() < end:
        time.sleep(0.01)
    return _runs(process)


def _runs(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_a_peer_that_is_too_slow_to_take_a_store_in_says_how_far_it_came(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hurried, "INGEST_LINES", 2)
    peer = hurried.HurriedPeer("mini", setup(tmp_path), HashingEmbedder(), root=tmp_path)
    try:
        assert peer.ingest("a", LINES) > 0
        assert peer.search("a", "the rent went up in March", k=1, now=None).found[0].key == "2"
        peer.end = time.perf_counter()
        with pytest.raises(OutOfTime, match="0 of 3 lines of b"):
            peer.ingest("b", LINES)
    finally:
        peer.close()
