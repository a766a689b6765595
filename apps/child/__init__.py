"""Start one child process, keep it within its limits, and explain its failure.

Public faces: ``process.run_bounded``, ``smpirun.smpirun_command``, ``run_folder.working_folder``,
``verdict.check_success``, ``failure.failure``, ``outages.failures_explained``.
"""
