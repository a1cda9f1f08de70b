import importlib
import pkgutil

from .table import HEADS

for _info in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_info.name}")
