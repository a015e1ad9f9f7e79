"""`make fuzz`: serve a small memory and let schemathesis send it all that the OpenAPI description allows, and more.

Every request that the description allows must be answered as it says; whatever else is sent must be refused as one
error, and nothing may bring the service down. Takes minutes; `--examples` says how many requests each route gets.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HISTORY = Path(__file__).parent.parent / "examples" / "history.jsonl"
# A stream never ends, and what is imported must be a file of a known format, which no schema describes.
LEFT_OUT = ("/v1/stream", "/v1/import")
SLOWEST_S = 300  # a rebuild takes as long as there is to be read again


def main() -> int:
    """Serve, send, and give the exit code of schemathesis: 0 where it found nothing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--schemathesis", default=str(Path(sys.executable).with_name("schemathesis")))
    parser.add_argument("more", nargs="*", help="what else schemathesis is told")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        memory = Path(folder) / "memory.db"
        environment = {**os.environ, "EVERYWORD_EMBEDDER": "hashing", "EVERYWORD_MEMORY": str(memory)}
        everyword = [sys.executable, "-m", "everyword"]
        subprocess.run([*everyword, "import", str(HISTORY)], env=environment, check=True, stdout=subprocess.DEVNULL)
        serve = [*everyword, "serve", "--port", "0", "--no-mcp"]
        service = subprocess.Popen(serve, env=environment, stdout=subprocess.PIPE, text=True)
        assert service.stdout is not None
        try:
            address = service.stdout.readline().split(" at ")[1].split()[0]
            command = [asked.schemathesis, "run", f"{address}/openapi.json", "--checks", "all"]
            command += [f"--max-examples={asked.examples}", f"--seed={asked.seed}"]
            command += [f"--request-timeout={SLOWEST_S}", f"--max-response-time={SLOWEST_S}"]
            command += [f"--exclude-path={path}" for path in LEFT_OUT]
            found = subprocess.run([*command, *asked.more], cwd=folder, check=False).returncode
            alive = service.poll() is None
        finally:
            service.terminate()
            service.wait(60)
    if not alive:
        print("The service ended.", file=sys.stderr)
    return found if alive else 1


if __name__ == "__main__":
    sys.exit(main())
