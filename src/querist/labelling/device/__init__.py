"""`label` on a device of torch: the members of `auto` fitted to all labels and to every fold at once.

What these files compute is what members.py, kernel_ridge.py and refine.py say, but for rounding. All but
small tables of numbers stays on the device. Nothing is imported here, for torch is an extra.
"""
