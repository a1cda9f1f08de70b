"""botorch 0.18.1, botorch_community/models/vblls.py:432: `optimizer.step()` overwrites `best_model_state`, which is
`self.model.state_dict()` and refers to the parameters.

`load_state_dict(best_model_state)` at the end of `fit` brings nothing back: the weights are those of the last epoch,
`patience` epochs after the best one. With `copy.deepcopy(self.model.state_dict())` they are those of the best epoch:
that is the control. The learning rate is large here, so that early stopping comes soon: the training loss is 2.8 with
the weights of the last epoch, and 1.5 with those of the best one.

    python -m pip install --no-deps --target /tmp/found botorch==0.18.1 gpytorch==1.15.2 linear_operator==0.6.1 \
        pyre_extensions typing_inspect mypy_extensions numpy
    PYTHONPATH=/tmp/found python docs/found/botorch_vbll.py
"""

import sys

import torch
from _confirm import confirm_silent
from botorch_community.models.vblls import VBLLModel

PATIENCE = 10


class Recorded(torch.optim.AdamW):
    """The default optimizer of `fit`, which keeps a copy of the weights of each epoch: one step is one epoch here."""

    epochs: list[torch.Tensor]

    def step(self, closure: None = None) -> None:
        super().step(closure)
        weights = [parameter for group in self.param_groups for parameter in group["params"]]
        Recorded.epochs.append(torch.nn.utils.parameters_to_vector(weights).detach().clone())


def weights() -> torch.Tensor:
    torch.manual_seed(0)
    Recorded.epochs = []
    model = VBLLModel(in_features=1, hidden_features=8, num_layers=1, device="cpu")
    x = torch.linspace(0, 1, 16, dtype=torch.float64).unsqueeze(-1)
    settings = {"num_epochs": 500, "patience": PATIENCE, "lr": 0.3, "optimizer_class": Recorded}
    model.fit(x, torch.sin(6 * x), optimization_settings=settings)
    assert PATIENCE < len(Recorded.epochs) < 500, "training did not stop early"
    parameters = [*model.head.parameters(), *model.backbone.parameters()]
    return torch.nn.utils.parameters_to_vector(parameters).detach()


if __name__ == "__main__":
    assert torch.equal(weights(), Recorded.epochs[-1]), "the weights are not those of the last epoch"
    sys.exit(
        confirm_silent(
            weights,
            VBLLModel,
            "fit",
            line="best_model_state = self.model.state_dict()",
            repaired="best_model_state = __import__('copy').deepcopy(self.model.state_dict())",
            expected=Recorded.epochs[-1 - PATIENCE],
        )
    )
