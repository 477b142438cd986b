/* SPDX-License-Identifier: Apache-2.0 */
/* A trace through every call of the page (page/wasm), natively, at moments that the input chooses.
 */
#include "made-trace.h"
#include "target.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>

int mt_web_open(const char *path);
const char *mt_web_fault(void);
double mt_web_rank(void);
json_t *mt_web_report(void);
const char *mt_web_headline(void);
const char *mt_web_report_text(void);
json_t *mt_web_stack_by(unsigned kind);
json_t *mt_web_devices(void);
json_t *mt_web_spans(unsigned slot);
long mt_web_ranges(unsigned slot);
const double *mt_web_numbers(void);
json_t *mt_web_string(double id);
json_t *mt_web_ooms(void);
const double *mt_web_bands(unsigned slot, bool is_time, double from, double to, size_t columns);
long mt_web_search(const char *text, const char *places);
const double *mt_web_bands_found(unsigned slot, bool is_time, double from, double to,
                                 size_t columns);
json_t *mt_web_certainties(unsigned slot, double at);
long mt_web_strips(unsigned slot, bool is_time, double from, double to, size_t columns,
                   double least, int category);
int mt_web_map(unsigned slot, double moment);
double mt_web_moment_at(unsigned slot, bool is_time, double x);
double mt_web_moment_ns(unsigned slot, double moment);
double mt_web_moment_event(unsigned slot, double moment);
double mt_web_moment_of_event(unsigned slot, double event);
const double *mt_web_between(unsigned slot, double since, double at);
json_t *mt_web_who(unsigned slot, int by, double at, double since, int category, bool is_folded);
json_t *mt_web_temporary(unsigned slot, double at, double since, int category, bool is_found);
long mt_web_same(unsigned slot, double number, double at, double since);
json_t *mt_web_table(unsigned slot, double at, double since, int category, bool is_found);
double mt_web_events(unsigned slot);
double mt_web_event_row(double moment);
json_t *mt_web_event_rows(double first, unsigned n);
json_t *mt_web_life(double number);
json_t *mt_web_area(double number);
json_t *mt_web_held(unsigned slot, int category);

static void look(const struct mt_made_trace *trace, const json_t *device)
{
    const uint8_t *choices = trace->choices;
    unsigned slot = (unsigned)json_integer_value(json_object_get(device, "slot"));
    double n = (double)json_integer_value(json_object_get(device, "moments"));
    double begin = (double)json_integer_value(json_object_get(device, "begin_ns"));
    double end = (double)json_integer_value(json_object_get(device, "end_ns"));
    double moment = (double)(choices[2] % 32) / 31 * (n - 1),
           since = moment * (choices[3] & 15) / 15;
    bool is_time = choices[4] & 1;
    double from = is_time ? begin : 0, to = is_time ? end : n;
    int category = (int)(choices[3] >> 4) - 1;
    moment = (double)(long)moment;
    since = (double)(long)since;
    json_decref(mt_web_spans(slot));
    static const char *const places[] = {"", "1 a\n", "1\n2 b.py\n 3", "\n\n4294967296 c\n"};
    if (mt_web_search((const char[]){(char)choices[0], 0}, places[choices[1] % 4]) < 0 ||
        !mt_web_bands_found(slot, is_time, from, to, 1 + choices[1] % 40) ||
        mt_web_ranges(slot) < 0 || !mt_web_bands(slot, is_time, from, to, 1 + choices[1] % 40) ||
        mt_web_strips(slot, is_time, from, to, 1 + choices[1] % 40, choices[2], category) < 0 ||
        mt_web_map(slot, moment) < 0)
        abort();
    mt_web_moment_at(slot, is_time, from + (to - from) * choices[2] / 255);
    mt_web_moment_ns(slot, moment);
    mt_web_moment_event(slot, moment);
    mt_web_moment_of_event(slot, choices[2]);
    if (!mt_web_between(slot, since, moment) || mt_web_same(slot, choices[1], moment, since) < 0)
        abort();
    json_decref(mt_web_who(slot, choices[1] % 16, moment, since, category, choices[4] & 2));
    json_decref(mt_web_temporary(slot, moment, since, category, choices[4] & 4));
    json_decref(mt_web_table(slot, moment, since, category, choices[4] & 4));
    json_decref(mt_web_held(slot, category));
    json_decref(mt_web_certainties(slot, moment));
    double events = mt_web_events(slot), row = mt_web_event_row(moment);
    json_t *all = mt_web_event_rows(0, (unsigned)events), *one = mt_web_event_rows(row, 1);
    if (events < n || (double)json_array_size(all) != events ||
        !json_equal(json_array_get(all, (size_t)row), json_array_get(one, 0)) ||
        (double)json_integer_value(json_object_get(json_array_get(one, 0), "moment")) != moment)
        abort();
    json_decref(all);
    json_decref(one);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static struct mt_made_trace trace;
    if (mt_made_trace_read(&trace, bytes, size))
        return 0;
    mt_made_traces[0] = &trace;
    int rc = mt_web_open("0");
    if (rc && !*mt_web_fault())
        abort();
    if (rc)
        return 0;
    mt_web_rank();
    if (trace.choices[0] % 4 == 0) {
        json_decref(mt_web_report());
        mt_web_headline();
        mt_web_report_text();
    }
    json_decref(mt_web_ooms());
    json_decref(mt_web_string(mt_made_number(trace.choices[2])));
    json_decref(mt_web_stack_by(trace.choices[0] >> 2));
    json_t *devices = mt_web_devices();
    for (size_t i = 0; i < json_array_size(devices); i++)
        look(&trace, json_array_get(devices, i));
    json_decref(devices);
    for (unsigned i = 0; i < 8; i++) {
        json_decref(mt_web_life(i));
        json_decref(mt_web_area(i));
    }
    return 0;
}
