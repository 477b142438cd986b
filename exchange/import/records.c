/* SPDX-License-Identifier: Apache-2.0 */
#include "records.h"
#include "analyzer/support/grow.h"
#include "analyzer/support/new-file.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>

/* Known keys of dictionaries: K(enumerator, text). They are the first texts of the graph. */
/* clang-format off */
#define KEYS(K)                                                                                    \
    K(ACTION, "action") K(ADDR, "addr") K(ADDRESS, "address")                                      \
    K(SIZE, "size") K(TIME, "time_us") K(FRAMES, "frames")                                         \
    K(NAME, "name") K(FILENAME, "filename") K(LINE, "line")                                        \
    K(STATE, "state") K(REQUESTED, "requested_size") K(HISTORY, "history")                         \
    K(REAL_SIZE, "real_size") K(TOTAL, "total_size") K(BLOCKS, "blocks")                           \
    K(DEVICE, "device") K(EXPANDABLE, "is_expandable") K(TYPE, "segment_type")                     \
    K(STAGE, "stage") K(SEGMENTS, "segments") K(TRACES, "device_traces")                           \
    K(DEVICE_FREE, "device_free") K(TRACE_EVENTS, "traceEvents") K(ARGS, "args")                   \
    K(TS, "ts") K(BYTES, "Bytes") K(ADDR_OF, "Addr")                                               \
    K(DEVICE_ID, "Device Id") K(DEVICE_TYPE, "Device Type") K(ALLOCATED, "Total Allocated")        \
    K(RESERVED, "Total Reserved") K(BASE_TIME, "baseTimeNanoseconds") K(STREAM, "stream")          \
    K(POOL, "pool_id") K(SEGMENT_POOL, "segment_pool_id") K(FORWARD, "forward_frames")             \
    K(METADATA, "user_metadata") K(CATEGORY, "category") K(SETTINGS, "PYTORCH_CUDA_ALLOC_CONF")         \
    K(CAT, "cat") K(PHASE, "ph") K(THREAD, "tid") K(DURATION, "dur") K(ID, "id")                   \
    K(CALL_FROM, "CallFrom") K(HOST_TRACES, "host_traces")
/* clang-format on */

#define MOST_LANES 1000000u /* streams and pools together */

enum key {
#define KEY_ENUM(id, text) KEY_##id,
    KEYS(KEY_ENUM)
#undef KEY_ENUM
        KEYS_N
};

static const char *const key_texts[] = {
#define KEY_TEXT(id, text) text,
    KEYS(KEY_TEXT)
#undef KEY_TEXT
};

/* Values by key; those without a bit in `has` are absent. */
struct dict {
    mt_cell value[KEYS_N];
    uint64_t has;
};
_Static_assert(KEYS_N <= 64, "a bit a key");

static bool has(const struct dict *dict, enum key key)
{
    return dict->has >> key & 1;
}

static int64_t number(const struct dict *dict, enum key key)
{
    mt_cell cell = has(dict, key) ? dict->value[key] : 0;
    int64_t most = (INT64_C(1) << 59) - 1;
    return mt_cell_tag(cell) == MT_CELL_NUMBER  ? mt_cell_value(cell)
           : mt_cell_tag(cell) == MT_CELL_KILO  ? (mt_cell_value(cell) < 0 ? -most - 1 : most)
           : mt_cell_tag(cell) == MT_CELL_MILLI ? mt_cell_value(cell) / 1000
                                                : 0;
}

/* Return a time in microseconds, clamped so that the difference of two fits in nanoseconds. */
static int64_t moment(const struct dict *dict, enum key key)
{
    int64_t us = number(dict, key), most = INT64_MAX / 4000;
    return us > most ? most : us < -most ? -most : us;
}

static uint64_t size_of(const struct dict *dict, enum key key)
{
    int64_t value = number(dict, key);
    return value > 0 ? (uint64_t)value : 0;
}

static const char *text(const struct mt_records *records, const struct dict *dict, enum key key)
{
    return mt_graph_text(&records->graph, has(dict, key) ? dict->value[key] : 0);
}

static enum mt_action action_of(const char *text)
{
    static const char *const names[] = {
        [MT_ACTION_ALLOC] = "alloc",
        [MT_ACTION_FREE_REQUESTED] = "free_requested",
        [MT_ACTION_FREE_COMPLETED] = "free_completed",
        [MT_ACTION_SEGMENT_ALLOC] = "segment_alloc",
        [MT_ACTION_SEGMENT_FREE] = "segment_free",
        [MT_ACTION_SEGMENT_MAP] = "segment_map",
        [MT_ACTION_SEGMENT_UNMAP] = "segment_unmap",
        [MT_ACTION_OOM] = "oom",
        [MT_ACTION_ANNOTATE] = "annotate",
    };
    for (unsigned i = 1; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i], text))
            return (enum mt_action)i;
    return MT_ACTION_OTHER;
}

static int add_event(struct mt_records *records, const struct mt_import_event *event, mt_cell *made)
{
    if (event->has_time && event->time_us < records->first_us)
        records->first_us = event->time_us;
    records->lacks_times |= !event->has_time;
    *made = mt_cell_record(MT_RECORD_EVENT, records->n_events++);
    return fwrite(event, sizeof *event, 1, records->spool) == 1 ? 0 : -EIO;
}

/* Read a pool's id, (0, 1), as a tuple or a JSON list; 0: none. */
static uint64_t pool_of(struct mt_records *records, mt_cell cell)
{
    const struct mt_object *list = mt_graph_list(&records->graph, cell);
    if (mt_cell_tag(cell) == MT_CELL_PAIR)
        return (uint64_t)mt_cell_value(cell);
    if (!list || list->n != 2 || mt_cell_tag(list->items[0]) != MT_CELL_NUMBER ||
        mt_cell_tag(list->items[1]) != MT_CELL_NUMBER)
        return 0;
    return (uint64_t)(mt_cell_value(list->items[0]) << 28 | mt_cell_value(list->items[1]));
}

/* Find the number of a stream and pool; 0: unknown. */
static int lane_of(struct mt_records *records, const struct dict *dict, enum key pool,
                   uint32_t *number_of_lane)
{
    struct mt_lane lane = {.stream = (uint64_t)number(dict, KEY_STREAM),
                           .pool = has(dict, pool) ? pool_of(records, dict->value[pool]) : 0};
    uint64_t key = lane.stream * UINT64_C(0x9e3779b97f4a7c15) ^ lane.pool;
    *number_of_lane = 0;
    if (!has(dict, KEY_STREAM))
        return 0;
    uint32_t known = mt_address_map_get(&records->lane_of, key);
    if (known && records->lane[known].stream == lane.stream &&
        records->lane[known].pool == lane.pool) {
        *number_of_lane = known;
        return 0;
    }
    if (records->n_lanes >= MOST_LANES)
        return 0;
    *number_of_lane = (uint32_t)records->n_lanes;
    if (MT_GROW(records->lane, records->lanes_capacity, records->n_lanes) ||
        mt_address_map_put(&records->lane_of, key, *number_of_lane))
        return -ENOMEM;
    records->lane[records->n_lanes++] = lane;
    return 0;
}

/* Find the name given by the program; names written by other tools come with a category. */
static uint32_t name_of(struct mt_records *records, const struct dict *dict)
{
    const char *name = text(records, dict, KEY_METADATA);
    return *name && !has(dict, KEY_CATEGORY)
               ? mt_script_string(records->script,
                                  (uint32_t)mt_cell_value(dict->value[KEY_METADATA]), name)
               : 0;
}

static int take_event(struct mt_records *records, const struct dict *dict, mt_cell *made)
{
    struct mt_import_event event = {
        .address = size_of(dict, has(dict, KEY_ADDR) ? KEY_ADDR : KEY_DEVICE_FREE),
        .size = size_of(dict, KEY_SIZE),
        .time_us = moment(dict, KEY_TIME),
        .has_time = has(dict, KEY_TIME),
        .action = (uint8_t)action_of(text(records, dict, KEY_ACTION))};
    if (event.action == MT_ACTION_ALLOC || event.action == MT_ACTION_ANNOTATE)
        event.name = name_of(records, dict);
    int rc = mt_records_whence_forward(records, has(dict, KEY_FRAMES) ? dict->value[KEY_FRAMES] : 0,
                                       has(dict, KEY_FORWARD) ? dict->value[KEY_FORWARD] : 0,
                                       &event.whence);
    if (!rc)
        rc = lane_of(records, dict, KEY_POOL, &event.lane);
    return rc ? rc : add_event(records, &event, made);
}

static int take_block(struct mt_records *records, const struct dict *dict, mt_cell *made)
{
    const char *state = text(records, dict, KEY_STATE);
    mt_cell frames = has(dict, KEY_FRAMES) ? dict->value[KEY_FRAMES] : 0;
    if (!frames &&
        has(dict, KEY_HISTORY)) { /* up to 2.0, the last of the block's users comes first */
        const struct mt_object *history = mt_graph_list(&records->graph, dict->value[KEY_HISTORY]);
        frames = history && history->n ? history->items[0] : 0;
    }
    if (MT_GROW(records->block, records->blocks_capacity, records->n_blocks))
        return -ENOMEM;
    struct mt_import_block *block = &records->block[records->n_blocks];
    *block = (struct mt_import_block){.address = size_of(dict, KEY_ADDRESS),
                                      .size = size_of(dict, KEY_SIZE),
                                      .requested = size_of(dict, KEY_REQUESTED),
                                      .is_live = !strcmp(state, "active_allocated"),
                                      .is_pending = !strncmp(state, "active_", 7) &&
                                                    strcmp(state, "active_allocated")};
    *made = mt_cell_record(MT_RECORD_BLOCK, records->n_blocks++);
    return mt_records_whence(records, frames, &block->whence);
}

/* Assign addresses to the blocks of a segment, which they fill: up to 2.0 they had none. */
static void place_blocks(struct mt_records *records, const struct mt_import_segment *segment)
{
    uint64_t address = segment->address;
    for (uint64_t i = 0; i < segment->count; i++) {
        struct mt_import_block *block = &records->block[segment->first + i];
        if (!block->address)
            block->address = address;
        address = block->address + block->size;
    }
}

static int take_segment(struct mt_records *records, const struct dict *dict, mt_cell *made)
{
    int64_t device = number(dict, KEY_DEVICE);
    const struct mt_object *blocks = mt_graph_list(&records->graph, dict->value[KEY_BLOCKS]);
    bool has_blocks = blocks && blocks->kind == MT_RECORD_BLOCK &&
                      blocks->first + blocks->count <= records->n_blocks;
    if (MT_GROW(records->segment, records->segments_capacity, records->n_segments))
        return -ENOMEM;
    struct mt_import_segment *segment = &records->segment[records->n_segments];
    *segment = (struct mt_import_segment){
        .address = size_of(dict, KEY_ADDRESS),
        .size = size_of(dict, KEY_TOTAL),
        .first = has_blocks ? blocks->first : 0,
        .count = has_blocks ? blocks->count : 0,
        .device = (int16_t)(device == -1                                         ? MT_IMPORT_HOST
                            : device >= 0 && device < (int64_t)MT_IMPORT_DEVICES ? device
                                                                                 : 0),
        .is_expandable = number(dict, KEY_EXPANDABLE) != 0,
        .is_small = !strcmp(text(records, dict, KEY_TYPE), "small")};
    place_blocks(records, segment);
    *made = mt_cell_record(MT_RECORD_SEGMENT, records->n_segments++);
    int rc = lane_of(records, dict, KEY_SEGMENT_POOL, &segment->lane);
    return rc ? rc
              : mt_records_whence(records, has(dict, KEY_FRAMES) ? dict->value[KEY_FRAMES] : 0,
                                  &segment->whence);
}

static int take_note(struct mt_records *records, const struct dict *dict, mt_cell *made)
{
    const char *name = text(records, dict, KEY_NAME);
    if (MT_GROW(records->note, records->notes_capacity, records->n_notes))
        return -ENOMEM;
    records->note[records->n_notes] = (struct mt_import_note){
        .time_us = moment(dict, KEY_TIME),
        .text = *name ? mt_script_string(records->script,
                                         (uint32_t)mt_cell_value(dict->value[KEY_NAME]), name)
                      : 0,
        .is_end = !strcmp(text(records, dict, KEY_STAGE), "END")};
    *made = mt_cell_record(MT_RECORD_NOTE, records->n_notes++);
    return records->script->rc;
}

/* Process the list of a device's events, or of the host's. */
static void take_trace(struct mt_records *records, unsigned place, const struct mt_object *trace)
{
    if (records->n_traces <= place)
        records->n_traces = place + 1;
    if (trace->kind == MT_RECORD_EVENT && trace->first + trace->count <= records->n_events) {
        records->trace[place].first = trace->first;
        records->trace[place].count = trace->count;
    }
}

/* Process the list of traces, whose index is the device. */
static void take_traces(struct mt_records *records, mt_cell cell)
{
    const struct mt_object *traces = mt_graph_list(&records->graph, cell);
    for (size_t i = 0; traces && i < traces->n; i++) {
        const struct mt_object *trace = mt_graph_list(&records->graph, traces->items[i]);
        records->cut_devices |= i >= MT_IMPORT_DEVICES;
        if (trace && i < MT_IMPORT_DEVICES)
            take_trace(records, (unsigned)i, trace);
    }
}

/* Note the order: a profile has the events of one thread after another. */
static void note_order(struct mt_records *records, const struct mt_import_event *event)
{
    bool goes_back = event->time_us < records->last_us ||
                     (event->time_us == records->last_us && event->nano < records->last_nano);
    if (records->n_runs < MT_IMPORT_RUNS && (goes_back || !records->n_runs))
        records->run[records->n_runs++] = records->n_events;
    records->last_us = event->time_us;
    records->last_nano = event->nano;
}

/* Convert to KiB: PyTorch's segments are whole MiB. */
static uint32_t kib(int64_t bytes)
{
    return bytes > 0 && bytes >> 10 <= UINT32_MAX ? (uint32_t)(bytes >> 10) : 0;
}

/* Compute PyTorch's total before the device's first event. */
static void note_before(struct mt_records *records, unsigned device, int64_t milli)
{
    int64_t bytes = records->args.allocated - records->args.bytes;
    if (records->before[device].is_known && records->before[device].milli <= milli)
        return;
    records->before[device].is_known = true;
    records->before[device].milli = milli;
    records->before[device].bytes = bytes > 0 ? (uint64_t)bytes : 0;
}

/* Return thousandths of the file's unit; 0: too large. */
static int64_t thousandths(const struct dict *dict, enum key key)
{
    mt_cell cell = has(dict, key) ? dict->value[key] : 0;
    int64_t whole = number(dict, key), most = INT64_MAX / 4000;
    return mt_cell_tag(cell) == MT_CELL_MILLI ? mt_cell_value(cell)
           : whole > most || whole < -most    ? 0
                                              : whole * 1000;
}

/* Process a profiler entry: a Python call, a backward node, or a link between the two. */
static int take_span(struct mt_records *records, const struct dict *dict)
{
    static const char node[] = "autograd::engine::evaluate_function: ";
    const char *category = text(records, dict, KEY_CAT), *name = text(records, dict, KEY_NAME);
    const char *from = strrchr(mt_graph_text(&records->graph, records->call_from), ':');
    int64_t begin = thousandths(dict, KEY_TS), most = thousandths(dict, KEY_DURATION);
    struct mt_ran span = {.begin = begin,
                          .end = begin + (most > 0 ? most : 0),
                          .thread = (uint32_t)number(dict, KEY_THREAD),
                          .name = *name ? (uint32_t)mt_cell_value(dict->value[KEY_NAME]) : 0,
                          .from = from ? (uint32_t)strtoul(from + 1, NULL, 10) : 0,
                          .kind = MT_RAN_CALL};
    records->call_from = 0;
    if (!strcmp(category, "fwdbwd"))
        return mt_profile_link(
            &records->profile,
            &(struct mt_call_link){.id = number(dict, KEY_ID),
                                   .time = begin,
                                   .thread = span.thread,
                                   .is_end = !strcmp(text(records, dict, KEY_PHASE), "f")});
    if (!strncmp(name, node, sizeof node - 1)) {
        span.kind = MT_RAN_NODE;
        if (mt_texts_add(&records->graph.texts, name + sizeof node - 1, &span.name))
            return -ENOMEM;
    } else if (strcmp(category, "python_function") != 0) {
        return 0;
    }
    return mt_profile_ran(&records->profile, &span);
}

/* Process the profiler's "[memory]", whose args came before it: an allocation, or a free if its
 * bytes are negative. */
static int take_instant(struct mt_records *records, const struct dict *dict, mt_cell *made)
{
    int64_t milli = thousandths(dict, KEY_TS);
    if (records->args.device_type != 1 || records->args.device < 0 ||
        records->args.device >= (int64_t)MT_IMPORT_DEVICES)
        return 0; /* the host's, or not known */
    int64_t bytes = records->args.bytes;
    struct mt_import_event event = {.address = (uint64_t)records->args.address,
                                    .size = (uint64_t)(bytes < 0 ? -bytes : bytes),
                                    .time_us = milli / 1000,
                                    .nano = (uint32_t)(milli % 1000 + 1000) % 1000,
                                    .whence = (uint32_t)number(dict, KEY_THREAD),
                                    .has_time = 1,
                                    .device = (uint16_t)records->args.device,
                                    .action =
                                        bytes < 0 ? MT_ACTION_FREE_REQUESTED : MT_ACTION_ALLOC};
    event.reserved_kib = kib(records->args.reserved);
    note_before(records, event.device, milli);
    records->is_profile = true;
    records->args.is_there = false;
    note_order(records, &event);
    return add_event(records, &event, made);
}

static void take_args(struct mt_records *records, const struct dict *dict)
{
    records->args.is_there = true;
    records->args.address = number(dict, KEY_ADDR_OF);
    records->args.bytes = number(dict, KEY_BYTES);
    records->args.device = number(dict, KEY_DEVICE_ID);
    records->args.device_type = number(dict, KEY_DEVICE_TYPE);
    records->args.allocated = number(dict, KEY_ALLOCATED);
    records->args.reserved = number(dict, KEY_RESERVED);
}

static int take(struct mt_records *records, const struct dict *dict, mt_cell *made)
{
    uint64_t frame;
    if (has(dict, KEY_ACTION))
        return take_event(records, dict, made);
    if (has(dict, KEY_FILENAME) && has(dict, KEY_NAME)) {
        int rc = mt_records_frame(records, dict->value[KEY_NAME], dict->value[KEY_FILENAME],
                                  has(dict, KEY_LINE) ? dict->value[KEY_LINE] : 0, &frame);
        *made = mt_cell_record(MT_RECORD_FRAME, frame);
        return rc;
    }
    if (has(dict, KEY_STATE) && has(dict, KEY_SIZE))
        return take_block(records, dict, made);
    if (has(dict, KEY_TOTAL) && has(dict, KEY_BLOCKS))
        return take_segment(records, dict, made);
    if (has(dict, KEY_REAL_SIZE) && has(dict, KEY_FRAMES)) { /* of a block's history */
        uint32_t whence;
        int rc = mt_records_whence(records, dict->value[KEY_FRAMES], &whence);
        *made = mt_cell_make(MT_CELL_PLACE, whence);
        return rc;
    }
    if (has(dict, KEY_SETTINGS))
        snprintf(records->settings, sizeof records->settings, "%s",
                 text(records, dict, KEY_SETTINGS));
    if (has(dict, KEY_STAGE) && has(dict, KEY_TIME))
        return take_note(records, dict, made);
    if (has(dict, KEY_CALL_FROM))
        records->call_from = dict->value[KEY_CALL_FROM];
    if (has(dict, KEY_BYTES) && has(dict, KEY_ADDR_OF))
        take_args(records, dict);
    else if (has(dict, KEY_BYTES) && number(dict, KEY_DEVICE_TYPE) == 1)
        records->without_address++;
    else if (has(dict, KEY_TS) && records->args.is_there &&
             !strcmp(text(records, dict, KEY_NAME), "[memory]"))
        return take_instant(records, dict, made);
    else if (has(dict, KEY_TS) && has(dict, KEY_CAT))
        return take_span(records, dict);
    else if (has(dict, KEY_SEGMENTS) || has(dict, KEY_TRACES)) {
        records->is_snapshot = true;
        if (has(dict, KEY_TRACES))
            take_traces(records, dict->value[KEY_TRACES]);
        const struct mt_object *host = mt_graph_list(
            &records->graph, has(dict, KEY_HOST_TRACES) ? dict->value[KEY_HOST_TRACES] : 0);
        if (host)
            take_trace(records, MT_IMPORT_HOST, host);
    } else if (has(dict, KEY_TRACE_EVENTS)) {
        records->is_profile = true;
        mt_cell base = has(dict, KEY_BASE_TIME) ? dict->value[KEY_BASE_TIME] : 0;
        records->base_ns = number(dict, KEY_BASE_TIME);
        if (mt_cell_tag(base) == MT_CELL_KILO &&
            __builtin_mul_overflow(mt_cell_value(base), INT64_C(1000), &records->base_ns))
            records->base_ns = 0;
    }
    return 0;
}

/* Return a value's current state; a shared list stays shared, so that all its references find
 * it. */
static mt_cell settled(const struct mt_graph *graph, mt_cell cell)
{
    mt_cell now = mt_graph_follow(graph, cell);
    return mt_cell_tag(now) == MT_CELL_LIST ? cell : now;
}

/* Receive a dictionary: an mt_dict_taker with records as its data. */
static int records_take(void *data, struct mt_graph *graph, const mt_cell *items, size_t n,
                        mt_cell *made)
{
    struct dict dict;
    dict.has = 0;
    for (size_t i = 0; i + 1 < n; i += 2)
        if (mt_cell_tag(items[i]) == MT_CELL_TEXT && mt_cell_value(items[i]) < KEYS_N) {
            dict.value[mt_cell_value(items[i])] = settled(graph, items[i + 1]);
            dict.has |= UINT64_C(1) << mt_cell_value(items[i]);
        }
    *made = 0;
    return take(data, &dict, made);
}

int mt_records_open(struct mt_records *records, struct mt_script *script, const char *folder)
{
    uint32_t index;
    *records = (struct mt_records){.script = script, .first_us = INT64_MAX};
    records->graph.take = records_take;
    records->graph.data = records;
    records->spool = mt_unnamed_file(folder); /* /tmp may be small, or memory */
    if (!records->spool)
        return -errno;
    for (unsigned i = 0; i < KEYS_N; i++)
        if (mt_texts_add(&records->graph.texts, key_texts[i], &index))
            return -ENOMEM;
    if (mt_grow(&records->whence, &records->whence_capacity, 1, sizeof *records->whence))
        return -ENOMEM;
    records->n_whence = records->n_lanes = 1;
    return mt_grow(&records->lane, &records->lanes_capacity, 1, sizeof *records->lane);
}

void mt_records_clear(struct mt_records *records)
{
    mt_graph_clear(&records->graph);
    if (records->spool)
        fclose(records->spool);
    free(records->block);
    free(records->segment);
    free(records->note);
    free(records->whence);
    free(records->frame);
    free(records->frame_node);
    free(records->lane);
    mt_profile_clear(&records->profile);
    mt_address_map_clear(&records->lane_of);
    mt_address_map_clear(&records->forward_of);
    mt_address_map_clear(&records->origin_of);
    mt_address_map_clear(&records->whence_of);
    mt_address_map_clear(&records->pair_of);
    mt_address_map_clear(&records->frame_of);
    memset(records, 0, sizeof *records);
}
