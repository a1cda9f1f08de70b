FAST = {"type": "regression", "points": 3, "post": {"type": "Centered", "size": 64}}
SAFE = {"type": "regression", "points": 3, "post": {"type": "CenteredCopy", "size": 64}}
PLAIN = {"type": "plain", "points": 3}
