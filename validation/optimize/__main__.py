import sys

from validation.optimize.cli import main

sys.exit(main())
