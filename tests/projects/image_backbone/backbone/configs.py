"""Configurations, merged by hand from a base as the file-based ones are."""

_BASE = dict(
    stem=8,
    stages=(8, 16),
    classes=3,
    norm_cfg=dict(type="GroupNorm", num_groups=4),
    act_cfg=dict(type="ReLU", inplace=True),  # SITE[a]
    block="post",
)

POSTACT_TINY = _BASE
PREACT_TINY = {**_BASE, "block": "pre"}
PREACT_TINY_SAFE = {**PREACT_TINY, "act_cfg": dict(type="ReLU")}
