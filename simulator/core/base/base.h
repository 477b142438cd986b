/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by all parts of libcudasim.so, the one state for all stand-in libraries of a process. It
 * uses errno, bytes and its own types; the runtime and the driver translate. Functions return 0 or
 * a negative errno, and are thread-safe unless stated otherwise.
 */
#ifndef SIM_BASE_H
#define SIM_BASE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIM_API __attribute__((visibility("default")))
#define SIM_UNLIKELY(condition) __builtin_expect((condition) != 0, 0)
#define SIM_PAGE ((uint64_t)2 << 20) /* the driver's unit: 2 MiB */

/* Make room for one more element in a growing list. Return 0 or -ENOMEM. */
SIM_API int sim_grow(void *list, size_t count, size_t *room, size_t each);
/* Return a new handle, which points nowhere. */
SIM_API void *sim_new_handle(void);
/* Print once that an entry point is not modelled. *told belongs to the entry point. */
SIM_API void sim_note_success(const char *name, _Atomic bool *is_noted);
SIM_API void sim_note_refusal(const char *name, _Atomic bool *is_noted);
/* The same, if CUDASIM_VERBOSE is set. */
SIM_API void sim_note_unsupported(const char *name, _Atomic bool *is_noted);
/* Print a line on stderr if CUDASIM_VERBOSE is set. */
SIM_API void sim_verbose(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Return a number from the environment (decimal), or `otherwise` if it is not set or invalid. An
 * invalid CUDASIM_ variable is reported once on stderr. Keeps errno. */
SIM_API uint64_t sim_environment(const char *name, uint64_t otherwise);
/* Return a size in the same way, in the syntax of memtap's options (trace-format/settings/size.h).
 */
SIM_API uint64_t sim_environment_size(const char *name, uint64_t otherwise);
/* Return after how many seconds of waiting for others a process prints a message
 * (CUDASIM_PATIENCE). */
SIM_API uint64_t sim_patience(void);
/* Return the seconds of a clock that is never set. */
int64_t sim_seconds(void);
/* Print what a rank simulated alone has been waiting for, and for how many seconds. why: that
 * another rank provides it, and what to do. */
void sim_print_wait(int64_t seconds, const char *what, const char *why);
/* Note that the program queried a file, which exists or not. If a rank simulated alone keeps
 * querying one file only, a message names it. Keeps errno. */
void sim_note_probed_file(const char *path, bool is_there);

#endif
