/* SPDX-License-Identifier: Apache-2.0 */
/* Frames and stacks of a snapshot. Python frames are copied to the trace; native frames show what
 * autograd does. */
#include "analyzer/support/grow.h"
#include "records.h"

#include <stdio.h>

/* What native frames show besides nodes. */
#define ENGINE UINT32_MAX
#define WORKSPACE (UINT32_MAX - 1)
#define MOST_FRAMES 4096u /* of a stack */

/* Return whether a file is Python's: its name ends in .py, or is not a path, such as "<string>". A
 * native frame has a library, and an address instead of a line. */
static bool is_python(const char *file)
{
    size_t size = strlen(file);
    return *file == '<' || (size > 3 && !strcmp(file + size - 3, ".py"));
}

/* Find the node in "torch::autograd::generated::AddmmBackward0::apply(...)": the text in between,
 * or NULL. */
static const char *node_in(const char *name, size_t *size)
{
    const char *end = strstr(name, "::apply("), *begin = end;
    if (!end || strncmp(name, "torch::autograd::", 17))
        return NULL;
    while (begin > name && begin[-1] != ':')
        begin--;
    *size = (size_t)(end - begin);
    return *size ? begin : NULL;
}

static uint32_t node_of(struct mt_records *records, const char *name)
{
    char node[256];
    uint32_t index;
    size_t size = 0;
    const char *begin = node_in(name, &size);
    if (!begin || size >= sizeof node)
        return strstr(name, "torch::autograd::Engine::")                      ? ENGINE
               : !strncmp(name, "at::cuda::", 10) && strstr(name, "CUDABlas") ? WORKSPACE
                                                                              : 0;
    memcpy(node, begin, size);
    node[size] = 0;
    if (mt_texts_add(&records->graph.texts, node, &index))
        return 0;
    return mt_script_string(records->script, index, node);
}

static void slash_path(char *path)
{
    if (strchr(path, '/'))
        return;
    for (char *at = strchr(path, '\\'); at; at = strchr(at, '\\'))
        *at = '/';
}

/* Return the script's string for a file's path. */
static uint32_t path_text(struct mt_records *records, mt_cell file, const char *path)
{
    char slashed[4096];
    uint32_t index = (uint32_t)mt_cell_value(file);
    if (strlen(path) >= sizeof slashed || !strchr(path, '\\'))
        return mt_script_string(records->script, index, path);
    strcpy(slashed, path);
    slash_path(slashed);
    return mt_texts_add(&records->graph.texts, slashed, &index)
               ? 0
               : mt_script_string(records->script, index, slashed);
}

int mt_records_frame(struct mt_records *records, mt_cell name, mt_cell file, mt_cell line,
                     uint64_t *number)
{
    uint64_t texts = (uint64_t)mt_cell_value(name) << 32 | (uint32_t)mt_cell_value(file);
    uint32_t pair = mt_address_map_get(&records->pair_of, texts);
    int64_t at = mt_cell_tag(line) == MT_CELL_NUMBER ? mt_cell_value(line) : 0;
    if (!pair && mt_address_map_put(&records->pair_of, texts, pair = ++records->n_pairs))
        return -ENOMEM;
    uint64_t key = (uint64_t)pair << 32 | (uint32_t)at;
    uint32_t known = mt_address_map_get(&records->frame_of, key);
    if (known) {
        *number = known - 1;
        return 0;
    }
    if (MT_GROW(records->frame, records->frames_capacity, records->n_frames) ||
        MT_GROW(records->frame_node, records->frame_nodes_capacity, records->n_frames) ||
        mt_address_map_put(&records->frame_of, key, (uint32_t)records->n_frames + 1))
        return -ENOMEM;
    const char *function = mt_graph_text(&records->graph, name),
               *path = mt_graph_text(&records->graph, file);
    bool python = is_python(path);
    uint32_t frame = 0;
    if (python)
        frame = mt_script_frame(
            records->script,
            mt_script_string(records->script, (uint32_t)mt_cell_value(name), function),
            path_text(records, file, path), (uint32_t)at);
    records->frame[records->n_frames] = frame;
    records->frame_node[records->n_frames] =
        python ? 0 : node_of(records, mt_graph_text(&records->graph, name));
    *number = records->n_frames++;
    return records->script->rc;
}

int mt_records_whence_number(struct mt_records *records, const struct mt_whence *whence,
                             uint32_t *number)
{
    uint32_t origin = whence->stack;
    if (whence->forward) { /* numbers above all stacks' */
        uint64_t both = (uint64_t)whence->stack << 32 | whence->forward;
        origin = mt_address_map_get(&records->origin_of, both);
        if (!origin && mt_address_map_put(&records->origin_of, both,
                                          origin = UINT32_MAX - records->n_origins++))
            return -ENOMEM;
    }
    uint64_t key = (uint64_t)origin << 32 | whence->node << 3 |
                   (unsigned)whence->is_workspace << 2 | (unsigned)whence->is_autograd << 1 |
                   whence->is_empty;
    *number = mt_address_map_get(&records->whence_of, key + 1);
    if (*number)
        return 0;
    *number = (uint32_t)records->n_whence;
    if (MT_GROW(records->whence, records->whence_capacity, records->n_whence) ||
        mt_address_map_put(&records->whence_of, key + 1, *number))
        return -ENOMEM;
    records->whence[records->n_whence++] = *whence;
    return 0;
}

/* Add a frame of the list; the outermost comes first. */
static void add_frame(struct mt_records *records, struct mt_whence *whence, uint64_t frame)
{
    if (frame >= records->n_frames)
        return;
    uint32_t node = records->frame_node[frame];
    if (records->frame[frame])
        whence->stack = mt_script_stack(records->script, whence->stack, records->frame[frame]);
    else if (node == ENGINE)
        whence->is_autograd = true;
    else if (node == WORKSPACE)
        whence->is_workspace = true;
    else if (node)
        whence->node = node; /* the innermost one stays */
}

/* Parse "  File \"net.py\", line 3, in forward\n    y = ..." into a frame; 0 if the line has
 * another form. */
static uint32_t parse_forward(struct mt_records *records, const char *line)
{
    char path[4096], function[512];
    unsigned number;
    if (sscanf(line, " File \"%4095[^\"]\", line %u, in %511[^\n]", path, &number, function) != 3)
        return 0;
    return mt_records_line(records, path, function, number);
}

uint32_t mt_records_line(struct mt_records *records, char *file, const char *function,
                         uint32_t line)
{
    uint32_t file_text, function_text;
    slash_path(file);
    if (mt_texts_add(&records->graph.texts, file, &file_text) ||
        mt_texts_add(&records->graph.texts, function, &function_text))
        return 0;
    return mt_script_frame(records->script,
                           mt_script_string(records->script, function_text, function),
                           mt_script_string(records->script, file_text, file), line);
}

/* Return the stack of a traceback, whose outermost line comes first. */
static uint32_t forward_stack(struct mt_records *records, mt_cell cell)
{
    const struct mt_object *list = mt_graph_list(&records->graph, cell);
    uint64_t known = (uint64_t)mt_cell_value(cell);
    uint32_t stack = 0;
    if (mt_cell_tag(cell) == MT_CELL_PLACE)
        return known <= records->script->stacks ? (uint32_t)known : 0;
    for (size_t i = 0; list && i < list->n && i < MOST_FRAMES; i++) {
        mt_cell line = mt_graph_follow(&records->graph, list->items[i]);
        uint64_t key = (uint64_t)mt_cell_value(line) + 1;
        if (mt_cell_tag(line) != MT_CELL_TEXT)
            continue;
        uint32_t frame = mt_address_map_get(&records->forward_of, key);
        if (!frame) {
            frame = parse_forward(records, mt_graph_text(&records->graph, line));
            if (frame && mt_address_map_put(&records->forward_of, key, frame))
                return 0;
            /* they may have moved */
            list = mt_graph_list(&records->graph, cell);
        }
        if (frame)
            stack = mt_script_stack(records->script, stack, frame);
    }
    if (list)
        mt_graph_replace(&records->graph, cell, mt_cell_make(MT_CELL_PLACE, stack));
    return stack;
}

int mt_records_whence_forward(struct mt_records *records, mt_cell frames, mt_cell forward,
                              uint32_t *number)
{
    int rc = mt_records_whence(records, frames, number);
    uint32_t stack = rc || !forward ? 0 : forward_stack(records, forward);
    if (!stack)
        return rc;
    struct mt_whence whence = records->whence[*number];
    whence.forward = stack;
    return mt_records_whence_number(records, &whence, number);
}

int mt_records_whence(struct mt_records *records, mt_cell frames, uint32_t *number)
{
    struct mt_whence whence = {0};
    struct mt_object *list = mt_graph_list(&records->graph, frames);
    *number = 0;
    if (mt_cell_tag(frames) == MT_CELL_PLACE) {
        uint64_t known = (uint64_t)mt_cell_value(frames);
        *number = known < records->n_whence ? (uint32_t)known : 0;
        return 0;
    }
    if (!list)
        return 0;
    /* The innermost frame comes first. A list may begin with a range of consecutive frames. */
    for (size_t i = list->n < MOST_FRAMES ? list->n : MOST_FRAMES; i--;) {
        mt_cell frame = mt_graph_follow(&records->graph, list->items[i]);
        if (mt_record_kind(frame) == MT_RECORD_FRAME)
            add_frame(records, &whence, mt_record_number(frame));
    }
    if (list->kind == MT_RECORD_FRAME)
        for (uint64_t i = list->count < MOST_FRAMES ? list->count : MOST_FRAMES; i--;)
            add_frame(records, &whence, list->first + i);
    whence.is_empty = !list->n && !list->count;
    records->has_frames |= !whence.is_empty;
    whence.is_autograd &= !whence.stack; /* otherwise it is Python's own thread, on the CPU */
    int rc = mt_records_whence_number(records, &whence, number);
    if (!rc)
        mt_graph_replace(&records->graph, frames, mt_cell_make(MT_CELL_PLACE, *number));
    return rc ? rc : records->script->rc;
}
