/* SPDX-License-Identifier: Apache-2.0 */
/* Its loader is called like musl's, and in the working directory. Says what is preloaded. */
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    const char *preloaded = getenv("LD_PRELOAD");
    puts(preloaded ? preloaded : "nothing");
    return 0;
}
