"""Parts of the pages on real clusters, which docs/write_clusters.py puts together."""
