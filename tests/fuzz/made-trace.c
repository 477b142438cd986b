/* SPDX-License-Identifier: Apache-2.0 */
#include "made-trace.h"

#include <string.h>

/* What readers look for, and what they should not let through. */
static const char *const texts[] = {
    "",
    "main",
    "forward",
    "/home/user/train.py",
    "/home/user/net.py",
    "/venv/lib/python3.11/site-packages/torch/optim/adam.py",
    "Adam.step",
    "_single_tensor_adam",
    "Adam._init_group",
    "Optimizer.profile_hook_step.<locals>.wrapper",
    "/venv/lib/python3.11/site-packages/torch/optim/optimizer.py",
    "/venv/lib/python3.11/site-packages/torch/nn/modules/module.py",
    "Module._apply",
    "Module._call_impl",
    "__new__",
    "/venv/lib/python3.11/site-packages/torch/nn/parameter.py",
    "__init__",
    "Conv.backward",
    "/venv/lib/python3.11/site-packages/torch/autograd/function.py",
    "BackwardCFunction.apply",
    "/venv/lib/python3.11/site-packages/torch/_tensor.py",
    "backward",
    "Tensor.backward",
    "N5torch8autograd9generated14AddmmBackward0E",
    "N5torch8autograd14AccumulateGradE",
    "_ZN2at6native5emptyEN3c108ArrayRefIlEE",
    "_ZZZZZZ",
    "layers.3.mlp",
    "layers.3",
    "Net",
    "exp_avg",
    "exp_avg_sq",
    "max_exp_avg_sq",
    "momentum_buffer",
    "CUDA: graph 1",
    "global `losses` of module __main__\n[3]\n.grad_fn\nsaved by MulBackward0",
    "global `losses` of module __main__\n[18446744073709551615]\n['7']\n\n\n[]",
    "local variable `a` of "
    "f()\n['7']\na\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\nm\nn\no\np\nq\nr\ns\nt\nu\nv",
    "libfoo.so.12.3",
    "/usr/lib/libfoo.so.12",
    "0123456789abcdef",
    "a\x1b[31mred\x9b\n::error::x",
    "\xff\xc0\x80\xe2\x80\xae;,\"<>&|`",
    "=HYPERLINK(1)",
    "pid=4711",
    "pid=-1",
    "pid=99999999999999999999",
    "parent_pid=4711",
    "host=atlas",
    "command=python train.py",
    "command=\"\\",
    "program=/usr/bin/python3",
    "working_directory=/home/user",
    "torch=2.15.0+cu132",
    "cuda=13.2",
    "python=3.11.2",
    "memtap=0.1.0",
    "rank=0",
    "rank=1",
    "rank=-5",
    "world_size=2",
    "world_size=0",
    "allocator=expandable_segments:True",
    "start_realtime_ns=1700000000000000000",
    "start_realtime_ns=18446744073709551615",
    "start_monotonic_ns=1",
    "ended=exit 1",
    "ended=signal 9",
    "ended=oom",
    "ended=",
    "state=killed",
    "stopped=the disk is full",
    "executed=/bin/true",
    "recovered=3 events from the tail",
    "compact=100000",
    "left_out=stacks",
    "dropped=12",
    "unseen_copies=1",
    "no_copies=1",
    "exit_code=3",
    "device 0=NVIDIA H100 80GB HBM3",
    "device.0=NVIDIA H100 80GB HBM3",
    "keep=1",
    "whole.state=killed",
    "whole.chart=0 1 2 3",
    "whole.place=1",
    "whole.phase=forward 1 2",
    "=",
    "no equals sign",
};

const struct mt_made_trace *mt_made_traces[MT_MADE_TRACES];

uint64_t mt_made_number(unsigned code)
{
    if (code >= 0xfffe)
        return code == 0xffff ? UINT64_MAX : INT64_MAX;
    return (uint64_t)(code & 0xfff) << 4 * (code >> 12);
}

unsigned mt_made_code(uint64_t number)
{
    unsigned shift = 0;
    while (number >> 4 * shift > 0xfff)
        shift++;
    return shift << 12 | (unsigned)(number >> 4 * shift);
}

/* What is live, for sizes of frees and for totals that fit. */
struct maker {
    struct mt_made_trace *trace;
    const uint8_t *at, *end;
    size_t n_events, n_definitions;
    uint64_t time_ns, lost;
    uint64_t allocated[8], reserved[8];
    uint64_t size[256]; /* by the address's code */
    uint32_t next_id[MT_DEF_LIMIT];
};

static unsigned argument(const uint8_t *record, unsigned i)
{
    return record[MT_MADE_ARGS + 2 * i] | (unsigned)record[MT_MADE_ARGS + 2 * i + 1] << 8;
}

static void fit_totals(struct maker *m, const uint8_t *record, struct mt_event *event)
{
    unsigned code = argument(record, 0), device = (unsigned)event->device & 7;
    uint64_t *size = &m->size[(code ^ code >> 8) & 0xff];
    if (event->kind == MT_ALLOC) {
        *size = event->arg[1];
        m->allocated[device] += *size;
    } else {
        event->arg[1] = *size;
        m->allocated[device] -= *size;
    }
    if (m->reserved[device] < m->allocated[device])
        m->reserved[device] = m->allocated[device] | 0x1fffff;
    event->arg[2] = m->allocated[device];
    event->arg[3] = m->reserved[device];
}

static void make_event(struct maker *m, const uint8_t *record)
{
    struct mt_event *event = &m->trace->event[m->n_events++];
    unsigned where = record[MT_MADE_WHERE], step = record[MT_MADE_TIME];
    m->time_ns += (uint64_t)(step & 31) << 5 * (step >> 5);
    *event = (struct mt_event){.time_ns = m->time_ns,
                               .thread = where & 7,
                               .stack = record[MT_MADE_STACK],
                               .kind = (uint16_t)(1 + record[MT_MADE_OP] % (MT_KIND_LIMIT - 1)),
                               .device = (int16_t)((int)(where >> 3 & 7) - 1)};
    if (where & 128) /* as far as a trace can say */
        event->device = (int16_t)(argument(record, 3) & 0x7fff);
    for (unsigned i = 0; i < mt_kind_fields[event->kind]; i++)
        event->arg[i] = mt_made_number(argument(record, i));
    if ((event->kind == MT_ALLOC || event->kind == MT_FREE) && !(where & 64))
        fit_totals(m, record, event);
    if (event->kind == MT_LOST)
        m->lost += event->arg[0];
}

static void take_text(struct maker *m, const uint8_t *record, struct mt_definition *definition)
{
    unsigned text = record[MT_MADE_STACK], size = record[MT_MADE_TIME];
    if (text < MT_MADE_TEXTS) {
        definition->text = texts[text % (sizeof texts / sizeof *texts)];
        definition->text_size = strlen(definition->text);
        return;
    }
    if (size > m->end - m->at)
        size = (unsigned)(m->end - m->at);
    definition->text = (const char *)m->at;
    definition->text_size = size;
    m->at += (size + MT_MADE_RECORD - 1) / MT_MADE_RECORD * MT_MADE_RECORD;
    if (m->at > m->end)
        m->at = m->end;
}

static void make_definition(struct maker *m, const uint8_t *record)
{
    struct mt_definition *d = &m->trace->definition[m->n_definitions++];
    unsigned kind = 1 + (record[MT_MADE_OP] - MT_MADE_DEFINITIONS) % (MT_DEF_LIMIT - 1);
    uint32_t number[4];
    for (unsigned i = 0; i < 4; i++)
        number[i] = (uint32_t)mt_made_number(argument(record, i));
    *d = (struct mt_definition){.kind = (enum mt_definition_kind)kind, .id = number[0]};
    unsigned space = kind == MT_DEF_NATIVE || kind == MT_DEF_CALL ? MT_DEF_FRAME : kind;
    if (!d->id && kind != MT_DEF_INFO && kind != MT_DEF_SYMBOL)
        d->id = ++m->next_id[space];
    switch (d->kind) {
    case MT_DEF_STRING:
    case MT_DEF_INFO:
        take_text(m, record, d);
        break;
    case MT_DEF_THREAD:
        d->os_thread = number[1];
        take_text(m, record, d);
        break;
    case MT_DEF_SUMMARY:
        d->device = (int32_t)(number[1] % 70) - 1;
        take_text(m, record, d);
        break;
    case MT_DEF_STACK:
        d->stack.parent = number[1];
        d->stack.frame = number[2];
        break;
    case MT_DEF_IMAGE:
        d->image.build_id = number[1];
        d->image.path = number[2];
        break;
    case MT_DEF_NATIVE:
        d->native.image = number[1];
        d->native.address = mt_made_number(argument(record, 2));
        break;
    default:
        d->frame.function = number[1];
        d->frame.file = number[2];
        d->frame.line = number[3];
        d->frame.root = record[MT_MADE_STACK];
        d->frame.path = record[MT_MADE_TIME];
        if (d->kind != MT_DEF_CALL)
            d->frame.root = d->frame.path = 0;
    }
}

/* Records of one sort are one batch. */
static void put_into_batch(struct maker *m, bool is_event, int *is_open)
{
    struct mt_made_trace *trace = m->trace;
    struct mt_batch *batch = *is_open ? &trace->batch[trace->n_batches - 1] : NULL;
    enum mt_batch_type type = is_event ? MT_BATCH_EVENTS : MT_BATCH_DEFINITIONS;
    if (!batch || batch->type != type) {
        batch = &trace->batch[trace->n_batches++];
        *batch = (struct mt_batch){.type = type,
                                   .state = trace->state,
                                   .events = &trace->event[m->n_events],
                                   .definitions = &trace->definition[m->n_definitions]};
        *is_open = 1;
    }
    batch->n_events += is_event;
    batch->n_definitions += !is_event;
}

static void make_end(struct maker *m)
{
    struct mt_made_trace *trace = m->trace;
    trace->end = (struct mt_end){m->time_ns + 1, m->n_events, m->lost};
    if (trace->state == MT_TRACE_CLOSED && !trace->fault)
        trace->batch[trace->n_batches++] =
            (struct mt_batch){.type = MT_BATCH_END, .state = trace->state, .end = trace->end};
    for (size_t i = 0; i < trace->n_batches; i++) {
        trace->batch[i].offset = 32 + 100 * i;
        trace->batch[i].file_size = 32 + 100 * trace->n_batches;
    }
}

int mt_made_trace_read(struct mt_made_trace *trace, const uint8_t *bytes, size_t size)
{
    static struct maker maker;
    int is_open = 0, is_tail = 0;
    if (size < MT_MADE_HEADER)
        return -1;
    maker = (struct maker){
        .trace = trace, .at = bytes + MT_MADE_HEADER, .end = bytes + size, .time_ns = 1000000};
    trace->n_batches = 0;
    trace->state = (enum mt_trace_state)(bytes[0] % MT_TRACE_STATES);
    trace->fault = bytes[1] < 200   ? MT_FAULT_NONE
                   : bytes[1] < 228 ? MT_FAULT_CUT
                                    : MT_FAULT_DAMAGED;
    trace->choices = bytes + MT_MADE_HEADER - 5;
    for (unsigned n = 0; n < MT_MADE_RECORDS && maker.end - maker.at >= MT_MADE_RECORD; n++) {
        const uint8_t *record = maker.at;
        unsigned op = record[MT_MADE_OP];
        maker.at += MT_MADE_RECORD;
        if (op >= MT_MADE_BATCHES) {
            is_open = 0;
            is_tail |= op == 0xff && trace->state != MT_TRACE_CLOSED;
            continue;
        }
        bool is_event = op < MT_MADE_DEFINITIONS;
        put_into_batch(&maker, is_event, &is_open);
        trace->batch[trace->n_batches - 1].is_tail = is_tail;
        if (is_event)
            make_event(&maker, record);
        else
            make_definition(&maker, record);
    }
    make_end(&maker);
    return 0;
}
