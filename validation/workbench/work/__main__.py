"""``python -m validation.workbench.work``: a worker process of the workbench, which the server starts."""

import sys

from validation.workbench.work.child import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
