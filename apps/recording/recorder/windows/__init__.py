"""One-sided communication in recordings: an add-on."""
