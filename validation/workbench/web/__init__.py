"""Common parts of a workbench's pages: templates, styles and scripts, answers, forms.

Public faces: ``answers.page``, ``answers.user_error_page``, ``answers.missing_page``, ``forms.posted``.
"""
