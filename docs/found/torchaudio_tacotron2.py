"""torchaudio 2.11.0, torchaudio/models/tacotron2.py:1001: `mel_specgram.masked_fill_(mask, 0.0)` of the spectrogram
that the first convolution of the postnet has read.

With `mask_padding=True` the backward of `Tacotron2` raises. With `mask_padding=False` it runs: that is the control.
torchaudio's compiled library is built for its own PyTorch version, and the import stops where it does not load. The
file of the model needs nothing of it, and is loaded alone.

    python -m pip install --no-deps --target /tmp/found torchaudio==2.11.0
    PYTHONPATH=/tmp/found python docs/found/torchaudio_tacotron2.py
"""

import importlib.util
import sys
from pathlib import Path

import torch
from _confirm import confirm


def load(package: str, path: str):
    """A module of a package, without the package."""
    folder = importlib.util.find_spec(package).submodule_search_locations[0]
    spec = importlib.util.spec_from_file_location(Path(path).stem, Path(folder, path))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def loss(mask_padding: bool) -> torch.Tensor:
    torch.manual_seed(0)
    model = load("torchaudio", "models/tacotron2.py").Tacotron2(
        mask_padding=mask_padding,
        n_mels=8,
        n_symbol=10,
        symbol_embedding_dim=16,
        encoder_embedding_dim=16,
        encoder_n_convolution=1,
        decoder_rnn_dim=16,
        attention_rnn_dim=16,
        attention_hidden_dim=8,
        prenet_dim=8,
        postnet_embedding_dim=8,
        postnet_n_convolution=2,
    )
    tokens, lengths = torch.randint(10, (2, 6)), torch.tensor([6, 5])
    spectrograms, gates, _ = model(tokens, lengths, torch.rand(2, 8, 12), torch.tensor([12, 10]))[1:]
    return spectrograms.sum() + gates.sum()


if __name__ == "__main__":
    sys.exit(confirm(lambda: loss(mask_padding=True), lambda: loss(mask_padding=False)))
