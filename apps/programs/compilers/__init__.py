"""Builds of real code bases for SimGrid by their own Makefiles, CMake and configure scripts."""
