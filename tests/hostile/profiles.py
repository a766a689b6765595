"""Settings of hypothesis: every run tries the same examples; the settings of slow tests have many more."""

from hypothesis import HealthCheck, settings

QUICK = settings(
    max_examples=12, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck)
)
DEEP = settings(QUICK, max_examples=1000)
