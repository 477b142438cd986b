/* SPDX-License-Identifier: Apache-2.0 */
#include "remedies.h"
#include "analyzer/findings/oom.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

const char *const mt_cost_names[MT_N_COSTS] = {
    [MT_COSTS_NOTHING] = "nothing",
    [MT_COSTS_TIME] = "time",
    [MT_COSTS_CARDS] = "cards",
    [MT_COSTS_EXACTNESS] = "exactness",
};

/* clang-format off */
static const struct mt_remedy remedies[] = {
    {"no-grad", MT_COSTS_NOTHING, "with torch.no_grad(): around the evaluation", false, "nothing, if no backward follows"},
    {"del:", MT_COSTS_NOTHING, "del what %s allocated", false, "nothing"},
    {"omit:", MT_COSTS_NOTHING, "do not allocate what %s allocates: nothing reads it", false, "nothing"},
    {"defer:", MT_COSTS_NOTHING, "allocate what %s allocates now", false, "nothing"},
    {"optimizer:adamw-fused", MT_COSTS_NOTHING, "torch.optim.AdamW(..., fused=True)", true, "nothing, if the optimizer is Adam"},
    {"optimizer:adamw", MT_COSTS_NOTHING, "torch.optim.AdamW(...)", true, "nothing, if the optimizer is Adam"},
    {"drop-exception", MT_COSTS_NOTHING, "retry after the except block, not inside it: the exception keeps the tensors of the failed attempt alive",
     false, "nothing"},
    {"host-copies", MT_COSTS_NOTHING, "keep copies of weights on the host: torch.load(..., map_location=\"cpu\"), tensor.cpu()",
     false, "nothing, if the card does not compute with them"},
    {"no-benchmark", MT_COSTS_TIME, "torch.backends.cudnn.benchmark = False", false, "time: convolutions may be slower"},
    {"zero-grad", MT_COSTS_NOTHING, "optimizer.zero_grad(set_to_none=True) after each step", true, "nothing"},
    {"bucket-views", MT_COSTS_NOTHING, "DistributedDataParallel(..., gradient_as_bucket_view=True)", true,
     "nothing, if gradients are not kept or detached"},
    {"checkpoint-each", MT_COSTS_NOTHING, "torch.utils.checkpoint.checkpoint around each layer, not around all of them at once",
     true, "nothing: it recomputes as much as now"},
    {"keep-nothing", MT_COSTS_NOTHING, "keep nothing from one iteration to the next: loss.item(), tensor.detach().cpu(), del",
     false, "nothing, if nothing needs them"},
    {"optimizer:adamw-for-loop", MT_COSTS_TIME, "torch.optim.AdamW(..., foreach=False)",
     true, "time: a step updates parameters one by one"},
    {"checkpoint:", MT_COSTS_TIME, "torch.utils.checkpoint.checkpoint(module, x, use_reentrant=False) for each call of %s",
     true, "time: %s runs again in backward"},
    {"chunked-loss:", MT_COSTS_TIME, "head and loss on 1/%s of the tokens at a time, each part under torch.utils.checkpoint.checkpoint",
     true, "time: the head runs again in backward"},
    {"offload:activations", MT_COSTS_TIME, "with torch.autograd.graph.save_on_cpu(pin_memory=True): around forward",
     true, "time: saved tensors go to the host and back"},
    {"offload:optimizer", MT_COSTS_TIME, "run the optimizer step on the CPU, and keep its state there",
     true, "time: gradients go to the host, parameters come back"},
    {"offload:parameters", MT_COSTS_TIME,
     "torch.distributed.fsdp.fully_shard(layer, offload_policy=CPUOffloadPolicy()) for each layer",
     false, "time: parameters come from the host for each use"},
    {"offload-idle:", MT_COSTS_TIME, "move what %s allocated to the host until it is used again", false,
     "time: it goes to the host and back"},
    {"kv-cache:", MT_COSTS_TIME, "a KV cache of %s the size: fewer sequences at once, or a shorter maximum length",
     false, "time: fewer sequences at once"},
    {"batch:", MT_COSTS_TIME, "a batch of %s the size, gradients accumulated to match",
     false, "time: smaller batches, more of them"},
    {"precision:autocast", MT_COSTS_EXACTNESS, "with torch.autocast(\"cuda\", torch.bfloat16): around forward and loss",
     false, "exactness: products are computed in 16 bits"},
    {"optimizer:adam8bit", MT_COSTS_EXACTNESS, "bitsandbytes.optim.AdamW8bit(...)",
     true, "exactness: the optimizer's state has 8 bits"},
    {"optimizer:adafactor", MT_COSTS_EXACTNESS, "torch.optim.Adafactor(...)", true, "exactness: a different optimizer"},
    {"optimizer:", MT_COSTS_EXACTNESS, "torch.optim.SGD(...)", true, "exactness: a different optimizer"},
    {"precision:bf16", MT_COSTS_EXACTNESS, "model.bfloat16(), and its inputs too", false, "exactness: every float has 16 bits"},
    {"lora:", MT_COSTS_EXACTNESS, "peft's LoraConfig(r=%s) for the linear layers", true, "exactness: only adapters are trained"},
    {"sequence:", MT_COSTS_EXACTNESS, "sequences of %s the length", false, "exactness: the model sees shorter sequences"},
    {"zero1:", MT_COSTS_CARDS, "torch.distributed.optim.ZeroRedundancyOptimizer under DDP, on %s cards",
     true, "cards: several instead of one"},
    {"zero2:", MT_COSTS_CARDS, "torch.distributed.fsdp.fully_shard(layer, reshard_after_forward=False) for each layer, on %s cards",
     true, "cards: several instead of one"},
    {"zero3:", MT_COSTS_CARDS, "torch.distributed.fsdp.fully_shard(layer) for each layer, on %s cards",
     true, "cards: several instead of one"},
};
/* clang-format on */
enum { N_REMEDIES = sizeof remedies / sizeof *remedies };

const struct mt_remedy *mt_remedy_of(const char *change)
{
    for (size_t i = 0; i < N_REMEDIES; i++) {
        size_t size = strlen(remedies[i].change);
        bool is_any = remedies[i].change[size - 1] == ':';
        if (is_any ? !strncmp(remedies[i].change, change, size)
                   : !strcmp(remedies[i].change, change))
            return &remedies[i];
    }
    return &remedies[N_REMEDIES - 1];
}

const char *mt_next_change(const char *changes, char *out, size_t size)
{
    size_t part = strcspn(changes, "+");
    snprintf(out, size, "%.*s", (int)part, changes);
    return changes[part] ? changes + part + 1 : NULL;
}

enum mt_cost mt_remedy_cost(const char *changes)
{
    enum mt_cost most = MT_COSTS_NOTHING;
    char part[128];
    while (changes && *changes) {
        changes = mt_next_change(changes, part, sizeof part);
        enum mt_cost cost = mt_remedy_of(part)->cost;
        most = cost > most ? cost : most;
    }
    return most;
}

unsigned mt_remedy_rank(const char *changes)
{
    unsigned rank = N_REMEDIES * 4 * (unsigned)mt_remedy_cost(changes);
    char part[128];
    while (changes && *changes) {
        changes = mt_next_change(changes, part, sizeof part);
        rank += (unsigned)(mt_remedy_of(part) - remedies) + 1;
    }
    return rank;
}

void mt_remedy_text(char *out, size_t size, const char *change)
{
    const struct mt_remedy *remedy = mt_remedy_of(change);
    const char *argument = strchr(change, ':'), *place = strstr(remedy->what, "%s");
    if (place)
        snprintf(out, size, "%.*s%s%s", (int)(place - remedy->what), remedy->what,
                 argument ? mt_modules_words(argument + 1) : "", place + 2);
    else
        snprintf(out, size, "%s", remedy->what);
}
