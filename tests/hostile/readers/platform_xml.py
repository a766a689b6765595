"""SimGrid platforms in XML: the check before SimGrid, and the power and bandwidth that properties give."""

import json
from pathlib import Path

from readers.common import file_of, seeds

from platforms.read.clusters import by_kind
from platforms.read.read import _host
from platforms.read.xml_check import check_platform_xml

SEEDS = seeds("tests/platforms/data/*.xml", "examples/platforms/campus.xml")
WORDS = (
    '<!ENTITY a "b">', "&a;", "<config>", '<prop id="tracing/filename" value="/x"/>', 'radical="0-99999999"',
    'core="0"', "<host", "<cluster", "<zone", '="', "/>", "<!--", "-->", "<![CDATA[", "]]>", "<?", "?>",
    'encoding="UTF-16"', 'wattage_per_state', 'memory_bandwidth', "1:2:3", "inf", "nan", "-1", "1e999",
    "availability_file",
)  # fmt: skip


def read(content: bytes) -> None:
    options = check_platform_xml(file_of(content, ".xml"))
    json.dumps(options)
    text = content.decode("utf-8", "replace")
    watts, memory = text.rpartition("\n")[2][:40], text[-20:]
    entry = {"name": text[:9], "speeds_flops": [1.0], "pstate": 0, "cores": 1, "watts": watts, "memory": memory}
    by_kind([("zone", [_host(entry, Path("x.xml"))])])
