"""Cost and emissions of predicted runs: the bill of a prediction, and the command ``gridval predict`` with bills.

Public faces: ``bills.predicted_bill``, ``bills.host_energies``, ``command.COMMAND``.
"""
