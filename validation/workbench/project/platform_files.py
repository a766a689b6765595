"""Platform files of a project: the list, grids from a form, and uploads."""

from __future__ import annotations

import secrets
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from platforms.errors import UserError
from platforms.files.writing import write_whole
from platforms.grids.network import network_names
from platforms.grids.scenario import NAMED, SCENARIOS, is_system_file
from validation.workbench.project.folder import Project, checked_name, file_within, place_within

ENDINGS = (".toml", ".xml")
MOST_UPLOAD_BYTES = 16 << 20
MOST_CLUSTERS = 12  # in the form; a file may have more
SHAPES = ("mesh", "star")


@dataclass(frozen=True)
class Entry:
    """One platform of the list."""

    name: str  # a scenario's name, or a file's name with its ending
    kind: str
    is_file: bool
    size_bytes: int | None = None


def listed(project: Project) -> list[Entry]:
    """Return the platforms that suites of this project may name: its files, then the scenarios."""
    kinds = {".toml": "grid or system (TOML)", ".xml": "SimGrid platform (XML)"}
    files = []
    for path in sorted(project.platforms.iterdir()):
        with suppress(UserError, OSError):  # another file, or one that was removed in the meantime
            file_within(project.platforms, path.name, ENDINGS)
            files.append(Entry(path.name, kinds[path.suffix], True, path.stat().st_size))
    papers = {name: "grid of the HCF paper" for name in SCENARIOS}
    return files + [Entry(name, papers.get(name, "built-in platform"), False) for name in NAMED]


def located(project: Project, name: str) -> str:
    """Return how the commands name a platform: a scenario's name, or the path of a file.

    Raises:
        UserError: There is no such platform.
    """
    if name in NAMED:
        return name
    return str(file_within(project.platforms, name, ENDINGS))


def is_system(project: Project, name: str) -> bool:
    """Return whether a platform is a file of a system of levels."""
    if name in NAMED or not name.endswith(".toml"):
        return False
    return is_system_file(file_within(project.platforms, name, ENDINGS))


def keep_upload(project: Project, file_name: str, content: bytes) -> Path:
    """Write an uploaded platform file beside its final place, for the check that comes next, and return its path.

    Raises:
        UserError: The file is too large or of another kind; its name is not plain or is taken.
    """
    if Path(file_name).suffix.lower() != ".xml":
        raise UserError(f"upload {file_name!r}", "not an XML file", "Choose a SimGrid platform, .xml")
    if len(content) > MOST_UPLOAD_BYTES:
        raise UserError(f"upload {file_name!r}", f"larger than {MOST_UPLOAD_BYTES >> 20} MB", "Copy it into the folder")
    name = free_name(project, Path(file_name.replace("\\", "/")).stem, ".xml")
    path = project.platforms / f".{name}-{secrets.token_hex(4)}.xml"  # beside its profiles, and in no list
    write_whole(path, content)
    return path


def accept_upload(project: Project, path: Path) -> str:
    """Give a checked upload its name among the platforms of the project, and return the name."""
    name = free_name(project, path.stem[1:].rpartition("-")[0], path.suffix) + path.suffix
    path.rename(project.platforms / name)
    return name


def free_name(project: Project, name: str, ending: str) -> str:
    """Return a checked name that no platform of the project has.

    Raises:
        UserError: The name is not plain, or is taken.
    """
    name = checked_name(name, "name of the platform")
    if place_within(project.platforms, f"{name}{ending}").exists():
        raise UserError(f"platform {name}{ending}", "the project has one of this name", "Choose another name")
    return name


def grid_text(values: Mapping[str, str]) -> str:
    """Return the scenario file of a grid that a form describes.

    Args:
        values: The form: ``network``, ``shape``, ``wan_bandwidth``, ``wan_latency``, ``clusters``, and for each cluster
            ``nodes_1``, ``speed_1``, ``cores_1`` and so on.

    Raises:
        UserError: A value is missing or no number, or a choice is not known.
    """
    # Imported here for a quick start: commands that only list platforms do not need it.
    import tomlkit

    document = tomlkit.document()
    document.add(tomlkit.comment("A grid made with the workbench; docs/platforms/own-platform.md explains the keys."))
    document.add("network", _choice(values, "network", network_names()))
    clusters = tomlkit.aot()
    for number in range(1, cluster_count(values) + 1):
        cluster = tomlkit.table()
        cluster.add("nodes", int(_number(values, f"nodes_{number}", f"cluster {number}, nodes", whole=True)))
        cluster.add("speed_gflops", _number(values, f"speed_{number}", f"cluster {number}, speed"))
        cores = int(_number(values, f"cores_{number}", f"cluster {number}, cores", whole=True))
        if cores != 1:
            cluster.add("cores", cores)
        clusters.append(cluster)
    document.add("clusters", clusters)
    wan = tomlkit.table()
    wan.add("shape", _choice(values, "shape", SHAPES))
    for key, name in (("bandwidth_gbit_s", "wan_bandwidth"), ("latency_us", "wan_latency")):
        if values.get(name, "").strip():
            wan.add(key, _number(values, name, key.partition("_")[0]))
    document.add("wan", wan)
    return tomlkit.dumps(document)


def cluster_count(values: Mapping[str, str]) -> int:
    """Return the number of clusters in the form, between 1 and MOST_CLUSTERS."""
    text = values.get("clusters", "2")
    return max(1, min(MOST_CLUSTERS, int(text))) if text.isascii() and text.isdecimal() else 2


def keep_grid(project: Project, name: str, text: str) -> str:
    """Write the scenario file of a grid and return its name."""
    name = free_name(project, name, ".toml")
    tomllib.loads(text)  # a slip here would be a bug
    write_whole(project.platforms / f"{name}.toml", text.encode())
    return f"{name}.toml"


def _choice(values: Mapping[str, str], key: str, known: Sequence[str]) -> str:
    if values.get(key) not in known:
        raise UserError(key, f"{values.get(key, '')!r} is not known", f"Choose one of {', '.join(known)}")
    return values[key]


def _number(values: Mapping[str, str], key: str, what: str, *, whole: bool = False) -> int | float:
    text = values.get(key, "").strip()
    try:
        number = int(text) if whole or text.isdecimal() else float(text)
    except ValueError:
        problem = f"{text!r} is not a {'whole number' if whole else 'number'}" if text else "no number"
        raise UserError(what, problem, "Give a positive one") from None
    if not 0 < number < float("inf"):
        raise UserError(what, f"{text} is not positive", "Give a positive one")
    return number
