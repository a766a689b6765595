"""Times the blocks a program is made of: computation and MPI calls (blockprobe.c), disks (diskprobe.cpp)."""
