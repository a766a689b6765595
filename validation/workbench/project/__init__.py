"""The project folder of a workbench: its platform files and its suites, which are plain files.

Public faces: ``folder.Project``, ``platform_files.listed``, ``suite_files.SuiteForm``.
"""
