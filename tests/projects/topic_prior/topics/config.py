CONFIG = {
    "words": 20,
    "topics": 4,
    "lr": 1e-2,
    "prior": "uniform",
}
