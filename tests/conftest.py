"""For all tests: none asserts a time, Hypothesis's included, so that a busy machine fails nothing."""

from hypothesis import HealthCheck, settings

settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")
