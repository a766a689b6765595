"""The chart room: figures, panels, axes with units, legends, Pareto fronts, and their files.

Public faces: ``charts.new_figure``, ``charts.panels``, ``charts.finish``, ``charts.legend_below``,
``charts.write_figures``, ``axes.scale``, ``axes.space``, ``front.draw_front``, ``styles.style_of``,
``styles.label_decades``, ``words.value_text``.
"""
