"""The abstract heap: values, regions, the autograd graph, guards, and the state with its journal."""
