BASE = {"width": 6, "act": "identity"}
CLIPPED = dict(BASE, act="clip")
SMOOTH = dict(BASE, act="smooth")
