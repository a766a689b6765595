"""Messages of many kinds, one kind per step: the same as steps.c.  Every step ends an iteration."""


def ring(rank, size_bytes):
    arriving = rank.irecv((rank.rank - 1) % rank.size)
    rank.waitall([arriving, rank.isend((rank.rank + 1) % rank.size, size_bytes)])


def all_with_all(rank, size_bytes):
    others = [(rank.rank + step) % rank.size for step in range(1, rank.size)]
    requests = [rank.irecv(other, tag=1) for other in others]
    rank.waitall(requests + [rank.isend(other, size_bytes, tag=1) for other in others])


def to_oneself(rank, size_bytes):
    rank.compute(1e6 * (rank.rank + 1))
    request = rank.irecv(rank.rank, tag=2)
    rank.send(rank.rank, size_bytes, tag=2)
    rank.wait(request)


def pairs(rank):
    other = rank.rank ^ 1
    if other >= rank.size:
        return
    if rank.rank < other:
        rank.send(other, 100, tag=3, payload="first")
        rank.send(other, 4000, tag=4, payload="second")
        rank.send(other, 150000, tag=3, payload="third")
    else:
        rank.compute(5e6)
        assert [rank.recv(other, tag=tag) for tag in (4, 3, 3)] == ["second", "first", "third"]


STEPS = (
    lambda rank: rank.bcast(1000),
    lambda rank: rank.bcast(100000, root=5),
    lambda rank: rank.reduce(8, root=3),
    lambda rank: rank.reduce(200000),
    lambda rank: rank.allreduce(80),
    lambda rank: rank.allreduce(72000),
    lambda rank: rank.barrier(),
    lambda rank: ring(rank, 65535),
    lambda rank: ring(rank, 65536),
    lambda rank: to_oneself(rank, 2000),
    lambda rank: all_with_all(rank, 5000),
    pairs,
)


def main(rank):
    rank.start()
    for step in STEPS[: int(rank.arguments[0])]:
        step(rank)
        rank.iteration()
    rank.stop()
