"""diffusers 0.42.1, pipelines/deprecated/audio_diffusion/pipeline_audio_diffusion.py:209: `images[0, 0] = ...`, where
`images` is also `noise`.

`noise` is read afterwards, to make the mask that keeps parts of the given audio, and has that audio in it by then. The
spectrogram differs from the one of `images = noise.clone()`. The call is the one of the pipeline's docstring
(`start_step`, `mask_start_secs`, `mask_end_secs`), of a small network with random weights. `Mel` needs librosa: a
stand-in gives the spectrogram itself and makes no sound.

    python -m pip install --no-deps --target /tmp/found diffusers==0.42.1 huggingface_hub safetensors pillow numpy \
        httpx httpcore httpx2 httpcore2 truststore h11 anyio idna sniffio certifi tqdm pyyaml packaging filelock regex \
        requests urllib3 charset_normalizer importlib_metadata zipp
    PYTHONPATH=/tmp/found python docs/found/diffusers_audio_diffusion.py
"""

import sys

import numpy as np
import torch
from _confirm import confirm_silent, import_torchvision

import_torchvision()
from diffusers import DDIMScheduler, UNet2DModel  # noqa: E402
from diffusers.configuration_utils import ConfigMixin, register_to_config  # noqa: E402
from diffusers.pipelines.deprecated.audio_diffusion.pipeline_audio_diffusion import (  # noqa: E402
    AudioDiffusionPipeline,
)
from diffusers.schedulers.scheduling_utils import SchedulerMixin  # noqa: E402
from PIL import Image  # noqa: E402


class Mel(ConfigMixin, SchedulerMixin):
    config_name = "mel_config.json"
    x_res = 16
    hop_length = 1

    @register_to_config
    def __init__(self) -> None:
        pass

    def load_audio(self, audio_file: None, raw_audio: np.ndarray) -> None:
        self.image = Image.fromarray(raw_audio)

    def audio_slice_to_image(self, slice: int) -> Image.Image:
        return self.image

    def get_sample_rate(self) -> int:
        return 16

    def image_to_audio(self, image: Image.Image) -> np.ndarray:
        return np.zeros(1)


def spectrogram() -> torch.Tensor:
    torch.manual_seed(0)
    unet = UNet2DModel(
        sample_size=(16, 16),
        in_channels=1,
        out_channels=1,
        layers_per_block=1,
        block_out_channels=(8, 8),
        norm_num_groups=4,
        down_block_types=("DownBlock2D", "DownBlock2D"),
        up_block_types=("UpBlock2D", "UpBlock2D"),
    )
    pipeline = AudioDiffusionPipeline(vqvae=None, unet=unet, mel=Mel(), scheduler=DDIMScheduler())
    pipeline.set_progress_bar_config(disable=True)
    output = pipeline(
        raw_audio=np.arange(256, dtype=np.uint8).reshape(16, 16),
        start_step=25,
        mask_start_secs=0.25,
        mask_end_secs=0.25,
        generator=torch.Generator().manual_seed(0),
    )
    return torch.from_numpy(np.array(output.images[0])).float()


if __name__ == "__main__":
    sys.exit(
        confirm_silent(
            spectrogram,
            AudioDiffusionPipeline,
            "__call__",
            line="images = noise\n",
            repaired="images = noise.clone()\n",
        )
    )
