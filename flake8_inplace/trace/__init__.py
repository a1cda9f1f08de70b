"""What is happening: sites, frames, the call stack, budgets. Models and checkers are handed it; it knows neither."""
