/* SPDX-License-Identifier: Apache-2.0 */
#include "python-versions.h"

#include <stddef.h>

/* clang-format off */
static const struct mt_python_layout layouts[] = {
    /*    tstate cframe | frame: code prev instr owner | code: line file name lines instrs | str     | locals, arguments, type: keys | tstate: thread, interpreter: threads */
    { 8,  24,    -1,             32,  24,  104,  -1,           40,  104, 112, 120,     -1,       48, 72,    360,  16,  -1, 176,  8, MT_LINES_LNOTAB, MT_ATTRIBUTES_310},
    { 9,  24,    -1,             32,  24,  104,  -1,           40,  104, 112, 120,     -1,       48, 72,    360,  16,  -1, 176,  8, MT_LINES_LNOTAB, MT_ATTRIBUTES_310},
    {10,  24,    -1,             32,  24,   96,  -1,           40,  104, 112, 120,     -1,       48, 72,    352,  16,  -1, 176,  8, MT_LINES_310, MT_ATTRIBUTES_310},
    {11,  56,     8,             32,  48,   56,  69,           72,  112, 128, 136,    184,       48, 72,     72,  56, 872, 152, 16, MT_LINES_311, MT_ATTRIBUTES_311},
    {12,  56,     0,              0,   8,   56,  70,           68,  112, 128, 136,    192,       40, 56,     72,  52, 880,  -1, -1, MT_LINES_311, MT_ATTRIBUTES_312},
    {13,  72,    -1,              0,   8,   56,  70,           68,  112, 128, 136,    200,       40, 56,     72,  52, 880,  -1, -1, MT_LINES_311, MT_ATTRIBUTES_313},
    {14,  72,    -1,              0,   8,   56,  74,           68,  112, 128, 136,    208,       40, 56,     80,  52, 880,  -1, -1, MT_LINES_311, MT_ATTRIBUTES_314},
    {15,  72,    -1,              0,   8,   56,  74,           68,  112, 128, 136,    208,       40, 56,     80,  52, 888,  -1, -1, MT_LINES_311, MT_ATTRIBUTES_314},
};
/* clang-format on */

const struct mt_python_layout *mt_python_layout_of(int major, int minor)
{
    for (size_t i = 0; major == 3 && i < sizeof layouts / sizeof *layouts; i++)
        if (layouts[i].minor == minor)
            return &layouts[i];
    return NULL;
}
