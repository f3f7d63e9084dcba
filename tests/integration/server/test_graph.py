"""What the page draws while it watches a run: the graph, and what each node decided in a line."""

import json

from graph.builder import build_graph
from tests.integration.graph.sky import QUESTION
from tests.integration.server.scripted_server import client_of, ended, events_of, scripted_app
from tests.scripted import services


async def test_the_graph_to_draw_is_the_compiled_one() -> None:
    with client_of(scripted_app()) as client:
        drawing = (await client.get("/api/graph")).json()
    compiled = build_graph(services()).get_graph()
    assert {node["name"] for node in drawing["nodes"]} == set(compiled.nodes)
    assert {(edge["source"], edge["target"]) for edge in drawing["edges"]} == {
        (edge.source, edge.target) for edge in compiled.edges
    }
    assert all(edge["line"].startswith("M") and edge["tip"].endswith("Z") for edge in drawing["edges"])
    left, top, width, height = drawing["view"]
    for node in drawing["nodes"]:
        assert left <= node["left"] <= node["left"] + node["width"] <= left + width
        assert top <= node["top"] <= node["top"] + node["height"] <= top + height


async def test_each_node_that_ends_says_in_a_line_what_it_decided() -> None:
    app = scripted_app()
    with client_of(app) as client:
        id_ = (await client.post("/api/runs", json={"question": QUESTION})).json()["id"]
        async with client.stream("GET", f"/api/runs/{id_}/events") as response:
            told = [json.loads(data) async for _, kind, data in events_of(response) if kind == "node_finished"]
    await ended(app)
    said = {one["node"]: one["summary"] for one in told}
    assert said["decide"] == "retrieve"
    assert said["grade_documents"] == "relevant; irrelevant"
    assert said["finish"] == "grounded (accepted)"
