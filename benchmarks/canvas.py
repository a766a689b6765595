"""Times of the editor of systems in Chromium: a system of 1,500 groups is drawn and edited.

The first drawing is from the start of the page's loading to the first picture on the canvas.  An edit is from the
request to the frame after the one in which the canvas shows it; shown are the median and the largest of several.
"""

import argparse
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from selenium import webdriver

LANS, GROUPS = 30, 50  # of each LAN
# Sends an operation, and says how long it took until its change was drawn, ms.
TIMED = """
const done = arguments[1], begun = performance.now();
document.addEventListener("drawn", () => requestAnimationFrame(() => setTimeout(() => done(performance.now() - begun))),
                          {once: true});
if (arguments[0].choose) editor.choose(arguments[0].choose); else editor.send(arguments[0]);
"""
NODE = "wan.lan.3.node.4"
EDITS = {  # an operation, and one that takes it back
    "another number of nodes": ({"op": "set", "part": NODE, "set:count": "7"}, {"op": "undo"}),
    "another processor": ({"op": "set", "part": NODE, "set:cpu": "core-i7-2600k"}, {"op": "undo"}),
    "nodes added": ({"op": "add-node", "part": NODE}, {"op": "undo"}),
    "nodes copied": ({"op": "copy", "part": NODE}, {"op": "undo"}),
    "nodes deleted": ({"op": "delete", "part": NODE}, {"op": "undo"}),
    "a LAN added": ({"op": "add-lan", "part": "wan"}, {"op": "undo"}),
    "a LAN of 50 groups copied": ({"op": "copy", "part": "wan.lan.3"}, {"op": "undo"}),
    "another part chosen": ({"choose": "wan.lan.3.node.9"}, {"choose": NODE}),
}


def system() -> str:
    """Return a system of LANS times GROUPS groups of four nodes."""
    lines = ["[wan]", 'network = "wan-metro"']
    for lan in range(LANS):
        lines += ["", "[[wan.lan]]", f'name = "lan{lan}"', 'network = "gigabit-ethernet"']
        for group in range(GROUPS):
            lines += ["", "[[wan.lan.node]]", f'name = "n{lan}x{group}"', "count = 4", 'cpu = "xeon-e5-2670"']
    return "\n".join([*lines, ""])


def chromium() -> webdriver.Chrome:
    """Return a Chromium without a window."""
    options = webdriver.ChromeOptions()
    for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1400,900"):
        options.add_argument(word)
    return webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))


def drawn(driver: webdriver.Chrome, address: str) -> float:
    """Open an editor, and return the time until the canvas is drawn, s."""
    driver.get(address)
    while True:
        value = driver.execute_script("return document.documentElement.dataset.drawn")
        if value:
            return float(value) / 1000
        time.sleep(0.02)


def measure(driver: webdriver.Chrome, url: str, times: int) -> None:
    """Print the rows of the table."""
    page = f"{url}/systems/large.toml?part={NODE}"
    first_s = drawn(driver, page)
    again = [drawn(driver, page) for _ in range(3)]
    print(f"| system of 1,500 groups: first drawing | 2 s | {first_s:.2f} |")
    print(f"| the same again | 2 s | {min(again):.2f} to {max(again):.2f} |")
    print(f"| its page, kB | &ndash; | {len(driver.page_source) / 1000:.0f} |")
    driver.execute_async_script(TIMED, {"choose": NODE})
    for title, (operation, back) in EDITS.items():
        took = []
        for _ in range(times):
            time.sleep(1.0)  # its check is over
            took.append(driver.execute_async_script(TIMED, operation) / 1000)
            time.sleep(1.0)
            driver.execute_async_script(TIMED, back)
            driver.execute_async_script(TIMED, {"choose": NODE})
        print(f"| {title} | 0.1 s | {statistics.median(took):.3f} (largest {max(took):.3f}) |", flush=True)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=5, help="repetitions of each edit (default: 5)")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "project"
        (folder / "platforms").mkdir(parents=True)
        (folder / "platforms" / "large.toml").write_text(system())
        words = [sys.executable, "-m", "gridval", "workbench", "--port", "0", "--jobs", "1", str(folder)]
        server = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            link = re.search(r"http://\S+", server.stdout.readline())[0]
            time.sleep(2)  # its reader starts beside it
            with chromium() as driver:
                driver.get(link)
                print("| what | asked for | measured, s |")
                print("| --- | --- | ---: |")
                measure(driver, link.partition("/?")[0], args.times)
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()
