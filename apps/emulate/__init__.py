"""Run commands on a small grid that this machine emulates: its network, and the speeds of its nodes.

Public faces: ``links.emulated_links``, ``settings.Settings``, ``running.run_on_grid``, ``validity.gates``,
``machine_description.machine_text``.
"""
