"""What distributions of torch.distributions save for backward. tests/test_distributions.py executes every row.

A row is ``name|parameters|rsample|log_prob|entropy``. For each method it lists the tensors that a backward needs
unchanged, and for the gradient of which operands: ``scale:loc+value`` is the scale, if ``loc`` or ``value`` requires
grad. ``-`` stands for a method that the distribution does not have. ``value`` is the argument of ``log_prob``.
"""

from __future__ import annotations

from functools import cache

from .notation import Op, Out, Param, Save

_TABLE = """
Normal|loc scale||scale:scale|scale:scale
LogNormal|loc scale||scale:scale value:value|scale:scale
Laplace|loc scale||scale:loc+scale+value|
Gumbel|loc scale||scale:loc+scale+value|scale:scale
Cauchy|loc scale||scale:loc+scale+value|scale:scale
HalfNormal|scale||scale:scale|scale:scale
Uniform|low high|||
Beta|concentration1 concentration0|||
Gamma|concentration rate|concentration:concentration rate:concentration+rate\
|concentration:concentration+rate rate:concentration+rate+value value:concentration+rate+value\
|concentration:concentration rate:rate
StudentT|df loc scale|df:df scale:df|df:df+loc+scale+value scale:loc+scale+value|df:df scale:scale
Exponential|rate|rate:rate|rate:rate+value value:rate|rate:rate
Poisson|rate|-|rate:rate+value value:rate+value|-
Dirichlet|concentration|concentration:concentration\
|concentration:concentration value:concentration+value|concentration:concentration
Categorical|probs logits|-|probs:probs logits:logits value:probs+logits|probs:probs logits:logits
OneHotCategorical|probs logits|-|probs:probs logits:logits|probs:probs logits:logits
Bernoulli|probs logits|-|probs:probs logits:logits+value value:probs+logits+value|probs:probs logits:logits
Geometric|probs logits|-|probs:probs value:probs+logits|probs:probs logits:logits
Binomial|total_count probs logits|-\
|total_count:probs+logits probs:probs logits:logits+value value:probs+logits\
|total_count:probs+logits probs:probs logits:logits
"""
METHODS = ("rsample", "log_prob", "entropy")


@cache
def distributions() -> dict[str, dict[str, Op]]:
    """The methods of each distribution as operators on its parameters and, for ``log_prob``, on the value."""
    found: dict[str, dict[str, Op]] = {}
    for row in _TABLE.strip().splitlines():
        name, words, *cells = row.split("|")
        methods = zip(METHODS, cells, strict=True)
        found[name] = {method: _operator(method, words.split(), cell) for method, cell in methods if cell != "-"}
    return found


@cache
def parameters(name: str) -> tuple[str, ...]:
    """The parameters of a distribution, in the order that its class takes them."""
    rows = (row.split("|") for row in _TABLE.strip().splitlines())
    return next(tuple(words.split()) for found, words, *_ in rows if found == name)


def _operator(method: str, names: list[str], cell: str) -> Op:
    params = [Param(name, "tensor", True) for name in names]
    if method == "log_prob":
        params.append(Param("value", "tensor", True))
    pairs = [word.split(":") for word in cell.split()]
    return Op(method, tuple(params), tuple(Save(slot, tuple(needs.split("+"))) for slot, needs in pairs), (), (Out(),))
