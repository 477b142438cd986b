# SPDX-License-Identifier: Apache-2.0
"""What FSDP, DeepSpeed's ZeRO, Opacus and BackPACK keep outside of modules and optimizers, read from their own objects."""
import torch

FSDP = {"FSDPParam"}  # FSDP2's
SHARDS = ("_sharded_param_data", "all_gather_outputs", "_local_shard", "_mp_shard", "_full_param_padded",
          "_full_prec_full_param_padded", "ds_tensor", "_unsharded_param")
GRADIENTS = ("unsharded_accumulated_grad", "_saved_grad_shard", "main_grad",
             # per sample, and what is summed of these
             "grad_sample", "summed_grad", "grad_batch", "batch_l2", "variance", "sum_grad_squared",
             # of second order
             "diag_h", "diag_h_batch", "diag_ggn_exact", "diag_ggn_exact_batch", "diag_ggn_mc", "diag_ggn_mc_batch",
             "sqrt_ggn_exact", "sqrt_ggn_mc", "kfac", "kflr", "kfra")


def tensors_of(value):
    for item in value if isinstance(value, (list, tuple)) else [value]:
        if isinstance(item, (list, tuple)):
            yield from tensors_of(item)
        elif isinstance(item, torch.Tensor):
            yield item


def is_flat(thing):
    """FSDP1's, which no module need have among its parameters."""
    return type(thing) is torch.nn.Parameter and getattr(thing, "_is_flat_param", False)


def attributes(objects, names):
    for thing in objects:
        for name in names:
            value = getattr(thing, name, None)
            yield from tensors_of(value)


class Wrappers:
    def __init__(self, objects, parameters):
        self.of_fsdp = [o for o in objects if type(o).__name__ in FSDP or is_flat(o)]
        self.zero = [o for o in objects if type(o).__name__.startswith("DeepSpeedZeroOptimizer")]
        self.parameters = parameters

    def find_parameters(self):
        """Ranks' parts, and what is gathered of them."""
        yield from attributes([*self.of_fsdp, *self.parameters], SHARDS)
        for name in ("bit16_groups_flat", "fp16_partitioned_groups_flat"):
            yield from attributes(self.zero, [name])

    def find_gradients(self):
        yield from attributes([*self.of_fsdp, *self.parameters], GRADIENTS)
        for fsdp in self.of_fsdp:
            yield from tensors_of(getattr(getattr(fsdp, "_unsharded_param", None), "grad", None))
        for zero in self.zero:
            for name in ("averaged_gradients", "all_grad_tensors", "_DeepSpeedZeroOptimizer_Stage3__param_id_to_grad_partition"):
                for value in list((getattr(zero, name, None) or {}).values()):
                    yield from tensors_of(value)
            for bucket in list(getattr(zero, "ipg_buckets", {}).values()):
                yield from tensors_of(getattr(bucket, "buffer", None))

    def find_masters(self):
        """What the inner optimizer works on, group by group."""
        for name in ("single_partition_of_fp32_groups", "fp32_partitioned_groups_flat"):
            yield from attributes(self.zero, [name])
