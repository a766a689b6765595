"""Read measured point-to-point times: CSV files, and the output of OSU, IMB and NetPIPE."""
