def floor(p, least=0.1):
    p[p < least] = least  # HAZARD[a] saved
    return p


def floored(p, least=0.1):
    p = p.clone()
    p[p < least] = least
    return p
