"""The figures of a report, one idea each."""
