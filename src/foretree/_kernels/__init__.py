"""Numba kernels on bit-packed rows; each has a slow NumPy twin in the tests."""
