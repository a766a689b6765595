import sys

from apps.store.cli import main

sys.exit(main())
