import sys

from validation.frequency.cli import main

sys.exit(main())
