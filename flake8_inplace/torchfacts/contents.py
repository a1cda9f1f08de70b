"""What leaves the contents of a tensor unread: it asks for the type, the shape or the place, or replaces all elements.

Each name was run with tensors that differ in nothing but their elements (``tests/test_facts.py``).
"""

METADATA = frozenset(
    "shape size dim ndim ndimension dtype device layout numel nelement itemsize nbytes element_size stride "
    "storage_offset dim_order data_ptr type storage_type output_nr __class__ __len__ _version _base "
    "requires_grad grad grad_fn grad_dtype is_leaf retains_grad is_floating_point is_complex is_signed is_conj is_neg "
    "is_contiguous is_cpu is_cuda is_meta is_mps is_mkldnn is_nested is_quantized is_sparse is_sparse_csr is_xla "
    "is_xpu is_inference is_pinned is_shared is_same_size is_set_to get_device sparse_dim dense_dim".split()
)
"""Attributes and methods of tensors that ask for no element; ``type`` does so without an argument only."""
REPLACING = frozenset(
    "zero_ fill_ copy_ normal_ uniform_ random_ bernoulli_ exponential_ cauchy_ geometric_ log_normal_".split()
)
"""Methods that replace all elements, and read none."""
MAKING = frozenset("new_zeros new_ones new_empty new_full new_tensor".split())
"""Methods that make a tensor of the same type, in the same place."""
LIKE = frozenset(
    "zeros_like ones_like empty_like full_like rand_like randn_like randint_like numel is_tensor is_storage "
    "is_floating_point is_complex is_signed is_conj is_neg is_inference is_same_size result_type get_device "
    "typename".split()
)
"""Functions of torch that ask for no element of what they are given."""
AS = frozenset("type_as view_as expand_as reshape_as resize_as_ is_same_size is_set_to to".split())
"""Methods that ask for no element of their argument."""
OF_ARRAYS = frozenset("zeros_like ones_like empty_like full_like shape ndim size result_type".split())
"""Functions of numpy that ask for no element of what they are given."""
