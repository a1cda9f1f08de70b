def turn_(t, angle):
    return t.sub_(angle)  # HAZARD[a] saved
