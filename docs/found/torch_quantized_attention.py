"""torch 2.13.0, torch/ao/nn/quantizable/modules/activation.py:245: `fp.in_proj_weight[_start:_end, :] = wQ`, where
`fp.in_proj_weight` is an `nn.Parameter`, and the eight lines like it.

`dequantize()` of a quantized `nn.MultiheadAttention` raises. Under `torch.no_grad()` it returns the float module: that
is the control.

    python docs/found/torch_quantized_attention.py
"""

import sys
import warnings

import torch
from torch import nn
from torch.ao import quantization
from torch.ao.nn.quantizable import MultiheadAttention


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention = MultiheadAttention(8, 2, bias=False)
        self.quant, self.dequant = quantization.QuantStub(), quantization.DeQuantStub()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.quant(x)
        return self.dequant(self.attention(x, x, x)[0])  # type: ignore[no-any-return]


def main() -> int:
    warnings.simplefilter("ignore")
    torch.backends.quantized.engine = "fbgemm"
    model = Model().eval()
    model.qconfig = quantization.get_default_qconfig("fbgemm")
    model = quantization.prepare(model)
    model(torch.rand(3, 2, 8))
    quantized = quantization.convert(model).attention
    with torch.no_grad():
        assert isinstance(quantized.dequantize(), nn.MultiheadAttention)
    try:
        quantized.dequantize()
    except RuntimeError as error:
        if "leaf Variable that requires grad" not in str(error):
            raise
        print("confirmed:", error)
        return 0
    print("not confirmed: it ran")
    return 1


if __name__ == "__main__":
    sys.exit(main())
