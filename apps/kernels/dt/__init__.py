"""DT, data traffic: its C source and the reference of its verification."""
