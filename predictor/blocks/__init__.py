"""Applications as blocks of computation and communication, with fitted formulas for time, power and success.

J. Proficz, P. Czarnul, "Performance and Power-Aware Modeling of MPI Applications for Cluster Computing", PPAM 2015,
LNCS 9574, 2016 (the model of the MERPSYS environment).

Public faces: ``predictor.BLOCKS``, ``application.Application``, ``evaluation.evaluate.evaluate``,
``published.formulas``, ``run_command.main``.
"""
