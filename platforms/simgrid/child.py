"""Child processes: they end with the process that started them, and get an environment that does not steer SimGrid."""

from __future__ import annotations

import os
import shutil


def die_with_parent() -> list[str]:
    """Return a command prefix that makes the command end when its parent is killed; empty if setpriv is missing."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "KILL"] if setpriv else []


# The variables that the shell scripts smpirun, smpicc, smpicxx, smpiff and smpif90 of SimGrid 3.32 and 4.1 read, or set
# for themselves, and those that SimGrid's library reads.  Some of them, such as PROC_ARGS and TRACEOPTIONS, the scripts
# take over from the environment without intending to.
SCRIPT_VARIABLES = frozenset(
    """
    SMPI_PRIVATIZATION SMPI_PRETEND_CC SMPI_NO_UNDEFINED_CHECK SMPI_GLOBAL_SIZE SMPITMPDIR
    SIMGRID_MC_SOCKET_FD SIMGRID_MC_SYSTEM_STATISTICS SIMGRID_PREFIX
    PROC_ARGS APP_TRACES EXEC WRAPPER HOSTFILE PLATFORM PLATFORMTMP UNROLLEDHOSTFILE UNROLLEDHOSTFILETMP NUMPROCS
    DEPLOYOPTS SIMOPTS PRIVATIZE QUIET KEEP OPT TRACEOPTIONS TRACE_ACTIVE TRACE_TI_ACTIVE TRACE_FILENAME TRACE_COMMENT
    TRACE_COMMENT_FILE TRACE_GROUPED TRACE_RESOURCE SIMGRID_VERSION SIMGRID_GITHASH
    DEFAULT_LOOPBACK_BANDWIDTH DEFAULT_LOOPBACK_LATENCY DEFAULT_NETWORK_BANDWIDTH DEFAULT_NETWORK_LATENCY DEFAULT_SPEED
    LOOPBACK_BANDWIDTH LOOPBACK_LATENCY NETWORK_BANDWIDTH NETWORK_LATENCY SPEED
    trapped_signals sig s i j pid status
    CC CXX REAL_FORTRAN_COMPILER SAVEIFS LISTSEP CFLAGS CXXFLAGS FFLAGS LINKARGS CMAKE_LINKARGS INCLUDEARGS CMDARGS
    CMDLINE LINKER_UNDEFINED_ERROR ARG SRCFILE TMPFILE TMPFILES ORIGFILE FILENAME BASENAME TRACE_CALL_LOCATION
    NEEDS_OUTPUT VERBOSE show main mymktemp_seq local_tmp local_list local_content local_newcontent
    """.split()
)


def clean_environment() -> dict[str, str]:
    """Return the environment of this process without the variables that steer SimGrid's scripts."""
    return {name: value for name, value in os.environ.items() if name not in SCRIPT_VARIABLES}
