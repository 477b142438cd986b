/* SPDX-License-Identifier: Apache-2.0 */
/* For programs in Python: where callgrind begins to count, and where it ends. */
#include <valgrind/callgrind.h>

void begin_counting(void);
void end_counting(void);

void begin_counting(void)
{
    CALLGRIND_START_INSTRUMENTATION;
}

void end_counting(void)
{
    CALLGRIND_STOP_INSTRUMENTATION;
}
