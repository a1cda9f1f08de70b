"""What can be in memory: values, the autograd graph, guards, and the state that holds them."""
