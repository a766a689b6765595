"""What commands have in common: the name of all, and the words that ask for help."""

NAME = "gridval"
HELP = ("-h", "--help", "--help-all")
