/* SPDX-License-Identifier: Apache-2.0 */
/* The metric families, in one table. */
#include "figures.h"
#include "trace-format/safe-text.h"

#include <stdbool.h>
#include <stdio.h>

/* One line of OpenMetrics text: a name, labels, a value. */

struct mt_own_label {
    const char *name, *value; /* a label with value "" is omitted */
};

/* Write a label's value, escaping \, " and newlines; other control characters become '?'. */
static void put_value(FILE *out, const char *text)
{
    while (*text) {
        bool is_safe;
        size_t length = mt_safe_next(text, &is_safe);
        if (*text == '\n')
            fputs("\\n", out);
        else if (*text == '\\' || *text == '"')
            fprintf(out, "\\%c", *text);
        else if (is_safe)
            fwrite(text, 1, length, out);
        else
            fputc('?', out);
        text += length;
    }
}

/* Return the text before the next label. */
static const char *put_label(FILE *out, const char *before, const char *name, const char *value)
{
    if (!*value)
        return before;
    fprintf(out, "%s%s=\"", before, name);
    put_value(out, value);
    fputc('"', out);
    return ",";
}

/* Write a sample of a family. suffix: "_total" or "". device NULL: of the whole trace. labels:
 * besides trace, rank and device, terminated by a NULL name; may be NULL. value: a number. */
static void sample_line(FILE *out, const char *family, const char *suffix,
                        const struct mt_figures *figures, const struct mt_device_figures *device,
                        const struct mt_own_label *labels, const char *value)
{
    char number[16] = "";
    fprintf(out, "%s%s", family, suffix);
    const char *before = put_label(out, "{", "trace", figures->path);
    before = put_label(out, before, "rank", figures->rank);
    if (device && device->device >= 0)
        snprintf(number, sizeof number, "%d", device->device);
    before = put_label(out, before, "device", device && device->device < 0 ? "unknown" : number);
    for (; labels && labels->name; labels++)
        before = put_label(out, before, labels->name, labels->value);
    fprintf(out, "} %s\n", value);
}

/* Write a sample of a whole number. */
static void sample_count(FILE *out, const char *family, const char *suffix,
                         const struct mt_figures *figures, const struct mt_device_figures *device,
                         const struct mt_own_label *labels, uint64_t value)
{
    char number[32];
    snprintf(number, sizeof number, "%llu", (unsigned long long)value);
    sample_line(out, family, suffix, figures, device, labels, number);
}

/* The context of a family's sample. */
struct place {
    FILE *out;
    const char *family, *suffix;
    const struct mt_figures *figures;
    const struct mt_device_figures *device; /* NULL: a family of whole traces */
};

static void put(const struct place *at, const struct mt_own_label *labels, uint64_t value)
{
    sample_count(at->out, at->family, at->suffix, at->figures, at->device, labels, value);
}

static void put_time(const struct place *at, uint64_t ns)
{
    char text[48];
    snprintf(text, sizeof text, "%llu.%09llu", (unsigned long long)(ns / 1000000000u),
             (unsigned long long)(ns % 1000000000u));
    sample_line(at->out, at->family, at->suffix, at->figures, at->device, NULL, text);
}

static void put_process(const struct place *at)
{
    const struct mt_figures *figures = at->figures;
    put(at,
        (const struct mt_own_label[]){
            {"host", figures->host}, {"pid", figures->pid}, {"command", figures->command}, {0}},
        1);
}

static void put_state(const struct place *at)
{
    for (int how = 0; how < MT_ENDED_COUNT; how++)
        put(at,
            (const struct mt_own_label[]){{"state", mt_ended_name((enum mt_ended_how)how)}, {0}},
            at->figures->ended.how == (enum mt_ended_how)how);
}

static void put_length(const struct place *at)
{
    put_time(at, at->figures->length_ns);
}

static void put_last_event(const struct place *at)
{
    if (at->figures->start_ns)
        put_time(at, at->figures->start_ns + at->figures->length_ns);
}

static void put_parts(const struct place *at, const struct mt_by_category *parts)
{
    for (unsigned i = 0; i < mt_n_categories; i++)
        put(at, (const struct mt_own_label[]){{"category", mt_categories[i].name}, {0}},
            parts->category[i]);
    put(at, (const struct mt_own_label[]){{"category", "before_recording"}, {0}}, parts->unseen);
}

static void put_categories(const struct place *at)
{
    put_parts(at, &at->device->at_now);
}

static void put_peak_categories(const struct place *at)
{
    if (at->device->has_peak_parts)
        put_parts(at, &at->device->at_peak);
}

static void put_phases(const struct place *at)
{
    for (int phase = 0; phase < MT_PHASE_COUNT; phase++)
        if (at->device->phase_peak[phase])
            put(at, (const struct mt_own_label[]){{"phase", mt_phase_names[phase].name}, {0}},
                at->device->phase_peak[phase]);
}

/* Families of a single number, each with a condition for being known. */
#define NUMBER(name, is_known, number)                                                             \
    static void put_##name(const struct place *at)                                                 \
    {                                                                                              \
        if (is_known)                                                                              \
            put(at, NULL, number);                                                                 \
    }
NUMBER(exit_code, at->figures->ended.exit_code >= 0, (uint64_t)at->figures->ended.exit_code)
NUMBER(signal, at->figures->ended.signal, (uint64_t)at->figures->ended.signal)
NUMBER(ooms, true, at->figures->ooms)
NUMBER(events, true, at->figures->events)
NUMBER(lost, true, at->figures->lost)
NUMBER(allocated, true, at->device->now.allocated)
NUMBER(reserved, !at->device->of_cuda, at->device->now.reserved)
NUMBER(peak, true, at->device->peak.allocated)
NUMBER(peak_reserved, !at->device->of_cuda, at->device->peak.reserved)
NUMBER(most_reserved, !at->device->of_cuda, at->device->most_reserved)
NUMBER(iterations, true, at->device->iterations)
NUMBER(growth, at->device->iterations >= MT_GROWTH_ITERATIONS, at->device->growth)
NUMBER(card, at->device->sample.time_ns, at->device->sample.total)
NUMBER(card_free, at->device->sample.time_ns, at->device->sample.free)
NUMBER(others, at->device->sample.time_ns, at->device->sample.others)

enum type { GAUGE, COUNTER };

/* Names end with their unit. A counter's samples have _total. */
static const struct family {
    const char *name;
    enum type type;
    const char *unit; /* "": none */
    bool of_device;
    void (*put)(const struct place *at);
    const char *help;
} families[] = {
    {"memtap_process", GAUGE, "", false, put_process, "The recorded process; always 1."},
    {"memtap_run_state", GAUGE, "", false, put_state,
     "1 for the run's state (how it ended, or running); 0 for the others."},
    {"memtap_exit_code", GAUGE, "", false, put_exit_code, "The program's exit code, if known."},
    {"memtap_exit_signal", GAUGE, "", false, put_signal,
     "The signal that killed the program, if known."},
    {"memtap_out_of_memory", COUNTER, "", false, put_ooms,
     "Number of out-of-memory errors, whether or not the program caught them."},
    {"memtap_events", COUNTER, "", false, put_events, "Events in the trace."},
    {"memtap_lost_events", COUNTER, "", false, put_lost, "Events known to be lost."},
    {"memtap_recorded_seconds", GAUGE, "seconds", false, put_length, "Length of the recording."},
    {"memtap_last_event_timestamp_seconds", GAUGE, "seconds", false, put_last_event,
     "Unix time of the last event."},
    {"memtap_allocated_bytes", GAUGE, "bytes", true, put_allocated,
     "Allocated at the last event by PyTorch's allocator, or by CUDA if the program does not use "
     "it."},
    {"memtap_reserved_bytes", GAUGE, "bytes", true, put_reserved,
     "Reserved at the last event by PyTorch's allocator."},
    {"memtap_category_allocated_bytes", GAUGE, "bytes", true, put_categories,
     "Allocated at the last event, by category; their sum is memtap_allocated_bytes."},
    {"memtap_peak_allocated_bytes", GAUGE, "bytes", true, put_peak, "Peak of allocated memory."},
    {"memtap_peak_reserved_bytes", GAUGE, "bytes", true, put_peak_reserved,
     "Reserved at the peak of allocated memory."},
    {"memtap_most_reserved_bytes", GAUGE, "bytes", true, put_most_reserved,
     "Peak of reserved memory."},
    {"memtap_peak_category_allocated_bytes", GAUGE, "bytes", true, put_peak_categories,
     "Allocated at the peak, by category; their sum is memtap_peak_allocated_bytes."},
    {"memtap_phase_peak_allocated_bytes", GAUGE, "bytes", true, put_phases,
     "Peak of allocated memory in a phase and the program's own code after it."},
    {"memtap_iterations", COUNTER, "", true, put_iterations, "Training iterations begun."},
    {"memtap_growth_per_iteration_bytes", GAUGE, "bytes", true, put_growth,
     "Growth per iteration; absent before the fifth iteration."},
    {"memtap_card_size_bytes", GAUGE, "bytes", true, put_card,
     "The card's memory at the last sample."},
    {"memtap_card_free_bytes", GAUGE, "bytes", true, put_card_free,
     "Free on the card at the last sample."},
    {"memtap_card_others_bytes", GAUGE, "bytes", true, put_others,
     "Used by other processes on the card at the last sample."},
};

static void write_family(FILE *out, const struct family *family, const struct mt_figures *figures,
                         size_t n)
{
    const char *suffix = family->type == COUNTER ? "_total" : "";
    fprintf(out, "# TYPE %s %s\n", family->name, family->type == COUNTER ? "counter" : "gauge");
    if (*family->unit)
        fprintf(out, "# UNIT %s %s\n", family->name, family->unit);
    fprintf(out, "# HELP %s %s\n", family->name, family->help);
    for (size_t i = 0; i < n; i++) {
        struct place at = {out, family->name, suffix, &figures[i], NULL};
        if (!family->of_device)
            family->put(&at);
        for (size_t j = 0; family->of_device && j < figures[i].n_devices; j++) {
            at.device = &figures[i].devices[j];
            family->put(&at);
        }
    }
}

void mt_openmetrics_write(FILE *out, const struct mt_figures *figures, size_t n)
{
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        write_family(out, &families[i], figures, n);
    fputs("# EOF\n", out);
}
