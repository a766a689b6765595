"""Describe and check one run.

Public faces: ``run_spec.RunSpec``, ``target.Target``, ``settings.Settings``, ``engine_options.ENGINE_OPTIONS``,
``machine_speed.host_speed_flops``.
"""
