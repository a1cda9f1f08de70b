"""The trace: frames, the call stack, events, the log of writes, budgets. It knows neither models nor checkers."""
