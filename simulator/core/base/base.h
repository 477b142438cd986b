/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by all parts of libcudasim.so, the one state for all stand-in libraries of a process. It
 * uses errno, bytes and its own types; the runtime and the driver translate. Functions return 0 or
 * a negative errno, and are thread-safe unless they say otherwise.
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

/* Make room for one more element in a list that grows: 0 or -ENOMEM. */
SIM_API int sim_grow(void *list, size_t count, size_t *room, size_t each);
/* Return a new handle, which points nowhere. */
SIM_API void *sim_new_handle(void);
/* Say once on stderr that an entry point is not modelled; *told belongs to it. */
SIM_API void sim_note_success(const char *name, _Atomic int *told);
SIM_API void sim_note_refusal(const char *name, _Atomic int *told);
/* Say so if CUDASIM_VERBOSE is set. */
SIM_API void sim_note_unsupported(const char *name, _Atomic int *told);
/* Print a line on stderr if CUDASIM_VERBOSE is set. */
SIM_API void sim_verbose(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Return a number from the environment (decimal), `otherwise` if it is not set or invalid. Name an
 * invalid CUDASIM_ variable once on stderr. Keeps errno. */
SIM_API uint64_t sim_environment(const char *name, uint64_t otherwise);
/* Return likewise a size, as memtap's options take it: settings/size.h. */
SIM_API uint64_t sim_environment_size(const char *name, uint64_t otherwise);
/* Return after how many seconds of waiting for others a process says so (CUDASIM_PATIENCE). */
SIM_API uint64_t sim_patience(void);
/* Return the seconds of a clock that is never set. */
int64_t sim_seconds(void);
/* Say for what a rank that is alone has waited so many seconds; why: that another rank gives it,
 * and what to do. */
void sim_say_wait(int64_t seconds, const char *what, const char *why);
/* Note that the program asked for a file, which is there or not. A rank that is alone and asks for
 * nothing else for so long says which it waits for. Keeps errno. */
void sim_note_asked_file(const char *path, bool is_there);

#endif
