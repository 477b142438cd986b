/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compilers' descriptions of their frames (.eh_frame, the DWARF call frame information that C++
 * exceptions use, too), reduced to one small rule for each program counter. x86-64.
 */
#ifndef MT_PRELOAD_CFI_H
#define MT_PRELOAD_CFI_H

#include "preload/loader/images.h"

#include <stdint.h>

/* Where a frame's CFA is: the stack pointer's value after the function has returned. The return
 * address is the word before it. */
enum mt_cfa {
    MT_CFA_SP = 1,  /* stack pointer + cfa */
    MT_CFA_BP,      /* frame pointer + cfa */
    MT_CFA_UNKNOWN, /* no description, or an unsupported one */
    MT_CFA_END,     /* the outermost frame: it has no caller */
    MT_CFA_AT_BP,   /* the word at frame pointer + cfa: functions that align their stack */
    MT_CFA_SIGNAL,  /* a signal frame: sp, bp and pc are those interrupted. The sp is at stack
                     * pointer + cfa, the pc after it; the bp at stack pointer + bp_at */
};

/* Where the caller's frame pointer is. */
enum mt_bp {
    MT_BP_SAME,   /* still in its register */
    MT_BP_AT_CFA, /* the word at CFA + bp_at, which is below the return address */
    MT_BP_AT_BP,  /* the word at frame pointer + bp_at */
    MT_BP_LOST,
};

struct mt_frame_rule {
    uint8_t cfa_from; /* enum mt_cfa */
    uint8_t bp_from;  /* enum mt_bp */
    int16_t bp_at;
    int32_t cfa; /* MT_CFA_SP: a number of whole words, at least one */
};

/* Return the rule for the instruction at pc, which is in the image. function gets the start and end
 * of its function (0, 0 if unknown). Reads only the image's own memory. */
struct mt_frame_rule mt_cfi_rule(const struct mt_image *image, uintptr_t pc, uintptr_t function[2]);

#endif
