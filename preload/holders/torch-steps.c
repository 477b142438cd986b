/* SPDX-License-Identifier: Apache-2.0 */
#include "torch-steps.h"
#include "picture.h"
#include "python-graph.h"
#include "torch-graph.h"

#define MOST_NAME 96u

/* Add the class of a node: "N5torch8autograd9generated12MulBackward0E" is MulBackward0. */
static void put_class(struct mt_path *path, uint64_t graph)
{
    const char *text = mt_torch_class(graph), *last = "a node";
    size_t length = 6;
    for (text += text && *text == 'N'; text && *text >= '0' && *text <= '9'; text += length) {
        for (length = 0; *text >= '0' && *text <= '9'; text++)
            length = length * 10 + (size_t)(*text - '0');
        last = text;
        if (length > strlen(text))
            length = strlen(text);
    }
    mt_step_put(path, "%.*s", (int)(length < MOST_NAME ? length : MOST_NAME), last);
}

unsigned mt_step_from_graph(struct mt_path *path, const uint32_t *node, uint64_t graph)
{
    unsigned sort = mt_picture.sort[node[1]];
    mt_step_is(path, MT_HOLDER_AUTOGRAD);
    if (sort == MT_NODE_GRAPH || sort == MT_NODE_CHUNK)
        return 1;
    mt_step_begin(path);
    if (sort == MT_NODE_OBJECT &&
        mt_holder_type_of(mt_picture.address[node[1]]) == MT_TYPE_CONTEXT) {
        mt_step_put(path, "ctx");
    } else {
        mt_step_put(path, "saved by ");
        put_class(path, graph);
    }
    return 1;
}

unsigned mt_step_from_impl(struct mt_path *path, const uint32_t *node)
{
    uint64_t child = mt_picture.address[node[1]];
    uint64_t meta = mt_torch_autograd(mt_picture.address[node[0]]);
    unsigned sort = mt_picture.sort[node[1]];
    if (sort == MT_NODE_STORAGE || sort == MT_NODE_CHUNK)
        return 1;
    mt_step_begin(path);
    if (sort == MT_NODE_OBJECT) {
        mt_step_put(path, "a hook");
        mt_step_is(path, MT_HOLDER_HOOK);
    } else if (sort == MT_NODE_GRAPH) {
        mt_step_put(path, meta && mt_word(meta + MT_AUTOGRAD_NODE) == child ? ".grad_fn"
                                                                            : "a view's node");
    } else {
        mt_step_put(path,
                    meta && mt_word(meta + MT_AUTOGRAD_GRADIENT) == child ? ".grad" : "._base");
    }
    return 1;
}
