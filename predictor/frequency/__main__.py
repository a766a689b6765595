import sys

from predictor.frequency.cli import main

sys.exit(main())
