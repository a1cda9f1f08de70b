"""Text-detection dataset keeps its targets in memory and its sample transforms rescale the boxes in place.

source: https://github.com/mindee/doctr/issues/840
"""

import torch
from torch.utils.data import DataLoader, Dataset

RAISES = "silent"


class Resize:
    def __init__(self, size):
        self.size = size

    def __call__(self, img, target):
        h, w = img.shape[-2:]
        img = torch.nn.functional.interpolate(img[None], self.size)[0]
        target["boxes"][:, 0::2] *= self.size[1] / w  # HAZARD silent
        target["boxes"][:, 1::2] *= self.size[0] / h  # HAZARD silent
        return img, target


class ResizeFixed(Resize):
    def __call__(self, img, target):
        h, w = img.shape[-2:]
        img = torch.nn.functional.interpolate(img[None], self.size)[0]
        boxes = target["boxes"].clone()
        boxes[:, 0::2] *= self.size[1] / w
        boxes[:, 1::2] *= self.size[0] / h
        return img, {**target, "boxes": boxes}


class Whiten:
    def __call__(self, img, target):
        img = img - img.mean()
        img /= img.std() + 1e-6
        return img, target


class OcrDataset(Dataset):
    def __init__(self, transforms):
        gen = torch.Generator().manual_seed(0)
        self.images = [torch.rand(1, 8 + 4 * i, 16, generator=gen) for i in range(3)]
        self.data = [{"boxes": torch.rand(2, 4, generator=gen) * 8, "words": ["a", "b"]} for _ in range(3)]
        self.transforms = transforms

    def __len__(self):
        return len(self.data)

    def _read(self, index):
        img = self.images[index].clone()
        img.clamp_(0.1, 0.9)
        return img, self.data[index]

    def __getitem__(self, index):
        sample = self._read(index)
        for transform in self.transforms:
            sample = transform(*sample)
        return sample


def collect(samples):
    imgs, targets = zip(*samples)
    return torch.stack(imgs), [t["boxes"] for t in targets]


def two_epochs(resize_cls):
    loader = DataLoader(OcrDataset([Whiten(), resize_cls((4, 4))]), batch_size=3, collate_fn=collect)
    epochs = []
    for _ in range(2):
        for _, boxes in loader:
            epochs.append(torch.cat(boxes).clone())
    return epochs[1], epochs[0]


def bad():
    return two_epochs(Resize)


def good():
    return two_epochs(ResizeFixed)
