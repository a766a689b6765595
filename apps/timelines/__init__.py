"""Write a run's timeline for the tools that draw it: Paje (ViTE), Chrome's trace format (Perfetto), OTF2.

Public faces: ``files.timeline_formats``, ``files.check_timeline``, ``files.write_timeline``,
``files.write_activities``, ``activities.Activities``, ``timeline``.
"""
