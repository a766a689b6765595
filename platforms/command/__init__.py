"""Declare a command once: its request, from which options, Python arguments, TOML keys and forms are derived.

Public faces: ``request.Request``, ``request.option``, ``request.argument``, ``values.request_of``,
``values.words_of``, ``command.Command``, ``command.Answer``, ``request``, ``status.exit_status``,
``status.EXIT_STATUSES``, ``parser.any_case``.
"""
