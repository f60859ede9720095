"""The operator's back end on a device that torch knows: a GPU, or the CPU by the same code.

All but choice.py needs torch, so nothing is imported here.
"""
