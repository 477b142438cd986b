/* SPDX-License-Identifier: Apache-2.0 */
/* Look up the numbers of the headers' tables: event kinds, element types, CUDA calls, errors. */
#include "cuda-apis.h"
#include "cuda-errors.h"
#include "dtypes.h"
#include "model.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

const struct mt_kind_info mt_kinds[MT_KIND_LIMIT] = {
#define FIELD(field_name, field_code) {#field_name, MT_CODE_##field_code},
#define KIND(id, number, kind_name, about, fields) [number] = {kind_name, {fields}},
    MT_EVENT_KINDS(KIND, FIELD)};

const char *mt_summary_name(uint64_t summary)
{
    switch (summary) {
#define SUMMARY(id, number, name)                                                                  \
    case number:                                                                                   \
        return name;
        MT_SUMMARIES(SUMMARY)
    }
    return "?";
}

static const struct {
    const char *name;
    unsigned bits;
} dtypes[MT_DTYPE_LIMIT] = {
#define DTYPE(number, text, size) [number] = {text, size},
    MT_DTYPES(DTYPE)};

const char *mt_dtype_name(unsigned long long dtype)
{
    return dtype < MT_DTYPE_LIMIT && dtypes[dtype].name ? dtypes[dtype].name : "?";
}

unsigned mt_dtype_bits(unsigned long long dtype)
{
    return dtype < MT_DTYPE_LIMIT ? dtypes[dtype].bits : 0;
}

static const char *const api_names[MT_API_LIMIT] = {
#define API(id, number, name, space) [number] = name,
    MT_CUDA_APIS(API)};

const char *mt_cuda_api_name(unsigned long long api)
{
    return api < MT_API_LIMIT && api_names[api] ? api_names[api] : "?";
}

static const struct error {
    unsigned number;
    const char *runtime, *driver, *why;
} errors[] = {
#define ERROR(number, runtime, driver, why) {number, runtime, driver, why},
    MT_CUDA_NO_DEVICE_ERRORS(ERROR)};

static const struct error *find_error(unsigned result)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].number == result)
            return &errors[i];
    return NULL;
}

const char *mt_cuda_no_device_name(unsigned result, const char *function)
{
    const struct error *error = find_error(result);
    bool is_runtime = !strncmp(function, "cuda", 4);
    return !error ? NULL : is_runtime ? error->runtime : error->driver;
}

const char *mt_cuda_no_device_why(unsigned result)
{
    const struct error *error = find_error(result);
    return error ? error->why : NULL;
}
