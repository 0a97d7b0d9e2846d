"""Speeds as ratios to reference implementations: ``make bench``.

Absolute times say more about the machine than about the code, so each case is ours
against theirs, taken in turns within one run. Times are of the processor, on one
thread, so that other work on the machine counts less.
"""
