"""How hard hypothesis tries: the same attempts at every run; many more where there is time."""

from hypothesis import HealthCheck, settings

QUICK = settings(
    max_examples=12, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck)
)
DEEP = settings(QUICK, max_examples=1000)
