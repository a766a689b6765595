"""DP*Graph: programs as graphs of computations and messages, after K.-C. Li."""
