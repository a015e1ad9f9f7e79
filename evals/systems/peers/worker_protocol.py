"""What every worker does the same: read requests, answer them, ask for vectors. Runs in a peer's environment.

Standard library alone. A request is one line of JSON on stdin, `{"id": 3, "do": "search", ...}`; its answer is one
line on stdout, `{"id": 3, "result": ...}` or `{"id": 3, "error": "..."}`. What the peer itself prints goes to stderr.
"""

import http.client
import json
import os
import sys
import threading
import time
import traceback
from importlib.metadata import PackageNotFoundError, version
from urllib.parse import urlsplit

# A worker's own folder is no place to import a peer's modules from.
sys.path[:] = [folder for folder in sys.path if folder != os.path.dirname(os.path.abspath(__file__))]

BATCH = 64  # texts a request to the embeddings server
TIMEOUT = 300  # seconds for one batch; the client of this worker has its own, shorter or longer


def serve(peer_of, packages):
    """Answer requests until stdin ends. `peer_of(**opening)` makes the peer; `packages` are named by `describe`."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # a stray print must not end up among the answers
    peer = None
    for line in sys.stdin:
        request = json.loads(line)
        number, do = request.pop("id"), request.pop("do")
        started = time.perf_counter()
        try:
            if do == "open":
                peer = peer_of(**request)
                result = {"versions": versions(packages)}
            else:
                result = getattr(peer, do)(**request)
            answer = {"id": number, "result": result, "seconds": time.perf_counter() - started}
        except Exception as error:
            traceback.print_exc()
            answer = {"id": number, "error": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
        if do == "close":
            break
    # Not a plain return: threads and atexit hooks of a peer may hold the process for ever.
    sys.stderr.flush()
    os._exit(0)


def versions(packages):
    """Tell the installed version of each package, and of Python."""
    found = {"python": sys.version.split()[0]}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


class Vectors:
    """Ask the loopback server for vectors, over one connection; a peer may ask from several threads."""

    def __init__(self, url):
        self._lock = threading.Lock()
        parts = urlsplit(url)
        self._connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=TIMEOUT)
        self._path = parts.path + "/embeddings"

    def passages(self, texts):
        """Give the vectors of texts that are stored."""
        return self._ask("passage", list(texts))

    def questions(self, texts):
        """Give the vectors of questions."""
        return self._ask("question", list(texts))

    def _ask(self, model, texts):
        rows = []
        for start in range(0, len(texts), BATCH):
            body = json.dumps({"model": model, "input": texts[start : start + BATCH]})
            with self._lock:
                self._connection.request("POST", self._path, body, {"content-type": "application/json"})
                response = self._connection.getresponse()
                answer = response.read()
            if response.status != 200:
                raise RuntimeError(f"embeddings server: HTTP {response.status}: {answer[:200]!r}")
            rows += [row["embedding"] for row in json.loads(answer)["data"]]
        return rows


class Copies:
    """Remember under which keys a text was told, for peers that keep one copy of equal texts."""

    def __init__(self):
        self._keys = {}

    def note(self, mark, key):
        """Note that what has this mark was told under this key; say whether it is the first."""
        keys = self._keys.setdefault(mark, [])
        keys.append(key)
        return len(keys) == 1

    def keys(self, mark):
        """Give all keys of a mark, in the order in which they were told."""
        return self._keys.get(mark, [])
