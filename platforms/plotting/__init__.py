"""The chart room: lines, dots, bands, fronts, bars, Gantt charts, surfaces and boxes, and the files of all pictures.

Callers say what is drawn; this room alone knows Matplotlib.  Public faces: ``charts`` (figures, legends, files),
``styles``, ``lines.lines_figure``, ``bars.draw_bar``, ``gantt.gantt_figure``, ``surface.draw_surfaces``,
``front.draw_front``, ``boxes.sheet``, ``words.value_text``.
"""
