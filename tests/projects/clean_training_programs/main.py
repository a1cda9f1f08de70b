import crf_and_soft_dtw_ok
import detection_losses_and_boxes
import gan_done_right
import graph_message_passing_ok
import meta_and_manual_optimizers
import quantizer_and_codebook
import replay_and_target_network
import residual_block_factory
import simulators_with_detached_buffers
import transformer_with_cache_and_masks

PROGRAMS = (
    crf_and_soft_dtw_ok,
    detection_losses_and_boxes,
    gan_done_right,
    graph_message_passing_ok,
    meta_and_manual_optimizers,
    quantizer_and_codebook,
    replay_and_target_network,
    residual_block_factory,
    simulators_with_detached_buffers,
    transformer_with_cache_and_masks,
)


def good():
    for program in PROGRAMS:
        assert all(tensor is not None for tensor in program.run())
