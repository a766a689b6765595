"""The project as a Python module: ``import gridval``.

Public faces: ``UserError``.
"""

from platforms.errors import UserError

__all__ = ["UserError"]
