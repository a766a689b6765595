"""The hardware database: published peaks, the paper's figures, and users' own files."""

import re
from pathlib import Path

import pytest

from platforms.errors import PlatformError, UserError
from platforms.system.convert import system_named
from platforms.system.database import read_hardware

MERPSYS = Path(__file__).parents[3] / "examples" / "systems" / "merpsys.toml"

HARDWARE = read_hardware()


@pytest.mark.parametrize(
    ("name", "single_tflops", "double_tflops"),  # as published by NVIDIA, to the published digits
    [
        ("tesla-k20", 3.52, 1.17),
        ("tesla-k40", 4.29, 1.43),
        ("tesla-p100", 10.6, 5.3),
        ("tesla-v100", 15.7, 7.8),
        ("a100", 19.5, 9.7),
    ],
)
def test_gpus_have_their_published_peaks(name, single_tflops, double_tflops):
    gpu = HARDWARE.gpus[name]
    assert gpu.single_flops == pytest.approx(single_tflops * 1e12, rel=5e-3)
    assert gpu.double_flops == pytest.approx(double_tflops * 1e12, rel=6e-3)


@pytest.mark.parametrize(
    ("name", "gflops"),  # by hand: cores x GHz x flops per cycle, double precision
    [
        ("xeon-e5-1620", 4 * 3.6 * 8),
        ("core-i7-2600k", 4 * 3.4 * 8),
        ("xeon-l5640", 6 * 2.27 * 4),
        ("xeon-e5345", 4 * 2.33 * 4),
        ("xeon-dp-2800", 2 * 2.8 * 2),
        ("epyc-7742", 64 * 2.25 * 16),
    ],
)
def test_cpus_have_cores_times_clock_times_flops_per_cycle(name, gflops):
    assert HARDWARE.cpus[name].double_flops == pytest.approx(gflops * 1e9)


def test_single_precision_is_never_slower_and_idle_is_below_full_load():
    for processor in [*HARDWARE.cpus.values(), *HARDWARE.gpus.values()]:
        assert processor.single_flops >= processor.double_flops
        assert 0 < processor.idle_w < processor.full_w
        assert processor.source and processor.title
        assert "idle_w" in processor.assumed  # nobody publishes it
        assert processor.price_usd > 0  # otherwise the policy "cheapest" would refuse it


def test_prices_are_of_processors_only(tmp_path):
    for kind, values in (("networks", "bandwidth_gbit_s = 1\nlatency_us = 1"), ("disks", "read_mbyte_s = 1")):
        path = tmp_path / f"{kind}.toml"
        path.write_text(f'[{kind}.x]\nsource = "me"\nprice_usd = 5\n{values}\n')
        with pytest.raises(PlatformError, match="unknown key 'price_usd'"):
            read_hardware([path])


def test_line_codes_of_infiniband_and_pcie():
    # 8b/10b: SDR, DDR, QDR of 4 lanes, PCIe 2; 64b/66b: FDR, EDR; 128b/130b: PCIe 3 and 4.
    gbit_s = {
        "infiniband-sdr": 4 * 2.5 * 8 / 10,
        "infiniband-ddr": 4 * 5 * 8 / 10,
        "infiniband-qdr": 4 * 10 * 8 / 10,
        "infiniband-fdr": 4 * 14.0625 * 64 / 66,
        "infiniband-edr": 4 * 25.78125 * 64 / 66,
        "pcie2-x16": 16 * 5 * 8 / 10,
        "pcie3-x16": 16 * 8 * 128 / 130,
        "pcie4-x16": 16 * 16 * 128 / 130,
    }
    for name, rate in gbit_s.items():
        assert HARDWARE.networks[name].bandwidth_Bps == pytest.approx(rate * 1e9 / 8, rel=1e-12)


def test_network_disks_are_those_of_the_papers_table_3():
    # Proficz and Czarnul, Table 3: T in us, K in us/B, of rdisk and wdisk.
    table = {
        "gluster-galera+": (5200, 0.00253, 1200, 0.00474),
        "lustre-galera": (1390, 0.0324, 270, 0.0066),
        "nfs-kask": (7600, 0.0290, 1100, 0.0093),
    }
    for name, (read_us, read_us_per_byte, write_us, write_us_per_byte) in table.items():
        disk = HARDWARE.disks[name]
        assert (disk.read_latency_s, disk.write_latency_s) == (
            pytest.approx(read_us * 1e-6),
            pytest.approx(write_us * 1e-6),
        )
        assert 1 / disk.read_Bps == pytest.approx(read_us_per_byte * 1e-6, rel=1e-12)
        assert 1 / disk.write_Bps == pytest.approx(write_us_per_byte * 1e-6, rel=1e-12)


OWN = """
[cpus.toy]
cores = 2
clock_ghz = 1.5
double_per_cycle = 2
single_per_cycle = 4
idle_w = 3
full_w = 9
price_usd = 50
source = "made up"
assumed = ["price_usd"]
[networks.string]
bandwidth_gbit_s = 0.001
latency_us = 7
source = "two tins"
"""


def test_files_of_ones_own_add_to_the_database(tmp_path):
    (tmp_path / "own.toml").write_text(OWN)
    more = read_hardware([tmp_path / "own.toml"])
    toy = more.processor("cpu", "toy", "here")
    assert (toy.double_flops, toy.threads, toy.price_usd, toy.assumed) == (6e9, 2, 50, ("price_usd",))
    assert more.network("string", "here").latency_s == 7e-6
    assert "toy" not in read_hardware().cpus
    assert more.cpus.keys() > HARDWARE.cpus.keys()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("cores = 2", "core = 2", "cpus toy: unknown key 'core'"),
        ("cores = 2", "cores = 0", "cpus toy: cores = 0"),
        ("cores = 2", "cores = 2\nthreads = 1", "1 threads on 2 cores"),
        ("clock_ghz = 1.5", "clock_ghz = -1", "clock_ghz = -1"),
        ("full_w = 9", "full_w = 2", "3.0 W idle and 2.0 W at full load"),
        ('source = "made up"', "", "'source' is missing"),
        ('assumed = ["price_usd"]', 'assumed = ["prize"]', "'prize' is not given"),
        ("latency_us = 7", 'latency_us = 7\noptions_of = "gig"', "no network 'gig'"),
        ("[cpus.toy]", "[cups.toy]", "unknown key 'cups'. Did you mean cpus? Known here: cpus, gpus, networks, disks"),
        ("[networks.string]", "[networks]", "networks bandwidth_gbit_s: not a table"),
    ],
)
def test_a_hardware_file_with_a_fault_is_refused_naming_it(tmp_path, old, new, said):
    assert old in OWN
    (tmp_path / "own.toml").write_text(OWN.replace(old, new, 1))
    with pytest.raises(PlatformError) as error:
        read_hardware([tmp_path / "own.toml"])
    assert said in str(error.value) and "own.toml" in str(error.value)
    assert "\n" not in str(error.value)


def test_an_unknown_name_says_what_is_near():
    with pytest.raises(
        PlatformError, match=r"lab, node 1: no cpu 'xeon-l5460' in the hardware database. Near: xeon-l5640"
    ):
        HARDWARE.processor("cpu", "xeon-l5460", "lab, node 1")


def test_a_price_below_nothing_is_refused(tmp_path):
    path = tmp_path / "hardware.toml"
    path.write_text(
        '[cpus.test]\ntitle = "t"\nsource = "s"\ncores = 2\nthreads = 2\nclock_ghz = 1\ndouble_per_cycle = 1\n'
        "single_per_cycle = 1\nidle_w = 1\nfull_w = 2\nprice_usd = -1\n"
    )
    with pytest.raises(UserError, match=re.escape("cpus test: price_usd = -1. Give 0 or more")):
        system_named(str(MERPSYS), hardware=[path])
