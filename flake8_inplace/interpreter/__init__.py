"""Runs the program on the heap: statements, flow, binding, expressions, functions, entry points."""
