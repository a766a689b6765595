"""Run commands on a small grid that this machine emulates: its network, and the speeds of its nodes.

Public faces: ``running.emulated_links``, ``settings.Settings``, ``running.run_on_grid``, ``report.gates``,
``cli.machine_text``.
"""
