# SPDX-License-Identifier: Apache-2.0
"""gpt.py [--tp N] [--pp N] [--ep N] [--sequence] [--distributed]: three steps of a GPT by Megatron-core's public
API, as its pretrain_gpt.py makes them, for alone.py:

    python3 evaluation/ranks/alone.py ... "megatron-tp=$PWD/evaluation/ranks/gpt.py --tp 2" """
import argparse
import functools
import os

import torch
from megatron.core import parallel_state, tensor_parallel
from megatron.core.distributed import DistributedDataParallel, DistributedDataParallelConfig, finalize_model_grads
from megatron.core.models.gpt import GPTModel
from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec
from megatron.core.num_microbatches_calculator import init_num_microbatches_calculator
from megatron.core.optimizer import OptimizerConfig, get_megatron_optimizer
from megatron.core.pipeline_parallel import get_forward_backward_func
from megatron.core.transformer import TransformerConfig
from megatron.core.transformer.moe import moe_utils
from megatron.core.transformer.transformer_block import TransformerBlockSubmodules, get_num_layers_to_build
from megatron.core.utils import get_model_config

moe_utils.te_general_gemm = getattr(moe_utils, "te_general_gemm", None)  # 0.16 misses it where there is no TransformerEngine
STEPS, MICROBATCHES, BATCH, LENGTH, VOCABULARY = 3, 4, 2, 128, 1024


class Norm(torch.nn.LayerNorm):
    """PyTorch's, for sequence parallelism too: Megatron adds up the gradients of weights that say so, and its own wrapper refuses."""

    def __init__(self, config, hidden_size, eps=1e-5, **_):
        super().__init__(hidden_size, eps)
        for weight in self.parameters():
            weight.sequence_parallel = config.sequence_parallel


def options():
    parser = argparse.ArgumentParser()
    for axis in ("--tp", "--pp", "--ep", "--vpp"):
        parser.add_argument(axis, type=int, default=1)
    parser.add_argument("--sequence", action="store_true")
    parser.add_argument("--distributed", action="store_true")
    return parser.parse_args()


def chunks(asked):
    """This rank's parts of the model, each behind Megatron's own data parallelism."""
    experts = {"num_moe_experts": 4, "moe_router_topk": 2, "moe_token_dispatcher_type": "alltoall"}
    config = TransformerConfig(
        num_layers=4, hidden_size=256, num_attention_heads=8, bf16=True, params_dtype=torch.bfloat16,
        pipeline_dtype=torch.bfloat16, tensor_model_parallel_size=asked.tp, pipeline_model_parallel_size=asked.pp,
        virtual_pipeline_model_parallel_size=asked.vpp if asked.vpp > 1 else None,
        expert_model_parallel_size=asked.ep, sequence_parallel=asked.sequence, gradient_accumulation_fusion=False,
        masked_softmax_fusion=False, bias_activation_fusion=False, bias_dropout_fusion=False, add_bias_linear=asked.ep == 1,
        **(experts if asked.ep > 1 else {}))
    config.finalize_model_grads_func = finalize_model_grads
    layer = get_gpt_layer_local_spec(num_experts=config.num_moe_experts, moe_grouped_gemm=False)
    layer.submodules.input_layernorm = layer.submodules.pre_mlp_layernorm = Norm
    made = []
    for part in range(asked.vpp):
        spec = TransformerBlockSubmodules([layer] * get_num_layers_to_build(config, part if asked.vpp > 1 else None), Norm)
        where = {"ignore_virtual": False, "vp_stage": part} if asked.vpp > 1 else {}
        first, last = parallel_state.is_pipeline_first_stage(**where), parallel_state.is_pipeline_last_stage(**where)
        model = GPTModel(config, spec, VOCABULARY, LENGTH, pre_process=first, post_process=last,
                         share_embeddings_and_output_weights=True, **({"vp_stage": part} if asked.vpp > 1 else {}))
        made.append(DistributedDataParallel(
            config, DistributedDataParallelConfig(use_distributed_optimizer=asked.distributed,
                                                  overlap_grad_reduce=asked.distributed, grad_reduce_in_fp32=True),
            model.cuda(torch.cuda.current_device()).bfloat16()))
    return made


def forward(_, model, *__):
    tokens = torch.zeros(BATCH, LENGTH, dtype=torch.long, device="cuda")
    places = torch.arange(LENGTH, device="cuda").expand(BATCH, LENGTH)
    mask = torch.ones(BATCH, 1, LENGTH, LENGTH, dtype=torch.bool, device="cuda").triu(1)
    losses = model(tokens, places, mask, labels=tokens)
    return losses, functools.partial(lambda y: (y.float().mean(), {"loss": y.detach().float().mean()}))


def main():
    asked = options()
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    torch.distributed.init_process_group("nccl")
    parallel_state.initialize_model_parallel(asked.tp, asked.pp, asked.vpp if asked.vpp > 1 else None,
                                             expert_model_parallel_size=asked.ep)
    tensor_parallel.model_parallel_cuda_manual_seed(1)
    copies = parallel_state.get_data_parallel_world_size()
    init_num_microbatches_calculator(torch.distributed.get_rank(), None, MICROBATCHES * BATCH * copies, BATCH, copies)
    model = chunks(asked)
    optimizer = get_megatron_optimizer(
        OptimizerConfig(optimizer="adam", lr=1e-4, bf16=True, params_dtype=torch.bfloat16,
                        use_distributed_optimizer=asked.distributed, clip_grad=1.0), model)
    step = get_forward_backward_func()
    for _ in range(STEPS):
        for part in model:
            part.zero_grad_buffer()
        optimizer.zero_grad()
        step(forward_step_func=forward, data_iterator=[None] * len(model), model=model, num_microbatches=MICROBATCHES,
             seq_length=LENGTH, micro_batch_size=BATCH, forward_only=False)
        optimizer.step()
    assert get_model_config(model[0]).tensor_model_parallel_size == asked.tp
    parallel_state.destroy_model_parallel()
    torch.distributed.destroy_process_group()


main()
