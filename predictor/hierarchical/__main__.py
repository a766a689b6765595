import sys

from predictor.hierarchical.cli import main

sys.exit(main())
