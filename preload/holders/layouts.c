/* SPDX-License-Identifier: Apache-2.0 */
#include "layouts.h"

#include <stddef.h>

/* clang-format off */
static const struct mt_holder_layout layouts[] = {
    /*    code: names cells free locals stack | frame of object, generator | variables globals | function: code name closure defaults keywords | thread: handled dict raised | handled | error | collector: generations frozen running old */
    { 8,        72,   88,   80,  28,    32,           0,  16, false,               56,  48,              16,  104,  48,     32,      40,                 144,  152,   96,       8, 24,   32, 40, 48,  -1, 80, 176, 200},
    { 9,        72,   88,   80,  28,    32,           0,  16, false,               56,  48,              16,  104,  48,     32,      40,                 144,  152,   96,       8, 24,   32, 40, 48,  -1, 80, 176, 200},
    {10,        72,   88,   80,  28,    32,           0,  16, false,               56,  48,              48,   40,  72,     56,      64,                 144,  152,   96,       8, 24,   32, 40, 48,  -1, 80, 176, 200},
    {11,        96,   -1,   -1,  76,    68,          24,  80, true,                24,   8,              48,   40,  72,     56,      64,                 120,  128,  104,       0,  8,   40, 48, 56,  -1, 80, 176, 200},
    {12,        96,   -1,   -1,  72,    64,          24,  72, true,                40,  24,              48,   40,  72,     56,      64,                 104,  112,   96,       0,  8,   40, 48, 56,  -1, 80, 176, 200},
    {13,        96,   -1,   -1,  72,    64,          24,  72, true,                40,  24,              48,   40,  72,     56,      64,                 120,  128,  112,       0,  8,   40, 48, 56,  -1, 80, 176, 200},
    {14,        96,   -1,   -1,  72,    64,          24,  72, true,                40,  24,              48,   40,  72,     56,      64,                 120,  128,  112,       0,  8,   40, 48, 56,  24, 72, 168, 216},
    {15,        96,   -1,   -1,  72,    64,          24,  72, true,                40,  24,              48,   40,  72,     56,      64,                 144,  152,  136,       0,  8,   40, 48, 56,   8, 72, 104, 144},
};
/* clang-format on */

const struct mt_holder_layout *mt_holder_layout_of(int minor)
{
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        if (layouts[i].minor == minor)
            return &layouts[i];
    return NULL;
}
