import sys

from predictor.design.cli import main

sys.exit(main())
