/* SPDX-License-Identifier: Apache-2.0 */
/* Values that a program asked a simulated card for and that were not computed: where they decide
 * sizes, a peak may be too small. */
#ifndef MT_UNCOMPUTED_H
#define MT_UNCOMPUTED_H

#include "analyzer/trace/definitions.h"

struct mt_uncomputed {
    /* Of a line: a stack whose innermost frame is it; 0: unknown. */
    struct mt_uncomputed_line {
        uint32_t stack;
        uint64_t sizes, numbers, reals;
    } *line;
    size_t n, room;
    uint64_t sizes;   /* sizes and conditions */
    uint64_t numbers; /* integers that the program read */
    uint64_t reals;   /* real numbers that it read: most are losses, which are only printed */
    /* Of convolutions: workspaces that a card takes and the simulated one does not; those of
     * programs that let cuDNN try all algorithms. */
    uint64_t workspaces, fastest_workspaces;
    uint64_t cudnn;      /* the version of the cuDNN that answered for workspaces; 0: none */
    bool is_cudnn_named; /* by the user: it need not be the one of the program's PyTorch */
};

/* Take an event of kind MT_UNKNOWN_VALUE. 0 or -ENOMEM. Clear with mt_uncomputed_clear. */
int mt_uncomputed_add(struct mt_uncomputed *unknown, const struct mt_definitions *definitions,
                      const struct mt_event *event);
void mt_uncomputed_clear(struct mt_uncomputed *unknown);

enum { MT_UNCOMPUTED_TEXT = 1024 };

/* Write "17 sizes at net.py:42 forward hang on values that were not computed; the peak may be
 * higher", without an end; "": all are known. Return `out`. */
const char *mt_uncomputed_text(char out[MT_UNCOMPUTED_TEXT], const struct mt_uncomputed *unknown,
                               const struct mt_definitions *definitions);

/* Write the same of integers that the program read, which may decide nothing. */
const char *mt_uncomputed_numbers_text(char out[MT_UNCOMPUTED_TEXT],
                                       const struct mt_uncomputed *unknown,
                                       const struct mt_definitions *definitions);

/* Return a sentence about workspaces that are not in the peak, without an end; "": there are none.
 */
const char *mt_uncomputed_workspaces_text(const struct mt_uncomputed *unknown);

enum { MT_CUDNN_TEXT = 160 };

/* Write whose answer the workspaces of convolutions on the card CUDASIM_GPU are: "convolution
 * workspaces by cuDNN 9.19 (installed): peaks within 0.5 % of an H100's in 13 programs"; "": not
 * known. Return `out`. */
const char *mt_cudnn_text(char out[MT_CUDNN_TEXT], const struct mt_uncomputed *unknown,
                          const struct mt_definitions *definitions);

#endif
