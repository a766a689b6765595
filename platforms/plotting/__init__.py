"""Styles of lines, markers and numbers that all pictures share.

Public faces: ``styles.style_of``, ``styles.label_decades``, ``words.value_text``.
"""
