"""The files of deploy/ fit their schemas, and each other."""

import json
import re
import subprocess
import sys
from pathlib import Path

import kubernetes_validate
import pytest
import yaml

from app.server.metrics import Metrics
from app.settings import Settings

DEPLOY = Path(__file__).parents[2] / "deploy"
MANIFESTS = yaml.safe_load((DEPLOY / "kubernetes.yaml").read_text())["items"]
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
IMAGE = (DEPLOY / "Containerfile").read_text()


@pytest.mark.parametrize("manifest", MANIFESTS, ids=lambda one: f"{one['kind']} {one['metadata']['name']}")
def test_a_manifest_fits_the_schema_of_kubernetes(manifest: dict[str, object]) -> None:
    kubernetes_validate.validate(manifest, "1.34", strict=True)


def test_the_compose_file_fits_its_schema() -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec"]
    ended = subprocess.run([*command, DEPLOY / "compose.yaml"], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout


def test_what_runs_is_no_administrator_writes_nothing_but_its_volumes_and_has_no_privilege() -> None:
    user = re.search(r"^USER (\d+)$", IMAGE, re.MULTILINE)
    assert user
    for name in ("server", "worker"):
        service = COMPOSE["services"][name]
        assert (service["read_only"], service["cap_drop"]) == (True, ["ALL"])
    for one in MANIFESTS:
        if one["kind"] == "Deployment":
            pod = one["spec"]["template"]["spec"]
            assert pod["securityContext"]["runAsUser"] == int(user[1])
            (container,) = pod["containers"]
            assert container["securityContext"]["readOnlyRootFilesystem"]


def test_each_setting_that_is_named_exists_and_the_health_check_asks_what_the_probe_asks() -> None:
    texts = [path.read_text() for path in DEPLOY.iterdir() if path.suffix != ".pyc" and path.is_file()]
    named = {name.lower() for text in texts for name in re.findall(r"\b(SELFRAG_[A-Z_]+)\b", text)}
    assert named <= Settings.model_fields.keys()
    health = re.search(r"^HEALTHCHECK CMD (\[.*\])$", IMAGE, re.MULTILINE)
    assert health
    (server,) = (one for one in MANIFESTS if one["metadata"]["name"] == "self-rag-server")
    probe = server["spec"]["template"]["spec"]["containers"][0]["readinessProbe"]["httpGet"]["path"]
    assert probe in json.loads(health[1])[2]


def test_the_dashboard_and_the_alerts_name_what_the_server_measures_and_each_of_it_is_explained() -> None:
    measured = set(re.findall(r"^# HELP (selfrag_\w+?)(?:_created)? ", Metrics().text().decode(), re.MULTILINE))
    measured |= {"selfrag_runs_queued", "selfrag_runs_running"}  # of a server that answers
    texts = [(DEPLOY / name).read_text() for name in ("dashboard.json", "alerts.yaml")]
    named = {name.removesuffix("_bucket") for text in texts for name in re.findall(r"\bselfrag_\w+", text)}
    assert named == {name + "_total" if name + "_total" in measured else name for name in measured}
    told = (DEPLOY.parent / "docs" / "operations.md").read_text()
    assert all(f"`{name}`" in told for name in named)
