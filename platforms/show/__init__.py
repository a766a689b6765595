"""Look at a platform: ``gridval platform show FILE.xml --picture FILE.png``.

Public faces: ``inspection.inspect``, ``inspection.as_text``, ``inspection.as_json``, ``cli.main``.
"""
