"""The image, the compose file and the chart: linted, and their commands run here without a container."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from tests.serve.service import bearer, free_port, wait_for_port

from everyword import __version__
from postgres_server import Server

ROOT = Path(__file__).parent.parent.parent
CHART = ROOT / "deploy" / "helm" / "everyword"
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))


def tool(name: str) -> str:
    """Find a program that a package of the development extra brings."""
    beside = Path(sys.executable).with_name(name)
    found = str(beside) if beside.exists() else shutil.which(name)
    return found or pytest.skip(f"{name} is not installed")


def instruction(name: str) -> str:
    """Give the last instruction of that name in the Dockerfile."""
    return re.findall(rf"^{name} (.*)$", DOCKERFILE, re.MULTILINE)[-1]


def test_hadolint_finds_nothing() -> None:
    done = subprocess.run([tool("hadolint"), str(ROOT / "Dockerfile")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_image_copies_files_that_exist_and_are_sent_to_the_builder() -> None:
    sent = re.findall(r"^!(.+)$", (ROOT / ".dockerignore").read_text(encoding="utf-8"), re.MULTILINE)
    lines = re.findall(r"^COPY (?!--from)(.*)$", DOCKERFILE, re.MULTILINE)
    copied = [name for line in lines for name in line.split()[:-1]]
    assert sorted(copied) == sorted(sent)
    assert all((ROOT / name).exists() for name in copied)


def test_the_image_runs_without_root() -> None:
    assert int(instruction("USER").split(":")[0]) > 0


def test_compose_names_files_and_variables_that_exist() -> None:
    services = COMPOSE["services"]
    assert (ROOT / services["everyword"]["build"] / "Dockerfile").exists()
    for volume in services["db"]["volumes"]:
        source = volume.split(":")[0]
        assert source in COMPOSE["volumes"] or (ROOT / source).exists(), source
    used = set(re.findall(r"\$\{(\w+)", (ROOT / "compose.yaml").read_text(encoding="utf-8")))
    example = (ROOT / "deploy" / "env.example").read_text(encoding="utf-8")
    assert used == set(re.findall(r"^(\w+)=", example, re.MULTILINE))
    assert services["everyword"]["depends_on"]["db"]["condition"] == "service_healthy"


def test_the_chart_renders_the_service() -> None:
    helm = tool("helm")
    subprocess.run([helm, "lint", "--strict", str(CHART)], check=True, capture_output=True)
    options = ["--set", "ingress.enabled=true", "--set", "arguments={--rate=100}"]
    rendered = subprocess.run(
        [helm, "template", "memory", str(CHART), *options], check=True, capture_output=True, text=True
    ).stdout
    documents = {one["kind"]: one for one in yaml.safe_load_all(rendered)}
    assert set(documents) == {"Deployment", "Service", "Ingress"}
    pod = documents["Deployment"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert container["image"] == f"everyword:{__version__}"
    assert container["args"] == ["serve", "--host=0.0.0.0", "--rate=100"]
    assert f"{pod['securityContext']['runAsUser']}:{pod['securityContext']['runAsGroup']}" == instruction("USER")


@pytest.mark.slow
def test_the_commands_of_the_compose_file_serve_a_memory(postgres: Server, tmp_path: Path) -> None:
    """Run what the containers run, in their order: database, key, service, check of its health."""
    name = "everyword_deployed"  # the tests' own server has a role of the usual name
    location = COMPOSE["services"]["everyword"]["environment"]["EVERYWORD_MEMORY"].replace("everyword", name)
    environment = {
        **os.environ,
        "EVERYWORD_MEMORY": location.replace("@db/", f"@{postgres.host}:{postgres.port}/"),
        "EVERYWORD_EMBEDDER": "hashing",
        "PGPASSWORD": "it's secret",
    }
    _create_database(postgres, name, environment["PGPASSWORD"])

    def command(*arguments: str) -> list[str]:
        assert json.loads(instruction("ENTRYPOINT")) == ["everyword"]
        return [sys.executable, "-m", "everyword", *arguments]

    serve = json.loads(instruction("CMD"))
    refused = subprocess.run(command(*serve), env=environment, capture_output=True, text=True, check=False, timeout=60)
    assert refused.returncode != 0
    assert "everyword keys create" in refused.stderr

    asked = re.findall(r"docker compose run --rm everyword (keys create .*?)  ", (ROOT / "compose.yaml").read_text())[0]
    shown = subprocess.run(command(*shlex.split(asked)), env=environment, capture_output=True, text=True, check=True)
    key = re.findall(r"ew_[\w-]+", shown.stdout)[0]

    port = free_port()
    local = [*(part.replace("0.0.0.0", "127.0.0.1") for part in serve), "--port", str(port)]
    health = json.loads(instruction("HEALTHCHECK").split(" CMD ")[1])
    health = [sys.executable, *(part.replace("7330", str(port)) for part in health[1:])]
    service = subprocess.Popen(command(*local), env=environment, cwd=tmp_path)
    try:
        wait_for_port(port)
        subprocess.run(health, check=True, timeout=60)
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=bearer(key), timeout=60) as web:
            assert web.post("/v1/add", json={"text": "I moved to Lisbon."}).json()["new"]
            assert web.post("/v1/recall", json={"query": "Who moved to Lisbon?"}).json()["hits"]
    finally:
        service.terminate()
        service.wait(60)
        assert subprocess.run(health, capture_output=True, check=False, timeout=60).returncode != 0
        postgres.as_admin(f"DROP DATABASE {name} WITH (FORCE)", "postgres")
        postgres.as_admin(f"DROP ROLE {name}", "postgres")


def _create_database(postgres: Server, name: str, password: str) -> None:
    script = (ROOT / "deploy" / "create-database.sh").read_text(encoding="utf-8")
    if postgres.folder is None:
        pytest.skip("psql is found only beside a server that the tests started")
    programs = next(postgres.folder.parent.glob(".pg0/installation/*/bin"))
    environment = {
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "LD_LIBRARY_PATH": str(programs.parent / "lib"),
        "PGHOST": postgres.host,
        "PGPORT": str(postgres.port),
        "PGPASSWORD": "postgres",
        "EVERYWORD_DB_PASSWORD": password,
    }
    renamed = re.sub(r"\b(ROLE|DATABASE|OWNER|connect) everyword\b", rf"\1 {name}", script)
    done = subprocess.run(["sh", "-c", renamed], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    ((is_superuser,),) = postgres.as_admin(f"SELECT rolsuper FROM pg_roles WHERE rolname = '{name}'")
    assert not is_superuser
