/* SPDX-License-Identifier: Apache-2.0 */
/* Values that a program read from a simulated card but that were not simulated. If sizes depend on
 * them, a peak may be too small. */
#ifndef MT_UNSIMULATED_H
#define MT_UNSIMULATED_H

#include "analyzer/trace/definitions.h"

struct mt_unsimulated {
    /* Of a line: a stack whose innermost frame is it; 0: unknown. */
    struct mt_unsimulated_line {
        uint32_t stack;
        uint64_t sizes, numbers, reals;
    } *line;
    size_t n, room;
    uint64_t sizes;   /* sizes and conditions */
    uint64_t numbers; /* integers that the program read */
    uint64_t reals;   /* real numbers that it read, mostly losses that are only printed */
    /* Convolution workspaces that a real card uses and the simulated one does not; those of
     * programs that let cuDNN try all algorithms. */
    uint64_t workspaces, fastest_workspaces;
    uint64_t cudnn;      /* the version of the cuDNN that answered for workspaces; 0: none */
    bool is_cudnn_named; /* by the user, and possibly of another version than PyTorch's */
};

/* Add an event of kind MT_UNKNOWN_VALUE. Return 0 or -ENOMEM. Clear with mt_unsimulated_clear. */
int mt_unsimulated_add(struct mt_unsimulated *unknown, const struct mt_definitions *definitions,
                       const struct mt_event *event);
void mt_unsimulated_clear(struct mt_unsimulated *unknown);

enum { MT_UNSIMULATED_TEXT = 1024 };

/* Write "17 sizes at net.py:42 forward depend on values that are not simulated; the real peak may
 * be higher", without a full stop; "" if all are known. Return `out`. */
const char *mt_unsimulated_text(char out[MT_UNSIMULATED_TEXT], const struct mt_unsimulated *unknown,
                                const struct mt_definitions *definitions);

/* Write the same about integers that the program read, on which nothing may depend. */
const char *mt_unsimulated_numbers_text(char out[MT_UNSIMULATED_TEXT],
                                        const struct mt_unsimulated *unknown,
                                        const struct mt_definitions *definitions);

/* Return a sentence about workspaces that the peak lacks, without a full stop; "": none. */
const char *mt_unsimulated_workspaces_text(const struct mt_unsimulated *unknown);

enum { MT_CUDNN_TEXT = 160 };

/* Write which cuDNN reported the convolution workspaces: "convolution workspaces from cuDNN 9.19
 * (installed): peaks within 0.5 % of an H100's in 13 programs"; "": unknown. Return `out`. */
const char *mt_cudnn_text(char out[MT_CUDNN_TEXT], const struct mt_unsimulated *unknown,
                          const struct mt_definitions *definitions);

#endif
