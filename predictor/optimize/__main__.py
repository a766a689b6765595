import sys

from predictor.optimize.cli import main

sys.exit(main())
