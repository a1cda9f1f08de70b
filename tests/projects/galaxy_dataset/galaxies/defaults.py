from .transforms import Compose, Copied, Crop, Standardise

MEAN = 0.4
STD = 0.2

TRAIN = Compose([Crop(4), Standardise(MEAN, STD)])
CAREFUL = Compose([Crop(4), Copied(), Standardise(MEAN, STD)])
