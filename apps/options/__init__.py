"""Options that commands share: kernels and programs, settings of runs, the runner, exit statuses.

Public faces: ``programs.ProblemOptions``, ``programs.own_problem_from_request``,
``settings.settings_from_request``, ``runner.runner_from_request``, ``exit_status.exit_status``.
"""
