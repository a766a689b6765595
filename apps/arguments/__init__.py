"""Options that commands share: kernels and programs, settings of runs, the runner, exit statuses.

Public faces: ``programs.add_problem_arguments``, ``programs.own_problem_from_arguments``,
``settings.settings_from_arguments``, ``runner.runner_from_arguments``, ``exit_status.exit_status``.
"""
