# A Spack package of a checkout, with Spack's own SimGrid.  In a Spack repository that has it as packages/gridval:
#   spack dev-build gridval@0.1.0
# Spack itself has not built it yet.  The packages, versions and variants that it asks for are in Spack's repository of
# July 2026; tests/packaging/test_recipes.py compares it with pyproject.toml.

# ruff: noqa: F403, F405
from spack.package import *
from spack_repo.builtin.build_systems.python import PythonPackage


class Gridval(PythonPackage):
    """Predicts run times of MPI programs on grids from cheap probes, and checks the predictions against SimGrid."""

    license("LGPL-2.1-only")
    version("0.1.0")

    depends_on("python@3.11:", type=("build", "run"))
    depends_on("py-setuptools@77:", type="build")
    depends_on("simgrid@3.32:4.1+smpi", type=("build", "run"))
    depends_on("py-numpy@1.26:", type=("build", "run"))
    depends_on("py-pandas@2.1:", type=("build", "run"))
    depends_on("py-lxml@4.9:", type=("build", "run"))
    depends_on("py-matplotlib@3.8:", type=("build", "run"))
    depends_on("py-rich@13.7:", type=("build", "run"))
    depends_on("py-scipy@1.15:", type=("build", "run"))
    depends_on("py-jinja2@3.1:", type=("build", "run"))
    depends_on("py-platformdirs@4.3:", type=("build", "run"))
    depends_on("py-argcomplete@3:", type=("build", "run"))
