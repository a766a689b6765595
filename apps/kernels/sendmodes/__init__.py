"""One message in one of MPI's send modes: its C sources."""
