"""A picture of any platform: its parts and the links between them, where they go, and how they are drawn."""

from platforms.picture.figure import platform_figure

__all__ = ["platform_figure"]
