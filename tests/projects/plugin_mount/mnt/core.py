class PluginMount(type):
    def __init__(cls, name, bases, attrs):
        if not hasattr(cls, "plugins"):
            cls.plugins = []
        else:
            cls.plugins.append(cls)


class Filter(metaclass=PluginMount):
    label = ""

    @classmethod
    def named(cls, label):
        for plugin in cls.plugins:
            if plugin.label == label:
                return plugin()
        raise KeyError(label)
