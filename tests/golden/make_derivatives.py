"""derivatives_<file>.json and .npz for each file of tests/derivatives, as derivatives.py says: the first part of its docstring
is how to run this.
"""
import derivatives
import derivatives_numpy  # noqa: F401
import derivatives_lax  # noqa: F401
import derivatives_scipy  # noqa: F401

derivatives.begin('')
