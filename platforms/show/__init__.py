"""Look at a platform: ``gridval platform show FILE.xml --picture FILE.png``.

Public faces: ``inspection.inspect``, ``as_text.as_text``, ``as_json.as_json``, ``cli.main``.
"""
