/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds.h"

#include <stdlib.h>

uint64_t mt_change_number(const char *argument)
{
    char *end;
    uint64_t number = *argument >= '0' && *argument <= '9' ? strtoull(argument, &end, 10) : 0;
    return number && !*end ? number : 0;
}

double mt_change_part(const char *argument)
{
    char *end;
    if (*argument < '0' || *argument > '9')
        return 0;
    double part = strtod(argument, &end);
    uint64_t below = *end == '/' ? mt_change_number(end + 1) : 0;
    part = *end == '/' && below ? part / (double)below : *end ? 0 : part;
    return part > 0 && part <= 64 ? part : 0;
}
