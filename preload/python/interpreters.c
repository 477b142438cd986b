/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters.h"
#include "preload/host/safe-read.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

/* Of every version with a layout for it. */
enum { INTERPRETER_NEXT = 0, TSTATE_NEXT = 8 };

#define MOST 100000u       /* interpreters, and thread states of one */
#define RUNTIME_WORDS 128u /* of _PyRuntime, in which the interpreters are */

static const struct mt_python_layout *layout;
static uint64_t (*of_gil)(void);

static uint64_t word_at(uint64_t object, int offset)
{
    uint64_t word = 0;
    return mt_safe_read((const char *)(uintptr_t)object + offset, &word, sizeof word) ? 0 : word;
}

/* Find the two words, newest and main, in CPython's runtime. */
static const uint64_t *find_pair(const uint64_t *at, uint64_t newest, uint64_t main)
{
    uint64_t words[RUNTIME_WORDS];
    if (mt_safe_read(at, words, sizeof words))
        return NULL;
    for (unsigned i = 0; i + 1 < RUNTIME_WORDS; i++)
        if (words[i] == newest && words[i + 1] == main)
            return at + i;
    return NULL;
}

struct mt_py_interpreters mt_py_interpreters_find(const struct mt_python_layout *of_this_python,
                                                  const struct mt_py_runtime *runtime)
{
    static const uint64_t none;
    struct mt_py_interpreters found = {.newest = &none};
    if (of_this_python->tstate_thread < 0 || !runtime->first || !runtime->main ||
        !runtime->running || !runtime->data || !runtime->main())
        return found;
    layout = of_this_python;
    of_gil = runtime->running;
    const uint64_t *newest = find_pair(runtime->data, runtime->first(), runtime->main());
    return newest ? (struct mt_py_interpreters){newest, runtime->main()} : found;
}

static bool is_own(uint64_t tstate)
{
    return word_at(tstate, layout->tstate_thread) == (uint64_t)pthread_self();
}

static bool has_frame(uint64_t tstate)
{
    uint64_t at = word_at(tstate, layout->tstate_frame);
    return at && (layout->cframe_frame < 0 || word_at(at, layout->cframe_frame));
}

uint64_t mt_py_running_state(const struct mt_py_interpreters *interpreters, uint64_t tstate)
{
    uint64_t with_gil = of_gil(), interpreter = *interpreters->newest;
    if (with_gil == tstate || (with_gil && is_own(with_gil)))
        return with_gil;
    for (unsigned i = 0; interpreter && i < MOST; i++) {
        uint64_t state = word_at(interpreter, layout->interpreter_threads);
        for (unsigned n = 0; state && n < MOST; n++, state = word_at(state, TSTATE_NEXT))
            if (is_own(state) && has_frame(state))
                return state;
        interpreter = word_at(interpreter, INTERPRETER_NEXT);
    }
    return tstate;
}
