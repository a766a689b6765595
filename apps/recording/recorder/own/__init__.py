"""State of the process that each rank has for itself, and what a program asks for besides files: an add-on."""
