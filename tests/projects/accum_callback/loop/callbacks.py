class Callback:
    def after_loss(self, engine):
        pass

    def after_backward(self, engine):
        pass


class EagerStep(Callback):
    def after_loss(self, engine):
        if engine.count:
            engine.optimizer.step()  # HAZARD[a] step


class LateStep(Callback):
    def after_backward(self, engine):
        engine.optimizer.step()
        engine.optimizer.zero_grad()


TABLE = {"eager": EagerStep, "late": LateStep}
