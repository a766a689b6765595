"""Time limits of jobs as schedulers write them.

Slurm (manual page sbatch, ``--time``): minutes, M:S, H:M:S, D-H, D-H:M, D-H:M:S; seconds are rounded up to the next
minute.  PBS (manual page pbs_resources, ``walltime``): seconds, M:S, H:M:S.  LSF (manual page bsub, ``-W``): minutes or
H:M, then perhaps a slash and a host.
"""

from __future__ import annotations

import math
import re

SLURM, PBS, LSF = "slurm", "pbs", "lsf"
_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_SLURM = re.compile(r"(?:(\d{1,6})-)?(\d{1,9})(?::(\d{1,9}))?(?::(\d{1,9}))?", re.ASCII)
_CLOCK = re.compile(r"(?:(?:(\d{1,6}):)?(\d{1,6}):)?(\d{1,9})(?:\.\d{1,9})?", re.ASCII)
_LSF = re.compile(r"(?:(\d{1,6}):)?(\d{1,9})(?:/[^\s/]{1,200})?", re.ASCII)
UNLIMITED = math.inf


def time_limit_s(scheduler: str, text: str) -> float | None:
    """Return a time limit in s, ``UNLIMITED`` for none, or None where the text is no time of this scheduler.

    >>> [time_limit_s("slurm", text) for text in ("90", "1:30", "1:30:00", "1-2", "1-2:30", "1-2:30:15")]
    [5400, 90, 5400, 93600, 95400, 95415]
    >>> time_limit_s("pbs", "90"), time_limit_s("pbs", "1:30:00"), time_limit_s("lsf", "1:30"), time_limit_s("lsf", "x")
    (90, 5400, 5400, None)
    """
    if scheduler == SLURM:
        return _slurm_s(text)
    match = (_CLOCK if scheduler == PBS else _LSF).fullmatch(text)
    if match is None:
        return None
    numbers = [int(part or 0) for part in match.groups()]
    return numbers[0] * _HOUR + numbers[1] * _MINUTE + (numbers[2] if scheduler == PBS else 0)


def _slurm_s(text: str) -> float | None:
    if text.upper() in ("UNLIMITED", "INFINITE", "-1", "0"):
        return UNLIMITED
    match = _SLURM.fullmatch(text)
    if match is None:
        return None
    days, first, second, third = (None if part is None else int(part) for part in match.groups())
    assert first is not None
    if days is not None:
        return days * _DAY + first * _HOUR + (second or 0) * _MINUTE + (third or 0)
    if third is not None:
        return first * _HOUR + (second or 0) * _MINUTE + third
    return first * _MINUTE + (second or 0)


def rounded_up_s(time_s: float) -> int:
    """Return a time rounded up to whole minutes, at least one, in s: Slurm and LSF count minutes.

    >>> rounded_up_s(61), rounded_up_s(120), rounded_up_s(0.1)
    (120, 120, 60)
    """
    return max(math.ceil(time_s / _MINUTE), 1) * _MINUTE


def limit_text(scheduler: str, time_s: int) -> str:
    """Return a time limit as the scheduler reads it; of LSF in whole minutes.

    >>> limit_text("slurm", 95400), limit_text("slurm", 120), limit_text("pbs", 95400), limit_text("lsf", 5400)
    ('1-02:30:00', '00:02:00', '26:30:00', '1:30')
    """
    if scheduler == LSF:
        return f"{time_s // _HOUR}:{time_s // _MINUTE % 60:02d}"
    days, rest = divmod(time_s, _DAY) if scheduler == SLURM else (0, time_s)
    clock = f"{rest // _HOUR:02d}:{rest // _MINUTE % 60:02d}:{rest % 60:02d}"
    return f"{days}-{clock}" if days else clock
