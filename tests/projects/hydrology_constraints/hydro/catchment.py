import torch
from torch import nn


class Catchment(nn.Module):
    """Rain at the gauges is routed to stores, the stores drain into the river."""

    def __init__(self, gauges, hidden):
        super().__init__()
        self.routing = nn.Linear(gauges, hidden, bias=False)
        self.release = nn.Linear(hidden, 1)
        with torch.no_grad():
            self.routing.weight.abs_()
        self.register_buffer("area", torch.ones(hidden))

    def forward(self, rain):
        store = self.routing(rain)
        store *= self.area
        return self.release(store)
