"""Times of an application whose equal processes are evaluated together."""
