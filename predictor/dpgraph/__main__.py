import sys

from predictor.dpgraph.cli import main

sys.exit(main())
