"""A real PostgreSQL for tests: started once a session, without root, or the one that an environment variable names."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

VARIABLE = "EVERYWORD_TEST_POSTGRES"  # the location of a superuser on a server to use instead
USER, PASSWORD, DATABASE = "everyword", "wide open", "memory"
_ROOT = 0
_NOBODY = 65534
# Data of tests need not survive a power cut, and the machine may be busy.
_CARELESS = ("fsync=off", "full_page_writes=off")
_SETTINGS = ("max_connections=120", "shared_buffers=128MB")


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A server, and who may do what there."""

    admin: str  # the location of a superuser
    host: str
    port: int
    folder: Path | None = None  # of its own data, where we started it

    @property
    def location(self) -> str:
        """Give the location of a plain user's empty database."""
        return f"postgresql://{USER}:{PASSWORD.replace(' ', '%20')}@{self.host}:{self.port}/{DATABASE}"

    def as_admin(self, statement: str, database: str | None = None) -> list[tuple]:
        """Run something as the superuser."""
        with psycopg.connect(self.admin, dbname=database or DATABASE, autocommit=True) as connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def empty(self, schema: str) -> None:
        """Remove all rows of a store, and count from one again."""
        # TRUNCATE would take longer than most tests: it makes new files for every table and index.
        self.as_admin(f"""
            DO $$ DECLARE name text; BEGIN
                SET LOCAL session_replication_role = replica;  -- in any order of the tables
                FOR name IN SELECT oid::regclass FROM pg_class WHERE relkind IN ('r', 'p')
                    AND NOT relispartition AND relname != 'schema_steps' AND relnamespace = '{schema}'::regnamespace
                LOOP
                    EXECUTE 'DELETE FROM ' || name;
                END LOOP;
                PERFORM setval(oid, 1, false)
                    FROM pg_class WHERE relkind = 'S' AND relnamespace = '{schema}'::regnamespace;
            END $$
        """)

    def restart(self, mode: str = "fast") -> None:
        """Stop the server in one of pg_ctl's ways and start it again."""
        assert self.folder is not None, "only a server that the tests started can be restarted"
        self.control("restart", "-m", mode, "-l", str(self.folder / "again.log"))

    def control(self, *arguments: str) -> None:
        """Run pg_ctl."""
        assert self.folder is not None
        tools = next(self.folder.parent.glob(".pg0/installation/*/bin"))
        _as_nobody([tools / "pg_ctl", "-D", self.folder, "-w", *arguments], self.folder.parent, tools)


@contextmanager
def running(*, durable: bool = False) -> Generator[Server]:
    """Give a server for a session; one that can't be started is an error, never a skipped test."""
    if named := os.environ.get(VARIABLE):
        yield _prepared(named, None)
        return
    home = Path(tempfile.gettempdir()) / f"everyword-tests-postgres-{os.getuid()}"
    home.mkdir(mode=0o755, exist_ok=True)
    if os.getuid() == _ROOT:
        os.chown(home, _NOBODY, _NOBODY)
    _sweep(home)
    name = f"p{os.getpid()}"
    data = home / name
    with _port() as port:
        pass
    settings = [word for setting in (*_SETTINGS, *(() if durable else _CARELESS)) for word in ("-c", setting)]
    try:
        _pg0(home, "start", "--name", name, "--port", str(port), "--data-dir", str(data), *settings)
        yield _prepared(f"postgresql://postgres:postgres@127.0.0.1:{port}/postgres", data)
    finally:
        _pg0(home, "drop", "--name", name, "--force", check=False)
        shutil.rmtree(data, ignore_errors=True)


def _prepared(admin: str, folder: Path | None) -> Server:
    """Make an empty database of a user who is no superuser: policies do not bind one."""
    with psycopg.connect(admin, autocommit=True) as connection:
        server = Server(admin=admin, host=connection.info.host, port=connection.info.port, folder=folder)
        connection.execute(f"DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE)")
        connection.execute(f"DROP ROLE IF EXISTS {USER}")
        connection.execute(f"CREATE ROLE {USER} LOGIN PASSWORD '{PASSWORD}'")
        connection.execute(f"CREATE DATABASE {DATABASE} OWNER {USER}")
    server.as_admin("CREATE EXTENSION vector")
    return server


def _pg0(home: Path, *arguments: str, check: bool = True) -> None:
    import pg0

    binary = Path(pg0.__file__).parent / "bin" / ("pg0.exe" if os.name == "nt" else "pg0")
    _as_nobody([binary, *arguments], home, binary.parent, check=check)


def _as_nobody(command: list, home: Path, tools: Path, *, check: bool = True) -> None:
    """Run a command as somebody without rights: PostgreSQL refuses root."""
    who = {"user": _NOBODY, "group": _NOBODY, "extra_groups": []} if os.getuid() == _ROOT else {}
    # To a file: the server inherits it and keeps it open, so that a pipe would never end.
    with tempfile.TemporaryFile() as said:
        done = subprocess.run(
            command,
            cwd=home,
            env={"HOME": str(home), "PATH": os.environ.get("PATH", ""), "LD_LIBRARY_PATH": str(tools.parent / "lib")},
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
            check=False,
            timeout=120,
            **who,
        )
        said.seek(0)
        if check and done.returncode:
            raise RuntimeError(f"{command[0]} failed:\n{said.read().decode(errors='replace')}")


def _sweep(home: Path) -> None:
    """Remove what sessions left that were killed."""
    for left in home.glob("p*"):
        try:
            os.kill(int(left.name[1:]), 0)
        except (OSError, ValueError):
            _pg0(home, "drop", "--name", left.name, "--force", check=False)
            shutil.rmtree(left, ignore_errors=True)


@contextmanager
def _port() -> Generator[int]:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        yield probe.getsockname()[1]
