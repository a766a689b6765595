"""Evaluate the time of an application, equal processes together or process by process."""
