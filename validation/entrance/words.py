"""The name of all commands, and the words that ask for help."""

NAME = "gridval"
HELP = ("-h", "--help", "--help-all")
