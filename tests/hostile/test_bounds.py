"""Small inputs that need more than any machine has are refused in one line and with little memory."""

import resource
from contextlib import contextmanager

import pytest
from readers.common import fenced, platform_of

from apps.recording.files import from_bytes
from apps.results.energy import unpacked
from platforms.errors import UserError
from platforms.files.checked_toml import MOST_BYTES, MOST_DEPTH, MOST_LINE, MOST_POINTS, read_toml
from platforms.grids.random_grid import Ranges, random_grid
from platforms.grids.scenario import named_grid, read_grid
from platforms.model.placement import read_host_file
from platforms.system.description import read_system
from predictor.blocks.expressions import Expression
from predictor.design.request import read_request
from predictor.dpgraph.graphml import NAMESPACE, read_graphml
from validation.campaign import read_campaign

LITTLE_BYTES = 1 << 30


@contextmanager
def refused(message):
    """Check that a clear error with this message is raised with little additional memory."""
    before_bytes = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(UserError, match=message) as error:
        yield
    assert str(error.value).isprintable()
    assert 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_bytes < LITTLE_BYTES


@pytest.fixture
def written(tmp_path):
    def write(text, name="input.toml"):
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return write


@pytest.mark.parametrize(
    "text, message",
    [
        ("a = " + "[" * 10_000, "nested deeper"),
        ("a = " + "{a = " * 3000, "nested deeper|not TOML"),
        ("a." * 150 + "b = 1", "nested deeper"),
        ("a = " + "[" * MOST_DEPTH + "]" * MOST_DEPTH, "nested deeper"),
        ("a." * 8000 + "b = 1", "16001 characters with 8000 points|16000 points|points"),
        ('a = "' + "x" * MOST_LINE + '"', "Break it into lines"),
        ("a = " + "9" * 5000, "not TOML"),
        ("a = 0x" + "f" * 5000, "beyond 2"),
        ("a = 9223372036854775808", "beyond 2"),
        ("a = 1\n" * (MOST_BYTES // 6 + 1), "larger than"),
    ],
)
def test_files_in_toml_that_python_would_take_long_for_or_fail_over(written, text, message):
    with refused(message):
        read_toml(written(text), "file")


@pytest.mark.slow
def test_the_longest_keys_that_are_taken_are_read_soon(written):
    # The worst accepted input: Python's time to parse a key grows with the square of its number of parts.
    line = ".".join(["a"] * MOST_POINTS)
    path = written("".join(f"k{i}.{line} = 1\n" for i in range(MOST_BYTES // (4 * len(line)))))
    with refused("nested deeper"):
        read_toml(path, "file")


def test_whole_numbers_of_toml_are_read(written):
    assert read_toml(written("a = 9223372036854775807\nb = -9223372036854775808\n"), "file") == {
        "a": 2**63 - 1,
        "b": -(2**63),
    }


def clusters(count, nodes=1):
    return f"[[clusters]]\nnodes = {nodes}\nspeed_gflops = 1\n" * count


def test_grids_beyond_what_can_be_simulated(written):
    with refused("501 clusters"):
        read_grid(written(clusters(501)))
    with refused("more than|1000001 nodes|2000000 nodes"):
        read_grid(written(clusters(2, nodes=1_000_000)))
    with refused("nodes"):
        read_grid(written(clusters(1, nodes=10**15)))
    with refused("clusters"):
        named_grid("grid60000x1", None, [1e9] * 60_000)


def test_a_name_that_comes_twice_among_many_is_found_soon(written):
    text = clusters(1, nodes=300_000) + '[[clusters]]\nname = "c1-7"\nnodes = 1\nspeed_gflops = 1\n'
    with refused("'c1-7' is used twice"):
        read_grid(written(text))


def test_random_grids_beyond_all_bounds():
    for bad in (
        {"clusters": (1, 10**9)},
        {"nodes": (1, 10**9)},
        {"clusters": (1.5, 2)},
        {"speed_flops": (1, float("inf"))},
    ):
        with refused("random platforms"):
            random_grid(1, 0, Ranges(**bad))


def test_systems_of_too_many_groups(written):
    nodes = '[[lan.node]]\ncpu = "xeon-l5640"\n' * 5000
    with refused("5000 groups"):
        read_system(written(f'[lan]\nnetwork = "infiniband-qdr"\n{nodes}'))


def test_host_files_that_place_billions(written):
    with refused("more than 1000000 ranks"):
        read_host_file(written("c1-0:999999\n" * 1000, "hosts"), platform_of(named_grid("grid4x2")))


def test_campaigns_of_billions_of_runs(written, tmp_path):
    with fenced(tmp_path), refused("count 1000000000000"):
        read_campaign(written("[random]\ncount = 1000000000000\nseed = 1\n"))


def test_designs_of_millions_of_combinations(written):
    node = '[[nodes]]\nname = "{}"\nspeed_gflops = 1\nprice = 1\n'
    network = '[[networks]]\nname = "{}"\nnetwork = "gigabit"\n'
    many = "".join(node.format(f"n{i}") + network.format(f"w{i}") for i in range(2000))
    rest = '[clusters]\nmost = 1\nmost_nodes = 2\n[[programs]]\napp = "cg"\nclass = "S"\n'
    with refused("2000 kinds of nodes on 2000 networks"):
        read_request(written(f"budget = 1\n{many}{rest}"))


@pytest.mark.parametrize(
    "text", ["9**9**9", "9**(9**5)", "1e308*10", "-" * 900 + "1", "(" * 400 + "1" + ")" * 400, "2**4096*2**4096"]
)
def test_expressions_without_end(text):
    with refused("expression"):
        Expression.of(text).whole({}, "here", least=0) if "4096" not in text else Expression.of(f"-({text})").whole(
            {}, "here"
        )


def test_graphs_that_unfold(written):
    entities = "".join(f'<!ENTITY e{i} "{f"&e{i - 1};" * 10}">' for i in range(1, 10))
    text = f'<!DOCTYPE g [<!ENTITY e0 "ha">{entities}]><graphml xmlns="{NAMESPACE}"><graph id="&e9;"/></graphml>'
    with refused("not XML|no "):
        read_graphml(written(text, "g.graphml"))


def test_energies_that_unfold():
    # A record in a store: one row stands for a range of hosts.
    assert unpacked([[1.5, "c-", 0, 2, ""]]) == {"c-0": 1.5, "c-1": 1.5, "c-2": 1.5}
    with pytest.raises(ValueError, match="hosts in a row"):
        unpacked([[1.5, "c-", 0, 10**12, ""]])
    with pytest.raises(ValueError, match="hosts in a row"):
        unpacked([[1.5, "a-", 0, 600_000, ""], [1.5, "b-", 0, 600_000, ""]])


def test_recordings_that_unfold():
    import io
    import zipfile

    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for i in range(50):
            archive.writestr(f"event_{i}.npy", b"\0" * (100 << 10))
    content = bytearray(file.getvalue())
    # The sizes in the archive's directory are checked before anything is unpacked.
    entry = content.rindex(b"PK\x01\x02")
    content[entry + 24 : entry + 28] = (0xFFFFFFF0).to_bytes(4, "little")
    with pytest.raises(ValueError, match="unpacks to"):
        from_bytes(bytes(content))
