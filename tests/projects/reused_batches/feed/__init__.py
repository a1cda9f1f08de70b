from .batches import fresh, reused
