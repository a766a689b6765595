"""A Dask scheduler accepts only clients with a certificate of its authority; without one there is a caution."""

import shutil
import subprocess
from types import SimpleNamespace

import pytest

from apps.programs.problem import problem
from apps.runs.dask_cluster import Cluster
from apps.runs.scheduler import SchedulerOptions, open_to_strangers, scheduler_from_request
from apps.runs.simulate import simulate
from apps.spec.run_spec import RunSpec
from apps.spec.target import Target
from platforms.errors import UserError
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise

CURVE = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2")


def openssl(*words):
    subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True)


def authority(folder):
    """Make a folder with an authority, and a certificate that it has signed: the names of the three files."""
    folder.mkdir()
    ca, ca_key, cert, key, asked = (folder / name for name in ("ca.pem", "ca.key", "cert.pem", "key.pem", "asked.csr"))
    openssl("req", "-x509", *CURVE, "-keyout", ca_key, "-out", ca, "-subj", "/CN=authority")
    openssl("req", "-new", *CURVE[:-2], "-keyout", key, "-out", asked, "-subj", "/CN=gridval")
    openssl("x509", "-req", "-in", asked, "-CA", ca, "-CAkey", ca_key, "-CAcreateserial", "-days", 2, "-out", cert)
    return str(ca), str(cert), str(key)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl here, which makes the certificates: apt-get install openssl")
    folder = tmp_path_factory.mktemp("tls")
    return SimpleNamespace(files=authority(folder / "ours"), strangers=authority(folder / "strangers"))


def options(scheduler=None, tls=None):
    return scheduler_from_request(SchedulerOptions(scheduler=scheduler, tls=tls))


@pytest.mark.slow
def test_only_who_has_a_certificate_of_the_authority_uses_the_workers(made):
    distributed = pytest.importorskip("distributed")
    ca, cert, key = made.files
    security = distributed.security.Security(
        tls_ca_file=ca, tls_client_cert=cert, tls_client_key=key, tls_worker_cert=cert, tls_worker_key=key,
        tls_scheduler_cert=cert, tls_scheduler_key=key, require_encryption=True,
    )  # fmt: skip
    platform = materialise(named_grid("grid4x2"))
    spec = RunSpec(Target(problem("ep", "S"), platform, block(platform, 4)))
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, dashboard_address=":0", security=security, protocol="tls://"
    ) as cluster:
        address = cluster.scheduler_address
        with Cluster(*options(address, ",".join(made.files))) as workers:
            assert workers.simulate(spec).time_s == simulate(spec).time_s
        for files in (made.strangers, (ca, *made.strangers[1:])):
            with pytest.raises(UserError, match=f"--scheduler {address}: .*(certificate|alert|closed)"):
                Cluster(*options(address, ",".join(files)))
        with pytest.raises(UserError, match=r"it accepts only clients with a certificate\. Give --tls CA,CERT,KEY"):
            Cluster(address)


def test_files_that_are_no_certificates_are_one_line(made, tmp_path):
    pytest.importorskip("distributed")
    address, (ca, cert, key) = "tls://127.0.0.1:9", made.files
    text = tmp_path / "text.pem"
    text.write_text("none")
    for files in ((ca, cert, str(text)), (str(text), cert, key), (ca, cert, made.strangers[2]), (ca, cert, "/none")):
        with pytest.raises(UserError, match=r"^--tls .*: no certificates: .*\. Give the files CA,CERT,KEY in PEM"):
            Cluster(*options(address, ",".join(files)))


@pytest.mark.parametrize(
    ("scheduler", "tls", "said"),
    [
        (None, "a,b,c", "Give --scheduler tls://HOST:PORT"),
        ("tcp://h:1", "a,b,c", "Give --scheduler tls://HOST:PORT"),
        ("tls://h:1", "a,b", "not three files"),
        ("tls://h:1", "a,,c", "not three files"),
    ],
)
def test_certificates_need_a_scheduler_that_takes_them(scheduler, tls, said):
    with pytest.raises(UserError, match=said):
        options(scheduler, tls)


def test_a_scheduler_without_certificates_has_a_caution():
    assert "anyone who reaches its port can run any program" in open_to_strangers(options("tcp://127.0.0.1:8786"))[0]
    assert open_to_strangers(options("tls://h:1", "a,b,c")) == open_to_strangers(None) == ()
