from abc import ABCMeta, abstractmethod


class PluginMeta(ABCMeta):
    """Collects every concrete plugin under its ``key``."""

    plugins = {}

    def __new__(metacls, name, bases, attrs, **kwargs):
        new_cls = super().__new__(metacls, name, bases, attrs, **kwargs)
        key = attrs.get("key", None)
        if key is not None:
            metacls.plugins[key] = new_cls
        return new_cls


class Plugin(metaclass=PluginMeta):
    @abstractmethod
    def apply(self, r):
        ...

    @classmethod
    def create(cls, key, *args, **kwargs):
        if key not in PluginMeta.plugins:
            raise KeyError(key)
        return PluginMeta.plugins[key](*args, **kwargs)
