"""How hypothesis argues: with the same examples on every run, or with ever new ones where asked."""

from hypothesis import settings

# The first call of a kernel compiles it, so that no example has a deadline.
settings.register_profile("fixed", deadline=None, derandomize=True)
settings.register_profile("wandering", deadline=None, print_blob=True)
settings.load_profile("fixed")
