import sys

from platforms.system.cli import main

sys.exit(main())
