"""Timing of the blocks of a program: computation and MPI calls (blockprobe.c), and disks (diskprobe.cpp)."""
