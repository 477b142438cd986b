/* SPDX-License-Identifier: Apache-2.0 */
#include "function-parts.h"

#include <string.h>

#define JUMP_SIZE 6 /* a conditional jump: 0f 8x, and the distance */

static int lies_in(uintptr_t address, const uintptr_t range[2])
{
    return address >= range[0] && address < range[1];
}

static uintptr_t target_of(const uint8_t *jump)
{
    int32_t distance;
    memcpy(&distance, jump + 2, sizeof distance);
    return (uintptr_t)jump + JUMP_SIZE + (uintptr_t)(intptr_t)distance;
}

/* Conditional jumps leave a function only for its cold part. Bytes that merely look like one are
 * outvoted. */
void mt_function_cold_part(const struct mt_image *image, uintptr_t in, uintptr_t part[2])
{
    const uintptr_t all[2] = {image->start, image->end};
    uintptr_t function[2];
    unsigned votes = 0;
    mt_cfi_rule(image, in, function);
    part[0] = part[1] = 0;
    for (uintptr_t at = function[0]; at + JUMP_SIZE <= function[1]; at++) {
        const uint8_t *jump = (const uint8_t *)at;
        if (jump[0] != 0x0f || (jump[1] & 0xf0) != 0x80)
            continue;
        uintptr_t to = target_of(jump);
        if (lies_in(to, function) || !lies_in(to, all))
            continue;
        if (!votes)
            mt_cfi_rule(image, to, part);
        votes = lies_in(to, part) ? votes + 1 : votes ? votes - 1 : 0;
    }
    if (!votes)
        part[0] = part[1] = 0;
}
