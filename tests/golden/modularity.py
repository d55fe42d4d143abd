"""Expected modularities of divisions of small graphs: writes modularity.json beside this script.

python3 modularity.py       # networkx 3.6.1
"""

import json
import pathlib
import random

import networkx as nx

rng = random.Random(7)
triangles = nx.Graph([(0, 1), (0, 2), (1, 2), (2, 3), (3, 4), (3, 5), (4, 5)])
zachary = nx.karate_club_graph()
sparse = nx.gnm_random_graph(40, 60, seed=3)
blocks = nx.planted_partition_graph(4, 12, 0.6, 0.05, seed=5)
clubs = [int(zachary.nodes[node]["club"] == "Officer") for node in zachary]
CASES = [
    ("two_triangles", triangles, [0, 0, 0, 1, 1, 1]),
    ("two_triangles_cut_across", triangles, [0, 1, 2, 0, 1, 2]),
    ("all_in_one", triangles, [0] * 6),
    ("karate_clubs", zachary, clubs),
    ("sparse_by_chance", sparse, [rng.randrange(5) for _ in sparse]),
    ("blocks", blocks, [node // 12 for node in blocks]),
]


def case(name, graph, groups):
    members = [{node for node in graph if groups[node] == group} for group in sorted(set(groups))]
    pairs = sorted((u, v) for a, b in graph.edges for u, v in ((a, b), (b, a)))
    return {
        "name": name,
        "op": "modularity",
        "params": {},
        "inputs": {"graph": {"num_nodes": len(graph), "edges": pairs}, "groups": groups},
        "expected": {"modularity": nx.community.modularity(graph, members, weight=None)},
        "tol": {"f64": {"rtol": 1e-12, "atol": 1e-12}, "f32": {"rtol": 1e-6, "atol": 1e-6}},
    }


golden = {
    "topic": "modularity",
    "about": "Modularity of a division into groups, edges counting 1, by networkx.community.modularity.",
    "library": {"networkx": nx.__version__},
    "cases": [case(*it) for it in CASES],
}
path = pathlib.Path(__file__).with_suffix(".json")
path.write_text(json.dumps(golden, indent=1) + "\n")
