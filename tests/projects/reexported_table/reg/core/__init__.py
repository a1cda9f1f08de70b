from .base import KERNELS
