"""DT, data traffic: its C source, its declared traffic, and the reference of its verification."""
