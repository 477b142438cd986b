/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contents of a PyTorch memory snapshot in compact form: events are written to an unnamed file,
 * since there may be tens of millions; blocks and segments, which were live at the end, are kept in
 * memory.
 */
#ifndef MT_IMPORT_RECORDS_H
#define MT_IMPORT_RECORDS_H

#include "analyzer/support/address-map.h"
#include "graph.h"
#include "trace-format/encoder.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Writes the imported trace: definitions by their content, then events. */

struct mt_script {
    FILE *out; /* the caller's */
    struct mt_encoder *definitions, *events;
    struct mt_chain chain; /* of both */
    bool has_events;       /* no more definitions */
    uint32_t strings, pairs, frames, stacks;
    struct mt_address_map string_of;                   /* the caller's number + 1 -> id */
    struct mt_address_map pair_of, frame_of, stack_of; /* by what they are made of -> id */
    struct mt_end end;
    int rc; /* the first error; all calls after it do nothing */
};

/* Start a trace. Return 0 or a negative errno, also in script->rc. It must be closed in any
 * case. */
int mt_script_open(struct mt_script *script, FILE *out);
void mt_script_info(struct mt_script *script, const char *key, const char *value);
/* Write the Unix time at which the trace starts, in ns; unknown clocks are left out. */
void mt_script_start(struct mt_script *script, int64_t unix_ns);
void mt_script_thread(struct mt_script *script, uint32_t id, const char *name);

/* Return the id of a text, by the caller's own number for it. */
uint32_t mt_script_string(struct mt_script *script, uint32_t number, const char *text);
/* Return the id of a frame. function, file: ids of texts. */
uint32_t mt_script_frame(struct mt_script *script, uint32_t function, uint32_t file, uint32_t line);
/* Return the id of a stack. parent: the caller's stack, 0: none. */
uint32_t mt_script_stack(struct mt_script *script, uint32_t parent, uint32_t frame);

/* Write an event. No definition may follow the first one. */
void mt_script_event(struct mt_script *script, const struct mt_event *event);

/* Finish the complete recording. Return 0 or a negative errno. */
int mt_script_end(struct mt_script *script);
void mt_script_close(struct mt_script *script);

/*
 * What torch.profiler records besides memory: Python calls (with_stack=True), backward nodes, and
 * the forward line that each node comes from. A request belongs to the spans that run in its thread
 * at its time.
 */

struct mt_records;

enum mt_ran_kind { MT_RAN_CALL, MT_RAN_NODE };

struct mt_ran {
    int64_t begin, end; /* ns */
    uint32_t thread;
    uint32_t name;    /* text of the graph: "net.py(3): forward"; for a node, its name */
    uint32_t from;    /* line that called it; 0: not known */
    uint32_t parent;  /* index of the enclosing span + 1; 0: none */
    uint32_t outer;   /* once known: the script's stack up to the calling line */
    uint32_t forward; /* for a node: index of its link + 1; 0: none */
    uint8_t kind;     /* enum mt_ran_kind */
    bool has_outer;
};

/* From a forward operator to its node. */
struct mt_call_link {
    int64_t id, time;
    uint32_t thread;
    bool is_end;
};

struct mt_profile {
    struct mt_ran *span;
    size_t n, spans_capacity;
    struct mt_call_link *link;
    size_t n_links, links_capacity;
    bool is_sorted, has_calls;
};

/* Note a span. A zeroed struct is empty. Return 0 or -ENOMEM. */
int mt_profile_ran(struct mt_profile *profile, const struct mt_ran *span);
int mt_profile_link(struct mt_profile *profile, const struct mt_call_link *link);
void mt_profile_clear(struct mt_profile *profile);

/* Find the number of the origin of a thread's request at that time, after all spans were added.
 * Return 0 or a negative errno. */
int mt_profile_whence(struct mt_records *records, uint32_t thread, int64_t time, uint32_t *number);

enum mt_action {
    MT_ACTION_NONE,
    MT_ACTION_ALLOC,
    MT_ACTION_FREE_REQUESTED,
    MT_ACTION_FREE_COMPLETED,
    MT_ACTION_SEGMENT_ALLOC,
    MT_ACTION_SEGMENT_FREE,
    MT_ACTION_SEGMENT_MAP,
    MT_ACTION_SEGMENT_UNMAP,
    MT_ACTION_OOM,
    MT_ACTION_ANNOTATE, /* the program has named memory that it has */
    MT_ACTION_OTHER,    /* snapshot ... */
};

/* The origin of a request: a Python stack, and what autograd did. */
struct mt_whence {
    uint32_t stack;    /* of the script; 0: none */
    uint32_t forward;  /* in the script: the forward line that backward works for; 0: none */
    uint32_t node;     /* in the script: the name of the running backward node; 0: none */
    bool is_autograd;  /* in a thread of autograd's */
    bool is_workspace; /* it is cuBLAS's to work in */
    bool is_empty;     /* frames were requested, and there were none */
};

struct mt_import_event {
    uint64_t address, size; /* as requested */
    int64_t time_us;
    uint32_t whence; /* index in records->whence; in a profile's spool: its thread */
    __extension__ union {
        __extension__ struct { /* of a snapshot */
            uint32_t lane;     /* number in records->lane */
            uint32_t name;     /* in the script: the name given by the program; 0: none */
        };
        __extension__ struct {     /* of a profile */
            uint32_t reserved_kib; /* PyTorch's total after it */
            uint32_t nano;         /* of its time, besides time_us */
        };
    };
    uint16_t device;
    uint8_t action;
    bool has_time;
};

/* The stream and private pool of a request. */
struct mt_lane {
    uint64_t stream, pool; /* pool 0: none */
};

struct mt_import_block {
    uint64_t address, size, requested;
    uint32_t whence;
    bool is_live; /* allocated; otherwise free, or about to be */
    bool is_pending;
};

struct mt_import_segment {
    uint64_t address, size;
    uint64_t first, count; /* of its blocks */
    uint32_t whence, lane;
    int16_t device;
    bool is_expandable, is_small;
};

struct mt_import_note {
    int64_t time_us;
    uint32_t text; /* of the script */
    bool is_end;
};

/* The results for dictionaries (mt_cell_record). */
enum mt_record {
    MT_RECORD_NONE,
    MT_RECORD_FRAME,
    MT_RECORD_EVENT,
    MT_RECORD_BLOCK,
    MT_RECORD_SEGMENT,
    MT_RECORD_NOTE
};

#define MT_IMPORT_DEVICES 64u
#define MT_IMPORT_HOST MT_IMPORT_DEVICES /* in place of a device: page-locked memory */
#define MT_IMPORT_PLACES (MT_IMPORT_DEVICES + 1)
#define MT_IMPORT_RUNS 1024u

struct mt_records {
    struct mt_graph graph;
    struct mt_script *script;
    FILE *spool; /* of struct mt_import_event */
    uint64_t n_events;
    int64_t first_us;
    int64_t base_ns; /* Unix time that a profile's times count from */
    struct mt_import_block *block;
    size_t n_blocks, blocks_capacity;
    struct mt_import_segment *segment;
    size_t n_segments, segments_capacity;
    struct mt_import_note *note;
    size_t n_notes, notes_capacity;
    struct mt_whence *whence; /* the first is: nothing known */
    size_t n_whence, whence_capacity;
    struct mt_address_map whence_of, origin_of; /* origin: a stack and a forward line */
    uint32_t n_origins;
    struct mt_lane *lane; /* the first is: not known */
    size_t n_lanes, lanes_capacity;
    struct mt_address_map lane_of,
        forward_of;       /* by stream and pool; from a traceback's text to a frame */
    char settings[1024];  /* PYTORCH_CUDA_ALLOC_CONF; "": unknown or none */
    uint32_t *frame;      /* by number: the script's frame, 0 for a native one */
    uint32_t *frame_node; /* text of the script, 0: none; or what a native frame shows (frames.c) */
    size_t n_frames, frames_capacity, frame_nodes_capacity;
    struct mt_address_map pair_of, frame_of; /* by name and file, and line */
    uint32_t n_pairs;
    struct { /* of each device's events, and the host's, in the spool */
        uint64_t first, count;
    } trace[MT_IMPORT_PLACES];
    unsigned n_traces;
    uint64_t run[MT_IMPORT_RUNS]; /* first event of each run of rising times in a profile */
    unsigned n_runs;
    int64_t last_us;
    uint32_t last_nano;
    struct { /* of a profile's devices */
        bool is_known;
        int64_t milli;  /* of its first event's time */
        uint64_t bytes; /* allocated before it */
    } before[MT_IMPORT_DEVICES];
    uint64_t without_address; /* a profile's events of a device */
    bool is_snapshot, is_profile, has_frames, lacks_times, cut_devices;
    struct { /* of the last "[memory]"'s args */
        bool is_there;
        int64_t address, bytes, device, allocated, reserved, device_type;
    } args;
    mt_cell call_from; /* of the last call's args: "net.py:3"; 0: none */
    struct mt_profile profile;
};

/* Start. folder: for the unnamed file of events. Return 0 or a negative errno. It must be cleared
 * in any case. */
int mt_records_open(struct mt_records *records, struct mt_script *script, const char *folder);
void mt_records_clear(struct mt_records *records);

/* Find the number of the origin that a list of frames describes. Return 0 or a negative errno. */
int mt_records_whence(struct mt_records *records, mt_cell frames, uint32_t *number);

/* Do the same with a list of traceback lines (" File \"net.py\", line 3, in forward"); 0: none. */
int mt_records_whence_forward(struct mt_records *records, mt_cell frames, mt_cell forward,
                              uint32_t *number);

/* Get the number of an origin. Return 0 or -ENOMEM. */
int mt_records_whence_number(struct mt_records *records, const struct mt_whence *whence,
                             uint32_t *number);

/* Return the frame of a file's line, with slashes in its path. 0 if memory ran out. */
uint32_t mt_records_line(struct mt_records *records, char *file, const char *function,
                         uint32_t line);

/* Get the number of a frame, given as a dictionary's cells. Return 0 or a negative errno. */
int mt_records_frame(struct mt_records *records, mt_cell name, mt_cell file, mt_cell line,
                     uint64_t *number);

#endif
