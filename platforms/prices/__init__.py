"""Prices of node hours and emissions of electricity, by host, cluster or cloud instance.

Public faces: ``price`` (Price, Prices, read_prices), ``carbon`` (Profile of g/kWh over time, Site, Carbon, read_carbon,
the start with the least emissions), ``options`` (the options --price and --carbon, and the question that they ask),
``bill`` (cost and emissions of a run).
"""
