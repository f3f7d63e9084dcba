"""The documents say what is true of the code: settings, options, commands, targets, paths, links and the picture."""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
from argparse import ArgumentParser, _SubParsersAction
from contextlib import suppress
from pathlib import Path

import pytest

from app.cli import PARSERS, parse_options
from app.drawing.picture import graph_picture
from app.settings import Settings
from run.state import SelfRAGState

ROOT = Path(__file__).resolve().parents[2]
NAMES = (
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    *(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")),
)
README_WORDS = 800
WRITTEN = {"eval", "bench"}  # by the program: what stands in them is nobody's to document
OWN = {path.name for path in ROOT.iterdir() if path.is_dir()} - WRITTEN | {"training"}
EVERY_COMMAND = {"--help", "--help-all", "--quiet", "--debug"}

every_document = pytest.mark.parametrize("name", sorted(NAMES))


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def code(name: str) -> list[str]:
    """The lines of shell blocks, and what stands between backticks."""
    blocks = re.findall(r"^```sh\n(.*?)^```", read(name), re.MULTILINE | re.DOTALL)
    prose = re.sub(r"^```.*?^```", "", read(name), flags=re.MULTILINE | re.DOTALL)
    return [line for block in blocks for line in block.splitlines()] + re.findall(r"`([^`\n]+)`", prose)


def modules(name: str) -> list[tuple[str, str]]:
    """The modules that the document runs, each with its arguments."""
    return [found for line in code(name) for found in re.findall(r"python3? -m ([\w.]+)([^&|]*)", line)]


def as_written(default: object) -> str:
    """A setting's default as one writes it."""
    if isinstance(default, tuple):
        return ",".join(f"{number:g}" for number in default)
    return "" if default is None else str(default)


def options(parser: ArgumentParser) -> set[str]:
    """The long options of a command and of its actions."""
    found = {word for word in parser._option_string_actions if word.startswith("--")}
    for action in parser._actions:
        if isinstance(action, _SubParsersAction):
            found |= set[str]().union(*(options(one) for one in action.choices.values()))
    return found


def source_of(module: str) -> str:
    """The text of the file that ``python -m`` runs; nothing where there is none."""
    path = ROOT / module.replace(".", "/")
    files = (path.with_suffix(".py"), path / "__main__.py")
    return next((file.read_text(encoding="utf-8") for file in files if file.is_file()), "")


def with_imports(module: str) -> str:
    """The text of the module, and of those of ours that it imports, one of which may have its options."""
    text = source_of(module)
    return text + "".join(source_of(one) for one in re.findall(r"^\s*from ([\w.]+) import", text, re.MULTILINE))


def anchors(path: Path) -> set[str]:
    """The anchors of a document's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


def test_the_readme_is_short() -> None:
    assert len(read("README.md").split()) <= README_WORDS


def test_the_picture_of_the_graph_is_up_to_date() -> None:
    assert "](docs/graph.svg)" in read("README.md")
    assert read("docs/graph.svg").encode() == graph_picture().data(".svg"), (
        "run python -m app graph --output docs/graph.svg"
    )


def test_ci_runs_the_test_command_of_the_readme() -> None:
    command = re.search(r"Run the tests:\n\n```sh\n(.*?)\n```", read("README.md"), re.DOTALL)
    assert command is not None
    assert command.group(1) in read(".ci/run").splitlines()


def test_every_setting_is_explained_with_its_default_and_no_other() -> None:
    rows = re.findall(r"^\| `([A-Z_]+)` \|([^|]*)\|", read("docs/configuration.md"), re.MULTILINE)
    defaults = {name.upper(): as_written(field.default) for name, field in Settings.model_fields.items()}
    assert {name: cell.strip(" `") for name, cell in rows} == defaults
    assert set(re.findall(r"^#([A-Z_]+)=", read(".env.example"), re.MULTILINE)) == set(defaults)


@every_document
def test_no_document_names_a_setting_that_is_none(name: str) -> None:
    named = set(re.findall(r"\b(?:SELFRAG|OPENAI)_[A-Z_]*[A-Z]\b", read(name)))
    assert named - {field.upper() for field in Settings.model_fields} == set()


@pytest.mark.parametrize("command", PARSERS)
def test_every_option_of_a_command_is_explained_and_no_other(command: str) -> None:
    section = re.search(rf"^### `{command}`\n(.*?)(?=^##)", read("docs/configuration.md"), re.MULTILINE | re.DOTALL)
    assert section is not None
    assert set(re.findall(r"`(--[a-z-]+)", section.group(1))) == options(PARSERS[command]()) - EVERY_COMMAND


@every_document
def test_every_option_exists(name: str) -> None:
    known = set.union(*(options(make()) for make in PARSERS.values()))
    lines = [line for line in code(name) if re.match(rf"(?:(?:{'|'.join(PARSERS)}) )?--", line)]
    named = {option for line in lines for option in re.findall(r"--[a-z-]+", line)}
    assert named - known == set()


@every_document
def test_every_module_that_is_run_exists_and_knows_its_options(name: str) -> None:
    for module, arguments in modules(name):
        if module == "app" and arguments:
            with suppress(SystemExit):  # of --help
                parse_options(shlex.split(arguments, comments=True))
        elif module.split(".")[0] in OWN:
            assert source_of(module), f"{module} is no module"
            source = with_imports(module)
            quoted = set(re.findall(r'"(--[a-z-]+)"', source))
            for arguments_of in re.findall(r"option_parser\(([^)]*)\)", source):  # of benchmarks.harness
                quoted |= {f"--{one.replace('_', '-')}" for one in re.findall(r"(\w+)=", arguments_of)}
            assert set(re.findall(r"--[a-z-]+", arguments)) - quoted == set(), module
        else:
            assert importlib.util.find_spec(module), f"{module} is no module"


@every_document
def test_every_target_of_make_exists(name: str) -> None:
    targets = set(re.findall(r"^([a-z-]+):", read("Makefile"), re.MULTILINE))
    assert {found for line in code(name) for found in re.findall(r"^make ([a-z-]+)", line)} - targets == set()


@every_document
def test_every_path_exists(name: str) -> None:
    paths = [line for line in code(name) if re.fullmatch(rf"(?:{'|'.join(OWN)})/[\w./-]*", line)]
    examples = re.compile(r"NAME|KIND|DATASET")
    assert [path for path in paths if not examples.search(path) and not (ROOT / path).exists()] == []


@every_document
def test_every_link_leads_somewhere(name: str) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", read(name)):
        if target.startswith(("http://", "https://")):
            continue
        path, _, anchor = target.partition("#")
        file = (ROOT / name).parent / path if path else ROOT / name
        assert file.is_file(), target
        assert not anchor or anchor in anchors(file), target


def test_every_key_of_the_state_is_explained_and_no_other() -> None:
    table = re.search(r"^## The state\n(.*?)^## ", read("docs/architecture.md"), re.MULTILINE | re.DOTALL)
    assert table is not None
    cells = re.findall(r"^\|([^|]*)\|", table.group(1), re.MULTILINE)
    assert set(re.findall(r"`(\w+)`", "".join(cells))) == set(SelfRAGState.__annotations__)


@pytest.mark.parametrize("name", ["self_rag", "agent"])
def test_a_notebook_has_the_outputs_of_a_whole_run_and_no_path_of_a_machine(name: str) -> None:
    notebook = json.loads(read(f"notebooks/{name}.ipynb"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1)), "run make notebook"
    assert not [output for cell in cells for output in cell["outputs"] if output["output_type"] == "error"]
    assert not re.search(r"/(?:home|root|work|Users|tmp)/", json.dumps([cell["outputs"] for cell in cells]))
