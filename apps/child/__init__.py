"""Start one child process, keep it within its limits, and explain its failure.

Public faces: ``process.run_bounded``, ``run_folder.smpirun_command``, ``run_folder.working_folder``,
``verdict.check_success``, ``failure.failure``, ``failure.failures_explained``.
"""
