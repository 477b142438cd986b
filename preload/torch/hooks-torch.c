/* SPDX-License-Identifier: Apache-2.0 */
/* PyTorch's allocator and autograd. C++ exceptions pass through here: build with -fexceptions. */
#include "alloc-conf.h"
#include "blocks.h"
#include "hooks-math.h"
#include "preload/holders/holders.h"
#include "preload/modules/gradients.h"
#include "preload/modules/kv-cache.h"
#include "preload/modules/node-names.h"
#include "preload/modules/optimizer-state.h"
#include "preload/modules/read-objects.h"
#include "preload/python/tensor.h"
#include "preload/record/recorder.h"
#include "preload/stacks/native-stack.h"
#include "preload/stacks/python-frames.h"
#include "preload/stacks/python-stack.h"
#include "preload/write/device-watch.h"
#include "real.h"
#include "totals.h"

/* Record what a KV cache, which has just got the memory at address, says about it. */
static void note_cache(struct mt_thread *self, int device, uint64_t address)
{
    uint64_t object = mt_frames_cache(self);
    if (self->frames.in_cache & MT_MAKES_CACHE)
        mt_record(self, MT_MEMBER, device, 0, MT_ARGS(address, MT_MEMBER_OF_CACHE));
    if (object)
        mt_kv_cache_note_room(self, device, object, address);
}

/* Record what the allocator reports for a CUDA device, which starts the recording. Called under its
 * lock: no GIL, no CUDA, no waiting. */
static MT_ALWAYS_INLINE void record_memory(unsigned kind, struct mt_c10_device device,
                                           const uint64_t arguments[static MT_EVENT_ARGS],
                                           struct mt_caller caller)
{
    if (device.type != MT_DEVICE_TYPE_CUDA)
        return;
    mt_start();
    if (kind == MT_FREE)
        mt_forget_workspace(arguments[0]);
    struct mt_thread *self = mt_enter();
    if (!self)
        return;
    self->frames.in_cache = 0; /* for a thread without Python frames */
    uint32_t stack = kind == MT_FREE ? mt_python_stack(self) : mt_thread_stack(self);
    if (kind == MT_FREE)
        mt_read_objects_at_free(self, arguments[0]);
    else
        mt_read_objects(self);
    if (kind == MT_OOM)
        mt_optimizers_scan(self); /* what exists of the state counts */
    else if (kind == MT_FREE)
        mt_request_free(self, device.index, arguments[0], arguments[1], caller);
    else
        mt_request_alloc(self, device.index, arguments[0], arguments[1], caller);
    if (MT_UNLIKELY(!mt_totals_are_as_before(device.index))) {
        mt_alloc_conf_record(self);
        mt_totals_follow(self, kind, device.index, arguments, caller);
    }
    mt_record(self, kind, device.index, stack, arguments);
    if (MT_UNLIKELY(self->frames.in_cache) && kind == MT_ALLOC)
        note_cache(self, device.index, arguments[0]);
    mt_leave(self);
}

MT_HOT_CODE void mt_hook_report_memory(void *block, int64_t size, size_t allocated, size_t reserved,
                                       struct mt_c10_device device)
{
    uint64_t bytes = size < 0 ? 0 - (uint64_t)size : (uint64_t)size;
    record_memory(size < 0 ? MT_FREE : MT_ALLOC, device,
                  MT_ARGS((uint64_t)(uintptr_t)block, bytes, allocated, reserved), MT_CALLER());
    MT_REAL(report_memory)(block, size, allocated, reserved, device);
}

void mt_hook_report_oom(int64_t size, size_t allocated, size_t reserved,
                        struct mt_c10_device device)
{
    record_memory(MT_OOM, device, MT_ARGS((uint64_t)size, allocated, reserved), MT_CALLER());
    mt_watch_hint();
    mt_holders_search(MT_HOLDERS_OOM);
    MT_REAL(report_oom)(size, allocated, reserved, device);
}

/* Return whether backward created what torch.func wraps, on its own thread without Python: it keeps
 * a graph of each gradient, whether or not a gradient of that is wanted. */
static bool is_wrapped_in_backward(struct mt_thread *self, struct mt_tensor_data place)
{
    return MT_UNLIKELY(place.is_wrapped) && !mt_python_stack(self);
}

/* Record a label on the tensor's storage, if that is on a device: its address, the kind's own value
 * if it has one, the type, and if the kind has that, the number of elements. */
static MT_HOT_CODE void label(unsigned kind, const void *impl, const uint64_t *value)
{
    struct mt_thread *self = mt_enter();
    if (!self)
        return;
    struct mt_tensor_data place = mt_impl_place(impl);
    if (place.address && !is_wrapped_in_backward(self, place)) {
        uint64_t dtype = mt_impl_dtype(impl);
        uint64_t elements = mt_impl_elements(impl);
        uint32_t stack = mt_python_stack(self);
        mt_read_objects(self);
        mt_record(self, kind, place.device, stack,
                  value ? MT_ARGS(place.address, *value, dtype, elements)
                        : MT_ARGS(place.address, dtype, elements));
    }
    mt_leave(self);
}

MT_HOT_CODE void mt_hook_set_requires_grad(void *impl, _Bool value)
{
    label(MT_REQUIRES_GRAD, impl, &(uint64_t){value});
    MT_REAL(set_requires_grad)(impl, value);
}

/* Record the gradient of an unknown leaf. */
static void label_gradient(const void *impl)
{
    struct mt_thread *self = mt_enter();
    if (!self)
        return;
    struct mt_tensor_data place = mt_impl_place(impl);
    if (place.address)
        mt_record(self, MT_GRADIENT, place.device, 0, MT_ARGS(place.address, mt_impl_dtype(impl)));
    mt_leave(self);
}

/* Record what set_data creates: w.grad.data = other creates a gradient, x.data = other of a plain
 * tensor means nothing (FSDP1 casts a gradient like this before it is one), and everything else
 * creates a parameter. */
void mt_hook_set_data(void *tensor, void *new_data)
{
    if (mt_is_gradient(mt_tensor_impl(tensor)))
        label_gradient(mt_tensor_impl(new_data));
    else if (!mt_is_no_parameter(mt_tensor_impl(tensor)))
        label(MT_SET_DATA, mt_tensor_impl(new_data), NULL);
    MT_REAL(set_data)(tensor, new_data);
}

/* Record a save. Those that take an optional tensor (c10's or C++'s own) call this one too. */
MT_HOT_CODE void mt_hook_saved_tensor(void *saved, void *tensor, _Bool is_output,
                                      _Bool inplace_on_view)
{
    label(MT_SAVED, mt_tensor_impl(tensor), &(uint64_t){is_output});
    MT_REAL(saved_tensor)(saved, tensor, is_output, inplace_on_view);
}

MT_HOT_CODE void mt_hook_leaf(void *node, void *tensor)
{
    const void *impl = mt_tensor_impl(tensor); /* the constructor moves it away */
    label(MT_LEAF, impl, NULL);
    MT_REAL(leaf)(node, tensor);
    if (mt_is_recording())
        mt_learn_leaf(node, impl);
}

MT_HOT_CODE void *mt_hook_accumulate(void *result, void *node, void *gradients)
{
    result = MT_REAL(accumulate)(result, node, gradients);
    struct mt_thread *self = mt_enter();
    if (self) {
        const void *leaf = mt_leaf_of(node), *gradient = mt_leaf_gradient(leaf);
        struct mt_tensor_data place = mt_impl_place(gradient);
        if (place.address) {
            mt_record(self, MT_GRADIENT, place.device, 0,
                      MT_ARGS(place.address, mt_impl_dtype(gradient), mt_impl_place(leaf).address));
            mt_gradient_is_known(self, leaf, gradient);
        }
        mt_leave(self);
    }
    return result;
}

MT_HOT_CODE void *mt_hook_mutable_grad(void *impl)
{
    void *slot = MT_REAL(mutable_grad)(impl);
    struct mt_thread *self = mt_enter();
    if (self) {
        mt_gradient_changes(self, impl, slot);
        mt_leave(self);
    }
    return slot;
}

MT_HOT_CODE void mt_hook_node_new(void *tensor, void *edge)
{
    struct mt_thread *self = mt_enter();
    if (self) {
        struct mt_tensor_data place = mt_impl_place(mt_tensor_impl(tensor));
        const void *node = mt_tensor_impl(edge); /* an Edge begins with a pointer to its node */
        if (is_wrapped_in_backward(self, place))
            place.address = 0; /* the node still has a line */
        if ((place.address || place.is_wrapped) && node) {
            uint32_t stack = mt_python_stack(self);
            mt_read_objects(self);
            mt_record(self, MT_NODE_NEW, place.address ? place.device : MT_NO_DEVICE, stack,
                      MT_ARGS((uint64_t)(uintptr_t)node, place.address));
        }
        mt_leave(self);
    }
    MT_REAL(node_new)(tensor, edge);
}

/* End a node, also when an exception passes. */
static MT_HOT_CODE void end_node(void **node)
{
    struct mt_thread *self = mt_enter();
    if (!self)
        return;
    if (self->pending.n_gradients)
        mt_gradients_scan(self);
    mt_record(self, MT_NODE_END, MT_NO_DEVICE, 0, MT_ARGS((uint64_t)(uintptr_t)*node));
    mt_leave(self);
}

MT_HOT_CODE void mt_hook_node_run(void *engine, void *task, void *node, void *inputs, void *queue)
{
    struct mt_thread *self = mt_enter();
    if (!self) {
        MT_REAL(node_run)(engine, task, node, inputs, queue);
        return;
    }
    mt_record(self, MT_NODE_BEGIN, MT_NO_DEVICE, 0,
              MT_ARGS((uint64_t)(uintptr_t)node, mt_node_name(self, node)));
    mt_leave(self);
    __attribute__((cleanup(end_node))) void *running = node;
    MT_REAL(node_run)(engine, task, node, inputs, queue);
}
