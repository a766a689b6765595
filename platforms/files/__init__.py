"""Keep and exchange files: the cache folder, locks, scratch folders, checked readers and whole-or-not-at-all writers.

Public faces: ``caching.cache_folder``, ``scratch.try_lock``, ``scratch.scratch_folder``, ``scratch.interrupts_held``,
``reading.input_text``, ``writing.write_text``, ``checked_toml.read_checked``, ``commented_csv.commented_rows``,
``writing.cell``.
"""
