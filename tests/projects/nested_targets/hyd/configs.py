def experiment(noise):
    return {
        "_target_": "hyd.models.Denoiser",
        "width": 4,
        "noise": {"_target_": noise},
    }
