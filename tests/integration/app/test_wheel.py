"""A wheel, installed where there is no checkout: it holds the whole product with its sample, and answers."""

import json
import os
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

from app.libraries import SAMPLE
from core.version import VERSION
from tests.command_line import ROOT, Program

PACKAGES = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {"benchmarks", "deploy", "training", "selfrag"}
EXTRAS = ("charts", "postgres", "otel")


def ran(*command: str | Path, **given: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *command], capture_output=True, text=True, check=False, **given)


def files_of(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc")
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def needed(installed: Path) -> list[Requirement]:
    """What the wheel's metadata say that it needs, also for its extras."""
    (metadata,) = installed.glob("*.dist-info/METADATA")
    lines = metadata.read_text().splitlines()
    return [Requirement(line.removeprefix("Requires-Dist: ")) for line in lines if line.startswith("Requires-Dist: ")]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what a wheel is built from: the build leaves files where it runs."""
    folder = tmp_path_factory.mktemp("source")
    for name in (
        "pyproject.toml",
        "setup.py",
        *(f"requirements{one}.txt" for one in ("", *(f"-{extra}" for extra in EXTRAS))),
    ):
        shutil.copy(ROOT / name, folder)
    for name in (*PACKAGES, "selfrag", "data/library"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


@pytest.fixture(scope="module")
def installed(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder into which pip put the wheel, without its dependencies and without a network."""
    folder = tmp_path_factory.mktemp("installed")
    offline = ("--no-index", "--no-deps", "--no-build-isolation", "--no-compile", "--disable-pip-version-check")
    ended = ran("-m", "pip", "install", *offline, "--target", folder, source)
    assert ended.returncode == 0, ended.stderr
    return folder


def test_a_wheel_holds_the_product_the_sample_and_nothing_else(source: Path, installed: Path) -> None:
    assert {path.name for path in installed.iterdir()} == {"selfrag", "bin", f"self_rag-{VERSION}.dist-info"}
    expected = {f"{name}/{path}" for name in PACKAGES for path in files_of(source / name)}
    expected |= {f"app/sample/{path}" for path in files_of(SAMPLE)} | set(files_of(source / "selfrag"))
    assert set(files_of(installed / "selfrag")) == expected


def test_a_wheel_takes_no_name_but_selfrag(installed: Path, tmp_path: Path) -> None:
    for name in PACKAGES:
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('a module of another project')")
    program = """
import importlib, pkgutil, selfrag
for module in pkgutil.walk_packages(selfrag.__path__, "selfrag."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
print(selfrag.SelfRAG.__module__)
"""
    ended = ran("-c", program, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(installed)})
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "selfrag.app.front_door\n", "")


def test_a_wheel_names_what_is_for_charts_for_a_database_and_for_spans_apart(installed: Path) -> None:
    needs = needed(installed)
    extras = {extra: [one.name for one in needs if f'extra == "{extra}"' in str(one)] for extra in EXTRAS}
    assert extras == {
        "charts": ["matplotlib", "novasvg"],
        "postgres": ["psycopg", "langgraph-checkpoint-postgres"],
        "otel": ["opentelemetry-sdk", "opentelemetry-exporter-otlp-proto-http"],
    }
    assert "langgraph" in {one.name for one in needs if "extra" not in str(one)}
    told = (installed / "selfrag" / "models" / "telemetry.py").read_text()
    assert "pip install 'self-rag[otel]'" in told


def test_without_its_extras_a_wheel_misses_charts_alone_and_says_so_first(installed: Path, tmp_path: Path) -> None:
    program = """
import sys
for name in ("matplotlib", "novasvg", "psycopg", "opentelemetry.sdk"):
    sys.modules[name] = None
from importlib import import_module
from selfrag.app.cli import PARSERS, main
for name in PARSERS:
    import_module(f"selfrag.app.commands.{name}")
for given in (["graph", "--output", "a.svg"], ["graph", "--output", "a.png"], ["eval", "nowhere.json"]):
    main(given)
"""
    ended = ran("-c", program, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(installed)})
    remedy = "needs matplotlib: run pip install 'self-rag[charts]'."
    assert ended.stderr.splitlines()[-2:] == [f"error: {what} {remedy}" for what in ("A PNG", "An evaluation")], (
        ended.stderr
    )
    assert [path.name for path in tmp_path.iterdir()] == ["a.svg"]


def test_a_wheel_takes_the_tested_versions_and_later_ones_but_the_next_major_one(installed: Path) -> None:
    pinned = {}
    for file in ("requirements.txt", *(f"requirements-{extra}.txt" for extra in EXTRAS)):
        lines = [line for line in (ROOT / file).read_text().splitlines() if line[:1] not in ("#", "-", "")]
        pinned |= {one.name: str(one.specifier).removeprefix("==") for one in map(Requirement, lines)}
    needs = needed(installed)
    assert {one.name for one in needs} == pinned.keys()
    for one in needs:
        major, *_, last = pinned[one.name].split(".")
        assert one.specifier.contains(pinned[one.name])
        assert one.specifier.contains(f"{major}.99999")
        assert not one.specifier.contains(f"{int(major) + 1}.0")
        assert last == "0" or not one.specifier.contains(pinned[one.name].removesuffix(last) + "0")


def test_a_checkout_has_each_module_once() -> None:
    assert import_module("selfrag.graph.builder") is import_module("graph.builder")
    assert import_module("selfrag").SelfRAG is import_module("app").SelfRAG


def test_a_wheel_answers_from_its_sample(installed: Path, program: Program) -> None:
    command = ("-P", installed / "bin" / "self-rag", "what are points on a mortgage", "--json")
    ended = ran(*command, cwd=program.folder, env={**program.environment, "PYTHONPATH": str(installed)})
    assert ended.returncode == 0, ended.stderr
    result = json.loads(ended.stdout)
    assert result["outcome"] == "grounded"
    assert [citation["source"] for citation in result["citations"]] == [
        str(installed / "selfrag" / "app" / "sample" / "mortgage-guide.html")
    ]
