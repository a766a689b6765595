"""Look at a platform: ``python -m platforms.inspect FILE.xml --picture FILE.png``.

Public faces: ``inspection.inspect``, ``as_text.as_text``, ``as_json.as_json``, ``cli.main``.
"""
