"""Run times from the structure of a program: what every rank computes and sends, and what a network does to that."""
