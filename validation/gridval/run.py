"""Run ``python -m gridval.run``: the command ``gridval run``."""

import sys

from validation.run import main

if __name__ == "__main__":
    sys.exit(main(prog="python -m gridval.run"))
