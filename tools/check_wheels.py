"""Build both wheels, install them into an empty environment, and run the demo there.

    python tools/check_wheels.py

Prints what was installed and how much disk it takes.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parent.parent
MOST_WHEEL_MB = 40  # of each wheel; the weights are the largest part


def main() -> None:
    """Build, install, run."""
    with tempfile.TemporaryDirectory() as folder:
        wheels = Path(folder, "wheels")
        for project in (ROOT / "packages" / "everyword-models", ROOT):
            _run(sys.executable, "-m", "build", "--wheel", "--outdir", wheels, project)
        built = sorted(wheels.glob("*.whl"))
        for wheel in built:
            size = wheel.stat().st_size / 1e6
            print(f"{wheel.name}: {size:.1f} MB", flush=True)
            if size > MOST_WHEEL_MB:
                sys.exit(f"{wheel.name} is larger than {MOST_WHEEL_MB} MB.")
        environment = Path(folder, "env")
        venv.create(environment, with_pip=True)
        before = _megabytes(environment)
        python = environment / ("Scripts" if sys.platform == "win32" else "bin") / "python"
        _run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *built)
        print(f"installed: {_megabytes(environment) - before:.0f} MB", flush=True)
        # Outside the checkout, so that nothing of it can be imported by accident.
        _run(python, "-m", "everyword", "--version", folder=folder)
        _run(python, ROOT / "examples" / "demo.py", folder=folder)


def _run(*command: object, folder: str | None = None) -> None:
    done = subprocess.run([str(part) for part in command], cwd=folder, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(str(part) for part in command)}\n{done.stdout}{done.stderr}")


def _megabytes(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


if __name__ == "__main__":
    main()
