"""What others build on keeps its name: options, exit codes, routes, JSON fields, settings, tools, keys of the state.

``public_names.json`` lists them. A new name is added with ``python -m tests.integration.server.test_public_names``; one
that is there stays.
"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, get_args

from pydantic import BaseModel

import app.cli
from app.checking.checked_text import CheckedText
from app.cli import PARSERS
from app.conversations.feedback import Label
from app.conversations.store import Threads
from app.results.events import Event
from app.results.result import Result
from app.server.application import create_app
from app.server.asking import ServerOptions
from app.server.mcp.tools import TOOLS
from app.settings import Settings
from evaluation.records import Record
from run.context import Context
from run.state import SelfRAGState
from tests.integration.server.scripted_server import Models
from tests.unit.test_docs import options

STORED = Path(__file__).with_name("public_names.json")
EVENTS: tuple[type, ...] = get_args(Event)
MODELS: tuple[type[BaseModel], ...] = (CheckedText, Context, Label, Result, *(tool.result for tool in TOOLS))


def properties(schemas: Mapping[str, Any]) -> Iterator[str]:
    for name, schema in schemas.items():
        yield from (f"{name}.{field}" for field in schema.get("properties", ()))
        yield from (f"{name} is {value}" for value in schema.get("enum", ()))


def fields_of_models() -> Iterator[str]:
    for model in MODELS:
        schema = model.model_json_schema(mode="serialization")
        yield from properties({model.__name__: schema, **schema.get("$defs", {})})


def current() -> dict[str, list[str]]:
    with TemporaryDirectory() as folder:
        served = create_app(Models().rag(), ServerOptions(), threads=Threads(Path(folder))).openapi()
    codes = re.findall(r"^  (\d+)  +(.+)$", (app.cli.__doc__ or "") + Path(app.cli.__file__).read_text(), re.MULTILINE)
    found = {
        "options": (f"{command} {option}" for command, make in PARSERS.items() for option in options(make())),
        "exit codes": (f"{code} {meaning}" for code, meaning in codes),
        "routes": (f"{method} {path}" for path, methods in served["paths"].items() for method in methods),
        "fields": (*properties(served["components"]["schemas"]), *fields_of_models()),
        "events": (f"{one.__name__}.{name}" for one in EVENTS for name in one.__annotations__),
        "tools": (f"{tool.name} {name}" for tool in TOOLS for name in tool.arguments.model_fields),
        "settings": Settings.model_fields,
        "keys of the state": SelfRAGState.__annotations__,
        "keys of a record": Record.__annotations__,
    }
    return {kind: sorted(set(names)) for kind, names in found.items()}


def test_public_names_are_those_that_are_stored() -> None:
    assert current() == json.loads(STORED.read_text(encoding="utf-8"))


if __name__ == "__main__":
    STORED.write_text(json.dumps(current(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
