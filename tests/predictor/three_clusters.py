"""A grid in which each kind of path has its own narrowest link, for tests that infer networks from messages."""

from platforms.grids.grid import Grid, GridCluster, WanLink, Wire


def three_clusters():
    """Return a grid of 4, 3 and 1 nodes, with backbones of 200 MB/s, one narrow WAN link and two that never limit."""
    wires = (Wire(125e6, 50e-6), Wire(50e6, 50e-6), Wire(125e6, 50e-6))
    clusters = tuple(
        GridCluster(f"c{i}", nodes, 50e9, wire, Wire(200e6, 50e-6))
        for i, (nodes, wire) in enumerate(zip((4, 3, 1), wires, strict=True), 1)
    )
    links = (
        WanLink("c1", "c2", Wire(40e6, 1e-3)),
        WanLink("c1", "c3", Wire(10e9, 1e-4)),
        WanLink("c2", "c3", Wire(10e9, 1e-4)),
    )
    return Grid("three", "made up", clusters, "mesh", links)
