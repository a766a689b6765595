"""Kernels and programs, the engines that simulate them, and the records that they return."""
