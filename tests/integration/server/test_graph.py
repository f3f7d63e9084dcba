"""The graph that the page draws while it watches a run."""

from graph.builder import build_graph
from tests.integration.server.scripted_server import client_of, scripted_app
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
