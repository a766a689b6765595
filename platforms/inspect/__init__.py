"""Look at a platform: ``python -m platforms.inspect FILE.xml --picture FILE.png``."""
