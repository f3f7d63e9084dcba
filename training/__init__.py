"""Fit the calibrations that ``models`` ships: claim and passage scores, and the gate before grading."""
