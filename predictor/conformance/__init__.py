"""Check what every predictor has to keep to: same answers, honest costs, refusals in one line, no sight of the truth.

Public faces: ``judge.judge``, ``checks.CHECKS``, ``judge.EXCUSES``, ``judge.text_lines``.
"""
