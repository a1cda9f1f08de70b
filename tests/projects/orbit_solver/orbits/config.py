from .steppers import make_stepper

DT = 0.05
LEAN = make_stepper("lean", DT)
EXACT = make_stepper("exact", DT)
STEPPER = LEAN
