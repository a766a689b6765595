"""One HTML file that says what was run, how wrong each prediction is, what it cost, and how to repeat it."""
