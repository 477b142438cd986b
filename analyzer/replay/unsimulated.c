/* SPDX-License-Identifier: Apache-2.0 */
#include "unsimulated.h"
#include "analyzer/support/grow.h"
#include "analyzer/support/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An event's `what`; else it is a size or a condition. */
enum {
    NUMBER = 3,
    REAL = 4,
    WORKSPACE = 5,
    FASTEST_WORKSPACE = 6,
    INSTALLED_WORKSPACE = 7,
    NAMED_WORKSPACE = 8,
};

enum { COMPARED_CUDNN = 919 };

int mt_unsimulated_add(struct mt_unsimulated *unknown, const struct mt_definitions *definitions,
                       const struct mt_event *event)
{
    uint32_t stack = mt_stack_line(definitions, event->stack);
    uint32_t place = mt_stack_place(definitions, stack);
    uint64_t what = event->UNKNOWN_VALUE.what, count = event->UNKNOWN_VALUE.count;
    count += !count;
    if (what == WORKSPACE || what == FASTEST_WORKSPACE) {
        *(what == WORKSPACE ? &unknown->workspaces : &unknown->fastest_workspaces) += count;
        return 0;
    }
    if (what == INSTALLED_WORKSPACE || what == NAMED_WORKSPACE) {
        unknown->cudnn = event->UNKNOWN_VALUE.count;
        unknown->is_cudnn_named = what == NAMED_WORKSPACE;
        return 0;
    }
    size_t i = 0;
    while (i < unknown->n && mt_stack_place(definitions, unknown->line[i].stack) != place)
        i++;
    if (i == unknown->n) {
        if (MT_GROW(unknown->line, unknown->room, i))
            return -ENOMEM;
        unknown->line[unknown->n++] = (struct mt_unsimulated_line){.stack = stack};
    }
    struct mt_unsimulated_line *line = &unknown->line[i];
    *(what == REAL ? &line->reals : what == NUMBER ? &line->numbers : &line->sizes) += count;
    *(what == REAL     ? &unknown->reals
      : what == NUMBER ? &unknown->numbers
                       : &unknown->sizes) += count;
    return 0;
}

void mt_unsimulated_clear(struct mt_unsimulated *unknown)
{
    free(unknown->line);
    *unknown = (struct mt_unsimulated){0};
}

static uint64_t count_of(const struct mt_unsimulated_line *line, bool of_numbers)
{
    return of_numbers ? line->numbers : line->sizes;
}

/* Put "17 sizes at net.py:42", or "20 sizes at 3 lines, 17 of them at net.py:42" */
static void put_where(char out[MT_UNSIMULATED_TEXT], const struct mt_unsimulated *unknown,
                      const struct mt_definitions *definitions, bool of_numbers)
{
    uint64_t all = of_numbers ? unknown->numbers : unknown->sizes, most = 0;
    char count[MT_SIZE_TEXT], part[MT_SIZE_TEXT], place[512];
    const char *what = of_numbers ? "integer" : "size", *read = of_numbers ? " read" : "";
    size_t lines = 0;
    uint32_t stack = 0;
    for (size_t i = 0; i < unknown->n; i++) {
        uint64_t n = count_of(&unknown->line[i], of_numbers);
        lines += n != 0;
        if (n > most) {
            most = n;
            stack = unknown->line[i].stack;
        }
    }
    mt_place_text(place, sizeof place, definitions, stack);
    snprintf(out, MT_UNSIMULATED_TEXT, "%s %s%s", mt_count_text(count, all), what,
             all == 1 ? "" : "s");
    if (lines > 1)
        mt_text_append(out, MT_UNSIMULATED_TEXT, " at %zu lines, including %s", lines,
                       mt_count_text(part, most));
    mt_text_append(out, MT_UNSIMULATED_TEXT, "%s at %s%s", read, stack ? place : "an unknown line",
                   lines > 1 ? "," : "");
}

const char *mt_unsimulated_text(char out[MT_UNSIMULATED_TEXT], const struct mt_unsimulated *unknown,
                                const struct mt_definitions *definitions)
{
    *out = '\0';
    if (!unknown->sizes)
        return out;
    put_where(out, unknown, definitions, false);
    mt_text_append(out, MT_UNSIMULATED_TEXT,
                   " %s on values that are not simulated; the real peak may be higher",
                   unknown->sizes == 1 ? "depends" : "depend");
    return out;
}

const char *mt_unsimulated_numbers_text(char out[MT_UNSIMULATED_TEXT],
                                        const struct mt_unsimulated *unknown,
                                        const struct mt_definitions *definitions)
{
    *out = '\0';
    if (!unknown->numbers)
        return out;
    put_where(out, unknown, definitions, true);
    mt_text_append(out, MT_UNSIMULATED_TEXT,
                   " %s not simulated; if sizes depend on %s, the real peak may be higher",
                   unknown->numbers == 1 ? "was" : "were", unknown->numbers == 1 ? "it" : "them");
    return out;
}

#define ADD_CUDNN                                                                                  \
    "; install nvidia-cudnn (9.8 or newer) with PyTorch, or pass --cudnn, to include them"

const char *mt_unsimulated_workspaces_text(const struct mt_unsimulated *unknown)
{
    if (unknown->fastest_workspaces)
        return "On a real card the peak may be 2.5 times as high (measured: ResNet-50 on an H100): "
               "torch.backends.cudnn.benchmark is on, and cuDNN's convolution workspaces are not "
               "simulated" ADD_CUDNN;
    return unknown->workspaces
               ? "On a real card the peak may be up to 2.6 % higher, and reserved memory up to 1.7 "
                 "times as much (measured on an H100): cuDNN's convolution workspaces are not "
                 "simulated" ADD_CUDNN
               : "";
}

const char *mt_cudnn_text(char out[MT_CUDNN_TEXT], const struct mt_unsimulated *unknown,
                          const struct mt_definitions *definitions)
{
    const char *gpu = mt_info(definitions, "env.CUDASIM_GPU");
    /* The bound is that of docs/evaluation/gpu-results.md, for what was compared there alone. */
    bool is_compared = gpu && !strcmp(gpu, "h100") && unknown->cudnn / 100 == COMPARED_CUDNN &&
                       !unknown->is_cudnn_named;
    *out = '\0';
    if (unknown->cudnn)
        snprintf(out, MT_CUDNN_TEXT, "convolution workspaces from cuDNN %u.%u (%s): %s",
                 (unsigned)(unknown->cudnn / 10000), (unsigned)(unknown->cudnn / 100 % 100),
                 unknown->is_cudnn_named ? "--cudnn; PyTorch's may differ" : "installed",
                 is_compared ? "peaks within 0.5 % of an H100's in 13 programs"
                             : "not compared with a real card");
    return out;
}
