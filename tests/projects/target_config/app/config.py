CLIPPED = {"_target_": "app.layers.Clipped", "top": 1.5}
FREE = {"_target_": "app.layers.Free", "top": 1.5}
