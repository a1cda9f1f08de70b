"""Programs that are silently wrong because memory has several names, and right ones that overwrite: tests/silent/*.md.

Both are executed. In a program of a pair, lines that end in `#-` stand in the wrong version only, lines that end in
`#+` in the right one only, and what follows `#?` has to be false of the one and true of the other.
A line `Known limit: ...` above a program says why the linter doesn't tell the two apart; as soon as it does, the line
has to go.
"""

from pathlib import Path

import pytest
from twins import Program, blocks, executed, programs

from flake8_inplace.analysis import analyze
from flake8_inplace.fix import mend

FOLDER = Path(__file__).with_name("silent")
PROGRAMS = list(programs(FOLDER, "#? "))
PAIRS = [program for program in PROGRAMS if program.difference]
CLEAN = [(program.name, program.text("#+")) for program in PROGRAMS if not program.difference]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.heading)
def test_the_two_versions_differ(pair: Program) -> None:
    wrong, right = pair.text("#-"), pair.text("#+")
    assert not eval(pair.difference, executed(wrong, pair.heading))
    assert eval(pair.difference, executed(right, pair.heading))


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.heading)
def test_the_linter_tells_them_apart(pair: Program, request: pytest.FixtureRequest) -> None:
    if pair.limit:
        request.applymarker(pytest.mark.xfail(reason=pair.limit, strict=True))
    assert analyze(pair.text("#-")).findings
    assert not analyze(pair.text("#+")).findings


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "text"), CLEAN, ids=[name for name, _ in CLEAN])
def test_a_clean_program_runs_without_a_finding(name: str, text: str) -> None:
    executed(text, name)
    assert not analyze(text).findings


def test_every_program_is_a_test() -> None:
    assert len(PROGRAMS) == blocks(FOLDER) > 100
    assert all(bool(program.difference) == (program.page != "clean") for program in PROGRAMS)


#: Programs with a finding that no form is known for: writes that a checkpoint repeats, elements of a container that a
#: loop of the caller goes over, shallow copies in an attribute, integers; two keys or two dictionaries, a mixture of a
#: tensor with itself.
NO_FORM = {
    "values_of_callers: tokens that a helper of a helper rules out, in logits that their caller still scores",
    "averages_and_targets: averaged generator that was given the layers of the one that is trained, frozen in turn",
    "positions_and_holders: image that a batch has under two keys, one of which is scaled",
    "positions_and_holders: change of a state since it was kept in a dictionary",
    "copies_of_lists: conflicting gradients projected, by a copy of the list of them",
    "copies_of_lists: neighbours averaged with those of the same round",
    "buffers_refilled: scale that a checkpoint halves twice",
    "buffers_refilled: usage that a checkpoint counts twice",
    "checkpoints: checkpointed function that scales a picture in a dictionary",
    "arrays: records over one buffer that a file refills",
    "arrays: statistics of a module that a transform scales in place",
    "averages_and_targets: teacher that is a shallow copy of the student, by a function that makes it",
    "checkpoints: checkpointed block that counts the tokens it has seen",
    "paths_and_orders: rows of a picture in a random order, and the picture",
    "averages_and_targets: control variate of a client after its steps",
    "snapshots: early stopping with a patience and a state",
    "parameters: parameters reported as loaded by comparing them",
    "checkpoints: running scale of activations under a checkpoint",
    "gradients: gradients logged before they are clipped",
    "variables_and_arguments: expanded prior is shared",
    "handed_out: activation put into a table by its special method",
    "set_to_zero: gradient of a task, kept over `zero_grad(set_to_none=False)`",
    "set_to_zero: gradients of all parameters, in a dictionary",
    "checkpoints: checkpoint runs twice",
    "checkpoints: checkpointed usage counter",
    "checkpoints: reentrant checkpoint writes its input",
    "samples_and_batches: labels of a collator are the ids that a method masks",
    "gradients_put_together: projected gradients of tasks that share a list",
    "gradients_put_together: gradients of workers added up in those of the first, pair by pair",
    "gradients_put_together: lists of statistics added up in the first, and compared with the mean",
    "gradients_put_together: checkpointed attention that adds to the bias it is given",
    "kept_by_attributes: gradients that a method returns and keeps, to which its later calls add",
    "kept_elsewhere: share of the gradient that clipping keeps",
    "parameters: parameters that lie in a vector",
    "noticed: signal blended with its reverse by a factor that is a tensor",
    "parameters: tied head is initialised after the padding row",
    "checkpoints: checkpointed counter",
    "arrays: images shuffled as an array, whose labels stay",
    "arrays: missing values filled before their mask is made",
    "generators_and_streams: packets of a socket read into one bytearray",
    "checkpoints: statistics of a block that a checkpoint computes twice",
    "state_that_moves_on: gradients of two losses compared",
    "state_that_moves_on: noise scale of the first part and the whole",
    "state_that_moves_on: target network that is the online network",
    "checkpoints: checkpoint rng counter",
    "arrays: packets read into the memory of a memoryview",
    "arrays: shared memory of processes, each time as a new array",
    "arrays: results of one work buffer, by a generator expression that is unpacked",
    "parameters: decoder is initialised after vectors were copied to the embedding that it is tied to",
    "attributes: padding row is zeroed once more after the initialisation that undid it",
    "caches_and_decoders: targets of a text padded by a helper of the caller's list",
    "snapshots: anchor of a penalty that is a parameter itself",
    "averages_and_targets: average of models that is the first of them",
    "snapshots: buffer of first weights for a pruned layer",
    "gradients: noise scale from a small and a large batch",
    "kept_by_attributes: weights merged by `eval()`, and given back by `train()`",
    "arrays: spectrum of an array halved through the flat of a view",
    "gradients: gradients summed by reduce",
    "environments_and_rollouts: copy method of a dictionary of fields",
    "environments_and_rollouts: history of a list of layers' states",
    "variables_and_arguments: copy into zeros like the labels",
    "parameters: rescaled by another name",
    "metrics_and_histories: scores in a tensor of integers",
    "images_and_boxes: pictures standardised inside a batch by a helper",
    "parameters: soft targets of a heatmap turned hard for their mask",
    "environments_and_rollouts: drift of an embedding from the vectors it was made from",
    "caches_and_decoders: hypotheses of a search replaced field by field",
    "parameters: noise on weights that a context manager takes back",
    "optimizers: adam with the same zeros for both moments",
    "caches_and_decoders: expanded initial hidden states written per layer",
    "typed_by_values: zeros of no type, filled with what has a gradient",
    "variables_and_arguments: partial with an output buffer mapped over inputs",
    "variables_and_arguments: argument centred by a function that stands in the one that gets it",
}


#: A fix that mends what the finding says, where the right version is another program.
ANOTHER = {
    "averages_and_targets: sum in the first client, which gets the mean before it is called again": (
        "it leaves the client alone"
    ),
    "gradients: momentum that setdefault takes from the gradient": "it starts with a copy, not with zeros",
    "attributes: kalman filter that keeps the predictions": "the other method still writes to what was returned",
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.heading)
def test_a_fixed_program_does_what_the_right_one_does(pair: Program) -> None:
    done = mend(pair.text("#-"), lambda text, findings: [True] * len(findings), unsafe=True)
    assert bool(done.left) == (pair.heading in NO_FORM)
    after = executed(done.text, pair.heading) if done.done else {}
    assert not done.done or pair.heading in ANOTHER or eval(pair.difference, after)
