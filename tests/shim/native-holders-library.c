/* SPDX-License-Identifier: Apache-2.0 */
/* A library with a static variable that holds a block. */
void library_keep(void *memory);

static void *volatile kept;

void library_keep(void *memory)
{
    kept = memory;
}
