"""Measure an emulated grid from inside, with sockets of TCP: peers.py latency | flow | flows.  Prints JSON."""

import json
import os
import shlex
import socket
import subprocess
import sys
import time

PORT = 5000
ENTER = shlex.split(os.environ.get("GRIDVAL_ENTER", ""))
ROUNDS, FLOW_BYTES = 40, 6_000_000


def start(host, *words):
    return subprocess.Popen([*ENTER, host, sys.executable, __file__, *words], stdout=subprocess.PIPE, text=True)


def connected(host):
    for _ in range(200):
        try:
            made = socket.create_connection((host, PORT))
        except ConnectionRefusedError:
            time.sleep(0.02)
        else:
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return made
    raise SystemExit(f"{host} does not listen")


def serve(answers):
    """Take one connection; answer every byte, or only the end of the flow."""
    with socket.create_server(("", PORT)) as listening:
        peer, _ = listening.accept()
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        started, arrived = None, 0
        while data := peer.recv(1 << 20):
            started = started or time.monotonic()
            arrived += len(data)
            if answers:
                peer.sendall(data)
        print(json.dumps({"bytes": arrived, "s": time.monotonic() - (started or 0)}))


def ask(host):
    """Print the medians of one-way times."""
    with connected(host) as peer:
        times = []
        for _ in range(ROUNDS):
            began = time.monotonic()
            peer.sendall(b"x")
            peer.recv(1)
            times.append((time.monotonic() - began) / 2)
    print(json.dumps({"s": sorted(times)[ROUNDS // 2]}))


def flow(host):
    with connected(host) as peer:
        peer.sendall(bytes(FLOW_BYTES))


def measured(pairs, sender, answers):
    servers = [start(there, "serve", answers) for _, there in pairs]
    senders = [start(here, sender, there) for here, there in pairs]
    said = senders if sender == "ask" else servers
    results = [json.loads(one.communicate()[0]) for one in said]
    for one in (*servers, *senders):
        one.wait()
    return results


if __name__ == "__main__":
    word, *rest = sys.argv[1:]
    if word == "serve":
        serve(rest == ["yes"])
    elif word == "ask":
        ask(*rest)
    elif word == "flow":
        flow(*rest)
    else:  # latency or rate, then pairs of hosts
        pairs = list(zip(rest[::2], rest[1::2], strict=True))
        latency = word == "latency"
        print(json.dumps(measured(pairs, "ask" if latency else "flow", "yes" if latency else "no")))
