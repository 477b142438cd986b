# SPDX-License-Identifier: Apache-2.0
"""observe.py LOG SCRIPT [ARGUMENT...]: runs SCRIPT as python would, and writes to LOG what its
tensors on devices really are, a line of JSON after some forwards, backwards and optimizer steps, and at
the end: when (CLOCK_MONOTONIC), and the storages of each category as [address, bytes]. It asks the program's
own objects: modules, optimizers, .grad, and the graph from the loss on (grad_fn)."""
import functools
import gc
import json
import os
import runpy
import sys
import threading
import time
import weakref
from bisect import bisect_left

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "torch"))
import allocator_choice
import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch._subclasses.functional_tensor import FunctionalTensor
from torch.multiprocessing.reductions import StorageWeakRef
from torch.optim.optimizer import register_optimizer_step_post_hook
from wrappers import Wrappers

MOST = 6  # moments of a kind that are looked at,
EACH_HOOK = 5  # and of hooks in backward only some

log = None
lines = []
seen = {}
kept = {}     # what modules have as plain attributes: storage -> Kept
calls = {}    # of modules
inputs = []  # weak references to what root modules were called with
given = set()  # ids of tensors of objects, which a graph had saved
outputs = {}  # what they gave back without a graph, and may be called with next: id -> reference, id of the module, line of then
depth = 0    # of module calls
hooks = 0    # of leaves, called so far
looking = False


buckets = {}  # of DDP: address -> category, bytes
used = set()  # ids of the leaves of some graph
data = {}    # what was an input: storage -> Data
states = {}  # what was in an optimizer's state: id -> reference. It may be taken out to be used a last time


class NotNow(Exception):
    """Unpacking a saved tensor would run the program's code."""


def tensors_in(value, nesting=0):
    if isinstance(value, torch.Tensor):
        yield value
    elif nesting < 5 and isinstance(value, (list, tuple, set)):
        for item in list(value):
            yield from tensors_in(item, nesting + 1)
    elif nesting < 5 and isinstance(value, dict):
        for item in list(value.values()):
            yield from tensors_in(item, nesting + 1)


def was_output(tensor, of=None):
    """Whether a root module gave it back, or this one."""
    reference, module, _ = outputs.get(id(tensor), (None, None, None))
    return reference is not None and reference() is tensor and of in (None, module)


def was_made_for_this(tensor):
    """Name what one module has given back, and another is called with, an input from its beginning on."""
    line = outputs[id(tensor)][2]
    truth = line["truth"] if line else {}
    for place in [p for p in truth.get("activations", []) if is_on_device(tensor) and p[0] == storage_in(tensor).data_ptr()]:
        truth["activations"].remove(place)
        truth.setdefault("inputs", []).append(place)


def unwrapped(tensor):
    """What torch.func's transforms wrap."""
    while torch._C._functorch.is_functorch_wrapped_tensor(tensor):
        tensor = torch._C._functorch.get_unwrapped(tensor)
    return tensor


def storage_in(tensor):
    return unwrapped(tensor).untyped_storage()


def parts(tensor):
    """The plain tensors that a tensor consists of: a sparse one, a rank's part, nested ones."""
    tensor = unwrapped(tensor)
    if tensor.layout == torch.sparse_coo:
        return [tensor._indices(), tensor._values()]
    for name in ("_local_tensor", "_values"):
        if isinstance(getattr(tensor, name, None), torch.Tensor):
            return [getattr(tensor, name)]
    return [tensor]


def is_on_device(tensor):
    """Tensors that a compiler traces with have no memory."""
    return isinstance(tensor, torch.Tensor) and tensor.is_cuda and not (
        isinstance(tensor, (FakeTensor, FunctionalTensor)) or torch._is_functional_tensor(tensor))


class Truth:
    """Storages by category; what is in one category is in no later one."""

    def __init__(self):
        self.storages = {}
        self.claimed = set()

    def claim(self, category, tensors, others=()):
        """others: addresses that are left to later categories."""
        for whole in tensors:
            for tensor in parts(whole) if is_on_device(whole) else []:
                storage = storage_in(tensor)
                address = storage.data_ptr()
                if address and storage.nbytes() and address not in self.claimed and address not in others:
                    self.claimed.add(address)
                    self.storages.setdefault(category, []).append([address, storage.nbytes()])


    def claim_place(self, category, address, size):
        if size and address not in self.claimed:
            self.claimed.add(address)
            self.storages.setdefault(category, []).append([address, size])


def saved_by(node):
    """What a node of the graph keeps for backward."""
    for name in dir(node):
        if name.startswith("_saved_") or name == "saved_tensors":
            try:
                yield from tensors_in(getattr(node, name))
            except (NotNow, RuntimeError):  # freed already
                pass
    yield from tensors_in(getattr(node, "__dict__", {}))


def saved_in_graph(roots):
    todo = [tensor.grad_fn for tensor in roots if tensor.grad_fn is not None]
    done = set(todo)
    while todo:
        node = todo.pop()
        if hasattr(node, "variable"):
            used.add(id(node.variable))
        yield from saved_by(node)
        for following, _ in node.next_functions:
            if following is not None and following not in done:
                done.add(following)
                todo.append(following)


def program_locals():
    """The variables of the functions that run now, the program's own and those of libraries other than PyTorch."""
    frame = sys._getframe()
    while frame:
        file = frame.f_code.co_filename
        if "-packages/torch/" not in file and file != __file__ and os.path.exists(file):
            if frame.f_globals.get("__name__") == "__main__" or "-packages" in file or "/site/" in file:
                variables = frame.f_locals
                yield list(variables.values())
                if variables is not frame.f_globals and isinstance(variables, dict):
                    variables.clear()  # a copy, which Python up to 3.12 would keep with the frame
        frame = frame.f_back


class Kept:
    """A tensor that a module has as a plain attribute, or a function's cache."""

    def __init__(self, storage, owner):
        self.reference, self.owner = StorageWeakRef(storage), id(owner)
        self.first, self.lasts = self.calls(), False

    def calls(self):
        """Of its module; of all for a function's cache."""
        return calls.get(self.owner, sum(calls.values()))

    def look(self):
        self.lasts |= self.calls() > self.first


class Data:
    """A storage that was an input, and the places where lines say so."""

    def __init__(self, storage):
        self.reference, self.places = StorageWeakRef(storage), []

    def was_result(self):
        """Name it an activation from its beginning on: a custom function's result, to be filled step by step."""
        for truth, place in self.places:
            truth["inputs"].remove(place)
            truth.setdefault("activations", []).append(place)
        self.places.clear()


def storage_of(tensor):
    """The number of a tensor's storage; 0: it has none to itself."""
    return storage_in(tensor)._cdata if is_on_device(tensor) and tensor.layout == torch.strided else 0


def note_data(truth, tensors, results):
    """Note what the tensors' storages are: an input is one until it goes, even if only a graph still has it."""
    for storage in [number for number, of in data.items() if of.reference.expired()]:
        del data[storage]
    of = {place[0]: place for place in truth.storages.get("inputs", ())}
    for tensor in tensors:
        number = storage_of(tensor)
        place = number and of.get(storage_in(tensor).data_ptr())
        if place:
            data.setdefault(number, Data(storage_in(tensor))).places.append((truth.storages, place))
    for tensor in results:
        known = data.pop(storage_of(tensor), None)
        if known:
            known.was_result()


def look(moment, roots, variables=(), gradients=()):
    """Return the line that it makes, or None."""
    global looking
    seen[moment] = seen.get(moment, 0) + 1
    if seen[moment] > MOST or looking:
        return None
    looking, collects, now = True, gc.isenabled(), time.monotonic_ns()
    gc.disable()  # what the program left to the collector stays live until it would have gone
    try:
        truth, tables = find_truth(list(roots), list(variables), list(gradients))
    finally:
        looking = False
        if collects:
            gc.enable()
        gc.collect(0)  # of what looking made
    line = {"moment": moment, "time_ns": now, "truth": truth.storages, "rest": list(truth.rest)}
    lines.append((line, tables))
    return line


def write():
    """What a module still had as an attribute when it was called again, is a table that it keeps."""
    for line, tables in lines:
        truth = line["truth"]
        for address, size, table in tables:
            if table.lasts:
                for storages in truth.values():
                    storages[:] = [s for s in storages if s[0] != address]
                truth.setdefault("buffers", []).append([address, size])
            elif not any(s[0] == address for storages in truth.values() for s in storages):
                line["rest"].append([address, size, True])
        line["truth"] = {category: storages for category, storages in truth.items() if storages}
        print(json.dumps(line), file=log, flush=True)


def things_kept(module):
    """The values of a module's own attributes and its parameters', and of those of their helpers."""
    values = [value for name, value in list(module.__dict__.items())
              if name not in ("_parameters", "_buffers", "_modules") and not isinstance(value, torch.nn.Module)]
    values += [value for parameter in module._parameters.values() if parameter is not None
               for value in getattr(parameter, "__dict__", {}).values()]
    for value in values:
        yield value
        yield from things_of(value)


def things_of(value, nesting=0):
    """The attributes of an object of the program's or a library's, such as constants of quantization."""
    if isinstance(value, (torch.Tensor, torch.nn.Module, torch.optim.Optimizer, type)) or nesting > 1:
        return
    if type(value).__module__.split(".")[0] in ("builtins", "torch") or not hasattr(value, "__dict__"):
        return
    for thing in list(value.__dict__.values()):
        yield thing
        yield from things_of(thing, nesting + 1)


def data_in(variables):
    """The tensors of objects, such as a graph or a batch of a library's."""
    for value in variables:
        yield from tensors_in(list(things_of(value)))


def find_tables(claimed, modules, caches):
    """[address, bytes, Kept] of tensors that are attributes of modules, or in a function's cache, and
    nothing else."""
    owners = [(module, list(things_kept(module))) for module in modules]
    owners += [(cache, gc.get_referents(*gc.get_referents(cache))) for cache in caches]
    for owner, things in owners:
        for tensor in tensors_in(things):
            if not is_on_device(tensor) or tensor.layout != torch.strided or tensor.requires_grad:
                continue
            storage = storage_in(tensor)
            if storage.data_ptr() and storage.data_ptr() not in claimed:
                key = storage._cdata
                if key not in kept:
                    kept[key] = Kept(storage, owner)
                kept[key].look()
                yield storage.data_ptr(), storage.nbytes(), kept[key]


def has_node(tensor):
    """Whether autograd has a node for it. A view of a split that was written to has one, which cannot be queried."""
    try:
        return tensor.grad_fn is not None
    except RuntimeError:
        return True


def is_result(tensor):
    """Whether autograd has a node for what it is, or for what it is a view of."""
    return is_on_device(tensor) and tensor.layout == torch.strided and has_node(tensor) and (
        tensor._base is None or has_node(tensor._base))


def shadows(variables, shapes, nesting=0):
    """One tensor for each parameter, of their shapes."""
    for value in variables:
        if type(value).__module__.split(".")[0] not in ("builtins", "torch", "collections") and hasattr(value, "__dict__") and nesting < 2:
            yield from shadows(list(value.__dict__.values()), shapes, nesting + 1)
        tensors = list(tensors_in(value)) if isinstance(value, (list, tuple, dict)) else []
        if len(shapes) > 1 and sorted(tuple(t.shape) for t in tensors) == shapes:
            yield from tensors


# Classes that keep the keys and values of earlier tokens.
KEPT_TOKENS = {("transformers.cache_utils", name) for name in ("Cache", "CacheLayerMixin", "LinearAttentionCacheLayerMixin")}


def keeps_tokens(thing):
    return any((base.__module__, base.__name__) in KEPT_TOKENS for base in type(thing).__mro__)


def find_truth(roots, more_variables, gradients):
    truth = Truth()
    saved = list(saved_in_graph(roots))
    objects = gc.get_objects()
    modules = [o for o in objects if issubclass(type(o), torch.nn.Module)]
    optimizers = [o for o in objects if issubclass(type(o), torch.optim.Optimizer)]
    caches = [o for o in objects if type(o) is functools._lru_cache_wrapper and o.__module__ == "__main__"]
    # What a graph makes, a module may have among its parameters for a call (higher, functional_call).
    parameters = [p for m in modules for p in m._parameters.values() if p is not None and p.is_leaf]
    wrappers = Wrappers(objects, parameters)
    token_caches = [o for o in objects if keeps_tokens(o)]
    all_parameters = [o for o in objects if issubclass(type(o), torch.nn.Parameter)]
    # What is detached of one of these, is no input.
    all_results = [o for o in objects if issubclass(type(o), torch.Tensor) and is_result(o)]
    results = {storage_in(t).data_ptr() for t in all_results}
    del objects
    stepped = [p for o in optimizers for group in o.param_groups for p in group["params"]]
    stepped += [p for o in optimizers for p in o.state if isinstance(p, torch.Tensor)]
    stepped += wrappers.find_masters()
    stepped = list({id(p): p for p in stepped}.values())
    for category, tensors in sys.modules["__main__"].__dict__.get("truth", {}).items():  # what a program says of itself
        truth.claim(category, tensors)
    truth.claim("parameters", parameters)
    truth.claim("parameters", wrappers.find_parameters())
    truth.claim("buffers", (b for m in modules for b in m._buffers.values()))
    # A sparse gradient has the input for its indices.
    truth.claim("inputs", (t for t in (ref() for ref in inputs) if t is not None), results)
    truth.claim("kv_cache", (t for o in token_caches for t in tensors_in(vars(o)) if not is_result(t)))
    truth.claim("gradients", (p.grad for p in parameters + stepped + all_parameters if p.is_leaf))
    truth.claim("gradients", wrappers.find_gradients())
    truth.claim("gradients", gradients)
    # What an optimizer works on in place of modules' parameters: copies of these, one for each, flat ones, or a
    # rank's part of these. What has none to stand for, is a parameter itself.
    shapes = sorted(tuple(p.shape) for p in {id(p): p for p in parameters}.values())
    members = {id(p) for p in parameters}
    others = [p for p in stepped if id(p) not in members]
    truth.claim("optimizer_state", (p for p in others if shapes and id(p) not in used))
    truth.claim("parameters", stepped)
    truth.claim("parameters", all_parameters)  # also of modules that are gone
    states.update((id(t), weakref.ref(t)) for o in optimizers for t in tensors_in(dict(o.state)))
    truth.claim("optimizer_state", (t for t in (ref() for ref in states.values()) if t is not None))
    variables = [value for values in program_locals() for value in values] + more_variables
    # Of an optimizer without a class, or an average of the parameters.
    truth.claim("weight_copies" if optimizers else "optimizer_state",
                (t for t in shadows(variables, shapes) if not is_result(t)))
    live = active_blocks() if buckets else ()
    for address, (category, size) in buckets.items():
        truth.claim_place(category, address, size if address in live else 0)
    tables = list(find_tables(truth.claimed, modules, caches))
    mine = list(tensors_in(variables))
    of_graph = {storage_in(t).data_ptr() for t in saved if is_on_device(t) and t.layout == torch.strided}
    of_objects = [t for t in data_in(variables) if is_on_device(t) and t.layout == torch.strided and
                  (storage_in(t).data_ptr() in of_graph or id(t) in given)]
    given.update(map(id, of_objects))
    truth.claim("inputs", (t for t in mine + of_objects if t.grad_fn is None and not was_output(t) and
                           is_data(t)), results)
    truth.claim("inputs", (t for t in saved if storage_of(t) in data), results)
    note_data(truth, mine + of_objects + saved + [t for t in (ref() for ref in inputs) if t is not None], all_results)
    truth.claim("activations", roots)
    truth.claim("activations", (t for t in mine if is_result(t)))
    truth.claim("activations", saved)
    truth.claim("activations", all_results)
    truth.rest = find_rest(truth.claimed | {address for address, _, _ in tables})
    return truth, tables


def find_rest(claimed):
    """What PyTorch's allocator has given to others: [address, bytes], and whether Python has a tensor there."""
    starts, seen_by_python = sorted(claimed), set()
    for o in gc.get_objects():
        if issubclass(type(o), torch.Tensor) and is_on_device(o):
            seen_by_python.update(storage_in(part).data_ptr() for part in parts(o))
    for address, size in active_blocks().items():
        at = bisect_left(starts, address)
        if at == len(starts) or starts[at] >= address + size:
            yield address, size, address in seen_by_python


def is_data(tensor):
    """Variables of the loop are its data, but for losses and the like."""
    return tensor.dim() > 0 or not tensor.is_floating_point()


def watch_modules():
    def before(module, arguments, keywords):
        global depth
        depth += 1
        calls[id(module)] = calls.get(id(module), 0) + 1
        if depth == 1 and not looking:
            given = [t for t in tensors_in([list(arguments), dict(keywords)])
                     if t.grad_fn is None and not was_output(t, id(module) if torch.is_grad_enabled() else None)]
            for tensor in filter(was_output, given):
                was_made_for_this(tensor)
            inputs[:] = [ref for ref in inputs if ref() is not None] + list(map(weakref.ref, given))

    def after(module, arguments, keywords, output):
        global depth
        depth -= 1
        if depth == 0 and not torch.is_grad_enabled():
            line = look("call", tensors_in([output]))
            outputs.update((id(t), (weakref.ref(t), id(module), line)) for t in tensors_in([output]))

    torch.nn.modules.module.register_module_forward_pre_hook(
        lambda module, arguments: before(module, arguments, {}))
    torch.nn.modules.module.register_module_forward_hook(
        lambda module, arguments, output: after(module, arguments, {}, output), always_call=True)


def active_blocks():
    """{address: bytes} of what PyTorch's own allocator has given; other allocators do not tell."""
    if torch.cuda.get_allocator_backend() != "native":
        return {}
    return {block["address"]: block["requested_size"] for segment in torch.cuda.memory_snapshot()
            for block in segment["blocks"] if block["state"] == "active_allocated"}


def watch_buckets():
    """What DDP keeps of what its constructor's last part makes, and the start of a forward, which orders its buckets again."""
    def watched(plain):
        def call(self, *arguments, **keywords):
            before = active_blocks()
            done = plain(self, *arguments, **keywords)
            after = active_blocks()
            for address in before.keys() - after.keys():
                buckets.pop(address, None)
            category = "gradients" if self.gradient_as_bucket_view else "communication"
            buckets.update({address: (category, after[address]) for address in after.keys() - before.keys()})
            return done
        return call

    DDP = torch.nn.parallel.DistributedDataParallel
    for name in ("_ddp_init_helper", "_pre_forward"):
        setattr(DDP, name, watched(getattr(DDP, name)))


def watch_hooks():
    """The hooks of leaves' gradients, at their beginning."""
    def watched(plain):
        def register(self, hook):
            def call(given):
                global hooks
                if self.is_cuda:
                    hooks += 1
                    if hooks % EACH_HOOK == 1:
                        look("hook", [], gradients=[given])
                return hook(given)
            return plain(self, call if self.is_leaf else hook)  # a graph that holds its own tensor would never go
        return register

    for name in ("register_hook", "register_post_accumulate_grad_hook"):
        setattr(torch.Tensor, name, watched(getattr(torch.Tensor, name)))


def watch_backward():
    plain = torch.autograd.backward

    def backward(tensors, *arguments, **keywords):
        roots = list(tensors_in([tensors]))
        look("forward", roots)
        plain(tensors, *arguments, **keywords)
        look("backward", roots)

    torch.autograd.backward = backward
    plain_grad = torch.autograd.grad

    def grad(outputs, *arguments, **keywords):
        if threading.current_thread() is threading.main_thread():  # else in a backward, with its variables
            look("grad", tensors_in([outputs]))
        return plain_grad(outputs, *arguments, **keywords)

    torch.autograd.grad = grad
    hooks = torch.autograd.graph.saved_tensors_hooks
    plain_init = hooks.__init__

    def init(self, pack, unpack):
        def unpack_unless_looking(value):
            if looking:
                raise NotNow
            return unpack(value)
        plain_init(self, pack, unpack_unless_looking)

    hooks.__init__ = init


def main():
    global log
    log = open(sys.argv[1], "w", encoding="utf-8")
    allocator = allocator_choice.choose()
    watch_modules()
    watch_backward()
    watch_buckets()
    watch_hooks()
    register_optimizer_step_post_hook(lambda *_: look("step", []))
    gc.freeze()  # what PyTorch itself has: 100,000s of objects that need not be looked at
    sys.argv = sys.argv[2:]
    sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
    left = runpy.run_path(sys.argv[0], run_name="__main__")
    globals().update({"truth": left.get("truth", {})})
    look("end", [], left.values())
    write()
    del allocator


main()
