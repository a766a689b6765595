"""Complete the predictions of a model: their error range, their energy, their cautions.

Public faces: ``answers.fit``, ``answers.predict``, ``answers.answers_or_reasons``, ``energy.with_energy``,
``regime.with_error_range``, ``answers.with_changes``.
"""
