/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libmemtap-attach.so, which memtap attach loads into a program that runs without memtap. It loads
 * libmemtap.so, and sets the slots by which the program's images call the hooked functions.
 */
#ifndef MT_ATTACH_H
#define MT_ATTACH_H

#include <stdbool.h>
#include <stdint.h>

#define MT_ATTACH_PUBLIC __attribute__((visibility("default")))

/* Start the thread that waits for a request (trace-format/settings/attach.h), unless it runs.
 * Called by memtap attach and detach from outside, between two instructions of the program. Keeps
 * errno. */
MT_ATTACH_PUBLIC void memtap_attach_serve(void);

/* Set or set back the slots. Called by libmemtap-under-lock.so while the loader's lock is held. */
MT_ATTACH_PUBLIC void memtap_attach_under_lock(void);

/* Find libmemtap.so's hooks, once. */
void mt_slots_choose(void *library);

/* Set the slots of all images, and of those that are loaded from now on, to the hooks; or set back
 * those that have one. Return 0, or a negative errno if nothing could be changed. *n: how many
 * were. */
int mt_slots_set(bool to_hooks, uint32_t *n);

/* Keep the settings of a request (trace-format/settings/attach.h); what getenv returns to
 * libmemtap.so: those first. */
void mt_attach_set_settings(const char *from);
char *mt_attach_getenv(const char *name);

#endif
