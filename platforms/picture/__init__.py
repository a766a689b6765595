"""Draw a picture of any platform: its parts, the links between them, their arrangement and their appearance.

Public faces: ``platform_figure``, ``layout.place``, ``link_graph.link_graph``, ``parts.parts_of``.
"""

from platforms.picture.figure import platform_figure

__all__ = ["platform_figure"]
