class Registry(dict):
    def register(self, name):
        def deco(cls):
            self[name] = cls
            return cls

        return deco


KERNELS = Registry()
