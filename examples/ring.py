r"""A token of 100 kB passes from rank to rank, and every rank computes when it has the token.

At the end all ranks agree on how often the token was passed on.

gridval program run --program examples/ring.py --program-args '{iterations}' --program-iterations 1000 \
    --ranks 8 --scenario grid4x2
"""

from gridval.apps.s4u.ranks import Rank

TOKEN_BYTES, FLOPS = 100_000, 2e6


def main(rank: Rank) -> None:
    """Run the program on one rank."""
    rounds = int(rank.arguments[0])
    before, after = (rank.rank - 1) % rank.size, (rank.rank + 1) % rank.size
    touched = 0
    rank.start()
    for _ in range(rounds):
        token = rank.irecv(before)
        if rank.rank > 0:
            touched = rank.wait(token)
        rank.compute(FLOPS)
        rank.send(after, TOKEN_BYTES, payload=touched + 1)
        if rank.rank == 0:
            touched = rank.wait(token)
        rank.iteration()
    most = rank.allreduce(8, value=touched, op=max)
    rank.stop()
    assert most == rounds * rank.size, f"touched {most} times"
