/* SPDX-License-Identifier: Apache-2.0 */
#include "parts.h"
#include "analyzer/classify/tracker.h"
#include "analyzer/remarks/remark.h"
#include "trace-format/dtypes.h"

static json_t *parts(const struct mt_balance_part *part, size_t n)
{
    json_t *array = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(array,
                              json_pack("{s:o, s:o, s:o}", "name", mt_json_text(part[i].name),
                                        "bytes", mt_json_number(part[i].bytes), "blocks",
                                        mt_json_number(part[i].blocks)));
    return array;
}

static json_t *runtime_parts(const struct mt_balance *balance)
{
    const struct mt_cuda_object_counts *there = &balance->objects, *since = &balance->since;
    return json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "first",
        mt_json_number(balance->first), "since", mt_json_number(balance->runtime - balance->first),
        "contexts", mt_json_number(there->contexts), "modules", mt_json_number(there->modules),
        "module_bytes", mt_json_number(there->code), "streams", mt_json_number(there->streams),
        "contexts_since", mt_json_number(since->contexts), "modules_since",
        mt_json_number(since->modules), "module_bytes_since", mt_json_number(since->code),
        "streams_since", mt_json_number(since->streams), "communicators",
        mt_json_number(there->communicators), "communicators_since",
        mt_json_number(since->communicators));
}

json_t *mt_json_balance(const struct mt_balance *balance)
{
    json_t *object = json_pack("{s:o, s:o, s:o}", "pytorch", mt_json_number(balance->pytorch),
                               "cuda", mt_json_number(balance->cuda), "by_library",
                               parts(balance->part, balance->n_parts));
    json_object_set_new(object, "empty_segments", parts(balance->empty, balance->n_empty));
    json_object_set_new(object, "nccl",
                        json_pack("{s:o, s:o}", "communicators",
                                  mt_json_number(balance->nccl.communicators), "bytes",
                                  mt_json_number(balance->nccl.bytes)));
    json_object_set_new(object, "imported",
                        json_pack("{s:o, s:o}", "bytes", mt_json_number(balance->imported.bytes),
                                  "blocks", mt_json_number(balance->imported.blocks)));
    if (!balance->known)
        return object;
    const struct {
        const char *name;
        uint64_t value;
    } numbers[] = {{"total", balance->total},
                   {"used", balance->used},
                   {"sampled", balance->sampled},
                   {"runtime", balance->runtime},
                   {"other_processes", balance->others},
                   {"unexplained", balance->unexplained},
                   {"sample_time_ns", balance->sample_time_ns}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        json_object_set_new(object, numbers[i].name, mt_json_number(numbers[i].value));
    json_object_set_new(object, "runtime_parts", runtime_parts(balance));
    json_object_set_new(object, "own_known", json_boolean(balance->knows_own));
    return object;
}

json_t *mt_json_pool(const struct mt_pool_state *pool)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "reserved", mt_json_number(pool->reserved),
                     "segments", mt_json_number(pool->segments), "free", mt_json_number(pool->free),
                     "pieces", mt_json_number(pool->pieces), "largest_free",
                     mt_json_number(pool->largest_free));
}

json_t *mt_json_private_pools(const struct mt_private_pools *pools)
{
    json_t *array = json_array();
    for (size_t i = 0; i < pools->n; i++)
        json_array_append_new(array, json_pack("{s:o, s:o, s:o}", "name",
                                               mt_json_text(pools->pool[i].name), "reserved",
                                               mt_json_number(pools->pool[i].reserved), "used",
                                               mt_json_number(pools->pool[i].used)));
    return array;
}

json_t *mt_json_pins(const struct mt_pins *pins, const struct mt_definitions *definitions)
{
    json_t *array = json_array();
    for (size_t i = 0; i < pins->n; i++) {
        const struct mt_pin *pin = &pins->pin[i];
        json_array_append_new(array, json_pack("{s:o, s:s, s:s, s:o, s:o, s:o, s:o}", "line",
                                               mt_json_frame(definitions, pin->stack), "category",
                                               mt_categories[pin->category].name, "certainty",
                                               mt_certainty_name(pin->certainty), "segments",
                                               mt_json_number(pin->segments), "blocks",
                                               mt_json_number(pin->blocks), "bytes",
                                               mt_json_number(pin->bytes), "free",
                                               mt_json_number(pin->free)));
    }
    return array;
}

json_t *mt_json_rising(const struct mt_definitions *definitions, const struct mt_rising *rising)
{
    return json_pack("{s:o, s:o, s:o, s:o}", "allocations", mt_json_number(rising->n), "smallest",
                     mt_json_number(rising->least), "largest", mt_json_number(rising->most), "line",
                     mt_json_frame(definitions, mt_stack_line(definitions, rising->stack)));
}

static json_t *kept_json(const struct mt_definitions *definitions, const struct mt_cuda_pool *pool)
{
    if (!pool->kept.bytes)
        return json_null();
    return json_pack("{s:o, s:b, s:o, s:o, s:o}", "bytes", mt_json_number(pool->kept.bytes),
                     "exact", (int)pool->kept.is_exact, "time_ns",
                     mt_json_number(pool->kept.time_ns), "requested",
                     mt_json_number(pool->kept.wanted), "line",
                     mt_json_frame(definitions, mt_stack_line(definitions, pool->kept.stack)));
}

json_t *mt_json_cuda_pools(const struct mt_analysis *analysis, const struct mt_device *device)
{
    const struct mt_definitions *definitions = analysis->replay.definitions;
    const struct mt_cuda_pools *pools = &analysis->replay.cuda_pools;
    json_t *array = json_array();
    for (size_t i = 0; i < pools->n; i++) {
        const struct mt_cuda_pool *pool = &pools->pool[i];
        bool keeps_all = pool->threshold == MT_KEEPS_ALL;
        if (pool->slot != mt_device_slot(device->device))
            continue;
        json_array_append_new(
            array,
            json_pack("{s:b, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "default",
                      !pool->handle, "keeps_all", keeps_all, "threshold",
                      keeps_all ? json_null() : mt_json_number(pool->threshold), "set_by",
                      mt_json_frame(definitions, mt_stack_line(definitions, pool->stack)),
                      "time_ns", mt_json_number(pool->last.time_ns), "reserved",
                      mt_json_number(pool->last.reserved), "used", mt_json_number(pool->last.used),
                      "most_reserved", mt_json_number(pool->most_reserved), "most_used",
                      mt_json_number(pool->most_used), "kept", kept_json(definitions, pool)));
    }
    return array;
}

json_t *mt_json_precision(const struct mt_precision *precision)
{
    if (!precision->parameters)
        return json_null();
    json_t *roles = json_array();
    for (size_t i = 0; i < precision->n; i++) {
        const struct mt_precision_row *row = &precision->row[i];
        json_array_append_new(
            roles,
            json_pack("{s:s, s:o, s:o, s:o, s:o}", "role", mt_role_names[row->role].name, "dtype",
                      row->dtype ? json_string(mt_dtype_name(row->dtype)) : json_null(),
                      "element_size", row->width ? json_integer(row->width) : json_null(), "bytes",
                      mt_json_number(row->bytes), "blocks", mt_json_number(row->blocks)));
    }
    return json_pack("{s:o, s:o, s:b, s:f, s:o, s:o}", "parameters",
                     mt_json_number(precision->parameters), "here", mt_json_number(precision->here),
                     "whole_known", !precision->lacks_others, "bytes_per_parameter",
                     (double)precision->bytes / (double)precision->parameters, "rounding",
                     mt_json_number(precision->rounding), "roles", roles);
}

json_t *mt_json_ranges(const struct mt_rule_context *context, unsigned slot)
{
    const struct mt_ranges *ranges = &context->tracker->ranges;
    json_t *array = json_array();
    for (size_t path = 1; path < ranges->device[slot].n; path++) {
        const struct mt_range_most *most = &ranges->device[slot].most[path];
        if (most->event)
            json_array_append_new(
                array,
                json_pack("{s:o, s:o, s:o, s:o, s:o}", "range",
                          mt_json_range(context->definitions, ranges, (uint32_t)path), "times",
                          mt_json_number(ranges->range[path].times), "allocated",
                          mt_json_number(most->bytes), "time_ns", mt_json_number(most->time_ns),
                          "event", mt_json_number(most->event)));
    }
    return array;
}

json_t *mt_json_marks(const struct mt_definitions *definitions, const struct mt_ranges *ranges)
{
    char text[1024];
    json_t *array = json_array();
    for (size_t i = 0; i < ranges->n_marks; i++) {
        const struct mt_range_mark *mark = &ranges->mark[i];
        mt_range_name_text(text, sizeof text, definitions, mark->name, mark->domain);
        json_array_append_new(array, json_pack("{s:o, s:o, s:o, s:o}", "mark", mt_json_text(text),
                                               "times", mt_json_number(mark->times), "first_ns",
                                               mt_json_number(mark->first_ns), "last_ns",
                                               mt_json_number(mark->last_ns)));
    }
    return array;
}

/* Put what keeps most of some blocks, if it is known. */
static void put_held(json_t *object, const struct mt_held_most *held)
{
    if (held->path)
        json_object_set_new(object, "held_by", mt_json_held_most(held));
}

json_t *mt_json_held_kinds(const struct mt_device *device)
{
    static const char *const names[MT_HELD_KINDS] = {[MT_HELD_GARBAGE] = "garbage",
                                                     [MT_HELD_TRACEBACK] = "traceback",
                                                     [MT_HELD_LAST_ERROR] = "last_error"};
    json_t *object = json_object();
    for (unsigned kind = 0; kind < MT_HELD_KINDS; kind++) {
        const struct mt_held_most *held = &device->held_by[kind];
        json_object_set_new(object, names[kind],
                            held->path ? mt_json_held_most(held) : json_null());
    }
    return object;
}

json_t *mt_json_growth_sites(const struct mt_definitions *definitions,
                             const struct mt_growth *growth)
{
    json_t *sites = json_array();
    for (size_t i = 0; i < growth->n; i++) {
        const struct mt_growth_site *site = &growth->site[i];
        json_t *object = json_pack(
            "{s:o, s:i, s:s, s:s, s:o}", "bytes", mt_json_number(site->bytes), "iterations",
            (int)site->iterations, "category", mt_categories[site->category].name, "certainty",
            mt_certainty_name(site->certainty), "line", mt_json_frame(definitions, site->line));
        put_held(object, &site->held);
        json_array_append_new(sites, object);
    }
    return sites;
}

json_t *mt_json_growth(const struct mt_definitions *definitions, const struct mt_growth *growth)
{
    uint64_t left;
    uint32_t every = mt_growth_rhythm(growth, &left);
    return json_pack("{s:o, s:i, s:o, s:b, s:o, s:o, s:o}", "per_iteration",
                     mt_json_number(growth->per_iteration), "every", (int)every, "left",
                     mt_json_number(left), "likely", (int)growth->is_likely, "undecided",
                     mt_json_number(growth->undecided), "loop", mt_json_loop(growth->turns),
                     "sites", mt_json_growth_sites(definitions, growth));
}

static json_t *library_frames(const struct mt_definitions *definitions, const struct mt_site *site)
{
    json_t *frames = json_array();
    for (uint32_t at = site->whole; at && at != site->stack; at = mt_stack(definitions, at)->parent)
        json_array_append_new(frames, mt_json_frame(definitions, at));
    return frames;
}

json_t *mt_json_loop(const struct mt_turns *turns)
{
    if (!turns)
        return json_null();
    const struct mt_frame *frame = turns->frame, *caller = turns->caller;
    json_t *from = caller ? json_pack("{s:o, s:o, s:i}", "function", mt_json_text(caller->function),
                                      "file", mt_json_text(caller->file), "line", (int)caller->line)
                          : json_null();
    json_t *object = json_pack(
        "{s:o, s:o, s:i, s:o, s:o, s:o}", "function",
        frame ? mt_json_text(frame->function) : json_null(), "file",
        frame ? mt_json_text(frame->file) : json_null(), "line", (int)turns->line, "turns",
        turns->n && !turns->are_steps ? mt_json_number(turns->n) : json_null(), "range",
        turns->named ? mt_json_text(turns->name) : json_null(), "called_from", from);
    if (turns->threads)
        json_object_set_new(object, "threads", mt_json_number(turns->threads));
    return object;
}

json_t *mt_json_call_sites(const struct mt_definitions *definitions, const struct mt_device *device,
                           const struct mt_filter *filter)
{
    json_t *array = json_array();
    size_t n = mt_filter_rows(filter, device->sites.n, device->sites.n);
    for (size_t i = 0; i < n; i++) {
        const struct mt_site *site = &device->sites.site[i];
        json_t *object =
            json_pack("{s:o, s:o, s:s, s:s, s:s?, s:s?, s:o, s:o, s:o, s:o}", "bytes",
                      mt_json_number(site->bytes), "blocks", mt_json_number(site->blocks),
                      "category", mt_categories[site->category].name, "certainty",
                      mt_certainty_name(site->certainty), "guess", site->guess, "copy", site->copy,
                      "operator", mt_json_type_name(definitions, site->node_name), "line",
                      mt_json_frame(definitions, site->stack), "called_from",
                      mt_json_frame(definitions, mt_site_caller(definitions, site)), "name",
                      mt_json_name(definitions, site->name));
        if (site->whole)
            json_object_set_new(object, "library_frames", library_frames(definitions, site));
        if (site->held)
            put_held(object, site->held);
        json_array_append_new(array, object);
    }
    return array;
}

json_t *mt_json_cached(const struct mt_definitions *definitions, const struct mt_cached *cached,
                       bool is_moment)
{
    if (!cached->n)
        return json_null();
    json_t *pools = json_array();
    for (size_t i = 0; i < cached->n; i++) {
        const struct mt_cached_pool *pool = &cached->pool[i];
        json_t *object =
            json_pack("{s:o, s:b, s:b, s:o, s:o, s:o, s:o}", "pool", mt_json_text(pool->name),
                      "private", pool->is_private, "own", i == cached->own, "reserved",
                      mt_json_number(pool->reserved), "allocated", mt_json_number(pool->allocated),
                      "free", mt_json_number(pool->reserved - pool->allocated), "line",
                      mt_json_frame(definitions, pool->stack));
        if (is_moment) {
            json_object_set_new(object, "whole_segments", mt_json_number(pool->whole));
            json_object_set_new(object, "in_pieces", mt_json_number(pool->in_pieces));
            json_object_set_new(object, "pieces", mt_json_number(pool->pieces));
            json_object_set_new(object, "largest", mt_json_number(pool->largest));
        }
        json_array_append_new(pools, object);
    }
    if (!is_moment)
        return json_pack("{s:o, s:o, s:o}", "other_pools", mt_json_number(cached->others),
                         "sharing", mt_json_number(cached->sharing), "pools", pools);
    enum mt_free_kind kind = mt_cached_kind(cached);
    return json_pack("{s:s?, s:o, s:o, s:o, s:o, s:o}", "mostly",
                     kind < MT_FREE_KINDS ? mt_free_kind_names[kind] : NULL, "other_pools",
                     mt_json_number(cached->others), "whole_segments",
                     mt_json_number(cached->whole), "pieces", mt_json_number(cached->in_pieces),
                     "sharing", mt_json_number(cached->sharing), "pools", pools);
}

json_t *mt_json_remark(const struct mt_analysis *analysis)
{
    struct mt_remark remark;
    if (mt_remark_find(&remark, analysis) || !remark.kind)
        return json_null();
    return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o}", "kind", mt_remark_name(remark.kind),
                     "device", mt_json_index(remark.device), "bytes", mt_json_number(remark.bytes),
                     "blocks", mt_json_number(remark.blocks), "line",
                     mt_json_frame(analysis->replay.definitions, remark.line), "rule",
                     mt_json_text_or_null(remark.rule ? remark.rule->name : ""));
}
