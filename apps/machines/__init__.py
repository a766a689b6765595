"""Real machines: their description, their platform, and the only module that starts programs on them.

Public faces: ``machine_file.read_machine``, ``machine_file.Machine``, ``machine_platform.machine_platform``,
``machine_platform.check_hosts``, ``launch.launch``, ``launch.planned_launch``, ``launch.alone_on``.
"""
