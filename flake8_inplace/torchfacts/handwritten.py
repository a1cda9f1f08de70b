"""What `generate` can neither read from PyTorch's own tables nor measure.

Signatures bound by hand in C++, whole rows, options, conditions, and names that are left out. Development only.
Signatures and rows are in the notation of `ops.parse_op`.
"""

from __future__ import annotations

# Names that are no op, or that ordinary programs never call.
SKIP = (
    r"torch\.(set_|get_|is_autocast|is_(anomaly|grad|inference_mode|warn|vulkan|deterministic)|fbgemm|miopen|cudnn|mkldnn|quantize"
    r"|quantized|q_|int_repr|dequantize|sym_|_foobar|ccol|crow|col_|row_indices|sspaddmm|smm|hspmm|batch_norm_|native_norm"
    r"|choose_qparams|fused_moving|compile|cond$|while_loop|classproperty|typename|vmap|use_det|thread_safe|prepare_multi|profiler"
    r"|save$|load$|are_det|compiled_with|seed$|initial_seed|manual_seed|resize_as_sparse|empty_quantized|embedding_renorm_"
    r"|(gru|lstm|rnn_tanh|rnn_relu|embedding_bag)$|eig$|lstsq$|matrix_rank$|solve$|symeig$|indices_copy|values_copy|promote_types|can_cast|result_type|lobpcg)"
    r"|torch\.nn\.functional\.(assert_int|boolean_dispatch|handle_torch|scaled_mm|scaled_grouped|grouped_mm|has_torch)"
    r"|torch\.nn\.init\.calculate_gain"
    r"|torch\.ops\.aten\.(_nested|_sparse|_to_sparse|_test|_fake|_fused_moving|_mps|_lstm_mps|_mkldnn|mkldnn|_nnpack|_cudnn_init)"
    r"|Tensor\.(eig|lstsq|solve|symeig|ccol|crow|col_|row_indices|sspaddmm|smm|sparse_resize|q_|qscheme|int_repr|dequantize"
    r"|resize_as_sparse|indices|values|to_sparse_|record_stream|is_set_to|is_same_size|retain_grad|to_mkldnn)"
)

_UNARY = "self:T"
_BINARY = "self:T other:T|self:T other"
_STFT = (
    "n_fft hop_length? win_length? window:T? center? pad_mode? normalized? onesided? return_complex? align_to_window?"
)
_INIT = {
    "constant_": "tensor:T val",
    "uniform_": "tensor:T a? b? generator?",
    "normal_": "tensor:T mean? std? generator?",
    "trunc_normal_": "tensor:T mean? std? a? b? generator?",
    "ones_": "tensor:T",
    "zeros_": "tensor:T",
    "eye_": "tensor:T",
    "dirac_": "tensor:T groups?",
    "xavier_uniform_": "tensor:T gain? generator?",
    "xavier_normal_": "tensor:T gain? generator?",
    "kaiming_uniform_": "tensor:T a? mode? nonlinearity? generator?",
    "kaiming_normal_": "tensor:T a? mode? nonlinearity? generator?",
    "orthogonal_": "tensor:T gain? generator?",
    "sparse_": "tensor:T sparsity std? generator?",
}

# Initialisers that give all elements one value, and what they take besides the tensor.
FILLING = {"constant_": (1.0,), "ones_": (), "zeros_": ()}

# Signatures that neither a schema nor an annotation gives; overloads apart by |. What they do is measured.
SIGNATURES: dict[str, str] = {
    **{f"Tensor.__{op}__": _BINARY for op in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "div")},
    **{f"Tensor.__r{op}__": _BINARY for op in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "div")},
    **{f"Tensor.__i{op}__": _BINARY for op in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "div")},
    **{f"Tensor.__{op}__": _BINARY for op in ("eq", "ne", "lt", "le", "gt", "ge")},
    **{f"Tensor.__{op}__": _BINARY for op in ("rand", "ror", "rxor", "rlshift", "rrshift")},
    **{f"Tensor.__{op}__": _UNARY for op in ("neg", "pos", "abs", "invert", "reversed")},
    "Tensor.__matmul__": "self:T other:T",
    "Tensor.__rmatmul__": "self:T other:T",
    "Tensor.__getitem__": "self:T index:T|self:T index:L|self:T index",
    "Tensor.__setitem__": "self:T index:T value:T|self:T index:L value:T|self:T index value:T"
    "|self:T index:T value|self:T index:L value|self:T index value",
    "Tensor.norm": "self:T p? dim? keepdim? dtype?",
    "torch.norm": "input:T p? dim? keepdim? out? dtype?",
    "Tensor.unflatten": "self:T dim sizes",
    "Tensor.istft": "self:T n_fft hop_length? win_length? window:T? center? normalized? onesided? length?"
    " return_complex?",
    "Tensor.stft": f"self:T {_STFT}",
    "torch.stft": f"input:T {_STFT}",
    "Tensor.lu": "self:T pivot? get_infos?",
    "torch.lu": "A:T pivot? get_infos? out?",
    "torch.cdist": "x1:T x2:T p? compute_mode?",
    "torch.tensordot": "a:T b:T dims? out?",
    "torch.einsum": "equation *operands:L",
    "torch.block_diag": "*tensors:L",
    "torch.cartesian_prod": "*tensors:L",
    "torch.chain_matmul": "*matrices:L * out?",
    "torch.nn.functional.logsigmoid": "input:T",
    **{f"torch.nn.functional.{name}": "input:T" for name in ("sigmoid", "tanh", "softsign", "tanhshrink")},
    "torch.nn.functional.upsample": "input:T size? scale_factor? mode? align_corners?",
    "torch.nn.functional.upsample_bilinear": "input:T size? scale_factor?",
    "torch.nn.functional.upsample_nearest": "input:T size? scale_factor?",
    "torch.nn.functional.affine_grid": "theta:T size align_corners?",
    "torch.nn.functional.gumbel_softmax": "logits:T tau? hard? eps? dim?",
    "torch.pca_lowrank": "A:T q? center? niter?",
    "torch.svd_lowrank": "A:T q? niter? M:T?",
}

_CAST = "self:T * memory_format?|||maybe(self)"
_CREATE = "dtype? device? requires_grad?"

# Whole rows, for what returns or aliases in a way no sample shows.
ROWS: dict[str, tuple[str, ...]] = {
    "Tensor.split": ("split|self:T split_size dim?|||views(self)[]",),
    "torch.split": ("split|tensor:T split_size_or_sections dim?|||views(tensor)[]",),
    "Tensor.__iter__": ("unbind|self:T|||views(self)[]",),
    "Tensor.contiguous": ("contiguous|self:T memory_format?|||maybe(self)",),
    "Tensor.to": (
        "to|self:T other:T non_blocking? copy? * memory_format?|||maybe(self)",
        "to|self:T device? dtype? non_blocking? copy? * memory_format?|||maybe(self)",
    ),
    **{
        f"Tensor.{name}": (f"{name}|{_CAST}",)
        for name in ("float", "double", "half", "bfloat16", "cfloat", "cdouble", "chalf")
    },
    **{f"Tensor.{name}": (f"{name}|{_CAST}#",) for name in ("int", "long", "short", "char", "byte", "bool")},
    "Tensor.type": ("type|self:T dtype? non_blocking?|||maybe(self)",),
    "Tensor.type_as": ("type_as|self:T other:T|||maybe(self)",),
    "Tensor.cpu": ("cpu|self:T memory_format?|||maybe(self)",),
    **{
        f"Tensor.{d}": (f"{d}|self:T device? non_blocking? memory_format?|||maybe(self)",)
        for d in ("cuda", "xpu", "ipu", "mtia")
    },
    "Tensor.pin_memory": ("pin_memory|self:T device?|||maybe(self)",),
    "Tensor.detach": ("detach|self:T|||detached(self)!",),
    "torch.detach": ("detach|self:T|||detached(self)!",),
    "Tensor.detach_": ("detach_|self:T|||same(self)!",),
    "torch.detach_": ("detach_|self:T|||same(self)!",),
    "Tensor.requires_grad_": ("requires_grad_|self:T requires_grad?|||same(self)",),
    "Tensor.share_memory_": ("share_memory_|self:T|||same(self)",),
    "Tensor.apply_": ("apply_|self:T callable|||same(self)",),
    "Tensor.map_": ("map_|self:T tensor:T callable|||same(self)",),
    "Tensor.map2_": ("map2_|self:T x:T y:T callable|||same(self)",),
    "Tensor.set_": (
        "set_|self:T source:T size? stride?||self|same(self)",
        "set_|self:T source? storage_offset? size? stride?||self|same(self)",
    ),
    "Tensor.as_subclass": ("as_subclass|self:T cls|||view(self)",),
    "Tensor.real": ("real|self:T|||maybe(self)",),
    "Tensor.imag": ("imag|self:T|||view(self)",),
    "Tensor.nonzero": ("nonzero|self:T|||fresh#", "nonzero|self:T * as_tuple|||fresh#[]"),
    "torch.nonzero": ("nonzero|self:T|||fresh#", "nonzero|self:T * as_tuple|||fresh#[]"),
    "Tensor.new": ("new|self:T *args * device?|||fresh!",),
    "Tensor.new_tensor": (
        f"new_tensor|self:T data:T * {_CREATE}|||fresh!",
        f"new_tensor|self:T data * {_CREATE}|||fresh!",
    ),
    "torch.tensor": (
        f"tensor|data:T * {_CREATE} pin_memory?|||fresh!",
        f"tensor|data * {_CREATE} pin_memory?|||fresh!",
    ),
    "torch.as_tensor": ("as_tensor|data:T dtype? device?|||maybe(data)", "as_tensor|data dtype? device?|||fresh!"),
    "torch.asarray": (
        "asarray|obj:T * dtype? device? copy? requires_grad?|||maybe(obj)",
        "asarray|obj * dtype? device? copy? requires_grad?|||fresh!",
    ),
    "torch.from_numpy": ("from_numpy|ndarray|||fresh!",),
    "torch.frombuffer": ("frombuffer|buffer * dtype count? offset? requires_grad?|||fresh!",),
    "torch.from_dlpack": ("from_dlpack|ext_tensor * device? copy?|||fresh!",),
    "torch.range": (f"range|start end? step? * {_CREATE} layout?|||fresh!",),
    "torch.sparse_coo_tensor": tuple(
        f"sparse_coo_tensor|{indices} {values} size? * {_CREATE} is_coalesced? check_invariants?|||fresh"
        for values in ("values:T", "values")
        for indices in ("indices:T", "indices")
    ),
    "torch.sparse_csr_tensor": tuple(
        f"sparse_csr_tensor|{crow} {col} {values} size? * {_CREATE} check_invariants?|||fresh"
        for values in ("values:T", "values")
        for crow, col in (("crow_indices:T", "col_indices:T"), ("crow_indices", "col_indices"))
    ),
    **{f"Tensor.to_sparse_{layout}": (f"to_sparse_{layout}|self:T dense_dim?|||fresh",) for layout in ("csr", "csc")},
    "Tensor.to_sparse_coo": ("to_sparse_coo|self:T|||fresh",),
    # a sparse tensor has no memory of its own to overwrite: what counts is the dense operand, and its gradient
    "torch.sparse.mm": ("mm|mat1:T mat2:T|mat2<mat1||fresh", "mm|mat1:T mat2:T reduce|||fresh"),
    **{f"torch.{name}": ("mm|self:T mat2:T|mat2<self self<mat2||fresh",) for name in ("spmm", "dsmm")},
    "torch.sparse.sampled_addmm": ("sampled_addmm|input:T mat1:T mat2:T * beta? alpha?|mat1<mat2 mat2<mat1||fresh",),
    "torch.sparse.addmm": ("addmm|mat:T mat1:T mat2:T * beta? alpha?|mat2<mat1||fresh",),
    "torch.sparse.sum": ("sum|input:T dim? dtype?|||fresh",),
    "torch.sparse.softmax": ("softmax|input:T dim * dtype?|result<input||fresh",),
    "torch.sparse.log_softmax": ("log_softmax|input:T dim * dtype?|result<input||fresh",),
    "torch.numel": ("numel|input:T",),
    "torch.is_tensor": ("is_tensor|obj",),
    "torch.unique": (
        "unique|input:T sorted? * dim?|||fresh",
        "unique|input:T sorted? * return_inverse return_counts dim?|||fresh fresh# fresh#",
        "unique|input:T sorted? * return_inverse dim?|||fresh fresh#",
        "unique|input:T sorted? * return_counts dim?|||fresh fresh#",
    ),
    "torch.unique_consecutive": (
        "unique_consecutive|input:T * dim?|||fresh",
        "unique_consecutive|input:T * return_inverse return_counts dim?|||fresh fresh# fresh#",
        "unique_consecutive|input:T * return_inverse dim?|||fresh fresh#",
        "unique_consecutive|input:T * return_counts dim?|||fresh fresh#",
    ),
    "torch.meshgrid": ("meshgrid|*tensors:L * indexing?|||expand(tensors)[]",),
    "torch.broadcast_tensors": ("broadcast_tensors|*tensors:L|||expand(tensors)[]",),
    # what it saves has the memory of its operands and a version of its own
    "torch.kron": ("kron|self:T other:T|||fresh",),
    "Tensor.kron": ("kron|self:T other:T|||fresh",),
    **{
        f"torch.atleast_{n}d": (
            f"atleast_{n}d|tensors:T|||maybe(tensors)",
            f"atleast_{n}d|*tensors:L|||maybe(tensors)[]",
        )
        for n in (1, 2, 3)
    },
    "torch.broadcast_shapes": ("broadcast_shapes|*shapes",),
    "torch.nn.utils.rnn.pad_sequence": ("pad_sequence|sequences:L batch_first? padding_value? padding_side?|||fresh",),
    "torch.nn.utils.parameters_to_vector": ("parameters_to_vector|parameters:L|||fresh",),
    "torch.get_rng_state": ("get_rng_state||||fresh!",),
    "torch.unravel_index": ("unravel_index|indices:T shape|||fresh#[]",),
    **{f"torch.nn.init.{n}": (f"{n}|{params}||tensor|same(tensor)",) for n, params in _INIT.items()},
    **{
        f"torch.nn.init.{n[:-1]}": (f"{n}|{params}||tensor|same(tensor)",)
        for n, params in _INIT.items()
        if n not in ("ones_", "zeros_", "trunc_normal_")
    },
}
ROWS["Tensor.unique"] = tuple(row.replace("input:T", "self:T") for row in ROWS["torch.unique"])
ROWS["Tensor.unique_consecutive"] = tuple(row.replace("input:T", "self:T") for row in ROWS["torch.unique_consecutive"])

# An option that changes what the op does makes another overload: one without it, one with it.
OPTIONS: dict[str, str] = {
    **{f"torch.nn.functional.{kind}max_pool{n}d": "return_indices" for n in (1, 2, 3) for kind in ("", "adaptive_")},
    **{f"torch.nn.functional.fractional_max_pool{n}d": "return_indices" for n in (2, 3)},
    **{f"torch.fft.{name}": "n" for name in ("fft", "ifft", "rfft", "ihfft")},
    **{f"torch.fft.{name}": "s" for name in ("rfft2", "rfftn", "ihfft2", "ihfftn")},
}

# What the output aliases where samples show only some of the cases, by short name.
KINDS: dict[str, str] = {
    **dict.fromkeys(
        ("reshape", "reshape_as", "flatten", "ravel", "conj", "resolve_conj", "resolve_neg", "real", "sum_to_size"),
        "maybe",
    ),
    **dict.fromkeys(("conj_physical", "to_dense"), "maybe"),
    "unsafe_split_with_sizes": "unsafe",
    **dict.fromkeys(("expand", "expand_as", "broadcast_to"), "expand"),
    # Not in training they return their input; who trains gets new memory.
    **dict.fromkeys(
        ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout", "feature_dropout"),
        "fresh",
    ),
    **dict.fromkeys(("unflatten", "view", "as_strided", "numpy_T", "matrix_H", "mT", "mH", "adjoint"), "view"),
}

# The option whose sizes decide whether a transform saves its input: one that cuts it does, one that pads it saves a
# copy.
FITTED: dict[str, str] = {
    **{f"fft.{name}": "n" for name in ("fft", "ifft", "rfft", "ihfft")},
    **{f"fft.{name}": "s" for name in ("rfft2", "rfftn", "ihfft2", "ihfftn")},
}

# A tensor that is saved where one option is not given, or is equal to another; else it is padded, and a copy is saved.
PADDED: dict[str, tuple[str, str, str]] = dict.fromkeys(("stft", "istft"), ("window", "win_length", "n_fft"))

# Saves that CUDA's kernels alone make, by short name: cuDNN's recurrent layers, fused cells, attention with dropout.
# They were seen in traces of the CUDA build (`ops --verify --device cuda --traced`); on a CPU nothing shows them. What
# the CPU saves for some of these inputs, a row says by itself.


def _on_cuda(slots: str, needs: str, but: str = "") -> str:
    """These slots, each for all of these inputs but one."""
    return " ".join(f"{slot}<{','.join(n for n in needs.split() if n != but)}@cuda" for slot in slots.split())


_CELL = "input hx self.weight_ih self.weight_hh self.bias_ih self.bias_hh"
_CALLED = "input hx w_ih w_hh b_ih b_hh"
_LAYER = "input hx self.weight_ih_l0 self.weight_hh_l0 self.bias_ih_l0 self.bias_hh_l0"
ON_DEVICE: dict[str, str] = {
    **dict.fromkeys(
        ("RNN", "GRU"),
        " ".join(
            (
                _on_cuda("result self.bias_ih_l0 self.bias_hh_l0", _LAYER),
                _on_cuda("hx", _LAYER, "self.weight_hh_l0"),
                _on_cuda("input", _LAYER, "self.weight_ih_l0"),
                _on_cuda("self.weight_ih_l0", _LAYER, "input"),
            )
        ),
    ),
    "LSTMCell": _on_cuda("result1 self.bias_ih self.bias_hh", _CELL),
    "lstm_cell": _on_cuda("result1 b_ih b_hh", _CALLED),
    "GRUCell": f"{_on_cuda('hx', _CELL, 'self.weight_hh')} {_on_cuda('self.bias_ih self.bias_hh', _CELL)}",
    "gru_cell": f"{_on_cuda('hx', _CALLED, 'w_hh')} {_on_cuda('b_ih b_hh', _CALLED)}",
    "rms_norm": " ".join(
        f"{slot}<weight@cuda~input.dtype!=double&weight.dtype!=double" for slot in ("input", "weight")
    ),
    "RMSNorm": "x<self.weight@cuda~x.dtype!=double self.weight<self.weight@cuda~x.dtype!=double",
    "scaled_dot_product_attention": " ".join(
        (
            *(f"{slot}<query,key,value@cuda~dropout_p!=0,null" for slot in ("key", "query", "result")),
            "value<value@cuda~dropout_p!=0,null",
            _on_cuda("attn_mask key query result", "attn_mask"),
        )
    ),
}

# When an op returns its first argument itself, by its short name.
IDENTITY: dict[str, str] = {
    **dict.fromkeys(("dropout", "dropout1d", "dropout2d", "dropout3d"), "p=0 training=false train=false"),
    **dict.fromkeys(("alpha_dropout", "feature_alpha_dropout", "feature_dropout"), "p=0 training=false train=false"),
    **dict.fromkeys(("Dropout", "Dropout1d", "Dropout2d", "Dropout3d"), "init.p=0 training=false"),
    **dict.fromkeys(("AlphaDropout", "FeatureAlphaDropout"), "init.p=0 training=false"),
}

# Words for `tensor_only_methods`: what these other values also have, or what is too common a name to prove anything.
NOT_PROOF = """
T H add abs all any clip copy cov corr diff div divide dot eq explode floordiv ge gt le lt map max mean median
min mod mode mul multiply ne pow prod quantile round sub subtract sum std var where take unique item index
values view squeeze stack sort apply shape size dtype ndim nbytes name array is_sparse true_divide split resize
transpose save load point filter convert device devices sharding at real imag itemsize data_ptr backward data
grad layout names type new to cpu cuda half double float int long short char byte bool select scatter gather
expand log exp trace unbind roll chunk fill histogram flip dist cross det inner outer tile equal less greater
put norm storage register_hook reinforce symeig solve lstsq eig lu qr svd is_leaf requires_grad positive
negative square sign floor ceil sqrt sin cos tan sinh cosh tanh arcsin arctan log1p expm1 deg2rad rad2deg trunc
clone coalesce indices volatile output_nr module_load is_complex is_conj numpy polygamma pin_memory is_pinned
is_shared crow_indices col_indices matmul conjugate adjoint inverse permute_ rename refine_names as_subclass dim
stride offset mtia ipu xpu dense_dim
""".split()

# Methods and properties of Tensor whose result is not a tensor.
SCALARS = """
item tolist size shape dim ndim ndimension numel nelement stride storage_offset element_size itemsize nbytes
data_ptr dtype device layout requires_grad is_leaf is_contiguous is_cuda is_cpu is_sparse is_sparse_csr
is_quantized is_meta is_mps is_mkldnn is_nested is_xla is_xpu is_ipu is_mtia is_maia is_vulkan grad_fn
retains_grad output_nr name names get_device is_pinned is_shared dim_order backward register_hook
register_post_accumulate_grad_hook retain_grad storage untyped_storage storage_type const_data_ptr is_same_size
is_set_to qscheme q_scale q_zero_point q_per_channel_axis record_stream numpy volatile grad_dtype
""".split()
