/* SPDX-License-Identifier: Apache-2.0 */
/* make-server FILE: the trace of a server that loads a model, runs it for its profile, makes its kv
 * cache and serves. The profile's memory is used once, as it is allocated. */
#include "trace-builder.h"

#include <stdio.h>

#define BASE 0x7f0000000000ull

static void in(struct mt_builder *builder, const char *function, uint64_t at, uint64_t bytes)
{
    char frame[160];
    snprintf(
        frame, sizeof frame,
        "/v/lib/python3.11/site-packages/vllm/v1/worker/gpu/model_runner.py:9 GPUModelRunner.%s",
        function);
    mt_build_on(builder, 0, 1, mt_build_stack(builder, "/u/serve.py:1 main", frame, NULL));
    mt_build_alloc(builder, BASE + at, bytes);
}

int main(int argc, char **argv)
{
    struct mt_builder *builder = mt_builder_create();
    if (argc != 2)
        return 2;
    in(builder, "load_model", 0, 20 << 20);
    in(builder, "profile_run", 1 << 30, 50 << 20);
    mt_build_event4(builder, MT_USES, BASE + (1 << 30), 0, 0, MT_USES_FIRST | MT_USES_LAST);
    mt_build_free(builder, BASE + (1 << 30));
    in(builder, "initialize_kv_cache", 100 << 20, 40 << 20);
    for (int i = 0; i < 3; i++) {
        in(builder, "execute_model", 1 << 30, 5 << 20);
        mt_build_free(builder, BASE + (1 << 30));
    }
    mt_build_end(builder);
    mt_builder_write(builder, argv[1]);
    mt_builder_destroy(builder);
    return 0;
}
